//! Semantic versions. Their comparisons have the names of those of quantities.

use std::rc::Rc;

use semver::Version;

use super::function::{Function, first, global, member, one};
use crate::value::{Outcome, Val, fault, no_overload};

pub(super) const ALL: &[Function] = &[
    global("semver", 1, first, |a, _| match a {
        [text] => semver(&[text.clone(), Val::Bool(false)]),
        _ => no_overload(),
    }),
    global("semver", 2, first, |a, _| semver(a)),
    global("isSemver", 1, first, |a, _| match a {
        [Val::String(text)] => Ok(Val::Bool(Version::parse(text).is_ok())),
        _ => no_overload(),
    }),
    global("isSemver", 2, first, |a, _| match a {
        [Val::String(_), Val::Bool(_)] => Ok(Val::Bool(semver(a).is_ok())),
        _ => no_overload(),
    }),
    member("major", 1, one, |a, _| number(a, |version| version.major)),
    member("minor", 1, one, |a, _| number(a, |version| version.minor)),
    member("patch", 1, one, |a, _| number(a, |version| version.patch)),
];

fn number<'a>(arguments: &[Val<'a>], part: fn(&Version) -> u64) -> Outcome<'a> {
    match arguments {
        [Val::Semver(version)] => Ok(Val::Int(i64::try_from(part(version)).unwrap_or(i64::MAX))),
        _ => no_overload(),
    }
}

fn semver<'a>(arguments: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text), Val::Bool(normalizes)] = arguments else { return no_overload() };
    let parsed = if *normalizes { Version::parse(&normalized(text)) } else { Version::parse(text) };
    match parsed {
        Ok(version) => Ok(Val::Semver(Rc::new(version))),
        Err(error) => fault(error.to_string()),
    }
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
