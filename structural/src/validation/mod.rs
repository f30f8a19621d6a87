//! Validates objects against OpenAPI schemas: types, patterns, bounds, enumerations, required fields and formats.
//!
//! This is the validation that the API server performs on a custom resource after pruning and defaulting, with its
//! messages. On an update, faults of values that did not change are dropped ("ratcheting"). Rules in CEL are not
//! checked; [`Structural`] checks list types and the metadata of embedded resources.
//!
//! ```
//! use fieldmanager_structural::validation::Validator;
//! use fieldmanager_value::Value;
//!
//! let validator = Validator::new(&Value::from_yaml("
//! type: object
//! required: [spec]
//! properties:
//!   spec:
//!     type: object
//!     properties:
//!       replicas: {type: integer, minimum: 0, exclusiveMinimum: true}
//!       color: {type: string, enum: [red, green]}
//!       port: {x-kubernetes-int-or-string: true}
//! ")?)?;
//! let errors = validator.validate(&Value::from_yaml("{spec: {replicas: 0, color: blue, port: http}}")?);
//! let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
//! assert_eq!(errors, [
//!     "spec.color: Unsupported value: \"blue\": supported values: \"red\", \"green\"",
//!     "spec.replicas: Invalid value: 0: spec.replicas in body should be greater than 0",
//! ]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compile;
mod faults;
mod formats;
mod numbers;
mod regular;
mod types;
mod walk;

use std::fmt;

use fieldmanager_value::Value;

use crate::correlation::{Correlated, Correlations};
use crate::{FieldError, FieldPath, Structural};

pub use compile::SchemaError;

/// Items for the other crates of the workspace.
pub(crate) mod internal {
    pub use super::formats::is_uuid;
    pub use super::regular::{Pattern, expression};
}

/// A compiled schema that validates objects.
///
/// ```
/// use fieldmanager_structural::validation::Validator;
/// use fieldmanager_value::Value;
/// let validator = Validator::new(&Value::from_yaml("{type: string, nullable: true}")?)?;
/// assert!(validator.validate(&Value::Null).is_empty());
/// assert_eq!(validator.validate(&Value::from(1)).len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Validator {
    node: compile::Node,
}

impl Validator {
    /// Compiles an OpenAPI schema, such as `schema.openAPIV3Schema` of a custom resource definition. `$ref` is not
    /// supported in such schemas and is refused. Patterns have the syntax of Go, RE2. One is compiled when a value needs
    /// it; all compiled patterns of the process have at most 64 MiB together, and those that were not used for a while
    /// are compiled again.
    ///
    /// # Errors
    ///
    /// [`SchemaError`].
    ///
    /// ```
    /// use fieldmanager_structural::validation::Validator;
    /// use fieldmanager_value::Value;
    /// assert!(Validator::new(&Value::from_yaml("{type: string, pattern: '^a'}")?).is_ok());
    /// assert!(Validator::new(&Value::from_yaml("{type: text}")?).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        Ok(Validator {
            node: compile::schema(schema)?,
        })
    }

    /// The faults of an object, in the order of the properties of the schema: the first 100, followed by an error with
    /// the number of the others.
    ///
    /// Behaviour: `ValidateCustomResource` of `k8s.io/apiextensions-apiserver/pkg/apiserver/validation`, with the
    /// messages of `k8s.io/kube-openapi/pkg/validation/errors`. The API server visits properties in random order.
    ///
    /// Each part of a schema can visit each value: 20,000 schemas in an `allOf` of items visit 300,000 items 6 billion
    /// times. The API server ends that at the deadline of a request.
    ///
    /// ```
    /// use fieldmanager_structural::validation::Validator;
    /// use fieldmanager_value::Value;
    /// let validator = Validator::new(&Value::from_yaml("{type: object, required: [a]}")?)?;
    /// let errors = validator.validate(&Value::from_yaml("{}")?);
    /// assert_eq!(errors[0].to_string(), "a: Required value");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn validate(&self, object: &Value) -> Vec<FieldError> {
        self.validate_at(&FieldPath::default(), object)
    }

    /// The faults of an object at a path. Only the paths begin with it, as in the API server: the texts name the field
    /// relative to the object.
    pub(crate) fn validate_at(&self, path: &FieldPath, object: &Value) -> Vec<FieldError> {
        walk::validate(&self.node, path, object, None)
    }

    /// The faults of an object that replaces another one: those of values that are equal to the old ones are dropped.
    /// `schema` finds the old value of a value: fields by name, items of lists of type map by key. It must be the
    /// structural form of the schema that the validator was compiled from.
    ///
    /// Behaviour: `ValidateCustomResourceUpdate` with the feature `CRDValidationRatcheting`.
    ///
    /// ```
    /// use fieldmanager_structural::validation::Validator;
    /// use fieldmanager_structural::{FieldPath, Structural};
    /// use fieldmanager_value::Value;
    /// let schema = Value::from_yaml("{type: object, properties: {a: {type: integer}, b: {type: integer}}}")?;
    /// let (validator, schema) = (Validator::new(&schema)?, Structural::from_value(&schema)?);
    /// let (old, new) = (Value::from_yaml("{a: x, b: 1}")?, Value::from_yaml("{a: x, b: y}")?);
    /// let errors = validator.validate_update(&FieldPath::default(), &new, &old, &schema);
    /// assert_eq!(errors.len(), 1);
    /// assert_eq!(errors[0].path, FieldPath::root("b"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn validate_update(
        &self,
        path: &FieldPath,
        object: &Value,
        old: &Value,
        schema: &Structural,
    ) -> Vec<FieldError> {
        let mut known = Correlations::default();
        let correlated = Correlated {
            new: object,
            old,
            schema,
        };
        walk::validate(&self.node, path, object, Some((correlated, &mut known)))
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validator").finish_non_exhaustive()
    }
}
