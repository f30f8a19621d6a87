//! The commands of the README print what the README says.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use assert_cmd::cargo::cargo_bin;

/// How the README calls the command.
const CALL: &str = "cargo run -q -p fieldmanager-cli --";

/// A fenced block: the word after the fence, and what is inside.
struct Block {
    language: String,
    text: String,
}

fn blocks(markdown: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in markdown.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(language), None) => open = Some(Block { language: language.into(), text: String::new() }),
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
fn commands_print_what_the_readme_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let program = cargo_bin("fieldmanager");
    let program = format!("'{}'", program.display());
    let blocks = blocks(&readme);
    let mut checked = 0;
    for pair in blocks.windows(2) {
        let (command, printed) = (&pair[0], &pair[1]);
        let has_output = matches!(printed.language.as_str(), "text" | "yaml");
        if command.language != "sh" || !command.text.starts_with(CALL) || !has_output {
            continue;
        }
        let script = command.text.replace(CALL, &program);
        let output = Command::new("sh").args(["-c", &script]).current_dir(&root).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        assert_eq!(String::from_utf8(text).unwrap(), printed.text, "{}", command.text);
        checked += 1;
    }
    assert!(checked >= 4, "only {checked} commands of the README have output beside them");
}

#[test]
fn the_readme_shows_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let example = std::fs::read_to_string(root.join("examples/embed.rs")).unwrap();
    assert!(example.lines().count() < 60, "it has to stay short");
    assert!(blocks(&readme).iter().any(|block| block.language == "rust" && block.text == example));
}
