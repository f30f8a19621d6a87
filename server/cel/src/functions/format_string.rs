//! The function `format` of strings.
//!
//! Behaviour: `ext/formatting.go` of `cel-go`, with its default locale.

use std::fmt::Write;

use fieldmanager_value::internal::go_format::quote;
use fieldmanager_value::internal::level;

use crate::display::shown;
use crate::meter::Meter;
use crate::value::{Fault, Outcome, Val, fault, no_overload};

/// The number of digits after the point of a float.
const PRECISION: usize = 6;
/// The largest precision of a clause.
const LARGEST: usize = 1000;

/// Replaces the clauses of a string, such as `%s` and `%.2f`.
pub(super) fn format<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Outcome<'a> {
    let [Val::String(pattern), Val::List(list)] = arguments else {
        return no_overload();
    };
    let mut at = 0;
    let mut out = String::new();
    let mut rest = pattern.as_str();

    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        if let Some(after) = after.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }

        // A clause without an argument is an error. Arguments without a clause are ignored here, and refused if they
        // are literals.
        let Some(value) = list.get(at) else {
            return fault(format!("index {at} out of range"));
        };
        if after.is_empty() {
            return fault("unexpected end of string");
        }

        let (precision, after) = precision(after).or_else(|error| fault(clause_error(&error)))?;
        let mut letters = after.chars();
        let verb = letters.next().unwrap_or_default();
        let value = value?;
        meter.visit_value(&value)?;
        // The text of a clause is counted before the next one is written, so that a long list cannot exceed the limit
        // by much.
        let shown = clause(verb, precision, &value, meter)?;
        meter.make(shown.len())?;
        out.push_str(&shown);
        rest = letters.as_str();
        at = at.saturating_add(1);
    }
    out.push_str(rest);

    Ok(Val::text(out))
}

/// The types that a clause writes, and the words for others.
fn accepted(verb: char) -> Option<(&'static [&'static str], &'static str)> {
    const STRINGS: &str = "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, \
                           durations, and timestamps";
    Some(match verb {
        's' => (&[], STRINGS),
        'd' => (
            &["int", "uint"],
            "decimal clause can only be used on integers",
        ),
        'f' => (
            &["double", "string"],
            "fixed-point clause can only be used on doubles",
        ),
        'e' => (
            &["double", "string"],
            "scientific clause can only be used on doubles",
        ),
        'b' => (
            &["int", "uint", "bool"],
            "only integers and bools can be formatted as binary",
        ),
        'o' => (
            &["int", "uint"],
            "octal clause can only be used on integers",
        ),
        'x' | 'X' => (
            &["int", "uint", "string", "bytes"],
            "only integers, byte buffers, and strings can be formatted as hex",
        ),
        _ => return None,
    })
}

/// The error of a clause for a value of a type.
pub(crate) fn refusal(verb: char, found: &str) -> String {
    let (_, words) = accepted(verb).unwrap_or_default();
    format!("error during formatting: {words}, was given {found}")
}

fn unknown(verb: char) -> String {
    // Go has the first byte as a character.
    let verb = verb.to_string().bytes().next().map_or(verb, char::from);
    format!("could not parse formatting clause: unrecognized formatting clause \"{verb}\"")
}

/// The clauses of a format up to the first that is wrong: their letters and the types that they write, where `%s` has none.
pub(crate) fn clauses(format: &str) -> Vec<Result<(char, &'static [&'static str]), String>> {
    let mut out = Vec::new();
    let mut rest = format;
    while let Some((_, after)) = rest.split_once('%') {
        if let Some(after) = after.strip_prefix('%') {
            rest = after;
            continue;
        }
        if after.is_empty() {
            out.push(Err("unexpected end of string".to_owned()));
            break;
        }

        let parsed = precision(after).map_err(|error| clause_error(&error));
        let clause = parsed.and_then(|(_, after)| {
            let verb = after.chars().next().unwrap_or_default();
            rest = after.get(verb.len_utf8()..).unwrap_or_default();
            let (types, _) = accepted(verb).ok_or_else(|| unknown(verb))?;
            Ok((verb, types))
        });
        let is_wrong = clause.is_err();
        out.push(clause);

        if is_wrong {
            break;
        }
    }

    out
}

