//! Renders lines with their owners for a terminal.

use fieldmanager_blame::{Line, Palette, mark, shown_name};

use crate::output::{Line as Output, Style};
use crate::owners::{Owned, paint, palette};
use crate::text;

/// The minimum width to which names are shortened.
const SHORTEST: usize = 8;

/// The mark of a line without owners.
const UNOWNED: &str = "-";

/// One owner of a line: its name, the displayed name, its operation and its age.
struct Cell<'o> {
    name: &'o str,
    shown: String,
    /// The operation mark and the age.
    about: String,
}

/// Renders each line after its owners and a bar, wrapped to the available width.
pub(crate) fn lines(owned: &Owned, lines: &[Line], room: Option<usize>) -> Vec<Output> {
    let palette = palette(&owned.owners);
    let ages: Vec<String> = owned
        .owners
        .iter()
        .map(|owner| owned.age(&owner.entry))
        .collect();
    // An entry may have no time, and no column is needed if none has one.
    let age_width = ages.iter().map(String::len).max().unwrap_or_default();
    let cells: Vec<Cell<'_>> = owned
        .owners
        .iter()
        .zip(&ages)
        .map(|(owner, age)| Cell {
            name: owner.entry.manager.as_str(),
            shown: shown_name(&owner.entry.manager),
            about: match age_width {
                0 => format!(" {}", mark(owner.entry.operation)),
                _ => format!(" {} {age:>age_width$}", mark(owner.entry.operation)),
            },
        })
        .collect();

    // The owners leave more than half of the width to the object.
    let layout = Layout::new(&cells, lines, room.map(|room| room * 45 / 100));
    let left_room = room.map(|room| room.saturating_sub(layout.width + 3));
    let mut out = Vec::new();
    for line in lines {
        let owners = layout.owners(&cells, line, &palette);
        let parts = text::wrap(
            &text::printable_line(&line.text()),
            left_room,
            line.lead.len() + 4,
        );

        // A line may need several rows for its text, and several for its owners.
        for row in 0..owners.len().max(parts.len()) {
            let (width, painted) = owners.get(row).cloned().unwrap_or_default();
            let blanks = " ".repeat(layout.width.saturating_sub(width) + 1);
            let part = parts.get(row).map_or("", String::as_str);
            let line = painted
                .and(blanks)
                .and(Style::Faint.paint("│"))
                .and(" ")
                .and(Output::yaml(part));
            out.push(line.trimmed());
        }
    }

    out
}

/// The layout of the owner column: the widths of the names and of the column, and whether the owners of a line are
/// listed one below the other.
struct Layout {
    names: usize,
    width: usize,
    stacked: bool,
}

impl Layout {
    /// Puts the owners of a line in one row if all names fit, as they always do when the output is a file or a pipe.
    /// Otherwise each owner gets a row, and names are shortened to the available width.
    fn new(cells: &[Cell<'_>], lines: &[Line], most: Option<usize>) -> Self {
        // Managers that own nothing in these lines need no room.
        let mut used = vec![false; cells.len()];
        for owner in lines.iter().flat_map(|line| &line.owners) {
            if let Some(used) = used.get_mut(*owner) {
                *used = true;
            }
        }

        let shown = || {
            cells
                .iter()
                .zip(&used)
                .filter(|(_, used)| **used)
                .map(|(cell, _)| cell)
        };
        let longest = shown()
            .map(|cell| text::width(&cell.shown))
            .max()
            .unwrap_or_default();
        let in_a_row = lines
            .iter()
            .map(|line| row_width(cells, &line.owners, longest))
            .max()
            .unwrap_or_default();

        let Some(most) = most.filter(|most| *most < in_a_row) else {
            return Layout {
                names: longest,
                width: in_a_row.max(UNOWNED.len()),
                stacked: false,
            };
        };

        // Marks and ages keep their width, and names share the rest.
        let about = shown()
            .map(|cell| text::width(&cell.about))
            .max()
            .unwrap_or_default();
        let names = longest.min(most.saturating_sub(about).max(SHORTEST));
        Layout {
            names,
            width: names + about,
            stacked: true,
        }
    }

    /// The owner rows of a line, with their widths.
    fn owners(&self, cells: &[Cell<'_>], line: &Line, palette: &Palette) -> Vec<(usize, Output)> {
        if line.is_unowned() {
            return vec![(UNOWNED.len(), Style::Faint.paint(UNOWNED))];
        }
        let mut rows: Vec<(usize, Output)> = Vec::new();
        for cell in line.owners.iter().filter_map(|owner| cells.get(*owner)) {
            let name = text::shortened(&cell.shown, self.names);
            match rows.last_mut().filter(|_| !self.stacked) {
                Some((width, painted)) => {
                    let shown = format!("{name} {}", cell.about.trim_start());
                    *width += 2 + text::width(&shown);
                    *painted = std::mem::take(painted)
                        .and(", ")
                        .and(paint(palette, cell.name, &shown));
                }
                None => {
                    let shown = format!("{}{}", text::padded(&name, self.names), cell.about);
                    rows.push((text::width(&shown), paint(palette, cell.name, &shown)));
                }
            }
        }

        rows
    }
}

/// The width of a row of owners. The first name is padded so that marks and ages align.
fn row_width(cells: &[Cell<'_>], owners: &[usize], names: usize) -> usize {
    let mut total = 0;
    for (i, cell) in owners
        .iter()
        .filter_map(|owner| cells.get(*owner))
        .enumerate()
    {
        total += match i {
            0 => names + text::width(&cell.about),
            _ => {
                ", ".len()
                    + text::width(&cell.shown)
                    + " ".len()
                    + text::width(cell.about.trim_start())
            }
        };
    }

    total
}
