//! Faults of definitions.

use std::fmt;

/// One fault of an OpenAPI definition.
///
/// ```
/// use fieldmanager_openapi::Importer;
/// use fieldmanager_value::Value;
/// let document = Value::from_yaml("
/// definitions:
///   shop: {type: object, properties: {owner: {type: text}}}
/// ")?;
/// let error = Importer::new().document(&document).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "definition `shop`: .properties.owner.type: unrecognized type `text`: \
///      array, boolean, integer, number, object and string are accepted",
/// );
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The name of the definition; empty if the fault is not in a definition.
    pub definition: String,
    /// The path in the definition, in field-path notation; empty for the definition itself.
    pub path: String,
    /// The fault and the accepted form.
    pub message: String,
}

impl Fault {
    /// Converts a fault of the converted type to a path in its definition.
    pub(super) fn from_schema(fault: &fieldmanager_schema::Fault) -> Self {
        let definition = fault.type_name.clone().unwrap_or_default();
        Fault {
            path: path_in_definition(&fault.path),
            definition,
            message: fault.message.clone(),
        }
    }
}

/// Maps a path in a schema file, `.types[name="a"].map.fields[name="b"].type.list.keys`, to the path in the
/// definition, `.properties.b.x-kubernetes-list-map-keys`.
fn path_in_definition(path: &str) -> String {
    let mut rest = path;
    // The fault names the definition, so the path starts below it.
    if rest.starts_with(".types[name=")
        && let Some(end) = rest.find("\"]")
    {
        rest = rest.get(end + 2..).unwrap_or_default();
    }

    let mut out = String::new();
    while let Some(first) = rest.chars().next() {
        // Longer prefixes come first, because the first that fits is taken.
        let known = [
            (".list.keys", ".x-kubernetes-list-map-keys"),
            (".list.elementType", ".items"),
            (".map.elementType", ".additionalProperties"),
            (".list", ""),
            (".map.unions", ".x-kubernetes-unions"),
            (".map", ""),
            (".type", ""),
        ];

        if let Some((prefix, place)) = known.iter().find(|(prefix, _)| rest.starts_with(prefix)) {
            out.push_str(place);
            rest = rest.get(prefix.len()..).unwrap_or_default();
        } else if let Some(named) = rest.strip_prefix(".fields[name=\"")
            && let Some((name, after)) = named.split_once("\"]")
        {
            out.push_str(".properties.");
            out.push_str(name);
            rest = after;
        } else {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }

    out
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.definition.is_empty() {
            write!(f, "definition `{}`: ", self.definition)?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::path_in_definition;

    #[test]
    fn schema_paths_are_mapped_to_definition_paths() {
        let cases = [
            (".types[name=\"a.b\"]", ""),
            (
                ".types[name=\"a\"].map.fields[name=\"b\"].type.list.keys",
                ".properties.b.x-kubernetes-list-map-keys",
            ),
            (
                ".types[name=\"a\"].map.elementType.list.elementType.map.fields[name=\"type\"].type",
                ".additionalProperties.items.properties.type",
            ),
            (
                ".types[name=\"a\"].map.unions[0].fields[fieldName=\"b\"]",
                ".x-kubernetes-unions[0].fields[fieldName=\"b\"]",
            ),
        ];
        for (path, place) in cases {
            assert_eq!(path_in_definition(path), place, "{path}");
        }
    }
}
