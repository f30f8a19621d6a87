//! Unions declared by `x-kubernetes-unions`.

use std::collections::BTreeSet;

use fieldmanager_value::{Str, Value};

/// The parts of a union that unfolding needs.
#[derive(Debug, PartialEq)]
pub(super) struct Union {
    pub(super) discriminator: Option<Str>,
    /// The member fields, sorted by name.
    pub(super) members: Vec<Str>,
    /// The values of the discriminator, in the order of the members.
    pub(super) values: Vec<Value>,
}

/// Reads unions in list form, which is an extension of the schema of an object. Invalid entries are skipped, because
/// importing the schema reports them.
pub(super) fn read_list(unions: &Value) -> Vec<Union> {
    unions
        .as_list()
        .into_iter()
        .flatten()
        .filter_map(read_entry)
        .collect()
}

fn read_entry(entry: &Value) -> Option<Union> {
    let fields = entry
        .get("fields-to-discriminateBy")
        .or_else(|| entry.get("fields"));
    let fields = fields.and_then(Value::as_map)?;
    if fields.is_empty() {
        return None;
    }

    let discriminator = match entry.get("discriminator") {
        Some(Value::String(name)) if !name.is_empty() => Some(name.into()),
        _ => None,
    };
    Some(Union {
        discriminator,
        members: fields.iter().map(|(name, _)| name.clone()).collect(),
        values: distinct(fields.iter().map(|(_, value)| value)),
    })
}

/// The values of a discriminator in map form, which is an extension of the discriminator's schema. The list is closed.
pub(super) fn discriminator_values(unions: &Value) -> Vec<Value> {
    let members = unions.get("fieldMembers").and_then(Value::as_map);
    members
        .into_iter()
        .flatten()
        .map(|(value, _)| Value::from(value))
        .collect()
}

/// The distinct strings among the values, in their order.
fn distinct<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    values
        .filter(|value| {
            value
                .as_str()
                .is_some_and(|text| seen.insert(text.to_owned()))
        })
        .cloned()
        .collect()
}
