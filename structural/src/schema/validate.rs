//! The rules of structural schemas.

use fieldmanager_value::Value;
use fieldmanager_value::internal;

use super::trail::Trail;
use super::{
    Extensions, Generic, NestedValueValidation, Node, Structural, ValueValidation, complete,
    pattern,
};
use crate::{FieldError, FieldPath};

/// The position of a schema in the structure, on which the message about a missing type depends.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

impl Structural {
    /// The violations of the structural rules, as `ValidateStructural` in the API server reports them, sorted by
    /// message. `path` is the path of the schema.
    ///
    /// The condition `NonStructuralSchema` contains these errors.
    ///
    /// ```
    /// use fieldmanager_structural::FieldPath;
    /// use fieldmanager_structural::Structural;
    /// use fieldmanager_value::Value;
    /// let schema = Structural::from_value(&Value::from_yaml("
    /// type: object
    /// properties:
    ///   a: {pattern: '(?=a)'}
    /// ")?)?;
    /// let errors = schema.validate(&FieldPath::root("schema"));
    /// assert_eq!(
    ///     errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
    ///     [
    ///         "schema.properties[a].pattern: Invalid value: \"(?=a)\": must be a valid regular expression, \
    ///          but isn't: error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
    ///         "schema.properties[a].type: Required value: must not be empty for specified object fields",
    ///     ]
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn validate(&self, path: &FieldPath) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let trail = Trail::Root(path);
        invariants(self, Level::Root, &trail, &mut errors);
        complete::check(self, &trail, &mut errors);
        errors.sort_by_cached_key(ToString::to_string);
        errors
    }
}

fn invariants(node: &Node, level: Level, trail: &Trail<'_>, errors: &mut Vec<FieldError>) {
    internal::level(|| {
        // Every value must be specified by the structure, so that it can be pruned and defaulted without looking at
        // junctors.
        if node.generic.type_name == "array" && node.items.is_none() {
            errors.push(FieldError::required(trail.at("items"), "must be specified"));
        }
        if let Some(items) = &node.items {
            invariants(items, Level::Item, &Trail::Child(trail, "items"), errors);
        }

        let properties = Trail::Child(trail, "properties");
        for (name, property) in node.properties.iter() {
            invariants(
                property,
                Level::Field,
                &Trail::Key(&properties, name),
                errors,
            );
        }

        if let Some(additional) = &node.additional_properties {
            if level == Level::Root {
                errors.push(FieldError::forbidden(
                    trail.at("additionalProperties"),
                    "must not be used at the root",
                ));
            }

            if let Some(schema) = additional.schema() {
                invariants(
                    schema,
                    Level::Field,
                    &Trail::Child(trail, "additionalProperties"),
                    errors,
                );
            }
        }

        // Both patterns of int-or-string declare types inside junctors, which is forbidden elsewhere.
        int_or_string(&node.extensions, trail, errors);
        value_validation(
            &node.value_validation,
            Skip {
                any_of: is_any_of_pattern(node),
                all_of: is_all_of_pattern(node),
            },
            trail,
            errors,
        );
        types(node, level, trail, errors);
        embedded(node, trail, errors);
        metadata(node, level, &properties, errors);
    })
}

fn types(node: &Node, level: Level, trail: &Trail<'_>, errors: &mut Vec<FieldError>) {
    let type_name = &node.generic.type_name;
    let extensions = &node.extensions;
    if extensions.embedded_resource && *type_name != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if type_name.is_empty() {
            FieldError::required(trail.at("type"), detail)
        } else {
            FieldError::invalid(trail.at("type"), type_name.clone(), detail)
        });
    } else if type_name.is_empty()
        && !extensions.int_or_string
        && !extensions.preserve_unknown_fields
    {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(trail.at("type"), detail));
    }

    if level == Level::Root && !type_name.is_empty() && *type_name != "object" {
        errors.push(FieldError::invalid(
            trail.at("type"),
            type_name.clone(),
            "must be object at the root",
        ));
    }
}

