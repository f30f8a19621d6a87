//! The page of commands is made from the parser of the arguments.
//!
//! `INSTA_UPDATE=always cargo test -p fieldmanager-cli --test all reference` writes it anew.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot read or write a page must fail"
)]

use std::fmt::Write;
use std::path::Path;

use clap::{Arg, ArgAction, Command};
use fieldmanager_cli::internal::parser;

/// The beginning of the page.
const TOP: &str = "\
# Commands

<!-- Made from the parser of the arguments: do not edit. `tools/cli/tests/reference.rs` says how to make it. -->

What `fieldmanager help COMMAND` prints, on one page. [The command](cli.md) is a tour with examples.

";

#[test]
fn page_of_commands_is_that_of_the_parser() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let page = page();
    if std::env::var("INSTA_UPDATE").is_ok_and(|wanted| wanted == "always") {
        std::fs::write(&path, &page).unwrap();
    }
    let shown = std::fs::read_to_string(&path).unwrap();
    assert!(
        shown == page,
        "docs/commands.md is not what the parser says: INSTA_UPDATE=always writes it"
    );
}

fn page() -> String {
    let mut program = parser();
    program.build();
    let mut page = TOP.to_owned();
    describe(&program, &mut page);
    let mut commands = Vec::new();
    collect(&program, &mut commands);

    page += "| command | does |\n|---|---|\n";
    for (name, command) in &commands {
        let about = text(&command.get_about().unwrap().to_string());
        let anchor = name.replace(' ', "-");
        writeln!(page, "| [`{name}`](#{anchor}) | {about} |").unwrap();
    }
    for (name, command) in &commands {
        writeln!(page, "\n## {name}\n").unwrap();
        describe(command, &mut page);
        let usage = (*command).clone().render_usage().to_string();
        let usage = usage.strip_prefix("Usage: ").unwrap();
        writeln!(page, "```text\n{usage}\n```").unwrap();
        options(command, &mut page);
    }

    page += "\n## Options of all commands\n";
    options(&program, &mut page);
    page
}

/// The commands that do something, with the words that call them, such as `schema show`.
fn collect<'a>(command: &'a Command, into: &mut Vec<(String, &'a Command)>) {
    for child in command.get_subcommands() {
        if child.is_hide_set() || child.get_name() == "help" {
            continue;
        }
        if child.has_subcommands() {
            collect(child, into);
        } else {
            let full = child.get_bin_name().unwrap();
            into.push((full.strip_prefix("fieldmanager ").unwrap().into(), child));
        }
    }
}

/// Writes what a command does, in paragraphs.
fn describe(command: &Command, page: &mut String) {
    let about = command.get_long_about().or(command.get_about()).unwrap();
    for paragraph in about.to_string().split("\n\n") {
        // Where a paragraph has lines of its own, they stay.
        let (end, lines) = (
            if paragraph.ends_with(['.', '?']) {
                ""
            } else {
                "."
            },
            text(paragraph),
        );
        writeln!(page, "{lines}{end}\n").unwrap();
    }
}

/// Writes a table of the options and arguments of a command. Options of all commands are in the table of the program alone.
fn options(command: &Command, page: &mut String) {
    let shown = |argument: &&Arg| {
        let of_all = argument.is_global_set() && command.get_name() != "fieldmanager";
        let id = argument.get_id();
        !argument.is_hide_set() && !of_all && id != "help" && id != "version"
    };
    let mut arguments = command.get_arguments().filter(shown).peekable();
    if arguments.peek().is_none() {
        return;
    }
    page.push_str("\n| option | meaning |\n|---|---|\n");
    for argument in arguments {
        let (name, meaning) = (name(argument), meaning(argument));
        writeln!(page, "| {name} | {meaning} |").unwrap();
    }
}

/// The forms of an option, such as `-f FILE`, `--filename FILE`.
fn name(argument: &Arg) -> String {
    let values: Vec<String> = argument
        .get_value_names()
        .filter(|_| argument.get_action().takes_values())
        .map(|names| names.iter().map(ToString::to_string).collect())
        .unwrap_or_default();
    let value = values.join(" ");
    let short = argument.get_short().map(|short| format!("-{short}"));
    let aliases = argument.get_visible_aliases().unwrap_or_default();
    let long = argument.get_long().into_iter().chain(aliases);
    let flags: Vec<String> = short
        .into_iter()
        .chain(long.map(|long| format!("--{long}")))
        .collect();
    if flags.is_empty() {
        return format!("`{value}`");
    }
    let with_value = flags
        .iter()
        .map(|flag| format!("`{}`", format!("{flag} {value}").trim_end()));
    with_value.collect::<Vec<_>>().join(", ")
}

/// What an option means, its values, and what holds without it.
fn meaning(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help());
    let mut meaning = text(&help.unwrap().to_string());
    let takes_value = argument.get_action().takes_values();
    let values = argument.get_possible_values();
    let shown = values.iter().filter(|value| !value.is_hide_set());
    let names: Vec<_> = shown
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if takes_value && !names.is_empty() {
        write!(meaning, "; one of {}", names.join(", ")).unwrap();
    }
    let defaults = argument.get_default_values();
    if takes_value && !defaults.is_empty() && !argument.is_hide_default_value_set() {
        let defaults = defaults.iter().map(|value| value.to_string_lossy());
        write!(
            meaning,
            "; by default `{}`",
            defaults.collect::<Vec<_>>().join(" ")
        )
        .unwrap();
    }
    let repeats = matches!(argument.get_action(), ArgAction::Append);
    if repeats && argument.get_long().is_some() && !meaning.contains("repeated") {
        meaning += "; may be repeated";
    }
    if argument.is_required_set() {
        meaning += " (required)";
    }
    meaning
}

/// A text on one line, as Markdown: what is not in backticks has no meaning of its own.
fn text(plain: &str) -> String {
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = line.split('`').enumerate().map(|(index, part)| {
        if index % 2 == 0 {
            part.replace('<', "&lt;")
                .replace('*', "\\*")
                .replace('_', "\\_")
        } else {
            format!("`{part}`")
        }
    });
    parts.collect::<String>().replace('|', "\\|")
}
