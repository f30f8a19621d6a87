//! Random `metadata.managedFields`, mostly in the form that other writers produce.

use serde_json::{Value, json};

use super::kinds::{ObjectKind, TEMPLATES, Version};
use crate::generate::fields;
use crate::generate::random::Random;
use crate::json::{merge, set, unset};

/// A time of which some parts may be unusual or wrong.
fn odd_time(rng: &mut Random) -> String {
    let part = if rng.chance(10) {
        "zeroTime"
    } else {
        "timeParts"
    };
    TEMPLATES.text(rng, part)
}

/// A list of entries for an object.
pub(crate) fn list(
    rng: &mut Random,
    kind: &ObjectKind,
    versions: &[Version],
    object: &Value,
    crowd: bool,
) -> Value {
    let count = if crowd {
        rng.between(6, 13)
    } else {
        rng.between(1, 4)
    };
    let mut out: Vec<Value> = (0..count)
        .map(|number| entry(rng, kind, versions, object, crowd.then_some(number)))
        .collect();
    // Two entries of one identity are a listed deviation.
    if rng.chance(4) {
        out.extend(out.first().cloned());
    }

    Value::Array(out)
}

fn entry(
    rng: &mut Random,
    kind: &ObjectKind,
    versions: &[Version],
    object: &Value,
    number: Option<usize>,
) -> Value {
    let Some(version) = rng.pick(versions) else {
        return Value::Null;
    };
    // The paths are those of the object at the hub; they get the names of the version of the entry below.
    let set_of_fields = fields::random(rng, &kind.types, object);
    let name = match number {
        Some(_) if rng.chance(12) => "ancient-changes".to_owned(),
        Some(number) => format!("m{number:02}"),
        None => TEMPLATES.text(rng, "manager"),
    };
    let is_apply = rng.chance(if number.is_some() { 5 } else { 50 });
    let unknown = rng.name(&["v0", "other.com/v1"]);
    let mut out = json!({
        "manager": name,
        "operation": if is_apply { "Apply" } else { "Update" },
        "apiVersion": if rng.chance(3) { unknown } else { &version.name },
        "fieldsType": "FieldsV1",
        "fieldsV1": fields::renamed(&set_of_fields, &version.names),
    });

    // An entry without a time is valid.
    if rng.chance(80) {
        let time = if rng.chance(4) {
            odd_time(rng)
        } else {
            TEMPLATES.text(rng, "time")
        };
        set(&mut out, "time", time);
    }

    if rng.chance(8) {
        set(
            &mut out,
            "subresource",
            rng.name(&["status", "scale", "a\"b"]),
        );
    }

    // A template cannot remove a member, so the empty flaw stands for an entry without `fieldsV1`.
    if rng.chance(2) {
        match TEMPLATES.part(rng, "flaw", 0) {
            Value::Object(flaw) if flaw.is_empty() => drop(unset(&mut out, "fieldsV1")),
            flaw => merge(&mut out, flaw),
        }
    }
    out
}
