//! Reports conflicts: a table of the fields with their owners, and the ways to resolve them.

use comfy_table::{ContentArrangement, Table, presets};
use fieldmanager_managedfields::{Identity, Operation};
use fieldmanager_merge::Conflicts;
use fieldmanager_value::Value;

use crate::error::Failure;
use crate::output::{self, Line, Style};
use crate::text;

/// The maximum number of characters shown of a value.
const LONGEST: usize = 40;

/// Prints the conflicts that an apply would have.
pub(crate) fn print(conflicts: &Conflicts) -> Result<(), Failure> {
    let title = [Line::default(), Style::Strong.paint("conflicts")];
    output::print_lines(title.into_iter().chain(table(conflicts, output::width())))
}

/// Describes the conflicts of a failed apply and how to resolve them.
pub(crate) fn report(conflicts: &Conflicts, manager: &str) -> Vec<Line> {
    let count = conflicts.len();
    let plural = if count == 1 { "" } else { "s" };
    let headline =
        format!("apply failed with {count} conflict{plural}: other managers own these fields");
    let mut lines = vec![
        Style::Error.paint("error:").and(format!(" {headline}")),
        Line::default(),
    ];
    lines.extend(table(conflicts, output::error_width()));
    lines.push(Line::default());
    lines.extend(ways("repeat with --force"));

    // A manager that updated before and applies now is two owners, so it can conflict with itself. Its old entry has to
    // become that of an applier.
    if conflicts
        .iter()
        .any(|conflict| identity(&conflict.manager).is_some_and(|owner| owner.manager == manager))
    {
        lines.push(Line::default());
        lines.push(
            format!(
                "`{manager}` owns some of these fields through updates: \
                 `fieldmanager upgrade-csa --csa-manager {manager} --manager {manager}` turns them into applied fields"
            )
            .into(),
        );
    }

    lines
}

/// The ways to resolve conflicts: by force, by giving up the fields, or by agreeing on the values.
pub(crate) fn ways(force: &str) -> Vec<Line> {
    let ways = [
        (
            "take them",
            format!("{force}; the owners above lose these fields"),
        ),
        (
            "leave them",
            "remove these fields from the configuration; they keep their live values".to_owned(),
        ),
        (
            "share them",
            "set these fields to their live values in the configuration; you become a co-owner"
                .to_owned(),
        ),
    ];
    let lines = ways.into_iter().map(|(name, rest)| {
        let line = Line::from("- ").and(Style::Strong.paint(name));
        line.and(format!(": {rest}"))
    });
    std::iter::once("Three ways to resolve them:".into())
        .chain(lines)
        .collect()
}

pub(crate) fn table(conflicts: &Conflicts, width: usize) -> Vec<Line> {
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

    table.trim_fmt().lines().map(Line::from).collect()
}

/// Parses the identifier of a manager.
pub(crate) fn identity(identifier: &str) -> Option<Identity> {
    let value = Value::from_json(identifier).ok()?;
    let member = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let operation = match member("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return None,
    };

    Some(Identity::new(
        member("manager"),
        operation,
        member("apiVersion"),
        member("subresource"),
    ))
}

fn owner(identifier: &str) -> String {
    identity(identifier).map_or_else(
        || text::printable(identifier),
        |identity| text::identity(&identity),
    )
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
