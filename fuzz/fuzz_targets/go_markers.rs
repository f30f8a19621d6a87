#![no_main]

use fieldmanager_invariants::check_go_markers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(message) = check_go_markers(bytes) {
        panic!("{message}");
    }
});
