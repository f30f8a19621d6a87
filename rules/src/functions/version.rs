//! Semantic versions. Their comparisons have the names of those of quantities.

use std::sync::Arc;

use semver::Version;

use super::function::{Function, binary, first, global, member, one, unary};
use crate::value::{Fault, Val};

pub(super) const ALL: &[Function] = &[
    global("semver", 1, first, |a, _| unary(a, |text| semver(text, false))),
    global("semver", 2, first, |a, _| binary(a, semver)),
    global("isSemver", 1, first, |a, _| unary(a, |text| semver(text, false).is_ok())),
    global("isSemver", 2, first, |a, _| binary(a, |text, normalizes| semver(text, normalizes).is_ok())),
    member("major", 1, one, |a, _| unary(a, |version: &Version| number(version.major))),
    member("minor", 1, one, |a, _| unary(a, |version: &Version| number(version.minor))),
    member("patch", 1, one, |a, _| unary(a, |version: &Version| number(version.patch))),
];

fn number(part: u64) -> i64 {
    i64::try_from(part).unwrap_or(i64::MAX)
}

fn semver<'a>(text: &str, normalizes: bool) -> Result<Val<'a>, Fault> {
    let parsed = if normalizes { Version::parse(&normalized(text)) } else { Version::parse(text) };
    parsed.map(|version| Val::Semver(Arc::new(version))).map_err(|error| Fault::Error(error.to_string()))
}

/// The version without the prefix `v` and leading zeros, and with all three numbers.
fn normalized(text: &str) -> String {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
    let has_suffix = |part: &String| part.contains(['-', '+']);
    if parts.len() < 3 && !parts.iter().any(has_suffix) {
        parts.resize(3, "0".to_owned());
    }
    parts.join(".")
}

fn without_zeros(part: &str) -> String {
    if part.len() < 2 {
        return part.to_owned();
    }
    let stripped = part.trim_start_matches('0');
    if stripped.starts_with(|c: char| c.is_ascii_digit()) {
        stripped.to_owned()
    } else {
        format!("0{stripped}")
    }
}
