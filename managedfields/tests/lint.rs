//! The findings of lint.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers may panic"
)]

use fieldmanager_managedfields::internal::{LintOptions, lint};
use fieldmanager_value::Value;

fn entry(manager: &str, operation: &str, version: &str, fields: &str) -> String {
    format!(
        r#"{{"manager":"{manager}","operation":"{operation}","apiVersion":"{version}","fieldsType":"FieldsV1",
            "fieldsV1":{fields}}}"#
    )
}

fn findings(entries: &[String], served: Option<&[&str]>) -> Vec<String> {
    let json = format!(
        r#"{{"metadata":{{"managedFields":[{}]}}}}"#,
        entries.join(",")
    );
    let options = LintOptions::default().large_percent(101);
    let options = match served {
        Some(served) => options.served(served.iter().copied()),
        None => options,
    };
    let report = lint(&Value::from_json(&json).unwrap(), &options);
    report.findings.iter().map(ToString::to_string).collect()
}

#[test]
fn every_kind_of_finding() {
    let (x, xy) = (r#"{"f:x":{}}"#, r#"{"f:x":{},"f:y":{}}"#);
    type Case<'c> = (&'c [String], Option<&'c [&'c str]>, &'c [&'c str]);
    let cases: [Case; 9] = [
        (
            &[
                entry("ci", "Apply", "v1", x),
                entry("hpa", "Update", "v1", r#"{"f:y":{}}"#),
            ],
            None,
            &[],
        ),
        (
            &[
                entry("ci", "Apply", "v1", x),
                entry("hpa", "Update", "v1", x),
            ],
            None,
            &[
                r#""hpa" using v1 owns only fields that "ci" applies too, and keeps them from being removed: drop its entry"#,
            ],
        ),
        (
            &[
                entry("a", "Apply", "v1", x),
                entry("b", "Apply", "v1", r#"{"f:y":{}}"#),
                entry("hpa", "Update", "v1", xy),
            ],
            None,
            &[
                r#""hpa" using v1 owns only fields that "a" or "b" applies too, and keeps them from being removed: drop its entry"#,
            ],
        ),
        // At another version, the same path may be another field.
        (
            &[
                entry("ci", "Apply", "v2", x),
                entry("hpa", "Update", "v1", x),
            ],
            None,
            &[],
        ),
        (
            &[
                entry("hpa", "Update", "v1", x),
                entry("hpa", "Update", "v2", x),
            ],
            None,
            &[r#""hpa" has updated at v1, v2: its entries could be united at one version"#],
        ),
        (
            &[entry("ci", "Apply", "v1beta1", x)],
            Some(&["v1", "v2"]),
            &[
                r#""ci" has an entry at v1beta1, which is not served (v1, v2 is): the next write drops it"#,
            ],
        ),
        (
            &[
                entry("ci", "Apply", "v1", x),
                entry("before-first-apply", "Update", "v1", xy),
            ],
            None,
            &[
                r#""before-first-apply" owns 2 fields, 1 of them alone: no apply removes them until an applier owns them"#,
            ],
        ),
        (
            &[entry("ancient-changes", "Update", "v1", xy)],
            None,
            &[
                r#""ancient-changes" owns 2 fields of updaters at v1, 2 of them alone: the updaters that changed them are no longer known"#,
            ],
        ),
        (
            &[
                entry("ci", "Apply", "v1", x),
                entry("ci", "Apply", "v1", x),
                r#"{"manager":"old"}"#.to_owned(),
            ],
            None,
            &[
                ".metadata.managedFields[2].operation: operation must be `Apply` or `Update`, got ``: \
                 every apply fails until the entry is removed",
                r#""ci" has several entries, of which an API server reads the last"#,
            ],
        ),
    ];
    for (entries, served, expected) in cases {
        assert_eq!(findings(entries, served), expected);
    }
}

#[test]
fn sizes_of_managers() {
    let json = r#"{"metadata":{"managedFields":[{"manager":"a"},{"manager":"bb","x":1},{"manager":"a"}]}}"#;
    let report = lint(&Value::from_json(json).unwrap(), &LintOptions::default());
    let sizes: Vec<(&str, usize, usize)> = report
        .sizes
        .iter()
        .map(|size| (size.manager.as_str(), size.entries, size.bytes))
        .collect();
    assert_eq!(sizes, [("a", 2, 30), ("bb", 1, 22)]);
    assert_eq!(
        (report.managed_bytes, report.object_bytes),
        (56, json.len())
    );
    assert_eq!(
        report.findings.last().unwrap().to_string(),
        format!("managedFields are 56 of {} bytes (64%)", json.len()),
    );
}
