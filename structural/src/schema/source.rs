//! Access to the keywords of a schema document.

use fieldmanager_value::internal::sorted::SortedMap;
use fieldmanager_value::{Kind, Map, Str, Value};

use super::Error;
use super::trail::Trail;
use super::walk::{check, check_value};
use crate::FieldPath;

/// Reads each schema of a map of schemas with `read`.
pub(super) fn schemas<T: Clone>(
    map: &Map,
    keyword: &str,
    source: &Source<'_>,
    read: fn(&Value, &Trail<'_>, usize) -> Result<T, Error>,
) -> Result<SortedMap<Str, T>, Error> {
    let below = Trail::Child(source.trail, keyword);
    let mut out = Vec::with_capacity(map.len());
    for (name, schema) in map {
        out.push((
            name.clone(),
            read(schema, &Trail::Key(&below, name), source.depth + 2)?,
        ));
    }
    Ok(SortedMap::from_sorted(out))
}

/// A schema document and its path.
pub(super) struct Source<'a> {
    map: Option<&'a Map>,
    /// The [`bit`]s of the keywords that the schema has. A schema has a few of some fifty that are asked for.
    present: u64,
    pub(super) trail: &'a Trail<'a>,
    /// The depth in the document.
    pub(super) depth: usize,
}

impl<'a> Source<'a> {
    pub(super) fn new(
        schema: &'a Value,
        trail: &'a Trail<'a>,
        depth: usize,
    ) -> Result<Self, Error> {
        check(depth)?;
        let map = match schema {
            Value::Map(map) => Some(map),
            // Go decodes null as the empty schema.
            Value::Null => None,
            other => return Err(wrong_type(trail.path(), "a schema", other.kind())),
        };
        let keywords = map.into_iter().flatten().map(|(keyword, _)| bit(keyword));
        Ok(Source {
            map,
            present: keywords.fold(0, |all, one| all | one),
            trail,
            depth,
        })
    }

    pub(super) fn fault(&self, keyword: &str, expected: &'static str, found: &Value) -> Error {
        wrong_type(self.trail.at(keyword), expected, found.kind())
    }

    /// The value of a keyword; `None` if it is null.
    pub(super) fn get(&self, keyword: &str) -> Option<&'a Value> {
        if self.present & bit(keyword) == 0 {
            return None;
        }
        self.map?.get(keyword).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, keyword: &str) -> Result<Str, Error> {
        Ok(self.optional_text(keyword)?.unwrap_or_default())
    }

    pub(super) fn optional_text(&self, keyword: &str) -> Result<Option<Str>, Error> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.into())),
            Some(other) => Err(self.fault(keyword, "a string", other)),
        }
    }

    pub(super) fn flag(&self, keyword: &str) -> Result<bool, Error> {
        Ok(self.optional_flag(keyword)?.unwrap_or_default())
    }

    pub(super) fn optional_flag(&self, keyword: &str) -> Result<Option<bool>, Error> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(self.fault(keyword, "a boolean", other)),
        }
    }

    pub(super) fn number(&self, keyword: &str) -> Result<Option<f64>, Error> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::Float(number)) => Ok(Some(*number)),
            Some(Value::Int(number)) => Ok(Some(*number as f64)),
            Some(other) => Err(self.fault(keyword, "a number", other)),
        }
    }

    pub(super) fn integer(&self, keyword: &str) -> Result<Option<i64>, Error> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::Int(number)) => Ok(Some(*number)),
            Some(other) => Err(self.fault(keyword, "an integer", other)),
        }
    }

    /// Any value; only its depth is checked.
    pub(super) fn any(&self, keyword: &str) -> Result<Option<Value>, Error> {
        let Some(value) = self.get(keyword) else {
            return Ok(None);
        };
        check_value(value, self.depth + 1)?;
        Ok(Some(value.clone()))
    }

    /// The items of a list; empty if the keyword is absent.
    pub(super) fn list(&self, keyword: &str) -> Result<Vec<&'a Value>, Error> {
        match self.get(keyword) {
            None => Ok(Vec::new()),
            Some(Value::List(list)) => {
                check(self.depth + 1)?;
                Ok(list.iter().collect())
            }
            Some(other) => Err(self.fault(keyword, "a list", other)),
        }
    }

    pub(super) fn texts(&self, keyword: &str) -> Result<Vec<Str>, Error> {
        let read = |(at, item): (usize, &Value)| match item {
            Value::String(text) => Ok(text.into()),
            other => Err(wrong_type(
                self.trail.at(keyword).index(at),
                "a string",
                other.kind(),
            )),
        };

        self.list(keyword)?
            .into_iter()
            .enumerate()
            .map(read)
            .collect()
    }

    pub(super) fn map(&self, keyword: &str) -> Result<Option<&'a Map>, Error> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::Map(map)) => {
                check(self.depth + 1)?;
                Ok(Some(map))
            }
            Some(other) => Err(self.fault(keyword, "a map", other)),
        }
    }

    /// The schema at `items`. As in Go, an empty list is equivalent to absent.
    pub(super) fn items(&self) -> Result<Option<&'a Value>, Error> {
        match self.get("items") {
            None => Ok(None),
            Some(schema @ Value::Map(_)) => Ok(Some(schema)),
            Some(Value::List(list)) if list.is_empty() => Ok(None),
            Some(Value::List(_)) => Err(Error::ItemsList {
                path: self.trail.path(),
            }),
            Some(other) => Err(self.fault("items", "a schema", other)),
        }
    }

    pub(super) fn schema_or_bool(&self, keyword: &str) -> Result<Option<&'a Value>, Error> {
        match self.get(keyword) {
            None => Ok(None),
            Some(value @ (Value::Bool(_) | Value::Map(_))) => Ok(Some(value)),
            Some(other) => Err(self.fault(keyword, "a boolean or a schema", other)),
        }
    }
}

/// One bit of 64 for a keyword, by its length and its last character.
fn bit(keyword: &str) -> u64 {
    let last = keyword.bytes().last().unwrap_or_default();
    1 << ((keyword.len() + 7 * usize::from(last)) % 64)
}

pub(super) fn wrong_type(path: FieldPath, expected: &'static str, found: Kind) -> Error {
    Error::WrongType {
        path,
        expected,
        found,
    }
}
