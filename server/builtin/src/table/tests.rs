use super::*;

fn yaml(text: &str) -> Value {
    Value::from_yaml(text).unwrap()
}

/// Applies rules to an object.
fn applied(rules: &str, object: &str, live: Option<&str>) -> Value {
    let table = Table::new(
        &[format!("v1/A:\n  create:\n  - {rules}\n").leak()],
        "T: [{default: {t: 1}}]",
        &[("double", |value, _| Some(Value::from(value.as_i64()? * 2)))],
    );
    table
        .apply(
            &GroupVersionKind::new("", "v1", "A"),
            "create",
            &yaml(object),
            live.map(yaml).as_ref(),
            Some(&yaml("{zero: {}}")),
        )
        .unwrap()
}

#[test]
fn absent_values_are_defaulted_and_null_is_absent() {
    assert_eq!(
        applied("default: {a.b: 1, c: 2}", "{c: 0}", None),
        yaml("{a: {b: 1}, c: 0}")
    );
    assert_eq!(
        applied("default: {c: 2}", "{c: null}", None),
        yaml("{c: 2}")
    );
}

#[test]
fn conditions_name_accepted_refused_and_absent_values() {
    let rule = "{when: {a: [x, null], b: {not: y}}, set: {done: true}}";
    for (object, holds) in [
        ("{}", true),
        ("{a: x}", true),
        ("{a: z}", false),
        ("{b: y}", false),
        ("{b: n}", true),
    ] {
        assert_eq!(
            applied(rule, object, None).get("done").is_some(),
            holds,
            "{object}"
        );
    }
    let rule = "{when_live: {a: {not: null}}, set: {done: true}}";
    assert_eq!(applied(rule, "{}", Some("{a: 1}")), yaml("{done: true}"));
    assert_eq!(applied(rule, "{}", None), yaml("{}"));
}

#[test]
fn rules_apply_to_each_value_at_a_path() {
    assert_eq!(
        applied("{at: 'l[]', apply: T}", "{l: [{}, {t: 2}, 3]}", None),
        yaml("{l: [{t: 1}, {t: 2}, 3]}")
    );
    assert_eq!(
        applied("{at: 'm{}', call: double}", "{m: {a: 1, b: x}}", None),
        yaml("{m: {a: 2, b: x}}")
    );
}

#[test]
fn values_are_copied_and_maps_are_filled() {
    assert_eq!(
        applied("copy: {a: b}", "{b: 1}", None),
        yaml("{a: 1, b: 1}")
    );
    assert_eq!(
        applied("copy: {a: b}", "{a: 2, b: 1}", None),
        yaml("{a: 2, b: 1}")
    );
    assert_eq!(applied("copy: {a: b}", "{}", None), yaml("{}"));
    assert_eq!(
        applied("fill: {a: b}", "{a: {x: 1}, b: {x: 2, y: 2}}", None),
        yaml("{a: {x: 1, y: 2}, b: {x: 2, y: 2}}")
    );
}

#[test]
fn values_are_kept_removed_and_dropped() {
    assert_eq!(
        applied("keep: [a, b]", "{a: 1}", Some("{b: 2}")),
        yaml("{b: 2}")
    );
    assert_eq!(
        applied("reset: [zero, a]", "{zero: {x: 1}, a: 1}", None),
        yaml("{zero: {}}")
    );
    assert_eq!(
        applied("remove: [a.b]", "{a: {b: 1}}", None),
        yaml("{a: {}}")
    );
    assert_eq!(
        applied("{remove: [a.b], omit_empty: [a]}", "{a: {b: 1}}", None),
        yaml("{}")
    );
    assert_eq!(
        applied("drop: ['a[].b']", "{a: [{b: 1}]}", Some("{a: [{}]}")),
        yaml("{a: [{}]}")
    );
    assert_eq!(
        applied("drop: ['a[].b']", "{a: [{b: 1}]}", Some("{a: [{b: 0}]}")),
        yaml("{a: [{b: 1}]}")
    );
}

#[test]
fn generation_is_raised_on_changes() {
    let live = "{metadata: {generation: 3}, spec: 1}";
    let object = applied(
        "bump: [spec]",
        "{metadata: {generation: 3}, spec: 2}",
        Some(live),
    );
    assert_eq!(object, yaml("{metadata: {generation: 4}, spec: 2}"));
    let object = applied(
        "bump: [spec]",
        "{metadata: {generation: 3}, spec: 1}",
        Some(live),
    );
    assert_eq!(object, yaml(live));
}

#[test]
fn unchanged_parts_are_shared() {
    let object = yaml("{a: {x: [1]}, b: {}}");
    let table = Table::new(&["v1/A: {defaults: [{default: {b.c: 1}}]}"], "", &[]);
    let kind = GroupVersionKind::new("", "v1", "A");
    let defaulted = |object| table.apply(&kind, "defaults", object, None, None).unwrap();
    let changed = defaulted(&object);
    assert!(changed.get("a").unwrap().ptr_eq(object.get("a").unwrap()));
    assert!(defaulted(&changed).ptr_eq(&changed));
}

#[test]
fn faults_of_tables_are_reported() {
    for (rules, shared) in [
        ("v1/A: {create: [{foo: 1}]}", ""),
        ("v1/A: {create: [{call: foo}]}", ""),
        ("", "A: [{apply: B}]"),
        ("{", ""),
    ] {
        let table = Table::new(&[rules], shared, &[]);
        assert!(table.read_all().is_err(), "{rules}");
    }
}

#[test]
fn a_member_ends_where_the_next_begins() {
    let text = "# first\nv1/A:\n  create:\n  - set: {a: 1}\n# between\nv1/B:\n  create: []\n";
    let table = Table::new(&[text], "T:\n- set: {a: 1}\nU: []", &[]);
    assert_eq!(table.kinds().collect::<Vec<_>>(), ["v1/A", "v1/B"]);
    assert_eq!(table.types.keys().copied().collect::<Vec<_>>(), ["T", "U"]);
    assert_eq!(table.read_all(), Ok(()));
}
