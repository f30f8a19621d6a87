//! Shared test fixtures: a schema, and helpers to write values, paths and sets.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot read its own table must fail"
)]

use fieldmanager_fieldpath::{Path, Set};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::Value;

/// The test schema. All calls return the same allocation, as for the objects of one server.
pub(crate) fn schema() -> Schema {
    static SCHEMA: std::sync::LazyLock<Schema> =
        std::sync::LazyLock::new(|| Schema::from_yaml(include_str!("schema.yaml")).unwrap());
    SCHEMA.clone()
}

pub(crate) fn root() -> Type {
    schema().type_named("root").unwrap()
}

pub(crate) fn value(yaml: &str) -> Value {
    Value::from_yaml(yaml).unwrap_or_else(|error| panic!("{error}: {yaml}"))
}

/// A live object, which may contain duplicates.
pub(crate) fn live(yaml: &str) -> TypedValue {
    TypedValue::new(value(yaml), root(), Duplicates::Allow)
        .unwrap_or_else(|error| panic!("{error}: {yaml}"))
}

/// The paths of a set on one line, in the order of the set.
pub(crate) fn paths(set: &Set) -> String {
    set.paths()
        .map(|path| path.to_string())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Parses a set from paths separated by spaces.
pub(crate) fn set(paths: &str) -> Set {
    paths
        .split_whitespace()
        .map(|path| path.parse::<Path>().unwrap())
        .collect()
}
