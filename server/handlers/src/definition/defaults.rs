//! The defaults of a schema: they must be valid objects without unknown fields.

use std::collections::BTreeSet;

use fieldmanager_cel::{BUDGET, Rules};
use fieldmanager_structural::validation::Validator;
use fieldmanager_structural::{Error, FieldError, FieldPath, Structural};
use fieldmanager_value::internal::level;
use fieldmanager_value::{List, Map, Str, Value};

/// The faults of the defaults of a schema of resources.
///
/// Behaviour: `ValidateDefaults` of `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting`.
pub(super) fn check(
    schema: &Structural,
    path: &FieldPath,
    must_be_pruned: bool,
) -> Vec<FieldError> {
    let mut walk = Walk {
        resource: schema,
        must_be_pruned,
        errors: Vec::new(),
    };
    walk.schema(
        schema,
        path,
        &Place {
            root: schema,
            is_root: true,
            steps: &Steps::End,
            in_meta: false,
        },
    );

    walk.errors
}

/// The steps from a resource to a value, the last one first.
enum Steps<'s> {
    End,
    Field(&'s Steps<'s>, &'s Str),
    Item(&'s Steps<'s>),
}

impl Steps<'_> {
    /// The resource that has only the value.
    fn around(&self, value: Value) -> Value {
        let mut value = value;
        let mut here = self;
        loop {
            (here, value) = match here {
                Steps::End => break,
                Steps::Field(above, name) => (above, Map::single((*name).clone(), value).into()),
                Steps::Item(above) => (above, List::from_iter([value]).into()),
            };
        }

        match value {
            Value::Map(fields) => {
                let missing = [("apiVersion", "validation/v1"), ("kind", "Validation")].into_iter();
                let missing = missing.filter(|(name, _)| !fields.contains(name));
                let edits = missing.map(|(name, text)| (name.into(), Some(Value::from(text))));
                Value::Map(fields.with_edits(edits.collect()))
            }
            other => other,
        }
    }
}

/// The position of a schema.
struct Place<'p> {
    /// The schema of the resource around the value.
    root: &'p Structural,
    is_root: bool,
    steps: &'p Steps<'p>,
    /// The value is inside the `apiVersion`, the `kind` or the `metadata` of the resource.
    in_meta: bool,
}

struct Walk<'s> {
    /// The schema of the resource.
    resource: &'s Structural,
    must_be_pruned: bool,
    errors: Vec<FieldError>,
}

impl Walk<'_> {
    /// Whether a schema is that of a resource: the root is one, as embedded ones are.
    fn is_resource(&self, schema: &Structural) -> bool {
        schema.extensions.embedded_resource || schema.ptr_eq(self.resource)
    }

    fn schema(&mut self, schema: &Structural, path: &FieldPath, place: &Place<'_>) {
        level(|| {
            let is_resource = self.is_resource(schema);
            let place = if is_resource {
                &Place {
                    root: schema,
                    is_root: true,
                    steps: &Steps::End,
                    in_meta: false,
                }
            } else {
                place
            };

            // In metadata, a default is checked as part of the resource that it would result in.
            if let Some(default) = &schema.generic.default {
                let path = path.child("default");
                let found = if place.in_meta {
                    in_metadata(default, &path, place)
                } else {
                    self.coerced(default, schema, &path)
                };
                match found {
                    Err(mut errors) => self.errors.append(&mut errors),
                    Ok(value) => self.value(&value, schema, &path, place.is_root),
                }
            }

            // Defaults in `additionalProperties` are forbidden elsewhere, or not visited.
            if let Some(items) = &schema.items {
                let steps = Steps::Item(place.steps);
                let below = Place {
                    root: place.root,
                    is_root: false,
                    steps: &steps,
                    in_meta: place.in_meta,
                };
                self.schema(items, &path.child("items"), &below);
            }

            let properties = path.child("properties");
            for (name, property) in schema.properties.iter() {
                let is_meta = matches!(name.as_str(), "metadata" | "apiVersion" | "kind");
                let steps = Steps::Field(place.steps, name);
                let below = Place {
                    root: place.root,
                    is_root: false,
                    steps: &steps,
                    in_meta: place.in_meta || is_resource && is_meta,
                };
                self.schema(property, &properties.key(name.clone()), &below);
            }
        })
    }

    /// A default without malformed metadata.
    fn coerced(
        &mut self,
        default: &Value,
        schema: &Structural,
        path: &FieldPath,
    ) -> Result<Value, Vec<FieldError>> {
        let is_resource = self.is_resource(schema);

        // Pruning would remove unknown fields from each object that gets the default.
        if self.must_be_pruned
            && schema
                .prune(default, is_resource)
                .is_ok_and(|pruned| !pruned.object.strict_eq(default))
        {
            let detail = "must not have unknown fields";
            self.errors
                .push(FieldError::invalid(path.clone(), default.clone(), detail));
        }

        let coerced = schema.coerce_metadata(path, default, is_resource, false);
        let object = coerced.map_err(|error| vec![error_at(error, path)])?.object;
        let errors = schema.validate_metadata(path, &object, is_resource);
        let errors = errors.map_err(|error| vec![error_at(error, path)])?;
        if errors.is_empty() {
            Ok(object)
        } else {
            Err(errors)
        }
    }

    /// Checks a value by its schema and the rules of that.
    fn value(&mut self, value: &Value, schema: &Structural, path: &FieldPath, is_root: bool) {
        let Ok(validator) = Validator::new(&schema.to_value()) else {
            return;
        };
        let errors = validator.validate(value);

        // Rules are evaluated only for a value that fits the schema.
        if !errors.is_empty() {
            let at = |error: FieldError| FieldError {
                path: if error.path == FieldPath::default() {
                    path.clone()
                } else {
                    // As in the API server, the path in the value is one name.
                    path.child(error.path.to_string())
                },
                ..error
            };
            self.errors.extend(errors.into_iter().map(at));
            return;
        }

        // The root of a resource has metadata, which rules there may read.
        let rules = if is_root {
            Rules::compile(schema)
        } else {
            Rules::compile_value(schema)
        };

        // As an update that changes nothing, and as a new value.
        let errors = rules.validate(path, value, Some(value), BUDGET).errors;
        let new = rules.validate(path, value, None, BUDGET).errors;
        let known: BTreeSet<String> = errors.iter().map(ToString::to_string).collect();
        self.errors.extend(errors);
        self.errors.extend(
            new.into_iter()
                .filter(|error| !known.contains(&error.to_string())),
        );
    }
}

/// A default inside of the metadata of a resource, which must be valid with it.
fn in_metadata(
    default: &Value,
    path: &FieldPath,
    place: &Place<'_>,
) -> Result<Value, Vec<FieldError>> {
    let root = FieldPath::default();
    let object = place.steps.around(default.clone());
    let invalid = |reason: String| {
        let detail = format!("must result in valid metadata: {reason}");
        vec![FieldError::invalid(path.clone(), default.clone(), detail)]
    };
    let coerced = place.root.coerce_metadata(&root, &object, true, false);
    let coerced = coerced.map_err(|error| invalid(error_at(error, &root).to_string()))?;
    let errors = place.root.validate_metadata(&root, &coerced.object, true);
    let errors = errors.map_err(|error| invalid(error.to_string()))?;
    if errors.is_empty() {
        return Ok(default.clone());
    }

    let mut texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.dedup();
    Err(invalid(match texts.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }))
}

fn error_at(error: Error, path: &FieldPath) -> FieldError {
    match error {
        Error::Metadata(error) => error,
        error => FieldError::invalid(path.clone(), "", error.to_string()),
    }
}
