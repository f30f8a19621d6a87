//! Random objects of built-in kinds, from the table of Go types.

use serde_json::{Map, Value, json};

use crate::generate::go_types::{GoKind, GoType};
use crate::generate::random::Random;
use crate::json::drop_empty;

/// The kind of a seed: each in turn, so that every run has all.
fn kind_of(seed: u64) -> Option<GoKind> {
    let kinds = GoKind::all();
    let at = usize::try_from(seed).ok()? % kinds.len().max(1);
    kinds.into_iter().nth(at)
}

/// The request to write a valid object as protobuf.
pub(super) fn protobuf(seed: u64) -> Value {
    let Some(kind) = kind_of(seed) else { return Value::Null };
    let mut objects = Objects { random: Random::new(seed), faults: 0, left: 400, valid: true };
    let object = objects.value(kind.ty, 0);
    json!({"op": "protobuf", "group": kind.group, "version": kind.version, "kind": kind.kind, "object": object})
}

/// The request of a seed.
pub(super) fn request(seed: u64) -> Value {
    let mut random = Random::new(seed);
    let Some(kind) = kind_of(seed) else { return Value::Null };
    let (group, version, name) = (kind.group, kind.version, kind.kind);
    let converts = random.chance(40) && group != "meta.k8s.io";
    let faults = if converts { 0 } else { random.weighted(&[(50, 0), (30, 1), (15, 4), (5, 20)], 0) };
    let mut objects = Objects { random, faults, left: 400, valid: false };
    let mut object = objects.value(kind.ty, 0);
    if let Some(members) = object.as_object_mut().filter(|_| converts || objects.random.chance(90)) {
        members.insert("apiVersion".to_owned(), json!(kind.api_version()));
        members.insert("kind".to_owned(), json!(name));
    }
    if !converts {
        let op = if object.is_object() && objects.random.chance(40) { "unstructured" } else { "decode" };
        return json!({"op": op, "group": group, "version": version, "kind": name, "object": object});
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = objects.annotations(name);
        if !annotations.is_empty() {
            metadata.insert("annotations".to_owned(), Value::Object(annotations));
        }
    }
    // A decoded object lacks the lists and maps that Go omits.
    drop_empty(&mut object);
    let is_version = |other: &&GoKind| {
        other.kind == name
            && (other.group == group || name == "Event" && ["", "events.k8s.io"].contains(&other.group))
    };
    let kinds = GoKind::all();
    let versions: Vec<&GoKind> = kinds.iter().filter(is_version).collect();
    let to = objects.random.pick(&versions).copied().unwrap_or(&kind);
    json!({
        "op": "convert", "group": group, "version": version, "kind": name, "toGroup": to.group, "to": to.version,
        "object": object,
    })
}

const STRINGS: &[&str] = &["", "a", "web", "x.example.com", "<a & b>", "é\u{2028}", "0", "null", "a b\n"];
const KEYS: &[&str] = &["a", "b", "app.kubernetes.io/name", "", "cpu", "memory", "x.y", "é"];
const TIMES: &[&str] = &[
    "2020-01-01T00:00:00Z",
    "2020-01-01T00:00:00.123456Z",
    "2021-06-30T23:59:59+02:00",
    "2021-06-30T23:59:59.999999-07:00",
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00.000000Z",
    "2020-01-01T1:00:00Z",
    "2020-01-01T00:00:00,000001Z",
    "9999-12-31T23:59:59-01:00",
    "2020-02-30T00:00:00Z",
    "2020-01-01T00:00:00.+12345Z",
    "2020-01-01T00:00:00.-12345Z",
    "2020-01-01T00:00:00.12345Z",
    "2020-01-01T00:00:00.1234567Z",
    "2020-01-01",
    "now",
    "",
];
const BASE64: &[&str] = &[
    "", "aGVsbG8=", "aGk=", "aGl=", "aG\nk=", "aGk", "!", "aGk=aGk=", "YQ==", "YR==", "////", "YQ=", "YQ=x",
    "a", "-_-_",
];
const SUFFIXES: &[&str] = &[
    "", "", "m", "k", "M", "G", "T", "P", "E", "n", "u", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E3",
    "e-3", "e+2", "e0", "E", "K", "ki", "mm", "e", "e30", "e-30", "e300", ".",
];

const VALID_TIMES: &[&str] =
    &["2020-01-01T00:00:00Z", "2021-06-30T23:59:59.9+02:00", "0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z"];
