//! `schema show`: shows the fields of a type and their granularity of ownership.

use std::process::ExitCode;

use crate::args::ShowArgs;
use crate::error::Failure;
use crate::files::Files;
use crate::output::{self, Line, Style};
use crate::text;
use crate::tree::{self, Row};
use crate::types;

/// The width between the columns, and of one level of indentation.
const GAP: usize = 2;

/// The minimum width of the description column. Below it, descriptions are not wrapped.
const NARROWEST: usize = 20;

pub(crate) fn show(args: &ShowArgs, files: Files) -> Result<ExitCode, Failure> {
    let source = types::load(args.schema.as_deref(), files)?;
    let ty = source.named(&args.name)?;
    let mut kinds = Vec::new();
    for (kind, names) in source.types.kinds() {
        if names.iter().any(|name| *name == ty.name()) {
            kinds.push(format!("{} {}", kind.api_version(), kind.kind));
        }
    }

    let title = Style::Strong.paint(ty.name());
    let title = if kinds.is_empty() {
        title
    } else {
        title.and(format!(" ({})", kinds.join(", ")))
    };
    let lines = layout(&tree::rows(&ty, args.depth), output::width());
    let unions: Vec<Line> = source.unions(&ty).into_iter().map(Line::from).collect();
    let gap = (!unions.is_empty()).then(Line::default);
    output::print_lines(
        [title, Line::default()]
            .into_iter()
            .chain(lines)
            .chain(gap)
            .chain(unions),
    )?;

    Ok(ExitCode::SUCCESS)
}

/// Formats two columns: the fields, indented by level, and their descriptions, wrapped to the available width.
fn layout(rows: &[Row], width: usize) -> Vec<Line> {
    let indent = |row: &Row| GAP * row.level;
    let names = rows
        .iter()
        .map(|row| indent(row) + text::width(&text::printable(&row.name)))
        .max()
        .unwrap_or_default();
    let at = names + GAP;
    let room = match width.saturating_sub(at) {
        room if room < NARROWEST => usize::MAX,
        room => room,
    };
    let mut lines = Vec::new();

    for row in rows {
        let name = format!("{:1$}{2}", "", indent(row), text::printable(&row.name));
        let pad = " ".repeat(at.saturating_sub(text::width(&name)));
        let mut prefix = format!("{name}{pad}");
        for line in wrapped(row, room) {
            lines.push(Line::from(&prefix).and(line));
            prefix = " ".repeat(at);
        }
    }

    lines
}

/// Wraps the description of a row. Phrases are separated by commas, marks are not.
fn wrapped(row: &Row, room: usize) -> Vec<Line> {
    let mut lines: Vec<(usize, Line)> = vec![(0, Line::default())];
    let mut phrases = row.phrases.iter().peekable();
    while let Some((style, phrase)) = phrases.next() {
        // Marks such as that of omitted fields belong to the phrase before them.
        let comma = phrases
            .peek()
            .is_some_and(|(style, _)| !matches!(style, Some(Style::Faint)));
        let words: Vec<&str> = phrase.split(' ').collect();
        for (i, word) in words.iter().enumerate() {
            let ends = comma && i + 1 == words.len();
            let word = text::printable(word);
            let length = text::width(&word) + usize::from(ends);
            let painted = style.map_or_else(|| Line::from(&word), |style| style.paint(&word));
            let painted = if ends { painted.and(",") } else { painted };

            match lines.last_mut() {
                Some((used, line)) if *used == 0 || *used + 1 + length <= room => {
                    let space = if *used > 0 { " " } else { "" };
                    *line = std::mem::take(line).and(space).and(painted);
                    *used += space.len() + length;
                }
                _ => lines.push((length, painted)),
            }
        }
    }

    lines.into_iter().map(|(_, line)| line).collect()
}
