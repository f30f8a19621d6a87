//! The example prints the contents of `output.txt`.
#![allow(clippy::unwrap_used, reason = "tests may panic")]

use std::path::Path;
use std::process::Command;

#[test]
fn example_prints_its_output() {
    let output = Command::new(env!("CARGO_BIN_EXE_fieldmanager-example-operator")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("output.txt");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, &printed).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap();
    assert_eq!(printed, expected, "run this test with UPDATE_SNAPSHOTS=1 to write the file");
}
