//! Properties of union normalization and validation.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::sync::LazyLock;

use fieldmanager_schema::{Schema, Type};
use fieldmanager_typed::internal::normalize_config;
use fieldmanager_typed::{Duplicates, Ratcheting, TypedValue};
use fieldmanager_value::Value;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

/// A struct with a union of every form. It is nested in its members, in a keyed list and in a map.
static ROOT: LazyLock<Type> = LazyLock::new(|| {
    let unions = [
        ("p", ""),
        ("q", "required: true, "),
        (
            "d",
            "discriminator: dType, deduceInvalidDiscriminator: true, emptyMembers: [None], ",
        ),
        ("r", "discriminator: rType, emptyMembers: [None], "),
        ("e", "discriminator: eType, emptyMembers: ['', None], "),
        (
            "c",
            "discriminator: cType, emptyMembers: ['', None], closed: true, ",
        ),
    ];
    let mut fields = String::new();
    let mut all = String::new();
    for (prefix, attributes) in unions {
        fields += &format!("    - {{name: {prefix}Type, type: {{scalar: string}}}}\n");
        for member in ["A", "B", "C"] {
            fields += &format!("    - {{name: {prefix}{member}, type: {{namedType: member}}}}\n");
        }
        all += &format!(
            "    - {{{attributes}fields: [{{fieldName: {prefix}A, discriminatorValue: A}},
        {{fieldName: {prefix}B, discriminatorValue: B}},
        {{fieldName: {prefix}C, discriminatorValue: C, optional: true}}]}}\n"
        );
    }
    let text = format!(
        "types:
- {{name: member, scalar: numeric, map: {{fields: [{{name: in, type: {{namedType: root}}}}]}}}}
- name: root
  map:
    fields:
    - {{name: name, type: {{scalar: string}}}}
    - name: items
      type: {{list: {{elementRelationship: associative, keys: [name], elementType: {{namedType: root}}}}}}
    - {{name: byName, type: {{map: {{elementType: {{namedType: root}}}}}}}}
    - {{name: frozen, type: {{list: {{elementRelationship: atomic, elementType: {{namedType: root}}}}}}}}
    - {{name: sealed, type: {{map: {{elementRelationship: atomic, elementType: {{namedType: root}}}}}}}}
    - {{name: whole, type: {{namedType: root, elementRelationship: atomic}}}}
{fields}    unions:
{all}"
    );
    Schema::from_yaml(&text)
        .unwrap()
        .type_named("root")
        .unwrap()
});

fn discriminator() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        3 => Just(None),
        1 => Just(Some(Value::Null)),
        8 => prop::sample::select(vec!["", "A", "A", "B", "B", "C", "None", "Own", "Other"])
            .prop_map(|value| Some(value.into())),
    ]
}

fn member(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        5 => Just(None),
        1 => Just(Some(Value::Null)),
        4 => (1i64..3).prop_map(|n| Some(Value::from(n))),
        1 => inner.prop_map(|inner| Some(Value::Map([("in", inner)].into_iter().collect()))),
    ]
}

/// The fields of two of the six unions, which keeps objects small.
fn fields(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Vec<(String, Value)>> {
    let union = move |prefix: &'static str| {
        let members = [
            member(inner.clone()),
            member(inner.clone()),
            member(inner.clone()),
        ];
        (discriminator(), members).prop_map(move |(discriminator, members)| {
            let names = ["A", "B", "C"].map(|member| format!("{prefix}{member}"));
            let members = names.into_iter().zip(members);
            let all = std::iter::once((format!("{prefix}Type"), discriminator)).chain(members);
            all.filter_map(|(name, value)| Some((name, value?)))
                .collect::<Vec<_>>()
        })
    };
    let first = prop::sample::select(vec!["p", "d", "r"]).prop_flat_map({
        let union = union.clone();
        move |prefix| union(prefix)
    });
    let second = prop::sample::select(vec!["q", "e", "c"]).prop_flat_map(union);
    (first, second).prop_map(|(first, second)| [first, second].concat())
}

