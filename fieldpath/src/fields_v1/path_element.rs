//! Keys of FieldsV1 objects: serialized path elements.
//!
//! All readers of FieldsV1 parse keys with this module, and all writers serialize elements with it.

use std::fmt::Write;

use fieldmanager_value::internal::level;
use fieldmanager_value::internal::{Escape, write_json, write_number, write_string};
use fieldmanager_value::{Map, Str, Value};

use super::bytes::plain_end;
use crate::{Error, PathElement};

/// A parsed key.
pub(super) enum ParsedKey {
    /// `.`: the node itself is in the set.
    Itself,
    Element(PathElement),
    /// An element of an unknown kind, which a later version of the format may define.
    Unknown,
}

/// Parses a key.
pub(super) fn read(key: &str) -> Result<ParsedKey, Error> {
    let fault = |message: String| Error::Element {
        key: key.into(),
        message,
    };
    if key == "." {
        return Ok(ParsedKey::Itself);
    }
    // Every other key starts with its kind. An unknown kind is ignored, so that later versions of the format can be
    // read.
    let (Some(kind), Some(b':')) = (key.as_bytes().first(), key.as_bytes().get(1)) else {
        return Err(fault("expected a prefix like `f:`".into()));
    };

    // The usual keys are read without a JSON parser, which reads the others.
    let content = key.get(2..).unwrap_or_default();
    let json = || Value::from_json(content).map_err(|error| fault(error.to_string()));
    let mut usual = Usual::<false> { rest: content };
    Ok(ParsedKey::Element(match kind {
        b'f' => PathElement::field(content),
        b'v' => match usual.scalar().filter(|_| usual.rest.is_empty()) {
            Some(value) => PathElement::Value(value),
            None => PathElement::Value(json()?),
        },
        b'k' => match usual.fields().filter(|_| usual.rest.is_empty()) {
            Some(fields) => PathElement::Key(fields),
            None => match json()? {
                Value::Map(fields) => PathElement::Key(fields),
                Value::Null => PathElement::Key(Map::new()),
                other => {
                    return Err(fault(format!(
                        "expected an object of key fields, got {}",
                        other.kind()
                    )));
                }
            },
        },
        b'i' => {
            let index = content.parse();
            PathElement::Index(index.map_err(|_| fault("expected an integer".into()))?)
        }
        _ => return Ok(ParsedKey::Unknown),
    }))
}

/// Parses a `k:` or `v:` key within a JSON document, of which `rest` is the part after the opening quote. Returns the
/// element and the part from the closing quote on, or `None` if the key does not have the usual format.
pub(super) fn read_in_document(rest: &str) -> Option<(PathElement, &str)> {
    let (kind, rest) = rest.split_at_checked(2)?;
    let mut usual = Usual::<true> { rest };
    let element = match kind {
        "k:" => PathElement::Key(usual.fields()?),
        "v:" => PathElement::Value(usual.scalar()?),
        _ => return None,
    };
    Some((element, usual.rest))
}

/// A parser of keys in the format that API servers write: without whitespace, and without escapes inside strings.
/// Returns `None` for any other format. With `QUOTED`, the key is part of a JSON document, so each quote follows a
/// backslash.
struct Usual<'t, const QUOTED: bool> {
    /// The part of the key, and of the document around it, that is not read yet.
    rest: &'t str,
}

impl<'t, const QUOTED: bool> Usual<'t, QUOTED> {
    #[inline(always)]
    fn expect(&mut self, expected: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }

    #[inline(always)]
    fn string(&mut self) -> Option<&'t str> {
        let quote = if QUOTED { "\\\"" } else { "\"" };
        self.expect(quote)?;
        let (string, rest) = self
            .rest
            .split_at_checked(plain_end(self.rest.as_bytes())?)?;
        self.rest = rest;
        self.expect(quote)?;
        Some(string)
    }

    /// A string, a boolean, or a positive integer of at most 15 digits.
    fn scalar(&mut self) -> Option<Value> {
        match self.rest.as_bytes() {
            [b'\\' | b'"', ..] => self.string().map(Value::from),
            [b't', ..] => self.expect("true").map(|()| Value::Bool(true)),
            [b'f', ..] => self.expect("false").map(|()| Value::Bool(false)),
            rest @ [b'1'..=b'9', ..] => {
                let n = rest
                    .iter()
                    .position(|byte| !byte.is_ascii_digit())
                    .unwrap_or(rest.len());
                // Longer numbers may not fit, and fractions are no integers.
                let digits = rest.get(..n).filter(|digits| digits.len() <= 15)?;
                if matches!(rest.get(n), Some(b'.' | b'e' | b'E')) {
                    return None;
                }

                self.rest = self.rest.get(n..)?;
                Some(Value::Int(
                    digits
                        .iter()
                        .fold(0, |all, digit| all * 10 + i64::from(digit - b'0')),
                ))
            }
            _ => None,
        }
    }

    /// An object of scalars with at least one field and no duplicates.
    fn fields(&mut self) -> Option<Map> {
        self.expect("{")?;
        let (name, value) = self.field()?;
        if self.expect("}").is_some() {
            return Some(Map::single(name, value));
        }
        let mut fields = Vec::with_capacity(4);
        fields.push((name, value));
        while self.expect(",").is_some() {
            fields.push(self.field()?);
        }
        self.expect("}")?;
        // Duplicate names make the map smaller; the JSON parser decides about them.
        let n = fields.len();

        Some(Map::from_iter(fields)).filter(|fields| fields.len() == n)
    }

    #[inline(always)]
    fn field(&mut self) -> Option<(Str, Value)> {
        let name = Str::from(self.string()?);
        self.expect(":")?;
        Some((name, self.scalar()?))
    }
}

/// Appends the key of an element.
pub(super) fn write(element: &PathElement, out: &mut String) {
    match element {
        PathElement::Field(name) => {
            out.push_str("f:");
            out.push_str(name);
        }
        PathElement::Key(fields) => {
            out.push_str("k:");
            write_fields(out, fields, Escape::Json);
        }
        PathElement::Value(value) => {
            out.push_str("v:");
            write_value(out, value);
        }
        PathElement::Index(at) => {
            // Writing to a string cannot fail.
            let _ = write!(out, "i:{at}");
        }
    }
}

/// The Go package escapes the names of key fields as JSON, and all other names and strings for HTML.
fn write_fields(out: &mut String, fields: &Map, names: Escape) {
    out.push('{');
    for (i, (name, value)) in fields.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_string(out, name, names);
        out.push(':');
        write_value(out, value);
    }
    out.push('}');
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::String(string) => write_string(out, string, Escape::Html),
        Value::Float(number) => write_number(out, *number),
        Value::List(list) => level(|| {
            out.push('[');
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }),
        Value::Map(map) => level(|| write_fields(out, map, Escape::Html)),
        other => write_json(other, out, Escape::Json),
    }
}
