//! Columns of custom resources.

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::internal::go_format::write_float;
use fieldmanager_value::internal::write_json;
use fieldmanager_value::{Str, Value};
use jiff::Timestamp;

use super::json_path::JsonPath;
use super::object::Object;
use crate::facts::{self, Column};

/// How a cell of a custom resource is made.
#[derive(Clone, Debug)]
pub(super) struct CustomColumn {
    path: JsonPath,
    kind: Str,
}

/// The columns with their definitions, the name first. Columns behind one whose path is invalid are left out.
pub(super) fn columns<'c>(
    columns: impl IntoIterator<Item = &'c Value>,
) -> (Vec<Column>, Vec<CustomColumn>) {
    // The name and the age have the descriptions of built-in kinds. ServiceAccount has just these two columns.
    let standard = facts::columns(&GroupVersionKind::new("", "v1", "ServiceAccount"));
    let mut definitions: Vec<Column> = standard.first().cloned().into_iter().collect();
    let mut cells = Vec::new();
    for column in columns {
        let text = |name: &str| column.get(name).and_then(Value::as_str).unwrap_or_default();
        let path = text("jsonPath");
        let Some(parsed) = JsonPath::parse(path) else {
            break;
        };
        let description = match text("description") {
            "" => format!("Custom resource definition column (in JSONPath format): {path}"),
            description => description.to_owned(),
        };
        let priority = column
            .get("priority")
            .and_then(Value::as_i64)
            .unwrap_or_default();

        definitions.push(Column {
            name: text("name").into(),
            kind: text("type").into(),
            format: text("format").into(),
            description: description.into(),
            priority: i32::try_from(priority).unwrap_or_default(),
        });
        cells.push(CustomColumn {
            path: parsed,
            kind: text("type").into(),
        });
    }

    // A definition without columns gets the age, as most kinds have it.
    if definitions.len() == 1
        && let Some(age) = standard.last().cloned()
        && let Some(path) = JsonPath::parse(".metadata.creationTimestamp")
    {
        definitions.push(Column {
            kind: "date".into(),
            ..age
        });
        cells.push(CustomColumn {
            path,
            kind: "date".into(),
        });
    }

    (definitions, cells)
}

impl CustomColumn {
    pub(super) fn cell(&self, object: &Object<'_>) -> Value {
        let Some(value) = self.path.first(object.value()) else {
            return Value::Null;
        };
        match (self.kind.as_str(), value) {
            ("string", value) => printed(value).into(),
            ("integer", Value::Int(_))
            | ("number", Value::Float(_))
            | ("boolean", Value::Bool(_)) => value.clone(),
            #[expect(clippy::cast_possible_truncation, reason = "the fraction is cut off")]
            ("integer", Value::Float(number)) => Value::Int(*number as i64),
            #[expect(clippy::cast_precision_loss, reason = "a float has the nearest number")]
            ("number", Value::Int(number)) => Value::Float(*number as f64),
            ("date", Value::String(text)) => match text.parse::<Timestamp>() {
                Ok(time) => object.elapsed(time).into(),
                Err(_) if text.is_empty() || text.as_str() == "null" => "<unknown>".into(),
                Err(_) => "<invalid>".into(),
            },
            _ => Value::Null,
        }
    }
}

/// A value of any type in a column of strings.
fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::String(text) => text.as_str().to_owned(),
        Value::Float(number) => {
            let mut out = String::new();
            let _ = write_float(&mut out, *number);
            out
        }
        other => {
            let mut out = String::new();
            write_json(other, &mut out, fieldmanager_value::internal::Escape::Html);
            out
        }
    }
}
