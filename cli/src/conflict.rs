//! How conflicts are shown: what is owned by whom, and the ways out.

use std::io::{self, Write};

use comfy_table::{ContentArrangement, Table, presets};
use fieldmanager_merge::Conflicts;
use fieldmanager_value::Value;

use crate::managed::Identity;
use crate::output::Style;

/// The width of tables where the terminal does not say.
const WIDTH: u16 = 100;

/// The longest value that is shown whole.
const LONGEST: usize = 40;

pub(crate) fn report(out: &mut impl Write, conflicts: &Conflicts) -> io::Result<()> {
    let count = conflicts.len();
    let plural = if count == 1 { "" } else { "s" };
    let headline = format!("apply failed with {count} conflict{plural}: other managers own these fields");
    writeln!(out, "{} {headline}", Style::Error.paint("error:"))?;

    let width = terminal_size::terminal_size_of(io::stderr()).map_or(WIDTH, |(width, _)| width.0);
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(["FIELD", "OWNER", "LIVE VALUE", "WANTED VALUE"]);
    for conflict in conflicts {
        table.add_row([
            conflict.path.to_string(),
            Identity::parse(&conflict.manager).to_string(),
            shown(conflict.live.as_ref()),
            shown(conflict.wanted.as_ref()),
        ]);
    }
    writeln!(out, "\n{}\n", table.trim_fmt())?;
    write!(
        out,
        "Three ways out:\n\
         - {}: repeat with --force, and the owners above lose these fields\n\
         - {}: remove these fields from the configuration, and they stay as they are\n\
         - {}: give these fields their live values in the configuration, and you own them together\n",
        Style::Strong.paint("take them"),
        Style::Strong.paint("leave them"),
        Style::Strong.paint("share them"),
    )
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "(absent)".into();
    };
    let text = value.to_json();
    if text.chars().count() <= LONGEST {
        return text;
    }
    let cut: String = text.chars().take(LONGEST).collect();
    format!("{cut}…")
}
