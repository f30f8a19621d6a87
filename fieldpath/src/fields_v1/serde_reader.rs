//! The general reader of FieldsV1, a serde visitor. It accepts every valid document and reports all errors.

use std::cell::RefCell;
use std::fmt;

use fieldmanager_value::internal::level;
use fieldmanager_value::{MAX_DEPTH, TextPosition, Value};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};

use super::path_element::{self, ParsedKey};
use crate::set_builder::SetBuilder;
use crate::{Error, Set};

pub(super) fn from_json(text: &[u8]) -> Result<Set, Error> {
    let failure = RefCell::new(None);
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    // The seed enforces the depth limit with its own error.
    deserializer.disable_recursion_limit();
    let seed = LevelSeed {
        depth: 0,
        failure: &failure,
    };
    let read = seed.deserialize(&mut deserializer);

    match read.and_then(|level| deserializer.end().map(|()| level.set)) {
        Ok(set) => Ok(set),
        Err(error) => Err(failure.take().unwrap_or_else(|| {
            let message = error.to_string();
            let suffix = format!(" at line {} column {}", error.line(), error.column());
            Error::FieldsV1 {
                position: TextPosition {
                    line: error.line(),
                    column: error.column(),
                },
                message: message.strip_suffix(&suffix).unwrap_or(&message).into(),
            }
        })),
    }
}

pub(super) fn from_value(value: &Value) -> Result<Set, Error> {
    let failure = RefCell::new(None);
    let seed = LevelSeed {
        depth: 0,
        failure: &failure,
    };

    match seed.deserialize(value.clone()) {
        Ok(level) => Ok(level.set),
        Err(error) => Err(failure.take().unwrap_or_else(|| Error::Fields {
            message: error.to_string(),
        })),
    }
}

/// Reads one level. `failure` carries an [`Error`] out of the visitor, which can return only errors of the format.
struct LevelSeed<'f> {
    depth: usize,
    failure: &'f RefCell<Option<Error>>,
}

/// A level that has been read.
#[derive(Default)]
struct ReadLevel {
    set: Set,
    /// Whether the node itself is in the set.
    itself: bool,
}

impl LevelSeed<'_> {
    fn fail<E: de::Error>(&self, error: Error) -> E {
        let message = E::custom(&error);
        self.failure.replace(Some(error));
        message
    }
}

impl<'de> DeserializeSeed<'de> for LevelSeed<'_> {
    type Value = ReadLevel;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ReadLevel, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for LevelSeed<'_> {
    type Value = ReadLevel;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of path elements, or null")
    }

    fn visit_unit<E>(self) -> Result<ReadLevel, E> {
        Ok(ReadLevel::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<ReadLevel, A::Error> {
        if self.depth >= MAX_DEPTH {
            return Err(self.fail(Error::TooDeep));
        }
        level(|| self.entries(entries))
    }
}

impl LevelSeed<'_> {
    fn entries<'de, A: MapAccess<'de>>(self, mut entries: A) -> Result<ReadLevel, A::Error> {
        let mut itself = false;
        let mut builder = SetBuilder::default();
        while let Some(key) = entries.next_key_seed(KeySeed(&self))? {
            match key {
                ParsedKey::Itself => {
                    entries.next_value::<de::IgnoredAny>()?;
                    itself = true;
                }
                ParsedKey::Unknown => {
                    entries.next_value::<de::IgnoredAny>()?;
                }
                ParsedKey::Element(element) => {
                    let below = entries.next_value_seed(LevelSeed {
                        depth: self.depth + 1,
                        failure: self.failure,
                    })?;
                    // A node without children is in the set.
                    let member = below.itself || below.set.is_empty();
                    builder.push(element, member, below.set);
                }
            }
        }

        Ok(ReadLevel {
            set: builder.build(),
            itself,
        })
    }
}

/// Reads a key, without a copy if the format can lend it.
struct KeySeed<'a, 'f>(&'a LevelSeed<'f>);

impl<'de> DeserializeSeed<'de> for KeySeed<'_, '_> {
    type Value = ParsedKey;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ParsedKey, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_, '_> {
    type Value = ParsedKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a path element")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<ParsedKey, E> {
        path_element::read(key).map_err(|error| self.0.fail(error))
    }
}
