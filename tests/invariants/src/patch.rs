//! Patches.

use fieldmanager_patch::internal::read_types;
use fieldmanager_patch::{Error, PatchSchema, json_merge, json_patch, strategic};
use fieldmanager_value::Value;

/// A recursive type with one field per strategy.
const TYPES: &str = "
types:
  t:
    a: {type: t}
    r: {type: t, strategy: replace}
    u: {type: t, strategy: retainKeys}
    l: {type: t, strategy: merge, key: k}
    v: {type: t, strategy: 'retainKeys,merge', key: k}
    s: {strategy: merge}
";

/// Parses each line as a YAML value: objects and patches for them. No patch may panic or leave a directive in an
/// object. Patches created from two objects must turn the first into the second.
///
/// # Errors
///
/// A message that describes the violated invariant.
pub fn check_patches(text: &[u8]) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(text) else {
        return Ok(());
    };
    let read = |line| Value::from_yaml(line).unwrap_or_default();
    let values: Vec<Value> = text.lines().take(3).map(read).collect();
    let value = |at: usize| values.get(at).cloned().unwrap_or_default();
    let (a, b, c) = (value(0), value(1), value(2));
    let types = Value::from_yaml(TYPES).map_err(|error| error.to_string())?;
    let types = read_types(&types).map_err(|error| error.to_string())?;
    let schema = types.named("t").ok_or("the type is missing")?;
    let results = [
        strategic::apply(&a, &b, schema),
        strategic::create_two_way(&a, &b, schema),
        strategic::create_three_way(&a, &b, &c, schema, true),
        strategic::create_three_way(&a, &b, &c, schema, false),
        strategic::merge_patches([&a, &b, &c], schema),
        strategic::has_conflicts(&a, &b, schema).map(Value::from),
        json_merge::apply(&a, &b),
        json_merge::create_three_way(&a, &b, &c),
        json_patch::apply(&a, &b),
    ];
    for result in &results {
        check_result(result)?;
    }
    if let [Ok(new), ..] = &results
        && !has_directive(&a)
    {
        ensure!(
            !has_directive(new),
            "{a} patched with {b} contains a directive: {new}"
        );
    }
    if a.as_map().is_some() && b.as_map().is_some() {
        check_round_trips(&a, &b)?;
    }
    Ok(())
}

fn check_result(result: &Result<Value, Error>) -> Result<(), String> {
    match result {
        Ok(value) => {
            let text = value.to_json();
            ensure!(
                Value::from_json(&text).is_ok(),
                "a result is not valid JSON: {text}"
            );
        }
        Err(error) => {
            ensure!(!error.to_string().is_empty(), "an error has no message");
            let code = error.response().code;
            ensure!(
                (400..=500).contains(&code),
                "{error} has the status code {code}"
            );
        }
    }
    Ok(())
}

/// Checks that the patch created from two objects turns the first into the second. Merge patches cannot set null, and
/// anything that looks like a directive is one.
fn check_round_trips(a: &Value, b: &Value) -> Result<(), String> {
    let patch = json_patch::create(a, b).map_err(|error| error.to_string())?;
    let new = json_patch::apply(a, &patch);
    // A patch may be longer than the apiserver accepts.
    if let Ok(new) = new {
        ensure!(
            new.strict_eq(b),
            "{a} patched with {patch} is {new}, not {b}"
        );
    }
    if has_null(b) || has_directive(a) || has_directive(b) {
        return Ok(());
    }
    let patch =
        strategic::create_two_way(a, b, PatchSchema::free()).map_err(|error| error.to_string())?;
    let new =
        strategic::apply(a, &patch, PatchSchema::free()).map_err(|error| error.to_string())?;
    ensure!(
        new.strict_eq(b),
        "{a} patched with {patch} is {new}, not {b}"
    );
    let patch = json_merge::create(a, b).map_err(|error| error.to_string())?;
    let new = json_merge::apply(a, &patch).map_err(|error| error.to_string())?;
    ensure!(new == *b, "{a} merged with {patch} is {new}, not {b}");
    Ok(())
}

fn has_directive(value: &Value) -> bool {
    let is_directive = |name: &str| {
        name == "$patch"
            || name == "$retainKeys"
            || name.starts_with("$setElementOrder")
            || name.starts_with("$deleteFromPrimitiveList")
    };
    match value {
        Value::Map(map) => map
            .iter()
            .any(|(name, value)| is_directive(name) || has_directive(value)),
        Value::List(list) => list.iter().any(has_directive),
        _ => false,
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Map(map) => map.iter().any(|(_, value)| has_null(value)),
        Value::List(list) => list.iter().any(has_null),
        other => other.is_null(),
    }
}
