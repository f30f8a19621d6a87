//! Prunes, drops nulls and fills in defaults.

#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use fieldmanager_structural::internal::prune_defaults;
use fieldmanager_structural::{Error, Structural};
use fieldmanager_value::{MAX_DEPTH, Map, Value};

fn yaml(text: &str) -> Value {
    Value::from_yaml(text).unwrap()
}

fn read(text: &str) -> Structural {
    Structural::from_value(&yaml(text)).unwrap()
}

/// Checks the pruned object and the removed paths, and that pruning is idempotent.
fn check_prune(schema: &str, is_root: bool, object: &str, pruned: &str, paths: &[&str]) {
    let (schema, object) = (read(schema), yaml(object));
    let found = schema.prune(&object, is_root).unwrap();
    assert_eq!(found.object, yaml(pruned), "{schema:?} {object}");
    assert_eq!(found.paths, paths, "{schema:?} {object}");
    let again = schema.prune(&found.object, is_root).unwrap();
    assert!(again.object.ptr_eq(&found.object) && again.paths.is_empty());
    assert_eq!(
        paths.is_empty() && object == found.object,
        found.object.ptr_eq(&object)
    );
}

#[test]
fn unknown_fields_are_pruned() {
    let schema =
        "{type: object, properties: {a: {type: object, properties: {b: {type: string}}}, q: {}}}";
    check_prune(schema, false, "{a: {b: x}}", "{a: {b: x}}", &[]);
    check_prune(
        schema,
        false,
        "{a: {b: x, c: z}, d: z}",
        "{a: {b: x}}",
        &["a.c", "d"],
    );
    check_prune(schema, false, "{a: null, c: null}", "{a: null}", &["c"]);
    check_prune(
        schema,
        false,
        "{a: text, q: {x: 1}}",
        "{a: text, q: {}}",
        &["q.x"],
    );
    check_prune(
        schema,
        false,
        "{a: [{b: x}, 1]}",
        "{a: [{}, 1]}",
        &["a[0].b"],
    );
    check_prune(schema, false, "[{a: 1}]", "[{}]", &["[0].a"]);
    check_prune(schema, false, "text", "text", &[]);
    check_prune(
        "{type: array, items: {type: array}}",
        false,
        "[[{a: 1}, 2]]",
        "[[{}, 2]]",
        &["[0][0].a"],
    );
    // Junctors do not declare fields.
    check_prune(
        "{anyOf: [{properties: {a: {}}}]}",
        false,
        "{a: 1}",
        "{}",
        &["a"],
    );
}

#[test]
fn resource_root_keeps_its_three_fields() {
    let object = "{apiVersion: v1, kind: A, metadata: {x: {w: z}}, spec: 1}";
    check_prune(
        "{type: object}",
        true,
        object,
        "{apiVersion: v1, kind: A, metadata: {x: {w: z}}}",
        &["spec"],
    );
    // Their removal from the root is not reported.
    check_prune("{type: object}", false, object, "{}", &["spec"]);
    let embedded = "{properties: {a: {x-kubernetes-embedded-resource: true, properties: {metadata: {type: object}}}}}";
    check_prune(
        embedded,
        false,
        "{a: {kind: A, metadata: {x: 1}, b: 1}}",
        "{a: {kind: A, metadata: {x: 1}}}",
        &["a.b"],
    );
    check_prune(
        "{properties: {a: {}}}",
        true,
        "{a: {kind: A}}",
        "{a: {}}",
        &["a.kind"],
    );
}

#[test]
fn additional_properties_keep_all_fields() {
    let schema = "{additionalProperties: {type: object, properties: {b: {}}}, properties: {p: {type: string}}}";
    check_prune(
        schema,
        false,
        "{a: {b: 1, c: 2}, p: {b: 1}}",
        "{a: {b: 1}, p: {}}",
        &["a.c", "p.b"],
    );
    for additional in ["true", "false"] {
        let schema = format!("{{additionalProperties: {additional}}}");
        check_prune(
            &schema,
            false,
            "{a: 1, b: {c: 1}, d: [{e: 1}]}",
            "{a: 1, b: {}, d: [{}]}",
            &["b.c", "d[0].e"],
        );
    }
}

