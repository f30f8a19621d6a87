//! Comparing: every row was answered by the Go package first.

mod common;

use common::{live, paths, root, set};
use fieldmanager_fieldpath::{Filter, Matcher, Set};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{List, Map, Value};

/// What it shows, the field before and after, and what changed: `+` added, `~` modified, `-` removed. A
/// value that is empty text is a field that is not there.
type Row = (&'static str, &'static str, &'static str, &'static str);

fn changes(old: &TypedValue, new: &TypedValue) -> String {
    let compared = match old.compare(new) {
        Ok(compared) => compared,
        Err(error) => return format!("error: {error}"),
    };
    assert_eq!(compared.is_same(), old.compare(new).is_ok_and(|c| c == Default::default()));
    let parts = [('+', &compared.added), ('~', &compared.modified), ('-', &compared.removed)];
    let lines = parts.iter().flat_map(|(sign, set)| set.paths().map(move |path| format!("{sign}{path}")));
    lines.collect::<Vec<_>>().join(" ")
}

fn check(field: &str, rows: &[Row]) {
    for (name, old, new, expected) in rows {
        let object = |text: &str| if text.is_empty() { "{}".into() } else { format!("{field}: {text}") };
        let (old, new) = (live(&object(old)), live(&object(new)));
        assert_eq!(changes(&old, &new), *expected, "{name}");
    }
}

#[test]
fn scalars() {
    check(
        "any",
        &[
            ("the same", "1", "1", ""),
            ("a number is a number", "1", "1.0", ""),
            ("another", "1", "2", "~.any"),
            ("of another kind", "1", "'1'", "~.any"),
            ("new", "", "1", "+.any"),
            ("gone", "1", "", "-.any"),
            ("null over a value", "1", "null", "~.any"),
            ("a value over null", "null", "1", "~.any"),
            ("null that is new", "", "null", "+.any"),
            ("null that is gone", "null", "", "-.any"),
            ("null twice", "null", "null", ""),
        ],
    );
}

#[test]
fn maps() {
    check(
        "labels",
        &[
            ("entries", "{a: x, b: z, c: w}", "{b: v, c: w, d: u}", "+.labels.d ~.labels.b -.labels.a"),
            ("a new map", "", "{a: x}", "+.labels +.labels.a"),
            ("a map that is gone", "{a: x}", "", "-.labels -.labels.a"),
            ("an empty map that is new", "", "{}", "+.labels"),
            ("an empty map that is gone", "{}", "", "-.labels"),
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
                "inside",
                "{a: {x: 1, z: 2}, b: {x: 1}}",
                "{a: {x: 1, z: 3}, c: {x: 1}}",
                "+.nested.c +.nested.c.x ~.nested.a.z -.nested.b -.nested.b.x",
            ),
            ("emptied inside", "{a: {x: 1}}", "{a: {}}", "-.nested.a.x"),
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
                "a struct that is new",
                "",
                "{num: 1, inner: {num: 2}}",
                "+.inner +.inner.inner +.inner.num +.inner.inner.num",
            ),
        ],
    );
}

