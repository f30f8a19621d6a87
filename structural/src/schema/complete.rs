//! Completeness: fields and items that junctors refer to must be part of the structure.

use super::trail::Trail;
use super::{NestedValueValidation, Node, Structural, ValueValidation};
use crate::FieldError;

/// Adds an error for each field and item that a junctor of the root refers to and the structure does not have. As in
/// the API server, junctors of fields are ignored.
pub(super) fn check(root: &Node, trail: &Trail<'_>, errors: &mut Vec<FieldError>) {
    junctors(&root.value_validation, root, trail, trail, errors);
}

/// `here` is the position in the structure, `there` the one in the junctors.
fn junctors(
    validation: &ValueValidation,
    node: &Node,
    here: &Trail<'_>,
    there: &Trail<'_>,
    errors: &mut Vec<FieldError>,
) {
    if let Some(not) = &validation.not {
        nested(not, node, here, &Trail::Child(there, "not"), errors);
    }
    for (keyword, schemas) in [
        ("allOf", &validation.all_of),
        ("anyOf", &validation.any_of),
        ("oneOf", &validation.one_of),
    ] {
        let there = Trail::Child(there, keyword);
        for (at, schema) in schemas.iter().enumerate() {
            nested(schema, node, here, &Trail::Index(&there, at), errors);
        }
    }
}

fn nested(
    schema: &NestedValueValidation,
    node: &Node,
    here: &Trail<'_>,
    there: &Trail<'_>,
    errors: &mut Vec<FieldError>,
) {
    junctors(&schema.value_validation, node, here, there, errors);
    if let Some(items) = &schema.items {
        let (here, there) = (Trail::Child(here, "items"), Trail::Child(there, "items"));
        counterpart(items, node.items.as_ref(), &here, &there, errors);
    }
    let (here, there) = (
        Trail::Child(here, "properties"),
        Trail::Child(there, "properties"),
    );

    for (name, property) in schema.properties.iter() {
        let (here, there) = (Trail::Key(&here, name), Trail::Key(&there, name));
        counterpart(
            property,
            node.properties.get(name.as_str()),
            &here,
            &there,
            errors,
        );
    }
}

fn counterpart(
    schema: &NestedValueValidation,
    node: Option<&Structural>,
    here: &Trail<'_>,
    there: &Trail<'_>,
    errors: &mut Vec<FieldError>,
) {
    match node {
        Some(node) => nested(schema, node, here, there, errors),
        None => {
            let detail = format!("because it is defined in {}", there.path());
            errors.push(FieldError::required(here.path(), detail));
        }
    }
}
