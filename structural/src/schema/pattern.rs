//! Reads regular expressions in the syntax of Go.
//!
//! The API server compiles patterns with Go's `regexp` and shows its error. The syntaxes of other libraries differ in
//! both directions (`a{,2}` and `[[]` are valid in Go, `a**` is not), so this module implements the check. What is valid
//! is written in the syntax of the crate `regex`, with an estimate of the memory that it takes when it is compiled.

use fieldmanager_value::internal::proceed;

mod escapes;
mod fault;
mod names;

use escapes::{FOLDED_RANGE, class_char, class_escape, escape};
pub(crate) use fault::Fault;
use fault::{
    CLASS_RANGE, ESCAPE, NAMED, PERL, REPEAT_COUNT, REPEAT_NOTHING, TOO_DEEP, between, fault,
};

/// The maximum repetition count, including nested repetitions.
const MAX_REPEAT: u32 = 1000;
/// The maximum nesting of groups with a number and of repetitions.
const MAX_HEIGHT: u32 = 1000;
/// The maximum nesting of all groups. In Go, groups without a number count by what is in them.
const MAX_GROUPS: usize = 1000;
/// The maximum estimated size of a compiled pattern, in bytes.
const MAX_SIZE: usize = 16 << 20;

/// Estimates of what the parts of a pattern take when they are compiled, in bytes, without regard to case and with it.
const CHARACTER: usize = 128;
const FOLDED_CHARACTER: usize = 640;
const ANY_CHARACTER: usize = 640;
const RANGE: usize = 640;

/// A term, which can be repeated.
#[derive(Clone, Copy)]
struct Term {
    /// The maximum product of the nested repetition counts.
    repeats: u32,
    /// The nesting depth.
    height: u32,
    /// The estimated size when it is compiled.
    size: usize,
    /// Where it begins in the translation.
    start: usize,
    is_repetition: bool,
}

impl Term {
    fn and(self, other: Term) -> Term {
        Term {
            repeats: self.repeats.max(other.repeats),
            height: self.height.max(other.height),
            size: self.size.saturating_add(other.size),
            ..self
        }
    }
}

/// The minimum and, if limited, the maximum number of repetitions.
type Range = (u32, Option<u32>);

/// An open group.
#[derive(Default)]
struct Group {
    /// Where it begins in the translation.
    start: usize,
    /// Whether it has a number, which makes it a level of its own.
    is_capture: bool,
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
        let empty = Term {
            repeats: 1,
            height: 1,
            size: 0,
            start: self.start,
            is_repetition: false,
        };
        let inside = self.before.unwrap_or(empty);

        Term {
            height: inside.height + u32::from(self.is_capture),
            size: inside.size.saturating_add(CHARACTER),
            start: self.start,
            is_repetition: false,
            ..inside
        }
    }
}

/// A valid pattern.
#[cfg_attr(
    not(feature = "validation"),
    expect(dead_code, reason = "only the validation of values compiles patterns")
)]
pub(crate) struct Translated {
    /// The pattern in the syntax of the crate `regex`, in which all groups are without a number and a name.
    pub(crate) text: String,
    /// The estimated size of the compiled pattern, in bytes.
    pub(crate) size: usize,
}

/// Translates a pattern of Go. A fault is as Go reports it; one that is larger than [`MAX_SIZE`] has the message for
/// those that are too large for Go.
pub(crate) fn translate(pattern: &str) -> Result<Translated, Fault<'_>> {
    let mut translation = Translation {
        pattern,
        ..Translation::default()
    };
    translation.run()?;

    let Translation {
        outer, group, out, ..
    } = translation;
    if !outer.is_empty() {
        return fault("missing closing )", pattern);
    }

    let size = group.close().size;
    if size > MAX_SIZE {
        fault("expression too large", pattern)
    } else {
        Ok(Translated { text: out, size })
    }
}

