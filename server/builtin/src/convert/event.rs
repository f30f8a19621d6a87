//! Events of the core group and of `events.k8s.io`.

use fieldmanager_value::{Str, Value};

use crate::Kind;

/// The names in the core group and in `events.k8s.io` that differ.
const NAMES: &[(&str, &str)] = &[
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

pub(super) fn convert(from: &Kind, object: &Value, to: &Kind) -> Value {
    let Value::Map(fields) = object else {
        return object.clone();
    };
    if from == to {
        return object.clone();
    }

    // Renaming is symmetric: each pair has the name of the core group first.
    let is_core = from.gvk().group.is_empty();
    let rename = |name: &Str| {
        let pair = NAMES
            .iter()
            .find(|(core, new)| *name == if is_core { *core } else { *new });
        pair.map_or_else(
            || name.clone(),
            |(core, new)| Str::from(if is_core { *new } else { *core }),
        )
    };

    Value::Map(
        fields
            .iter()
            .map(|(name, value)| (rename(name), value.clone()))
            .collect(),
    )
}
