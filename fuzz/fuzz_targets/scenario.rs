#![no_main]

use fieldmanager_invariants::check_scenario;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(message) = check_scenario(bytes) {
        panic!("{message}");
    }
});
