#![no_main]

use fieldmanager_invariants::check_reviews;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(message) = check_reviews(bytes) {
        panic!("{message}");
    }
});
