//! The tables of checks.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::internal::embedded;
use fieldmanager_value::{Str, Value};

use super::check::Check;
use super::operation::Operation;
use crate::table::{entries, items};

const DOCUMENTS: &[&str] = &[
    include_str!("../data/validation/access.yaml"),
    include_str!("../data/validation/config.yaml"),
    include_str!("../data/validation/network.yaml"),
    include_str!("../data/validation/pods.yaml"),
    include_str!("../data/validation/storage.yaml"),
    include_str!("../data/validation/workloads.yaml"),
];

pub(super) fn table() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(|| embedded("validation", Table::read(DOCUMENTS)));
    &TABLE
}

#[derive(Debug, Default)]
pub(super) struct Table {
    /// The syntax of names by kind.
    names: BTreeMap<Str, Str>,
    kinds: BTreeMap<Str, Vec<Check>>,
    types: BTreeMap<Str, Vec<Check>>,
}

impl Table {
    /// Reads the documents of a table.
    ///
    /// # Errors
    ///
    /// The fault of a document.
    fn read(documents: &[&str]) -> Result<Table, String> {
        let mut out = Table::default();
        for text in documents {
            let document = Value::from_yaml(text).map_err(|error| error.to_string())?;
            for (syntax, kinds) in entries(document.get("names")) {
                for kind in items(Some(&kinds)) {
                    out.names.insert(kind.as_str().unwrap_or_default().into(), syntax.clone());
                }
            }
            for (section, checks_by_name) in [("kinds", &mut out.kinds), ("types", &mut out.types)] {
                for (name, checks) in entries(document.get(section)) {
                    let checks = items(Some(&checks)).iter().map(Check::read).collect::<Result<_, _>>();
                    let checks = checks.map_err(|error| format!("{name}: {error}"))?;
                    if checks_by_name.insert(name.clone(), checks).is_some() {
                        return Err(format!("{name}: two documents have its checks"));
                    }
                }
            }
        }
        let applied = out.kinds.values().chain(out.types.values()).flatten().filter_map(Check::applied);
        if let Some(unknown) = applied.into_iter().find(|name| !out.types.contains_key(*name)) {
            return Err(format!("apply: {unknown} is not a type of the table"));
        }
        Ok(out)
    }

    pub(super) fn name_syntax(&self, kind: &str) -> Option<&str> {
        self.names.get(kind).map(Str::as_str)
    }

    /// Runs the checks of a kind on an object.
    pub(super) fn run_kind(
        &self,
        kind: &str,
        object: &Value,
        operation: Operation<'_>,
        errors: &mut Vec<FieldError>,
    ) {
        for check in self.kinds.get(kind).into_iter().flatten() {
            self.run(check, &FieldPath::empty(), object, operation, errors);
        }
    }

    fn run(
        &self,
        check: &Check,
        path: &FieldPath,
        value: &Value,
        operation: Operation<'_>,
        errors: &mut Vec<FieldError>,
    ) {
        let apply =
            |name: &str, path: &FieldPath, value: &Value, operation: Operation<'_>, errors: &mut _| {
                for check in self.types.get(name).into_iter().flatten() {
                    self.run(check, path, value, operation, errors);
                }
            };
        check.run(&apply, path, value, operation, errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_with_unknown_members_types_and_functions_are_refused() {
        Table::read(DOCUMENTS).unwrap();
        for refused in ["{at: a}", "{at: a, foo: 1}", "{at: a, apply: Foo}", "{at: a, call: foo}"] {
            assert!(Table::read(&[&format!("{{kinds: {{v1/A: [{refused}]}}}}")]).is_err(), "{refused}");
        }
    }
}
