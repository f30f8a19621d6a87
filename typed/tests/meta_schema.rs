//! The meta-schema describes itself and the schemas of the project.

use fieldmanager_schema::Schema;
use fieldmanager_schema::internal::meta_schema;
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::Value;

fn check(text: &str) -> Result<(), String> {
    let document = Value::from_yaml(text).map_err(|error| error.to_string())?;
    let schemas = meta_schema().map_err(|error| error.to_string())?;
    let file = schemas
        .type_named("schema")
        .ok_or("the type `schema` is missing")?;
    TypedValue::new(document, file, Duplicates::Refuse).map_err(|errors| errors.to_string())?;
    Ok(())
}

#[test]
fn meta_schema_describes_itself() {
    assert_eq!(
        check(include_str!("../../schema/src/meta_schema.yaml")),
        Ok(())
    );
}

#[test]
fn meta_schema_describes_the_example() {
    assert_eq!(
        check(include_str!("../../examples/deployment/schema.yaml")),
        Ok(())
    );
}

#[test]
fn serialized_schemas_match_the_meta_schema() {
    let schema = Schema::from_yaml(include_str!("../../examples/deployment/schema.yaml")).unwrap();
    assert_eq!(check(&schema.to_value().to_yaml()), Ok(()));
}

#[test]
fn invalid_schemas_are_rejected() {
    for text in [
        "types: [{name: a, scalr: string}]",
        "types: [{name: a}, {name: a}]",
        "types: {a: 1}",
        "[]",
    ] {
        assert!(check(text).is_err(), "{text}");
        assert!(Schema::from_yaml(text).is_err(), "{text}");
    }
}
