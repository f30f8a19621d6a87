//! An interner shares equal parts and changes no result.

use fieldmanager_fieldpath::Set;
use fieldmanager_value::{List, Value};
use proptest::prelude::*;

use super::{Interner, fingerprint};
use crate::ManagedFields;

/// The set of a `fieldsV1`, shared with those that the interner keeps.
fn set_of(
    interner: &mut Interner,
    fields_v1: &Value,
) -> Result<Set, fieldmanager_fieldpath::Error> {
    let hash = fingerprint(&interner.hashes, fields_v1);
    interner.set_at(hash, fields_v1)
}

fn entry(manager: &str, operation: &str, hour: u8, fields: &str) -> String {
    format!(
        r#"{{"manager":"{manager}","operation":"{operation}","apiVersion":"example.com/v1","fieldsType":"FieldsV1",
            "time":"2026-01-31T{hour:02}:00:00Z","fieldsV1":{fields}}}"#
    )
}

fn object(name: &str, entries: &[String]) -> Value {
    let entries = entries.join(",");
    Value::from_json(&format!(
        r#"{{"metadata":{{"managedFields":[{entries}],"name":"{name}"}}}}"#
    ))
    .unwrap()
}

fn entries(object: &Value) -> &List {
    object
        .get("metadata")
        .unwrap()
        .get("managedFields")
        .unwrap()
        .as_list()
        .unwrap()
}

const SPEC: &str =
    r#"{"f:spec":{"f:replicas":{},"f:ports":{"k:{\"port\":80}":{".":{},"f:port":{}}}}}"#;
const STATUS: &str = r#"{"f:status":{"f:phase":{}}}"#;

fn pod(name: &str, hour: u8) -> Value {
    object(
        name,
        &[
            entry("deployer", "Apply", hour, SPEC),
            entry("node", "Update", hour + 1, STATUS),
        ],
    )
}

#[test]
fn objects_share_the_fields_of_their_entries() {
    let mut interner = Interner::default();
    let (one, other) = (
        interner.share(&pod("one", 1)),
        interner.share(&pod("other", 2)),
    );
    assert_eq!((&one, &other), (&pod("one", 1), &pod("other", 2)));
    for (one, other) in entries(&one).iter().zip(entries(&other).iter()) {
        for name in ["fieldsV1", "manager", "apiVersion"] {
            assert!(
                one.get(name).unwrap().ptr_eq(other.get(name).unwrap()),
                "{name}"
            );
        }
    }
    // A shared object is unchanged.
    assert!(interner.share(&other).ptr_eq(&other));
    assert_eq!(interner.fields.len(), 2);
}

#[test]
fn managed_fields_share_their_sets() {
    let mut interner = Interner::default();
    let mut decode = |hour| ManagedFields::of_object_with(&pod("x", hour), &mut interner).unwrap();
    let (one, other) = (decode(1), decode(2));
    assert_ne!(one, other, "their times are their own");
    for (one, other) in one.entries().iter().zip(other.entries()) {
        assert!(one.fields.ptr_eq(&other.fields));
    }
    assert_eq!(one, ManagedFields::of_object(&pod("x", 1)).unwrap());
}

#[test]
fn one_set_is_shared_by_different_managers() {
    let mut interner = Interner::default();
    let both = object(
        "x",
        &[entry("a", "Apply", 1, SPEC), entry("b", "Update", 1, SPEC)],
    );
    let managed = ManagedFields::of_object_with(&both, &mut interner).unwrap();
    let [a, b] = <[_; 2]>::try_from(managed.entries()).unwrap();
    assert!(a.fields.ptr_eq(&b.fields));
    assert_eq!(interner.fields.len(), 1);
}

#[test]
fn an_interner_does_not_grow_beyond_its_capacity() {
    for capacity in [0, 3, 1000] {
        let mut interner = Interner::with_capacity(capacity);
        for i in 0..100_000_u32 {
            let value = Value::from_json(&format!(r#"{{"f:{i}":{{}}}}"#)).unwrap();
            let set = set_of(&mut interner, &value).unwrap();
            assert!(set.ptr_eq(&set_of(&mut interner, &value).unwrap()) || capacity == 0);
        }
        assert!(
            interner.fields.len() <= capacity,
            "{capacity}: {}",
            interner.fields.len()
        );
        assert!(
            interner.fields.len() * 2 >= capacity,
            "{capacity}: only {} are used",
            interner.fields.len()
        );
    }
}

#[test]
fn faults_are_those_of_plain_decoding() {
    let mut interner = Interner::default();
    for list in [
        "3",
        r#"[{}]"#,
        &format!("[{}]", entry("a", "Apply", 1, r#"{"fa":{}}"#)),
        "[4]",
        "null",
        "[]",
    ] {
        let list = Value::from_json(list).unwrap();
        for _ in 0..2 {
            let decoded = ManagedFields::decode_with(Some(&list), &mut interner);
            assert_eq!(decoded, ManagedFields::decode(Some(&list)));
        }
    }
    for text in [
        "3",
        r#"{"metadata":null}"#,
        r#"{"metadata":{"managedFields":[4,{"fieldsV1":[]}]}}"#,
    ] {
        let object = Value::from_json(text).unwrap();
        assert!(interner.share(&object).ptr_eq(&object));
    }
}

/// FieldsV1 with few names, so that some are equal; some cannot be decoded.
fn fields() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![8 => Just("{}".to_owned()), 1 => Just("null".to_owned()), 1 => Just("1".to_owned())];
    leaf.prop_recursive(3, 12, 3, |below| {
        let key = prop_oneof![
            Just("f:a"),
            Just("f:b"),
            Just("v:1"),
            Just("."),
            Just("x:unknown"),
            Just("none")
        ];
        prop::collection::btree_map(key, below, 0..3).prop_map(|fields| {
            let members: Vec<String> = fields
                .iter()
                .map(|(key, below)| format!(r#""{key}":{below}"#))
                .collect();
            format!("{{{}}}", members.join(","))
        })
    })
}

fn entries_of_few() -> impl Strategy<Value = Vec<String>> {
    let one = (
        prop_oneof![Just("a"), Just("b")],
        prop_oneof![Just("Apply"), Just("Update")],
        0..3_u8,
        fields(),
    );
    prop::collection::vec(
        one.prop_map(|(manager, operation, hour, fields)| entry(manager, operation, hour, &fields)),
        0..4,
    )
}

proptest! {
    #[test]
    fn sharing_changes_no_result(
        objects in prop::collection::vec(entries_of_few(), 1..12),
        capacity in 0..12_usize,
    ) {
        let mut interner = Interner::with_capacity(capacity);
        for entries in &objects {
            let read = object("x", entries);
            let shared = interner.share(&read);
            prop_assert!(shared.strict_eq(&read));
            let plain = ManagedFields::of_object(&read);
            for object in [&read, &shared] {
                prop_assert_eq!(&ManagedFields::of_object_with(object, &mut interner), &plain);
            }
            if let Ok(managed) = plain {
                for entry in managed.entries() {
                    let value = entry.fields.to_value();
                    prop_assert_eq!(set_of(&mut interner, &value), Set::from_value(&value));
                }
            }
        }
        prop_assert!(interner.fields.len() <= capacity);
    }
}