#[test]
fn preserve_unknown_fields_keeps_fields() {
    let p = "x-kubernetes-preserve-unknown-fields: true";
    check_prune(
        &format!("{{{p}}}"),
        false,
        "{a: {b: [{c: 1}]}}",
        "{a: {b: [{c: 1}]}}",
        &[],
    );
    // Declared fields are pruned again.
    let schema = format!("{{{p}, properties: {{a: {{properties: {{b: {{}}}}}}}}}}");
    check_prune(
        &schema,
        false,
        "{a: {b: 1, c: 1}, d: {e: 1}}",
        "{a: {b: 1}, d: {e: 1}}",
        &["a.c"],
    );
    let schema = format!("{{{p}, additionalProperties: {{properties: {{b: {{}}}}}}}}");
    check_prune(&schema, false, "{a: {b: 1, c: 1}}", "{a: {b: 1}}", &["a.c"]);
    // The items of a list inherit the mode of the list, except in the fields that they declare.
    let schema = format!("{{{p}, items: {{properties: {{a: {{properties: {{}}}}}}}}}}");
    check_prune(
        &schema,
        false,
        "[{a: {b: 1}, c: {d: 1}}]",
        "[{a: {}, c: {d: 1}}]",
        &["[0].a.b"],
    );
    let schema = format!("{{{p}, items: {{items: {{properties: {{a: {{}}}}}}}}}}");
    check_prune(
        &schema,
        false,
        "[[{a: {b: 1}, c: {d: 1}}]]",
        "[[{a: {}, c: {d: 1}}]]",
        &["[0][0].a.b"],
    );
    check_prune(
        &format!("{{{p}}}"),
        false,
        "[{a: {b: 1}}]",
        "[{a: {b: 1}}]",
        &[],
    );
    let schema = format!(
        "{{{p}, items: {{x-kubernetes-embedded-resource: true, properties: {{kind: {{}}}}}}}}"
    );
    check_prune(
        &schema,
        false,
        "[{kind: {a: 1}, b: 1}]",
        "[{kind: {a: 1}, b: 1}]",
        &[],
    );
}

#[test]
fn paths_are_sorted_as_strings() {
    let object: Vec<String> = (0..11).map(|i| format!("{{z: {i}}}")).collect();
    let schema = "{properties: {l: {type: array, items: {type: object}}}}";
    let found = read(schema)
        .prune(
            &yaml(&format!("{{l: [{}], a.b: 1}}", object.join(", "))),
            false,
        )
        .unwrap();
    assert_eq!(found.paths[..4], ["a.b", "l[0].z", "l[10].z", "l[1].z"]);
}

/// Checks the object after dropping nulls.
fn check_nulls(schema: &str, object: &str, left: &str) {
    let (schema, object) = (read(schema), yaml(object));
    let found = schema.drop_nulls(&object).unwrap();
    assert_eq!(found, yaml(left));
    assert_eq!(found == object, found.ptr_eq(&object));
}

#[test]
fn non_nullable_nulls_are_dropped() {
    let schema = "
properties:
  a: {}
  q: {nullable: true}
  d: {default: 1}
  nd: {nullable: true, default: 1}
  m: {additionalProperties: {}}
  b: {additionalProperties: true}
  l: {items: {properties: {a: {}}}}
";
    check_nulls(
        schema,
        "{a: null, q: null, d: null, nd: null, x: null}",
        "{q: null, d: null, nd: null, x: null}",
    );
    check_nulls(
        schema,
        "{m: {x: null, w: 1}, b: {x: null}, l: [null, {a: null}]}",
        "{m: {w: 1}, b: {x: null}, l: [null, {}]}",
    );
    check_nulls(
        schema,
        "{a: 1, m: {}, l: [{a: 1}]}",
        "{a: 1, m: {}, l: [{a: 1}]}",
    );
    check_nulls(schema, "null", "null");
}

/// Checks the object after defaulting, and that defaulting is idempotent.
fn check_default(schema: &str, object: &str, filled: &str) {
    let (schema, object) = (read(schema), yaml(object));
    let found = schema.default_object(&object).unwrap();
    assert!(
        found.strict_eq(&yaml(filled)),
        "{schema:?} {object}: {found}"
    );
    assert_eq!(found == object, found.ptr_eq(&object));
    assert!(schema.default_object(&found).unwrap().ptr_eq(&found));
}

#[test]
fn missing_fields_get_defaults() {
    let schema =
        "{properties: {a: {default: 1}, q: {default: 2, nullable: true}, z: {default: null}}}";
    check_default(schema, "{}", "{a: 1, q: 2}");
    check_default(
        schema,
        "{a: null, q: null, z: null}",
        "{a: 1, q: null, z: null}",
    );
    check_default(
        schema,
        "{a: {x: 1}, q: false, b: 0}",
        "{a: {x: 1}, q: false, b: 0}",
    );
    check_default(schema, "[]", "[]");
    check_default(schema, "5", "5");
}

#[test]
fn defaults_do_not_create_parents_but_get_nested_defaults() {
    let inner = "properties: {b: {default: 1}, c: {properties: {d: {default: 2}}}}";
    check_default(&format!("{{properties: {{a: {{{inner}}}}}}}"), "{}", "{}");
    check_default(
        &format!("{{properties: {{a: {{{inner}}}}}}}"),
        "{a: {c: {}}}",
        "{a: {b: 1, c: {d: 2}}}",
    );
    check_default(
        &format!("{{properties: {{a: {{default: {{}}, {inner}}}}}}}"),
        "{}",
        "{a: {b: 1}}",
    );
    check_default(
        &format!("{{properties: {{a: {{default: {{c: {{}}}}, {inner}}}}}}}"),
        "{a: null}",
        "{a: {b: 1, c: {d: 2}}}",
    );
}

