//! The listed deviations, each with the name of its section in `docs/deviations.md`.

use serde_json::Value as Json;

use crate::json::{any, children, flag, items, member, own, text, with_each};

/// The rule that explains a difference, given all answers of the reference.
pub(super) fn explain(case: &Json, theirs: &[Json], ours: &Json) -> Option<&'static str> {
    let rules: [(&'static str, Rule); 14] = [
        ("patch-go-panic", panics),
        ("patch-directive-leak", leak),
        ("patch-unknown-directive", unknown_directive),
        ("patch-bad-delete-list", bad_delete_list),
        ("patch-object-merge-key", object_merge_key),
        ("patch-delete-list-conflict", delete_list_conflict),
        ("patch-sorted-by-check", sorted_by_check),
        ("patch-long-list-order", long_list_order),
        ("patch-scalar-duplicates", scalar_duplicates),
        ("patch-duplicate-keys", duplicate_keys),
        ("merge-patch-document", merge_patch_document),
        ("json-patch-test", json_patch_test),
        ("json-patch-pointer", json_patch_pointer),
        ("json-patch-copied-null", json_patch_copied_null),
    ];

    // The first rule gives the name, so rules about faults precede those about the order of lists.
    rules
        .iter()
        .find(|(_, rule)| rule(case, theirs, ours))
        .map(|(name, _)| *name)
}

/// The merge keys of the generated schemas.
const MERGE_KEYS: [&str; 2] = ["name", "port"];

type Rule = fn(&Json, &[Json], &Json) -> bool;

/// The rule for a case with several faults, of which the sides report different ones.
pub(super) const OTHER_FAULT: &str = "patch-other-fault";

/// Whether both results are equal; numbers compare as numbers.
pub(super) fn same(left: &Json, right: &Json) -> bool {
    own(left) == own(right)
}

pub(super) fn is_error(answer: &Json) -> bool {
    answer.get("error").is_some()
}

fn class(answer: &Json) -> &str {
    text(answer, "class")
}

fn function(case: &Json) -> &str {
    text(case, "function")
}

fn results(theirs: &[Json]) -> impl Iterator<Item = &Json> {
    theirs.iter().filter_map(|answer| answer.get("result"))
}

/// The reference panics, and this library returns an error or a result.
fn panics(case: &Json, theirs: &[Json], ours: &Json) -> bool {
    let strict = text(case, "op") == "smp" && function(case) != "conflicts";
    theirs.iter().any(|answer| answer.get("panic").is_some()) && (is_error(ours) || !strict)
}

/// The result of the reference contains directives that the live object did not have. Without them both are equal; or the
/// directive is invalid, and this library reports it.
fn leak(case: &Json, theirs: &[Json], ours: &Json) -> bool {
    // With directives in the live object, those of the result say nothing.
    let original = case.get("original").map(directives).unwrap_or_default();
    if function(case) != "apply" || original > 0 {
        return false;
    }
    let faulty = matches!(
        class(ours),
        "badRetainKeys" | "badSetElementOrder" | "badPrimitiveList" | "directive"
    );

    // A directive that became an item of a list is an item without a key, or not a scalar.
    let has_directive = case
        .get("patch")
        .is_some_and(|patch| patch.to_string().contains("\"$patch\""));

    // An item that is merged with the item that a directive became is checked as existing content.
    let has_twins = case.get("patch").is_some_and(has_twins);
    let stumbled = theirs.iter().any(|answer| {
        let error = text(answer, "error");
        (error.contains("$patch") && error.contains("merge key"))
            || (has_directive && has_twins && !error.is_empty())
            || (has_directive && text(answer, "panic").contains("unhashable"))
    });
    if stumbled && ours.get("result").is_some() {
        return true;
    }

    results(theirs).any(|result| {
        directives(result) > 0
            && (faulty
                || ours.get("result").is_some_and(|ours| {
                    same_but_directives(result, ours)
                        || (has_live_twice(case)
                            && same_but_directives(&as_sets(result), &as_sets(ours)))
                        || (has_twins && same_but_directives(&by_key(result), &by_key(ours)))
                }))
    })
}