fn object(depth: u32) -> BoxedStrategy<Value> {
    let inner = if depth == 0 {
        Just(Value::Null).boxed()
    } else {
        object(depth - 1)
    };
    let some = (0u32..10).prop_map(move |n| (depth > 0 && n < 4).then_some(()));
    let list = prop::collection::vec((0usize..3, inner.clone()), 0..3);
    let map = prop::collection::vec((0usize..2, inner.clone()), 0..2);
    (fields(inner), some.clone(), list, some, map)
        .prop_map(|(fields, with_list, list, with_map, map)| {
            let mut object: fieldmanager_value::Map = fields.into_iter().collect();
            const NAMES: [&str; 3] = ["one", "two", "three"];
            if with_list.is_some() {
                let mut seen = Vec::new();
                let items = list.into_iter().filter_map(|(name, item)| {
                    let fresh = !seen.contains(&name);
                    seen.push(name);
                    let mut item = item.as_map().cloned().unwrap_or_default();
                    item.insert("name", NAMES[name]);
                    fresh.then_some(Value::Map(item))
                });
                object.insert("items", Value::List(items.collect()));
            }
            if with_map.is_some() {
                let entries = map.into_iter().map(|(name, item)| (NAMES[name], item));
                object.insert("byName", Value::Map(entries.collect()));
            }
            Value::Map(object)
        })
        .boxed()
}

fn typed(value: &Value) -> TypedValue {
    TypedValue::new(value.clone(), ROOT.clone(), Duplicates::Allow).unwrap()
}

/// An old object or null, and a new object, which often differs from the old one in a few fields only.
fn pair() -> impl Strategy<Value = (Value, Value)> {
    let overlay = |old: &Value, new: &Value| {
        let mut all = old.as_map().cloned().unwrap_or_default();
        for (name, value) in new.as_map().into_iter().flatten() {
            all.insert(name.as_str(), value.clone());
        }
        Value::Map(all)
    };
    prop_oneof![
        1 => object(1).prop_map(|new| (Value::Null, new)),
        2 => (object(1), object(1)),
        5 => (object(1), object(1)).prop_map(move |(old, new)| {
            let new = overlay(&old, &new);
            (old, new)
        }),
    ]
}

/// The second object normalized against the first.
fn normalized(old: &Value, new: &Value) -> Option<TypedValue> {
    // A contradiction is rejected, so there is no result to check.
    Some(typed(old).normalize_update(&typed(new)).ok()?.value)
}

fn several_set(faults: &[fieldmanager_typed::UnionFault]) -> Vec<String> {
    let several = faults
        .iter()
        .filter(|fault| fault.message.contains(" one of: `"));
    let several = several.filter(|fault| !fault.message.starts_with("must specify one of"));
    several.map(|fault| fault.path.to_string()).collect()
}

/// The paths of structs with several members of a union set, found by a simple walk.
fn crowded(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Map(map) => {
            for prefix in ["p", "q", "d", "r", "e", "c"] {
                let is_set = |m: &&str| {
                    map.get(&format!("{prefix}{m}"))
                        .is_some_and(|v| !v.is_null())
                };
                if ["A", "B", "C"].iter().filter(|m| is_set(m)).count() > 1 {
                    found.push(path.to_owned());
                }
            }
            for (name, value) in map {
                crowded(value, &format!("{path}.{name}"), found);
            }
        }
        Value::List(items) => {
            for item in items {
                let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
                crowded(item, &format!("{path}[name={name:?}]"), found);
            }
        }
        _ => {}
    }
}

fn sorted(mut all: Vec<String>) -> Vec<String> {
    all.sort();
    all
}

