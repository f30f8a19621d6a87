//! Reading a schema.

use std::sync::Arc;

use fieldmanager_value::internal::level;
use fieldmanager_value::sorted::SortedMap;
use fieldmanager_value::{Kind, Map, Str, Value};

use super::trail::Trail;
use super::walk::{check, check_value};
use super::{AdditionalProperties, Error, Node, Structural, ValueValidation, nested};
use crate::FieldPath;

impl Structural {
    /// Reads a schema written as `JSONSchemaProps` of `apiextensions.k8s.io/v1`.
    ///
    /// A null is the same as a keyword that is not there, and so is an empty text, list or map. Keywords that
    /// `JSONSchemaProps` does not have are ignored.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`], [`Error::ItemsList`] and [`Error::PreserveFalse`] where the apiserver cannot convert
    /// the schema, [`Error::WrongType`] where it cannot decode it, [`Error::TooDeep`].
    ///
    /// ```
    /// use fieldmanager_openapi::structural::Structural;
    /// use fieldmanager_value::Value;
    /// let schema = Structural::from_value(&Value::from_yaml("{type: array, items: {type: integer}}")?)?;
    /// assert!(schema.items.is_some());
    /// let error = Structural::from_value(&Value::from_yaml("{items: [{type: integer}]}")?).unwrap_err();
    /// assert_eq!(error.to_string(), "OpenAPIV3Schema 'items' must be a schema, but is an array");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_value(schema: &Value) -> Result<Structural, Error> {
        structural(schema, &Trail::Root(&FieldPath::empty()), 0)
    }
}

fn structural(schema: &Value, trail: &Trail<'_>, depth: usize) -> Result<Structural, Error> {
    level(|| {
        let source = Source::of(schema, trail, depth)?;
        let mut node = own_parts(&source)?;
        if let Some(items) = source.items()? {
            node.items = Some(structural(items, &Trail::Child(trail, "items"), depth + 1)?);
        }
        if let Some(properties) = source.map("properties")? {
            node.properties = schemas(properties, "properties", &source, structural)?;
        }
        node.additional_properties = match source.schema_or_bool("additionalProperties")? {
            None => None,
            Some(Value::Bool(allowed)) => Some(AdditionalProperties::Bool(*allowed)),
            Some(schema) => {
                let trail = Trail::Child(trail, "additionalProperties");
                Some(AdditionalProperties::Schema(structural(schema, &trail, depth + 1)?))
            }
        };
        Ok(Structural::new(*node))
    })
}

/// The node without its children.
fn own_parts(source: &Source<'_>) -> Result<Box<Node>, Error> {
    let mut node = Box::<Node>::default();
    let mut value_validation = Box::<ValueValidation>::default();
    nested::parts(
        source,
        &mut value_validation,
        &mut node.generic,
        &mut node.extensions,
        &mut node.validations,
    )?;
    if *value_validation != *node.value_validation {
        node.value_validation = Arc::new(*value_validation);
    }
    Ok(node)
}

/// The schemas of a map of them, each read by `read`.
pub(super) fn schemas<T: Clone>(
    map: &Map,
    keyword: &str,
    source: &Source<'_>,
    read: fn(&Value, &Trail<'_>, usize) -> Result<T, Error>,
) -> Result<SortedMap<Str, T>, Error> {
    let below = Trail::Child(source.trail, keyword);
    let mut out = Vec::with_capacity(map.len());
    for (name, schema) in map {
        out.push((name.clone(), read(schema, &Trail::Key(&below, name), source.depth + 2)?));
    }
    Ok(SortedMap::from_sorted(out))
}

/// A schema as it is written, with its place.
pub(super) struct Source<'a> {
    map: Option<&'a Map>,
    pub(super) trail: &'a Trail<'a>,
    /// How deep in the text it is.
    pub(super) depth: usize,
}

impl<'a> Source<'a> {
    pub(super) fn of(schema: &'a Value, trail: &'a Trail<'a>, depth: usize) -> Result<Self, Error> {
        check(depth)?;
        match schema {
            Value::Map(map) => Ok(Source { map: Some(map), trail, depth }),
            // Go decodes null into the empty schema.
            Value::Null => Ok(Source { map: None, trail, depth }),
            other => Err(wrong_type(trail.path(), "a schema", other.kind())),
        }
    }

    pub(super) fn fault(&self, keyword: &str, expected: &'static str, found: &Value) -> Error {
        wrong_type(self.trail.at(keyword), expected, found.kind())
    }

    /// The value of a keyword, unless it is null.
    pub(super) fn get(&self, keyword: &str) -> Option<&'a Value> {
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

    /// Any value, of which only the depth matters.
    pub(super) fn any(&self, keyword: &str) -> Result<Option<Value>, Error> {
        let Some(value) = self.get(keyword) else { return Ok(None) };
        check_value(value, self.depth + 1)?;
        Ok(Some(value.clone()))
    }

    /// The items of a list; none if it is not there.
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
            other => Err(wrong_type(self.trail.at(keyword).index(at), "a string", other.kind())),
        };
        self.list(keyword)?.into_iter().enumerate().map(read).collect()
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

    /// The schema at `items`. An empty list there counts as nothing, as in Go.
    pub(super) fn items(&self) -> Result<Option<&'a Value>, Error> {
        match self.get("items") {
            None => Ok(None),
            Some(schema @ Value::Map(_)) => Ok(Some(schema)),
            Some(Value::List(list)) if list.is_empty() => Ok(None),
            Some(Value::List(_)) => Err(Error::ItemsList { path: self.trail.path() }),
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

pub(super) fn wrong_type(path: FieldPath, expected: &'static str, found: Kind) -> Error {
    Error::WrongType { path, expected, found }
}
