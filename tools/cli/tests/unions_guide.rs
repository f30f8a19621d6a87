//! The commands of the guide to unions print the output that the guide shows.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use assert_cmd::cargo::cargo_bin;

/// Each command with its output, from the fenced blocks that show a terminal.
fn commands(markdown: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            found.push((command.into(), String::new()));
        } else if let Some((_, output)) = found.last_mut().filter(|_| inside) {
            output.push_str(line);
            output.push('\n');
        }
    }
    found
}

#[test]
fn guide_commands_print_the_shown_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = std::fs::read_to_string(root.join("docs/unions.md")).unwrap();
    let program = cargo_bin("fieldmanager");
    let commands = commands(&guide);
    assert!(
        commands.len() >= 10,
        "only {} commands in the guide",
        commands.len()
    );
    for (command, printed) in commands {
        // Both streams, interleaved as on a terminal.
        let script = format!("fieldmanager() {{ \"$PROGRAM\" \"$@\"; }}\nexec 2>&1\n{command}");
        let output = Command::new("sh")
            .args(["-c", &script])
            .env("PROGRAM", &program)
            .current_dir(&root)
            .output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        // Table lines may end in spaces, which are invisible.
        let lines = |text: &str| {
            text.lines()
                .map(|line| format!("{}\n", line.trim_end()))
                .collect::<String>()
        };
        assert_eq!(lines(&text), lines(&printed), "{command}");
    }
}
