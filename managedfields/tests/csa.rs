//! The upgrade from client-side apply.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers may panic"
)]

use fieldmanager_managedfields::CsaUpgrade;
use fieldmanager_value::Value;

/// `U kubectl v1 - a,b`: operation, manager, version, subresource, fields.
fn object(lines: &[&str]) -> Value {
    let entries: Vec<String> = lines
        .iter()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let operation = if words[0] == "A" { "Apply" } else { "Update" };
            let subresource = if words[3] == "-" { "" } else { words[3] };
            let names: Vec<String> = words[4].split(',').map(|name| format!(r#""f:{name}":{{}}"#)).collect();
            format!(
                r#"{{"operation":"{operation}","manager":"{}","apiVersion":"{}","subresource":"{subresource}",
                    "fieldsType":"FieldsV1","fieldsV1":{{{}}}}}"#,
                words[1],
                words[2],
                names.join(",")
            )
        })
        .collect();
    let json = format!(
        r#"{{"metadata":{{"resourceVersion":"1","managedFields":[{}]}}}}"#,
        entries.join(",")
    );
    Value::from_json(&json).unwrap()
}

fn upgrade() -> CsaUpgrade {
    CsaUpgrade::new(["csa", "old"], "ssa")
}

#[test]
fn fields_of_updaters_are_transferred() {
    let cases: [(&str, &[&str], &[&str]); 10] = [
        ("direct conversion", &["U csa v1 - a"], &["A ssa v1 - a"]),
        (
            "duplicate fields",
            &["A ssa v1 - a", "U csa v1 - a"],
            &["A ssa v1 - a"],
        ),
        (
            "additional fields",
            &["A ssa v1 - a", "U csa v1 - a,b"],
            &["A ssa v1 - a,b"],
        ),
        (
            "no applicable version",
            &["A ssa v5 - a", "U csa v1 - b"],
            &["A ssa v5 - a"],
        ),
        (
            "one of several versions",
            &["A ssa v2 - a", "U csa v1 - b", "U csa v2 - c"],
            &["A ssa v2 - a,c"],
        ),
        (
            "nothing to do",
            &["A ssa v1 - a", "U other v1 - b"],
            &["A ssa v1 - a", "U other v1 - b"],
        ),
        (
            "two managers",
            &["U csa v1 - a", "U old v1 - b"],
            &["A ssa v1 - a,b"],
        ),
        (
            "two managers, in the order given",
            &["U old v1 - b", "U csa v2 - a"],
            &["A ssa v2 - a"],
        ),
        (
            "other subresources stay",
            &["U csa v1 status a", "U csa v1 - b"],
            &["U csa v1 status a", "A ssa v1 - b"],
        ),
        (
            "applies of the name stay",
            &["A csa v1 - a", "U csa v1 - b"],
            &["A csa v1 - a", "A ssa v1 - b"],
        ),
    ];
    for (what, before, after) in cases {
        let upgraded = upgrade().upgrade(&object(before)).unwrap();
        assert_eq!(upgraded, object(after), "{what}");
        assert_eq!(
            upgrade().upgrade(&upgraded).unwrap(),
            upgraded,
            "{what}, again"
        );
        let patch = upgrade().patch(&object(before)).unwrap();
        assert_eq!(patch.is_none(), before == after, "{what}");
    }
}

#[test]
fn the_manager_can_keep_its_name() {
    let upgrade = CsaUpgrade::new(["ci"], "ci");
    assert_eq!(
        upgrade.upgrade(&object(&["U ci v1 - a"])).unwrap(),
        object(&["A ci v1 - a"])
    );
}

#[test]
fn only_the_selected_subresource_is_upgraded() {
    let upgrade = CsaUpgrade::new(["csa"], "ssa").subresource("status");
    let before = object(&["U csa v1 status a", "U csa v1 - b"]);
    assert_eq!(
        upgrade.upgrade(&before).unwrap(),
        object(&["A ssa v1 status a", "U csa v1 - b"])
    );
}

#[test]
fn entries_of_other_managers_may_be_unreadable() {
    let json = r#"{"metadata":{"managedFields":[{"manager":"x","fieldsV1":1},
        {"manager":"csa","operation":"Update","apiVersion":"v1","fieldsV1":FIELDS}]}}"#;
    let with = |fields| Value::from_json(&json.replace("FIELDS", fields)).unwrap();
    let upgraded = upgrade().upgrade(&with("{}")).unwrap().to_json();
    assert!(
        upgraded.contains(r#"{"fieldsV1":1,"manager":"x"}"#),
        "{upgraded}"
    );
    let error = upgrade().upgrade(&with("1")).unwrap_err();
    assert_eq!((error.index, error.member), (1, "fieldsV1"));
}

#[test]
fn the_patch_replaces_list_and_version() {
    let patch = upgrade()
        .patch(&object(&["U csa v1 - a"]))
        .unwrap()
        .unwrap();
    assert_eq!(
        patch.to_json(),
        r#"[{"op":"replace","path":"/metadata/managedFields","value":[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}},"manager":"ssa","operation":"Apply","subresource":""}]},{"op":"replace","path":"/metadata/resourceVersion","value":"1"}]"#,
    );
    assert_eq!(
        upgrade().patch(&Value::from_json("{}").unwrap()).unwrap(),
        None
    );
}