#[derive(Default)]
struct Translation<'a> {
    pattern: &'a str,
    out: String,
    /// Changes of flags that are not in `out` yet: a repetition can follow that is about the term before them.
    flags: String,
    /// Whether an expression without regard to case has begun. Its end makes no difference for an estimate.
    is_folded: bool,
    outer: Vec<Group>,
    group: Group,
}

impl<'a> Translation<'a> {
    fn run(&mut self) -> Result<(), Fault<'a>> {
        let mut rest = self.pattern;
        // The repetition that ended at this position, as the string from its operator on.
        let mut last_repeat: Option<&str> = None;

        while let Some(c) = rest.chars().next().filter(|_| proceed(1)) {
            // Two operators in a row are a fault in Go, unless something that makes no term is between them.
            let mut repeat = None;
            let after = rest.get(c.len_utf8()..).unwrap_or_default();
            rest = match c {
                '(' if after.starts_with('?') => {
                    let (group, after) = perl_group(rest)?;
                    match group {
                        PerlGroup::Named => self.open("(?:", true)?,
                        PerlGroup::Flags(flags) => {
                            self.is_folded |= flags.contains('i');
                            self.open(&format!("(?{flags}:"), false)?;
                        }
                        PerlGroup::Change(flags) if flags.is_empty() => {}
                        PerlGroup::Change(flags) => {
                            self.is_folded |= flags.contains('i');
                            self.flags.push_str(&format!("(?{flags})"));
                            self.grow(CHARACTER);
                        }
                    }

                    after
                }
                '(' => {
                    self.open("(?:", true)?;
                    after
                }
                ')' => {
                    self.close()?;
                    after
                }
                '|' => {
                    self.out.push('|');
                    self.group.settle();
                    self.grow(CHARACTER);
                    after
                }
                '[' => self.class(rest)?,
                '*' | '+' | '?' => {
                    repeat = Some(rest);
                    self.repetition(None, rest, after, last_repeat)?
                }
                '{' => match count(after) {
                    None => {
                        self.character('{'.into());
                        after
                    }
                    Some((None, after)) => return fault(REPEAT_COUNT, between(rest, after)),
                    Some((range, after)) => {
                        repeat = Some(rest);
                        self.repetition(range, rest, after, last_repeat)?
                    }
                },
                '\\' => self.backslash(rest, after)?,
                '^' | '$' => {
                    self.term(CHARACTER, c.encode_utf8(&mut [0; 4]));
                    after
                }
                '.' => {
                    self.term(ANY_CHARACTER, ".");
                    after
                }
                _ => {
                    self.character(c.into());
                    after
                }
            };
            last_repeat = repeat;
        }

