//! Checks whether a string is a regular expression in the syntax of Go.
//!
//! The API server compiles patterns with Go's `regexp` and shows its error. The syntaxes of other libraries differ in
//! both directions (`a{,2}` and `[[]` are valid in Go, `a**` is not), so this module implements the check. It covers
//! the syntax only: expressions that are too large to compile are not detected.

use std::fmt;

mod names;

/// The maximum repetition count, including nested repetitions.
const MAX_REPEAT: u32 = 1000;
/// The maximum nesting of groups and repetitions.
const MAX_HEIGHT: u32 = 1000;

/// The reason why a pattern is refused, with the message of Go.
#[derive(Debug, PartialEq)]
pub(super) struct Fault<'a> {
    what: &'static str,
    at: &'a str,
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error parsing regexp: {}: `{}`", self.what, self.at)
    }
}

fn fault<'a, T>(what: &'static str, at: &'a str) -> Result<T, Fault<'a>> {
    Err(Fault { what, at })
}

const CLASS_RANGE: &str = "invalid character class range";
const ESCAPE: &str = "invalid escape sequence";
const NAMED: &str = "invalid named capture";
const PERL: &str = "invalid or unsupported Perl syntax";
const REPEAT_COUNT: &str = "invalid repeat count";
const REPEAT_NOTHING: &str = "missing argument to repetition operator";

/// A term, which can be repeated.
#[derive(Clone, Copy)]
struct Term {
    /// The maximum product of the nested repetition counts.
    repeats: u32,
    /// The nesting depth.
    height: u32,
}

const LITERAL: Term = Term { repeats: 1, height: 1 };

impl Term {
    fn and(self, other: Term) -> Term {
        Term { repeats: self.repeats.max(other.repeats), height: self.height.max(other.height) }
    }
}

/// The minimum and, if limited, the maximum number of repetitions.
type Range = (u32, Option<u32>);

/// An open group.
#[derive(Default)]
struct Group {
    /// The terms before the last one.
    before: Option<Term>,
    /// The term to which a repetition would apply.
    last: Option<Term>,
}

impl Group {
    fn push(&mut self, term: Term) {
        self.settle();
        self.last = Some(term);
    }

    fn settle(&mut self) {
        if let Some(last) = self.last.take() {
            self.before = Some(self.before.map_or(last, |before| before.and(last)));
        }
    }

    fn close(mut self) -> Term {
        self.settle();
        let inside = self.before.unwrap_or(LITERAL);
        Term { height: inside.height + 1, ..inside }
    }
}

/// Checks a whole pattern.
pub(super) fn check(pattern: &str) -> Result<(), Fault<'_>> {
    let mut outer: Vec<Group> = Vec::new();
    let mut group = Group::default();
    let mut rest = pattern;
    // The repetition that ended at this position, as the string from its operator on.
    let mut last_repeat: Option<&str> = None;
    while let Some(c) = rest.chars().next() {
        let mut repeat = None;
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '(' => match after.strip_prefix('?') {
                Some(_) => {
                    let (opens, after) = perl_group(rest)?;
                    if opens {
                        outer.push(std::mem::take(&mut group));
                    }
                    rest = after;
                }
                None => {
                    outer.push(std::mem::take(&mut group));
                    rest = after;
                }
            },
            ')' => {
                let Some(mut parent) = outer.pop() else { return fault("unexpected )", pattern) };
                let term = group.close();
                if term.height > MAX_HEIGHT {
                    return fault("expression nests too deeply", pattern);
                }
                parent.push(term);
                group = parent;
                rest = after;
            }
            '|' => {
                group.settle();
                rest = after;
            }
            '[' => {
                rest = class(rest)?;
                group.push(LITERAL);
            }
            '*' | '+' | '?' => {
                let after = repetition(&mut group, None, rest, after, last_repeat)?;
                repeat = Some(rest);
                rest = after;
            }
            '{' => match count(after) {
                None => {
                    group.push(LITERAL);
                    rest = after;
                }
                Some((range, after)) => {
                    let Some(range) = range else { return fault(REPEAT_COUNT, between(rest, after)) };
                    let after = repetition(&mut group, Some(range), rest, after, last_repeat)?;
                    repeat = Some(rest);
                    rest = after;
                }
            },
            '\\' => {
                if let Some(after) = after.strip_prefix('Q') {
                    let (literal, after) = after.split_once("\\E").unwrap_or((after, ""));
                    if !literal.is_empty() {
                        group.push(LITERAL);
                    }
                    rest = after;
                } else {
                    rest = match after.chars().next() {
                        Some('A' | 'b' | 'B' | 'z') => after.get(1..).unwrap_or_default(),
                        Some('C') => return fault(ESCAPE, between(rest, after.get(1..).unwrap_or_default())),
                        _ => match class_escape(rest)? {
                            Some(after) => after,
                            None => escape(rest)?.1,
                        },
                    };
                    group.push(LITERAL);
                }
            }
            _ => {
                group.push(LITERAL);
                rest = after;
            }
        }
        last_repeat = repeat;
    }
    if outer.is_empty() { Ok(()) } else { fault("missing closing )", pattern) }
}

