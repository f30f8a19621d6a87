//! The text of faults, with the lines of the source that they are in.

/// The maximum number of faults of an expression that a message lists.
pub(super) const MOST_FAULTS: usize = 100;

/// The longest line that is shown, in bytes.
const LINE: usize = 16_384;

/// The text of faults, which are offsets in bytes and reasons. `count` is their number, if not all are known.
pub(crate) fn of(source: &str, faults: &[(usize, String)], count: usize) -> String {
    let mut shown: Vec<&(usize, String)> = faults.iter().take(MOST_FAULTS).collect();
    shown.sort_by_key(|(offset, _)| *offset);
    let mut lines: Vec<String> = shown
        .into_iter()
        .map(|(offset, reason)| fault(source, *offset, reason))
        .collect();

    if count > lines.len() {
        lines.push(format!(
            "{} more errors were truncated",
            count - lines.len()
        ));
    }
    lines.join("\n")
}

fn fault(source: &str, offset: usize, reason: &str) -> String {
    let before = source.get(..offset).unwrap_or_default();
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count();
    at(source, before.matches('\n').count(), column, reason)
}

/// The text of a fault at a line and a column, which are counted from 0.
pub(crate) fn at(source: &str, line: usize, column: usize, reason: &str) -> String {
    let mut out = format!("ERROR: <input>:{}:{}: {reason}", line + 1, column + 1);
    let text = source.split('\n').nth(line).unwrap_or_default();
    if text.len() <= LINE {
        let is_wide = |c: char| c.len_utf8() > 1;
        let dots: String = text
            .chars()
            .take(column)
            .map(|c| if is_wide(c) { '．' } else { '.' })
            .collect();
        let mark = if text.chars().nth(column).is_some_and(is_wide) {
            '＾'
        } else {
            '^'
        };
        out.push_str(&format!(
            "\n | {}\n | {dots}{mark}",
            text.replace('\t', " ")
        ));
    }

    out
}
