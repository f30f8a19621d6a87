//! A Kubernetes object as lines of YAML, each with the managers that own it.
//!
//! ```
//! use fieldmanager_managedfields::Entry;
//! use fieldmanager_value::Value;
//! let object = Value::from_yaml("{kind: ConfigMap, data: {color: red}}")?;
//! let entry = "{manager: ci, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:data: {f:color: {}}}}";
//! let entries = [Entry::from_value(0, &Value::from_yaml(entry)?)?];
//! let lines = fieldmanager_blame::lines(&object, &entries, None);
//! let color = lines.iter().find(|line| line.text() == "  color: red").unwrap();
//! assert_eq!((color.path.as_str(), color.owners.as_slice()), (".data.color", [0].as_slice()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod html;
mod line;
mod owned;
mod palette;
mod text;
mod yaml;

use fieldmanager_fieldpath::Set;
use fieldmanager_managedfields::Entry;
use fieldmanager_schema::Type;
use fieldmanager_value::Value;

pub use line::Line;
pub use palette::{COLOURS, Palette};
pub use text::{age, mark, printable, printable_line, shown_name};

/// The lines of an object without its managed fields. The owners of a line are indices of entries. The type determines
/// which values are atomic and how items are identified; without a type, the paths of the managed fields determine it.
pub fn lines(object: &Value, entries: &[Entry], ty: Option<&Type>) -> Vec<Line> {
    let sets: Vec<Set> = entries
        .iter()
        .map(|entry| {
            // A field may have changed from granular to atomic, or the reverse, since the entry was written.
            let now = ty.and_then(|ty| fieldmanager_typed::internal::reconcile(&entry.fields, ty));
            now.unwrap_or_else(|| entry.fields.clone())
        })
        .collect();
    yaml::lines(&without_entries(object), ty, &sets)
}

fn without_entries(object: &Value) -> Value {
    let (Value::Map(fields), Some(Value::Map(metadata))) = (object, object.get("metadata")) else {
        return object.clone();
    };
    let metadata = metadata.with_edits(vec![("managedFields".into(), None)]);
    Value::Map(fields.with_edits(vec![("metadata".into(), Some(Value::Map(metadata)))]))
}