/// The part of `text` before its suffix `after`.
fn between<'a>(text: &'a str, after: &str) -> &'a str {
    text.get(..text.len() - after.len()).unwrap_or_default()
}

/// Parses a repetition. `from` is the string from its operator on; returns what follows the operator and an optional
/// `?`.
fn repetition<'a>(
    group: &mut Group,
    range: Option<Range>,
    from: &'a str,
    after: &'a str,
    last_repeat: Option<&'a str>,
) -> Result<&'a str, Fault<'a>> {
    let after = after.strip_prefix('?').unwrap_or(after);
    if let Some(last) = last_repeat {
        return fault("invalid nested repetition operator", between(last, after));
    }
    let Some(term) = group.last.as_mut() else { return fault(REPEAT_NOTHING, between(from, after)) };
    term.height += 1;
    if let Some((min, max)) = range {
        let times = max.unwrap_or(min);
        let product = term.repeats.saturating_mul(times.max(1));
        if (min >= 2 || max.is_some_and(|max| max >= 2)) && product > MAX_REPEAT {
            return fault(REPEAT_COUNT, between(from, after));
        }
        // A term repeated zero times does not count.
        term.repeats = if max == Some(0) { 1 } else { product };
    }
    Ok(after)
}

/// Parses the range of a repetition; returns it with what follows the brace. The outer `None` is literal text, the
/// inner `None` is a range with numbers out of bounds.
fn count(text: &str) -> Option<(Option<Range>, &str)> {
    let (min, text) = integer(text)?;
    let (max, text) = match text.strip_prefix(',') {
        None => (Some(min), text),
        Some(text) if text.starts_with('}') => (None, text),
        Some(text) => {
            let (max, text) = integer(text)?;
            (Some(max), text)
        }
    };
    let after = text.strip_prefix('}')?;
    let fits = min <= MAX_REPEAT && max.is_none_or(|max| max <= MAX_REPEAT && min <= max);
    Some((fits.then_some((min, max)), after))
}

/// Parses a number without leading zeros. A number that overflows is clamped, since it exceeds the limit anyway.
fn integer(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().unwrap_or(u32::MAX), rest))
}

/// Parses a group that begins with `(?`. Returns whether it opens a group, and what follows.
fn perl_group(text: &str) -> Result<(bool, &str), Fault<'_>> {
    let name = match text.strip_prefix("(?P<") {
        // A bare `(?P<` is too short to be a name.
        Some("") => None,
        Some(name) => Some(name),
        None => text.strip_prefix("(?<"),
    };
    if let Some(name) = name.filter(|_| text.len() > 3) {
        let Some((name, after)) = name.split_once('>') else { return fault(NAMED, text) };
        if name.is_empty() || !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
            return fault(NAMED, between(text, after));
        }
        return Ok((true, after));
    }
    let mut rest = text.get(2..).unwrap_or_default();
    let mut negated = false;
    let mut flag = false;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            'i' | 'm' | 's' | 'U' => flag = true,
            '-' if !negated => {
                negated = true;
                flag = false;
            }
            ':' | ')' if !negated || flag => return Ok((c == ':', rest)),
            _ => break,
        }
    }
    fault(PERL, between(text, rest))
}

/// Parses a class in brackets; returns what follows it.
fn class(text: &str) -> Result<&str, Fault<'_>> {
    let mut rest = text.strip_prefix('[').unwrap_or(text);
    rest = rest.strip_prefix('^').unwrap_or(rest);
    let mut first = true;
    while first || !rest.starts_with(']') {
        first = false;
        if let Some(end) = rest.strip_prefix("[:").and_then(|inner| inner.find(":]")) {
            let (name, after) = rest.split_at_checked(end + 4).unwrap_or((rest, ""));
            let inner = name.get(2..end + 2).unwrap_or_default();
            if !names::POSIX.contains(&inner.strip_prefix('^').unwrap_or(inner)) {
                return fault(CLASS_RANGE, name);
            }
            rest = after;
            continue;
        }
        if let Some(after) = class_escape(rest)? {
            rest = after;
            continue;
        }
        let from = rest;
        let (low, after) = class_char(rest, text)?;
        rest = after;
        // `[a-]` is a class of two characters.
        if let Some(after) =
            rest.strip_prefix('-').filter(|after| !after.is_empty() && !after.starts_with(']'))
        {
            let (high, after) = class_char(after, text)?;
            if high < low {
                return fault(CLASS_RANGE, between(from, after));
            }
            rest = after;
        }
    }
    Ok(rest.get(1..).unwrap_or_default())
}