const VALID_MICRO_TIMES: &[&str] = &[
    "2020-01-01T00:00:00.000000Z",
    "2020-01-01T00:00:00.123456Z",
    "2021-06-30T23:59:59.999999-07:00",
    "0001-01-01T00:00:00.000000Z",
    "1969-12-31T23:59:59.000001Z",
];
const VALID_QUANTITIES: &[&str] =
    &["0", "1", "500m", "1Gi", "0.5", "-3k", "1e3", "12345678901234567890", "1.5Ki"];

struct Objects {
    random: Random,
    /// How many of 100 values are wrong.
    faults: u32,
    /// How many more values may be made.
    left: usize,
    /// Whether all scalars are valid.
    valid: bool,
}

impl Objects {
    fn value(&mut self, ty: Option<GoType>, depth: usize) -> Value {
        self.left = self.left.saturating_sub(1);
        if self.random.chance(self.faults) {
            return self.other();
        }
        if self.random.chance(2) {
            return Value::Null;
        }
        let Some(ty) = ty else { return json!(1) };
        match ty.sort() {
            "bool" => json!(self.random.chance(50)),
            "string" => json!(self.random.name(STRINGS)),
            "int32" if self.valid => json!(self.random.pick(&[0, 1, -1, 80, i32::MIN, i32::MAX])),
            "int32" => self.integer(i64::from(i32::MAX)),
            "int64" if self.valid => json!(self.random.pick(&[0, 1, -1, 80, i64::MIN, i64::MAX])),
            "int64" => self.integer(i64::MAX),
            "float64" => self.number(),
            "bytes" if self.valid => json!(self.random.name(&["", "aGVsbG8=", "YQ==", "////"])),
            "Time" if self.valid => json!(self.random.name(VALID_TIMES)),
            "MicroTime" if self.valid => json!(self.random.name(VALID_MICRO_TIMES)),
            "Quantity" if self.valid => json!(self.random.name(VALID_QUANTITIES)),
            "IntOrString" if self.valid && self.random.chance(50) => {
                json!(self.random.pick(&[0, 80, -1, i32::MAX]))
            }
            "bytes" if self.random.chance(10) => json!([0, 255, self.random.below(300), null]),
            "bytes" => json!(self.random.name(BASE64)),
            "Time" | "MicroTime" => json!(self.random.name(TIMES)),
            "Quantity" => self.quantity(),
            "IntOrString" if !self.valid && self.random.chance(50) => self.integer(i64::from(i32::MAX)),
            "IntOrString" => json!(self.random.name(&["50%", "http", "", "0", "100"])),
            "RawExtension" | "FieldsV1" | "JSON" => self.other(),
            "pointer" => self.value(ty.item(), depth),
            "slice" => {
                let length = self.length(depth);
                (0..length).map(|_| self.value(ty.item(), depth + 1)).collect()
            }
            "map" => {
                let length = self.length(depth);
                let entries = (0..length).map(|_| {
                    let key = self.random.name(KEYS);
                    (key.to_owned(), self.value(ty.entry(), depth + 1))
                });
                Value::Object(entries.collect())
            }
            "struct" => {
                let mut members = Map::new();
                self.fields(ty, &mut members, depth);
                if self.random.chance(self.faults * 2) {
                    members.insert(
                        self.random.name(&["unknown", "Spec", "x.y", "", "é\""]).to_owned(),
                        self.other(),
                    );
                }
                Value::Object(members)
            }
            "SchemaOrBool" if self.random.chance(40) => json!(self.random.chance(50)),
            "SchemaOrArray" if self.random.chance(40) => {
                let length = self.length(depth);
                (0..length).map(|_| self.value(ty.item(), depth + 1)).collect()
            }
            "SchemaOrStrings" if self.random.chance(60) => {
                let length = self.length(depth);
                (0..length).map(|_| json!(self.random.name(STRINGS))).collect()
            }
            "SchemaOrBool" | "SchemaOrArray" | "SchemaOrStrings" => self.value(ty.item(), depth + 1),
            _ => Value::Null,
        }
    }

    fn fields(&mut self, ty: GoType, members: &mut Map<String, Value>, depth: usize) {
        let is_full = self.left == 0;
        for field in ty.fields() {
            if self.random.chance(if is_full { 0 } else { field.share(depth) }) {
                let value = self.value(field.ty, depth + 1);
                members.insert(field.name.to_owned(), value);
            }
        }
    }

