//! Shows the changes that a request would make.

use fieldmanager_fieldpath::Set;
use fieldmanager_managedfields::internal::{Change, Difference};
use fieldmanager_value::Value;

use crate::error::Failure;
use crate::output::{self, Line, Style};
use crate::text;

pub(crate) fn print(found: &Difference) -> Result<(), Failure> {
    output::print_lines(lines(found, output::room()))
}

/// The changes of fields and of owners.
pub(crate) fn lines(found: &Difference, room: Option<usize>) -> Vec<Line> {
    if found.changes.is_empty() && found.ownership.is_empty() {
        return vec!["nothing would change".into()];
    }
    // Fields and owners are separate, since a request may change either without the other.
    let mut paragraphs = Vec::new();
    if !found.changes.is_empty() {
        paragraphs.push((
            "fields",
            found.changes.iter().map(field).collect::<Vec<_>>(),
        ));
    }

    if !found.ownership.is_empty() {
        let mut lines = Vec::new();
        for change in &found.ownership {
            lines.push((Style::Strong, text::identity(&change.identity)));
            lines.extend(paths('+', Style::Added, &change.gained));
            lines.extend(paths('-', Style::Removed, &change.lost));
        }
        paragraphs.push(("owners", lines));
    }

    let mut out = Vec::new();
    for (i, (title, lines)) in paragraphs.into_iter().enumerate() {
        if i > 0 {
            out.push(Line::default());
        }
        out.push(Style::Strong.paint(title));
        for (style, line) in lines {
            // A path may be wider than the terminal, and continues deeper than all signs.
            let room = room.map(|room| room.saturating_sub(2));
            for part in text::wrap(&line, room, 4) {
                out.push(Line::from("  ").and(style.paint(&part)));
            }
        }
    }

    out
}

/// A line for a change, and its style.
pub(crate) fn field(change: &Change) -> (Style, String) {
    let path = text::printable(&change.path.to_string());
    match (&change.before, &change.after) {
        (None, Some(after)) => (Style::Added, format!("+ {path}: {}", shown(after))),
        (Some(before), None) => (Style::Removed, format!("- {path}: {}", shown(before))),
        (before, after) => {
            let side =
                |value: &Option<Value>| value.as_ref().map_or_else(|| "(absent)".to_owned(), shown);
            (
                Style::Modified,
                format!("~ {path}: {} -> {}", side(before), side(after)),
            )
        }
    }
}

fn paths(sign: char, style: Style, set: &Set) -> Vec<(Style, String)> {
    set.paths()
        .map(|path| {
            (
                style,
                format!("  {sign} {}", text::printable(&path.to_string())),
            )
        })
        .collect()
}

/// The most columns of a value: an annotation may contain a whole configuration.
const LONGEST: usize = 100;

fn shown(value: &Value) -> String {
    text::shortened(&text::printable(&value.to_json()), LONGEST)
}
