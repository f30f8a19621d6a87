#![no_main]

use fieldmanager_invariants::check_paths;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(message) = check_paths(bytes) {
        panic!("{message}");
    }
});
