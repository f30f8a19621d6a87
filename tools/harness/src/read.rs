//! Reads documents piece by piece and stops at the first fault, with its path and the accepted input.

use std::collections::BTreeMap;

use fieldmanager_fieldpath::Set;
use fieldmanager_value::{Map, Str, Value};

use crate::place::{Fault, Step};

pub(crate) type Result<T> = std::result::Result<T, Fault>;

/// Tracks the current path in the document.
#[derive(Default)]
pub(crate) struct Reader {
    path: Vec<Step>,
}

impl Reader {
    /// Reads a child value.
    pub(crate) fn at<T>(
        &mut self,
        step: impl Into<Step>,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        // After a fault the path is not used any more, so only success restores it.
        self.path.push(step.into());
        let value = read(self)?;
        self.path.pop();
        Ok(value)
    }

    pub(crate) fn fault<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Fault {
            path: self.path.clone(),
            message: message.into(),
            key: None,
        })
    }

    /// A fault of a name in the current map.
    pub(crate) fn fault_of_key<T>(&self, key: &Str, message: impl Into<String>) -> Result<T> {
        Err(Fault {
            path: self.path.clone(),
            message: message.into(),
            key: Some(key.clone()),
        })
    }

    pub(crate) fn expected<T>(&self, what: &str, found: &Value) -> Result<T> {
        self.fault(format!("expected {what}, got {}", found.kind()))
    }

    /// A map with arbitrary names.
    pub(crate) fn map<'v>(&mut self, value: &'v Value) -> Result<&'v Map> {
        match value {
            Value::Map(map) => Ok(map),
            other => self.expected("map", other),
        }
    }

    /// A map with fixed field names.
    pub(crate) fn fields<'v>(&mut self, value: &'v Value, known: &[&str]) -> Result<&'v Map> {
        let map = self.map(value)?;
        match map.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(map),
            Some((name, _)) => self.fault_of_key(
                name,
                format!("unknown field `{name}`, accepted are {}", listed(known)),
            ),
        }
    }

    /// A required field. Null counts as a value.
    pub(crate) fn required<'v, T>(
        &mut self,
        map: &'v Map,
        name: &str,
        read: impl FnOnce(&mut Self, &'v Value) -> Result<T>,
    ) -> Result<T> {
        match map.get(name) {
            Some(value) => self.at(name, |r| read(r, value)),
            None => self.fault(format!("field `{name}` is missing")),
        }
    }

    /// An optional field. Null is equivalent to absent.
    pub(crate) fn optional<'v, T>(
        &mut self,
        map: &'v Map,
        name: &str,
        read: impl FnOnce(&mut Self, &'v Value) -> Result<T>,
    ) -> Result<Option<T>> {
        match map.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => self.at(name, |r| read(r, value)).map(Some),
        }
    }

    /// An optional field. Null counts as a value.
    pub(crate) fn given<'v, T>(
        &mut self,
        map: &'v Map,
        name: &str,
        read: impl FnOnce(&mut Self, &'v Value) -> Result<T>,
    ) -> Result<Option<T>> {
        match map.get(name) {
            None => Ok(None),
            Some(value) => self.at(name, |r| read(r, value)).map(Some),
        }
    }

    /// A boolean field that defaults to false.
    pub(crate) fn flag(&mut self, map: &Map, name: &str) -> Result<bool> {
        Ok(self.optional(map, name, Self::boolean)?.unwrap_or(false))
    }

    pub(crate) fn boolean(&mut self, value: &Value) -> Result<bool> {
        match value {
            Value::Bool(flag) => Ok(*flag),
            other => self.expected("boolean", other),
        }
    }

    /// A non-empty string.
    pub(crate) fn text(&mut self, value: &Value) -> Result<Str> {
        match value {
            Value::String(text) if text.is_empty() => {
                self.fault("expected a non-empty string, got an empty one")
            }
            Value::String(text) => Ok(text.into()),
            other => self.expected("string", other),
        }
    }

    pub(crate) fn any(&mut self, value: &Value) -> Result<Value> {
        Ok(value.clone())
    }

    pub(crate) fn list<T>(
        &mut self,
        value: &Value,
        mut read: impl FnMut(&mut Self, &Value) -> Result<T>,
    ) -> Result<Vec<T>> {
        let Value::List(list) = value else {
            return self.expected("list", value);
        };
        let items = list.iter().enumerate();
        items
            .map(|(i, item)| self.at(Step::Index(i), |r| read(r, item)))
            .collect()
    }

    /// A map with names of type `K`.
    pub(crate) fn by_name<K: From<Str> + Ord, T>(
        &mut self,
        value: &Value,
        mut read: impl FnMut(&mut Self, &Value) -> Result<T>,
    ) -> Result<BTreeMap<K, T>> {
        let map = self.map(value)?;
        map.iter()
            .map(|(name, value)| {
                let read = self.at(Step::Field(name.clone()), |r| read(r, value))?;
                Ok((name.clone().into(), read))
            })
            .collect()
    }

    /// One of several words.
    pub(crate) fn word<T: Copy>(&mut self, value: &Value, words: &[(&str, T)]) -> Result<T> {
        let text = self.text(value)?;
        match words.iter().find(|(word, _)| text == *word) {
            Some((_, meaning)) => Ok(*meaning),
            None => {
                let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                self.fault(format!(
                    "unknown word `{text}`, accepted are {}",
                    listed(&known)
                ))
            }
        }
    }

    /// A set of fields in FieldsV1.
    pub(crate) fn set(&mut self, value: &Value) -> Result<Set> {
        if value.is_null() {
            return self.expected("FieldsV1", value);
        }
        Set::from_value(value).or_else(|error| self.fault(error.to_string()))
    }
}

/// Formats a list as `a, b and c`.
pub(crate) fn listed(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, [])) => (*last).into(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => "none".into(),
    }
}
