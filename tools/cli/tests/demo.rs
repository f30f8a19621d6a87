//! The first minute: a call without arguments, and `demo`.

use crate::common::{Folder, prints, snapshot};

#[test]
fn a_call_without_arguments_says_what_to_try_first() {
    let text = prints("");
    for command in [
        "fieldmanager demo",
        "fieldmanager blame -f -",
        "fieldmanager serve",
        "--help",
    ] {
        assert!(text.contains(command), "{text}");
    }
}

#[test]
fn demo_plays_a_conflict_its_ways_out_and_a_union() {
    let text = prints("demo");
    snapshot("demo.txt", &text);
    assert!(
        text.lines()
            .all(|line| line.chars().count() <= 112 && !line.ends_with(' '))
    );
}

#[test]
fn completions_and_man_pages_are_made_from_the_arguments() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            prints(&format!("completions {shell}")).contains("demo"),
            "{shell}"
        );
    }
    let folder = Folder::new(&[]);
    prints(&folder.line("man @"));
    for page in [
        "fieldmanager.1",
        "fieldmanager-apply.1",
        "fieldmanager-schema-check.1",
    ] {
        let text = std::fs::read_to_string(folder.path().join(page)).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
    }
}
