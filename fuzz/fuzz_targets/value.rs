#![no_main]

use fieldmanager_invariants::check_value;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(message) = check_value(bytes) {
        panic!("{message}");
    }
});
