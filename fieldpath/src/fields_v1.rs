//! FieldsV1, the text of sets in `metadata.managedFields`.
//!
//! An object whose keys are path elements: `f:name`, `k:{"key":"value"}`, `v:value`, `i:index`; `.` says
//! that the node itself is in the set beside its children. A node without children is in the set.

use std::cell::RefCell;
use std::fmt;

use fieldmanager_value::{MAX_DEPTH, TextPosition, Value};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};

use crate::{Error, PathElement, Set, SetBuilder, fields_v1_plain, fields_v1_value, fields_v1_write};

impl Set {
    /// Reads FieldsV1.
    ///
    /// Keys with an unknown one-letter prefix are dropped with what is below them, as a future version may
    /// know them. Repeated keys are united. Numbers keep all their digits. Keys may come in any order; the
    /// cost is that of sorting.
    ///
    /// # Errors
    ///
    /// [`Error::Element`] with the key that is no path element; [`Error::FieldsV1`] with the position where
    /// the text is no object of objects; [`Error::TooDeep`].
    ///
    /// Behaviour: `Set.FromJSON` of `sigs.k8s.io/structured-merge-diff/v6/fieldpath`.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let set = Set::from_json(br#"{"f:b":{".":{},"v:1":{}},"f:a":{}}"#)?;
    /// assert_eq!(set.to_string(), ".a\n.b\n.b[=1]");
    /// let error = Set::from_json(br#"{"fa":{}}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "key `fa` is no path element: expected a prefix like `f:`");
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn from_json(text: &[u8]) -> Result<Set, Error> {
        if let Some(set) = fields_v1_plain::read(text) {
            return Ok(set);
        }
        by_rules(text)
    }

    /// Reads FieldsV1 that is part of an object already read.
    ///
    /// # Errors
    ///
    /// As [`from_json`](Self::from_json), with [`Error::Fields`] for what is no object of objects.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// use fieldmanager_value::Value;
    /// let entry = Value::from_yaml("{fieldsV1: {f:spec: {f:replicas: {}}}}")?;
    /// let set = Set::from_value(entry.get("fieldsV1").unwrap())?;
    /// assert_eq!(set.to_string(), ".spec.replicas");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_value(value: &Value) -> Result<Set, Error> {
        if let Some(set) = fields_v1_value::read(value) {
            return Ok(set);
        }
        value_by_rules(value)
    }

    /// The set as FieldsV1, byte for byte as `Set.ToJSON` of the Go package writes it.
    ///
    /// ```
    /// use fieldmanager_fieldpath::{Path, Set};
    /// let paths = ["ports[port=80]".parse::<Path>()?, "ports[port=80].port".parse()?];
    /// let set: Set = paths.into_iter().collect();
    /// assert_eq!(set.to_json(), r#"{"f:ports":{"k:{\"port\":80}":{".":{},"f:port":{}}}}"#);
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        fields_v1_write::write(self, &mut out);
        out
    }

    /// Appends the set as FieldsV1. See [`to_json`](Self::to_json).
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let mut out = String::from("fieldsV1: ");
    /// Set::new().write_json(&mut out);
    /// assert_eq!(out, "fieldsV1: {}");
    /// ```
    pub fn write_json(&self, out: &mut String) {
        fields_v1_write::write(self, out);
    }

    /// The set as FieldsV1 to be put into an object.
    ///
    /// ```
    /// use fieldmanager_fieldpath::Set;
    /// let set = Set::from_json(br#"{"f:spec":{"f:replicas":{}}}"#)?;
    /// assert_eq!(set.to_value().to_json(), set.to_json());
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn to_value(&self) -> Value {
        fields_v1_value::write(self)
    }
}

/// Reads any text.
pub(crate) fn by_rules(text: &[u8]) -> Result<Set, Error> {
    let failure = RefCell::new(None);
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    // The seed bounds the depth itself, with an error of its own.
    deserializer.disable_recursion_limit();
    let seed = Level { depth: 0, failure: &failure };
    let read = seed.deserialize(&mut deserializer);
    match read.and_then(|level| deserializer.end().map(|()| level.set)) {
        Ok(set) => Ok(set),
        Err(error) => Err(failure.take().unwrap_or_else(|| {
            let message = error.to_string();
            let suffix = format!(" at line {} column {}", error.line(), error.column());
            Error::FieldsV1 {
                position: TextPosition { line: error.line(), column: error.column() },
                message: message.strip_suffix(&suffix).unwrap_or(&message).into(),
            }
        })),
    }
}

