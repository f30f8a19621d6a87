//! Functions of strings.

use super::format_string;
use super::function::{Run, binary, traversal_twice, unary};
use crate::display::shown;
use crate::meter::Meter;
use crate::value::{Outcome, Val, fault, no_overload};

/// The implementation of a function.
pub(super) fn run(name: &str) -> Option<Run> {
    Some(match name {
        "startsWith" => |a, _| binary(a, |text: &str, part: &str| text.starts_with(part)),
        "endsWith" => |a, _| binary(a, |text: &str, part: &str| text.ends_with(part)),
        "contains" => |a, _| binary(a, |text: &str, part: &str| text.contains(part)),
        "lowerAscii" => |a, _| unary(a, str::to_ascii_lowercase),
        "upperAscii" => |a, _| unary(a, str::to_ascii_uppercase),
        "trim" => |a, _| unary(a, |text: &str| text.trim().to_owned()),
        "charAt" => |a, _| binary(a, char_at),
        "replace" => |a, call| replace(a, call.meter),
        "split" => |a, call| split(a, call.meter),
        "join" => |a, call| join(a, call.meter),
        "substring" => |a, _| substring(a),
        "format" => |a, call| format_string::format(a, call.meter),
        "strings.quote" => |a, _| unary(a, quote),
        "jsonpatch.escapeKey" => {
            |a, _| unary(a, |text: &str| text.replace('~', "~0").replace('/', "~1"))
        }
        _ => return None,
    })
}

fn out_of_range<'a>(at: i64) -> Outcome<'a> {
    fault(format!("index out of range: {at}"))
}

/// The byte offset of a character; the number of characters is an offset too.
fn offset(text: &str, at: i64) -> Option<usize> {
    let at = usize::try_from(at).ok()?;
    text.char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .nth(at)
}

fn char_at<'a>(text: &str, at: i64) -> Outcome<'a> {
    match offset(text, at).and_then(|offset| text.get(offset..)) {
        Some(rest) => Ok(Val::text(
            rest.chars().next().map(String::from).unwrap_or_default(),
        )),
        None => out_of_range(at),
    }
}

/// The position of a part of a string, in characters; -1 if it has none.
pub(super) fn index_of<'a>(arguments: &[Val<'a>], is_last: bool) -> Outcome<'a> {
    let (text, part, from) = match arguments {
        [Val::String(text), Val::String(part)] => (text, part, None),
        [Val::String(text), Val::String(part), Val::Int(from)] => (text, part, Some(*from)),
        _ => return no_overload(),
    };
    let in_chars = |offset: usize| {
        let before = text.get(..offset).unwrap_or_default();
        Val::Int(i64::try_from(before.chars().count()).unwrap_or(i64::MAX))
    };
    let absent = Ok(Val::Int(-1));
    if let Some(from) = from.filter(|from| *from < 0) {
        return out_of_range(from);
    }

    let length = || text.chars().count();
    if part.is_empty() {
        let end = i64::try_from(length()).unwrap_or(i64::MAX);
        return Ok(Val::Int(match from {
            Some(from) => from.min(end),
            None if is_last => end,
            None => 0,
        }));
    }

    // The offset of a start before the end of the string.
    let start = match from.map(|from| offset(text, from).filter(|start| *start < text.len())) {
        None => None,
        Some(Some(start)) => Some(start),
        Some(None) => return absent,
    };

    if is_last {
        // A match must begin at or before the start.
        let end = start.map_or(text.len(), |start| (start + part.len()).min(text.len()));
        let end = (end..=text.len())
            .find(|end| text.is_char_boundary(*end))
            .unwrap_or(text.len());
        let found = text
            .get(..end)
            .and_then(|before| before.rfind(part.as_str()));
        return found.map_or(absent, |found| Ok(in_chars(found)));
    }

    let start = start.unwrap_or(0);
    let found = text.get(start..).and_then(|rest| rest.find(part.as_str()));
    found.map_or(absent, |found| Ok(in_chars(start + found)))
}

fn replace<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Outcome<'a> {
    let (text, old, new, limit) = match arguments {
        [Val::String(text), Val::String(old), Val::String(new)] => (text, old, new, -1),
        [
            Val::String(text),
            Val::String(old),
            Val::String(new),
            Val::Int(limit),
        ] => (text, old, new, *limit),
        _ => return no_overload(),
    };
    let (old, new) = (old.as_str(), new.as_str());
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    // A replacement can make a text much longer at a low cost, so the new length is counted before it is made.
    let count = text.matches(old).take(limit).count();
    meter.make(text.len().saturating_add(count.saturating_mul(new.len())))?;

    Ok(Val::text(text.replacen(old, new, limit)))
}

