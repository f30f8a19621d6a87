#![no_main]

use fieldmanager_invariants::check_schema;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(message) = check_schema(bytes) {
        panic!("{message}");
    }
});
