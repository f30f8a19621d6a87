#![no_main]

use fieldmanager_invariants::check_patches;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(message) = check_patches(bytes) {
        panic!("{message}");
    }
});
