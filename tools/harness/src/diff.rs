//! The differences between two values: the paths, and a diff of their YAML.

use fieldmanager_value::internal::join;
use fieldmanager_value::{List, Map, Value};
use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};

use crate::place::{Step, notation};

/// The maximum number of listed paths.
const MOST_PATHS: usize = 100;

/// The deepest paths at which two values differ. The path of the value itself is empty.
pub(crate) fn paths(expected: &Value, actual: &Value) -> Vec<String> {
    let mut out = Vec::new();
    collect(expected, actual, &mut Vec::new(), &mut out);
    out
}

fn collect(expected: &Value, actual: &Value, path: &mut Vec<Step>, out: &mut Vec<String>) {
    if out.len() >= MOST_PATHS || expected == actual {
        return;
    }
    let mut at = |step: Step, pair: (Option<&Value>, Option<&Value>)| {
        path.push(step);
        match pair {
            (Some(expected), Some(actual)) => collect(expected, actual, path, out),
            _ if out.len() < MOST_PATHS => out.push(notation(path)),
            _ => {}
        }
        path.pop();
    };

    match (expected, actual) {
        (Value::Map(expected), Value::Map(actual)) => {
            for (name, expected, actual) in join(expected, actual) {
                at(Step::Field(name.clone()), (expected, actual));
            }
        }
        (Value::List(expected), Value::List(actual)) => {
            for i in 0..expected.len().max(actual.len()) {
                at(Step::Index(i), (expected.get(i), actual.get(i)));
            }
        }
        _ => out.push(notation(path)),
    }
}

/// A unified diff of the values as YAML. Equal numbers in different notation are not shown as a difference.
pub(crate) fn unified(expected: &Value, actual: &Value) -> String {
    let actual = written_as(expected, actual);
    let (expected, actual) = (yaml(expected), yaml(&actual));
    let lines = InternedInput::new(expected.as_str(), actual.as_str());
    let mut diff = Diff::compute(Algorithm::Histogram, &lines);
    diff.postprocess_lines(&lines);
    let printer = BasicLineDiffPrinter(&lines.interner);
    let changes = diff.unified_diff(&printer, UnifiedDiffConfig::default(), &lines);

    format!("--- expected\n+++ actual\n{changes}")
}

fn yaml(value: &Value) -> String {
    let mut text = value.to_yaml();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The actual value, with parts that equal the expected ones in the notation of the expected value.
fn written_as(expected: &Value, actual: &Value) -> Value {
    if expected == actual {
        return expected.clone();
    }
    match (expected, actual) {
        (Value::Map(expected), Value::Map(actual)) => {
            let entries = actual.iter().map(|(name, actual)| {
                let expected = expected.get(name);
                (
                    name,
                    expected.map_or_else(|| actual.clone(), |e| written_as(e, actual)),
                )
            });
            Value::Map(entries.collect::<Map>())
        }
        (Value::List(expected), Value::List(actual)) => {
            let items = actual.iter().enumerate().map(|(i, actual)| {
                let expected = expected.get(i);
                expected.map_or_else(|| actual.clone(), |e| written_as(e, actual))
            });
            Value::List(items.collect::<List>())
        }
        _ => actual.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(yaml: &str) -> Value {
        Value::from_yaml(yaml).unwrap()
    }

    #[test]
    fn paths_are_as_deep_as_the_difference() {
        for (expected, actual, found) in [
            (
                "{a: {b: [1, 2]}}",
                "{a: {b: [1, 3, 4]}}",
                &[".a.b[1]", ".a.b[2]"][..],
            ),
            ("{a: 1, b: 1}", "{b: 1.0, c: 1}", &[".a", ".c"]),
            ("{a: null}", "{}", &[".a"]),
            ("1", "[1]", &[""]),
            ("{a: [1]}", "{a: [1.0]}", &[]),
        ] {
            assert_eq!(
                paths(&value(expected), &value(actual)),
                found,
                "{expected} {actual}"
            );
        }
    }

    #[test]
    fn equal_parts_are_not_a_difference() {
        let diff = unified(
            &value("{a: 1, b: 2, c: [1, 5]}"),
            &value("{a: 1.0, b: 3, c: [1.0, 5, 6]}"),
        );
        assert_eq!(
            diff,
            "--- expected\n+++ actual\n@@ -1,5 +1,6 @@\n a: 1\n-b: 2\n+b: 3\n c:\n - 1\n - 5\n+- 6\n"
        );
    }
}
