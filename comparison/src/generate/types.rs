//! The types of a scenario, for generators.
//!
//! They are JSON in the form of scenario files, with the names of the first version. What reads them is deliberately
//! separate from the library's schema, so that a fault there is not hidden from the comparison.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::json::{items, member, set, strings, text, with_each};

/// The name of the type that allows any object and deduces its structure.
pub(crate) const DEDUCED: &str = "__untyped_deduced_";
/// The name of the type that allows any value as one unit.
pub(crate) const ATOMIC: &str = "__untyped_atomic_";

/// The names of fields that differ at a version.
pub(crate) type Names = BTreeMap<String, String>;

/// A set of named types with one that the scenario's object has.
#[derive(Clone, Debug)]
pub(crate) struct Types {
    pub(crate) definitions: Vec<Value>,
    pub(crate) root: String,
}

/// The allowed kinds of a value; several kinds may be allowed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Atom<'t> {
    pub(crate) scalar: Option<&'t str>,
    pub(crate) list: Option<ListType<'t>>,
    pub(crate) map: Option<MapType<'t>>,
}

#[derive(Clone, Copy)]
pub(crate) struct ListType<'t> {
    json: &'t Value,
    relation: &'t str,
}

#[derive(Clone, Copy)]
pub(crate) struct MapType<'t> {
    json: &'t Value,
    relation: &'t str,
}

impl<'t> ListType<'t> {
    pub(crate) fn element(self) -> &'t Value {
        member(self.json, "elementType")
    }

    pub(crate) fn is_associative(self) -> bool {
        self.relation == "associative"
    }

    /// The names of the fields that identify an item.
    pub(crate) fn keys(self) -> impl Iterator<Item = &'t str> {
        strings(self.json, "keys")
    }

    pub(crate) fn has_keys(self) -> bool {
        self.keys().next().is_some()
    }
}

impl<'t> MapType<'t> {
    pub(crate) fn fields(self) -> &'t [Value] {
        items(self.json, "fields")
    }

    pub(crate) fn field(self, name: &str) -> Option<&'t Value> {
        self.fields()
            .iter()
            .find(|field| text(field, "name") == name)
    }

    /// The type of other fields than the declared ones.
    pub(crate) fn element(self) -> Option<&'t Value> {
        self.json.get("elementType")
    }

    pub(crate) fn is_atomic(self) -> bool {
        self.relation == "atomic"
    }

    /// The type of the value at a key, if the key is allowed.
    pub(crate) fn type_of(self, key: &str) -> Option<&'t Value> {
        self.field(key)
            .map(|field| member(field, "type"))
            .or(self.element())
    }
}

/// A reference to a type by its name.
pub(crate) fn named(name: &str) -> Value {
    json!({"namedType": name})
}

impl Types {
    pub(crate) fn root_ref(&self) -> Value {
        named(&self.root)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Value> {
        self.definitions
            .iter()
            .find(|definition| text(definition, "name") == name)
    }

    /// The atom of a reference, with the override of the reference applied to its map or else to its list, as in the
    /// reference implementation.
    pub(crate) fn resolve<'t>(&'t self, reference: &'t Value) -> Atom<'t> {
        let atom = match reference.get("namedType").and_then(Value::as_str) {
            Some(name) => self.find(name).unwrap_or(&Value::Null),
            None => reference,
        };
        let given = text(reference, "elementRelationship");
        // A reference can override the relationship of its type; where the type allows both, it is that of the map.
        let relation = |json: &'t Value, overrides: bool| match given {
            given if overrides && !given.is_empty() => given,
            _ => text(json, "elementRelationship"),
        };
        let map = atom.get("map");
        let list = atom.get("list");

        Atom {
            scalar: atom.get("scalar").and_then(Value::as_str),
            list: list.map(|json| ListType {
                json,
                relation: relation(json, map.is_none()),
            }),
            map: map.map(|json| MapType {
                json,
                relation: relation(json, true),
            }),
        }
    }

    /// Whether a list can be associative: its items must be scalars, or must have keys.
    pub(crate) fn can_associate(&self, list: &Value) -> bool {
        let element = self.resolve(member(list, "elementType"));
        let is_scalar = element.scalar.is_some() && element.list.is_none() && element.map.is_none();
        is_scalar || !items(list, "keys").is_empty()
    }

    /// The definitions as the members of a schema's `types`, with the names of the types and fields at one version.
    pub(crate) fn write(&self, suffix: &str, names: &Names) -> Vec<Value> {
        let renamed = |name: &str| names.get(name).map_or(name, String::as_str).to_owned();
        let write = |node: &mut Value| {
            if let Some(reference) = node.get("namedType").and_then(Value::as_str) {
                let name = type_name(reference, suffix);
                set(node, "namedType", name);
            }
            // Types have names as fields have; only a field has a `type` beside it.
            if let Some(name) = node.get("name").and_then(Value::as_str) {
                let is_field = node.get("type").is_some();
                let name = if is_field {
                    renamed(name)
                } else {
                    type_name(name, suffix)
                };
                set(node, "name", name);
            }

            // Keys are names of fields, so they are renamed with them.
            if node.get("keys").is_some() {
                let keys: Vec<String> = strings(node, "keys").map(renamed).collect();
                set(node, "keys", keys);
            }
        };

        let definitions = self.definitions.iter();
        definitions
            .map(|definition| with_each(definition, write))
            .collect()
    }
}

/// The name of a type at a version; the deduced types have one name at all versions.
pub(crate) fn type_name(name: &str, suffix: &str) -> String {
    if name == DEDUCED || name == ATOMIC {
        name.to_owned()
    } else {
        format!("{name}{suffix}")
    }
}