/// Reads any value.
pub(crate) fn value_by_rules(value: &Value) -> Result<Set, Error> {
    let failure = RefCell::new(None);
    let seed = Level { depth: 0, failure: &failure };
    match seed.deserialize(value.clone()) {
        Ok(level) => Ok(level.set),
        Err(error) => Err(failure.take().unwrap_or_else(|| Error::Fields { message: error.to_string() })),
    }
}

/// What a key of FieldsV1 says.
pub(crate) enum Key {
    /// `.`: the node itself.
    Itself,
    Element(PathElement),
    /// A kind of element of a future version.
    Unknown,
}

pub(crate) fn read_key(key: &str) -> Result<Key, Error> {
    let fault = |message: String| Error::Element { key: key.into(), message };
    if key == "." {
        return Ok(Key::Itself);
    }
    let bytes = key.as_bytes();
    let (Some(kind), Some(b':')) = (bytes.first(), bytes.get(1)) else {
        return Err(fault("expected a prefix like `f:`".into()));
    };
    let content = key.get(2..).unwrap_or_default();
    let json = || Value::from_json(content).map_err(|error| fault(error.to_string()));
    Ok(Key::Element(match kind {
        b'f' => PathElement::field(content),
        b'v' => PathElement::Value(json()?),
        b'k' => match json()? {
            Value::Map(fields) => PathElement::Key(fields),
            Value::Null => PathElement::Key(fieldmanager_value::Map::new()),
            other => {
                return Err(fault(format!("expected an object of key fields, got {}", other.kind())));
            }
        },
        b'i' => {
            let index = content.parse();
            PathElement::Index(index.map_err(|_| fault("expected an integer".into()))?)
        }
        _ => return Ok(Key::Unknown),
    }))
}

/// Reads one level of FieldsV1. An error of our own goes out through `failure`, past the format's errors.
struct Level<'f> {
    depth: usize,
    failure: &'f RefCell<Option<Error>>,
}

/// One level as it was read.
#[derive(Default)]
struct Read {
    set: Set,
    itself: bool,
}

