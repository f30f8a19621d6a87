//! Validates custom resources.

use fieldmanager_cel::{BUDGET, Evaluated, Rules};
use fieldmanager_structural::crd::{CrdError, CustomResource, ScalePaths, Scope};
use fieldmanager_structural::internal::{
    NameSyntax, finalizer_warnings, validate_object_meta, validate_object_meta_update,
};
use fieldmanager_structural::validation::{SchemaError, Validator as ValueValidator};
use fieldmanager_structural::{
    Error, FieldError, FieldErrorKind, FieldPath, GroupVersionKind, Structural,
};
use fieldmanager_value::Value;

use super::decoder::structural;
use super::scale;

/// Validates the objects of a custom resource at one version. Objects must be [decoded](super::Decoder).
///
/// The errors are in the order of the API server, and like there, a fault of metadata can occur several times: its
/// general checks and those of custom resources overlap. Each is a cause of the `Status`; its message lists each text
/// once.
///
/// Behaviour: `BeforeCreate` and `BeforeUpdate` of `k8s.io/apiserver/pkg/registry/rest`, with the strategies of
/// `k8s.io/apiextensions-apiserver/pkg/registry/customresource`.
///
/// ```
/// use fieldmanager_handlers::custom::Validator;
/// use fieldmanager_structural::crd::CustomResource;
/// use fieldmanager_value::Value;
///
/// let shop = CustomResource::from_value(&Value::from_yaml("
/// apiVersion: apiextensions.k8s.io/v1
/// kind: CustomResourceDefinition
/// metadata: {name: shops.example.com}
/// spec:
///   group: example.com
///   names: {kind: Shop, plural: shops}
///   scope: Namespaced
///   versions:
///   - name: v1
///     served: true
///     storage: true
///     schema:
///       openAPIV3Schema:
///         type: object
///         properties: {spec: {type: object, properties: {replicas: {type: integer, minimum: 0}}}}
/// ")?)?;
/// let validator = Validator::new(&shop, "v1")?;
/// let object = Value::from_yaml("
/// apiVersion: example.com/v1
/// kind: Shop
/// metadata: {name: a, namespace: ns}
/// spec: {replicas: -1}
/// ")?;
/// let errors = validator.validate_create(&object);
/// assert_eq!(
///     errors[0].to_string(),
///     "spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Validator {
    kind: GroupVersionKind,
    is_namespaced: bool,
    schema: Structural,
    values: Option<ValueValidator>,
    /// The part of the schema for `status`, if the subresource is enabled.
    status: Option<(ValueValidator, Structural)>,
    scale: Option<ScalePaths>,
    rules: Rules,
}

