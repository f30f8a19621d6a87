//! Paths of values.

use fieldmanager_fieldpath::{Path, PathElement};
use fieldmanager_value::Value;

/// The value at a path: in field-path notation such as `.spec.ports[name="web"].port`, or, for names with dots, a JSON
/// pointer such as `/metadata/annotations/example.com~1note`. The empty path and `.` are the value itself.
///
/// # Errors
///
/// A message if the path is neither.
pub fn find<'v>(value: &'v Value, path: &str) -> Result<Option<&'v Value>, String> {
    if matches!(path, "" | ".") {
        return Ok(Some(value));
    }
    if let Some(pointer) = path.strip_prefix('/') {
        let mut parts = pointer
            .split('/')
            .map(|part| part.replace("~1", "/").replace("~0", "~"));
        return Ok(parts.try_fold(value, |value, part| match value {
            Value::List(list) => list.get(part.parse::<usize>().ok()?),
            other => other.get(&part),
        }));
    }

    let parsed: Path = path.parse().map_err(|error| {
        format!("`{path}` is not a path: {error}; expected one such as .spec.replicas, or a JSON pointer")
    })?;
    Ok(find_path(value, &parsed))
}

/// The value at a path, whose names may have dots.
pub fn find_path<'v>(value: &'v Value, path: &Path) -> Option<&'v Value> {
    path.iter().try_fold(value, child)
}

fn child<'v>(value: &'v Value, element: &PathElement) -> Option<&'v Value> {
    match element {
        PathElement::Field(name) => value.get(name),
        PathElement::Index(index) => value.as_list()?.get(usize::try_from(*index).ok()?),
        PathElement::Value(wanted) => value.as_list()?.iter().find(|item| *item == wanted),
        PathElement::Key(key) => {
            let fits = |item: &&Value| {
                key.iter()
                    .all(|(name, wanted)| item.get(name) == Some(wanted))
            };
            value.as_list()?.iter().find(fits)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_find_fields_items_and_names_with_dots() {
        let value = Value::from_yaml(
            "{spec: {ports: [{name: web, port: 80}], tags: [a]}, metadata: {annotations: {example.com/x: z}}}",
        )
        .unwrap();
        let found = |path: &str| find(&value, path).unwrap().map(Value::to_json);
        assert_eq!(
            found(r#".spec.ports[name="web"].port"#).as_deref(),
            Some("80")
        );
        assert_eq!(found(".spec.ports[0].port").as_deref(), Some("80"));
        assert_eq!(found(r#".spec.tags[="a"]"#).as_deref(), Some("\"a\""));
        assert_eq!(
            found("/metadata/annotations/example.com~1x").as_deref(),
            Some("\"z\"")
        );
        assert_eq!(found(".spec.none"), None);
        assert!(find(&value, ".spec..x").is_err());
    }
}
