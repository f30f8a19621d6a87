//! `schema show`: the fields of a type, and how they are owned.

use std::process::ExitCode;

use crate::args::ShowArgs;
use crate::error::Failure;
use crate::output::{self, Style};
use crate::tree::{self, Row};
use crate::types;

/// The blanks between the columns, and before the fields of a field.
const GAP: usize = 2;

/// The narrowest column of descriptions that is worth breaking lines for.
const NARROWEST: usize = 20;

pub(crate) fn show(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let source = types::load(args.schema.as_deref())?;
    let ty = source.named(&args.name)?;
    let mut kinds = Vec::new();
    for (kind, names) in source.types.kinds() {
        if names.iter().any(|name| *name == ty.name()) {
            kinds.push(format!("{} {}", kind.api_version(), kind.kind));
        }
    }
    let title = Style::Strong.paint(ty.name());
    let title = if kinds.is_empty() { title } else { format!("{title} ({})", kinds.join(", ")) };
    let lines = layout(&tree::rows(&ty, args.depth), output::width());
    let unions = source.unions(&ty);
    let gap = if unions.is_empty() { None } else { Some(String::new()) };
    output::print_lines([title, String::new()].into_iter().chain(lines).chain(gap).chain(unions))?;
    Ok(ExitCode::SUCCESS)
}

/// Two columns: fields, each below and to the right of what it belongs to, and what is said of them. Descriptions
/// go on in the next line where they do not fit.
fn layout(rows: &[Row], width: usize) -> Vec<String> {
    let indent = |row: &Row| GAP * row.level;
    let names = rows.iter().map(|row| indent(row) + row.name.chars().count()).max().unwrap_or_default();
    let at = names + GAP;
    let room = match width.saturating_sub(at) {
        room if room < NARROWEST => usize::MAX,
        room => room,
    };
    let mut lines = Vec::new();
    for row in rows {
        let name = format!("{:1$}{2}", "", indent(row), row.name);
        let pad = " ".repeat(at - name.chars().count());
        let mut prefix = format!("{name}{pad}");
        for line in wrapped(row, room) {
            lines.push(format!("{prefix}{line}"));
            prefix = " ".repeat(at);
        }
    }
    lines
}

/// The description of a row in lines: phrases with commas between them, marks without.
fn wrapped(row: &Row, room: usize) -> Vec<String> {
    let mut lines: Vec<(usize, String)> = vec![(0, String::new())];
    let mut phrases = row.phrases.iter().peekable();
    while let Some((style, phrase)) = phrases.next() {
        let comma = phrases.peek().is_some_and(|(style, _)| !matches!(style, Some(Style::Faint)));
        let words: Vec<&str> = phrase.split(' ').collect();
        for (i, word) in words.iter().enumerate() {
            let ends = comma && i + 1 == words.len();
            let length = word.chars().count() + usize::from(ends);
            let painted = style.map_or_else(|| (*word).to_owned(), |style| style.paint(word));
            let painted = if ends { format!("{painted},") } else { painted };
            match lines.last_mut() {
                Some((used, line)) if *used == 0 || *used + 1 + length <= room => {
                    if *used > 0 {
                        line.push(' ');
                        *used += 1;
                    }
                    line.push_str(&painted);
                    *used += length;
                }
                _ => lines.push((length, painted)),
            }
        }
    }
    lines.into_iter().map(|(_, line)| line).collect()
}
