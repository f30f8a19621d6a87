#![no_main]

use fieldmanager_invariants::{check_cost, run_cost};

// The crate counts the allocations of a closure with an allocator of its own.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut written = 0;
    let allocated = allocation_counter::measure(|| written = run_cost(text));
    if let Err(message) = check_cost(text.len(), allocated.count_total, allocated.bytes_total, written) {
        panic!("{message}");
    }
});
