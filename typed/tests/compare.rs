//! Comparison. Expected results are those of the Go package.

use crate::common::{live, paths, root, set};
use fieldmanager_fieldpath::{Filter, Matcher, Set};
use fieldmanager_typed::internal::filter_comparison;
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{List, Map, Value};

/// A description, the field before and after, and the changes: `+` added, `~` modified, `-` removed. An empty string
/// stands for an absent field.
type Row = (&'static str, &'static str, &'static str, &'static str);

fn changes(old: &TypedValue, new: &TypedValue) -> String {
    let compared = match old.compare(new) {
        Ok(compared) => compared,
        Err(error) => return format!("error: {error}"),
    };
    assert_eq!(
        compared.is_same(),
        old.compare(new).is_ok_and(|c| c == Default::default())
    );
    let parts = [
        ('+', &compared.added),
        ('~', &compared.modified),
        ('-', &compared.removed),
    ];
    let lines = parts
        .iter()
        .flat_map(|(sign, set)| set.paths().map(move |path| format!("{sign}{path}")));
    lines.collect::<Vec<_>>().join(" ")
}

fn check(field: &str, rows: &[Row]) {
    for (name, old, new, expected) in rows {
        let object = |text: &str| {
            if text.is_empty() {
                "{}".into()
            } else {
                format!("{field}: {text}")
            }
        };
        let (old, new) = (live(&object(old)), live(&object(new)));
        assert_eq!(changes(&old, &new), *expected, "{name}");
    }
}

#[test]
fn scalars_are_compared_by_value() {
    check(
        "any",
        &[
            ("equal", "1", "1", ""),
            ("an equal number", "1", "1.0", ""),
            ("a different value", "1", "2", "~.any"),
            ("a different kind", "1", "'1'", "~.any"),
            ("added", "", "1", "+.any"),
            ("removed", "1", "", "-.any"),
            ("null over a value", "1", "null", "~.any"),
            ("a value over null", "null", "1", "~.any"),
            ("an added null", "", "null", "+.any"),
            ("a removed null", "null", "", "-.any"),
            ("null twice", "null", "null", ""),
        ],
    );
}

#[test]
fn maps_are_compared_by_entry() {
    check(
        "labels",
        &[
            (
                "entries",
                "{a: x, b: z, c: w}",
                "{b: v, c: w, d: u}",
                "+.labels.d ~.labels.b -.labels.a",
            ),
            ("an added map", "", "{a: x}", "+.labels +.labels.a"),
            ("a removed map", "{a: x}", "", "-.labels -.labels.a"),
            ("an added empty map", "", "{}", "+.labels"),
            ("a removed empty map", "{}", "", "-.labels"),
            ("emptied", "{a: x}", "{}", "-.labels.a"),
            ("filled", "{}", "{a: x}", "+.labels.a"),
            ("null over a map", "{a: x}", "null", "-.labels.a"),
            ("a map over null", "null", "{a: x}", "+.labels.a"),
            ("null over an empty map", "{}", "null", "~.labels"),
        ],
    );
    check(
        "nested",
        &[
            (
                "nested maps",
                "{a: {x: 1, z: 2}, b: {x: 1}}",
                "{a: {x: 1, z: 3}, c: {x: 1}}",
                "+.nested.c +.nested.c.x ~.nested.a.z -.nested.b -.nested.b.x",
            ),
            (
                "a nested map emptied",
                "{a: {x: 1}}",
                "{a: {}}",
                "-.nested.a.x",
            ),
        ],
    );
    check(
        "inner",
        &[
            (
                "structs",
                "{num: 1, inner: {text: a, flag: true}}",
                "{num: 1, inner: {text: b}}",
                "~.inner.inner.text -.inner.inner.flag",
            ),
            (
                "an added struct",
                "",
                "{num: 1, inner: {num: 2}}",
                "+.inner +.inner.inner +.inner.num +.inner.inner.num",
            ),
        ],
    );
}

