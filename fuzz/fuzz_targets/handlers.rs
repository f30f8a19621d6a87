#![no_main]

use fieldmanager_invariants::check_handlers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(message) = check_handlers(bytes) {
        panic!("{message}");
    }
});
