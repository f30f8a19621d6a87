#![no_main]

use fieldmanager_invariants::check_server;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(message) = check_server(bytes) {
        panic!("{message}");
    }
});
