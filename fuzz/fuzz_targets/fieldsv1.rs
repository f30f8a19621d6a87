#![no_main]

use fieldmanager_invariants::check_fields_v1;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(message) = check_fields_v1(bytes) {
        panic!("{message}");
    }
});
