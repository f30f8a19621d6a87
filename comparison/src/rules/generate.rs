//! Makes schemas with rules, and objects.

use serde_json::{Map, Value as Json, json};

use super::expressions::Expressions;
use crate::generate::random::Random;

/// The case of a seed.
pub(super) fn case(seed: u64) -> Json {
    let mut random = Random::new(seed);
    let mut schema = schema();
    // Without an old object, as in a creation, transition rules are not evaluated.
    let has_old = random.chance(45);
    let count = random.between(1, 3);
    for _ in 0..count {
        add_rule(&mut random, &mut schema, has_old);
    }

    let object = object(&mut random);
    let mut case = json!({"op": "rules", "schema": schema, "object": object});
    if has_old {
        let old = if random.chance(40) {
            object.clone()
        } else {
            self::object(&mut random)
        };

        // Parts of both are equal, so that violations there are warnings.
        let mut old = old;
        if random.chance(60) {
            let names = ["set", "maps", "nested", "text", "number", "labels"];
            for name in names {
                if random.chance(50)
                    && let (Some(value), Some(spec)) = (
                        object.pointer(&format!("/spec/{name}")),
                        old.get_mut("spec"),
                    )
                    && let Some(spec) = spec.as_object_mut()
                {
                    spec.insert(name.to_owned(), value.clone());
                }
            }
        }

        if let Some(members) = case.as_object_mut() {
            members.insert("old".to_owned(), old);
        }
    }

    case
}

pub(super) fn schema() -> Json {
    // Strings have a bound and integers have none, since only sizes enter into the estimated cost of a rule.
    let string = json!({"type": "string", "maxLength": 20});
    let integer = json!({"type": "integer"});

    // There is a field for each type that CEL distinguishes, and for each kind of name that it escapes. Rules below
    // `allOf` are about the same fields.
    json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "allOf": [{"properties": {"number": {}, "maps": {"items": {}}}}],
                "properties": {
                    "number": integer,
                    "other": integer,
                    "ratio": {"type": "number"},
                    "text": string,
                    "word": string,
                    "flag": {"type": "boolean"},
                    "maybe": {"type": "string", "nullable": true, "maxLength": 20},
                    "port": {"x-kubernetes-int-or-string": true, "maxLength": 20},
                    "wait": {"type": "string", "format": "duration"},
                    "time": {"type": "string", "format": "date-time"},
                    "day": {"type": "string", "format": "date"},
                    "data": {"type": "string", "format": "byte", "maxLength": 20},
                    "numbers": {"type": "array", "maxItems": 5, "items": integer},
                    "words": {"type": "array", "maxItems": 5, "items": string},
                    "set": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "set", "items": string},
                    "maps": {
                        "type": "array",
                        "maxItems": 5,
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["key"],
                        "items": {
                            "type": "object",
                            "properties": {"key": string, "value": integer},
                        },
                    },
                    "labels": {"type": "object", "maxProperties": 5, "additionalProperties": string},
                    "nested": {
                        "type": "object",
                        "properties": {
                            "a-b": integer, "namespace": string, "x__y": string, "c.d/e": string, "list": {
                                "type": "array", "maxItems": 3, "items": integer
                            },
                        },
                    },
                    "holes": {"type": "array", "maxItems": 5, "items": {"type": "integer", "nullable": true}},
                    "free": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": true,
                        "properties": {"known": integer},
                    },
                    "address": string,
                    "network": string,
                    "link": {"type": "string", "maxLength": 60},
                    "amount": string,
                    "version": string,
                    "template": {
                        "type": "object",
                        "x-kubernetes-embedded-resource": true,
                        "x-kubernetes-preserve-unknown-fields": true,
                    },
                },
            },
        },
    })
}

/// A random place for a rule, and the name of its type.
pub(super) fn place(random: &mut Random) -> (&'static str, &'static str) {
    // Most rules are at the spec, where an expression can use fields of all types.
    random.weighted(
        &[
            (60, ("/properties/spec", "spec")),
            (6, ("", "root")),
            (6, ("/properties/spec/properties/text", "text")),
            (6, ("/properties/spec/properties/number", "number")),
            (6, ("/properties/spec/properties/maps/items", "item")),
            (4, ("/properties/spec/properties/maps", "maps")),
            (4, ("/properties/spec/properties/set", "set")),
            (4, ("/properties/spec/properties/labels", "labels")),
            (4, ("/properties/spec/properties/nested", "nested")),
            (2, ("/properties/spec/properties/port", "port")),
            (4, ("/properties/spec/allOf/0/properties/number", "number")),
            (
                2,
                ("/properties/spec/allOf/0/properties/maps/items", "item"),
            ),
            (2, ("/properties/spec/allOf/0", "spec")),
        ],
        ("/properties/spec", "spec"),
    )
}

