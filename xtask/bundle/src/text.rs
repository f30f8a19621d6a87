//! Serializes a bundle.

use fieldmanager_openapi::Types;
use fieldmanager_openapi::internal::types_document;
use fieldmanager_value::{Map, Value};

/// JSON with one line per kind and per type, so that a change of a type changes its line.
pub(crate) fn write(types: &Types) -> String {
    let document = types_document(types);
    let mut out = String::from("{");
    for (i, name) in ["kinds", "types"].into_iter().enumerate() {
        let items = document
            .get(name)
            .and_then(Value::as_list)
            .into_iter()
            .flatten();
        let lines: Vec<String> = items.map(line).collect();
        let comma = if i == 0 { "" } else { "," };
        out.push_str(&format!("{comma}\n\"{name}\":[\n{}\n]", lines.join(",\n")));
    }
    out.push_str("\n}\n");

    out
}

/// An item with its name first, so that a diff shows which item a line belongs to.
fn line(item: &Value) -> String {
    let (Value::Map(map), Some(name)) = (item, item.get("name")) else {
        return item.to_json();
    };
    let mut rest = map.clone();
    rest.remove("name");
    let rest = Value::Map(rest).to_json();
    format!(
        "{{\"name\":{},{}",
        name.to_json(),
        rest.strip_prefix('{').unwrap_or(&rest)
    )
}

/// The merge strategies, with one line per kind and per type.
pub(crate) fn write_patches<'v>(kinds: impl Iterator<Item = &'v Value>, types: &Map) -> String {
    let kinds: Vec<String> = kinds.map(Value::to_json).collect();
    let types: Vec<String> = types
        .iter()
        .map(|(name, fields)| {
            format!(
                "{}:{}",
                Value::from(name.as_str()).to_json(),
                fields.to_json()
            )
        })
        .collect();

    format!(
        "{{\n\"kinds\":[\n{}\n],\n\"types\":{{\n{}\n}}\n}}\n",
        kinds.join(",\n"),
        types.join(",\n")
    )
}
