//! The memory of values.

use fieldmanager_value::Value;
use fieldmanager_value::internal::level;

/// The memory of an allocation beside its content, in bytes.
const HEADER: usize = 24;
/// The length of strings that need no allocation, in bytes.
const INLINE: usize = 14;

/// Estimates the memory of a value that another one does not share, in bytes.
pub(crate) fn unshared_bytes(old: &Value, new: Option<&Value>) -> usize {
    if new.is_some_and(|new| new.ptr_eq(old)) {
        return 0;
    }
    // Values nest deeply, so lists and maps are walked by levels, which bound the stack.
    match old {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 0,
        Value::String(text) if text.len() <= INLINE => 0,
        Value::String(text) => HEADER + text.len(),
        Value::List(items) => {
            let new = new.and_then(Value::as_list);
            let items = level(|| {
                items
                    .iter()
                    .enumerate()
                    .map(|(at, item)| unshared_bytes(item, new.and_then(|new| new.get(at))))
                    .fold(0, usize::saturating_add)
            });

            items.saturating_add(
                HEADER + old.as_list().map_or(0, |list| list.len()) * size_of::<Value>(),
            )
        }
        Value::Map(fields) => {
            let new = new.and_then(Value::as_map);
            let values = level(|| {
                fields
                    .iter()
                    .map(|(name, value)| {
                        let new = new.and_then(|new| new.get_entry(name));
                        let is_shared = new.is_some_and(|(new, _)| new.ptr_eq(name));
                        let name = if is_shared || name.len() <= INLINE {
                            0
                        } else {
                            HEADER + name.len()
                        };
                        unshared_bytes(value, new.map(|(_, new)| new)).saturating_add(name)
                    })
                    .fold(0, usize::saturating_add)
            });

            values.saturating_add(HEADER + fields.len() * (size_of::<Value>() + size_of::<usize>()))
        }
    }
}
