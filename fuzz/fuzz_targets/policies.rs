#![no_main]

use fieldmanager_invariants::check_policies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(message) = check_policies(bytes) {
        panic!("{message}");
    }
});