fn clause_error(error: &str) -> String {
    format!("could not parse formatting clause: {error}")
}

/// The precision of a clause, and what is behind it.
fn precision(text: &str) -> Result<(Option<usize>, &str), String> {
    let Some(text) = text.strip_prefix('.') else {
        return Ok((None, text));
    };
    let Some(end) = text.find(|letter: char| !letter.is_ascii_digit()) else {
        return Err(
            "error while parsing precision: could not find end of precision specifier".to_owned(),
        );
    };

    let (digits, rest) = text.split_at_checked(end).unwrap_or_default();
    match digits.parse::<usize>() {
        Ok(precision) if precision <= LARGEST => Ok((Some(precision), rest)),
        Ok(precision) => Err(format!(
            "error while parsing precision: precision {precision} exceeds maximum allowed precision {LARGEST}"
        )),
        Err(_) => Err(format!(
            "error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing \
             {}: invalid syntax",
            quote(digits)
        )),
    }
}

/// A value as a clause writes it.
fn clause(
    verb: char,
    precision: Option<usize>,
    value: &Val<'_>,
    meter: &mut Meter,
) -> Result<String, Fault> {
    // A bound for the text is counted before the text takes memory.
    meter.make(length(value).saturating_add(precision.unwrap_or_default()))?;
    let wrong = || fault(refusal(verb, value.type_name()));
    match (verb, value) {
        ('s', value) => string(value, meter),
        ('d', Val::Int(_) | Val::Uint(_)) => Ok(shown(value)),
        ('d', _) => wrong(),
        ('f', value) => match float(value) {
            Some(number) => Ok(fixed(number, precision.unwrap_or(PRECISION))),
            None => wrong(),
        },
        ('e', value) => match float(value) {
            // In Go, the precision of this clause is a width.
            Some(number) => Ok(format!(
                "{:>1$}",
                scientific(number),
                precision.unwrap_or(PRECISION)
            )),
            None => wrong(),
        },
        ('b', Val::Int(number)) => Ok(signed(*number, |number| format!("{number:b}"))),
        ('b', Val::Uint(number)) => Ok(format!("{number:b}")),
        ('b', Val::Bool(flag)) => Ok(u8::from(*flag).to_string()),
        ('b', _) => wrong(),
        ('o', Val::Int(number)) => Ok(signed(*number, |number| format!("{number:o}"))),
        ('o', Val::Uint(number)) => Ok(format!("{number:o}")),
        ('o', _) => wrong(),
        ('x', value) | ('X', value) => {
            let digits = match value {
                Val::Int(number) => signed(*number, |number| format!("{number:x}")),
                Val::Uint(number) => format!("{number:x}"),
                Val::String(text) => hexadecimal(text.as_bytes()),
                Val::Bytes(bytes) => hexadecimal(bytes),
                _ => {
                    return wrong();
                }
            };

            Ok(if verb == 'X' {
                digits.to_ascii_uppercase()
            } else {
                digits
            })
        }
        (verb, _) => fault(unknown(verb)),
    }
}

/// A bound for the text of a string or of bytes, which can be quoted, or in hexadecimal.
fn length(value: &Val<'_>) -> usize {
    match value {
        Val::String(text) => text.len().saturating_mul(4),
        Val::Bytes(bytes) => bytes.len().saturating_mul(4),
        _ => 0,
    }
}

/// A value as `%s` writes it.
fn string(value: &Val<'_>, meter: &mut Meter) -> Result<String, Fault> {
    match value {
        Val::List(_) | Val::Map(_) => literal(value, meter),
        Val::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => fault(
                "error during formatting: could not convert argument \"invalid UTF-8 in bytes, cannot convert to \
                 string\" to string",
            ),
        },
        Val::Double(number) if number.is_infinite() => Ok(infinity(*number).to_owned()),
        Val::Null
        | Val::Bool(_)
        | Val::Int(_)
        | Val::Uint(_)
        | Val::Double(_)
        | Val::String(_)
        | Val::Duration(_)
        | Val::Timestamp(_)
        | Val::Type(_) => Ok(shown(value)),
        other => fault(refusal('s', other.type_name())),
    }
}

