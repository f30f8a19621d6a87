//! Changes of maps and lists.

use fieldmanager_value::{Str, Value};

/// A map with a field set, or removed if the value is `None`. A value of another kind is returned unchanged.
pub(super) fn set(object: &Value, field: &str, value: Option<Value>) -> Value {
    match object {
        Value::Map(fields) => Value::Map(fields.with_edits(vec![(field.into(), value)])),
        other => other.clone(),
    }
}

/// A map with a field replaced by a function of its value, if it has the field.
pub(super) fn edit(object: &Value, field: &str, change: impl FnOnce(&Value) -> Value) -> Value {
    match object.get(field) {
        Some(value) if !value.is_null() => {
            let changed = change(value);
            if changed.ptr_eq(value) {
                object.clone()
            } else {
                set(object, field, Some(changed))
            }
        }
        _ => object.clone(),
    }
}

/// A list with every item replaced. A value of another kind is returned unchanged.
pub(super) fn each(list: &Value, mut change: impl FnMut(&Value) -> Value) -> Value {
    let Value::List(items) = list else {
        return list.clone();
    };
    let changed: Vec<Value> = items.iter().map(&mut change).collect();
    if changed.iter().zip(items).all(|(new, old)| new.ptr_eq(old)) {
        list.clone()
    } else {
        Value::from(changed)
    }
}

/// A map of the fields that are present, from another map under other names.
pub(super) fn renamed(object: &Value, names: &[(&str, &str)]) -> Value {
    let field = |(old, new): &(&str, &str)| Some((Str::from(*new), object.get(old)?.clone()));
    Value::Map(names.iter().filter_map(field).collect())
}
