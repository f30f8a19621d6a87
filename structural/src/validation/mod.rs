//! Validates objects against OpenAPI schemas: types, patterns, bounds, enumerations, required fields and formats.
//!
//! This is the validation that the API server performs on a custom resource after pruning and defaulting. Rules in CEL
//! are not checked; [`Structural`](crate::Structural) checks list types and the metadata of embedded resources. The
//! crate `jsonschema` does the work: this module translates the dialect of OpenAPI 3.0 with the extensions of
//! Kubernetes to JSON schema, and errors to those of Kubernetes.
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
//!     "spec.color: Unsupported value: \"blue\": supported values: \"green\", \"red\"",
//!     "spec.replicas: Invalid value: 0: spec.replicas in body should be greater than 0",
//! ]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod errors;
mod formats;
mod translate;

use std::fmt;

use fieldmanager_value::internal::with_room;
use fieldmanager_value::{MAX_DEPTH, Value};
use jsonschema::{Draft, PatternOptions};

use crate::{FieldError, FieldPath, Structural};

pub use translate::SchemaError;

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
    compiled: Option<jsonschema::Validator>,
    schema: serde_json::Value,
}

impl Validator {
    /// Compiles an OpenAPI schema, such as `schema.openAPIV3Schema` of a custom resource definition. `$ref` is not
    /// supported in such schemas and is refused. Patterns have the syntax of RE2, without look-around.
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
        let schema = translate::schema(schema)?;
        let mut options = jsonschema::options();
        options = options
            .with_draft(Draft::Draft7)
            .with_pattern_options(PatternOptions::regex())
            .should_validate_formats(true);
        for (name, check) in formats::OWN {
            options = options.with_format(*name, *check);
        }
        let compiled = with_room(|| options.build(&schema)).map_err(|error| SchemaError::Keyword {
            path: error.instance_path().as_str().trim_start_matches('/').replace('/', "."),
            message: error.to_string(),
        })?;
        Ok(Validator { compiled: Some(compiled), schema })
    }

    /// Compiles a structural schema.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    ///
    /// ```
    /// use fieldmanager_structural::Structural;
    /// use fieldmanager_structural::validation::Validator;
    /// use fieldmanager_value::Value;
    /// let schema = Structural::from_value(&Value::from_yaml("{type: array, items: {type: string}, maxItems: 1}")?)?;
    /// let errors = Validator::from_structural(&schema)?.validate(&Value::from(vec!["a", "b"]));
    /// assert_eq!(errors[0].to_string(), "<nil>: Too many: 2: must have at most 1 item");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn from_structural(schema: &Structural) -> Result<Self, SchemaError> {
        Self::new(&schema.to_value())
    }

    /// The faults of an object, sorted by path: the first 100, followed by an error with the number of the others.
    ///
    /// Behaviour: `ValidateCustomResource` of `k8s.io/apiextensions-apiserver/pkg/apiserver/validation`, with the
    /// messages of `k8s.io/kube-openapi/pkg/validation/errors`. If no alternative matches, the errors of the best one,
    /// which has the fewest, follow.
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
        let Some(instance) = translate::instance(object, 0) else {
            let detail = format!("lists and maps nest deeper than {MAX_DEPTH} levels");
            return vec![FieldError::invalid(FieldPath::empty(), "", detail)];
        };
        with_room(|| {
            let mut out = errors::Errors::default();
            for error in self.compiled.iter().flat_map(|compiled| compiled.iter_errors(&instance)) {
                errors::push(&error, &instance, &mut out);
            }
            drop(instance);
            out.finish()
        })
    }
}

impl Drop for Validator {
    fn drop(&mut self) {
        let parts = (self.compiled.take(), std::mem::take(&mut self.schema));
        with_room(|| drop(parts));
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_room(|| f.debug_tuple("Validator").field(&self.schema).finish())
    }
}
