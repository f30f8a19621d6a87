//! The example prints the contents of its snapshot. `INSTA_UPDATE=always` writes the snapshot.
#![allow(clippy::unwrap_used, reason = "tests may panic")]

use std::process::Command;

#[test]
fn example_prints_its_output() {
    let output = Command::new(env!("CARGO_BIN_EXE_fieldmanager-example-operator"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let printed = String::from_utf8(output.stdout).unwrap();
    insta::with_settings!({ snapshot_path => "..", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("output", printed);
    });
}