        Ok(())
    }

    fn open(&mut self, text: &str, is_capture: bool) -> Result<(), Fault<'a>> {
        if self.outer.len() >= MAX_GROUPS {
            return fault(TOO_DEEP, self.pattern);
        }

        self.out.push_str(&std::mem::take(&mut self.flags));
        let group = Group {
            start: self.out.len(),
            is_capture,
            ..Group::default()
        };
        self.outer.push(std::mem::replace(&mut self.group, group));
        self.out.push_str(text);

        Ok(())
    }

    fn close(&mut self) -> Result<(), Fault<'a>> {
        let Some(parent) = self.outer.pop() else {
            return fault("unexpected )", self.pattern);
        };
        let term = std::mem::replace(&mut self.group, parent).close();
        if term.height > MAX_HEIGHT {
            return fault(TOO_DEEP, self.pattern);
        }

        self.group.push(term);
        // A change of flags ends with its group.
        self.flags.clear();
        self.out.push(')');
        Ok(())
    }

    /// Adds a term, before which the flags change.
    fn term(&mut self, size: usize, text: &str) {
        self.out.push_str(&std::mem::take(&mut self.flags));
        let start = self.out.len();
        self.group.push(Term {
            repeats: 1,
            height: 1,
            size,
            start,
            is_repetition: false,
        });
        self.out.push_str(text);
    }

    /// Adds to the estimate of the group.
    fn grow(&mut self, size: usize) {
        let start = self.group.start;
        let added = Term {
            repeats: 1,
            height: 1,
            size,
            start,
            is_repetition: false,
        };
        self.group.before = Some(self.group.before.map_or(added, |before| before.and(added)));
    }

    fn character(&mut self, code: u32) {
        let size = if self.is_folded {
            FOLDED_CHARACTER
        } else {
            CHARACTER
        };
        let text = match char::from_u32(code) {
            Some(c) if c.is_ascii_alphanumeric() || !c.is_ascii() => c.to_string(),
            Some(_) => format!(r"\x{{{code:x}}}"),
            // Half of a surrogate pair, which no string has.
            None => NOTHING.to_owned(),
        };
        self.term(size, &text);
    }

    /// Reads what follows a backslash; returns the rest.
    fn backslash(&mut self, text: &'a str, after: &'a str) -> Result<&'a str, Fault<'a>> {
        if let Some(after) = after.strip_prefix('Q') {
            let (literal, after) = after.split_once("\\E").unwrap_or((after, ""));
            literal.chars().for_each(|c| self.character(c.into()));
            return Ok(after);
        }

        let Some(c @ ('A' | 'b' | 'B' | 'z' | 'C')) = after.chars().next() else {
            if let Some((class, size, after)) = class_escape(text)? {
                self.term(size, &format!("[{class}]"));
                return Ok(after);
            }
            let (code, after) = escape(text)?;
            self.character(code);
            return Ok(after);
        };

        let after = after.get(1..).unwrap_or_default();
        match c {
            'C' => return fault(ESCAPE, between(text, after)),
            // Words are of ASCII.
            'b' | 'B' => self.term(CHARACTER, &format!(r"(?-u:\{c})")),
            _ => self.term(CHARACTER, &format!(r"\{c}")),
        }

        Ok(after)
    }

    /// Reads a repetition. `from` is the string from its operator on; returns what follows the operator and an optional
    /// `?`.
    fn repetition(
        &mut self,
        range: Option<Range>,
        from: &'a str,
        after: &'a str,
        last_repeat: Option<&'a str>,
    ) -> Result<&'a str, Fault<'a>> {
        let after = after.strip_prefix('?').unwrap_or(after);
        if let Some(last) = last_repeat {
            return fault("invalid nested repetition operator", between(last, after));
        }
        let Some(term) = self.group.last.as_mut() else {
            return fault(REPEAT_NOTHING, between(from, after));
        };

        term.height += 1;
        if term.height > MAX_HEIGHT {
            return fault(TOO_DEEP, self.pattern);
        }

        // The compiled program repeats the term as often as the count says, and repetitions inside each other multiply.
        term.size = term.size.saturating_add(CHARACTER);
        if let Some((min, max)) = range {
            let times = max.unwrap_or(min);
            let product = term.repeats.saturating_mul(times.max(1));
            if (min >= 2 || max.is_some_and(|max| max >= 2)) && product > MAX_REPEAT {
                return fault(REPEAT_COUNT, between(from, after));
            }
            // A term repeated zero times does not count.
            term.repeats = if max == Some(0) { 1 } else { product };
            term.size = term.size.saturating_mul(times as usize + 1);
        }

        // An empty quotation or a change of flags separates the two.
        if std::mem::replace(&mut term.is_repetition, true) {
            self.out.insert_str(term.start, "(?:");
            self.out.push(')');
        }
        self.out.push_str(between(from, after));
        Ok(after)
    }

    /// Reads a class in brackets; returns what follows it.
    fn class(&mut self, text: &'a str) -> Result<&'a str, Fault<'a>> {
        let range_size = if self.is_folded { FOLDED_RANGE } else { RANGE };
        let mut size = range_size;
        let mut out = String::from("[");
        let mut rest = text.strip_prefix('[').unwrap_or(text);
        if let Some(after) = rest.strip_prefix('^') {
            out.push('^');
            rest = after;
        }

        let mut first = true;
        while first || !rest.starts_with(']') {
            first = false;
            if let Some(end) = rest.strip_prefix("[:").and_then(|inner| inner.find(":]")) {
                let (name, after) = rest.split_at_checked(end + 4).unwrap_or((rest, ""));
                let inner = name.get(2..end + 2).unwrap_or_default();
                if !names::POSIX.contains(&inner.strip_prefix('^').unwrap_or(inner)) {
                    return fault(CLASS_RANGE, name);
                }
                out.push_str(name);
                size += 8 * range_size;
                rest = after;
                continue;
            }

            if let Some((class, added, after)) = class_escape(rest)? {
                out.push_str(&class);
                size += added;
                rest = after;
                continue;
            }

            let from = rest;
            let (low, after) = class_char(rest, text)?;
            let mut high = low;
            rest = after;

            // `[a-]` is a class of two characters.
            if let Some(after) = rest
                .strip_prefix('-')
                .filter(|after| !after.is_empty() && !after.starts_with(']'))
            {
                (high, rest) = class_char(after, text)?;
                if high < low {
                    return fault(CLASS_RANGE, between(from, rest));
                }
            }
            size += range_size;
            push_range(low, high, &mut out);
        }

        out.push(']');
        self.term(size, &out);
        Ok(rest.get(1..).unwrap_or_default())
    }
}

