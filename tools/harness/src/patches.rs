//! Patches in scenarios.

use fieldmanager_patch::{
    Error, PatchSchema, PatchType, PatchTypes, json_merge, json_patch, strategic,
};
use fieldmanager_value::Value;

use crate::outcome::{ErrorKind, Refusal, StepError};

const NO_STRATEGIES: &str = "the schema has no strategies for a strategic merge patch: expected an OpenAPI document \
    or `builtin:kubernetes` as `schema`, or `type: merge`";

/// Applies a patch to the live object.
pub(crate) fn patched(
    live: &Value,
    patch: &Value,
    how: PatchType,
    types: Option<&PatchTypes>,
    type_name: &str,
) -> Result<Value, Refusal> {
    if live.is_null() {
        return Err(Refusal::other("there is no live object to patch".into()));
    }
    Ok(match how {
        PatchType::Json => json_patch::apply(live, patch)?,
        PatchType::Merge | PatchType::Apply => json_merge::apply_to_object(live, patch)?,
        PatchType::Strategic => {
            let types = types.ok_or_else(|| Refusal::unsupported(NO_STRATEGIES))?;
            // The table omits types without strategies.
            let schema = types.named(type_name).unwrap_or(PatchSchema::free());
            strategic::apply(live, patch, schema)?
        }
    })
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let kind = if error.response().code == 500 {
            ErrorKind::Schema
        } else {
            ErrorKind::Other
        };
        Refusal::Error(StepError {
            kind,
            message: error.to_string(),
        })
    }
}
