//! Sets and FieldsV1.

use std::collections::BTreeSet;
use std::fmt;

use fieldmanager_fieldpath::{Path, Set};
use fieldmanager_value::Value;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Parses every line as FieldsV1. Accepted sets must round-trip, with equal results for parsing a document and a value.
/// The sets of consecutive lines are combined, and the results compared with those of standard sets of their paths.
///
/// # Errors
///
/// A message that describes the violated invariant.
pub fn check_fields_v1(text: &[u8]) -> Result<(), String> {
    let mut before = Set::new();
    for line in text.split(|byte| *byte == b'\n') {
        let read = Set::from_json(line);
        check_reading(line, read.as_ref().ok())?;
        if let Ok(set) = read {
            check_set(&set)?;
            check_algebra(&before, &set)?;
            before = set;
        }
    }
    Ok(())
}

/// Checks that a document and the value parsed from it are the same FieldsV1, unless the document has repeated keys.
fn check_reading(line: &[u8], read: Option<&Set>) -> Result<(), String> {
    let Ok(value) = Value::from_json_slice(line) else {
        return Ok(());
    };
    let Ok(Unrepeated) = serde_json::from_slice(line) else {
        return Ok(());
    };
    let from_value = Set::from_value(&value).ok();
    ensure!(
        from_value.as_ref() == read,
        "{value} is parsed as {from_value:?} from a value and as {read:?} from JSON"
    );
    Ok(())
}

fn check_set(set: &Set) -> Result<(), String> {
    let text = set.to_json();
    let again = Set::from_json(text.as_bytes())
        .map_err(|error| format!("written FieldsV1 is rejected: {error}\n{text}"))?;
    ensure!(
        again.to_json() == text,
        "{text} does not round-trip, but becomes {}",
        again.to_json()
    );
    let value = set.to_value();
    let from_value =
        Set::from_value(&value).map_err(|error| format!("{value} is rejected: {error}"))?;
    ensure!(again == *set, "{text} is parsed back as {again:?}");
    ensure!(
        from_value == *set,
        "{text} is parsed back from a value as {from_value:?}"
    );
    let paths: Vec<Path> = set.paths().collect();
    ensure!(
        paths.len() == set.len(),
        "{text} has {} paths, but its length is {}",
        paths.len(),
        set.len()
    );
    ensure!(
        paths.is_empty() == set.is_empty(),
        "{text}: the paths and `is_empty` disagree"
    );
    ensure!(
        paths.iter().all(|path| set.has(path)),
        "{text} does not contain its own paths"
    );
    let rebuilt: Set = paths.iter().collect();
    ensure!(
        rebuilt == *set,
        "{text} is {rebuilt:?} when it is built from its paths"
    );
    let backwards: Set = paths.iter().rev().collect();
    ensure!(
        backwards == *set,
        "{text} is {backwards:?} when it is built from its reversed paths"
    );
    Ok(())
}

fn check_algebra(a: &Set, b: &Set) -> Result<(), String> {
    let model = |set: &Set| -> BTreeSet<Path> { set.paths().collect() };
    let (left, right) = (model(a), model(b));
    let same = |operation: &str, set: Set, paths: BTreeSet<Path>| {
        ensure!(
            model(&set) == paths,
            "{operation} of {a:?} and {b:?} is {set:?}"
        );
        check_set(&set)
    };
    same("union", a.union(b), left.union(&right).cloned().collect())?;
    same("union", b.union(a), left.union(&right).cloned().collect())?;
    same(
        "intersection",
        a.intersection(b),
        left.intersection(&right).cloned().collect(),
    )?;
    same(
        "difference",
        a.difference(b),
        left.difference(&right).cloned().collect(),
    )?;
    let below_other =
        |path: &Path| (1..=path.len()).any(|n| path.get(..n).is_some_and(|p| b.has(p)));
    let outside = left
        .iter()
        .filter(|path| !below_other(path))
        .cloned()
        .collect();
    same("recursive difference", a.recursive_difference(b), outside)?;
    let is_leaf = |path: &&Path| {
        !left
            .iter()
            .any(|longer| longer.len() > path.len() && longer.starts_with(path.as_ref()))
    };
    same(
        "leaves",
        a.leaves(),
        left.iter().filter(is_leaf).cloned().collect(),
    )?;
    ensure!(
        a.is_subset(b) == left.is_subset(&right),
        "{a:?} and {b:?}: the result of is_subset is wrong"
    );
    ensure!(
        a.union(a).ptr_eq(a),
        "the union of {a:?} with itself is not shared"
    );
    Ok(())
}

/// Any JSON without repeated keys.
struct Unrepeated;

impl<'de> Deserialize<'de> for Unrepeated {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Unrepeated)
    }
}

impl<'de> Visitor<'de> for Unrepeated {
    type Value = Unrepeated;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without repeated keys")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self, A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            entries.next_value::<Unrepeated>()?;
            if !seen.insert(key) {
                return Err(A::Error::custom("a key is repeated"));
            }
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }
}