/// The value with each list of maps sorted by the merge keys of the schemas: an item that a directive became has a place
/// in the reference, which the item that is merged with it takes over.
fn by_key(value: &Json) -> Json {
    let key = |item: &Json| MERGE_KEYS.map(|key| item.get(key).map(Json::to_string));
    with_each(value, |part| match part {
        Json::Array(items) if items.iter().all(Json::is_object) => items.sort_by_key(key),
        _ => {}
    })
}

fn is_directive(name: &str) -> bool {
    name == "$patch"
        || name == "$retainKeys"
        || name.starts_with("$setElementOrder")
        || name.starts_with("$deleteFromPrimitiveList")
}

fn directives(value: &Json) -> usize {
    let own = value.as_object().into_iter().flatten();
    own.filter(|(name, _)| is_directive(name)).count()
        + children(value).map(directives).sum::<usize>()
}

/// Whether a list has two maps with an equal string or number, such as a merge key.
fn has_twins(value: &Json) -> bool {
    let share = |a: &Json, b: &Json| {
        let members = a.as_object().into_iter().flatten();
        members
            .filter(|(_, key)| key.is_string() || key.is_number())
            .any(|(name, key)| b.get(name) == Some(key))
    };
    any(value, &|part| has_pair(part, &share))
}

/// Whether a value is a list with two items that have a property together.
fn has_pair(value: &Json, property: &dyn Fn(&Json, &Json) -> bool) -> bool {
    // Items have no order and no hash, so each is compared with all behind it.
    let mut items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    while let Some((first, rest)) = items.split_first() {
        if rest.iter().any(|other| property(first, other)) {
            return true;
        }
        items = rest;
    }
    false
}

/// A map without directives.
fn without_directives(value: &Json) -> Json {
    let mut members = value.as_object().cloned().unwrap_or_default();
    members.retain(|name, _| !is_directive(name));
    Json::Object(members)
}

/// Whether both are equal except for directives and maps with `$patch`.
fn same_but_directives(theirs: &Json, ours: &Json) -> bool {
    let has_patch = |value: &Json| value.get("$patch").is_some();
    // A map with `$patch` has to be missing here as a whole; other directives are only left out of their map.
    match (theirs, ours) {
        _ if has_patch(theirs) => directives(ours) == 0,
        (Json::Object(theirs), Json::Object(ours)) => {
            ours.keys().all(|name| theirs.contains_key(name))
                && theirs
                    .iter()
                    .filter(|(name, _)| !is_directive(name))
                    .all(|(name, theirs)| {
                        ours.get(name)
                            .map_or(has_patch(theirs), |ours| same_but_directives(theirs, ours))
                    })
                && !ours.keys().any(|name| is_directive(name))
        }
        (Json::Array(theirs), Json::Array(ours)) => {
            let kept: Vec<&Json> = theirs.iter().filter(|item| !has_patch(item)).collect();
            // Go merges a later item of the patch with the item that a directive became.
            let merged = theirs.iter().map(|item| {
                if has_patch(item) {
                    without_directives(item)
                } else {
                    item.clone()
                }
            });
            let merged: Vec<Json> = merged.collect();
            let same = |theirs: &[&Json]| {
                theirs.len() == ours.len()
                    && theirs
                        .iter()
                        .zip(ours)
                        .all(|(a, b)| same_but_directives(a, b))
            };

            same(&kept) || same(&merged.iter().collect::<Vec<_>>())
        }
        _ => same(theirs, ours),
    }
}

/// An unknown directive is in a place where the reference does not check it.
fn unknown_directive(case: &Json, theirs: &[Json], ours: &Json) -> bool {
    let faulty = matches!(
        class(ours),
        "badRetainKeys" | "badSetElementOrder" | "badPrimitiveList" | "directive"
    );
    function(case) == "apply" && faulty && results(theirs).next().is_some()
}