#[test]
fn atomic_values_are_compared_as_a_whole() {
    check(
        "args",
        &[
            ("equal", "[a, b]", "[a, b]", ""),
            ("a different order", "[a, b]", "[b, a]", "~.args"),
            ("longer", "[a]", "[a, b]", "~.args"),
            ("added", "", "[a]", "+.args"),
            ("removed", "[a]", "", "-.args"),
            ("emptied", "[a]", "[]", "~.args"),
        ],
    );
    check(
        "selector",
        &[
            ("one entry", "{a: x, b: z}", "{a: x, b: w}", "~.selector"),
            ("added", "", "{a: x}", "+.selector"),
            ("null over empty", "{}", "null", "~.selector"),
        ],
    );
    check(
        "deduced",
        &[
            (
                "lists without a schema",
                "{a: [1, 2], b: 1}",
                "{a: [2, 1], b: 2}",
                "~.deduced.a ~.deduced.b",
            ),
            (
                "a map over a list",
                "{a: [1]}",
                "{a: {b: 1}}",
                "+.deduced.a.b ~.deduced.a",
            ),
        ],
    );
}

#[test]
fn lists_are_compared_by_item() {
    check(
        "set",
        &[
            ("order does not matter", "[a, b, c]", "[c, a, b]", ""),
            ("items", "[a, b]", "[b, c]", r#"+.set[="c"] -.set[="a"]"#),
            ("equal numbers", "[1]", "[1.0]", ""),
            ("an added list", "", "[a]", r#"+.set +.set[="a"]"#),
            ("a removed list", "[a]", "", r#"-.set -.set[="a"]"#),
            ("an added empty list", "", "[]", "+.set"),
            ("emptied", "[a]", "[]", r#"-.set[="a"]"#),
            ("null over an empty list", "[]", "null", "~.set"),
            ("null over a list", "[a]", "null", r#"-.set[="a"]"#),
        ],
    );
    check(
        "items",
        &[
            (
                "items and their fields",
                "[{name: a, value: 1, tags: [t]}, {name: b, value: 1}]",
                "[{name: b, value: 2}, {name: a, value: 1, tags: [u]}]",
                r#"+.items[name="a"].tags[="u"] ~.items[name="b"].value -.items[name="a"].tags[="t"]"#,
            ),
            (
                "an added item",
                "[{name: a}]",
                "[{name: b, value: 1}, {name: a}]",
                r#"+.items[name="b"] +.items[name="b"].name +.items[name="b"].value"#,
            ),
            (
                "a removed item",
                "[{name: a}, {name: b, value: 1}]",
                "[{name: a}]",
                r#"-.items[name="b"] -.items[name="b"].name -.items[name="b"].value"#,
            ),
        ],
    );
    check(
        "ports",
        &[
            (
                "an explicit default",
                "[{port: 80}]",
                "[{port: 80, protocol: TCP}]",
                r#"+.ports[port=80,protocol="TCP"].protocol"#,
            ),
            (
                "a different key",
                "[{port: 80}]",
                "[{port: 81}]",
                r#"+.ports[port=81,protocol="TCP"] +.ports[port=81,protocol="TCP"].port -.ports[port=80,protocol="TCP"] -.ports[port=80,protocol="TCP"].port"#,
            ),
        ],
    );
}

#[test]
fn duplicates_are_compared_as_a_group() {
    check(
        "set",
        &[
            ("before and after", "[a, a]", "[a, a]", ""),
            (
                "before and after, in different numbers",
                "[a, a]",
                "[a, a, a]",
                r#"~.set[="a"]"#,
            ),
            ("before only", "[a, a]", "[a]", r#"+.set[="a"] -.set[="a"]"#),
            ("after only", "[a]", "[a, a]", r#"+.set[="a"] -.set[="a"]"#),
            ("added", "[b]", "[b, a, a]", r#"+.set[="a"]"#),
            ("removed", "[b, a, a]", "[b]", r#"-.set[="a"]"#),
        ],
    );
    check(
        "items",
        &[
            (
                "equal",
                "[{name: a, value: 1}, {name: a, value: 2}]",
                "[{name: a, value: 1}, {name: a, value: 2}]",
                "",
            ),
            (
                "reversed",
                "[{name: a, value: 1}, {name: a, value: 2}]",
                "[{name: a, value: 2}, {name: a, value: 1}]",
                r#"~.items[name="a"]"#,
            ),
            (
                "one of them changed",
                "[{name: a, value: 1}, {name: a, value: 2}]",
                "[{name: a, value: 1}, {name: a, value: 3}]",
                r#"~.items[name="a"]"#,
            ),
            (
                "before only",
                "[{name: a, value: 1}, {name: a, value: 2}]",
                "[{name: a, value: 2}]",
                r#"+.items[name="a"] +.items[name="a"].name +.items[name="a"].value -.items[name="a"]"#,
            ),
            (
                "after only",
                "[{name: a, value: 1}]",
                "[{name: a, value: 1}, {name: a, value: 2}]",
                r#"+.items[name="a"] -.items[name="a"] -.items[name="a"].name -.items[name="a"].value"#,
            ),
        ],
    );
}

#[test]
fn values_of_several_kinds_are_compared_per_kind() {
    check(
        "kinds",
        &[
            ("scalar to scalar", "a", "b", "~.kinds"),
            ("scalar to set", "a", "[a]", r#"+.kinds[="a"] ~.kinds"#),
            ("set to scalar", "[a]", "a", r#"~.kinds -.kinds[="a"]"#),
            ("scalar to map", "a", "{a: 1}", "+.kinds.a ~.kinds"),
            ("map to scalar", "{a: 1}", "a", "~.kinds -.kinds.a"),
            ("set to map", "[a]", "{a: 1}", r#"+.kinds.a -.kinds[="a"]"#),
            ("map to set", "{a: 1}", "[a]", r#"+.kinds[="a"] -.kinds.a"#),
            ("set to null", "[a]", "null", r#"~.kinds -.kinds[="a"]"#),
            ("null to map", "null", "{a: 1}", "+.kinds.a"),
            ("empty set to empty map", "[]", "{}", "~.kinds"),
        ],
    );
}

/// Two objects that share all items but one, and long lists that share nothing.
#[test]
fn sharing_and_size_do_not_affect_the_result() {
    let object = |value: &dyn Fn(usize) -> i64| {
        let item = |i| {
            Value::Map(Map::from_iter([
                ("name", Value::from(format!("i{i}"))),
                ("value", value(i).into()),
            ]))
        };
        let items: List = (0..100).map(item).collect();
        TypedValue::new(
            Value::Map(Map::single("items", items)),
            root(),
            Duplicates::Refuse,
        )
        .unwrap()
    };
    let old = object(&|_| 1);
    let one = live(r#"items: [{name: i7, value: 2}, {name: i100}]"#);
    let shared = old.merge(&one).unwrap();
    let expected = r#"+.items[name="i100"] +.items[name="i100"].name ~.items[name="i7"].value"#;
    assert_eq!(changes(&old, &shared), expected);
    assert_eq!(changes(&old, &old), "");
    assert_eq!(changes(&old, &object(&|_| 1)), "");
    assert_eq!(
        changes(&old, &object(&|i| if i == 70 { 2 } else { 1 })),
        r#"~.items[name="i70"].value"#
    );
}

#[test]
fn filters_apply_to_all_three_sets() {
    let (old, new) = (
        live("{num: 1, text: a, labels: {a: x}}"),
        live("{num: 2, flag: true, labels: {b: x}}"),
    );
    let compared = old.compare(&new).unwrap();
    let filtered = |filter| {
        let part = filter_comparison(&compared, &filter);
        [part.added, part.modified, part.removed].map(|set: Set| paths(&set))
    };
    assert_eq!(
        filtered(Filter::Exclude(set(".labels .num"))),
        [".flag", "", ".text"]
    );
    assert_eq!(
        filtered(Filter::Include(Matcher::prefixes([".labels"]).unwrap())),
        [".labels.b", "", ".labels.a"]
    );
}

#[test]
fn items_without_their_key_are_an_error() {
    let cut = live("items: [{name: a, value: 1}]").remove_items(&set(r#".items[name="a"].name"#));
    let fault = "error: .items[0]: an item of an associative list must have one of its keys `name`";
    assert_eq!(changes(&cut, &live("{}")), fault);
    assert_eq!(changes(&live("{}"), &cut), fault);
    assert_eq!(
        changes(&cut, &cut),
        format!("{fault}\n{}", &fault["error: ".len()..])
    );
}
