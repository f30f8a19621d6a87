//! The cost of every operation is linear in its input, for every attack.
#![expect(
    clippy::print_stdout,
    reason = "the figures are printed with --nocapture"
)]

use std::time::Duration;

use cpu_time::ThreadTime;
use fieldmanager_invariants::attacks::{self, ATTACKS};
use fieldmanager_invariants::{Cost, check_cost, run_cost, texts};

/// The ratio of the two sizes of an attack.
const GROWTH: usize = 4;

/// The maximum growth of the work when the input grows by [`GROWTH`]. Quadratic work grows by a factor of 16.
const MOST: f64 = 9.0;

fn measure(text: &str) -> Cost {
    let mut written = 0;
    let found = allocation_counter::measure(|| written = run_cost(text));
    Cost {
        input: text.len(),
        allocations: found.count_total,
        bytes: found.bytes_total,
        written,
    }
}

/// The cost of a text, and the processor time of the run that found it.
fn measure_time(text: &str) -> (Cost, Duration) {
    let start = ThreadTime::now();
    let cost = measure(text);
    (cost, start.elapsed())
}

/// The processor time of this thread, which other processes affect little: the minimum of up to three runs.
fn time(text: &str) -> Duration {
    let run = |_| {
        let start = ThreadTime::now();
        std::hint::black_box(run_cost(text));
        start.elapsed()
    };
    let mut sum = Duration::ZERO;
    let enough = |time: &Duration| {
        let first = sum.is_zero();
        sum += *time;
        first || sum < Duration::from_secs(1)
    };
    (0..3).map(run).take_while(enough).min().unwrap_or_default()
}

/// Initializes lazily loaded data, to exclude it from the measurement.
fn warm_up() {
    run_cost(&attacks::merge_key(1));
}

/// Returns an error for the first metric that grows faster than the input.
fn excess(attack: fn(usize) -> String, size: usize) -> Result<(), String> {
    let (small_text, large_text) = (attack(size), attack(size * GROWTH));
    let (small, small_time) = measure_time(&small_text);
    let (large, large_time) = measure_time(&large_text);
    check_cost(small)?;
    check_cost(large)?;
    // Other processes can only make a run slower, so a suspicious time is the minimum of several runs.
    let best = |text: &str| (0..3).map(|_| time(text)).min().unwrap_or_default();
    let is_slow = large_time.as_secs_f64() > MOST / 2.0 * small_time.as_secs_f64();
    let (small_time, large_time) = if is_slow {
        (best(&small_text), best(&large_text))
    } else {
        (small_time, large_time)
    };
    let input = large.input as f64 / small.input as f64;
    for (metric, small, large) in [
        (
            "allocations",
            small.allocations as f64,
            large.allocations as f64,
        ),
        ("allocated bytes", small.bytes as f64, large.bytes as f64),
        ("written bytes", small.written as f64, large.written as f64),
        (
            "processor time",
            small_time.as_secs_f64(),
            large_time.as_secs_f64(),
        ),
    ] {
        let growth = large / small;
        println!("  {metric}: {small} -> {large} ({growth:.1}), input {input:.1}");
        let most = MOST * (input / GROWTH as f64).max(0.5);
        if growth > most {
            return Err(format!(
                "{metric} grow by a factor of {growth:.1}, the input by {input:.1}"
            ));
        }
    }
    Ok(())
}

#[test]
fn work_grows_linearly_with_hostile_input() {
    warm_up();
    let mut wrong = Vec::new();
    for (name, attack, size) in ATTACKS {
        println!("{name}");
        if let Err(message) = excess(*attack, *size) {
            wrong.push(format!("{name}: {message}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The bounds also hold below the sizes at which limits reject an attack.
#[test]
fn work_is_bounded_for_every_size_of_attack() {
    warm_up();
    let mut shares = [0.0_f64; 3];
    let mut check = |name: &str, text: &str| {
        let cost = measure(text);
        assert_eq!(check_cost(cost), Ok(()), "{name}, {} bytes", text.len());
        for (share, (_, found, most)) in shares.iter_mut().zip(cost.bounds()) {
            *share = share.max(found as f64 / most as f64);
        }
    };
    for (name, attack, size) in ATTACKS {
        for divisor in [2, 8, 64] {
            check(name, &attack(size / divisor));
        }
    }
    // Generated values as types, live object, configuration and patch.
    for seed in 0..500_u32 {
        let bytes: Vec<u8> = (0..80_u32)
            .map(|i| (seed * 31 + i * i * 7 + seed * i * 3) as u8)
            .collect();
        let documents: Vec<String> = bytes.chunks(20).map(texts::value).collect();
        check("generated", &documents.join("\n---\n"));
    }
    println!("largest shares of the bounds: {shares:.3?}");
}

/// The seeds of the fuzz target `cost` are small attacks. `UPDATE_SEEDS=1` writes them.
#[test]
fn fuzz_seeds_match_the_attacks_and_satisfy_the_bounds() {
    warm_up();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/cost");
    for (name, attack, _) in ATTACKS {
        let text = attack(16);
        let file = folder.join(name.replace(' ', "-").to_lowercase() + ".yaml");
        if std::env::var_os("UPDATE_SEEDS").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            text,
            "{name}: UPDATE_SEEDS=1 writes the seeds"
        );
        assert_eq!(check_cost(measure(&text)), Ok(()), "{name}");
    }
}
