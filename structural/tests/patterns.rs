//! Patterns beside Go's `regexp`: a table that `comparison/oracle/patterns` writes, and the cost of patterns.
#![cfg(feature = "validation")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "test helpers may panic"
)]

use fieldmanager_structural::internal::{Pattern, expression};
use fieldmanager_value::Value;

fn table() -> (Vec<String>, Vec<Value>) {
    let text = include_str!("data/patterns.jsonl");
    let mut lines = text.lines().map(|line| Value::from_json(line).unwrap());
    let texts = lines.next().unwrap();
    let texts = texts
        .as_list()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap().to_owned())
        .collect();
    (texts, lines.collect())
}

#[test]
fn patterns_are_accepted_and_match_as_in_go() {
    let (texts, rows) = table();
    assert!(rows.len() >= 5000 && texts.len() == 60);

    let mut differences = Vec::new();
    let (mut valid, mut too_large) = (0, Vec::new());
    for row in &rows {
        let text = |name: &str| row.get(name).and_then(Value::as_str);
        let pattern = text("pattern").unwrap();
        let compiled = match (Pattern::new(pattern), text("error")) {
            (Err(message), Some(error)) if message == error => continue,
            (Ok(compiled), None) => compiled,
            // The bound on memory is lower than that of Go.
            (Err(message), None) if message.contains(": expression too large: ") => {
                too_large.push(pattern);
                continue;
            }
            (found, error) => {
                differences.push(format!("{pattern:?}: {:?}, in Go {error:?}", found.err()));
                continue;
            }
        };

        let matches = u64::from_str_radix(text("matches").unwrap(), 16).unwrap();
        let regex = expression(pattern).unwrap_or_else(|error| panic!("{pattern:?}: {error}"));
        valid += 1;
        for (at, text) in texts.iter().enumerate() {
            let expected = matches >> at & 1 == 1;
            let (found, by_regex) = (compiled.is_match(text), regex.is_match(text));
            if (found, by_regex) != (expected, expected) {
                differences.push(format!(
                    "{pattern:?} for {text:?}: {found} {by_regex}, in Go {expected}"
                ));
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n")
    );
    assert!(valid > 3000);
    assert!(
        too_large.len() == 3 && too_large.iter().all(|pattern| pattern.contains("{1000}")),
        "{too_large:?}"
    );
}
