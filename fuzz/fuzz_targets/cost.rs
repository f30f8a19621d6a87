#![no_main]

use fieldmanager_invariants::{Cost, attacks, check_cost, run_cost};

// `allocation_counter` counts the allocations of a closure. Initialize lazily loaded data first, to exclude it.
libfuzzer_sys::fuzz_target!(
    init: {
        run_cost(&attacks::merge_key(1));
    },
    |bytes: &[u8]| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        let mut written = 0;
        let found = allocation_counter::measure(|| written = run_cost(text));
        let (allocations, bytes) = (found.count_total, found.bytes_total);
        if let Err(message) = check_cost(Cost { input: text.len(), allocations, bytes, written }) {
            panic!("{message}");
        }
    }
);