/// Adds a rule at a random place.
fn add_rule(random: &mut Random, schema: &mut Json, has_old: bool) {
    let (pointer, kind) = place(random);
    let uses_old = has_old && random.chance(35);
    let mut expressions = Expressions::new(random, kind, uses_old);
    let mut rule = Map::new();
    rule.insert("rule".to_owned(), json!(expressions.boolean(3)));
    let mut parts = Vec::new();

    // Where a rule has both, the message expression counts, and the message only if that fails.
    if random.chance(25) {
        parts.push((
            "message",
            json!(random.name(&["it is wrong", "  spaces around  ", "no"])),
        ));
    }

    if random.chance(20) {
        let text = Expressions::new(random, kind, false).string(2);
        parts.push(("messageExpression", json!(text)));
    }
    if random.chance(25) {
        let reasons = [
            "FieldValueInvalid",
            "FieldValueForbidden",
            "FieldValueRequired",
            "FieldValueDuplicate",
        ];
        parts.push(("reason", json!(random.name(&reasons))));
    }

    // The last paths are not valid ones: a field that the schema lacks, and a path without a dot.
    if random.chance(20) && kind == "spec" {
        let paths = [
            ".number",
            ".nested['a-b']",
            ".labels['x']",
            ".nested.namespace",
            ".absent",
            "number",
        ];
        parts.push(("fieldPath", json!(random.name(&paths))));
    }

    // With `optionalOldSelf` the type of `oldSelf` is an optional, which other expressions do not expect.
    if uses_old && random.chance(15) {
        let text = random.name(&[
            "oldSelf.hasValue()",
            "!oldSelf.hasValue() || oldSelf.value() == self",
        ]);
        rule.insert("rule".to_owned(), json!(text));
        parts.push(("optionalOldSelf", json!(true)));
    }

    rule.extend(
        parts
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value)),
    );
    let Some(place) = schema.pointer_mut(pointer).and_then(Json::as_object_mut) else {
        return;
    };

    let rules = place
        .entry("x-kubernetes-validations")
        .or_insert_with(|| json!([]));
    if let Some(rules) = rules.as_array_mut() {
        rules.push(Json::Object(rule));
    }
}

pub(crate) fn word(random: &mut Random) -> &'static str {
    random.name(&[
        "",
        "a",
        "b",
        "abc",
        "A-b",
        "hello world",
        "föö",
        " x ",
        "1",
        "42",
        "-7",
        "true",
        "a,b,c",
        "x.y/z",
    ])
}

fn small(random: &mut Random) -> i64 {
    let limits = [-3, -1, 0, 1, 2, 3, 5, 10, 100, i64::MAX, i64::MIN];
    random.pick(&limits).copied().unwrap_or_default()
}

fn words(random: &mut Random, distinct: bool) -> Json {
    let mut out: Vec<&str> = (0..random.below(4)).map(|_| word(random)).collect();
    // The values of a set are unique, and are in any order.
    if distinct {
        out.sort_unstable();
        out.dedup();
        random.shuffle(&mut out);
    }
    json!(out)
}

/// Makes the value of a field.
type Make = fn(&mut Random) -> Json;

