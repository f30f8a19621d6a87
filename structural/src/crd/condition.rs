//! The condition that the API server sets on a definition whose schemas are not structural.

use std::collections::BTreeSet;

use super::CustomResource;
use crate::Structural;
use crate::{FieldError, FieldPath};

/// The condition `NonStructuralSchema` of a custom resource definition.
///
/// ```
/// use fieldmanager_structural::crd::CustomResource;
/// use fieldmanager_structural::internal::{ConditionStatus, structural_condition};
/// use fieldmanager_value::Value;
/// let shop = CustomResource::from_value(&Value::from_yaml("
/// apiVersion: apiextensions.k8s.io/v1
/// kind: CustomResourceDefinition
/// spec:
///   group: example.com
///   names: {kind: Shop, plural: shops}
///   scope: Cluster
///   versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {properties: {}}}}]
/// ")?)?;
/// let condition = structural_condition(&shop).ok_or("there is one")?;
/// assert_eq!((condition.status, condition.reason), (ConditionStatus::True, "Violations"));
/// assert_eq!(
///     condition.message,
///     "spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Condition {
    /// Whether there are violations; unknown if the schema cannot be read.
    pub status: ConditionStatus,
    /// `Violations`, or `StructuralError` if the status is unknown.
    pub reason: &'static str,
    /// All violations.
    pub message: String,
}

/// The status of a [`Condition`].
///
/// ```
/// use fieldmanager_structural::internal::ConditionStatus;
/// assert_eq!(ConditionStatus::Unknown.as_str(), "Unknown");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConditionStatus {
    /// There are violations.
    True,
    /// A schema cannot be read as a structural schema.
    Unknown,
}

impl ConditionStatus {
    /// The string in the serialized condition.
    pub fn as_str(self) -> &'static str {
        match self {
            ConditionStatus::True => "True",
            ConditionStatus::Unknown => "Unknown",
        }
    }
}

impl CustomResource {}

/// The condition `NonStructuralSchema`; `None` if all schemas are structural. The check stops at the first version
/// whose schema cannot be read as a structural one.
///
/// Behaviour: `calculateCondition` of `k8s.io/apiextensions-apiserver/pkg/controller/nonstructuralschema`.
///
/// ```
/// # use fieldmanager_structural::internal::structural_condition;
/// # use fieldmanager_structural::crd::CustomResource;
/// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
/// assert_eq!(structural_condition(&shop), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn structural_condition(resource: &CustomResource) -> Option<Condition> {
    // The flag is one of the violations, although it is not a part of a schema.
    let mut errors = Vec::new();
    if resource.preserve_unknown_fields {
        let path = FieldPath::root("spec").child("preserveUnknownFields");
        errors.push(FieldError::invalid(path, true, "must be false"));
    }

    for (at, version) in resource.versions.iter().enumerate() {
        let Some(schema) = &version.schema else {
            continue;
        };
        // A schema that cannot be read says nothing about the rules, so the condition is unknown and its errors are
        // not listed.
        match Structural::from_value(schema) {
            Ok(structural) => errors.extend(structural.validate(&schema_path(at))),
            Err(error) => {
                return Some(Condition {
                    status: ConditionStatus::Unknown,
                    reason: "StructuralError",
                    message: format!(
                        "failed to check validation schema for version {}: {error}",
                        version.name
                    ),
                });
            }
        }
    }

    if errors.is_empty() {
        return None;
    }
    Some(Condition {
        status: ConditionStatus::True,
        reason: "Violations",
        message: aggregate(&errors),
    })
}

/// The path of a version's schema in the document.
pub(super) fn schema_path(version: usize) -> FieldPath {
    FieldPath::root("spec")
        .child("versions")
        .index(version)
        .child("schema")
        .child("openAPIV3Schema")
}

/// Joins several distinct messages, with brackets if there is more than one: `[a, b]`.
fn aggregate(errors: &[FieldError]) -> String {
    let mut seen = BTreeSet::new();
    let messages: Vec<String> = errors
        .iter()
        .map(ToString::to_string)
        .filter(|message| seen.insert(message.clone()))
        .collect();
    match messages.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}
