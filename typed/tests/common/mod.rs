//! What the tests of typed values share: one schema, and short ways to write values, paths and sets.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its own table must fail")]
#![allow(dead_code, reason = "every test file uses a part")]

use fieldmanager_fieldpath::{Path, Set};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::Value;

/// The schema of the tests. It is the same in memory every time, as it is for objects of one server.
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

/// An object as the server holds it: duplicates are accepted.
pub(crate) fn live(yaml: &str) -> TypedValue {
    TypedValue::new(value(yaml), root(), Duplicates::Allow).unwrap_or_else(|error| panic!("{error}: {yaml}"))
}

/// The paths of a set in one line, in the order of the set.
pub(crate) fn paths(set: &Set) -> String {
    set.paths().map(|path| path.to_string()).collect::<Vec<_>>().join(" ")
}

/// The set of the paths in one line.
pub(crate) fn set(paths: &str) -> Set {
    paths.split_whitespace().map(|path| path.parse::<Path>().unwrap()).collect()
}