/// A class without characters.
const NOTHING: &str = r"\P{Any}";

/// Adds a range to a class, without the halves of surrogate pairs, which no string has.
fn push_range(low: u32, high: u32, out: &mut String) {
    let surrogates = 0xd800..=0xdfff;
    let low = if surrogates.contains(&low) {
        surrogates.end() + 1
    } else {
        low
    };
    let high = if surrogates.contains(&high) {
        surrogates.start() - 1
    } else {
        high
    };
    out.push_str(&if low > high {
        NOTHING.to_owned()
    } else {
        format!(r"\x{{{low:x}}}-\x{{{high:x}}}")
    });
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
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().unwrap_or(u32::MAX), rest))
}

/// What begins with `(?`.
enum PerlGroup {
    /// A group with a name.
    Named,
    /// A group with these flags.
    Flags(String),
    /// The flags change until the end of the group.
    Change(String),
}

/// Parses what begins with `(?`, up to the content of the group. Returns what follows, too.
fn perl_group(text: &str) -> Result<(PerlGroup, &str), Fault<'_>> {
    let name = match text.strip_prefix("(?P<") {
        // A bare `(?P<` is too short to be a name.
        Some("") => None,
        Some(name) => Some(name),
        None => text.strip_prefix("(?<"),
    };

    if let Some(name) = name.filter(|_| text.len() > 3) {
        let Some((name, after)) = name.split_once('>') else {
            return fault(NAMED, text);
        };
        if name.is_empty() || !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
            return fault(NAMED, between(text, after));
        }
        return Ok((PerlGroup::Named, after));
    }

    let mut rest = text.get(2..).unwrap_or_default();
    // The flags that are set and those that are removed. A flag can be named several times; the last one counts.
    let (mut set, mut removed) = (String::new(), String::new());
    let mut is_negated = false;
    let mut is_flag = false;

    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            'i' | 'm' | 's' | 'U' => {
                is_flag = true;
                set.retain(|flag| flag != c);
                removed.retain(|flag| flag != c);
                if is_negated { &mut removed } else { &mut set }.push(c);
            }
            '-' if !is_negated => {
                is_negated = true;
                is_flag = false;
            }
            ':' | ')' if !is_negated || is_flag => {
                let minus = if removed.is_empty() { "" } else { "-" };
                let flags = format!("{set}{minus}{removed}");
                return Ok((
                    if c == ':' {
                        PerlGroup::Flags(flags)
                    } else {
                        PerlGroup::Change(flags)
                    },
                    rest,
                ));
            }
            _ => break,
        }
    }

    fault(PERL, between(text, rest))
}
