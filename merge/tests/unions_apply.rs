//! Normalization of an apply: its numbered rules, one after the other.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::sync::LazyLock;

use fieldmanager_fieldpath::{ApiVersion, Managers};
use fieldmanager_merge::{ConvertError, Converter, Error, Force, Updater};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{Map, Value};

/// Types whose members are `a` (a number), `b` (a struct) and `c` (a number), and what their unions say.
const UNIONS: &[(&str, &str)] = &[
    ("deducing", "discriminator: type, deduceInvalidDiscriminator: true, emptyMembers: [None]"),
    ("respecting", "discriminator: type, emptyMembers: [None]"),
    ("emptiable", "discriminator: type, emptyMembers: ['', None]"),
    ("closed", "discriminator: type, emptyMembers: [None], closed: true"),
    ("plain", ""),
];

const OTHERS: &str = "
- name: root
  map:
    fields:
    - {name: spec, type: {namedType: deducing}}
    - name: items
      type: {list: {elementRelationship: associative, keys: [name], elementType: {namedType: item}}}
    - {name: atomic, type: {list: {elementRelationship: atomic, elementType: {namedType: item}}}}
- name: item
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - {name: type, type: {scalar: string}}
    - {name: a, type: {scalar: numeric}}
    - {name: b, type: {scalar: numeric}}
    unions:
    - discriminator: type
      deduceInvalidDiscriminator: true
      fields: [{fieldName: a, discriminatorValue: A}, {fieldName: b, discriminatorValue: B}]
- name: two
  map:
    fields:
    - {name: type, type: {scalar: string}}
    - {name: a, type: {scalar: numeric}}
    - {name: b, type: {scalar: numeric}}
    - {name: kind, type: {scalar: string}}
    - {name: u, type: {scalar: numeric}}
    - {name: v, type: {scalar: numeric}}
    unions:
    - discriminator: type
      deduceInvalidDiscriminator: true
      fields: [{fieldName: a, discriminatorValue: A}, {fieldName: b, discriminatorValue: B}]
    - discriminator: kind
      deduceInvalidDiscriminator: true
      fields: [{fieldName: u, discriminatorValue: U}, {fieldName: v, discriminatorValue: V}]
# `deducing` at another version.
- name: renamed
  map:
    fields:
    - {name: kind, type: {scalar: string}}
    - {name: other, type: {scalar: string}}
    - {name: alpha, type: {scalar: numeric}}
    - {name: beta, type: {map: {fields: [{name: x, type: {scalar: numeric}}, {name: w, type: {scalar: numeric}}]}}}
    - {name: gamma, type: {scalar: numeric}}
    unions:
    - discriminator: kind
      deduceInvalidDiscriminator: true
      fields:
      - {fieldName: alpha, discriminatorValue: A}
      - {fieldName: beta, discriminatorValue: B}
      - {fieldName: gamma, discriminatorValue: C}
";

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let mut text = "types:".to_owned();
    for (name, union) in UNIONS {
        let comma = if union.is_empty() { "" } else { ", " };
        text += &format!(
            "
- name: {name}
  map:
    fields:
    - {{name: type, type: {{scalar: string}}}}
    - {{name: other, type: {{scalar: string}}}}
    - {{name: a, type: {{scalar: numeric}}}}
    - name: b
      type: {{map: {{fields: [{{name: x, type: {{scalar: numeric}}}}, {{name: w, type: {{scalar: numeric}}}}]}}}}
    - {{name: c, type: {{scalar: numeric}}}}
    unions:
    - {{{union}{comma}fields: [{{fieldName: a, discriminatorValue: A}},
        {{fieldName: b, discriminatorValue: B}}, {{fieldName: c, discriminatorValue: C}}]}}"
        );
    }
    Schema::from_yaml(&(text + OTHERS)).unwrap()
});

fn ty(name: &str) -> Type {
    SCHEMA.type_named(name).unwrap()
}

/// Version `v2` of `deducing` has other names.
struct Rename;

const NAMES: &[(&str, &str)] = &[("type", "kind"), ("a", "alpha"), ("b", "beta"), ("c", "gamma")];