fn embedded(node: &Node, trail: &Trail<'_>, errors: &mut Vec<FieldError>) {
    if !node.extensions.embedded_resource {
        return;
    }
    if node.additional_properties.is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(
            trail.at("additionalProperties"),
            detail,
        ));
    }

    if !node.extensions.preserve_unknown_fields && node.properties.is_empty() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(trail.at("properties"), detail));
    }
}

/// The rules for `apiVersion`, `kind` and `metadata` of resources; `properties` is the path of the properties.
fn metadata(node: &Node, level: Level, properties: &Trail<'_>, errors: &mut Vec<FieldError>) {
    if level != Level::Root && !node.extensions.embedded_resource {
        return;
    }
    for (name, expected, detail) in [
        ("kind", "string", "must be string"),
        ("apiVersion", "string", "must be string"),
        ("metadata", "object", "must be object"),
    ] {
        let Some(property) = node.properties.get(name) else {
            continue;
        };
        let here = Trail::Key(properties, name);
        if property.generic.type_name != expected {
            errors.push(FieldError::invalid(
                here.at("type"),
                property.generic.type_name.clone(),
                detail,
            ));
        }

        if name == "metadata" && level == Level::Root && !restricts_names_only(property) {
            let detail = "must not specify anything other than name and generateName, but metadata is \
                          implicitly specified";
            errors.push(FieldError::forbidden(here.path(), detail));
        }
    }
}

/// Whether a schema of `metadata` has only a type, restrictions of names, and a default, which the validation of the
/// definition refuses.
fn restricts_names_only(metadata: &Structural) -> bool {
    // What is allowed is removed; any other keyword, now or in the future, makes the rest differ from an empty schema.
    let mut rest = (**metadata).clone();
    if rest
        .properties
        .iter()
        .all(|(name, _)| *name == "name" || *name == "generateName")
    {
        rest.properties = Node::default().properties;
    }

    rest.generic.type_name = Default::default();
    rest.generic.default = None;
    rest == Node::default()
}

fn int_or_string(extensions: &Extensions, trail: &Trail<'_>, errors: &mut Vec<FieldError>) {
    if !extensions.int_or_string {
        return;
    }
    for (set, keyword) in [
        (
            extensions.preserve_unknown_fields,
            "x-kubernetes-preserve-unknown-fields",
        ),
        (
            extensions.embedded_resource,
            "x-kubernetes-embedded-resource",
        ),
    ] {
        if set {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(trail.at(keyword), true, detail));
        }
    }
}

/// Whether the schemas are exactly the two that allow integer or string.
fn is_integer_or_string(schemas: &[NestedValueValidation]) -> bool {
    match schemas {
        [a, b] => {
            *a == NestedValueValidation::with_type("integer")
                && *b == NestedValueValidation::with_type("string")
        }
        _ => false,
    }
}

/// Whether `anyOf` allows exactly integer or string. As in the API server, the extension is not required.
pub(super) fn is_any_of_pattern(node: &Node) -> bool {
    is_integer_or_string(&node.value_validation.any_of)
}

/// Whether the first of `allOf` has such an `anyOf`.
pub(super) fn is_all_of_pattern(node: &Node) -> bool {
    let first = node.value_validation.all_of.first();
    first.is_some_and(|first| is_integer_or_string(&first.value_validation.any_of))
}

/// The positions where junctors may declare types, because they express integer or string.
#[derive(Clone, Copy, Default)]
struct Skip {
    /// In `anyOf`.
    any_of: bool,
    /// In `anyOf` of the first item of `allOf`.
    all_of: bool,
}

