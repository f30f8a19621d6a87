//! What an expression of a policy makes of an object.

use fieldmanager_cel::{ExpressionType, ExpressionValue};
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::Value;

use crate::patch::apply_if_tests_hold;

/// The form of a mutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutationKind {
    /// A configuration that is merged.
    Configuration,
    /// The operations of a JSON patch.
    Patch,
}

impl MutationKind {
    /// The form of a mutation of a policy, and the field that has its expression.
    pub(crate) fn of(mutation: &Value) -> Option<(Self, &'static str)> {
        match mutation.string("patchType") {
            "ApplyConfiguration" => Some((MutationKind::Configuration, "applyConfiguration")),
            "JSONPatch" => Some((MutationKind::Patch, "jsonPatch")),
            _ => None,
        }
    }

    /// The type of its expression.
    pub fn expected(self) -> ExpressionType {
        match self {
            MutationKind::Configuration => ExpressionType::Configuration,
            MutationKind::Patch => ExpressionType::Patches,
        }
    }

    /// The object after a mutation whose expression has a value. A JSON patch whose test fails leaves it as it is. `merge`
    /// merges a configuration into the object.
    ///
    /// # Errors
    ///
    /// The words of kube-apiserver.
    ///
    /// Behaviour: `Patch` of both patchers of `k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch`.
    pub fn apply(
        self,
        value: &ExpressionValue<'_>,
        object: &Value,
        merge: &dyn Fn(&Value) -> Result<Value, String>,
    ) -> Result<Value, String> {
        match self {
            MutationKind::Configuration => merge(&value.configuration()?),
            MutationKind::Patch => {
                let patched = apply_if_tests_hold(object, &value.operations()?);
                let patched = patched.map_err(|error| format!("JSON Patch: {error}"))?;
                Ok(patched.unwrap_or_else(|| object.clone()))
            }
        }
    }
}
