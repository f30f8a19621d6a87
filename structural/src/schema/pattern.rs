//! Reads regular expressions in the syntax of Go.
//!
//! The API server compiles patterns with Go's `regexp` and shows its error. The syntaxes of other libraries differ in
//! both directions (`a{,2}` and `[[]` are valid in Go, `a**` is not), so this module implements the check. What is valid
//! is written in the syntax of the crate `regex`, with an estimate of the memory that it takes when it is compiled.

use std::fmt;

use fieldmanager_value::internal::proceed;

mod names;

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
const FOLDED_RANGE: usize = 4096;
const UNICODE_CLASS: usize = 48 << 10;

/// The reason why a pattern is refused, with the message of Go.
#[derive(Debug, PartialEq)]
pub(crate) struct Fault<'a> {
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
const TOO_DEEP: &str = "expression nests too deeply";
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

/// The part of `text` before its suffix `after`.
fn between<'a>(text: &'a str, after: &str) -> &'a str {
    text.get(..text.len() - after.len()).unwrap_or_default()
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

fn class_char<'a>(text: &'a str, class: &'a str) -> Result<(u32, &'a str), Fault<'a>> {
    match text.chars().next() {
        None => fault("missing closing ]", class),
        Some('\\') => escape(text),
        Some(c) => Ok((c.into(), text.get(c.len_utf8()..).unwrap_or_default())),
    }
}

/// Parses an escape of a character class, such as `\d` or `\p{Greek}`. Returns the class as it is written in brackets,
/// the estimate of its size, and the rest; `None` if it is not such an escape.
fn class_escape(text: &str) -> Result<Option<(String, usize, &str)>, Fault<'_>> {
    let Some(inner) = text.strip_prefix('\\') else {
        return Ok(None);
    };
    let Some(c) = inner.chars().next() else {
        return Ok(None);
    };

    let inner = inner.get(c.len_utf8()..).unwrap_or_default();

    // In Go, these are about ASCII.
    let perl = match c.to_ascii_lowercase() {
        'd' => "0-9",
        's' => r"\t\n\f\r ",
        'w' => "0-9A-Za-z_",
        'p' => {
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
            let plain = name.strip_prefix('^').unwrap_or(name);
            if !names::is_unicode_class(plain) {
                return fault(CLASS_RANGE, between(text, after));
            }

            // No string has half of a surrogate pair.
            let is_empty =
                plain.eq_ignore_ascii_case("Cs") || plain.eq_ignore_ascii_case("Surrogate");
            let plain_name = if is_empty { "Any" } else { plain };
            let is_negated = (c == 'P') ^ (plain != name) ^ is_empty;
            let sign = if is_negated { 'P' } else { 'p' };
            return Ok(Some((
                format!(r"\{sign}{{{plain_name}}}"),
                UNICODE_CLASS,
                after,
            )));
        }
        _ => return Ok(None),
    };

    // A negated class inside brackets becomes a nested class of its own.
    let class = if c.is_ascii_uppercase() {
        format!("[^{perl}]")
    } else {
        perl.to_owned()
    };
    Ok(Some((class, 4 * FOLDED_RANGE, inner)))
}

/// Parses an escaped character; returns it with what follows.
fn escape(text: &str) -> Result<(u32, &str), Fault<'_>> {
    let rest = text.strip_prefix('\\').unwrap_or(text);
    let Some(c) = rest.chars().next() else {
        return fault("trailing backslash at end of expression", "");
    };
    let rest = rest.get(c.len_utf8()..).unwrap_or_default();
    let octal = |rest: &str| rest.chars().next().and_then(|c| c.to_digit(8));

    // A digit other than zero is an octal escape only if another digit follows; alone it would be a reference to a
    // group.
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
