//! The verbatim examples of both proposals.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot continue must fail"
)]

use fieldmanager_authoring::internal::{Document, GoFile, GoTypes, insert};
use fieldmanager_value::Value;

/// The unions added to the definitions of an OpenAPI document, each with the given properties.
fn unions(text: &str, definitions: &[(&str, &[&str])]) -> Result<Vec<String>, String> {
    let types = GoTypes::read(&[GoFile {
        path: "api/v1/types.go",
        import_path: Some("example.com/api/v1"),
        text,
    }]);
    let mut document = "definitions:\n".to_owned();
    for (name, properties) in definitions {
        document += &format!("  com.example.api.v1.{name}:\n    type: object\n    properties:\n");
        for property in *properties {
            document += &format!("      {property}: {{type: string}}\n");
        }
    }
    let out = insert(
        &types,
        &[Document {
            name: "openapi.yaml",
            text: &document,
        }],
    )
    .map_err(|e| e.to_string())?;
    let value = Value::from_yaml(&out[0].text).unwrap();
    let mut found = Vec::new();
    for (name, definition) in value.get("definitions").unwrap().as_map().unwrap() {
        let name = name.as_str().rsplit('.').next().unwrap();
        if let Some(list) = definition.get("x-kubernetes-unions") {
            found.push(format!("{name}: {}", list.to_json()));
        }
        for (property, schema) in definition.get("properties").unwrap().as_map().unwrap() {
            if let Some(object) = schema.get("x-kubernetes-unions") {
                found.push(format!(
                    "{name}.{}: {}",
                    property.as_str(),
                    object.to_json()
                ));
            }
        }
    }
    Ok(found)
}

#[test]
fn proposal_of_2019_examples_have_their_unions() {
    let found = unions(
        include_str!("data/kep-2019.go"),
        &[
            ("TopLevelUnion", &["name", "unionType", "fieldA", "fieldB"]),
            ("Union", &["unionType", "fieldA", "fieldB"]),
            ("Union2", &["type", "alpha", "beta"]),
            (
                "InlinedUnion",
                &[
                    "name",
                    "field1",
                    "field2",
                    "unionType",
                    "fieldA",
                    "fieldB",
                    "type",
                    "alpha",
                    "beta",
                ],
            ),
        ],
    );
    let union = r#"{"discriminator":"unionType","fields-to-discriminateBy":{"fieldA":"FieldA","fieldB":"FieldB"}}"#;
    let union2 =
        r#"{"discriminator":"type","fields-to-discriminateBy":{"alpha":"Alpha","beta":"Beta"}}"#;
    let own = r#"{"fields-to-discriminateBy":{"field1":"Field1","field2":"Field2"}}"#;
    let expected = [
        format!("InlinedUnion: [{own},{union},{union2}]"),
        format!("TopLevelUnion: [{union}]"),
        format!("Union: [{union}]"),
        format!("Union2: [{union2}]"),
    ];
    assert_eq!(found.unwrap(), expected);
}

#[test]
fn first_example_of_2022_has_untagged_names_and_values_without_member() {
    let found = unions(
        include_str!("data/kep-2022-first.go"),
        &[("Union", &["UnionType", "FieldA", "FieldB"])],
    );
    assert_eq!(
        found.unwrap(),
        [
            r#"Union.UnionType: {"fieldMembers":{"":null,"FieldA":{"name":"FieldA","optional":false},"FieldB":{"name":"FieldB","optional":false},"FieldC":null,"FieldD":null}}"#
        ]
    );
}

#[test]
fn example_of_2022_with_several_structs_has_one_invalid_line() {
    let text = include_str!("data/kep-2022-several.go");
    let definitions: [(&str, &[&str]); 3] = [
        ("TopLevelUnion", &["name", "unionType", "fieldA", "fieldB"]),
        ("Union", &["unionType", "fieldA", "fieldB"]),
        ("Union2", &["type", "alpha", "beta"]),
    ];
    // A comment continues on a line without slashes.
    let line = text
        .lines()
        .position(|line| line.starts_with("customize the names"))
        .unwrap()
        + 1;
    let error = unions(text, &definitions).unwrap_err();
    assert!(
        error.starts_with(&format!("api/v1/types.go:{line}:")) && error.lines().count() == 1,
        "{error}"
    );
    let found = unions(
        &text.replace("customize the names", "// customize the names"),
        &definitions,
    );
    let union = r#"{"fieldMembers":{"":null,"FieldA":{"name":"fieldA","optional":false},"FieldB":{"name":"fieldB","optional":true},"FieldC":null,"FieldD":null}}"#;
    let union2 = r#"{"fieldMembers":{"ALPHA":{"name":"alpha","optional":false},"BETA":{"name":"beta","optional":true}}}"#;
    let expected = [
        format!("TopLevelUnion.unionType: {union}"),
        format!("Union.unionType: {union}"),
        format!("Union2.type: {union2}"),
    ];
    assert_eq!(found.unwrap(), expected);
}

#[test]
fn openapi_example_of_2022_has_named_discriminators() {
    let found = unions(
        include_str!("data/kep-2022-openapi.go"),
        &[("Union", &["union1", "fieldA", "fieldB"])],
    );
    assert_eq!(
        found.unwrap(),
        [
            r#"Union.union1: {"fieldMembers":{"":null,"FieldA":{"name":"fieldA","optional":false},"FieldB":{"name":"fieldB","optional":true},"FieldC":null,"FieldD":null}}"#
        ]
    );
}