fn class_char<'a>(text: &'a str, class: &'a str) -> Result<(u32, &'a str), Fault<'a>> {
    match text.chars().next() {
        None => fault("missing closing ]", class),
        Some('\\') => escape(text),
        Some(c) => Ok((c.into(), text.get(c.len_utf8()..).unwrap_or_default())),
    }
}

/// Parses an escape of a character class, such as `\d` or `\p{Greek}`, and returns the rest; `None` if it is not such
/// an escape.
fn class_escape(text: &str) -> Result<Option<&str>, Fault<'_>> {
    let Some(inner) = text.strip_prefix('\\') else { return Ok(None) };
    match inner.chars().next() {
        Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => Ok(inner.get(1..)),
        Some('p' | 'P') => {
            let inner = inner.get(1..).unwrap_or_default();
            let (name, after) = match inner.strip_prefix('{') {
                Some(name) => match name.split_once('}') {
                    Some(split) => split,
                    None => return fault(CLASS_RANGE, text),
                },
                None => match inner.chars().next() {
                    Some(c) => inner.split_at_checked(c.len_utf8()).unwrap_or((inner, "")),
                    None => return fault(CLASS_RANGE, text),
                },
            };
            if !names::is_unicode_class(name.strip_prefix('^').unwrap_or(name)) {
                return fault(CLASS_RANGE, between(text, after));
            }
            Ok(Some(after))
        }
        _ => Ok(None),
    }
}

/// Parses an escaped character; returns it with what follows.
fn escape(text: &str) -> Result<(u32, &str), Fault<'_>> {
    let rest = text.strip_prefix('\\').unwrap_or(text);
    let Some(c) = rest.chars().next() else {
        return fault("trailing backslash at end of expression", "");
    };
    let rest = rest.get(c.len_utf8()..).unwrap_or_default();
    let octal = |rest: &str| rest.chars().next().and_then(|c| c.to_digit(8));
    match c {
        '0'..='7' if c == '0' || octal(rest).is_some() => {
            let (mut value, mut rest) = (c.to_digit(8).unwrap_or_default(), rest);
            for _ in 0..2 {
                let Some(digit) = octal(rest) else { break };
                value = value * 8 + digit;
                rest = rest.get(1..).unwrap_or_default();
            }
            Ok((value, rest))
        }
        'x' => hexadecimal(text, rest),
        'a' => Ok((7, rest)),
        'f' => Ok((12, rest)),
        'n' => Ok((10, rest)),
        'r' => Ok((13, rest)),
        't' => Ok((9, rest)),
        'v' => Ok((11, rest)),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok((c.into(), rest)),
        _ => fault(ESCAPE, between(text, rest)),
    }
}

/// Parses the digits after `\x`; `text` begins at the backslash.
fn hexadecimal<'a>(text: &'a str, rest: &'a str) -> Result<(u32, &'a str), Fault<'a>> {
    let mut chars = rest.chars();
    let bad = |rest: &str| fault(ESCAPE, between(text, rest));
    match chars.next() {
        None => bad(rest),
        Some('{') => {
            let mut value = 0;
            let mut digits = 0;
            loop {
                match chars.next() {
                    Some('}') if digits > 0 => return Ok((value, chars.as_str())),
                    Some(c) => match c.to_digit(16) {
                        Some(digit) if value * 16 + digit <= u32::from(char::MAX) => {
                            value = value * 16 + digit;
                            digits += 1;
                        }
                        _ => return bad(chars.as_str()),
                    },
                    None => return bad(""),
                }
            }
        }
        Some(first) => match (first.to_digit(16), chars.next()) {
            (_, None) => bad(""),
            (Some(first), Some(second)) => match second.to_digit(16) {
                Some(second) => Ok((first * 16 + second, chars.as_str())),
                None => bad(chars.as_str()),
            },
            _ => bad(chars.as_str()),
        },
    }
}