/// An object with most of the fields.
pub(crate) fn object(random: &mut Random) -> Json {
    let mut spec = Map::new();
    // Each field has values at which functions fail or meet a limit: nulls, empty and unparsable texts, the largest
    // integers.
    let fields: [(&str, Make); 26] = [
        ("holes", |r| {
            json!(
                (0..r.below(4))
                    .map(|_| r.chance(60).then(|| small(r)))
                    .collect::<Vec<_>>()
            )
        }),
        ("free", |r| match r.below(3) {
            0 => json!({"known": small(r)}),
            1 => json!({"known": small(r), "other": [small(r)]}),
            _ => json!({"other": {"a": word(r)}}),
        }),
        ("number", |r| json!(small(r))),
        ("other", |r| json!(small(r))),
        ("ratio", |r| match r.below(5) {
            0 => json!(small(r)),
            1 => json!(0.5),
            2 => json!(-1.25),
            3 => json!(1e20),
            _ => json!(2.0),
        }),
        ("text", |r| json!(word(r))),
        ("word", |r| json!(word(r))),
        ("flag", |r| json!(r.chance(50))),
        ("maybe", |r| {
            if r.chance(40) {
                Json::Null
            } else {
                json!(word(r))
            }
        }),
        ("port", |r| {
            if r.chance(50) {
                json!(small(r))
            } else {
                json!(word(r))
            }
        }),
        ("wait", |r| {
            json!(r.name(&["1s", "1h30m", "0", "250ms", "-5m", "1.5h", "3 days"]))
        }),
        ("time", |r| {
            json!(r.name(&[
                "2024-02-29T12:30:45Z",
                "2000-01-01T00:00:00.5Z",
                "1999-12-31T23:59:59+02:00"
            ]))
        }),
        ("day", |r| json!(r.name(&["2024-02-29", "1970-01-01"]))),
        ("data", |r| json!(r.name(&["", "aGVsbG8=", "AAEC"]))),
        ("numbers", |r| {
            json!((0..r.below(4)).map(|_| small(r)).collect::<Vec<_>>())
        }),
        ("words", |r| words(r, false)),
        ("set", |r| words(r, true)),
        ("maps", |r| {
            let mut keys = ["a", "b", "c"];
            r.shuffle(&mut keys);
            let count = r.below(4);
            let item = |key: &str, r: &mut Random| {
                if r.chance(80) {
                    json!({"key": key, "value": small(r)})
                } else {
                    json!({"key": key})
                }
            };
            let items: Vec<Json> = keys
                .into_iter()
                .take(count)
                .map(|key| item(key, r))
                .collect();

            json!(items)
        }),
        ("labels", |r| {
            let mut out = Map::new();
            for name in ["x", "a-b", "abc", "in"] {
                if r.chance(50) {
                    out.insert(name.to_owned(), json!(word(r)));
                }
            }
            Json::Object(out)
        }),
        ("nested", |r| {
            let mut out = Map::new();
            for name in ["namespace", "x__y", "c.d/e"] {
                if r.chance(70) {
                    out.insert(name.to_owned(), json!(word(r)));
                }
            }

            if r.chance(70) {
                out.insert("a-b".to_owned(), json!(small(r)));
            }
            if r.chance(70) {
                out.insert("list".to_owned(), json!([1, 2, small(r)]));
            }
            Json::Object(out)
        }),
        ("address", |r| {
            json!(r.name(&[
                "10.0.0.1",
                "::1",
                "fe80::1",
                "192.168.1.255",
                "1.2.3",
                "::ffff:1.2.3.4"
            ]))
        }),
        ("network", |r| {
            json!(r.name(&[
                "10.0.0.0/8",
                "fd00::/8",
                "192.168.1.7/24",
                "10.0.0.0",
                "1.2.3.4/33"
            ]))
        }),
        ("link", |r| {
            json!(r.name(&[
                "https://example.com:80/p%20a?x=1&x=2#f",
                "/a/b",
                "no",
                "http://[::1]/",
                "mailto:a@b",
                ""
            ]))
        }),
        ("amount", |r| {
            json!(r.name(&[
                "1",
                "1.5Gi",
                "100m",
                "-3k",
                "1e3",
                "x",
                "12E",
                "0.0000000001",
                "1Mi"
            ]))
        }),
        ("version", |r| {
            json!(r.name(&["1.2.3", "v1.2", "1.0.0-rc.1+b", "01.2.3", "x", "2.0.0"]))
        }),
        (
            "template",
            |r| json!({"apiVersion": "v1", "kind": r.name(&["Pod", "Job"]), "metadata": {"name": word(r)}, "spec": {"a": 1}}),
        ),
    ];

    // Some fields are absent, since `has`, optional fields and errors about missing keys depend on that.
    for (name, value) in fields {
        if random.chance(92) {
            spec.insert(name.to_owned(), value(random));
        }
    }

    json!({
        "apiVersion": "example.com/v1",
        "kind": "Shop",
        "metadata": {"name": "a", "labels": {"x": "y"}},
        "spec": spec,
    })
}