    /// The annotations that conversions of a kind read.
    fn annotations(&mut self, kind: &str) -> Map<String, Value> {
        let mut annotations = Map::new();
        let mut add = |name: &str, value: String| {
            annotations.insert(name.to_owned(), json!(value));
        };
        match kind {
            "HorizontalPodAutoscaler" => {
                for (name, part) in [
                    ("metrics", "metrics"),
                    ("current-metrics", "currentMetrics"),
                    ("conditions", "conditions"),
                    ("behavior", "behavior"),
                ] {
                    let value = match self.random.below(5) {
                        0..=2 => self.value(GoType::of_part(part), 1).to_string(),
                        3 => self
                            .random
                            .name(&[
                                "",
                                "[]",
                                "null",
                                "{}",
                                "[{}]",
                                "{\"scaleUp\":{\"tolerance\":\"1.0\"}}",
                                "[1]",
                                "[null]",
                            ])
                            .to_owned(),
                        _ => continue,
                    };
                    add(&format!("autoscaling.alpha.kubernetes.io/{name}"), value);
                }
            }
            "DaemonSet" if self.random.chance(60) => {
                let value =
                    self.random.name(&["1", "-7", "+3", "007", "", "x", "9223372036854775808", "1\n"]);
                add("deprecated.daemonset.template.generation", value.to_owned());
            }
            "Deployment" if self.random.chance(60) => {
                let value = self.random.name(&["1", "-7", "+3", "007", "", "x", "9223372036854775808"]);
                add("deprecated.deployment.rollback.to", value.to_owned());
            }
            _ => {}
        }
        annotations
    }

    fn length(&mut self, depth: usize) -> usize {
        match self.left {
            0 => 0,
            _ if depth > 12 => self.random.below(2),
            _ => self.random.below(3),
        }
    }

    /// A value of any type.
    fn other(&mut self) -> Value {
        match self.random.below(12) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(self.random.below(100)),
            3 => json!(1.5),
            4 => json!("text"),
            5 => json!([]),
            6 => json!({}),
            7 => json!([1, "a", null]),
            8 => json!({"a": {"b": [1.5, {"c": null}]}}),
            9 => json!(""),
            10 => json!([{}]),
            _ => self.number(),
        }
    }

    fn integer(&mut self, max: i64) -> Value {
        match self.random.below(12) {
            0 => json!(0),
            1 => json!(max),
            2 => json!(-max - 1),
            3 => json!(i64::from(i32::MAX) + 1),
            4 if self.faults > 0 => self.number(),
            _ => json!(self.random.below(1000)),
        }
    }

    fn number(&mut self) -> Value {
        let numbers = [
            json!(0),
            json!(1.0),
            json!(0.5),
            json!(-2.25),
            json!(1e-7),
            json!(100),
            json!(9_007_199_254_740_993_i64),
            json!(123_456_789.125),
            json!(9_223_372_036_854_775_808_u64),
            json!(i64::MAX),
            json!(-0.0),
        ];
        self.random.pick(&numbers).cloned().unwrap_or_default()
    }

    fn quantity(&mut self) -> Value {
        match self.random.below(20) {
            0 => return self.number(),
            1 => return json!(self.random.below(5000)),
            2 => {
                return json!(self.random.name(&[
                    "",
                    "0",
                    "-0",
                    "+5",
                    ".",
                    "-",
                    "1 Gi",
                    " 1 ",
                    "1.5.5",
                    "null",
                    "e3",
                    "1e",
                    "\u{a0}2\u{a0}",
                    ".5",
                    "5."
                ]));
            }
            _ => {}
        }
        let mut text = String::from(*self.random.pick(&["", "", "", "", "-", "+", "0", "00"]).unwrap_or(&""));
        let digits = self.random.weighted(&[(60, 3), (20, 8), (10, 20), (5, 40)], 3);
        let zeros = self.random.chance(20);
        for _ in 0..self.random.between(0, digits) {
            text.push(if zeros && self.random.chance(70) { '0' } else { self.digit() });
        }
        if self.random.chance(40) {
            text.push('.');
            for _ in 0..self.random.between(0, digits) {
                text.push(if zeros { '0' } else { self.digit() });
            }
        }
        text.push_str(self.random.name(SUFFIXES));
        json!(text)
    }

    fn digit(&mut self) -> char {
        *self.random.pick(&['0', '1', '2', '4', '5', '9', '9']).unwrap_or(&'1')
    }
}
