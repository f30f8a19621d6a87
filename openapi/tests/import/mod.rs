//! Imports OpenAPI documents.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]
#![allow(clippy::print_stderr)]

mod bounds;
mod documents;
mod faults;
mod keep_good;
mod kinds;
mod lists;
mod maps;
mod references;
mod scalars;
mod unions;

use fieldmanager_openapi::internal::import_definitions;
use fieldmanager_openapi::{ImportError, Imported, Importer};
use fieldmanager_value::Value;

fn yaml(text: &str) -> Value {
    Value::from_yaml(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Imports definitions from one YAML map.
fn import(importer: &Importer, definitions: &str) -> Result<Imported, ImportError> {
    let definitions = yaml(definitions);
    import_definitions(
        importer,
        definitions.as_map().expect("a map of definitions"),
    )
}

/// The serialized type with a name, without the name.
fn type_named(imported: &Imported, name: &str) -> Option<Value> {
    let schema = imported.types.schema().to_value();
    let types = schema.get("types")?.as_list()?.iter();
    let mut found = types.filter(|ty| ty.get("name").and_then(Value::as_str) == Some(name));
    let mut found = found.next()?.as_map()?.clone();
    found.remove("name");
    Some(Value::Map(found))
}

/// Checks the types of schemas. Each schema is imported with three definitions that it may refer to.
fn check(importer: &Importer, cases: &[(&str, &str)]) {
    for (schema, expected) in cases {
        let mut definitions = yaml(
            "{io.example.v1.Port: {type: object, properties: {port: {type: integer}, name: {type: string}}},
              Strings: {type: array, items: {type: string}},
              Free: {type: object}}",
        )
        .as_map()
        .unwrap()
        .clone();
        definitions.insert("t", yaml(schema));
        let imported = import_definitions(importer, &definitions)
            .unwrap_or_else(|error| panic!("{schema}: {error}"));
        let found = type_named(&imported, "t").unwrap_or_else(|| panic!("{schema}: no type"));
        assert_eq!(found.to_json(), yaml(expected).to_json(), "{schema}");
    }
}

/// The faults of definitions as strings.
fn faults_of(definitions: &str) -> Vec<String> {
    match import(&Importer::new(), definitions) {
        Ok(_) => Vec::new(),
        Err(error) => error.0.iter().map(ToString::to_string).collect(),
    }
}

/// The warnings of definitions without faults.
fn warnings_of(definitions: &str) -> Vec<String> {
    let imported = import(&Importer::new(), definitions)
        .unwrap_or_else(|error| panic!("{definitions}: {error}"));
    imported.warnings.iter().map(ToString::to_string).collect()
}