fn value_validation(
    validation: &ValueValidation,
    skip: Skip,
    trail: &Trail<'_>,
    errors: &mut Vec<FieldError>,
) {
    // The pattern of int-or-string is allowed at one place only, so junctors below it get no exception.
    let none = Skip::default();
    let any_of: &[_] = if skip.any_of { &[] } else { &validation.any_of };
    for (keyword, schemas) in [
        ("anyOf", any_of),
        ("allOf", &validation.all_of),
        ("oneOf", &validation.one_of),
    ] {
        let below = Trail::Child(trail, keyword);
        for (at, schema) in schemas.iter().enumerate() {
            let skip = if keyword == "allOf" && at == 0 {
                Skip {
                    any_of: skip.all_of,
                    all_of: false,
                }
            } else {
                none
            };
            nested(schema, skip, &Trail::Index(&below, at), errors);
        }
    }

    if let Some(not) = &validation.not {
        nested(not, none, &Trail::Child(trail, "not"), errors);
    }
    if let Err(error) = pattern::translate(&validation.pattern) {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(FieldError::invalid(
            trail.at("pattern"),
            validation.pattern.clone(),
            detail,
        ));
    }
}

fn nested(
    schema: &NestedValueValidation,
    skip: Skip,
    trail: &Trail<'_>,
    errors: &mut Vec<FieldError>,
) {
    internal::level(|| {
        // Junctors restrict values, but they do not specify them: what pruning or defaulting needs must be in the
        // structure.
        let none = Skip::default();
        value_validation(&schema.value_validation, skip, trail, errors);
        if let Some(items) = &schema.items {
            nested(items, none, &Trail::Child(trail, "items"), errors);
        }
        let properties = Trail::Child(trail, "properties");
        for (name, property) in schema.properties.iter() {
            nested(property, none, &Trail::Key(&properties, name), errors);
        }

        for (set, keyword, detail) in forbidden(schema) {
            if set {
                errors.push(FieldError::forbidden(
                    trail.at(keyword),
                    format!("must be {detail} to be structural"),
                ));
            }
        }

        if schema.properties.contains_key("metadata") {
            let detail = "must not be specified in a nested context";
            errors.push(FieldError::forbidden(
                Trail::Key(&properties, "metadata").path(),
                detail,
            ));
        }
    })
}

/// The keywords that are forbidden in a junctor: whether each is present, its name, and the requirement.
fn forbidden(schema: &NestedValueValidation) -> [(bool, &'static str, &'static str); 14] {
    // As in the API server, `externalDocs` and `example` are not checked.
    let Generic {
        type_name,
        default,
        title,
        description,
        nullable,
        ..
    } = &schema.forbidden_generics;
    let extensions = &schema.forbidden_extensions;
    let is_set = Option::<Value>::is_some;

    [
        (!type_name.is_empty(), "type", "empty"),
        (
            schema.additional_properties.is_some(),
            "additionalProperties",
            "undefined",
        ),
        (is_set(default), "default", "undefined"),
        (!title.is_empty(), "title", "empty"),
        (!description.is_empty(), "description", "empty"),
        (*nullable, "nullable", "false"),
        (
            extensions.preserve_unknown_fields,
            "x-kubernetes-preserve-unknown-fields",
            "false",
        ),
        (
            extensions.embedded_resource,
            "x-kubernetes-embedded-resource",
            "false",
        ),
        (
            extensions.int_or_string,
            "x-kubernetes-int-or-string",
            "false",
        ),
        (
            !extensions.list_map_keys.is_empty(),
            "x-kubernetes-list-map-keys",
            "empty",
        ),
        (
            extensions.list_type.is_some(),
            "x-kubernetes-list-type",
            "undefined",
        ),
        (
            extensions.map_type.is_some(),
            "x-kubernetes-map-type",
            "undefined",
        ),
        (
            is_set(&extensions.unions),
            "x-kubernetes-unions",
            "undefined",
        ),
        (
            is_set(&schema.validations),
            "x-kubernetes-validations",
            "empty",
        ),
    ]
}
