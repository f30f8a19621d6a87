//! Random `metadata.managedFields`, mostly in the form that other writers produce.

use serde_json::{Map as JsonMap, Value, json};

use super::kinds::Kind;
use super::objects::Version;
use crate::generate::fields;
use crate::generate::random::Random;

/// Names of managers. Some have a special meaning, some need escapes.
pub(crate) const MANAGERS: &[&str] = &["ci", "ops", "kubectl", "kube-controller-manager"];
const ODD_MANAGERS: &[&str] = &[
    "",
    "unknown",
    "say \"hi\"",
    "a<b>&c",
    "ünï→\u{2028}",
    "tab\t",
    "back\\slash",
    "ancient-changes",
    "before-first-apply",
    "current-operation",
    "kubectl-client-side-apply",
];
const TIMES: &[&str] = &[
    "2019-12-31T23:59:59Z",
    "2020-01-01T00:00:00Z",
    "2020-01-01T00:00:01Z",
    "2020-01-01T00:00:02Z",
    "2020-01-01T00:00:05Z",
    "1999-05-05T05:05:05Z",
    "2020-01-01T01:00:03+01:00",
    "2031-01-01T00:00:00Z",
];

/// The zero value of Go's `time.Time`.
const ZERO_TIMES: &[&str] = &["0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00"];

/// The name of a manager.
pub(crate) fn manager(rng: &mut Random) -> String {
    let names = if rng.chance(15) { ODD_MANAGERS } else { MANAGERS };
    rng.name(names).to_owned()
}

/// A time, most often near that of the first steps.
pub(crate) fn time(rng: &mut Random) -> &'static str {
    rng.name(TIMES)
}

/// A time of which some parts may be unusual or wrong.
fn odd_time(rng: &mut Random) -> String {
    if rng.chance(10) {
        return rng.name(ZERO_TIMES).to_owned();
    }
    let mut part =
        |usual: &'static str, odd: &[&'static str]| if rng.chance(15) { rng.name(odd) } else { usual };
    // The oracle moves times by up to some decades to the present, so the years 0000 and 9999 would not remain in range.
    let year = part("2020", &["0050", "9900", "020", "12020", "-020"]);
    let month = part("02", &["01", "1", "13", "00", "11"]);
    let day = part("01", &["1", "00", "29", "30", "31", "32"]);
    let separator = part("T", &["t", " ", ""]);
    let hour = part("12", &["1", "00", "23", "24", "-1", ""]);
    let minute = part("30", &["5", "00", "59", "60"]);
    let second = part(":15", &["", ":5", ":59", ":60", ":61"]);
    let fraction = part("", &[".5", ",5", ".", ",", ".123456789012345678901", ".000000000", ".5.5"]);
    let zone = part(
        "Z",
        &[
            "z", "", "+01:00", "-01:30", "+24:60", "-24:60", "+25:00", "+00:61", "+0100", "+1:00", "Z[UTC]",
            " UTC",
        ],
    );
    format!("{year}-{month}-{day}{separator}{hour}:{minute}{second}{fraction}{zone}")
}

/// A list of entries for an object.
pub(crate) fn list(
    rng: &mut Random,
    kind: &Kind,
    versions: &[Version],
    object: &Value,
    crowd: bool,
) -> Value {
    let count = if crowd { rng.between(6, 13) } else { rng.between(1, 4) };
    let mut out: Vec<Value> =
        (0..count).map(|number| entry(rng, kind, versions, object, crowd.then_some(number))).collect();
    if rng.chance(4) {
        let copy = out.first().cloned().unwrap_or_default();
        out.push(copy);
    }
    Value::Array(out)
}

fn entry(
    rng: &mut Random,
    kind: &Kind,
    versions: &[Version],
    object: &Value,
    number: Option<usize>,
) -> Value {
    let version = rng.pick(versions).cloned();
    let names = version.as_ref().map(|version| version.names.clone()).unwrap_or_default();
    let set = fields::renamed(&fields::random(rng, &kind.types, object), &names);
    let mut out = JsonMap::new();
    let mut put = |name: &str, value: Value| out.insert(name.to_owned(), value);
    let name = match number {
        Some(_) if rng.chance(12) => "ancient-changes".to_owned(),
        Some(number) => format!("m{number:02}"),
        None => manager(rng),
    };
    put("manager", json!(name));
    let apply = rng.chance(if number.is_some() { 5 } else { 50 });
    put("operation", json!(if apply { "Apply" } else { "Update" }));
    let unknown = rng.name(&["v0", "other.com/v1"]).to_owned();
    put("apiVersion", json!(version.filter(|_| !rng.chance(3)).map_or(unknown, |version| version.name)));
    put("fieldsType", json!("FieldsV1"));
    put("fieldsV1", set);
    if rng.chance(80) {
        let time = if rng.chance(4) { odd_time(rng) } else { time(rng).to_owned() };
        put("time", json!(time));
    }
    if rng.chance(8) {
        put("subresource", json!(rng.name(&["status", "scale", "a\"b"])));
    }
    if rng.chance(2) {
        flaw(rng, &mut out);
    }
    Value::Object(out)
}

/// Makes one part of an entry invalid or unusual.
fn flaw(rng: &mut Random, entry: &mut JsonMap<String, Value>) {
    let mut put = |name: &str, value: Value| entry.insert(name.to_owned(), value);
    match rng.below(20) {
        0 => put("operation", json!("")),
        1 => put("operation", json!("Patch")),
        2 => put("apiVersion", json!("")),
        3 => put("fieldsType", json!("")),
        4 => put("fieldsType", json!("FieldsV0")),
        5 => put("fieldsV1", Value::Null),
        6 => put("fieldsV1", json!([])),
        7 => put("fieldsV1", json!({"nonsense": {}})),
        8 => put("fieldsV1", json!({"f:a": 1})),
        9 => put("fieldsV1", json!({"x:a": {}, "f:b": {"y:": {}}})),
        10 => put("fieldsV1", json!({"v:1.0": {}, "i:-1": {}, "k:{}": {}, "f:": {}})),
        11 => put("time", json!("yesterday")),
        12 => put("time", json!("")),
        13 => put("time", Value::Null),
        14 => put("manager", json!(5)),
        15 => put("manager", Value::Null),
        16 => put("unknown", json!(5)),
        17 => put("fieldsV1", json!("f:a")),
        18 => put("apiVersion", json!("a/b/c")),
        _ => entry.remove("fieldsV1"),
    };
}

/// Managed fields of a request that are not entries.
pub(crate) fn garbage(rng: &mut Random) -> Value {
    match rng.below(12) {
        0 => json!([{}, {}]),
        1 => json!([null]),
        2 => json!(["a"]),
        3 => json!("a"),
        4 => json!({}),
        5 => json!([{"unknown": 1}]),
        6 => json!([{"manager": ""}]),
        7 => json!([{"time": null, "fieldsV1": null}]),
        8 => json!([{"time": ""}]),
        9 => json!([{"manager": 7}]),
        10 => json!(5),
        _ => json!([{"manager": "ci", "operation": "Apply"}]),
    }
}
