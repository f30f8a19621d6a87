//! Measures what the handlers of requests add to the field manager: an apply of a changed field, from bytes to bytes.
//!
//! The parts of a row take turns, and the fastest round of each counts. `--check` fails if a target is missed.
#![allow(clippy::print_stdout, reason = "a command that reports")]

use std::process::ExitCode;
use std::time::Duration;

use fieldmanager_benches::operations::{PARTS, REQUESTED, prepare};
use fieldmanager_benches::per_run;

const ROUNDS: usize = 40;
const ROUND: Duration = Duration::from_millis(15);
/// What the handlers may add to the field manager, apart from defaults, validation and rules.
const WANTED: f64 = 1.15;

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let mut missed = false;
    println!(
        "| object | field manager, µs | handlers, µs | defaults | validation | rules | the rest, in field managers |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for object in REQUESTED {
        let mut parts = PARTS.map(|part| prepare(&format!("handlers/{object}/{part}")));
        let mut best = [f64::INFINITY; PARTS.len()];
        for _ in 0..ROUNDS {
            for (part, best) in parts.iter_mut().zip(&mut best) {
                *best = part
                    .as_mut()
                    .map_or(0.0, |part| per_run(&mut part.run, ROUND).min(*best));
            }
        }
        let [manager, handlers, defaults, validation, rules] =
            best.map(|nanoseconds| nanoseconds / 1000.0);
        let rest = (handlers - defaults - validation - rules) / manager;
        missed |= rest > WANTED;
        println!(
            "| {object} | {manager:.1} | {handlers:.1} | {defaults:.1} | {validation:.1} | {rules:.1} | {rest:.2} |"
        );
    }
    if check && missed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
