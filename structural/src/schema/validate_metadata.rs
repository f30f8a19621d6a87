//! Validates the identity and the metadata of resources.

use fieldmanager_value::internal::level;
use fieldmanager_value::{Map, Value};

use super::metadata_check::{MetadataCheck, group_version};
use super::trail::Trail;
use super::walk::check;
use super::{Error, Structural, object_meta};
use crate::{FieldError, FieldPath, dns};

impl Structural {
    /// The faults of `apiVersion`, `kind` and `metadata` of the embedded resources in the object, as reported by
    /// `Validate` in `schema/objectmeta` of the API server. With `is_resource_root`, the object itself is a resource.
    /// `path` is the path of the object.
    ///
    /// `apiVersion` and `kind` are required and must have valid syntax. `metadata` is validated as for an object that
    /// is created, except that a name is not required.
    ///
    /// Errors are in the order of the object; those of the API server are in random order.
    ///
    /// # Errors
    ///
    /// [`Error::TooDeep`].
    ///
    /// ```
    /// use fieldmanager_structural::FieldPath;
    /// use fieldmanager_structural::Structural;
    /// use fieldmanager_value::Value;
    /// let object = Value::from_yaml("{kind: Shop, metadata: {name: a/b}}")?;
    /// let errors = Structural::default().validate_metadata(&FieldPath::default(), &object, true)?;
    /// let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    /// assert_eq!(
    ///     errors,
    ///     ["apiVersion: Required value", r#"metadata.name: Invalid value: "a/b": may not contain '/'"#]
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn validate_metadata(
        &self,
        path: &FieldPath,
        object: &Value,
        is_resource_root: bool,
    ) -> Result<Vec<FieldError>, Error> {
        let mut errors = Vec::new();
        let is_resource = is_resource_root || self.extensions.embedded_resource;
        value(
            object,
            self,
            is_resource,
            &Trail::Root(path),
            0,
            &mut errors,
        )?;

        Ok(errors)
    }
}

fn value(
    object: &Value,
    schema: &Structural,
    is_resource: bool,
    trail: &Trail<'_>,
    depth: usize,
    errors: &mut Vec<FieldError>,
) -> Result<(), Error> {
    level(|| {
        if let (Value::Map(map), true) = (object, is_resource) {
            resource(map, trail, errors);
        }
        // An object inside is a resource only if its own schema says so, whatever the schema above is.
        let mut below = |found: &Value, schema: &Structural, trail: &Trail<'_>| {
            value(
                found,
                schema,
                schema.extensions.embedded_resource,
                trail,
                depth + 1,
                errors,
            )
        };

        match object {
            Value::Map(map) => {
                check(depth)?;
                // A declared property has precedence over `additionalProperties`.
                for (name, found) in map {
                    if let Some(property) = schema.property(name) {
                        below(found, property, &Trail::Child(trail, name))?;
                    } else if let Some(schema) = schema.field(name).schema() {
                        below(found, schema, &Trail::Key(trail, name))?;
                    }
                }
            }
            Value::List(list) => {
                check(depth)?;
                if let Some(items) = &schema.items {
                    for (at, item) in list.iter().enumerate() {
                        below(item, items, &Trail::Index(trail, at))?;
                    }
                }
            }
            _ => {}
        }

        Ok(())
    })
}

fn resource(map: &Map, trail: &Trail<'_>, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let path = || trail.at(name);
        // An absent field and an empty one are different faults here, unlike in decoded metadata.
        match map.get(name) {
            None => errors.push(FieldError::required(path(), "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(path(), "", "must not be empty"));
            }
            Some(Value::String(text)) => {
                let fault = if name == "kind" {
                    kind(text)
                } else {
                    group_version(text)
                };
                errors.extend(fault.map(|fault| FieldError::invalid(path(), text.clone(), fault)));
            }
            Some(other) => errors.push(FieldError::invalid(
                path(),
                other.clone(),
                "must be a string",
            )),
        }
    }

    if let Some(metadata) = map.get("metadata") {
        // The check reads decoded metadata, in which values have the types of Go. A value that cannot be decoded is its
        // only fault.
        let trail = Trail::Child(trail, "metadata");
        match object_meta::decode(metadata) {
            Err(fault) => errors.push(FieldError::invalid(trail.path(), metadata.clone(), fault)),
            Ok(decoded) => {
                let decoded = decoded.edit.as_ref().unwrap_or(metadata);
                MetadataCheck {
                    metadata: decoded,
                    trail: &trail,
                    errors,
                }
                .embedded();
            }
        }
    }
}

fn kind(text: &str) -> Option<String> {
    let faults = dns::label_1035(&text.to_lowercase());
    let fault = || {
        format!(
            "may have mixed case, but should otherwise match: {}",
            faults.join(",")
        )
    };
    (!faults.is_empty()).then(fault)
}