/// The value of `$deleteFromPrimitiveList` is not a list of scalars.
fn bad_delete_list(case: &Json, _: &[Json], ours: &Json) -> bool {
    function(case) == "apply" && class(ours) == "badPrimitiveList"
}

/// A merge key is a list or a map, and the reference did not compare it with another one.
fn object_merge_key(_: &Json, _: &[Json], ours: &Json) -> bool {
    class(ours) == "keyType"
}

/// The reference looks up a directive beside a list as if it were a field.
fn delete_list_conflict(case: &Json, theirs: &[Json], ours: &Json) -> bool {
    // Only these functions search for conflicts.
    let checks = function(case) == "conflicts" || function(case) == "three-way";
    checks
        && !is_error(ours) | (class(ours) == "conflict")
        && theirs
            .iter()
            .any(|answer| text(answer, "error").contains("unable to find api field \"$"))
}

/// The reference sorts lists of the patch while it checks for conflicts.
fn sorted_by_check(case: &Json, theirs: &[Json], ours: &Json) -> bool {
    function(case) == "three-way"
        && !flag(case, "overwrite")
        && ours.get("result").is_some_and(|ours| {
            let ours = as_sets(ours);
            results(theirs).any(|result| same(&as_sets(result), &ours))
        })
}

/// Items of a long list that are not in `$setElementOrder` have the order of the reference's sorting algorithm, which is
/// not stable.
fn long_list_order(case: &Json, theirs: &[Json], ours: &Json) -> bool {
    let ordered = case.to_string().contains("\"$setElementOrder/");
    ordered
        && ours.get("result").is_some_and(|ours| {
            let ours = long_sorted(ours);
            results(theirs).any(|result| same(&long_sorted(result), &ours))
        })
}

/// The value with those lists sorted that are too long for a stable order in the reference.
fn long_sorted(value: &Json) -> Json {
    const KEPT: usize = 12;
    with_each(value, |part| match part {
        Json::Array(items) if items.len() > KEPT => items.sort_by_key(Json::to_string),
        _ => {}
    })
}

/// The value with lists of scalars sorted, each scalar once.
fn as_sets(value: &Json) -> Json {
    let is_scalar = |item: &Json| !item.is_object() && !item.is_array();
    with_each(value, |part| match part {
        Json::Array(items) if items.iter().all(is_scalar) => {
            items.sort_by_key(Json::to_string);
            items.dedup();
        }
        _ => {}
    })
}

/// A list of scalars of the live object has a duplicate: the order that the reference uses depends on the capacity of
/// the slice.
fn scalar_duplicates(case: &Json, theirs: &[Json], ours: &Json) -> bool {
    has_live_twice(case)
        && ours.get("result").is_some_and(|ours| {
            let ours = as_sets(ours);
            results(theirs).any(|result| same(&as_sets(result), &ours))
        })
}

/// Whether a list of scalars that a patch meets has a value twice.
fn has_live_twice(case: &Json) -> bool {
    // Patches are merged without a live object, so the duplicate is in one of them.
    let twice = ["original", "patches"]
        .iter()
        .any(|name| case.get(name).is_some_and(has_twice));
    // Of two items of a patch with one key, the first is the live one of the second.
    let patch = case.get("patch");
    twice || patch.is_some_and(|patch| has_twins(patch) && has_twice(patch))
}

fn has_twice(value: &Json) -> bool {
    any(value, &|part| {
        has_pair(part, &|a, b| !a.is_object() && a == b)
    })
}

/// A list of more than twelve items has two with the same key: the reference pairs items by an unstable sort for lists
/// of that length.
fn duplicate_keys(case: &Json, theirs: &[Json], ours: &Json) -> bool {
    let makes = function(case) == "two-way" || function(case) == "three-way";
    let long = ["original", "modified", "current"]
        .iter()
        .any(|name| case.get(name).is_some_and(long_with_duplicates));
    // Other pairs of items can have other faults, or none.
    makes && long && (ours.get("result").is_some() || results(theirs).next().is_some())
}

