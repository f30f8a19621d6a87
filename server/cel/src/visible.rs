//! What expressions see of a schema.

use fieldmanager_structural::Structural;
use fieldmanager_value::internal::level;
use fieldmanager_value::{Map, Str, Value};

/// The schema by which the values of an object are read: a schema of resources declares `apiVersion`, `kind` and the names
/// in `metadata`, and so do schemas of embedded resources.
///
/// ```
/// use fieldmanager_cel::internal::with_metadata;
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let schema = Structural::from_value(&Value::from_yaml("{type: object}")?)?;
/// assert!(with_metadata(&schema, true).properties.get("kind").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_metadata(schema: &Structural, is_resource: bool) -> Structural {
    let edited = declare_metadata(&schema.to_value(), is_resource);
    Structural::from_value(&edited).unwrap_or_else(|_| schema.clone())
}

/// The same for a schema that is not read yet.
pub fn declare_metadata(schema: &Value, is_root: bool) -> Value {
    level(|| {
        let Value::Map(map) = schema else {
            return schema.clone();
        };
        let is_resource =
            is_root || map.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
        let mut edits: Vec<(Str, Option<Value>)> = Vec::new();

        for name in ["additionalProperties", "items"] {
            if let Some(inner @ Value::Map(_)) = map.get(name) {
                edits.push((name.into(), Some(declare_metadata(inner, false))));
            }
        }

        let properties = map.get("properties").and_then(Value::as_map);
        let mut inner: Map = match properties {
            Some(properties) => properties
                .iter()
                .map(|(name, value)| (name.clone(), declare_metadata(value, false)))
                .collect(),
            None => Map::new(),
        };

        // Rules may use `apiVersion`, `kind` and the names of a resource, which a schema need not declare.
        if is_resource && !properties.is_some_and(declares_meta) {
            let string = Value::Map(Map::single("type", "string"));
            for name in ["apiVersion", "kind"] {
                inner.insert(name, string.clone());
            }
            let declared = properties
                .and_then(|all| all.get("metadata"))
                .and_then(|metadata| metadata.get("properties"));
            let mut names = Map::new();

            // A generated suffix has at least one byte.
            for (name, most) in [("name", 253), ("generateName", 252)] {
                let own = declared.and_then(|all| all.get(name)?.get("maxLength")?.as_i64());
                let mut bounded = Map::single("type", "string");
                bounded.insert("maxLength", own.map_or(most, |own| own.min(most)));
                names.insert(name, Value::Map(bounded));
            }

            let mut metadata = Map::single("type", "object");
            metadata.insert("properties", Value::Map(names));
            inner.insert("metadata", Value::Map(metadata));
        }

        if !inner.is_empty() {
            edits.push(("properties".into(), Some(Value::Map(inner))));
        }
        edits.sort_by(|a, b| a.0.cmp(&b.0));
        Value::Map(map.with_edits(edits))
    })
}

fn declares_meta(properties: &Map) -> bool {
    let is = |value: Option<&Value>, name: &str| {
        value
            .and_then(|value| value.get("type"))
            .and_then(Value::as_str)
            == Some(name)
    };
    let metadata = properties.get("metadata");
    let names = metadata.and_then(|metadata| metadata.get("properties"));

    is(properties.get("kind"), "string")
        && is(properties.get("apiVersion"), "string")
        && is(metadata, "object")
        && ["name", "generateName"]
            .iter()
            .all(|name| is(names.and_then(|names| names.get(name)), "string"))
}

/// Whether CEL has a type for a schema. The API server ignores the rules of others.
///
/// ```
/// use fieldmanager_cel::internal::is_exposed;
/// use fieldmanager_structural::Structural;
/// assert!(!is_exposed(&Structural::default()));
/// ```
pub fn is_exposed(schema: &Structural) -> bool {
    level(|| match schema.generic.type_name.as_str() {
        _ if schema.extensions.int_or_string => true,
        "array" => schema.items.as_ref().is_some_and(is_exposed),
        "object" => match schema
            .additional_properties
            .as_ref()
            .and_then(|all| all.schema())
        {
            Some(inner) => is_exposed(inner),
            None => true,
        },
        "string" | "boolean" | "number" | "integer" => true,
        _ => false,
    })
}