#[test]
fn atomic_values_change_as_a_whole() {
    check(
        "args",
        &[
            ("the same", "[a, b]", "[a, b]", ""),
            ("in another order", "[a, b]", "[b, a]", "~.args"),
            ("longer", "[a]", "[a, b]", "~.args"),
            ("new", "", "[a]", "+.args"),
            ("gone", "[a]", "", "-.args"),
            ("emptied", "[a]", "[]", "~.args"),
        ],
    );
    check(
        "selector",
        &[
            ("one entry", "{a: x, b: z}", "{a: x, b: w}", "~.selector"),
            ("new", "", "{a: x}", "+.selector"),
            ("null over empty", "{}", "null", "~.selector"),
        ],
    );
    check(
        "deduced",
        &[
            ("lists without a schema", "{a: [1, 2], b: 1}", "{a: [2, 1], b: 2}", "~.deduced.a ~.deduced.b"),
            ("a map over a list", "{a: [1]}", "{a: {b: 1}}", "+.deduced.a.b ~.deduced.a"),
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
            ("numbers are numbers", "[1]", "[1.0]", ""),
            ("a new list", "", "[a]", r#"+.set +.set[="a"]"#),
            ("a list that is gone", "[a]", "", r#"-.set -.set[="a"]"#),
            ("an empty list that is new", "", "[]", "+.set"),
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
                "a new item",
                "[{name: a}]",
                "[{name: b, value: 1}, {name: a}]",
                r#"+.items[name="b"] +.items[name="b"].name +.items[name="b"].value"#,
            ),
            (
                "an item that is gone",
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
                "the default written out",
                "[{port: 80}]",
                "[{port: 80, protocol: TCP}]",
                r#"+.ports[port=80,protocol="TCP"].protocol"#,
            ),
            (
                "another key",
                "[{port: 80}]",
                "[{port: 81}]",
                r#"+.ports[port=81,protocol="TCP"] +.ports[port=81,protocol="TCP"].port -.ports[port=80,protocol="TCP"] -.ports[port=80,protocol="TCP"].port"#,
            ),
        ],
    );
}

#[test]
fn duplicates_count_as_one() {
    check(
        "set",
        &[
            ("before and after", "[a, a]", "[a, a]", ""),
            ("before and after, more of them", "[a, a]", "[a, a, a]", r#"~.set[="a"]"#),
            ("before only", "[a, a]", "[a]", r#"+.set[="a"] -.set[="a"]"#),
            ("after only", "[a]", "[a, a]", r#"+.set[="a"] -.set[="a"]"#),
            ("new", "[b]", "[b, a, a]", r#"+.set[="a"]"#),
            ("gone", "[b, a, a]", "[b]", r#"-.set[="a"]"#),
        ],
    );
    check(
        "items",
        &[
            (
                "the same",
                "[{name: a, value: 1}, {name: a, value: 2}]",
                "[{name: a, value: 1}, {name: a, value: 2}]",
                "",
            ),
            (
                "turned round",
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
fn types_of_several_kinds() {
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

/// Two objects that share all but one item, and long lists that do not share anything.
#[test]
fn sharing_and_size_make_no_difference() {
    let object = |value: &dyn Fn(usize) -> i64| {
        let item = |i| {
            Value::Map(Map::from_iter([("name", Value::from(format!("i{i}"))), ("value", value(i).into())]))
        };
        let items: List = (0..100).map(item).collect();
        TypedValue::new(Value::Map(Map::single("items", items)), root(), Duplicates::Refuse).unwrap()
    };
    let old = object(&|_| 1);
    let one = live(r#"items: [{name: i7, value: 2}, {name: i100}]"#);
    let shared = old.merge(&one).unwrap();
    let expected = r#"+.items[name="i100"] +.items[name="i100"].name ~.items[name="i7"].value"#;
    assert_eq!(changes(&old, &shared), expected);
    assert_eq!(changes(&old, &old), "");
    assert_eq!(changes(&old, &object(&|_| 1)), "");
    assert_eq!(changes(&old, &object(&|i| if i == 70 { 2 } else { 1 })), r#"~.items[name="i70"].value"#);
}

#[test]
fn a_filter_reduces_all_three_sets() {
    let (old, new) =
        (live("{num: 1, text: a, labels: {a: x}}"), live("{num: 2, flag: true, labels: {b: x}}"));
    let compared = old.compare(&new).unwrap();
    let filtered = |filter| {
        let part = compared.filter(&filter);
        [part.added, part.modified, part.removed].map(|set: Set| paths(&set))
    };
    assert_eq!(filtered(Filter::Exclude(set(".labels .num"))), [".flag", "", ".text"]);
    assert_eq!(
        filtered(Filter::Include(Matcher::prefixes([".labels"]).unwrap())),
        [".labels.b", "", ".labels.a"]
    );
}

#[test]
fn an_item_that_lost_its_key_is_an_error() {
    let cut = live("items: [{name: a, value: 1}]").remove_items(&set(r#".items[name="a"].name"#));
    let fault = "error: .items[0]: an item of an associative list must have one of its keys `name`";
    assert_eq!(changes(&cut, &live("{}")), fault);
    assert_eq!(changes(&live("{}"), &cut), fault);
    assert_eq!(changes(&cut, &cut), format!("{fault}\n{}", &fault["error: ".len()..]));
}
