//! Measures what the handlers of requests add to the field manager: an apply of a changed field, from bytes to bytes.
//!
//! The rows of a kind take turns, and the fastest round of each counts. `--check` fails if a target is missed.
#![allow(clippy::print_stdout, reason = "a command that reports")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the inputs are generated here, so a failure is a bug of the benchmark"
)]

use std::process::ExitCode;
use std::time::Duration;

use fieldmanager_benches::per_run;
use fieldmanager_benches::requests::{Part, cases};

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
    for mut case in cases() {
        let mut best = vec![f64::INFINITY; case.parts.len()];
        for _ in 0..ROUNDS {
            for (at, (_, run)) in case.parts.iter_mut().enumerate() {
                best[at] = best[at].min(per_run(run, ROUND));
            }
        }
        let of = |part: Part| {
            let found = case.parts.iter().position(|(found, _)| *found == part);
            found.map_or(0.0, |at| best[at] / 1000.0)
        };
        let apart = of(Part::Defaults) + of(Part::Validation) + of(Part::Rules);
        let rest = (of(Part::Handlers) - apart) / of(Part::FieldManager);
        missed |= rest > WANTED;
        println!(
            "| {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {rest:.2} |",
            case.name,
            of(Part::FieldManager),
            of(Part::Handlers),
            of(Part::Defaults),
            of(Part::Validation),
            of(Part::Rules),
        );
    }
    if check && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
