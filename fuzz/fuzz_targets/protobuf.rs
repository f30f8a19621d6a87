#![no_main]

use fieldmanager_invariants::check_protobuf;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(message) = check_protobuf(bytes) {
        panic!("{message}");
    }
});
