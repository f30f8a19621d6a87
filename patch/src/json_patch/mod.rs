//! JSON patch, RFC 6902.
//!
//! It follows `gopkg.in/evanphx/json-patch.v4`, which an API server uses, where that is laxer or stricter than the RFC:
//! `replace` sets a missing member, `test` and `copy` treat a missing member as null, a negative index counts from the
//! end, and the whole document can be replaced and tested, but not added, removed, moved or copied.

mod create;
pub(crate) mod document;
mod fault;
mod node;
mod operation;
mod pointer;

use fieldmanager_value::Value;

use crate::Error;
use document::{PatchNulls, apply_with};

pub use create::create;
pub use document::{MAX_COPY_BYTES, MAX_OPERATIONS};
pub use fault::OperationFault;

/// Applies a patch to a document. The result shares unchanged parts with it.
///
/// # Errors
///
/// [`Fault::Operations`], 400, if the patch is not a list of operations; [`Fault::TooManyOperations`], 413;
/// [`Fault::Operation`], 422, with the first operation that does not apply.
///
/// [`Fault::Operations`]: crate::Fault::Operations
/// [`Fault::TooManyOperations`]: crate::Fault::TooManyOperations
/// [`Fault::Operation`]: crate::Fault::Operation
///
/// Behaviour: `applyJSPatch` in `endpoints/handlers/patch.go` of `k8s.io/apiserver`.
///
/// ```
/// use fieldmanager_patch::json_patch;
/// use fieldmanager_value::Value;
/// let live = Value::from_json(r#"{"spec": {"replicas": 1}, "status": {}}"#)?;
/// let patch = Value::from_json(r#"[
///     {"op": "test", "path": "/spec/replicas", "value": 1},
///     {"op": "replace", "path": "/spec/replicas", "value": 2}
/// ]"#)?;
/// let new = json_patch::apply(&live, &patch)?;
/// assert_eq!(new.to_json(), r#"{"spec":{"replicas":2},"status":{}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn apply(original: &Value, patch: &Value) -> Result<Value, Error> {
    apply_with(original, patch, PatchNulls::Absent)
}
