//! Transfers between managers.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers may panic"
)]

use fieldmanager_managedfields::internal::selected_entries;
use fieldmanager_managedfields::{Identity, ManagedFields, Operation, Selector};
use fieldmanager_value::Value;

fn managed() -> ManagedFields {
    let list = r#"[
        {"manager":"a","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:x":{}},
         "time":"2026-01-31T12:00:00Z"},
        {"manager":"a","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:y":{}}},
        {"manager":"a","operation":"Update","apiVersion":"v2","fieldsType":"FieldsV1","fieldsV1":{"f:z":{}}},
        {"manager":"a","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{}},
         "subresource":"status"},
        {"manager":"b","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:b":{}},
         "time":"2026-01-31T11:00:00Z"}
    ]"#;
    ManagedFields::decode(Some(&Value::from_json(list).unwrap())).unwrap()
}

/// The entries in a short form, in order.
fn short(managed: &ManagedFields) -> Vec<String> {
    let entry = |entry: fieldmanager_managedfields::Entry| {
        let fields = entry.fields.to_string().replace('\n', ",");
        format!(
            "{} {} {} {}|{fields}",
            entry.manager, entry.operation, entry.api_version, entry.subresource
        )
    };
    managed.entries().into_iter().map(entry).collect()
}

#[test]
fn selectors_select_by_all_members() {
    let a = || Selector::manager("a");
    let cases = [
        (a(), 4),
        (a().operation(Operation::Update), 3),
        (a().subresource(""), 3),
        (a().subresource("status"), 1),
        (a().version("v2"), 1),
        (a().operation(Operation::Apply).version("v2"), 0),
        (Selector::manager("c"), 0),
    ];
    for (selector, count) in cases {
        assert_eq!(
            selected_entries(&managed(), &selector).len(),
            count,
            "{selector:?}"
        );
        assert_eq!(
            managed().without(&selector).len(),
            5 - count,
            "{selector:?}"
        );
    }
}

#[test]
fn rename_unites_entries_with_the_same_identity() {
    let renamed = managed().rename(&Selector::manager("a"), "b").unwrap();
    let expected = [
        "b Apply v1 |.b,.x",
        "b Update v1 |.y",
        "b Update v1 status|.status",
        "b Update v2 |.z",
    ];
    assert_eq!(short(&renamed), expected);
    assert_eq!(
        renamed.entries()[0].time.unwrap().to_string(),
        "2026-01-31T12:00:00Z"
    );
}

#[test]
fn rename_to_the_same_name_or_without_entries_changes_nothing() {
    assert_eq!(
        managed().rename(&Selector::manager("a"), "a").unwrap(),
        managed()
    );
    assert_eq!(
        managed().rename(&Selector::manager("c"), "a").unwrap(),
        managed()
    );
}

#[test]
fn transfer_between_operations() {
    let updates = Selector::manager("a")
        .operation(Operation::Update)
        .subresource("")
        .version("v1");
    let applier = Identity::new("b", Operation::Apply, "", "");
    let given = managed().transfer(&updates, &applier).unwrap();
    assert_eq!(short(&given)[0], "b Apply v1 |.b,.y");
    assert_eq!(given.len(), 4);
    // An applier cannot have entries at two versions.
    let all = Selector::manager("a")
        .operation(Operation::Update)
        .subresource("");
    let error = managed().transfer(&all, &applier).unwrap_err();
    assert_eq!((error.from.as_str(), error.to.as_str()), ("v2", "v1"));
}
