//! Fields that a patch must not change.

use fieldmanager_value::Value;

use crate::error::Under;
use crate::{Error, Fault};

/// A field that a patch must not change.
///
/// ```
/// use fieldmanager_patch::internal::Precondition;
/// assert_ne!(Precondition::Key("name"), Precondition::MetadataKey("name"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precondition<'p> {
    /// A field of the object.
    Key(&'p str),
    /// A field of its `metadata`.
    MetadataKey(&'p str),
}

/// Checks that a strategic merge patch or a JSON merge patch does not change some fields.
///
/// # Errors
///
/// [`Fault::Precondition`], with the path of the first such field that the patch changes.
///
/// Behaviour: `RequireKeyUnchanged` and `RequireMetadataKeyUnchanged` of `k8s.io/apimachinery/pkg/util/mergepatch`.
///
/// ```
/// use fieldmanager_patch::internal::{Precondition, check_preconditions};
/// use fieldmanager_value::Value;
/// let patch = Value::from_yaml("{kind: Pod, metadata: {labels: {a: b}}}")?;
/// assert!(check_preconditions(&patch, &[Precondition::MetadataKey("name")]).is_ok());
/// let error = check_preconditions(&patch, &[Precondition::Key("kind")]).unwrap_err();
/// assert_eq!(error.path().to_string(), ".kind");
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn check_preconditions(patch: &Value, preconditions: &[Precondition<'_>]) -> Result<(), Error> {
    for precondition in preconditions {
        match precondition {
            Precondition::Key(name) if patch.get(name).is_some() => {
                return Err(Fault::Precondition).under_field(name);
            }
            Precondition::MetadataKey(name)
                if patch
                    .get("metadata")
                    .is_some_and(|all| all.get(name).is_some()) =>
            {
                return Err(Fault::Precondition)
                    .under_field(name)
                    .under_field("metadata");
            }
            _ => {}
        }
    }

    Ok(())
}
