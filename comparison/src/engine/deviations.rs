//! The listed deviations from the reference, each with the name of its section in `docs/deviations.md`.
//!
//! A rule matches a step as narrowly as possible: a difference that only looks like a listed one must stay a difference.

use serde_json::Value;

use super::compare::{Outcome, ScenarioDifference, outcome};
use crate::generate::fields::leaves;
use crate::json::with_each;

/// Extracting a list or map that is itself in the set: the Go code continues below it with the set of its siblings.
pub const EXTRACT_SIBLINGS: &str = "extract-siblings";
/// Merging: the Go code drops faults inside the items of a list, together with the values there.
pub const MERGE_SWALLOWED: &str = "merge-swallowed-faults";
/// Merging include patterns: the Go code finds equal path elements by a search that is incorrect for two or more, never
/// treats wildcards as equal, and then uses the first match.
pub const INCLUDE_MERGE: &str = "include-merge";

/// A schema fault that the Go code reports only when it uses the faulty part; the library refuses such a schema when it
/// is loaded.
pub const SCHEMA_REFUSED: &str = "schema-refused";

/// FieldsV1 with the same element twice, as `1` and `1.0`: the Go code keeps the children of the last, the library
/// those of both.
pub const ELEMENT_TWICE: &str = "fields-element-twice";

/// The name of the deviation that explains a difference, if any.
pub fn explain(case: &ScenarioDifference<'_>) -> Option<&'static str> {
    let step = case.scenario.get("steps")?.get(case.step?)?;
    if let Some(extract) = step.get("extract")
        && case.what == "object"
        && has_inner_member(extract.get("fields")?, extract.get("object")?)
    {
        return Some(EXTRACT_SIBLINGS);
    }

    // Every argument that is a field set may have an element twice, also the operands of a step on sets.
    let arguments = step
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(kind, _)| *kind != "expect");
    let mut sets =
        arguments.flat_map(|(_, step)| ["fields", "lhs", "rhs"].map(|name| step.get(name)));
    if sets.any(|set| set.is_some_and(has_element_twice)) {
        return Some(ELEMENT_TWICE);
    }

    // This step has no set in its arguments: it extracts what its manager owns in the state.
    let renamed = case.scenario.get("conversion").is_some();
    if step
        .get("extractApply")
        .is_some_and(|step| extracts_inner_member(step, case.state, renamed))
    {
        return Some(EXTRACT_SIBLINGS);
    }

    // Go accepts such a schema until it uses the faulty part, so that the outcome of the library alone tells.
    if step.get("changeSchema").is_some() && outcome(case.candidate) == Outcome::Error("schema") {
        return Some(SCHEMA_REFUSED);
    }
    if merge_error(case.candidate)
        && outcome(case.reference) == Outcome::Success
        && ["merge", "apply", "extractApply"]
            .iter()
            .any(|kind| step.get(kind).is_some())
    {
        return Some(MERGE_SWALLOWED);
    }

    // Filters belong to the scenario, and change the sets of every step that records what a manager owns.
    if merges_patterns_badly(case.scenario)
        && ["apply", "update", "extractApply"]
            .iter()
            .any(|kind| step.get(kind).is_some())
    {
        return Some(INCLUDE_MERGE);
    }

    None
}

/// Whether a manager owns a leaf that is no longer a leaf in the state.
fn extracts_inner_member(step: &Value, state: Option<&Value>, renamed: bool) -> bool {
    let find = || {
        let manager = step.get("manager")?.as_str()?;
        let entry = state?.get("managed")?.get(manager)?;
        let owned = leaves(entry.get("fields")?);
        // If the state is at another version than the manager's set, names cannot be compared.
        let object = state?.get("object")?;
        Some(has_inner_member(&owned, object) || (renamed && below_any(&owned)))
    };
    find().unwrap_or(false)
}

fn merge_error(result: &Value) -> bool {
    outcome(result) == Outcome::Error("merge")
}

/// Whether a set has a path that has children in the set, or is a list or map in the object that is not empty.
pub(crate) fn has_inner_member(fields: &Value, object: &Value) -> bool {
    let nodes = fields.as_object().into_iter().flatten();
    nodes.filter(|(key, _)| *key != ".").any(|(key, below)| {
        let children = below.as_object();
        let itself = children.is_none_or(|c| c.is_empty() || c.contains_key("."));
        let leaf = children.is_none_or(|c| c.keys().all(|key| key == "."));

        // Items of lists are not looked up, so any value is assumed.
        let value = match key.strip_prefix("f:") {
            Some(name) => object.get(name).unwrap_or(&Value::Null),
            None => object,
        };
        let filled = match value {
            Value::Array(items) => !items.is_empty(),
            Value::Object(entries) => !entries.is_empty(),
            _ => false,
        };
        let inner = key.starts_with("f:") && itself && (!leaf || filled);
        let below_list = !key.starts_with("f:") && below_any(below);

        inner || below_list || has_inner_member(below, value)
    })
}

/// Whether a set has a field that is a member, at any depth.
fn below_any(fields: &Value) -> bool {
    fields
        .as_object()
        .into_iter()
        .flatten()
        .any(|(key, below)| {
            key.starts_with("f:")
                && below
                    .as_object()
                    .is_none_or(|c| c.is_empty() || c.contains_key("."))
                || below_any(below)
        })
}

/// Whether an include filter has patterns that the Go code merges incorrectly: more than two, or two with wildcards.
fn merges_patterns_badly(scenario: &Value) -> bool {
    let filters = scenario
        .get("options")
        .and_then(|options| options.get("onlyFields"));
    filters
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .any(|(_, patterns)| {
            let patterns = || {
                patterns
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
            };
            let wild =
                patterns().filter(|pattern| pattern.contains(".*") || pattern.contains("[*]"));
            patterns().count() > 2 || wild.count() > 1
        })
}

/// Whether two keys of a level of FieldsV1 are the same element.
fn has_element_twice(fields: &Value) -> bool {
    let Some(nodes) = fields.as_object() else {
        return false;
    };
    // Names of fields have one notation. Only numbers in keys and values of items have several.
    let element = |key: &String| {
        let (kind, content) = key.split_once(':')?;
        let value: Value = serde_json::from_str(content).ok().filter(|_| kind != "f")?;
        Some((kind.to_owned(), with_floats(&value).to_string()))
    };
    let mut seen = std::collections::BTreeSet::new();

    nodes
        .keys()
        .filter_map(element)
        .any(|element| !seen.insert(element))
        || nodes.values().any(has_element_twice)
}

/// A value with every number as a float, so that equal numbers have one notation.
fn with_floats(value: &Value) -> Value {
    with_each(value, |part| {
        if let Value::Number(number) = part {
            *part = number.as_f64().map_or(Value::Null, Value::from);
        }
    })
}
