//! Growth tests: the time of readers and matchers is linear in the size of the input.

use fieldmanager_fieldpath::{Filter, Matcher, Set};
use fieldmanager_testing::assert_linear;

fn document(keys: impl Iterator<Item = String>) -> String {
    let entries: Vec<String> = keys
        .map(|key| format!(r#""{key}":{{"f:x":{{}}}}"#))
        .collect();
    format!("{{{}}}", entries.join(","))
}

fn read(text: &String) {
    assert!(Set::from_json(text.as_bytes()).is_ok());
}

#[test]
fn reading_is_linear_for_any_order_of_keys() {
    let key = |n: usize| format!(r#"k:{{\"name\":\"{n:06}\"}}"#);
    assert_linear("sorted", 500, |n| document((0..n).map(key)), read);
    assert_linear("reversed", 500, |n| document((0..n).rev().map(key)), read);
    assert_linear(
        "shuffled",
        500,
        |n| document((0..n).map(|i| key(i * 7919 % n))),
        read,
    );
    assert_linear("equal", 500, |n| document((0..n).map(|_| key(1))), read);
    assert_linear(
        "alternating",
        500,
        |n| document((0..n).map(|i| key(i % 2))),
        read,
    );
}

#[test]
fn reading_long_and_deep_keys_is_linear() {
    let many = |n: usize| {
        (0..n)
            .map(|i| format!(r#"\"{i:06}\":{i}"#))
            .collect::<Vec<_>>()
            .join(",")
    };
    assert_linear(
        "key fields",
        500,
        |n| document([format!("k:{{{}}}", many(n))].into_iter()),
        read,
    );
    let deep = |n: usize| format!("v:{}{n}{}", "[".repeat(200), "]".repeat(200));
    assert_linear("deep values", 20, |n| document((0..n).map(deep)), read);
    let repeated = |n: usize| document((0..n).map(|i| format!("f:{}{i}", "x".repeat(100))));
    assert_linear("common prefixes", 500, repeated, read);
}

#[test]
fn parsing_and_applying_patterns_is_linear() {
    let patterns = |n: usize| {
        (0..n)
            .rev()
            .map(|i| format!(".a.p{i:06}.x"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_linear("parsing", 500, patterns, |text| {
        assert!(Matcher::prefixes(text.lines()).is_ok());
    });
    let fields = |n: usize| {
        format!(
            r#"{{"f:a":{}}}"#,
            document((0..n).map(|i| format!("f:p{i:06}")))
        )
    };
    assert_linear(
        "applying",
        500,
        |n| patterns(n) + "\n\n" + &fields(n),
        |text| {
            let (patterns, fields) = text.split_once("\n\n").unwrap();
            let set = Set::from_json(fields.as_bytes()).unwrap();
            assert_eq!(
                Filter::Include(Matcher::prefixes(patterns.lines()).unwrap()).apply(&set),
                set
            );
        },
    );
}
