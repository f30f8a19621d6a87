//! Looks up fields in OpenAPI schemas, as Go does for each version of the documents.

use fieldmanager_value::Value;

use super::model::{PatchSchema, PatchTypes, RawRule, SchemaNode};
use crate::Fault;

const STRATEGY: &str = "x-kubernetes-patch-strategy";
const MERGE_KEY: &str = "x-kubernetes-patch-merge-key";

/// The maximum number of references in a row. More are a cycle.
const MAX_REFERENCES: usize = 64;

type FieldLookup<'t> = Result<(RawRule<'t>, PatchSchema<'t>), Fault>;

fn fault(message: impl Into<String>) -> Fault {
    Fault::Schema {
        message: message.into(),
    }
}

fn unknown(field: &str) -> Fault {
    Fault::UnknownField {
        field: field.to_owned(),
    }
}

fn at<'t>(types: &'t PatchTypes, schema: &'t Value) -> PatchSchema<'t> {
    PatchSchema {
        node: SchemaNode::At(types, schema),
    }
}

fn rule(property: &Value) -> Result<RawRule<'_>, Fault> {
    let text = |name: &str| match property.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(fault(format!(
            "{name}: expected a string, got {}",
            other.kind()
        ))),
    };

    Ok(RawRule {
        strategies: text(STRATEGY)?,
        merge_key: text(MERGE_KEY)?.unwrap_or_default(),
    })
}

fn reference(schema: &Value) -> Option<&str> {
    schema
        .get("$ref")
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

/// Version 3: the rule is that of the property; then the first of `allOf` and one reference are followed.
pub(super) fn version_3<'t>(
    types: &'t PatchTypes,
    schema: &'t Value,
    name: &str,
    list: bool,
) -> FieldLookup<'t> {
    let property = schema
        .get("properties")
        .and_then(|all| all.get(name))
        .ok_or_else(|| unknown(name))?;
    let rule = rule(property)?;
    let mut below = property;

    if list && let Some(items) = property.get("items") {
        if items.as_map().is_none() {
            return Err(fault(format!(
                "items of `{name}`: expected one schema, got {}",
                items.kind()
            )));
        }
        below = items;
    }

    Ok((rule, at(types, resolve(types, below)?)))
}

/// The schema that `allOf` and a reference lead to.
pub(super) fn resolve<'t>(types: &'t PatchTypes, schema: &'t Value) -> Result<&'t Value, Fault> {
    let first = schema
        .get("allOf")
        .and_then(Value::as_list)
        .and_then(|all| all.get(0));
    let schema = first.unwrap_or(schema);
    let Some(reference) = reference(schema) else {
        return Ok(schema);
    };

    let name = reference
        .strip_prefix("#/components/schemas/")
        .unwrap_or(reference);
    types
        .0
        .definitions
        .get(name)
        .ok_or_else(|| fault(format!("unable to resolve {reference} in OpenAPI V3")))
}

/// The kind of a schema of version 2, as Go classifies schemas when it reads them.
enum Sort<'t> {
    Reference(&'t str),
    Struct,
    Array,
    /// No type and no properties: any value is valid.
    Arbitrary,
    /// A map or a scalar.
    Other,
}

fn sort(schema: &Value) -> Sort<'_> {
    if let Some(reference) = reference(schema) {
        return Sort::Reference(reference);
    }
    let has_properties = schema.get("properties").is_some();
    let name = match schema.get("type") {
        Some(Value::List(types)) => types.get(0).and_then(Value::as_str),
        Some(other) => other.as_str(),
        None => None,
    };

    match name {
        None | Some("object") if has_properties => Sort::Struct,
        None => Sort::Arbitrary,
        Some("array") => Sort::Array,
        Some(_) => Sort::Other,
    }
}

/// The definition that a reference of version 2 names.
pub(super) fn target<'t>(types: &'t PatchTypes, reference: &str) -> Result<&'t Value, Fault> {
    let name = reference
        .strip_prefix("#/definitions/")
        .or_else(|| reference.strip_prefix("#/$defs/"));
    let name = name.unwrap_or(reference);
    types
        .0
        .definitions
        .get(name)
        .ok_or_else(|| fault(format!("unknown model in reference: {reference}")))
}

/// Version 2: all references are followed when a field of their target is looked up.
pub(super) fn version_2<'t>(
    types: &'t PatchTypes,
    schema: &'t Value,
    name: &str,
    list: bool,
) -> FieldLookup<'t> {
    let mut schema = schema;
    for _ in 0..MAX_REFERENCES {
        match sort(schema) {
            Sort::Reference(reference) => schema = target(types, reference)?,
            Sort::Arbitrary => return Ok((RawRule::default(), PatchSchema::free())),
            Sort::Array | Sort::Other => return Err(unknown(name)),
            Sort::Struct => {
                let property = schema
                    .get("properties")
                    .and_then(|all| all.get(name))
                    .ok_or_else(|| unknown(name))?;
                if !list {
                    return Ok((rule(property)?, at(types, property)));
                }

                match sort(property) {
                    // The field is looked up in the struct.
                    Sort::Struct => schema = property,
                    Sort::Arbitrary => return Ok((rule(property)?, PatchSchema::free())),
                    Sort::Other => return Err(unknown(name)),
                    Sort::Reference(reference) => {
                        return Ok((rule(property)?, at(types, target(types, reference)?)));
                    }
                    Sort::Array => {
                        let items = property.get("items").ok_or_else(|| {
                            fault(format!("items of `{name}`: expected a schema, got none"))
                        })?;
                        return Ok((rule(property)?, at(types, items)));
                    }
                }
            }
        }
    }

    Err(fault(format!("references around `{name}` go in a circle")))
}
