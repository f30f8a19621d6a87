//! Reads a structural schema.

use std::sync::Arc;

use fieldmanager_value::Value;
use fieldmanager_value::internal::level;

use super::source::{Source, schemas};
use super::trail::Trail;
use super::{AdditionalProperties, Error, Node, Structural, ValueValidation, nested};
use crate::FieldPath;

impl Structural {
    /// Reads a schema in the format of `JSONSchemaProps` of `apiextensions.k8s.io/v1`.
    ///
    /// Null and an empty string, list or map are equivalent to an absent keyword. Keywords that `JSONSchemaProps` does
    /// not declare are ignored.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`], [`Error::ItemsList`] and [`Error::PreserveFalse`] where the API server cannot convert
    /// the schema, [`Error::WrongType`] where it cannot decode it, [`Error::TooDeep`].
    ///
    /// ```
    /// use fieldmanager_structural::Structural;
    /// use fieldmanager_value::Value;
    /// let schema = Structural::from_value(&Value::from_yaml("{type: array, items: {type: integer}}")?)?;
    /// assert!(schema.items.is_some());
    /// let error = Structural::from_value(&Value::from_yaml("{items: [{type: integer}]}")?).unwrap_err();
    /// assert_eq!(error.to_string(), "OpenAPIV3Schema 'items' must be a schema, but is an array");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_value(schema: &Value) -> Result<Structural, Error> {
        structural(schema, &Trail::Root(&FieldPath::default()), 0)
    }
}

fn structural(schema: &Value, trail: &Trail<'_>, depth: usize) -> Result<Structural, Error> {
    level(|| {
        let source = Source::new(schema, trail, depth)?;
        let mut node = own_parts(&source)?;
        if let Some(items) = source.items()? {
            node.items = Some(structural(items, &Trail::Child(trail, "items"), depth + 1)?);
        }
        if let Some(properties) = source.map("properties")? {
            node.properties = schemas(properties, "properties", &source, structural)?;
        }

        node.additional_properties = match source.schema_or_bool("additionalProperties")? {
            None => None,
            Some(Value::Bool(allowed)) => Some(AdditionalProperties::Bool(*allowed)),
            Some(schema) => {
                let trail = Trail::Child(trail, "additionalProperties");
                Some(AdditionalProperties::Schema(structural(
                    schema,
                    &trail,
                    depth + 1,
                )?))
            }
        };

        Ok(Structural::new(*node))
    })
}

/// Reads the node without its children.
fn own_parts(source: &Source<'_>) -> Result<Box<Node>, Error> {
    let mut node = Box::<Node>::default();
    let mut value_validation = Box::<ValueValidation>::default();
    nested::parts(
        source,
        &mut value_validation,
        &mut node.generic,
        &mut node.extensions,
        &mut node.validations,
    )?;
    if *value_validation != *node.value_validation {
        node.value_validation = Arc::new(*value_validation);
    }

    Ok(node)
}
