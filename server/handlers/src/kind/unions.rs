//! Unions of custom resources: the faults of objects, and of their declarations.

use fieldmanager_fieldpath::{Path, PathElement};
use fieldmanager_openapi::Types;
use fieldmanager_schema::Type;
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_structural::internal::each_schema;
use fieldmanager_structural::{FieldError, FieldPath, Structural};
use fieldmanager_typed::{Duplicates, Ratcheting, TypedValue, UnionFault};
use fieldmanager_value::Value;

const EXTENSION: &str = "x-kubernetes-unions";

/// The unions of a custom resource at one version.
pub(crate) struct Unions {
    /// `None` if the schema declares none.
    ty: Option<Type>,
}

impl Unions {
    /// The unions of a version.
    pub(crate) fn of(definition: &CustomResource, version: &str) -> Self {
        let schema = definition
            .version(version)
            .ok()
            .and_then(|version| version.schema.as_ref());
        let ty = schema.filter(|schema| declares(schema)).and_then(|_| {
            let types = Types::from_custom_resource(definition).ok()?;
            types.for_kind(&definition.kind(version)).ok()
        });
        Unions { ty }
    }

    /// The faults of an object, apart from those that the live one has too.
    pub(crate) fn faults(&self, object: &Value, live: Option<&Value>) -> Vec<FieldError> {
        let Some(ty) = &self.ty else {
            return Vec::new();
        };
        let typed =
            |value: &Value| TypedValue::new(value.clone(), ty.clone(), Duplicates::Allow).ok();

        // An object that does not fit its type has other faults.
        let Some(new) = typed(object) else {
            return Vec::new();
        };

        // Without a live object no fault is an old one.
        let old = live
            .and_then(typed)
            .unwrap_or_else(|| TypedValue::null(ty.clone()));
        let faults = old.validate_unions(&new, Ratcheting::On);

        faults
            .into_iter()
            .map(|fault| error(fault, object))
            .collect()
    }
}

/// The faults of the unions that a definition declares, unless the live one has the same.
pub(crate) fn declaration_faults(definition: &Value, live: Option<&Value>) -> Vec<FieldError> {
    let faults = of_definition(definition);
    match live {
        Some(live) if !faults.is_empty() && of_definition(live) == faults => Vec::new(),
        _ => faults,
    }
}

fn of_definition(definition: &Value) -> Vec<FieldError> {
    // A definition that cannot be read has other faults.
    let Ok(resource) = CustomResource::from_value(definition) else {
        return Vec::new();
    };
    let schemas = resource.versions.iter().enumerate();
    let schemas = schemas.filter_map(|(at, version)| Some((at, version.schema.as_ref()?)));
    let with_unions: Vec<(usize, &Value)> =
        schemas.filter(|(_, schema)| declares(schema)).collect();
    if with_unions.is_empty() {
        return Vec::new();
    }

    let versions = FieldPath::root("spec").child("versions");
    let mut errors = resource.union_violations();
    if errors.is_empty() {
        for (at, schema) in with_unions {
            if let Err(error) = Structural::from_value(schema) {
                let path = versions.index(at).child("schema").child("openAPIV3Schema");
                errors.push(FieldError::invalid(path, "", error.to_string()));
            }
        }
    }

    if errors.is_empty()
        && let Err(error) = Types::from_custom_resource(&resource)
    {
        errors.push(FieldError::invalid(versions, "", error.to_string()));
    }
    errors
}

/// Whether a schema or a subschema declares a union.
fn declares(schema: &Value) -> bool {
    let mut found = false;
    each_schema(schema, |schema| found |= schema.contains(EXTENSION));
    found
}

fn error(fault: UnionFault, object: &Value) -> FieldError {
    let value = fault
        .path
        .iter()
        .try_fold(object, |value, element| match element {
            PathElement::Field(name) => value.get(name),
            PathElement::Index(at) => value.as_list()?.get(usize::try_from(*at).ok()?),
            _ => None,
        });

    FieldError::invalid(
        field_path(&fault.path),
        value.cloned().unwrap_or_default(),
        fault.message,
    )
}

/// The path of a fault in the notation of the API server.
fn field_path(path: &Path) -> FieldPath {
    path.iter()
        .fold(FieldPath::default(), |path, element| match element {
            PathElement::Field(name) => path.child(name.clone()),
            PathElement::Index(at) => path.index(usize::try_from(*at).unwrap_or_default()),
            other => path.key(other.to_string()),
        })
}
