//! `managers`: shows how much of an object each manager owns.

use std::process::ExitCode;

use fieldmanager_blame::shown_name;
use fieldmanager_value::{List, Map, Value};

use crate::args::ManagersArgs;
use crate::error::Failure;
use crate::files::Files;
use crate::output::{self, Line, Style};
use crate::owners::{Owned, paint, palette};
use crate::text;

pub(crate) fn run(args: &ManagersArgs, files: Files) -> Result<ExitCode, Failure> {
    let owned = Owned::read(&args.owned, files)?;
    match args.output {
        Some(format) => output::print(&document(&owned), format)?,
        None => output::print_lines(lines(&owned, output::room()))?,
    }
    Ok(ExitCode::SUCCESS)
}

const TITLES: [&str; 8] = [
    "MANAGER",
    "OPERATION",
    "VERSION",
    "SUBRESOURCE",
    "TIME",
    "AGE",
    "FIELDS",
    "BYTES",
];
const MANAGER: usize = 0;
const VERSION: usize = 2;
const SUBRESOURCE: usize = 3;
const TIME: usize = 4;
/// The index of the first numeric column.
const NUMBERS: usize = 5;

/// The minimum width to which names are shortened.
const SHORTEST: usize = 8;

struct Row {
    name: String,
    cells: [String; 8],
}

fn rows(owned: &Owned) -> Vec<Row> {
    let row = |owner: &crate::owners::Owner| {
        let entry = &owner.entry;
        Row {
            name: entry.manager.to_string(),
            cells: [
                shown_name(&entry.manager),
                entry.operation.to_string(),
                text::printable(entry.api_version.as_str()),
                text::printable(&entry.subresource),
                entry.time.map(|time| time.to_string()).unwrap_or_default(),
                owned.age(entry),
                entry.fields.leaves().len().to_string(),
                owner.bytes.to_string(),
            ],
        }
    };

    owned.owners.iter().map(row).collect()
}

fn lines(owned: &Owned, room: Option<usize>) -> Vec<Line> {
    let rows = rows(owned);
    let total = total(owned);
    if rows.is_empty() {
        return vec![total.into()];
    }
    let columns = columns(&rows, room);
    let palette = palette(&owned.owners);
    let titles = columns.iter().map(|(at, width)| {
        let title = TITLES.get(*at).copied().unwrap_or_default();
        Style::Strong.paint(&cell(*at, title, *width))
    });
    let mut lines = vec![Line::join(titles, "  ").trimmed()];

    for row in &rows {
        let cells = columns.iter().map(|(at, width)| {
            let cell = cell(*at, row.cells.get(*at).map_or("", String::as_str), *width);
            if *at == MANAGER {
                paint(&palette, &row.name, &cell)
            } else {
                cell.into()
            }
        });
        lines.push(Line::join(cells, "  ").trimmed());
    }

    lines.push(Line::default());
    lines.extend(text::wrap(&total, room, 0).into_iter().map(Line::from));
    lines
}

fn cell(column: usize, text: &str, width: usize) -> String {
    let text = text::shortened(text, width);
    match column {
        NUMBERS.. => format!(
            "{}{text}",
            " ".repeat(width.saturating_sub(text::width(&text)))
        ),
        _ => text::padded(&text, width),
    }
}

/// The columns to show, with their widths. Empty columns are omitted. If the available width is too small, the time is
/// omitted, because the age remains, and then names are shortened.
fn columns(rows: &[Row], room: Option<usize>) -> Vec<(usize, usize)> {
    let widest = |at: usize| {
        rows.iter()
            .filter_map(|row| row.cells.get(at))
            .map(|cell| text::width(cell))
            .max()
    };
    let mut columns: Vec<(usize, usize)> = TITLES
        .iter()
        .enumerate()
        .filter_map(|(at, title)| {
            Some((at, widest(at).filter(|width| *width > 0)?.max(title.len())))
        })
        .collect();

    // A file or a pipe has no width.
    let Some(room) = room else {
        return columns;
    };
    let needed = |columns: &[(usize, usize)]| {
        columns
            .iter()
            .map(|(_, width)| width + 2)
            .sum::<usize>()
            .saturating_sub(2)
    };
    if needed(&columns) > room {
        columns.retain(|(at, _)| *at != TIME);
    }

    // Names lose width in this order, until the rest fits.
    for name in [MANAGER, VERSION, SUBRESOURCE] {
        let excess = needed(&columns).saturating_sub(room);
        for (_, width) in columns.iter_mut().filter(|(at, _)| *at == name) {
            *width = width.saturating_sub(excess).max((*width).min(SHORTEST));
        }
    }
    columns
}

fn total(owned: &Owned) -> String {
    let plural = |count: usize, one: &str, many: &str| {
        format!("{count} {}", if count == 1 { one } else { many })
    };
    let names: std::collections::BTreeSet<&str> = owned
        .owners
        .iter()
        .map(|owner| owner.entry.manager.as_str())
        .collect();
    let (fields, bytes, object) = sums(owned);
    let share = bytes
        .saturating_mul(100)
        .checked_div(object)
        .unwrap_or_default();

    format!(
        "{} of {} own {} in {}, {share}% of the object",
        plural(owned.owners.len(), "entry", "entries"),
        plural(names.len(), "manager", "managers"),
        plural(fields, "field", "fields"),
        plural(bytes, "byte", "bytes"),
    )
}

/// Fields and bytes of all entries, and the bytes of the object.
fn sums(owned: &Owned) -> (usize, usize, usize) {
    // A field with two owners counts once.
    let all = owned
        .owners
        .iter()
        .fold(fieldmanager_fieldpath::Set::new(), |all, owner| {
            all.union(&owner.entry.fields.leaves())
        });
    let bytes = owned.owners.iter().map(|owner| owner.bytes).sum();
    (all.leaves().len(), bytes, owned.object.to_json().len())
}

fn document(owned: &Owned) -> Value {
    let number = |number: usize| Value::from(i64::try_from(number).unwrap_or(i64::MAX));
    let managers: List = owned
        .owners
        .iter()
        .map(|owner| {
            let entry = &owner.entry;
            let mut map = Map::new();
            map.insert("manager", entry.manager.clone());
            map.insert("operation", entry.operation.name());
            map.insert("apiVersion", entry.api_version.as_str());
            if !entry.subresource.is_empty() {
                map.insert("subresource", entry.subresource.clone());
            }

            if let Some(time) = entry.time {
                map.insert("time", time.to_string());
                map.insert(
                    "ageSeconds",
                    owned.now.unix_seconds().saturating_sub(time.unix_seconds()),
                );
            }

            map.insert("fields", number(entry.fields.leaves().len()));
            map.insert("bytes", number(owner.bytes));
            Value::Map(map)
        })
        .collect();

    // These are not sums over the managers: a field with two owners counts once.
    let (fields, bytes, object) = sums(owned);
    let mut total = Map::new();
    total.insert("entries", number(owned.owners.len()));
    total.insert("fields", number(fields));
    total.insert("bytes", number(bytes));
    total.insert("objectBytes", number(object));
    let mut out = Map::new();
    out.insert("managers", managers);
    out.insert("total", total);

    Value::Map(out)
}
