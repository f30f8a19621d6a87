//! Regular expressions in the syntax of RE2, as Go has them, for the crate `regex`.

use regex::{Regex, RegexBuilder};

/// The maximum size of a compiled expression, in bytes.
const SIZE: usize = 10 << 20;

/// Compiles a regular expression of Go. The message of the error is that of the crate `regex`.
///
/// In Go, `\d`, `\s`, `\w` and `\b` are about ASCII, a brace that begins no repetition is a literal, and so are `[`,
/// `&`, `~` and a second `-` in a class.
///
/// ```
/// # use fieldmanager_structural::validation::expression;
/// assert!(expression(r"^\w{2}$")?.is_match("ab"));
/// assert!(!expression(r"^\w{2}$")?.is_match("äö"));
/// assert!(expression("^{a}[[]$")?.is_match("{a}["));
/// assert!(expression("(?=a)").is_err());
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
///
/// The reason why the expression is refused.
#[doc(hidden)]
pub fn expression(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(&translate(pattern)).size_limit(SIZE).build().map_err(|error| error.to_string())
}

/// The contents of the classes `\d`, `\s` and `\w`.
fn perl(c: char) -> Option<&'static str> {
    Some(match c.to_ascii_lowercase() {
        'd' => "0-9",
        's' => r"\t\n\f\r ",
        'w' => "0-9A-Za-z_",
        _ => return None,
    })
}

fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        rest = match c {
            '\\' => escape(after, in_class, &mut out),
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                let (negated, after) = after.strip_prefix('^').map_or((false, after), |after| (true, after));
                if negated {
                    out.push('^');
                }
                // A bracket at the beginning is a literal.
                match after.strip_prefix(']') {
                    Some(after) => {
                        out.push_str(r"\]");
                        after
                    }
                    None => after,
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
                after
            }
            '[' => match after.strip_prefix(':').and_then(|after| after.split_once(":]")) {
                Some((name, after)) if name.chars().all(|c| c == '^' || c.is_ascii_lowercase()) => {
                    out.push_str(&format!("[:{name}:]"));
                    after
                }
                _ => {
                    out.push_str(r"\[");
                    after
                }
            },
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
                after
            }
            '-' if in_class && after.starts_with('-') => {
                out.push_str(r"\-");
                after
            }
            '{' if !in_class && !begins_repetition(after) => {
                out.push_str(r"\{");
                after
            }
            _ => {
                out.push(c);
                after
            }
        };
    }
    out
}

/// Translates what follows a backslash. Returns the rest.
fn escape<'a>(text: &'a str, in_class: bool, out: &mut String) -> &'a str {
    let Some(c) = text.chars().next() else {
        out.push('\\');
        return text;
    };
    let after = text.get(c.len_utf8()..).unwrap_or_default();
    match (c, perl(c)) {
        (c, Some(class)) => {
            let negated = if c.is_ascii_uppercase() { "^" } else { "" };
            if in_class && negated.is_empty() {
                out.push_str(class);
            } else {
                out.push_str(&format!("[{negated}{class}]"));
            }
            after
        }
        ('b', _) if !in_class => {
            out.push_str(r"(?-u:\b)");
            after
        }
        ('Q', _) => {
            let (literal, after) = after.split_once(r"\E").unwrap_or((after, ""));
            out.push_str(&regex::escape(literal));
            after
        }
        ('0'..='7', _) => {
            let end = after.char_indices().take(2).take_while(|(_, c)| matches!(c, '0'..='7')).count();
            let (digits, after) = after.split_at_checked(end).unwrap_or(("", after));
            let code = u32::from_str_radix(&format!("{c}{digits}"), 8).unwrap_or_default();
            if c == '0' || !digits.is_empty() {
                out.push_str(&format!(r"\x{{{code:x}}}"));
            } else {
                // A reference to a group, which neither syntax has.
                out.push('\\');
                out.push(c);
            }
            after
        }
        _ => {
            out.push('\\');
            out.push(c);
            after
        }
    }
}

/// Whether the text after a brace makes it a repetition.
fn begins_repetition(text: &str) -> bool {
    let Some((counts, _)) = text.split_once('}') else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match counts.split_once(',') {
        None => is_number(counts),
        Some((from, to)) => is_number(from) && (to.is_empty() || is_number(to)),
    }
}