/// A value inside of a list or a map, as a literal of the language.
fn literal(value: &Val<'_>, meter: &mut Meter) -> Result<String, Fault> {
    meter.make_items(1)?;
    meter.make(length(value))?;
    level(|| match value {
        Val::List(list) => {
            let items: Result<Vec<String>, Fault> =
                list.iter().map(|item| literal(&item?, meter)).collect();
            let items = items?;
            // Each level copies the text of those below it, so nested lists count once for each level.
            meter.make(items.iter().map(|item| item.len().saturating_add(2)).sum())?;
            Ok(format!("[{}]", items.join(", ")))
        }
        Val::Map(map) => {
            let mut entries = Vec::new();
            for key in map.keys(meter)? {
                let value = map.find(&key)?.unwrap_or(Val::Null);
                entries.push((literal(&key, meter)?, literal(&value, meter)?));
            }
            // Entries are sorted by their text, since keys may have several types.
            entries.sort();
            let length = entries
                .iter()
                .map(|(key, value)| key.len().saturating_add(value.len()).saturating_add(3));
            meter.make(length.sum::<usize>().saturating_mul(2))?;
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{key}:{value}"))
                .collect();

            Ok(format!("{{{}}}", entries.join(", ")))
        }
        Val::String(text) => Ok(quote(text)),
        Val::Bytes(_) => Ok(format!("b{}", quote(&string(value, meter)?))),
        Val::Double(number) if number.is_infinite() => Ok(quote(infinity(*number))),
        Val::Double(number) if number.is_nan() => Ok(quote("NaN")),
        Val::Double(number) => Ok(format!("{number:.PRECISION$}")),
        Val::Timestamp(_) => Ok(format!("timestamp({})", quote(&shown(value)))),
        Val::Duration(_) => Ok(format!("duration({})", quote(&shown(value)))),
        Val::Null | Val::Bool(_) | Val::Int(_) | Val::Uint(_) | Val::Type(_) => Ok(shown(value)),
        other => fault(format!(
            "error during formatting: no formatting function for {}",
            other.type_name()
        )),
    })
}

fn infinity(number: f64) -> &'static str {
    if number > 0.0 { "+Inf" } else { "-Inf" }
}

/// The float of an argument, which may be a string if no literal has its value.
fn float(value: &Val<'_>) -> Option<f64> {
    match value {
        // A zero has no sign.
        Val::Double(number) => Some(*number + 0.0),
        Val::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// The name of a float that is not finite.
fn not_finite(number: f64) -> Option<&'static str> {
    match number {
        _ if number.is_nan() => Some("NaN"),
        _ if number.is_finite() => None,
        _ => Some(if number > 0.0 { "∞" } else { "-∞" }),
    }
}

/// A float with its digits in groups of three.
fn fixed(number: f64, precision: usize) -> String {
    if let Some(name) = not_finite(number) {
        return name.to_owned();
    }
    let plain = format!("{number:.precision$}");
    let (whole, fraction) = plain
        .split_once('.')
        .map_or((plain.as_str(), None), |(a, b)| (a, Some(b)));
    let (sign, digits) = whole
        .strip_prefix('-')
        .map_or(("", whole), |digits| ("-", digits));
    let mut out = sign.to_owned();

    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digits.len().saturating_sub(at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }

    // Writing to a `String` cannot fail.
    let _ = fraction.map(|fraction| write!(out, ".{fraction}"));
    out
}

/// A float as `1.500000×10⁰³`.
fn scientific(number: f64) -> String {
    if let Some(name) = not_finite(number) {
        return name.to_owned();
    }
    let plain = format!("{number:.PRECISION$e}");
    let (digits, exponent) = plain.split_once('e').unwrap_or((&plain, "0"));
    let (sign, exponent) = exponent
        .strip_prefix('-')
        .map_or(("", exponent), |exponent| ("⁻", exponent));
    // As in Go, an exponent has at least two digits.
    let raised = format!("{exponent:0>2}")
        .chars()
        .map(superscript)
        .collect::<String>();

    format!("{digits}×10{sign}{raised}")
}

fn superscript(digit: char) -> char {
    let digit = digit
        .to_digit(10)
        .and_then(|digit| usize::try_from(digit).ok());
    let found = digit.and_then(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit));
    found.unwrap_or('⁹')
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn signed(number: i64, digits: fn(u64) -> String) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", digits(number.unsigned_abs()))
}
