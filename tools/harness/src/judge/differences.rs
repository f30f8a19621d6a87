//! Failures for what differs.

use fieldmanager_value::Value;

use crate::diff;
use crate::report::Failure;

/// Pairs each expected item with one that was found. Returns the expected items without one, and the found ones that are left.
pub(super) fn unpaired<'e, 'f, E, F>(
    expected: &'e [E],
    found: &'f [F],
    fits: impl Fn(&E, &F) -> bool,
) -> (Vec<&'e E>, Vec<&'f F>) {
    let mut surplus: Vec<&F> = found.iter().collect();
    // A found item is used once, so two equal expected items need two found ones.
    let missing = expected.iter().filter(|wanted| {
        let at = surplus.iter().position(|found| fits(wanted, found));
        at.map(|at| surplus.remove(at)).is_none()
    });
    (missing.collect(), surplus)
}

pub(super) fn different(
    what: &'static str,
    paths: Vec<String>,
    expected: Value,
    actual: Value,
) -> Option<Failure> {
    (!paths.is_empty()).then(|| Failure::of_values(what, paths, expected, actual))
}

pub(super) fn different_values(
    what: &'static str,
    expected: &Value,
    actual: &Value,
) -> Option<Failure> {
    let paths = diff::paths(expected, actual);
    different(what, paths, expected.clone(), actual.clone())
}

pub(super) fn different_text(what: &'static str, expected: &str, actual: &str) -> Failure {
    Failure {
        expected: Some(expected.into()),
        actual: Some(actual.into()),
        ..Failure::new(
            what,
            format!("expected `{what}` with `{expected}`, got `{actual}`"),
        )
    }
}

pub(super) fn failure_at(path: &str, failure: Failure) -> Failure {
    Failure {
        paths: vec![path.to_owned()],
        ..failure
    }
}

pub(super) fn texts<'t>(texts: impl Iterator<Item = &'t str>) -> Value {
    Value::List(texts.map(Value::from).collect())
}