impl Converter for Rename {
    fn convert(&self, object: &TypedValue, version: &ApiVersion) -> Result<TypedValue, ConvertError> {
        let to_v2 = match version.as_str() {
            "v1" => false,
            "v2" => true,
            _ => return Err(ConvertError::MissingVersion { version: version.clone() }),
        };
        let renamed = |name: &str| -> String {
            let found = NAMES.iter().find(|(v1, v2)| name == if to_v2 { *v1 } else { *v2 });
            found.map_or(name, |(v1, v2)| if to_v2 { v2 } else { v1 }).into()
        };
        let value = match object.value().as_map() {
            Some(map) => Value::Map(map.iter().map(|(k, v)| (renamed(k), v.clone())).collect::<Map>()),
            None => Value::Null,
        };
        let ty = ty(if to_v2 { "renamed" } else { "deducing" });
        Ok(TypedValue::new(value, ty, Duplicates::Allow).unwrap())
    }
}

/// What is done: `VERB MANAGER OBJECT`, with the verbs `apply`, `force` and `update`, at version `v1` or as in
/// `apply@v2`. And what follows: the live object and, after `|`, who owns what; `conflict: MANAGER PATH, ..`,
/// sorted, or `error: TEXT`. A failed step leaves everything as it was.
type Step<'s> = (&'s str, &'s str);

