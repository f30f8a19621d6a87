//! Coerces `apiVersion`, `kind` and `metadata` of resources, at the root and embedded.

use fieldmanager_value::internal::level;
use fieldmanager_value::{Map, Value};

use super::object_meta;
use super::trail::Trail;
use super::walk::{Edit, check, edit_items, edit_map};
use super::{Error, Structural};
use crate::{FieldError, FieldPath};

/// An object after [coercing its metadata](Structural::coerce_metadata).
///
/// ```
/// use fieldmanager_structural::FieldPath;
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let object = Value::from_yaml("{kind: A, metadata: {name: a, colour: red}}")?;
/// let coerced = Structural::default().coerce_metadata(&FieldPath::default(), &object, true, false)?;
/// assert_eq!(coerced.object.to_json(), r#"{"kind":"A","metadata":{"name":"a"}}"#);
/// assert_eq!(coerced.unknown, ["metadata.colour"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Coerced {
    /// The coerced object.
    pub object: Value,
    /// The fields of metadata that were dropped because `ObjectMeta` does not declare them, sorted.
    pub unknown: Vec<String>,
}

impl Structural {
    /// Coerces the `metadata` of each embedded resource to values that the Go type `ObjectMeta` can represent, as
    /// `CoerceWithOptions` in the API server. With `is_resource_root`, the object itself is a resource. `path` is the
    /// path of the object.
    ///
    /// Unknown fields are dropped, and so are empty fields that Go omits. Times are converted to UTC. A null in a map
    /// or list of strings becomes the empty string. With `drops_invalid`, metadata fields of a wrong type and an
    /// `apiVersion` or `kind` that is not a string are dropped; otherwise they are errors.
    ///
    /// If nothing changes, nothing is allocated and the same object is returned.
    ///
    /// # Errors
    ///
    /// [`Error::Metadata`] for the first value of a wrong type, in the order of the object; [`Error::TooDeep`].
    ///
    /// ```
    /// use fieldmanager_structural::FieldPath;
    /// use fieldmanager_structural::Structural;
    /// use fieldmanager_value::Value;
    /// let object = Value::from_yaml("{metadata: {name: 5, labels: {a: null}}}")?;
    /// let schema = Structural::default();
    /// let error = schema.coerce_metadata(&FieldPath::default(), &object, true, false).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     r#"metadata: Invalid value: {"labels":{"a":null},"name":5}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"#
    /// );
    /// let coerced = schema.coerce_metadata(&FieldPath::default(), &object, true, true)?;
    /// assert_eq!(coerced.object.to_json(), r#"{"metadata":{"labels":{"a":""}}}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn coerce_metadata(
        &self,
        path: &FieldPath,
        object: &Value,
        is_resource_root: bool,
        drops_invalid: bool,
    ) -> Result<Coerced, Error> {
        let mut coercer = Coercer {
            drops_invalid,
            unknown: Vec::new(),
        };
        let is_resource = is_resource_root || self.extensions.embedded_resource;
        let edit = coercer.value(object, self, is_resource, &Trail::Root(path), 0)?;
        coercer.unknown.sort_unstable();

        Ok(Coerced {
            object: edit.unwrap_or_else(|| object.clone()),
            unknown: coercer.unknown,
        })
    }
}

struct Coercer {
    drops_invalid: bool,
    unknown: Vec<String>,
}

impl Coercer {
    fn value(
        &mut self,
        value: &Value,
        schema: &Structural,
        is_resource: bool,
        trail: &Trail<'_>,
        depth: usize,
    ) -> Result<Edit, Error> {
        level(|| match value {
            Value::Map(map) => {
                check(depth)?;
                self.fields(map, schema, is_resource, trail, depth)
            }
            Value::List(list) => {
                check(depth)?;
                let Some(items) = &schema.items else {
                    return Ok(None);
                };
                edit_items(list, |at, item| {
                    let is_resource = items.extensions.embedded_resource;
                    self.value(
                        item,
                        items,
                        is_resource,
                        &Trail::Index(trail, at),
                        depth + 1,
                    )
                })
            }
            _ => Ok(None),
        })
    }

    fn fields(
        &mut self,
        map: &Map,
        schema: &Structural,
        is_resource: bool,
        trail: &Trail<'_>,
        depth: usize,
    ) -> Result<Edit, Error> {
        let mut edits = Vec::new();
        for (name, found) in map {
            // Walks dropped and replaced values as well, to find the unknown fields in them.
            let before = edits.len();
            if is_resource {
                match name.as_str() {
                    "apiVersion" | "kind" if found.as_str().is_none() => {
                        if !self.drops_invalid {
                            let error = FieldError::invalid(
                                trail.at(name),
                                found.clone(),
                                "must be a string",
                            );
                            return Err(Error::Metadata(error));
                        }
                        edits.push((name.clone(), None));
                    }
                    "metadata" => {
                        let edit = self.metadata(found, trail)?;
                        edits.extend(edit.map(|edited| (name.clone(), Some(edited))));
                    }
                    _ => {}
                }
            }

            let edit = if let Some(property) = schema.property(name) {
                self.below(found, property, &Trail::Child(trail, name), depth)?
            } else if let Some(schema) = schema.field(name).schema() {
                self.below(found, schema, &Trail::Key(trail, name), depth)?
            } else {
                None
            };

            if let (Some(edited), true) = (edit, edits.len() == before) {
                edits.push((name.clone(), Some(edited)));
            }
        }

        Ok(edit_map(map, edits))
    }

    fn below(
        &mut self,
        value: &Value,
        schema: &Structural,
        trail: &Trail<'_>,
        depth: usize,
    ) -> Result<Edit, Error> {
        self.value(
            value,
            schema,
            schema.extensions.embedded_resource,
            trail,
            depth + 1,
        )
    }

    /// Coerces the `metadata` of the resource at `trail`.
    fn metadata(&mut self, metadata: &Value, trail: &Trail<'_>) -> Result<Edit, Error> {
        let decoded = match (object_meta::decode(metadata), metadata) {
            (Ok(decoded), _) => decoded,
            (Err(_), Value::Map(map)) if self.drops_invalid => object_meta::decode_dropping(map),
            // A value that is not a map stays.
            (Err(_), _) if self.drops_invalid => return Ok(None),
            (Err(fault), _) => {
                let error = FieldError::invalid(trail.at("metadata"), metadata.clone(), fault);
                return Err(Error::Metadata(error));
            }
        };

        if !decoded.unknown.is_empty() {
            let prefix = trail.at("metadata").to_string();
            self.unknown.extend(
                decoded
                    .unknown
                    .iter()
                    .map(|name| format!("{prefix}.{name}")),
            );
        }

        Ok(decoded.edit)
    }
}