#[test]
fn nulls_in_lists_and_maps_get_defaults() {
    check_default("{items: {default: 1}}", "[null, 2]", "[1, 2]");
    check_default("{items: {}}", "[null]", "[null]");
    check_default("{items: {default: 1, nullable: true}}", "[null]", "[null]");
    check_default(
        "{items: {properties: {a: {default: 1}}}}",
        "[{}, {a: 2}, null]",
        "[{a: 1}, {a: 2}, null]",
    );
    check_default(
        "{additionalProperties: {default: {}, properties: {a: {default: 1}}}}",
        "{x: null, w: {}}",
        "{x: {a: 1}, w: {a: 1}}",
    );
    check_default("{additionalProperties: {}}", "{x: null}", "{x: null}");
    check_default("{additionalProperties: true}", "{x: {}}", "{x: {}}");
    check_default(
        "{additionalProperties: {default: 1}, properties: {a: {default: 2}}}",
        "{a: null, b: null}",
        "{a: 2, b: 1}",
    );
}

#[test]
fn default_is_shared_with_the_schema() {
    let schema = read("{properties: {a: {default: {x: [1]}}}}");
    let object = schema.default_object(&yaml("{}")).unwrap();
    let default = schema
        .properties
        .get("a")
        .unwrap()
        .generic
        .default
        .clone()
        .unwrap();
    assert!(object.get("a").unwrap().ptr_eq(&default));
}

/// Checks the defaults of a schema after pruning.
fn check_prune_defaults(schema: &str, pruned: &str) {
    let found = prune_defaults(&read(schema)).unwrap();
    assert_eq!(found.to_value(), read(pruned).to_value());
    assert!(prune_defaults(&found).unwrap().ptr_eq(&found));
}

#[test]
fn prune_defaults_prunes_and_coerces() {
    check_prune_defaults("{default: {a: 1, kind: A}}", "{default: {kind: A}}");
    check_prune_defaults(
        "{properties: {a: {items: {default: {b: 1, c: 2}, properties: {b: {}}}}}}",
        "{properties: {a: {items: {default: {b: 1}, properties: {b: {}}}}}}",
    );
    check_prune_defaults(
        "{properties: {m: {additionalProperties: {default: {b: 1}}}}}",
        "{properties: {m: {additionalProperties: {default: {}}}}}",
    );
    // Metadata is coerced, and defaults of a wrong type are dropped.
    let metadata = |rest: &str| format!("{{properties: {{metadata: {{properties: {{{rest}}}}}}}}}");
    check_prune_defaults(
        &metadata("name: {default: 5}, labels: {default: {a: b}}"),
        &metadata("name: {}, labels: {default: {a: b}}"),
    );
    check_prune_defaults(&metadata("unknown: {default: 5}"), &metadata("unknown: {}"));
    check_prune_defaults(
        "{properties: {a: {x-kubernetes-embedded-resource: true, default: {kind: 5, metadata: {name: x, w: z}}}}}",
        "{properties: {a: {x-kubernetes-embedded-resource: true, default: {metadata: {name: x}}}}}",
    );
    for root in ["{default: 1}", "{items: {default: {}}}"] {
        let error = prune_defaults(&read(root)).unwrap_err();
        assert_eq!(error, Error::RootDefault);
        assert_eq!(
            error.to_string(),
            "failed to prune default value: object root default value must be of object type"
        );
    }
}

#[test]
fn too_deep_objects_are_refused() {
    // A schema of the maximum depth, and an object that is deeper.
    let levels = MAX_DEPTH / 2 - 1;
    let schema = format!(
        "{}{{}}{}",
        r#"{"items":"#.repeat(levels),
        "}".repeat(levels)
    );
    let schema = Structural::from_value(&Value::from_json(&schema).unwrap()).unwrap();
    let any = read("{x-kubernetes-preserve-unknown-fields: true, properties: {a: {default: 1}}}");
    let lists = |levels: usize| (0..levels).fold(Value::Null, |inner, _| Value::from(vec![inner]));
    assert!(schema.prune(&lists(MAX_DEPTH), false).is_ok());
    assert_eq!(
        schema.prune(&lists(MAX_DEPTH + 1), false),
        Err(Error::TooDeep)
    );
    let recursive = (0..3).fold(any, |_, _| {
        read("{additionalProperties: {default: 1}, items: {default: 1}}")
    });
    assert!(recursive.default_object(&lists(2)).is_ok());

    // Nested defaults make an object deeper than it was.
    let mut value = Value::Null;
    for _ in 0..MAX_DEPTH - 4 {
        value = Map::single("a", value).into();
    }
    let deep = Value::from(Map::single(
        "properties",
        Map::single("a", Map::single("default", value)),
    ));
    assert!(
        Structural::from_value(&deep)
            .unwrap()
            .default_object(&yaml("{}"))
            .is_ok()
    );
}
