//! Reads nested schemas and the parts that they share with structural schemas.

use fieldmanager_value::Value;
use fieldmanager_value::internal::level;

use super::source::{Source, schemas};
use super::trail::Trail;
use super::walk::check;
use super::{Error, Extensions, ExternalDocs, Generic, NestedValueValidation, ValueValidation};

/// Reads everything but the children in the order of the API server, so that the first fault is the one that it
/// reports.
///
/// Each part is read into its final location, because the reader recurses as deeply as the schema and its stack frames
/// must stay small.
pub(super) fn parts(
    source: &Source<'_>,
    value_validation: &mut ValueValidation,
    generic: &mut Generic,
    extensions: &mut Extensions,
    validations: &mut Option<Value>,
) -> Result<(), Error> {
    unsupported(source)?;
    junctors(source, value_validation)?;
    leaves(source, value_validation, generic, extensions, validations)
}

/// Reads the keywords that contain no schemas.
fn leaves(
    source: &Source<'_>,
    value_validation: &mut ValueValidation,
    generic: &mut Generic,
    extensions: &mut Extensions,
    validations: &mut Option<Value>,
) -> Result<(), Error> {
    restrictions(source, value_validation)?;
    *generic = self::generic(source)?;
    *extensions = self::extensions(source)?;
    *validations = self::validations(source)?;
    Ok(())
}

fn unsupported(source: &Source<'_>) -> Result<(), Error> {
    let keyword = if !source.text("id")?.is_empty() {
        "id"
    } else if !source.text("$schema")?.is_empty() {
        "schema"
    } else if !source.text("$ref")?.is_empty() {
        "$ref"
    } else if source
        .map("patternProperties")?
        .is_some_and(|map| !map.is_empty())
    {
        "patternProperties"
    } else if source
        .map("dependencies")?
        .is_some_and(|map| !map.is_empty())
    {
        "dependencies"
    } else if source.schema_or_bool("additionalItems")?.is_some() {
        "additionalItems"
    } else if source
        .map("definitions")?
        .is_some_and(|map| !map.is_empty())
    {
        "definitions"
    } else {
        return Ok(());
    };

    Err(Error::Unsupported {
        path: source.trail.path(),
        keyword,
    })
}

fn junctors(source: &Source<'_>, out: &mut ValueValidation) -> Result<(), Error> {
    if let Some(schema) = source.get("not") {
        out.not = Some(nested(
            schema,
            &Trail::Child(source.trail, "not"),
            source.depth + 1,
        )?);
    }
    junctor(source, "allOf", &mut out.all_of)?;
    junctor(source, "anyOf", &mut out.any_of)?;
    junctor(source, "oneOf", &mut out.one_of)
}

fn junctor(
    source: &Source<'_>,
    keyword: &str,
    out: &mut Vec<NestedValueValidation>,
) -> Result<(), Error> {
    let below = Trail::Child(source.trail, keyword);
    for (at, schema) in source.list(keyword)?.into_iter().enumerate() {
        out.push(*nested(
            schema,
            &Trail::Index(&below, at),
            source.depth + 2,
        )?);
    }
    Ok(())
}

fn restrictions(source: &Source<'_>, out: &mut ValueValidation) -> Result<(), Error> {
    out.enumeration = match source.any("enum")? {
        None => Vec::new(),
        Some(Value::List(values)) => values.iter().cloned().collect(),
        Some(other) => return Err(source.fault("enum", "a list", &other)),
    };
    out.format = source.text("format")?;
    out.maximum = source.number("maximum")?;
    out.exclusive_maximum = source.flag("exclusiveMaximum")?;
    out.minimum = source.number("minimum")?;
    out.exclusive_minimum = source.flag("exclusiveMinimum")?;
    out.max_length = source.integer("maxLength")?;
    out.min_length = source.integer("minLength")?;

    out.pattern = source.text("pattern")?;
    out.max_items = source.integer("maxItems")?;
    out.min_items = source.integer("minItems")?;
    out.unique_items = source.flag("uniqueItems")?;
    out.multiple_of = source.number("multipleOf")?;
    out.max_properties = source.integer("maxProperties")?;
    out.min_properties = source.integer("minProperties")?;
    out.required = source.texts("required")?;

    Ok(())
}

