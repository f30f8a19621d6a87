//! Skips definitions with faults.

use fieldmanager_openapi::{Importer, LoadError};

use super::{import, type_named, yaml};

/// Imports definitions and returns the faults, and the named types as JSON, with `-` for a missing type.
fn kept(definitions: &str, names: &[&str]) -> (Vec<String>, Vec<String>) {
    let imported = import(&Importer::new().keep_good(true), definitions).unwrap();
    let faults = imported.faults.iter().map(ToString::to_string).collect();
    let types = names
        .iter()
        .map(|name| type_named(&imported, name).map_or("-".to_owned(), |ty| ty.to_json()));
    (faults, types.collect())
}

fn json(text: &str) -> String {
    yaml(text).to_json()
}

#[test]
fn reference_to_a_bad_definition_accepts_any_value() {
    let (faults, types) = kept(
        "{bad: {type: array}, t: {type: object, properties: {
            a: {$ref: bad}, b: {type: array, items: {$ref: bad, x-kubernetes-map-type: atomic}}}}}",
        &["bad", "t"],
    );
    assert_eq!(
        faults,
        ["definition `bad`: `items` must be specified on arrays"]
    );
    let expected = "{map: {fields: [{name: a, type: {namedType: __untyped_deduced_}},
        {name: b, type: {list: {elementType: {namedType: __untyped_deduced_}, elementRelationship: atomic}}}]}}";
    assert_eq!(types, ["-".to_owned(), json(expected)]);
}

#[test]
fn alias_of_a_bad_definition_is_not_bad() {
    let definitions =
        "{bad: {type: text}, alias: {$ref: bad}, t: {type: array, items: {$ref: alias}}}";
    let (faults, types) = kept(definitions, &["alias", "t"]);
    assert_eq!(faults.len(), 1);
    let list =
        "{list: {elementType: {namedType: __untyped_deduced_}, elementRelationship: atomic}}";
    assert_eq!(types, ["-".to_owned(), json(list)]);
}

#[test]
fn reference_to_a_bad_alias_is_not_bad() {
    for alias in [
        "alias: {$ref: nowhere}",
        "alias: {$ref: alias}",
        "alias: {$ref: other}, other: {$ref: alias}",
    ] {
        let (faults, types) = kept(
            &format!("{{{alias}, t: {{type: array, items: {{$ref: alias}}}}}}"),
            &["t"],
        );
        assert!(
            faults
                .iter()
                .all(|fault| !fault.starts_with("definition `t`")),
            "{faults:?}"
        );
        let list =
            "{list: {elementType: {namedType: __untyped_deduced_}, elementRelationship: atomic}}";
        assert_eq!(types, [json(list)], "{alias}");
    }
}

/// Faults of the schema as a whole are found after those of single definitions.
#[test]
fn definitions_with_schema_faults_are_skipped_too() {
    let (faults, types) = kept(
        "{bad: {type: text},
          keyed: {type: array, items: {type: string}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a]},
          over: {type: object, properties: {a: {$ref: s, x-kubernetes-map-type: atomic}}},
          s: {type: string}, t: {type: object, properties: {k: {$ref: keyed}, o: {$ref: over}}}}",
        &["bad", "keyed", "over", "s", "t"],
    );
    assert_eq!(
        faults,
        [
            "definition `bad`: .type: unrecognized type `text`: \
             array, boolean, integer, number, object and string are accepted",
            "definition `over`: .properties.a: elementRelationship is set on a type that is neither map nor list",
            "definition `keyed`: .x-kubernetes-list-map-keys: an associative list with keys needs items that are maps",
        ]
    );
    let t = "{map: {fields: [{name: k, type: {namedType: __untyped_deduced_}},
        {name: o, type: {namedType: __untyped_deduced_}}]}}";
    let dash = || "-".to_owned();
    assert_eq!(
        types,
        [dash(), dash(), dash(), json("{scalar: string}"), json(t)]
    );
}

#[test]
fn kinds_of_bad_definitions_are_skipped() {
    let kind = |kind: &str| {
        format!("x-kubernetes-group-version-kind: [{{group: '', version: v1, kind: {kind}}}]")
    };
    let definitions = format!(
        "{{bad: {{type: text, {}}}, good: {{type: object, {}}}}}",
        kind("Bad"),
        kind("Good")
    );
    let imported = import(&Importer::new().keep_good(true), &definitions).unwrap();
    let kinds: Vec<String> = imported
        .types
        .kinds()
        .map(|(kind, _)| kind.to_string())
        .collect();
    assert_eq!(kinds, ["/v1, Kind=Good"]);
}

#[test]
fn unsupported_documents_remain_errors() {
    let error = Importer::new()
        .keep_good(true)
        .document(&yaml("{definitions: 7}"))
        .unwrap_err();
    assert!(matches!(error, LoadError::NotDefinitions { .. }));
}

#[test]
fn every_definition_may_be_bad() {
    let (faults, _) = kept("{a: {type: x}, b: 7, c: {$ref: gone}}", &[]);
    assert_eq!(faults.len(), 3);
}
