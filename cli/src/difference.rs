//! What a request would change, for people.

use std::io::{self, Write};

use fieldmanager_fieldpath::Set;
use fieldmanager_managedfields::{Change, DryRun};
use fieldmanager_value::Value;

use crate::error::Failure;
use crate::output::{self, Style};
use crate::text;

pub(crate) fn print(run: &DryRun) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    write(&mut out, run, output::room())?;
    Ok(())
}

fn write(out: &mut impl Write, run: &DryRun, room: Option<usize>) -> io::Result<()> {
    if run.changes.is_empty() && run.ownership.is_empty() {
        return writeln!(out, "nothing would change");
    }
    let mut paragraphs = Vec::new();
    if !run.changes.is_empty() {
        paragraphs.push(("fields", run.changes.iter().map(field).collect::<Vec<_>>()));
    }
    if !run.ownership.is_empty() {
        let mut lines = Vec::new();
        for change in &run.ownership {
            lines.push((Style::Strong, text::identity(&change.identity)));
            lines.extend(paths('+', Style::Added, &change.gained));
            lines.extend(paths('-', Style::Removed, &change.lost));
        }
        paragraphs.push(("owners", lines));
    }
    for (i, (title, lines)) in paragraphs.into_iter().enumerate() {
        writeln!(out, "{}{}", if i > 0 { "\n" } else { "" }, Style::Strong.paint(title))?;
        for (style, line) in lines {
            let room = room.map(|room| room.saturating_sub(2));
            for part in text::wrap(&line, room, 4) {
                writeln!(out, "  {}", style.paint(&part))?;
            }
        }
    }
    Ok(())
}

fn field(change: &Change) -> (Style, String) {
    let path = text::printable(&change.path.to_string());
    match (&change.before, &change.after) {
        (None, Some(after)) => (Style::Added, format!("+ {path}: {}", shown(after))),
        (Some(before), None) => (Style::Removed, format!("- {path}: {}", shown(before))),
        (before, after) => {
            let side = |value: &Option<Value>| value.as_ref().map_or_else(|| "(absent)".to_owned(), shown);
            (Style::Modified, format!("~ {path}: {} -> {}", side(before), side(after)))
        }
    }
}

fn paths(sign: char, style: Style, set: &Set) -> Vec<(Style, String)> {
    set.paths().map(|path| (style, format!("  {sign} {}", text::printable(&path.to_string())))).collect()
}

fn shown(value: &Value) -> String {
    text::printable(&value.to_json())
}
