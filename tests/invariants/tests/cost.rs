//! The work of every operation is linear in its input, for each attack.

use std::time::Duration;

use fieldmanager_invariants::{attacks::ATTACKS, check_cost, run_cost};
use rustix::time::{ClockId, clock_gettime};

/// The factor between the two sizes of an attack.
const GROWTH: usize = 4;

/// The most that work may grow when the input grows by [`GROWTH`]. Quadratic work grows by 16.
const MOST: f64 = 9.0;

struct Work {
    length: usize,
    allocations: u64,
    bytes: u64,
    written: usize,
    time: Duration,
}

/// The processor time of this thread, which other processes do not change much.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn measure(text: &str) -> Work {
    let mut written = 0;
    let allocated = allocation_counter::measure(|| written = run_cost(text));
    let time = (0..3).map(|_| {
        let start = processor_time();
        std::hint::black_box(run_cost(text));
        processor_time() - start
    });
    Work {
        length: text.len(),
        allocations: allocated.count_total,
        bytes: allocated.bytes_total,
        written,
        time: time.min().unwrap_or_default(),
    }
}

/// What grows faster than the input, if anything does.
fn excess(attack: fn(usize) -> String, size: usize) -> Result<(), String> {
    let (small, large) = (measure(&attack(size)), measure(&attack(size * GROWTH)));
    check_cost(large.length, large.allocations, large.bytes, large.written)?;
    let input = large.length as f64 / small.length as f64;
    for (what, small, large) in [
        ("allocations", small.allocations as f64, large.allocations as f64),
        ("allocated bytes", small.bytes as f64, large.bytes as f64),
        ("written bytes", small.written as f64, large.written as f64),
        ("processor time", small.time.as_secs_f64(), large.time.as_secs_f64()),
    ] {
        let growth = large / small;
        println!("  {what}: {small} -> {large} ({growth:.1}), input {input:.1}");
        let most = MOST * (input / GROWTH as f64).max(0.5);
        if growth > most {
            return Err(format!("{what} grow by {growth:.1} where the input grows by {input:.1}"));
        }
    }
    Ok(())
}

#[cfg(unix)]
#[test]
fn work_grows_linearly_with_hostile_input() {
    let mut wrong = Vec::new();
    for (name, attack) in ATTACKS {
        println!("{name}");
        if let Err(message) = excess(*attack, 256) {
            wrong.push(format!("{name}: {message}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The seeds of the fuzz target `cost` are the attacks in small form. `UPDATE_SEEDS=1` writes them.
#[test]
fn seeds_are_attacks_within_the_bounds() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/cost");
    for (name, attack) in ATTACKS {
        let text = attack(16);
        let file = folder.join(name.replace(' ', "-").to_lowercase() + ".yaml");
        if std::env::var_os("UPDATE_SEEDS").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "{name}: UPDATE_SEEDS=1 writes the seeds");
        let mut written = 0;
        let allocated = allocation_counter::measure(|| written = run_cost(&text));
        let found = check_cost(text.len(), allocated.count_total, allocated.bytes_total, written);
        assert_eq!(found, Ok(()), "{name}");
    }
}
