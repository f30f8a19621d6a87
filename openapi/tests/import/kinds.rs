//! The lookup of types by kind.

use fieldmanager_openapi::{GroupVersionKind, Importer, KindError, Types};

use super::{faults_of, import, yaml};

const SHOP: &str = "{group: example.com, version: v1, kind: Shop}";

fn types(definitions: &str) -> Types {
    import(&Importer::new(), definitions)
        .unwrap_or_else(|error| panic!("{definitions}: {error}"))
        .types
}

#[test]
fn definition_may_have_several_kinds() {
    let types = types(&format!(
        "{{a: {{type: object, x-kubernetes-group-version-kind: [{SHOP}, {{group: '', version: v1, kind: Shop}}]}},
           b: {{type: object, x-kubernetes-group-version-kind: []}}, c: {{type: object}}}}"
    ));
    let found: Vec<(String, &str)> = types
        .kinds()
        .map(|(kind, names)| (kind.to_string(), names[0].as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("/v1, Kind=Shop".into(), "a"),
            ("example.com/v1, Kind=Shop".into(), "a")
        ]
    );
    assert_eq!(
        types
            .for_kind(&GroupVersionKind::new("", "v1", "Shop"))
            .unwrap()
            .name(),
        "a"
    );
    assert_eq!(
        types
            .for_object(&yaml("{apiVersion: example.com/v1, kind: Shop}"))
            .unwrap()
            .name(),
        "a"
    );
}

/// As in Go, an entry without a kind is ignored.
#[test]
fn entries_without_a_kind_are_ignored() {
    let types = types(
        "{a: {type: object, x-kubernetes-group-version-kind: [{group: '', version: v1, kind: ''}]}}",
    );
    assert_eq!(types.kinds().count(), 0);
}

/// Go uses the last one in random order.
#[test]
fn ambiguous_kinds_are_errors() {
    let types = types(&format!(
        "{{a: {{type: object, x-kubernetes-group-version-kind: [{SHOP}]}},
           b: {{type: object, x-kubernetes-group-version-kind: [{SHOP}, {SHOP}]}}}}"
    ));
    let error = types
        .for_kind(&GroupVersionKind::from_api_version_kind(
            "example.com/v1",
            "Shop",
        ))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "several types claim example.com/v1, Kind=Shop: a, b"
    );
    assert!(matches!(error, KindError::Ambiguous { types, .. } if types == ["a", "b"]));
}

/// A kind that occurs twice with one type is not ambiguous.
#[test]
fn kind_may_be_named_twice() {
    let types = types(&format!(
        "{{b: {{type: object, x-kubernetes-group-version-kind: [{SHOP}, {SHOP}]}}}}"
    ));
    assert_eq!(
        types
            .for_kind(&GroupVersionKind::from_api_version_kind(
                "example.com/v1",
                "Shop"
            ))
            .unwrap()
            .name(),
        "b"
    );
}

#[test]
fn kinds_of_an_alias_belong_to_its_target() {
    let types = types(&format!(
        "{{a: {{$ref: b, x-kubernetes-group-version-kind: [{SHOP}]}}, b: {{type: object}}}}"
    ));
    assert_eq!(
        types
            .for_kind(&GroupVersionKind::from_api_version_kind(
                "example.com/v1",
                "Shop"
            ))
            .unwrap()
            .name(),
        "b"
    );
}

#[test]
fn unknown_kinds_are_errors_with_a_hint() {
    let types = types(&format!(
        "{{b: {{type: object, x-kubernetes-group-version-kind: [{SHOP}]}}}}"
    ));
    let error = |api_version: &str, kind: &str| {
        types
            .for_kind(&GroupVersionKind::from_api_version_kind(api_version, kind))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error("example.com/v1", "Shopp"),
        "no corresponding type for example.com/v1, Kind=Shopp, did you mean example.com/v1 Shop"
    );
    assert_eq!(
        error("v1", "Pod"),
        "no corresponding type for /v1, Kind=Pod"
    );
    assert_eq!(
        error("example.com/v2", "Shop"),
        "no corresponding type for example.com/v2, Kind=Shop, did you mean example.com/v1 Shop"
    );
}

#[test]
fn kind_extension_faults_are_reported() {
    let cases = [
        ("{}", "expected a list of group, version and kind, got map"),
        (
            "text",
            "expected a list of group, version and kind, got string",
        ),
        (
            "null",
            "expected a list of group, version and kind, got null",
        ),
        (
            "[{group: g, version: v}]",
            "an entry needs group, version and kind, `kind` is missing",
        ),
        (
            "[{}]",
            "an entry needs group, version and kind, `group` is missing",
        ),
        (
            "[text]",
            "an entry needs group, version and kind, `group` is missing",
        ),
        (
            "[{group: 7, version: v, kind: K}]",
            "`group` must be a string, got integer",
        ),
        (
            "[{group: '', version: null, kind: K}]",
            "`version` must be a string, got null",
        ),
    ];
    for (text, message) in cases {
        let expected = format!("definition `t`: .x-kubernetes-group-version-kind: {message}");
        let found = faults_of(&format!(
            "{{t: {{type: object, x-kubernetes-group-version-kind: {text}}}}}"
        ));
        assert_eq!(found, [expected], "{text}");
    }
}

/// Only definitions describe objects.
#[test]
fn kind_extension_below_a_definition_is_ignored() {
    let types = types(&format!(
        "{{t: {{type: object, additionalProperties: {{type: object, x-kubernetes-group-version-kind: [{SHOP}]}}}}}}"
    ));
    assert_eq!(types.kinds().count(), 0);
}