fn split<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Outcome<'a> {
    let (text, separator, limit) = match arguments {
        [Val::String(text), Val::String(separator)] => (text, separator, -1),
        [Val::String(text), Val::String(separator), Val::Int(limit)] => (text, separator, *limit),
        _ => return no_overload(),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    // An empty separator makes a part of each character, so the parts are counted before they are made.
    meter.make(text.len())?;
    meter.make_items(
        text.matches(separator.as_str())
            .count()
            .saturating_add(1)
            .min(limit),
    )?;

    if !separator.is_empty() {
        return Ok(Val::list(
            text.splitn(limit, separator.as_str())
                .map(Val::text)
                .collect(),
        ));
    }

    // The characters, of which the last part has those beyond the limit.
    let mut parts = Vec::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next().filter(|_| parts.len() < limit) {
        let end = if parts.len() + 1 == limit {
            rest.len()
        } else {
            c.len_utf8()
        };
        let (part, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        parts.push(Val::text(part));
        rest = after;
    }

    Ok(Val::list(parts))
}

/// The characters and the bytes of the joined strings; `None` if an item is not a string.
fn joined_size(arguments: &[Val<'_>]) -> Option<(u64, usize)> {
    let [Val::List(list), rest @ ..] = arguments else {
        return None;
    };
    let gaps = list.len().saturating_sub(1);
    let (mut chars, mut bytes) = match rest {
        [Val::String(separator)] => (
            separator.chars().count().checked_mul(gaps)?,
            separator.len().checked_mul(gaps)?,
        ),
        _ => (0, 0),
    };

    for item in list.iter() {
        let Ok(Val::String(item)) = item else {
            return None;
        };
        chars = chars.checked_add(item.chars().count())?;
        bytes = bytes.checked_add(item.len())?;
    }

    Some((u64::try_from(chars).ok()?, bytes))
}

pub(super) fn join_cost(arguments: &[Val<'_>]) -> u64 {
    // A fault has the size 1.
    let is_joined = matches!(arguments, [_] | [_, Val::String(_)]);
    let size = joined_size(arguments).filter(|_| is_joined);
    traversal_twice(size.map_or(1, |(chars, _)| chars))
}

fn join<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Outcome<'a> {
    let (list, separator) = match arguments {
        [Val::List(list)] => (list, ""),
        [Val::List(list), Val::String(separator)] => (list, separator.as_str()),
        _ => return no_overload(),
    };
    meter.visit(list.len())?;
    meter.make(joined_size(arguments).map_or(0, |(_, bytes)| bytes))?;
    let mut out = String::new();

    for (at, item) in list.iter().enumerate() {
        let item = match item? {
            Val::String(item) => item,
            _ if at == 0 => return no_overload(),
            Val::Null => return fault("join: invalid input: 0"),
            other => return fault(format!("join: invalid input: {}", shown(&other))),
        };
        if at > 0 {
            out.push_str(separator);
        }
        out.push_str(&item);
    }

    Ok(Val::text(out))
}

/// A text in quotes, with escapes for those characters alone that have a short one.
///
/// Behaviour: `quote` of `github.com/google/cel-go/ext`.
fn quote(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        let escape = match c {
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\u{c}' => 'f',
            '\n' => 'n',
            '\r' => 'r',
            '\t' => 't',
            '\u{b}' => 'v',
            '\\' | '"' => c,
            _ => {
                out.push(c);
                continue;
            }
        };
        out.extend(['\\', escape]);
    }
    out.push('"');
    out
}

fn substring<'a>(arguments: &[Val<'a>]) -> Outcome<'a> {
    let (text, start, end) = match arguments {
        [Val::String(text), Val::Int(start)] => (text, *start, None),
        [Val::String(text), Val::Int(start), Val::Int(end)] => (text, *start, Some(*end)),
        _ => return no_overload(),
    };

    if let Some(end) = end.filter(|end| *end < start) {
        return fault(format!(
            "invalid substring range. start: {start}, end: {end}"
        ));
    }

    let Some(from) = offset(text, start) else {
        return out_of_range(start);
    };
    let to = match end {
        None => text.len(),
        Some(end) => match offset(text, end) {
            Some(to) => to,
            None => return out_of_range(end),
        },
    };

    Ok(Val::text(text.get(from..to).unwrap_or_default()))
}
