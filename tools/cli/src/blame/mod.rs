//! Shows the owners of each line of an object.

mod html;
mod terminal;

use fieldmanager_blame::Line;

pub(crate) use html::{PageObject, page, page_of};
pub(crate) use terminal::lines as terminal_lines;

/// Keeps the lines that the given entries own and their enclosing lines. `None` keeps all lines.
pub(crate) fn only(lines: Vec<Line>, wanted: Option<&[usize]>) -> Vec<Line> {
    let Some(wanted) = wanted else {
        return lines;
    };
    let mut shown = vec![false; lines.len()];

    // A parent precedes its lines, so one backward pass is enough.
    for (at, line) in lines.iter().enumerate().rev() {
        if line.owners.iter().any(|owner| wanted.contains(owner))
            && let Some(shown) = shown.get_mut(at)
        {
            *shown = true;
        }
        if shown.get(at) == Some(&true)
            && let Some(shown) = line.parent.and_then(|parent| shown.get_mut(parent))
        {
            *shown = true;
        }
    }

    lines
        .into_iter()
        .zip(shown)
        .filter_map(|(line, shown)| shown.then_some(line))
        .collect()
}