fn generic(source: &Source<'_>) -> Result<Generic, Error> {
    let external_docs = match source.get("externalDocs") {
        None => None,
        Some(docs @ Value::Map(_)) => {
            check(source.depth + 1)?;
            let trail = Trail::Child(source.trail, "externalDocs");
            let docs = Source::new(docs, &trail, source.depth + 1)?;
            Some(ExternalDocs {
                description: docs.text("description")?,
                url: docs.text("url")?,
            })
        }
        Some(other) => return Err(source.fault("externalDocs", "a map", other)),
    };

    Ok(Generic {
        description: source.text("description")?,
        type_name: source.text("type")?,
        title: source.text("title")?,
        default: source.any("default")?,
        nullable: source.flag("nullable")?,
        external_docs,
        example: source.any("example")?,
    })
}

fn extensions(source: &Source<'_>) -> Result<Extensions, Error> {
    let preserve = source.optional_flag("x-kubernetes-preserve-unknown-fields")?;
    if preserve == Some(false) {
        return Err(Error::PreserveFalse {
            path: source.trail.path(),
        });
    }

    let unions = match source.any("x-kubernetes-unions")? {
        Some(Value::List(list)) if list.is_empty() => None,
        unions @ (None | Some(Value::List(_) | Value::Map(_))) => unions,
        Some(other) => return Err(source.fault("x-kubernetes-unions", "a list or a map", &other)),
    };
    Ok(Extensions {
        preserve_unknown_fields: preserve.unwrap_or_default(),
        embedded_resource: source.flag("x-kubernetes-embedded-resource")?,
        int_or_string: source.flag("x-kubernetes-int-or-string")?,
        list_map_keys: source.texts("x-kubernetes-list-map-keys")?,
        list_type: source.optional_text("x-kubernetes-list-type")?,
        map_type: source.optional_text("x-kubernetes-map-type")?,
        unions,
    })
}

fn validations(source: &Source<'_>) -> Result<Option<Value>, Error> {
    match source.any("x-kubernetes-validations")? {
        Some(Value::List(rules)) if rules.is_empty() => Ok(None),
        rules @ (None | Some(Value::List(_))) => Ok(rules),
        Some(other) => Err(source.fault("x-kubernetes-validations", "a list", &other)),
    }
}

/// Reads a schema inside a junctor.
fn nested(
    schema: &Value,
    trail: &Trail<'_>,
    depth: usize,
) -> Result<Box<NestedValueValidation>, Error> {
    level(|| {
        let source = Source::new(schema, trail, depth)?;
        let mut out = empty();
        let NestedValueValidation {
            value_validation,
            validations,
            forbidden_generics,
            forbidden_extensions,
            ..
        } = &mut *out;
        parts(
            &source,
            value_validation,
            forbidden_generics,
            forbidden_extensions,
            validations,
        )?;
        children(&source, &mut out)?;

        Ok(out)
    })
}

fn empty() -> Box<NestedValueValidation> {
    Box::default()
}

fn children(source: &Source<'_>, out: &mut NestedValueValidation) -> Result<(), Error> {
    let (trail, depth) = (source.trail, source.depth + 1);
    if let Some(items) = source.items()? {
        out.items = Some(nested(items, &Trail::Child(trail, "items"), depth)?);
    }
    if let Some(properties) = source.map("properties")? {
        out.properties = schemas(properties, "properties", source, |schema, trail, depth| {
            Ok(*nested(schema, trail, depth)?)
        })?;
    }

    out.additional_properties = match source.schema_or_bool("additionalProperties")? {
        None | Some(Value::Bool(false)) => None,
        Some(Value::Bool(true)) => Some(empty()),
        Some(schema) => Some(nested(
            schema,
            &Trail::Child(trail, "additionalProperties"),
            depth,
        )?),
    };

    Ok(())
}
