//! The commands of the README and of the tour print the output that these pages show.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot read a page must fail"
)]

use std::path::Path;
use std::process::Command;

use assert_cmd::cargo::cargo_bin;

/// The invocation of the command in the README.
const CALL: &str = "cargo run -q -p fieldmanager-cli --";

/// A fenced block: its language and contents.
struct Block {
    language: String,
    text: String,
}

fn blocks(markdown: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in markdown.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(language), None) => {
                open = Some(Block {
                    language: language.into(),
                    text: String::new(),
                })
            }
            (Some(_), Some(block)) => blocks.push(block),
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    blocks
}

#[test]
fn readme_commands_print_the_shown_output() {
    assert_eq!(check_commands("README.md"), 1);
}

#[test]
fn tour_commands_print_the_shown_output() {
    assert!(check_commands("docs/cli.md") >= 8);
}

#[test]
fn tutorial_commands_print_the_shown_output() {
    assert_eq!(check_commands("docs/tutorial.md"), 5);
}

#[test]
fn policies_commands_print_the_shown_output() {
    assert_eq!(check_commands("docs/policies.md"), 1);
}

#[test]
fn guides_commands_print_the_shown_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = 0;
    for entry in std::fs::read_dir(root.join("docs/guides")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            check_commands(&format!("docs/guides/{name}")) >= 2,
            "{name}"
        );
        pages += 1;
    }
    assert!(pages >= 9);
}

/// Runs the commands of a page, compares their output with the shown one, and returns the number of commands.
fn check_commands(page: &str) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(page)).unwrap();
    let program = cargo_bin("fieldmanager");
    let program = format!("'{}'", program.display());
    let blocks = blocks(&text);
    let mut checked = 0;
    for pair in blocks.windows(2) {
        let (command, printed) = (&pair[0], &pair[1]);
        let has_output = matches!(printed.language.as_str(), "text" | "yaml");
        if command.language != "sh" || !command.text.starts_with(CALL) || !has_output {
            continue;
        }
        let script = command.text.replace(CALL, &program);
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(&root)
            .output()
            .unwrap();
        let printed_now = [output.stdout, output.stderr].concat();
        assert_eq!(
            String::from_utf8(printed_now).unwrap(),
            printed.text,
            "{}",
            command.text
        );
        checked += 1;
    }
    checked
}

#[test]
fn testing_page_shows_tests_that_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/testing.md")).unwrap();
    let blocks = blocks(&text);
    // Cargo runs those in Rust, and comparison/clients/run the others.
    for (language, path) in [
        ("rust", "server/apiserver/tests/shops.rs"),
        ("rust", "server/apiserver/tests/operator.rs"),
        ("rust", "server/apiserver/tests/webhook.rs"),
        ("go", "comparison/clients/go/webhook_test.go"),
        ("python", "integrations/python/tests/test_webhook.py"),
        ("go", "integrations/go/clientgo/example_test.go"),
        ("go", "integrations/go/clientgo/operator_test.go"),
        ("python", "integrations/python/tests/test_shops.py"),
        (
            "java",
            "comparison/clients/java/src/test/java/ShopTest.java",
        ),
        ("sh", "examples/testing/shops.sh"),
        ("sh", "examples/testing/operator.sh"),
    ] {
        let file = std::fs::read_to_string(root.join(path)).unwrap();
        assert!(
            blocks
                .iter()
                .any(|block| block.language == language && block.text == file),
            "{path}"
        );
    }
}

#[test]
fn embedding_page_shows_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/embedding.md")).unwrap();
    let example = std::fs::read_to_string(root.join("examples/embed.rs")).unwrap();
    assert!(example.lines().count() <= 80, "it has to stay short");
    assert!(
        blocks(&text)
            .iter()
            .any(|block| block.language == "rust" && block.text == example)
    );
}