fn long_with_duplicates(value: &Json) -> bool {
    let same_key = |a: &Json, b: &Json| {
        MERGE_KEYS
            .iter()
            .any(|key| a.get(key).is_some() && a.get(key) == b.get(key))
    };
    any(value, &|part| {
        part.as_array().is_some_and(|items| items.len() > 12) && has_pair(part, &same_key)
    })
}

fn operations(case: &Json) -> &[Json] {
    if text(case, "op") == "jsonpatch" {
        items(case, "patch")
    } else {
        &[]
    }
}

/// The reference refuses documents that are null or scalars, which RFC 7386 merges too; for two lists of equal length it
/// creates a list of patches, which is not a merge patch.
fn merge_patch_document(case: &Json, theirs: &[Json], ours: &Json) -> bool {
    // Lists are documents in Go, scalars and null are not.
    let odd = |name: &str| {
        case.get(name)
            .is_some_and(|document| !document.is_object() && !document.is_array())
    };
    match (text(case, "op"), function(case)) {
        ("jsonmergepatch", "create") => {
            is_error(ours)
                && member(case, "original").is_array()
                && member(case, "modified").is_array()
        }
        ("jsonmergepatch", _) => {
            (odd("original") || odd("patch")) && theirs.iter().any(is_error) && !is_error(ours)
        }
        _ => false,
    }
}

/// A test of the reference compares numbers by their notation, and distinguishes kinds of null.
fn json_patch_test(case: &Json, theirs: &[Json], ours: &Json) -> bool {
    // The notation of the case decides in Go: a fraction, a null or an absent value makes the difference possible.
    let written = |value: Option<&Json>| value.map(Json::to_string).unwrap_or_default();
    let fractions = written(case.get("original")).contains('.');
    let tests = operations(case)
        .iter()
        .filter(|operation| operation.get("op") == Some(&"test".into()))
        .any(|test| {
            let value = written(test.get("value"));
            value.is_empty() || fractions || value.contains('.') || value.contains("null")
        });
    tests && is_error(ours) != theirs.iter().any(is_error)
}

/// A pointer does not start with a slash: the reference ignores the part before the first slash.
fn json_patch_pointer(_: &Json, theirs: &[Json], ours: &Json) -> bool {
    class(ours) == "pointer" && theirs.iter().any(|answer| answer.get("result").is_some())
}

/// One operation adds a null, a second one copies it, and a third one has a path through the copy: the reference treats
/// the copy as an empty map, here a null has no members.
fn json_patch_copied_null(case: &Json, theirs: &[Json], ours: &Json) -> bool {
    let operations = || operations(case).iter();
    let puts_null = |of: &&Json| {
        matches!(text(of, "op"), "add" | "replace") && of.get("value").is_some_and(Json::is_null)
    };
    // The three operations are found in turn: nulls that are added, copies of these, paths through the copies.
    let nulls: Vec<&str> = operations()
        .filter(puts_null)
        .map(|of| text(of, "path"))
        .collect();
    let copies_null = |of: &&Json| text(of, "op") == "copy" && nulls.contains(&text(of, "from"));
    let below: Vec<String> = operations()
        .filter(copies_null)
        .map(|of| format!("{}/", text(of, "path")))
        .collect();

    let leads_into = |of: &Json| {
        below
            .iter()
            .any(|at| text(of, "from").starts_with(at) || text(of, "path").starts_with(at))
    };
    text(ours, "error").contains("missing path")
        && results(theirs).next().is_some()
        && operations().any(leads_into)
}

/// A case has several faults, and the sides report different ones. The reference reports the first one in the order in
/// which it visits maps, and in the order of its passes over a list.
pub(super) fn other_fault(case: &Json, theirs: &[Json], ours: &Json) -> Option<&'static str> {
    (text(case, "op") == "smp" && is_error(ours) && theirs.iter().all(is_error))
        .then_some(OTHER_FAULT)
}
