//! Suppresses writes that would change only the times of entries.

use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::{List, Map, Str, Value};

use crate::object::{MANAGED_FIELDS, with_list};
use crate::time::Time;

/// The new object, with the times of the old entries if nothing but these times changed. An API server calls this before it
/// stores an object, so that a write without changes creates no new resource version.
///
/// Behaviour: `IgnoreManagedFieldsTimestampsTransformer` of `k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager`
/// for custom resources: a null, empty or absent value differs from the other two.
///
/// ```
/// use fieldmanager_managedfields::ignore_timestamp_only_changes;
/// use fieldmanager_value::Value;
/// let object = |time, data| Value::from_json(&format!(
///     r#"{{"data":"{data}","metadata":{{"managedFields":[{{"manager":"ci","time":"2026-01-31T{time}:00:00Z"}}]}}}}"#
/// ));
/// assert_eq!(ignore_timestamp_only_changes(&object(12, "a")?, &object(13, "a")?), object(12, "a")?);
/// assert_eq!(ignore_timestamp_only_changes(&object(12, "a")?, &object(13, "b")?), object(13, "b")?);
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[must_use]
pub fn ignore_timestamp_only_changes(old: &Value, new: &Value) -> Value {
    let (Some(Value::List(before)), Some(Value::List(after))) =
        (old.managed_fields(), new.managed_fields())
    else {
        return new.clone();
    };
    let (Some(before_entries), Some(after_entries)) = (entries(before), entries(after)) else {
        return new.clone();
    };

    // A write that changes times only has no effect, so the old times are kept and nothing has to be stored.
    let pairs = || before_entries.iter().zip(&after_entries);
    let suppress = before.len() == after.len()
        && pairs().any(|(before, after)| time(before) != time(after))
        && pairs().all(|(before, after)| without(before, TIME).strict_eq(&without(after, TIME)))
        && same_but_entries(old, new);
    if !suppress {
        return new.clone();
    }

    // The lists differ only in times.
    with_list(new, old.managed_fields().cloned())
}

const TIME: &str = "time";

/// The entries as maps; `None` if one is not a map.
fn entries(list: &List) -> Option<Vec<&Map>> {
    list.iter().map(Value::as_map).collect()
}

/// The time of an entry. Strings that denote the same instant are equal.
fn time(entry: &Map) -> Option<Result<Time, &Value>> {
    let value = entry.get(TIME).filter(|value| !value.is_null())?;
    Some(
        value
            .as_str()
            .and_then(|text| text.parse().ok())
            .ok_or(value),
    )
}

fn without(map: &Map, name: &str) -> Value {
    Value::Map(map.with_edits(vec![(Str::from(name), None)]))
}

/// Whether two objects with entries differ in nothing else.
fn same_but_entries(old: &Value, new: &Value) -> bool {
    let (Value::Map(old), Value::Map(new)) = (old, new) else {
        return false;
    };
    let metadata = |object: &Map| Some(without(object.get("metadata")?.as_map()?, MANAGED_FIELDS));
    let same_metadata = match (metadata(old), metadata(new)) {
        (Some(old), Some(new)) => old.strict_eq(&new),
        _ => false,
    };
    same_metadata && without(old, "metadata").strict_eq(&without(new, "metadata"))
}
