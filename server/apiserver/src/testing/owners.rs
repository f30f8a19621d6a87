//! Assertions on the owners of fields.

use fieldmanager_fieldpath::Path;
use fieldmanager_managedfields::{Entry, ManagedFields};
use fieldmanager_value::Value;
use serde::Serialize;

use crate::object::{metadata, text};

/// The number of paths that a message lists for one manager.
const LISTED: usize = 20;

/// Fails unless a manager owns a field of an object, or a field below it.
///
/// The object is anything that serializes as one: a `serde_json::Value`, a `Value`, a typed object. The path is in
/// field-path notation, such as `.spec.replicas` or `.spec.ports[port=80,protocol="TCP"]`.
///
/// ```
/// use fieldmanager_apiserver::{assert_not_owned, assert_owned};
/// use serde_json::json;
/// let object = json!({"metadata": {"managedFields": [
///     {"manager": "alice", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
///      "fieldsV1": {"f:spec": {"f:replicas": {}}}},
/// ]}});
/// assert_owned!(object, "alice", ".spec.replicas");
/// assert_not_owned!(object, "bob", ".spec");
/// ```
///
/// # Panics
///
/// With the owners of the path, and what the manager owns instead.
#[macro_export]
macro_rules! assert_owned {
    ($object:expr, $manager:expr, $path:expr $(,)?) => {
        if let Err(message) = $crate::testing::check_owned(&$object, $manager, $path) {
            panic!("{message}");
        }
    };
}

/// Fails if a manager owns a field of an object, or a field below it. The reverse of [`assert_owned`](crate::assert_owned!).
///
/// # Panics
///
/// With the owners of the path.
#[macro_export]
macro_rules! assert_not_owned {
    ($object:expr, $manager:expr, $path:expr $(,)?) => {
        if let Err(message) = $crate::testing::check_not_owned(&$object, $manager, $path) {
            panic!("{message}");
        }
    };
}

/// An object with its owners, and the path that a test asks for.
struct Asked {
    object: Value,
    entries: Vec<Entry>,
    path: Path,
}

/// Whether a manager owns a path. The error is a message.
///
/// # Errors
///
/// The message of [`assert_owned`](crate::assert_owned!).
pub fn check_owned(object: &impl Serialize, manager: &str, path: &str) -> Result<(), String> {
    let asked = Asked::new(object, path)?;
    if asked
        .owners()
        .any(|(entry, _)| entry.manager.as_str() == manager)
    {
        return Ok(());
    }

    let own = asked
        .entries
        .iter()
        .filter(|entry| entry.manager.as_str() == manager);
    let own: Vec<String> = own
        .map(|entry| {
            format!(
                "\n  {manager} ({}) owns {}",
                entry.operation,
                listed(entry.fields.paths())
            )
        })
        .collect();

    let own = if own.is_empty() {
        format!("\n  {manager} owns nothing")
    } else {
        own.concat()
    };
    Err(format!(
        "{manager:?} does not own {path} of {}{}{own}",
        asked.name(),
        asked.described()
    ))
}

/// Whether a manager does not own a path. The error is a message.
///
/// # Errors
///
/// The message of [`assert_not_owned`](crate::assert_not_owned!).
pub fn check_not_owned(object: &impl Serialize, manager: &str, path: &str) -> Result<(), String> {
    let asked = Asked::new(object, path)?;
    if asked
        .owners()
        .any(|(entry, _)| entry.manager.as_str() == manager)
    {
        Err(format!(
            "{manager:?} owns {path} of {}{}",
            asked.name(),
            asked.described()
        ))
    } else {
        Ok(())
    }
}

impl Asked {
    fn new(object: &impl Serialize, path: &str) -> Result<Self, String> {
        let object = serde_json::to_string(object).map_err(|error| error.to_string())?;
        let object = Value::from_json(&object).map_err(|error| error.to_string())?;
        let entries = ManagedFields::decode(metadata(&object, "managedFields"));
        let entries = entries.map_err(|error| error.to_string())?.entries();
        let path = path.parse().map_err(|error| format!("{path}: {error}"))?;
        Ok(Asked {
            object,
            entries,
            path,
        })
    }

