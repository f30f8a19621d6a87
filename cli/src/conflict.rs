//! How conflicts are shown: what is owned by whom, and the ways out.

use std::io::{self, Write};

use comfy_table::{ContentArrangement, Table, presets};
use fieldmanager_managedfields::{Identity, Operation};
use fieldmanager_merge::Conflicts;
use fieldmanager_value::Value;

use crate::output::{self, Style};
use crate::text;

/// The longest value that is shown whole.
const LONGEST: usize = 40;

/// The conflicts that there would be.
pub(crate) fn print(conflicts: &Conflicts) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "\n{}", Style::Strong.paint("conflicts"))?;
    writeln!(out, "{}", table(conflicts, output::width()))
}

/// The conflicts that a manager's apply failed with, and what can be done.
pub(crate) fn report(out: &mut impl Write, conflicts: &Conflicts, manager: &str) -> io::Result<()> {
    let count = conflicts.len();
    let plural = if count == 1 { "" } else { "s" };
    let headline = format!("apply failed with {count} conflict{plural}: other managers own these fields");
    writeln!(out, "{} {headline}", Style::Error.paint("error:"))?;
    writeln!(out, "\n{}\n", table(conflicts, output::error_width()))?;
    write!(
        out,
        "Three ways out:\n\
         - {}: repeat with --force, and the owners above lose these fields\n\
         - {}: remove these fields from the configuration, and they stay as they are\n\
         - {}: give these fields their live values in the configuration, and you own them together\n",
        Style::Strong.paint("take them"),
        Style::Strong.paint("leave them"),
        Style::Strong.paint("share them"),
    )?;
    if conflicts
        .iter()
        .any(|conflict| identity(&conflict.manager).is_some_and(|owner| owner.manager == manager))
    {
        let name = text::printable(manager);
        writeln!(
            out,
            "\n`{name}` owns some of them itself, by updates: \
             `fieldmanager upgrade-csa --csa-manager {name} --manager {name}` makes them its own for applies"
        )?;
    }
    Ok(())
}

fn table(conflicts: &Conflicts, width: usize) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX))
        .set_header(["FIELD", "OWNER", "LIVE VALUE", "WANTED VALUE"]);
    for conflict in conflicts {
        table.add_row([
            text::printable(&conflict.path.to_string()),
            owner(&conflict.manager),
            shown(conflict.live.as_ref()),
            shown(conflict.wanted.as_ref()),
        ]);
    }
    table.trim_fmt()
}

/// A manager by its identifier.
fn identity(identifier: &str) -> Option<Identity> {
    let value = Value::from_json(identifier).ok()?;
    let member = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let operation = match member("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return None,
    };
    Some(Identity::new(member("manager"), operation, member("apiVersion"), member("subresource")))
}

fn owner(identifier: &str) -> String {
    identity(identifier).map_or_else(|| text::printable(identifier), |identity| text::identity(&identity))
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "(absent)".into();
    };
    let text = text::printable(&value.to_json());
    if text.chars().count() <= LONGEST {
        return text;
    }
    let cut: String = text.chars().take(LONGEST).collect();
    format!("{cut}…")
}
