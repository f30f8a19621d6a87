//! The types and the sizes of values that a structural schema declares.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fieldmanager_structural::Structural;
use fieldmanager_value::Value;
use fieldmanager_value::internal::level;

use super::types::{BOOL, INT, STRING, Type};
use crate::escape::{escape, unescape};

/// The length of the longest request, in bytes.
pub(crate) const REQUEST: u64 = 3 << 20;

/// The type of the values of a schema. `name` is that of the value in messages.
pub(crate) fn type_of<'s>(schema: &'s Structural, name: &str) -> Type<'s> {
    if schema.extensions.int_or_string {
        return Type::Dyn;
    }
    match schema.generic.type_name.as_str() {
        "array" => match &schema.items {
            Some(items) => Type::list(level(|| type_of(items, &format!("{name}.@idx")))),
            None => Type::Dyn,
        },
        "object" => match values(schema) {
            Some(values) => Type::map(STRING, level(|| type_of(values, &format!("{name}.@elem")))),
            None => Type::Object(Arc::from(own_name(schema, name)), schema),
        },
        "string" => match schema.value_validation.format.as_str() {
            "byte" => Type::Plain("bytes"),
            "duration" => Type::Plain("duration"),
            "date" | "date-time" => Type::Plain("timestamp"),
            _ => STRING,
        },
        "boolean" => BOOL,
        "number" => Type::Plain("double"),
        "integer" => INT,
        _ => Type::Dyn,
    }
}

/// The name of the type of an object: that of a type of an API server is the title of its schema.
fn own_name<'n>(schema: &'n Structural, path: &'n str) -> &'n str {
    let title = schema.generic.title.as_str();
    let is_own = title.starts_with("kubernetes.") && !path.starts_with("selfType");
    if is_own { title } else { path }
}

fn values(schema: &Structural) -> Option<&Structural> {
    schema
        .additional_properties
        .as_ref()
        .and_then(|all| all.schema())
}

/// The schema of a field of an object, by its identifier.
pub(crate) fn field<'s>(schema: &'s Structural, identifier: &str) -> Option<&'s Structural> {
    let name = unescape(identifier)?;
    let is_escaped = escape(&name).is_some_and(|escaped| escaped == identifier);
    schema
        .properties
        .get(&*name)
        .filter(|field| is_escaped && crate::visible::is_exposed(field))
}

/// A schema, or the keys of a map.
#[derive(Clone, Copy)]
enum Declared<'s> {
    Schema(&'s Structural),
    Keys,
}

/// The sizes of values below a schema.
pub(crate) struct Sizes<'s> {
    root: &'s Structural,
    /// The smallest JSON of objects, which the bounds of many lists need.
    smallest: BTreeMap<*const Structural, u64>,
}

impl<'s> Sizes<'s> {
    pub(crate) fn new(root: &'s Structural) -> Self {
        Sizes {
            root,
            smallest: BTreeMap::new(),
        }
    }

    /// The most elements or bytes of the value at a path, whose first step is not looked at.
    pub(crate) fn at(&mut self, path: &[Arc<str>]) -> Option<u64> {
        let mut current = Declared::Schema(self.root);
        for step in path.iter().skip(1) {
            let Declared::Schema(schema) = current else {
                return None;
            };
            // A value of int-or-string has no parts, whatever type is declared.
            let type_name = if schema.extensions.int_or_string {
                ""
            } else {
                schema.generic.type_name.as_str()
            };
            current = match (&**step, type_name) {
                ("@items" | "@values", "array") => Declared::Schema(schema.items.as_ref()?),
                ("@items" | "@values", "object") => Declared::Schema(values(schema)?),
                ("@keys", "object") => values(schema).map(|_| Declared::Keys)?,
                (name, "object") if values(schema).is_none() => {
                    Declared::Schema(field(schema, name)?)
                }
                _ => return None,
            };
        }

        match current {
            Declared::Keys => Some(0),
            Declared::Schema(schema) => Some(self.most(schema)),
        }
    }

    /// How often a value can occur in a request.
    pub(crate) fn occurrences(&mut self) -> u64 {
        REQUEST / (self.smallest(self.root) + 1)
    }

    fn most(&mut self, schema: &'s Structural) -> u64 {
        let limits = &schema.value_validation;
        let bound = |limit: Option<i64>| limit.map(|limit| u64::try_from(limit).unwrap_or(0));
        // Strings are limited in characters, each of which has up to 4 bytes.
        let text = |limit: Option<i64>| bound(limit).map(|length| length.saturating_mul(4));
        // A value without a limit can fill a request, except for its quotes or brackets.
        const ANY: u64 = REQUEST - 2;
        if schema.extensions.int_or_string {
            return text(limits.max_length).unwrap_or(ANY);
        }

        match (schema.generic.type_name.as_str(), limits.format.as_str()) {
            ("array", _) => bound(limits.max_items).unwrap_or_else(|| {
                // The shortest items, with a comma each, fill a request with the most of them.
                let item = schema
                    .items
                    .as_ref()
                    .map_or(0, |items| self.smallest(items));
                ANY / (item + 1)
            }),
            ("object", _) => match values(schema) {
                Some(values) => bound(limits.max_properties)
                    .unwrap_or_else(|| ANY / (self.smallest(values) + 6)),
                None => 0,
            },
            ("string", "byte") => bound(limits.max_length).unwrap_or(ANY),
            ("string", "duration" | "date-time") => 32,
            ("string", "date") => 12,
            ("string", _) => text(limits.max_length).unwrap_or_else(|| {
                if limits.enumeration.is_empty() {
                    return ANY;
                }
                let texts = limits.enumeration.iter().filter_map(Value::as_str);
                texts.map(|text| text.len() as u64).max().unwrap_or(0)
            }),
            _ => 0,
        }
    }

    /// The length of the shortest JSON of a value.
    fn smallest(&mut self, schema: &'s Structural) -> u64 {
        if schema.extensions.int_or_string {
            return 1;
        }
        match (
            schema.generic.type_name.as_str(),
            schema.value_validation.format.as_str(),
        ) {
            ("string", "duration") => 3,
            ("string", "date") => 12,
            ("string", "date-time") => 21,
            ("array" | "string", _) => 2,
            ("boolean", _) => 4,
            ("object", _) if values(schema).is_some() => 2,
            ("object", _) => {
                let key = std::ptr::from_ref(schema);
                if let Some(known) = self.smallest.get(&key) {
                    return *known;
                }
                // The API server fills in defaults, so only required fields without one must be in the request.
                let required: BTreeSet<&str> = schema
                    .value_validation
                    .required
                    .iter()
                    .map(|name| name.as_str())
                    .collect();
                let mut out = 2;

                for (name, property) in schema.properties.iter() {
                    let has_default = property
                        .generic
                        .default
                        .as_ref()
                        .is_some_and(|value| !value.is_null());

                    if required.contains(name.as_str())
                        && !has_default
                        && crate::visible::is_exposed(property)
                    {
                        // A field needs two quotes, a colon and a comma besides its name.
                        out += name.len() as u64 + 4 + level(|| self.smallest(property));
                    }
                }
                self.smallest.insert(key, out);

                out
            }
            _ => 1,
        }
    }
}
