//! Writing YAML with the emitter of libyaml, from which the one of kubectl is derived.

use libyaml_safer::{Emitter, Encoding, Event, MappingStyle, ScalarStyle, SequenceStyle};

use crate::number::write_number;
use crate::yaml_scalar::resolve;
use crate::{Error, MAX_DEPTH, Value, deep};

/// The value as one YAML document.
///
/// # Errors
///
/// [`Error::TooDeep`]; [`Error::Yaml`] if the emitter fails, which it does for no value.
pub(crate) fn write(value: &Value) -> Result<String, Error> {
    let mut out = Vec::new();
    let mut emitter = Emitter::new();
    emitter.set_output_string(&mut out);
    // Lines are not folded, and characters beyond ASCII are not escaped.
    emitter.set_unicode(true);
    emitter.set_width(-1);
    let mut writer = YamlWriter { emitter };
    writer.emit(Event::stream_start(Encoding::Utf8))?;
    writer.emit(Event::document_start(None, &[], true))?;
    writer.value(value, MAX_DEPTH)?;
    writer.emit(Event::document_end(true))?;
    writer.emit(Event::stream_end())?;
    drop(writer);

    String::from_utf8(out).map_err(|error| failed(&error))
}

fn failed(error: &dyn std::error::Error) -> Error {
    Error::Yaml {
        position: None,
        message: error.to_string(),
    }
}

struct YamlWriter<'o> {
    emitter: Emitter<'o>,
}

impl YamlWriter<'_> {
    fn emit(&mut self, event: Event) -> Result<(), Error> {
        self.emitter.emit(event).map_err(|error| failed(&error))
    }

    /// Writes a value below which at most `left` levels follow.
    fn value(&mut self, value: &Value, left: usize) -> Result<(), Error> {
        match value {
            Value::Null => self.scalar("null", ScalarStyle::Plain),
            Value::Bool(true) => self.scalar("true", ScalarStyle::Plain),
            Value::Bool(false) => self.scalar("false", ScalarStyle::Plain),
            Value::Int(number) => self.scalar(&number.to_string(), ScalarStyle::Plain),
            Value::Float(number) => self.scalar(&float(*number), ScalarStyle::Plain),
            Value::String(string) => self.scalar(string, style(string, ScalarStyle::Literal)),
            Value::List(list) => {
                let left = left.checked_sub(1).ok_or(Error::TooDeep)?;
                self.emit(Event::sequence_start(
                    None,
                    None,
                    true,
                    SequenceStyle::Block,
                ))?;
                for item in list {
                    deep::level(|| self.value(item, left))?;
                }

                self.emit(Event::sequence_end())
            }
            Value::Map(map) => {
                let left = left.checked_sub(1).ok_or(Error::TooDeep)?;
                self.emit(Event::mapping_start(None, None, true, MappingStyle::Block))?;
                for (name, value) in map {
                    self.scalar(name, style(name, ScalarStyle::DoubleQuoted))?;
                    deep::level(|| self.value(value, left))?;
                }
                self.emit(Event::mapping_end())
            }
        }
    }

    /// Writes a scalar. The emitter chooses another style where this one cannot hold the string.
    fn scalar(&mut self, string: &str, style: ScalarStyle) -> Result<(), Error> {
        self.emit(Event::scalar(None, None, string, true, true, style))
    }
}

/// A float that is read back as a float.
fn float(number: f64) -> String {
    let mut out = String::new();
    match number {
        _ if number.is_nan() => out.push_str(".nan"),
        f64::INFINITY => out.push_str(".inf"),
        f64::NEG_INFINITY => out.push_str("-.inf"),
        _ => write_number(&mut out, number),
    }

    // A float without a fraction would be read as an integer.
    if matches!(resolve(&out), Value::Int(_)) {
        out.push_str(".0");
    }
    out
}

/// The style of a string, with the style for several lines.
fn style(string: &str, lines: ScalarStyle) -> ScalarStyle {
    // Line breaks of YAML 1.1 but not of YAML 1.2: readers differ unless they are escaped.
    let is_special = |c: char| {
        c != '\n' && (c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}'))
    };
    if string.chars().any(is_special) || is_ambiguous(string) {
        ScalarStyle::DoubleQuoted
    } else if string.contains('\n') {
        lines
    } else {
        ScalarStyle::Plain
    }
}

/// Whether some reader of YAML 1.1 or 1.2 takes the plain string for something other than a string.
fn is_ambiguous(string: &str) -> bool {
    if matches!(string, "<<" | "=") || !matches!(resolve(string), Value::String(_)) {
        return true;
    }
    let unsigned = string.strip_prefix(['-', '+']).unwrap_or(string);
    if ["inf", "nan"]
        .iter()
        .any(|name| unsigned.eq_ignore_ascii_case(name))
    {
        return true;
    }

    // YAML 1.1 reads more texts as numbers and dates, so they are quoted.
    let starts_as_number =
        unsigned.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_'));
    starts_as_number
        && (has_radix(unsigned)
            || (string.contains('_')
                && !matches!(resolve(&string.replace('_', "")), Value::String(_)))
            || is_base_60(unsigned)
            || is_date(unsigned))
}

/// Whether the string may be a number with the prefix `0x`, `0o` or `0b`. Some readers accept a sign or underscores after
/// the prefix.
fn has_radix(string: &str) -> bool {
    let radix = match string.as_bytes() {
        [b'0', b'x' | b'X', ..] => 16,
        [b'0', b'o' | b'O', ..] => 8,
        [b'0', b'b' | b'B', ..] => 2,
        _ => return false,
    };
    string
        .chars()
        .skip(2)
        .all(|c| c.is_digit(radix) || matches!(c, '_' | '-' | '+'))
}

/// Whether the string may be a number to the base of 60, such as `1:30` or `12:30:45.5`.
fn is_base_60(string: &str) -> bool {
    string.contains(':')
        && string
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b'_'))
}

/// Whether the string starts as a date: four digits, a hyphen and a digit.
fn is_date(string: &str) -> bool {
    match string.as_bytes() {
        [a, b, c, d, b'-', month, ..] => [a, b, c, d, month].iter().all(|b| b.is_ascii_digit()),
        _ => false,
    }
}
