//! Schemas.

use fieldmanager_schema::Schema;
use fieldmanager_schema::internal::{
    has_no_polymorphic_types, resolve_definitions, type_definitions,
};

/// Parses the input as a schema. An accepted schema must round-trip.
///
/// # Errors
///
/// A message that describes the violated invariant.
pub fn check_schema(text: &[u8]) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(text) else {
        return Ok(());
    };
    let schema = match Schema::from_yaml(text) {
        Ok(schema) => schema,
        Err(error) => {
            ensure!(
                !error.to_string().is_empty(),
                "rejected without a message: {text}"
            );
            return Ok(());
        }
    };
    let document = schema.to_value();
    let again = Schema::from_value(&document)
        .map_err(|error| format!("the written schema is rejected: {error}\n{document}"))?;
    ensure!(
        again == schema,
        "the schema does not round-trip: {document}"
    );
    ensure!(
        again.to_value().strict_eq(&document),
        "the schema is written differently after parsing: {document}"
    );
    ensure!(
        has_no_polymorphic_types(&again) == has_no_polymorphic_types(&schema),
        "`has_no_polymorphic_types` differs after parsing: {document}"
    );
    let resolved = resolve_definitions(type_definitions(&schema).to_vec())
        .map_err(|error| format!("the definitions are rejected: {error}\n{document}"))?;
    ensure!(
        resolved == schema,
        "the definitions resolve to another schema: {document}"
    );
    for name in schema.type_names() {
        let ty = schema
            .type_named(name)
            .ok_or_else(|| format!("the type {name:?} is missing: {document}"))?;
        ensure!(ty.name() == name, "type {name:?} is named {:?}", ty.name());
        if let Some(map) = &ty.atom().map {
            let names = map.fields().iter().map(|field| &field.name);
            ensure!(
                names.is_sorted_by(|a, b| a < b),
                "the fields of {name:?} are not sorted: {document}"
            );
        }
    }
    Ok(())
}