/// An error of preparing the validation of a version.
///
/// ```
/// # use fieldmanager_handlers::custom::Validator;
/// # use fieldmanager_structural::crd::CustomResource;
/// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
/// let error = Validator::new(&shop, "v2").unwrap_err();
/// assert_eq!(error.to_string(), "there is no version `v2`: the only one is v1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ValidatorError {
    /// The definition has no such version, or its schema is not structural.
    #[error(transparent)]
    Definition(#[from] CrdError),
    /// The schema cannot be compiled.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

impl Validator {
    /// Prepares the validation of objects at a version.
    ///
    /// # Errors
    ///
    /// [`ValidatorError`].
    ///
    /// ```
    /// # use fieldmanager_handlers::custom::Validator;
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
    /// assert!(Validator::new(&shop, "v1").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(custom: &CustomResource, version: &str) -> Result<Validator, ValidatorError> {
        let path = || FieldPath::root("spec").child("versions").key(version);
        let schema = custom.version(version)?.schema.as_ref();
        let schema = schema.map(|schema| structural(schema, custom.preserve_unknown_fields, path));
        Self::with_schema(custom, version, schema.transpose()?)
    }

    /// Like [`new`](Self::new), with the schema that was read before.
    pub(crate) fn with_schema(
        custom: &CustomResource,
        version: &str,
        structural: Option<Structural>,
    ) -> Result<Validator, ValidatorError> {
        let found = custom.version(version)?;
        let mut out = Validator {
            kind: custom.kind(version),
            is_namespaced: custom.scope == Scope::Namespaced,
            schema: Structural::default(),
            values: None,
            status: None,
            scale: found.scale.clone(),
            rules: Rules::default(),
        };

        // Without a schema, only metadata and the fields of `scale` are validated.
        let Some((schema, structural)) = found.schema.as_ref().zip(structural) else {
            return Ok(out);
        };
        out.schema = structural;
        out.values = Some(ValueValidator::new(schema)?);
        out.rules = Rules::compile(&out.schema);

        // The values of a request to `status` are validated by this part of the schema alone.
        if found.status
            && let Some(status) = schema
                .get("properties")
                .and_then(|properties| properties.get("status"))
        {
            let structural = out
                .schema
                .properties
                .get("status")
                .cloned()
                .unwrap_or_default();
            out.status = Some((ValueValidator::new(status)?, structural));
        }

        Ok(out)
    }

    /// The faults of an object that is created, after its name was generated.
    ///
    /// ```
    /// # use fieldmanager_handlers::custom::Validator;
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # use fieldmanager_value::Value;
    /// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
    /// let object = Value::from_yaml("{apiVersion: example.com/v1, kind: Shop, metadata: {name: A}}")?;
    /// let errors = Validator::new(&shop, "v1")?.validate_create(&object);
    /// assert!(errors[0].to_string().starts_with("metadata.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        let root = FieldPath::default();
        let mut errors = self.type_meta(object);
        if errors.is_empty() {
            errors = self.created_metadata(object, NameSyntax::Subdomain);
            errors.extend(
                self.values
                    .iter()
                    .flat_map(|values| values.validate(object)),
            );
            if let Some(scale) = &self.scale {
                scale::validate_spec(scale, object, &mut errors);
                scale::validate_status(scale, object, &mut errors);
            }
        }

        // These faults do not depend on the kind and the version that the object names.
        errors.extend(listed(self.schema.validate_metadata(&root, object, false)));
        errors.extend(listed(self.schema.validate_lists(&root, object)));
        self.rules(object, None, &mut errors);
        // `BeforeCreate` checks metadata once more after a strategy that found no fault, by the looser rule for names.
        if errors.is_empty() {
            errors = self.created_metadata(object, NameSyntax::PathSegment);
        }
        errors
    }

    /// The faults of an object that replaces another one of the same version. Faults of the schema in values that did
    /// not change are dropped; violations of rules in such values are warnings, which are sent with any answer.
    ///
    /// ```
    /// # use fieldmanager_handlers::custom::Validator;
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # use fieldmanager_value::Value;
    /// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
    /// let old = Value::from_yaml("{apiVersion: example.com/v1, kind: Shop, metadata: {name: a, resourceVersion: '1'}}")?;
    /// let new = Value::from_yaml("{apiVersion: example.com/v1, kind: Shop, metadata: {name: a}}")?;
    /// let errors = Validator::new(&shop, "v1")?.validate_update(&new, &old).errors;
    /// let expected = r#"metadata.resourceVersion: Invalid value: "": must be specified for an update"#;
    /// assert_eq!(errors[0].to_string(), expected);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn validate_update(&self, object: &Value, old: &Value) -> Evaluated {
        let root = FieldPath::default();
        let common = self.common(object, old);
        let mut errors = Vec::new();
        let type_meta = self.type_meta(object);
        if type_meta.is_empty() {
            errors.extend(updated_metadata(object, old));
            if let Some(values) = &self.values {
                errors.extend(values.validate_update(&root, object, old, &self.schema));
            }
            if let Some(scale) = &self.scale {
                scale::validate_spec(scale, object, &mut errors);
                scale::validate_status(scale, object, &mut errors);
            }
        }

        errors.extend(type_meta);
        errors.extend(listed(self.schema.validate_metadata(&root, object, false)));
        errors.extend(self.lists(object, old));
        // Rules come last, since faults of types and limits prevent their evaluation.
        let warnings = self.rules(object, Some(old), &mut errors);
        Evaluated {
            errors: [common, errors].concat(),
            warnings,
        }
    }

    /// The faults of an object that differs from the old one in its status only.
    ///
    /// ```
    /// # use fieldmanager_handlers::custom::Validator;
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # use fieldmanager_value::Value;
    /// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
    /// let old = Value::from_yaml("{apiVersion: example.com/v1, kind: Shop, metadata: {name: a, resourceVersion: '1'}}")?;
    /// assert!(Validator::new(&shop, "v1")?.validate_status_update(&old, &old).errors.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn validate_status_update(&self, object: &Value, old: &Value) -> Evaluated {
        let common = self.common(object, old);
        let mut errors = Vec::new();
        let type_meta = self.type_meta(object);
        if type_meta.is_empty() {
            errors.extend(updated_metadata(object, old));
            // The other fields are those of the live object, whose faults the request cannot repair.
            if let (Some(status), Some((values, schema))) = (object.get("status"), &self.status) {
                let old = old.get("status").unwrap_or(&Value::Null);
                errors.extend(values.validate_update(
                    &FieldPath::root("status"),
                    status,
                    old,
                    schema,
                ));
            }

            if let Some(scale) = &self.scale {
                scale::validate_status(scale, object, &mut errors);
            }
        }

        errors.extend(type_meta);
        errors.extend(self.lists(object, old));
        // Rules are evaluated for the whole object, since one at the root may read the status.
        let warnings = self.rules(object, Some(old), &mut errors);
        Evaluated {
            errors: [common, errors].concat(),
            warnings,
        }
    }

    /// The warnings about an object that is created or, with an old object, updated. A request to `status` has none.
    ///
    /// ```
    /// # use fieldmanager_handlers::custom::Validator;
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # use fieldmanager_value::Value;
    /// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
    /// let object = Value::from_yaml("{metadata: {finalizers: [mine]}}")?;
    /// assert_eq!(Validator::new(&shop, "v1")?.warnings(&object, None).len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        finalizer_warnings(
            object.get("metadata"),
            old.and_then(|old| old.get("metadata")),
        )
    }

    /// Adds the violations of rules, and returns the warnings. They are not checked if the object does not fit its schema.
    fn rules(
        &self,
        object: &Value,
        old: Option<&Value>,
        errors: &mut Vec<FieldError>,
    ) -> Vec<String> {
        if self.rules.is_empty() {
            return Vec::new();
        }

        // A value with such a fault may not have the type for which the rules were compiled, or exceed what bounds
        // their cost.
        let blocks = |error: &FieldError| {
            matches!(
                error.kind,
                FieldErrorKind::NotSupported
                    | FieldErrorKind::Required
                    | FieldErrorKind::TooLong
                    | FieldErrorKind::TooMany
                    | FieldErrorKind::TypeInvalid
            )
        };

        if errors.iter().any(blocks) {
            let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                          errors to complete validation";
            errors.push(FieldError::invalid(
                FieldPath::default(),
                Value::Null,
                detail,
            ));
            return Vec::new();
        }

        let evaluated = self
            .rules
            .validate(&FieldPath::default(), object, old, BUDGET);
        errors.extend(evaluated.errors);
        evaluated.warnings
    }

    fn type_meta(&self, object: &Value) -> Vec<FieldError> {
        let api_version = self.kind.api_version();
        let mut errors = Vec::new();
        for (name, expected) in [
            ("kind", self.kind.kind.as_str()),
            ("apiVersion", api_version.as_str()),
        ] {
            let found = object.get(name).and_then(Value::as_str).unwrap_or_default();
            if found != expected {
                errors.push(FieldError::invalid(
                    FieldPath::root(name),
                    found,
                    format!("must be {expected}"),
                ));
            }
        }

        errors
    }

    fn created_metadata(&self, object: &Value, syntax: NameSyntax) -> Vec<FieldError> {
        validate_object_meta(
            object.get("metadata"),
            self.is_namespaced,
            syntax,
            &FieldPath::root("metadata"),
        )
    }

    /// The checks of metadata that an update of any kind has.
    fn common(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.created_metadata(object, NameSyntax::PathSegment);
        errors.extend(updated_metadata(object, old));
        errors
    }

    /// The faults of lists, unless the old object has some too.
    fn lists(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let root = FieldPath::default();
        // An old object with any fault in its lists excuses the new one.
        let errors = listed(self.schema.validate_lists(&root, object));
        if errors.is_empty() || !listed(self.schema.validate_lists(&root, old)).is_empty() {
            return Vec::new();
        }
        errors
    }
}

fn updated_metadata(object: &Value, old: &Value) -> Vec<FieldError> {
    validate_object_meta_update(
        object.get("metadata"),
        old.get("metadata"),
        &FieldPath::root("metadata"),
    )
}

/// The errors of a walk. An object that is too deep for one is a fault itself.
fn listed(result: Result<Vec<FieldError>, Error>) -> Vec<FieldError> {
    result.unwrap_or_else(|error| {
        vec![FieldError::invalid(
            FieldPath::default(),
            "",
            error.to_string(),
        )]
    })
}
