//! Growth tests: the time of readers and matchers is linear in the size of the input.

use std::time::{Duration, Instant};

use fieldmanager_fieldpath::{Matcher, Set};

/// The ratio of the sizes of the large and the small input.
const TIMES: usize = 16;

/// Compares one run on a large input with enough runs on a small input to process the same number of bytes. Both take
/// about the same time if growth is linear; the first takes 16 times as long if it is quadratic. Runs of similar length
/// are interrupted equally often on a busy machine.
fn assert_linear(name: &str, size: usize, make: impl Fn(usize) -> String, run: impl Fn(&str)) {
    let (small, large) = (make(size), make(TIMES * size));
    let time = |times: usize, text: &str| {
        let start = Instant::now();
        (0..times).for_each(|_| run(text));
        start.elapsed()
    };
    let mut fastest = (Duration::MAX, Duration::MAX);
    for _ in 0..20 {
        fastest = (fastest.0.min(time(TIMES, &small)), fastest.1.min(time(1, &large)));
        if fastest.1 < fastest.0 * 3 {
            return;
        }
    }
    assert!(fastest.1 < fastest.0 * 3, "{name}: {fastest:?} for {TIMES} small inputs and a large one");
}

fn document(keys: impl Iterator<Item = String>) -> String {
    let entries: Vec<String> = keys.map(|key| format!(r#""{key}":{{"f:x":{{}}}}"#)).collect();
    format!("{{{}}}", entries.join(","))
}

fn read(text: &str) {
    assert!(Set::from_json(text.as_bytes()).is_ok());
}

#[test]
fn reading_is_linear_for_any_order_of_keys() {
    let key = |n: usize| format!(r#"k:{{\"name\":\"{n:06}\"}}"#);
    assert_linear("sorted", 500, |n| document((0..n).map(key)), read);
    assert_linear("reversed", 500, |n| document((0..n).rev().map(key)), read);
    assert_linear("shuffled", 500, |n| document((0..n).map(|i| key(i * 7919 % n))), read);
    assert_linear("equal", 500, |n| document((0..n).map(|_| key(1))), read);
    assert_linear("alternating", 500, |n| document((0..n).map(|i| key(i % 2))), read);
}

#[test]
fn reading_long_and_deep_keys_is_linear() {
    let many = |n: usize| (0..n).map(|i| format!(r#"\"{i:06}\":{i}"#)).collect::<Vec<_>>().join(",");
    assert_linear("key fields", 500, |n| document([format!("k:{{{}}}", many(n))].into_iter()), read);
    let deep = |n: usize| format!("v:{}{n}{}", "[".repeat(200), "]".repeat(200));
    assert_linear("deep values", 20, |n| document((0..n).map(deep)), read);
    let repeated = |n: usize| document((0..n).map(|i| format!("f:{}{i}", "x".repeat(100))));
    assert_linear("common prefixes", 500, repeated, read);
}

#[test]
fn parsing_and_applying_patterns_is_linear() {
    let patterns = |n: usize| (0..n).rev().map(|i| format!(".a.p{i:06}.x")).collect::<Vec<_>>().join("\n");
    assert_linear("parsing", 500, patterns, |text| {
        assert!(Matcher::prefixes(text.lines()).is_ok());
    });
    let fields = |n: usize| format!(r#"{{"f:a":{}}}"#, document((0..n).map(|i| format!("f:p{i:06}"))));
    assert_linear(
        "applying",
        500,
        |n| patterns(n) + "\n\n" + &fields(n),
        |text| {
            let (patterns, fields) = text.split_once("\n\n").unwrap();
            let set = Set::from_json(fields.as_bytes()).unwrap();
            assert_eq!(Matcher::prefixes(patterns.lines()).unwrap().filter(&set), set);
        },
    );
}