impl Level<'_> {
    fn fail<E: de::Error>(&self, error: Error) -> E {
        let message = E::custom(&error);
        self.failure.replace(Some(error));
        message
    }
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = Read;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Read, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = Read;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of path elements, or null")
    }

    fn visit_unit<E>(self) -> Result<Read, E> {
        Ok(Read::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Read, A::Error> {
        if self.depth >= MAX_DEPTH {
            return Err(self.fail(Error::TooDeep));
        }
        let mut itself = false;
        let mut builder = SetBuilder::default();
        while let Some(key) = entries.next_key_seed(KeySeed(&self))? {
            match key {
                Key::Itself => {
                    entries.next_value::<de::IgnoredAny>()?;
                    itself = true;
                }
                Key::Unknown => {
                    entries.next_value::<de::IgnoredAny>()?;
                }
                Key::Element(element) => {
                    let below =
                        entries.next_value_seed(Level { depth: self.depth + 1, failure: self.failure })?;
                    // A node without children is there for its own sake.
                    let member = below.itself || below.set.is_empty();
                    builder.push(element, member, below.set);
                }
            }
        }
        Ok(Read { set: builder.build(), itself })
    }
}

/// Reads a key without copying it where the format can lend it.
struct KeySeed<'a, 'f>(&'a Level<'f>);

impl<'de> DeserializeSeed<'de> for KeySeed<'_, '_> {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_, '_> {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a path element")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<Key, E> {
        read_key(key).map_err(|error| self.0.fail(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        let set = Set::from_json(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e}"));
        let value = Value::from_json(text).unwrap();
        assert_eq!(Set::from_value(&value).unwrap(), set, "{text}");
        assert_eq!(Set::from_value(&set.to_value()).unwrap(), set, "{text}");
        set.to_json()
    }

    #[test]
    fn texts_are_normalised_as_the_go_package_does() {
        for (text, expected) in [
            ("null", "{}"),
            ("{}", "{}"),
            (r#"{".":{}}"#, "{}"),
            (r#"{"f:a":{".":{}}}"#, r#"{"f:a":{}}"#),
            (r#"{"f:a":null}"#, r#"{"f:a":{}}"#),
            (r#"{"f:a":{"x:y":{"f:b":{}}}}"#, r#"{"f:a":{}}"#),
            (r#"{"f:":{},"f:a:b":{}}"#, r#"{"f:":{},"f:a:b":{}}"#),
            (
                r#"{"i:007":{},"i:+2":{},"i:-1":{},"v:1":{},"k:{\"a\":1}":{},"f:z":{}}"#,
                r#"{"f:z":{},"k:{\"a\":1}":{},"v:1":{},"i:-1":{},"i:2":{},"i:7":{}}"#,
            ),
            (r#"{"k:null":{},"k:{}":{}}"#, r#"{"k:{}":{}}"#),
            (r#"{"k:{\"b\":1, \"a\":\"x\"}":{}}"#, r#"{"k:{\"a\":\"x\",\"b\":1}":{}}"#),
            (r#"{"v: 1.0 ":{},"v:1e-7":{},"v:1e21":{}}"#, r#"{"v:1e-7":{},"v:1":{},"v:1e+21":{}}"#),
            (r#"{"v:9007199254740993":{}}"#, r#"{"v:9007199254740993":{}}"#),
            (
                r#"{"v:null":{},"v:{}":{},"v:[]":{},"v:true":{},"v:false":{},"v:\"a\"":{},"v:2":{}}"#,
                r#"{"v:2":{},"v:\"a\"":{},"v:false":{},"v:true":{},"v:[]":{},"v:{}":{},"v:null":{}}"#,
            ),
            (r#"{"f:a":{},"f:a":{"f:b":{}}}"#, r#"{"f:a":{".":{},"f:b":{}}}"#),
            (r#"{"f:a":{"f:b":{}},"f:a":{"f:c":{}}}"#, r#"{"f:a":{"f:b":{},"f:c":{}}}"#),
            (
                r#"{"f:<&>":{},"k:{\"<\":\"<\"}":{},"v:\"<>&\u2028é\"":{}}"#,
                r#"{"f:<&>":{},"k:{\"<\":\"\\u003c\"}":{},"v:\"\\u003c\\u003e\\u0026\\u2028é\"":{}}"#,
            ),
            (r#"{"f:\u0001\n\"\\":{}}"#, r#"{"f:\u0001\n\"\\":{}}"#),
        ] {
            if text.contains(r#""f:a":{},"f:a""#) || text.contains(r#""f:a":{"f:b":{}},"f:a""#) {
                // A value cannot hold one key twice.
                assert_eq!(Set::from_json(text.as_bytes()).unwrap().to_json(), expected);
            } else {
                assert_eq!(normal(text), expected, "{text}");
            }
        }
    }

    #[test]
    fn faults_name_the_key() {
        for (text, message) in [
            ("", "not valid FieldsV1 at line 1 column 0: EOF while parsing a value"),
            (
                "[]",
                "not valid FieldsV1 at line 1 column 2: invalid type: sequence, expected an object of path elements, or null",
            ),
            ("{} x", "not valid FieldsV1 at line 1 column 4: trailing characters"),
            (
                r#"{"f:a":1}"#,
                "not valid FieldsV1 at line 1 column 8: invalid type: integer `1`, expected an object of path elements, or null",
            ),
            (r#"{"f":{}}"#, "key `f` is no path element: expected a prefix like `f:`"),
            (r#"{"fa":{}}"#, "key `fa` is no path element: expected a prefix like `f:`"),
            (r#"{"é:a":{}}"#, "key `é:a` is no path element: expected a prefix like `f:`"),
            (
                r#"{"v:":{}}"#,
                "key `v:` is no path element: not valid JSON at line 1 column 0: EOF while parsing a value",
            ),
            (
                r#"{"v:1 2":{}}"#,
                "key `v:1 2` is no path element: not valid JSON at line 1 column 3: trailing characters",
            ),
            (r#"{"k:[]":{}}"#, "key `k:[]` is no path element: expected an object of key fields, got list"),
            (r#"{"i:1.5":{}}"#, "key `i:1.5` is no path element: expected an integer"),
        ] {
            let error = Set::from_json(text.as_bytes()).expect_err(text);
            assert_eq!(error.to_string(), message);
        }
        let deep = r#"{"f:a":"#.repeat(10_000);
        assert_eq!(Set::from_json(deep.as_bytes()), Err(Error::TooDeep));
    }
}