fn check(types: &[&str], steps: &[Step<'_>]) {
    for name in types {
        run(&Updater::builder().build(), name, steps);
    }
}

fn run(updater: &Updater, name: &str, steps: &[Step<'_>]) {
    let mut live = TypedValue::null(ty(name));
    let mut managers = Managers::new();
    for (action, wanted) in steps {
        let place = format!("{name}: {action}");
        let mut words = action.splitn(3, ' ');
        let (verb, who, yaml) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let (verb, version) = verb.split_once('@').unwrap_or((verb, "v1"));
        let version = ApiVersion::from(version);
        let at = |object: &TypedValue| {
            if version.as_str() == "v2" { Rename.convert(object, &version).unwrap() } else { object.clone() }
        };
        let before = at(&live);
        let object = Value::from_yaml(yaml).unwrap();
        let object = TypedValue::new(object, before.ty().clone(), Duplicates::Refuse).expect(&place);
        let result = match verb {
            "update" => updater
                .update(&before, &object, &version, &managers, who)
                .map(|updated| (updated.object, updated.managers)),
            verb => {
                let force = if verb == "force" { Force::Yes } else { Force::No };
                let applied = updater.apply(&before, &object, &version, &managers, who, force);
                applied.map(|applied| (applied.object.unwrap_or(before.clone()), applied.managers))
            }
        };
        let shown = match result {
            Ok((object, owners)) => {
                live = match version.as_str() {
                    "v2" => Rename.convert(&object, &"v1".into()).unwrap(),
                    _ => object,
                };
                managers = owners;
                format!("{} | {}", live.value().to_json(), owned(&managers))
            }
            Err(Error::Conflicts(conflicts)) => {
                let mut all: Vec<_> = conflicts.iter().map(|c| format!("{} {}", c.manager, c.path)).collect();
                all.sort();
                format!("conflict: {}", all.join(", "))
            }
            Err(error) => format!("error: {error}"),
        };
        let wanted = match wanted.split_once(" | ") {
            Some((object, owners)) => {
                let object = Value::from_yaml(object).unwrap();
                format!("{} | {owners}", object.to_json())
            }
            None => (*wanted).to_owned(),
        };
        assert_eq!(shown, wanted, "{place}");
    }
}

fn owned(managers: &Managers) -> String {
    let one = |(name, entry): (&fieldmanager_value::Str, &fieldmanager_fieldpath::VersionedSet)| {
        let mut paths: Vec<String> = entry.set().paths().map(|path| path.to_string()).collect();
        paths.sort();
        format!("{name} {}", paths.join(" "))
    };
    managers.iter().map(one).collect::<Vec<_>>().join(", ")
}

const WITH_DISCRIMINATOR: &[&str] = &["deducing", "respecting", "emptiable", "closed"];
const RESPECTING: &[&str] = &["respecting", "emptiable", "closed"];
const ALL: &[&str] = &["deducing", "respecting", "emptiable", "closed", "plain"];

// Rule 1.

#[test]
fn rule_1_a_configuration_sets_one_member_at_most() {
    check(
        ALL,
        &[
            (
                "apply alice {a: 1, c: 1}",
                "error: failed to normalize the unions: only one member of a union may be set, got `a`, `c`",
            ),
            (
                "apply alice {a: 1, b: {}, c: 1}",
                "error: failed to normalize the unions: only one member of a union may be set, got `a`, `b`, `c`",
            ),
            // Whatever is live, and forced or not.
            ("update bob {type: A, a: 1}", "{type: A, a: 1} | bob .a .type"),
            (
                "force alice {type: A, a: 1, c: 1}",
                "error: failed to normalize the unions: only one member of a union may be set, got `a`, `c`",
            ),
        ],
    );
}

#[test]
fn rule_1_null_is_not_set() {
    check(&["deducing"], &[("apply alice {a: null, c: 1}", "{type: C, a: null, c: 1} | alice .a .c .type")]);
}

#[test]
fn rule_1_a_member_beside_a_discriminator_that_selects_another_is_an_error() {
    let error = |value: &str| {
        format!(
            "error: failed to normalize the unions: `type` is \"{value}\", which does not select `a`: \
             set only one of them"
        )
    };
    check(
        WITH_DISCRIMINATOR,
        &[
            ("apply alice {type: B, a: 1}", &error("B")),
            ("apply alice {type: None, a: 1}", &error("None")),
            ("update bob {type: B, b: {x: 1}}", "{type: B, b: {x: 1}} | bob .b .b.x .type"),
            ("force alice {type: B, a: 1}", &error("B")),
        ],
    );
    // So does the empty string, where that is a declared value.
    check(&["emptiable"], &[("apply alice {type: '', a: 1}", &error(""))]);
    // Of a value that is not known nobody can say what it selects.
    check(WITH_DISCRIMINATOR, &[("apply alice {type: Own, a: 1}", "{type: Own, a: 1} | alice .a .type")]);
}

#[test]
fn rule_1_every_fault_is_reported_with_its_place() {
    check(
        &["root"],
        &[(
            "apply alice {spec: {a: 1, c: 1}, items: [{name: x, a: 1, b: 1}, {name: v, type: A, b: 1}]}",
            "error: failed to normalize the unions: \
             .items[name=\"x\"]: only one member of a union may be set, got `a`, `b`\n\
             .items[name=\"v\"]: `type` is \"A\", which does not select `b`: set only one of them\n\
             .spec: only one member of a union may be set, got `a`, `c`",
        )],
    );
    // Nothing inside atomic lists.
    check(&["root"], &[("apply alice {atomic: [{a: 1, b: 1}]}", "{atomic: [{a: 1, b: 1}]} | alice .atomic")]);
}

// Rule 2.

#[test]
fn rule_2_the_applier_owns_the_discriminator_that_follows_from_its_member() {
    check(
        &["deducing"],
        &[
            ("apply alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
            // Again, it changes nothing.
            ("apply alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
            ("apply alice {type: '', a: 2}", "{type: A, a: 2} | alice .a .type"),
            ("apply alice {type: null, a: 3}", "{type: A, a: 3} | alice .a .type"),
            ("apply alice {b: {x: 1}}", "{type: B, b: {x: 1}} | alice .b.x .type"),
        ],
    );
    check(
        &["root"],
        &[(
            "apply alice {items: [{name: x, b: 1}], spec: {b: {}}}",
            "{items: [{name: x, type: B, b: 1}], spec: {type: B, b: {}}} | \
             alice .items[name=\"x\"] .items[name=\"x\"].b .items[name=\"x\"].name .items[name=\"x\"].type \
             .spec.b .spec.type",
        )],
    );
}

/// The schema may have the values wrong: `Localhost` in Kubernetes, where it says `LocalhostProfile`.
#[test]
fn rule_2_a_live_discriminator_that_is_not_known_stays_beside_a_member_that_is_set_already() {
    check(
        &["deducing"],
        &[
            ("apply alice {type: Their, a: 1}", r#"{"a":1,"type":"Their"} | alice .a .type"#),
            ("apply bob {a: 1}", r#"{"a":1,"type":"Their"} | alice .a .type, bob .a"#),
            ("force bob {a: 2}", r#"{"a":2,"type":"Their"} | alice .type, bob .a"#),
            // A member that is new brings its own value, and that is a conflict.
            ("apply carol {c: 3}", "conflict: alice .type, bob .a"),
        ],
    );
    // Who empties the discriminator replaces the unknown value, and says which one is meant by the member.
    for empty in ["''", "null"] {
        check(
            &["deducing"],
            &[
                ("apply alice {type: Their, a: 1}", "{type: Their, a: 1} | alice .a .type"),
                (&format!("apply bob {{type: {empty}, a: 1}}"), "conflict: alice .type"),
                (&format!("force bob {{type: {empty}, a: 1}}"), "{type: A, a: 1} | alice .a, bob .a .type"),
                (&format!("apply bob {{type: {empty}, a: 1}}"), "{type: A, a: 1} | alice .a, bob .a .type"),
            ],
        );
    }
    check(
        &["root"],
        &[
            (
                "apply alice {items: [{name: x, type: Their, a: 1}]}",
                r#"{"items":[{"a":1,"name":"x","type":"Their"}]} | alice .items[name="x"] .items[name="x"].a .items[name="x"].name .items[name="x"].type"#,
            ),
            (
                "apply bob {items: [{name: x, a: 1}]}",
                r#"{"items":[{"a":1,"name":"x","type":"Their"}]} | alice .items[name="x"] .items[name="x"].a .items[name="x"].name .items[name="x"].type, bob .items[name="x"] .items[name="x"].a .items[name="x"].name"#,
            ),
        ],
    );
}

#[test]
fn rule_2_those_who_want_the_same_own_the_discriminator_together() {
    check(
        &["deducing"],
        &[
            ("apply alice {b: {x: 1}}", "{type: B, b: {x: 1}} | alice .b.x .type"),
            ("apply bob {b: {w: 2}}", "{type: B, b: {x: 1, w: 2}} | alice .b.x .type, bob .b.w .type"),
            // One of them alone cannot change it.
            ("apply alice {a: 1}", "conflict: bob .type"),
            ("apply alice {}", "{type: B, b: {w: 2}} | bob .b.w .type"),
        ],
    );
}

#[test]
fn rule_2_nothing_is_deduced_in_a_respecting_union_or_without_a_discriminator() {
    check(RESPECTING, &[("apply alice {a: 1}", "{a: 1} | alice .a")]);
    check(&["plain"], &[("apply alice {a: 1}", "{a: 1} | alice .a")]);
}

// Rule 3.

#[test]
fn rule_3_a_member_of_a_deducing_union_clears_the_others() {
    check(
        &["deducing"],
        &[
            ("apply alice {a: 1, other: o}", "{type: A, a: 1, other: o} | alice .a .other .type"),
            ("apply alice {c: 1, other: o}", "{type: C, c: 1, other: o} | alice .c .other .type"),
        ],
    );
    check(
        &["plain"],
        &[
            ("apply alice {a: 1, other: o}", "{a: 1, other: o} | alice .a .other"),
            ("apply alice {c: 1, other: o}", "{c: 1, other: o} | alice .c .other"),
        ],
    );
    check(
        &["root"],
        &[
            (
                "apply alice {items: [{name: x, a: 1}, {name: v, b: 1}]}",
                "{items: [{name: x, type: A, a: 1}, {name: v, type: B, b: 1}]} | \
                 alice .items[name=\"v\"] .items[name=\"v\"].b .items[name=\"v\"].name .items[name=\"v\"].type \
                 .items[name=\"x\"] .items[name=\"x\"].a .items[name=\"x\"].name .items[name=\"x\"].type",
            ),
            (
                "force bob {items: [{name: v, a: 2}]}",
                "{items: [{name: x, type: A, a: 1}, {name: v, type: A, a: 2}]} | \
                 alice .items[name=\"v\"] .items[name=\"v\"].name \
                 .items[name=\"x\"] .items[name=\"x\"].a .items[name=\"x\"].name .items[name=\"x\"].type, \
                 bob .items[name=\"v\"] .items[name=\"v\"].a .items[name=\"v\"].name .items[name=\"v\"].type",
            ),
        ],
    );
}

/// What an object came to hold by a stored fault is put right by the next who says what is wanted.
#[test]
fn rule_3_what_nobody_owns_is_cleared_without_conflict() {
    let off = Updater::builder().unions(false).build();
    let on = Updater::builder().build();
    let live = TypedValue::null(ty("plain"));
    let both = TypedValue::new(Value::from_yaml("{a: 1, c: 1}").unwrap(), ty("plain"), Duplicates::Allow);
    let live = off.update(&live, &both.unwrap(), &"v1".into(), &Managers::new(), "store").unwrap().object;
    let config = TypedValue::new(Value::from_yaml("{b: {x: 1}}").unwrap(), ty("plain"), Duplicates::Refuse);
    let applied =
        on.apply(&live, &config.unwrap(), &"v1".into(), &Managers::new(), "alice", Force::No).unwrap();
    assert_eq!(applied.object.unwrap().value().to_json(), r#"{"b":{"x":1}}"#);
    assert_eq!(owned(&applied.managers), "alice .b.x");
}

#[test]
fn rule_3_a_discriminator_that_differs_from_the_live_one_clears() {
    check(
        WITH_DISCRIMINATOR,
        &[
            ("update alice {type: A, a: 1}", "{type: A, a: 1} | alice .a .type"),
            // The same as the live one clears nothing.
            ("apply bob {type: A}", "{type: A, a: 1} | alice .a .type, bob .type"),
            ("force bob {type: C}", "{type: C} | bob .type"),
            ("apply bob {type: C, c: 1}", "{type: C, c: 1} | bob .c .type"),
            ("apply bob {type: None}", "{type: None} | bob .type"),
        ],
    );
}

#[test]
fn rule_3_the_selected_member_stays_even_if_others_own_it() {
    check(
        RESPECTING,
        &[
            ("update carol {type: C}", "{type: C} | carol .type"),
            ("update alice {type: C, a: 1}", "{type: C, a: 1} | alice .a, carol .type"),
            ("force bob {type: A}", "{type: A, a: 1} | alice .a, bob .type"),
        ],
    );
}

/// The member that an unknown value comes with stays: the schema may have the value wrong.
#[test]
fn rule_3_an_unknown_discriminator_clears_what_the_configuration_does_not_set() {
    check(
        &["deducing", "respecting", "emptiable"],
        &[
            ("update alice {type: A, a: 1}", "{type: A, a: 1} | alice .a .type"),
            ("force bob {type: Own, c: 1}", "{type: Own, c: 1} | bob .c .type"),
            ("apply bob {type: Other}", "{type: Other} | bob .type"),
        ],
    );
    check(
        &["closed"],
        &[
            ("update alice {type: A, a: 1}", "{type: A, a: 1} | alice .a .type"),
            ("force bob {type: Own, other: o}", "{type: Own, a: 1, other: o} | alice .a, bob .other .type"),
        ],
    );
}

/// KEP-1027 of 2022, cases 22 and 27: the empty value is how to say that nothing is wanted.
#[test]
fn rule_3_the_declared_empty_string_clears_every_member() {
    check(
        &["emptiable"],
        &[
            ("update alice {type: A, a: 1}", "{type: A, a: 1} | alice .a .type"),
            ("apply bob {type: ''}", "conflict: alice .type"),
            ("force bob {type: ''}", "{type: ''} | bob .type"),
        ],
    );
}

#[test]
fn rule_3_a_respecting_union_clears_nothing_while_its_discriminator_is_unchanged() {
    check(
        RESPECTING,
        &[
            ("update alice {type: A, a: 1}", "{type: A, a: 1} | alice .a .type"),
            // Validation refuses this.
            ("apply bob {c: 1}", "{type: A, a: 1, c: 1} | alice .a .type, bob .c"),
        ],
    );
}

/// What an apply shares with the live object is not looked at again by the next update: that must make no
/// difference, even after a configuration that empties the discriminator of a deducing union.
#[test]
fn rule_3_an_emptied_discriminator_of_a_deducing_union_follows_in_the_next_update() {
    let updater = Updater::builder().build();
    let ty = ty("root");
    let typed =
        |yaml: &str| TypedValue::new(Value::from_yaml(yaml).unwrap(), ty.clone(), Duplicates::Allow).unwrap();
    let v1 = ApiVersion::from("v1");
    let live = updater.update(
        &TypedValue::null(ty.clone()),
        &typed("{items: [{name: x, a: 1}]}"),
        &v1,
        &Managers::new(),
        "ops",
    );
    let live = live.unwrap();
    let config = typed("{items: [{name: x, type: ''}]}");
    let applied = updater.apply(&live.object, &config, &v1, &live.managers, "alice", Force::Yes).unwrap();
    let live = applied.object.unwrap();

    let sharing = live.merge(&typed("{atomic: []}")).unwrap();
    let sharing = updater.update(&live, &sharing, &v1, &applied.managers, "bob").unwrap();
    let anew = typed(sharing.object.value().to_json().as_str());
    let fresh = typed(live.value().to_json().as_str());
    let anew = updater.update(&fresh, &anew, &v1, &applied.managers, "bob").unwrap();
    assert_eq!(sharing.object.value().to_json(), anew.object.value().to_json());
    assert_eq!(owned(&sharing.managers), owned(&anew.managers));
}

// Rule 4.

#[test]
fn rule_4_a_conflict_about_the_discriminator_says_it_all() {
    check(
        &["deducing"],
        &[
            ("apply alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
            ("apply bob {c: 1}", "conflict: alice .type"),
            ("apply bob {type: C}", "conflict: alice .type"),
            ("apply bob {type: C, c: 1}", "conflict: alice .type"),
            ("force bob {c: 1}", "{type: C, c: 1} | bob .c .type"),
            ("apply alice {a: 1}", "conflict: bob .type"),
        ],
    );
    // A member that is a struct, and all below it.
    check(
        &["deducing"],
        &[
            ("apply alice {b: {x: 1, w: 1}}", "{type: B, b: {x: 1, w: 1}} | alice .b.w .b.x .type"),
            ("apply bob {c: 1}", "conflict: alice .type"),
            ("force bob {c: 1}", "{type: C, c: 1} | bob .c .type"),
        ],
    );
    check(
        WITH_DISCRIMINATOR,
        &[
            ("apply alice {type: B, b: {x: 1}}", "{type: B, b: {x: 1}} | alice .b.x .type"),
            ("apply bob {type: C, c: 1}", "conflict: alice .type"),
        ],
    );
}

#[test]
fn rule_4_a_cleared_member_of_one_who_does_not_own_the_discriminator_is_a_conflict_on_it() {
    check(
        WITH_DISCRIMINATOR,
        &[
            ("apply alice {type: A}", "{type: A} | alice .type"),
            ("update carol {type: A, a: 1}", "{type: A, a: 1} | alice .type, carol .a"),
            ("apply bob {type: C, c: 1}", "conflict: alice .type, carol .a"),
            ("apply alice {type: C}", "conflict: carol .a"),
            ("force alice {type: C}", "{type: C} | alice .type"),
        ],
    );
    // A struct of which several own a part: each has a conflict on the member.
    check(
        WITH_DISCRIMINATOR,
        &[
            ("apply alice {type: B}", "{type: B} | alice .type"),
            ("update carol {type: B, b: {x: 1}}", "{type: B, b: {x: 1}} | alice .type, carol .b .b.x"),
            (
                "update dave {type: B, b: {x: 1, w: 1}}",
                "{type: B, b: {x: 1, w: 1}} | alice .type, carol .b .b.x, dave .b.w",
            ),
            ("apply alice {type: C}", "conflict: carol .b, dave .b"),
            ("apply bob {type: C}", "conflict: alice .type, carol .b, dave .b"),
        ],
    );
    check(
        WITH_DISCRIMINATOR,
        &[
            ("apply alice {type: B}", "{type: B} | alice .type"),
            ("update carol {type: B, b: {}}", "{type: B, b: {}} | alice .type, carol .b"),
            ("apply alice {type: C}", "conflict: carol .b"),
        ],
    );
}

#[test]
fn rule_4_without_discriminator_the_members_conflict() {
    check(
        &["plain"],
        &[
            ("apply alice {a: 1, other: o}", "{a: 1, other: o} | alice .a .other"),
            ("apply bob {c: 1}", "conflict: alice .a"),
            ("force bob {c: 1}", "{c: 1, other: o} | alice .other, bob .c"),
            ("apply alice {b: {x: 1, w: 1}, other: o}", "conflict: bob .c"),
            (
                "force alice {b: {x: 1, w: 1}, other: o}",
                "{b: {x: 1, w: 1}, other: o} | alice .b.w .b.x .other",
            ),
            ("apply bob {c: 1}", "conflict: alice .b"),
        ],
    );
}

#[test]
fn rule_4_a_conflict_about_one_union_says_nothing_about_another() {
    check(
        &["two"],
        &[
            ("apply alice {a: 1, u: 1}", "{type: A, a: 1, kind: U, u: 1} | alice .a .kind .type .u"),
            ("apply bob {b: 1, v: 1}", "conflict: alice .kind, alice .type"),
            ("apply bob {b: 1}", "conflict: alice .type"),
        ],
    );
    check(
        &["two"],
        &[
            ("update carol {kind: U}", "{kind: U} | carol .kind"),
            // The update deduces nothing new about `kind`: it is the same.
            (
                "update alice {kind: U, a: 1, u: 1}",
                "{type: A, a: 1, kind: U, u: 1} | alice .a .type .u, carol .kind",
            ),
            ("apply bob {b: 1, v: 1}", "conflict: alice .type, alice .u, carol .kind"),
        ],
    );
}

#[test]
fn rule_4_inside_list_items() {
    check(
        &["root"],
        &[
            (
                "apply alice {items: [{name: x, a: 1}]}",
                "{items: [{name: x, type: A, a: 1}]} | alice .items[name=\"x\"] .items[name=\"x\"].a \
                 .items[name=\"x\"].name .items[name=\"x\"].type",
            ),
            ("apply bob {items: [{name: x, b: 1}]}", "conflict: alice .items[name=\"x\"].type"),
        ],
    );
}

/// The conflict tells what would go.
#[test]
fn rule_4_a_conflict_on_a_cleared_member_has_its_values() {
    let updater = Updater::builder().build();
    let typed = |yaml: &str| {
        TypedValue::new(Value::from_yaml(yaml).unwrap(), ty("plain"), Duplicates::Refuse).unwrap()
    };
    let v1 = ApiVersion::from("v1");
    let null = TypedValue::null(ty("plain"));
    let alice = updater.apply(&null, &typed("{b: {x: 1}}"), &v1, &Managers::new(), "alice", Force::No);
    let alice = alice.unwrap();
    let live = alice.object.unwrap();
    let error = updater.apply(&live, &typed("{c: 1}"), &v1, &alice.managers, "bob", Force::No).unwrap_err();
    assert_eq!(error.to_string(), "conflict with \"alice\": .b");
    let conflict = error.conflicts().unwrap().iter().next().unwrap();
    assert_eq!(conflict.live.as_ref().unwrap().to_json(), r#"{"x":1}"#);
    assert_eq!(conflict.wanted, None);
}

#[test]
fn rule_4_own_fields_are_no_conflict() {
    check(
        &["deducing"],
        &[
            ("apply alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
            ("apply alice {c: 1}", "{type: C, c: 1} | alice .c .type"),
            ("apply alice {type: B}", "{type: B} | alice .type"),
        ],
    );
}

// Rule 5.

#[test]
fn rule_5_what_is_not_applied_any_more_goes_unless_others_own_it() {
    check(
        &["deducing"],
        &[
            ("apply alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
            ("apply bob {a: 1}", "{type: A, a: 1} | alice .a .type, bob .a .type"),
            ("apply alice {}", "{type: A, a: 1} | bob .a .type"),
            ("apply bob {}", "null | "),
        ],
    );
    check(
        WITH_DISCRIMINATOR,
        &[
            ("apply alice {type: A, a: 1}", "{type: A, a: 1} | alice .a .type"),
            ("apply alice {type: C, c: 1}", "{type: C, c: 1} | alice .c .type"),
            ("apply alice {type: C}", "{type: C} | alice .type"),
            ("update carol {type: C, c: 1}", "{type: C, c: 1} | alice .type, carol .c"),
            // The member stays: carol owns it.
            ("apply alice {}", "{c: 1} | carol .c"),
        ],
    );
    check(
        &["plain"],
        &[
            ("apply alice {a: 1}", "{a: 1} | alice .a"),
            ("apply alice {c: 1}", "{c: 1} | alice .c"),
            ("apply alice {}", "null | "),
        ],
    );
}

/// A manager that wrote the discriminator and now leaves it to follow keeps owning it.
#[test]
fn rule_5_a_discriminator_that_is_deduced_is_not_pruned() {
    check(
        &["deducing"],
        &[
            ("apply alice {type: A, a: 1}", "{type: A, a: 1} | alice .a .type"),
            ("apply alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
            ("apply bob {a: 1}", "{type: A, a: 1} | alice .a .type, bob .a .type"),
            ("apply bob {type: A, a: 1}", "{type: A, a: 1} | alice .a .type, bob .a .type"),
        ],
    );
}

// Updates.

#[test]
fn an_update_owns_what_normalization_changed() {
    check(
        &["deducing"],
        &[
            ("update hpa {a: 1}", "{type: A, a: 1} | hpa .a .type"),
            ("update ops {type: A, a: 1, c: 1}", "{type: C, c: 1} | ops .c .type"),
            (
                "apply alice {c: 1, other: o}",
                "{type: C, c: 1, other: o} | alice .c .other .type, ops .c .type",
            ),
            ("update ops {type: A, c: 1, other: o}", "{type: A, other: o} | alice .other, ops .type"),
        ],
    );
    check(
        &["plain"],
        &[
            ("apply alice {a: 1, other: o}", "{a: 1, other: o} | alice .a .other"),
            ("update ops {a: 1, c: 1, other: o}", "{c: 1, other: o} | alice .other, ops .c"),
        ],
    );
    check(
        WITH_DISCRIMINATOR,
        &[
            ("apply alice {type: A, a: 1}", "{type: A, a: 1} | alice .a .type"),
            (
                "update ops {type: B, a: 1, c: 1}",
                "error: failed to normalize the unions: `type` is \"B\", which does not select `c`: \
                 set only one of them",
            ),
            ("update ops {type: B, a: 1}", "{type: B} | ops .type"),
        ],
    );
    check(
        &["emptiable"],
        &[
            ("apply alice {type: A, a: 1}", "{type: A, a: 1} | alice .a .type"),
            ("update ops {type: '', a: 1}", "{type: ''} | ops .type"),
        ],
    );
}

// Other versions.

#[test]
fn a_manager_at_another_version_is_in_conflict_by_the_names_of_its_version() {
    let updater = Updater::builder().converter(Rename).build();
    run(
        &updater,
        "deducing",
        &[
            ("apply alice {b: {x: 1}}", "{type: B, b: {x: 1}} | alice .b.x .type"),
            ("apply@v2 bob {gamma: 1}", "conflict: alice .type"),
            ("apply@v2 bob {kind: C}", "conflict: alice .type"),
            ("force@v2 bob {gamma: 1}", "{type: C, c: 1} | bob .gamma .kind"),
            ("apply alice {a: 1}", "conflict: bob .kind"),
            ("force alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
        ],
    );
    run(
        &updater,
        "deducing",
        &[
            ("apply alice {type: B}", "{type: B} | alice .type"),
            (
                "update@v2 carol {kind: B, beta: {x: 1}}",
                "{type: B, b: {x: 1}} | alice .type, carol .beta .beta.x",
            ),
            ("apply alice {type: C}", "conflict: carol .beta"),
            ("apply@v2 bob {gamma: 1}", "conflict: alice .type, carol .beta"),
            ("force@v2 bob {gamma: 1}", "{type: C, c: 1} | bob .gamma .kind"),
        ],
    );
    run(
        &updater,
        "deducing",
        &[
            ("apply alice {a: 1}", "{type: A, a: 1} | alice .a .type"),
            // It moves to another version, and to another member.
            ("apply@v2 alice {gamma: 1}", "{type: C, c: 1} | alice .gamma .kind"),
            ("apply@v2 alice {}", "null | "),
        ],
    );
}

// The switch.

#[test]
fn switched_off_unions_mean_nothing() {
    let off = Updater::builder().unions(false).build();
    for name in ALL {
        run(
            &off,
            name,
            &[
                ("apply alice {a: 1}", "{a: 1} | alice .a"),
                ("apply bob {c: 1}", "{a: 1, c: 1} | alice .a, bob .c"),
                (
                    "apply carol {type: B, b: {x: 1}}",
                    "{type: B, a: 1, b: {x: 1}, c: 1} | alice .a, bob .c, carol .b.x .type",
                ),
                (
                    "apply dave {a: 1, c: 1}",
                    "{type: B, a: 1, b: {x: 1}, c: 1} | alice .a, bob .c, carol .b.x .type, dave .a .c",
                ),
                (
                    "update ops {type: C, a: 1, b: {x: 1}, c: 1}",
                    "{type: C, a: 1, b: {x: 1}, c: 1} | alice .a, bob .c, carol .b.x, dave .a .c, ops .type",
                ),
            ],
        );
    }
}

/// What was stored while it was off can be read and put right; what it says wrong is no error by itself.
#[test]
fn what_was_stored_while_it_was_off_can_be_put_right() {
    let typed = |yaml: &str| {
        TypedValue::new(Value::from_yaml(yaml).unwrap(), ty("deducing"), Duplicates::Allow).unwrap()
    };
    let v1 = ApiVersion::from("v1");
    let off = Updater::builder().unions(false).build();
    let on = Updater::builder().build();
    let null = TypedValue::null(ty("deducing"));
    let stored = off.update(&null, &typed("{type: A, a: 1, c: 1}"), &v1, &Managers::new(), "old").unwrap();
    let new = typed("{type: A, a: 1, c: 1, other: o}");
    let kept = on.update(&stored.object, &new, &v1, &stored.managers, "ops").unwrap();
    assert_eq!(kept.object.value(), new.value());
    let applied = on.apply(&kept.object, &typed("{type: C}"), &v1, &kept.managers, "alice", Force::Yes);
    let applied = applied.unwrap();
    assert_eq!(applied.object.unwrap().value().to_json(), r#"{"c":1,"other":"o","type":"C"}"#);
    assert_eq!(owned(&applied.managers), "alice .type, old .c, ops .other");
}