fn idempotent(old: &Value, new: &Value) -> TestCaseResult {
    if let Some(once) = normalized(old, new) {
        let again = typed(old)
            .normalize_update(&once)
            .map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(again.value.value(), once.value());
        prop_assert!(again.changes.is_empty());
        // Writing the same object again changes nothing.
        let next = once.normalize_update(&once).unwrap();
        prop_assert_eq!(next.value.value(), once.value());
        let reread = typed(once.value());
        let next = reread.normalize_update(&typed(once.value())).unwrap();
        prop_assert_eq!(next.value.value(), once.value());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn normalization_is_idempotent((old, new) in pair()) {
        idempotent(&old, &new)?;
    }

    /// Normalization only removes members and sets discriminators, and lists every change.
    #[test]
    fn normalization_lists_its_changes((old, new) in pair()) {
        if let Ok(result) = typed(&old).normalize_update(&typed(&new)) {
            prop_assert_eq!(result.changes.is_empty(), *result.value.value() == new);
            let compared = typed(&new).compare(&result.value).unwrap();
            let listed: Vec<String> = result.changes.iter().map(|change| change.path.to_string()).collect();
            for path in compared.added.paths().chain(compared.modified.paths()).chain(compared.removed.paths()) {
                let path = path.to_string();
                let is_listed = listed.iter().any(|at| path == *at || path.starts_with(&format!("{at}.")));
                prop_assert!(is_listed, "{} is not in {:?}", path, listed);
            }
        }
    }

    /// Validation reports every union with several members set in a normalized object.
    #[test]
    fn validation_reports_remaining_conflicts((old, new) in pair()) {
        if let Some(result) = normalized(&old, &new) {
            let faults = typed(&old).validate_unions(&result, Ratcheting::Off);
            let mut crowded_at = Vec::new();
            crowded(result.value(), "", &mut crowded_at);
            prop_assert_eq!(sorted(several_set(&faults)), sorted(crowded_at));
        }
    }

    /// A valid and settled object is not changed, regardless of the valid object that it replaces.
    #[test]
    fn valid_objects_are_not_changed((old, new) in pair(), repair in prop::bool::weighted(0.9)) {
        let repaired = |value: Value| if repair { valid_part(&value) } else { value };
        let (old, new) = (repaired(old), repaired(new));
        let valid = |value: &Value| typed(value).validate_unions(&typed(value), Ratcheting::Off).is_empty();
        if (old.is_null() || valid(&old)) && valid(&new) && settled(&new) {
            for before in [&old, &new, &Value::Null] {
                let result = typed(before).normalize_update(&typed(&new));
                let result = result.map_err(|e| TestCaseError::fail(format!("{before} -> {new}: {e}")))?;
                prop_assert_eq!(result.value.value(), &new, "{}", before);
                prop_assert!(typed(before).validate_unions(&result.value, Ratcheting::On).is_empty());
            }
        }
    }

    /// Ratcheting adds no faults, and an object has no faults when compared with itself.
    #[test]
    fn ratcheting_only_removes_faults((old, new) in pair()) {
        let all = typed(&old).validate_unions(&typed(&new), Ratcheting::Off);
        let left = typed(&old).validate_unions(&typed(&new), Ratcheting::On);
        prop_assert!(left.iter().all(|fault| all.contains(fault)));
        prop_assert!(typed(&new).validate_unions(&typed(&new), Ratcheting::On).is_empty());
        // Without ratcheting, faults do not depend on the old object.
        prop_assert_eq!(typed(&Value::Null).validate_unions(&typed(&new), Ratcheting::Off), all);
    }

    /// Skipping parts that are shared with a normalized object does not affect the result.
    #[test]
    fn sharing_does_not_affect_the_result((old, first) in pair(), extra in object(0)) {
        if let Some(live) = normalized(&old, &first) {
            let mut edited = live.value().as_map().cloned().unwrap_or_default();
            for (name, value) in extra.as_map().into_iter().flatten() {
                edited.insert(name.as_str(), value.clone());
            }
            let edited = Value::Map(edited);
            // The same object without sharing.
            let copy = Value::from_json(edited.to_json().as_str()).unwrap();
            let shared = live.normalize_update(&typed(&edited)).map(|n| n.value.into_value());
            let unshared = typed(live.value()).normalize_update(&typed(&copy)).map(|n| n.value.into_value());
            prop_assert_eq!(shared, unshared);
        }
    }

    /// A normalized configuration is accepted again without changes, and sets at most one member per union.
    #[test]
    fn normalization_of_configurations_is_idempotent(config in object(1)) {
        let nothing = typed(&Value::Null);
        if let Ok(once) = normalize_config(&nothing, &typed(&config)) {
            let again = normalize_config(&nothing, &once.value).unwrap();
            prop_assert_eq!(again.value.value(), once.value.value());
            let mut crowded_at = Vec::new();
            crowded(once.value.value(), "", &mut crowded_at);
            prop_assert_eq!(crowded_at, Vec::<String>::new());
        }
    }
}

/// Contents of atomic values: the items of a list, the entries of a map, and a struct.
type Frozen = (Vec<Value>, Vec<(usize, Value)>, Option<Value>);

fn frozen() -> impl Strategy<Value = Frozen> {
    let map = prop::collection::vec((0usize..3, object(0)), 0..3);
    (
        prop::collection::vec(object(0), 0..3),
        map,
        prop::option::of(object(0)),
    )
}

/// Adds atomic values to an object.
fn with_frozen(object: &Value, (list, entries, whole): &Frozen) -> Value {
    let mut all = object.as_map().cloned().unwrap_or_default();
    all.insert("frozen", Value::List(list.iter().cloned().collect()));
    all.insert("sealed", Value::Map(sealed(entries)));
    if let Some(whole) = whole {
        all.insert("whole", whole.clone());
    }
    Value::Map(all)
}

fn sealed(entries: &[(usize, Value)]) -> fieldmanager_value::Map {
    entries
        .iter()
        .map(|(name, value)| (format!("k{name}"), value.clone()))
        .collect()
}

/// The faults of a stand-alone object, with a path prefix.
fn faults_at(path: &str, object: &Value) -> Vec<String> {
    let faults = typed(&Value::Null).validate_unions(&typed(object), Ratcheting::Off);
    faults
        .iter()
        .map(|fault| format!("{path}{}: {}", fault.path, fault.message))
        .collect()
}

/// The expected faults of the atomic list and the atomic map.
fn faults_of_frozen((list, entries, _): &Frozen) -> [Vec<String>; 2] {
    let list = list
        .iter()
        .enumerate()
        .flat_map(|(i, item)| faults_at(&format!(".frozen[{i}]"), item));
    let entries = sealed(entries);
    let entries = entries
        .iter()
        .flat_map(|(name, item)| faults_at(&format!(".sealed.{name}"), item));
    [list.collect(), entries.collect()]
}

/// The faults of an update below a path.
fn faults_below(path: &str, old: &Value, new: &Value, ratcheting: Ratcheting) -> Vec<String> {
    let faults = typed(old).validate_unions(&typed(new), ratcheting);
    let faults = faults.iter().map(ToString::to_string);
    faults
        .filter(|fault| {
            fault
                .strip_prefix(path)
                .is_some_and(|rest| rest.starts_with(['.', '[', ':']))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// Atomic values are not normalized, and do not affect the normalization of the rest.
    #[test]
    fn atomic_values_are_not_normalized((old, new) in pair(), before in frozen(), after in frozen()) {
        let expected = normalized(&old, &new).map(|value| with_frozen(value.value(), &after));
        let (old, new) = (with_frozen(&old, &before), with_frozen(&new, &after));
        prop_assert_eq!(normalized(&old, &new).map(TypedValue::into_value), expected);
        // The same holds for configurations.
        let config = with_frozen(&Value::Map(Default::default()), &after);
        let normal = normalize_config(&typed(&Value::Null), &typed(&config)).unwrap();
        prop_assert_eq!(normal.value.value(), &config);
    }

    /// The faults of atomic values are those of their parts, with list items identified by index.
    #[test]
    fn validation_covers_atomic_values((old, new) in pair(), before in frozen(), after in frozen()) {
        let (old, new) = (with_frozen(&old, &before), with_frozen(&new, &after));
        let [list, map] = faults_of_frozen(&after);
        prop_assert_eq!(faults_below(".frozen", &old, &new, Ratcheting::Off), list);
        prop_assert_eq!(faults_below(".sealed", &old, &new, Ratcheting::Off), map);
        let whole = after.2.map_or(Vec::new(), |whole| faults_at(".whole", &whole));
        prop_assert_eq!(faults_below(".whole", &old, &new, Ratcheting::Off), whole);
    }

    /// With ratcheting, all faults of an atomic list or map are reported, or none if it is unchanged.
    #[test]
    fn ratcheting_compares_atomic_values_as_a_whole(
        (old, new) in pair(), before in frozen(), after in frozen(), same in prop::bool::weighted(0.4),
    ) {
        let after = if same { before.clone() } else { after };
        let (old, new) = (with_frozen(&old, &before), with_frozen(&new, &after));
        let [list, map] = faults_of_frozen(&after);
        let expected = |is_same: bool, faults: Vec<String>| if is_same { Vec::new() } else { faults };
        let list = expected(before.0 == after.0, list);
        prop_assert_eq!(faults_below(".frozen", &old, &new, Ratcheting::On), list);
        let map = expected(sealed(&before.1) == sealed(&after.1), map);
        prop_assert_eq!(faults_below(".sealed", &old, &new, Ratcheting::On), map);
    }
}

/// Removes the faults of the unions of an object, so that it is almost always valid.
fn valid_part(value: &Value) -> Value {
    let Value::Map(map) = value else {
        return value.clone();
    };
    let each = |map: &fieldmanager_value::Map| -> Value {
        Value::Map(
            map.iter()
                .map(|(name, value)| (name.to_string(), valid_part(value)))
                .collect(),
        )
    };
    let child = |value: &Value| match value {
        Value::List(items) => Value::List(items.iter().map(valid_part).collect()),
        // A map of structs, or a member that wraps a struct.
        Value::Map(entries) => each(entries),
        scalar => scalar.clone(),
    };
    let mut out: fieldmanager_value::Map = map
        .iter()
        .map(|(name, value)| (name.to_string(), child(value)))
        .collect();
    for prefix in ["p", "q", "d", "r", "e", "c"] {
        let names = ["A", "B", "C"].map(|m| (m, format!("{prefix}{m}")));
        let is_set = |name: &String| map.get(name).is_some_and(|v| !v.is_null());
        let first = names.iter().find(|(_, name)| is_set(name)).map(|(m, _)| *m);
        for (member, name) in &names {
            if Some(*member) != first {
                out.remove(name);
            }
        }
        match first {
            Some(first) if !["p", "q"].contains(&prefix) => {
                out.insert(format!("{prefix}Type"), first);
            }
            None if prefix == "q" => {
                out.insert("qA", 1);
            }
            None => {
                out.insert(format!("{prefix}Type"), "None");
            }
            Some(_) => {}
        }
    }
    Value::Map(out)
}

/// Whether nothing is left to normalize, regardless of the old object: deducing unions with a set member have a
/// discriminator, and no member is set together with an undeclared discriminator value, which would clear previously
/// set members.
fn settled(value: &Value) -> bool {
    match value {
        Value::Map(map) => {
            let union_settled = |prefix: &&str| {
                let name = |suffix: &str| format!("{prefix}{suffix}");
                let member = ["A", "B", "C"]
                    .iter()
                    .any(|m| map.get(&name(m)).is_some_and(|value| !value.is_null()));
                match map
                    .get(&name("Type"))
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                {
                    "A" | "B" | "C" | "None" => true,
                    "" => !member || *prefix != "d",
                    _ => !member,
                }
            };
            ["d", "r", "e", "c"].iter().all(union_settled)
                && map.iter().all(|(_, value)| settled(value))
        }
        Value::List(items) => items.iter().all(settled),
        _ => true,
    }
}