    /// The entries that own the path or one below it, with what they own there.
    fn owners(&self) -> impl Iterator<Item = (&Entry, Vec<Path>)> {
        self.entries.iter().filter_map(|entry| {
            let below = entry
                .fields
                .paths()
                .filter(|own| own.starts_with(&self.path));
            let below: Vec<Path> = below.collect();
            (!below.is_empty()).then_some((entry, below))
        })
    }

    /// The kind and the name of the object.
    fn name(&self) -> String {
        let of = |path: &[&str]| text(&self.object, path).to_owned();
        let name = [of(&["metadata", "namespace"]), of(&["metadata", "name"])];
        let name: Vec<String> = name.into_iter().filter(|part| !part.is_empty()).collect();
        let kind = match of(&["kind"]) {
            kind if kind.is_empty() => "the object".to_owned(),
            kind => kind,
        };
        format!("{kind} {}", name.join("/")).trim_end().to_owned()
    }

    /// A line for each owner of the path.
    fn described(&self) -> String {
        let lines: Vec<String> = self
            .owners()
            .map(|(entry, below)| {
                format!(
                    "\n  {} ({}) owns {}",
                    entry.manager,
                    entry.operation,
                    listed(below.into_iter())
                )
            })
            .collect();

        if lines.is_empty() {
            "\n  no manager owns it".to_owned()
        } else {
            lines.concat()
        }
    }
}

fn listed(paths: impl Iterator<Item = Path>) -> String {
    let mut paths: Vec<String> = paths.map(|path| path.to_string()).collect();
    let more = paths.len().saturating_sub(LISTED);
    paths.truncate(LISTED);
    let paths = paths.join(" ");
    if more == 0 {
        paths
    } else {
        format!("{paths} and {more} more")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn object() -> Json {
        let entry = |manager: &str, fields: Json| json!({"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields});
        json!({"kind": "Shop", "metadata": {"namespace": "default", "name": "a", "managedFields": [
            entry("alice", json!({"f:spec": {"f:color": {}}})),
            entry("bob", json!({"f:spec": {"f:size": {}, "f:ports": {"k:{\"port\":80}": {".": {}, "f:name": {}}}}})),
        ]}})
    }

    #[test]
    fn the_owners_of_a_path_are_those_of_it_and_of_paths_below_it() {
        for path in [
            ".spec.size",
            ".spec",
            ".spec.ports",
            ".spec.ports[port=80]",
            ".spec.ports[port=80].name",
        ] {
            assert_eq!(check_owned(&object(), "bob", path), Ok(()), "{path}");
        }
        assert_eq!(check_not_owned(&object(), "bob", ".spec.color"), Ok(()));
        assert_eq!(check_not_owned(&object(), "bob", ".spec.s"), Ok(()));
    }

    #[test]
    fn messages_name_the_owners_of_the_path() {
        assert_eq!(
            check_owned(&object(), "alice", ".spec.size").unwrap_err(),
            "\"alice\" does not own .spec.size of Shop default/a\n  bob (Apply) owns .spec.size\n  alice (Apply) owns .spec.color"
        );
        assert_eq!(
            check_owned(&object(), "carol", ".status").unwrap_err(),
            "\"carol\" does not own .status of Shop default/a\n  no manager owns it\n  carol owns nothing"
        );
        assert_eq!(
            check_not_owned(&object(), "alice", ".spec.color").unwrap_err(),
            "\"alice\" owns .spec.color of Shop default/a\n  alice (Apply) owns .spec.color"
        );
        assert!(
            check_owned(&object(), "alice", ".spec[")
                .unwrap_err()
                .starts_with(".spec[: ")
        );
    }
}
