//! Semantic versions. Their comparisons have the names of those of quantities.

use std::sync::Arc;

use semver::Version;

use super::function::{Run, unary};
use crate::value::{Fault, Val, no_overload};

/// The implementation of a function.
pub(super) fn run(name: &str) -> Option<Run> {
    Some(match name {
        "semver" => |a, _| parsed(a)?.map_err(Fault::Error),
        "isSemver" => |a, _| Ok(Val::Bool(parsed(a)?.is_ok())),
        "major" => |a, _| unary(a, |version: &Version| number(version.major)),
        "minor" => |a, _| unary(a, |version: &Version| number(version.minor)),
        "patch" => |a, _| unary(a, |version: &Version| number(version.patch)),
        _ => return None,
    })
}

fn number(part: u64) -> i64 {
    i64::try_from(part).unwrap_or(i64::MAX)
}

/// A parsed version, or why it is none.
fn parsed<'a>(arguments: &[Val<'a>]) -> Result<Result<Val<'a>, String>, Fault> {
    let parsed = match arguments {
        [Val::String(text)] | [Val::String(text), Val::Bool(false)] => Version::parse(text),
        [Val::String(text), Val::Bool(true)] => Version::parse(&normalized(text)),
        _ => return no_overload(),
    };
    Ok(parsed
        .map(|version| Val::Semver(Arc::new(version)))
        .map_err(|error| error.to_string()))
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
