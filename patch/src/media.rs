//! The types of patches.

use crate::{Error, Fault};

/// The types of patches that an API server accepts.
///
/// ```
/// use fieldmanager_patch::PatchType;
/// let accepted = [PatchType::Json, PatchType::Merge];
/// assert_eq!(PatchType::from_content_type("application/merge-patch+json; charset=utf-8", &accepted)?, PatchType::Merge);
/// let error = PatchType::from_content_type("application/strategic-merge-patch+json", &accepted).unwrap_err();
/// assert_eq!(error.response().code, 415);
/// # Ok::<(), fieldmanager_patch::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatchType {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// A patch by the merge strategies of the type. Custom resources have no strategies.
    Strategic,
    /// Server-side apply.
    Apply,
}

impl PatchType {
    /// The content type of its requests.
    ///
    /// ```
    /// use fieldmanager_patch::PatchType;
    /// assert_eq!(PatchType::Json.content_type(), "application/json-patch+json");
    /// ```
    pub fn content_type(self) -> &'static str {
        match self {
            PatchType::Json => "application/json-patch+json",
            PatchType::Merge => "application/merge-patch+json",
            PatchType::Strategic => "application/strategic-merge-patch+json",
            PatchType::Apply => "application/apply-patch+yaml",
        }
    }

    /// The type of a patch by the content type of the request, whose parameters are ignored.
    ///
    /// # Errors
    ///
    /// [`Fault::MediaType`], 415, if the type is not accepted.
    ///
    /// Behaviour: `PatchResource` in `endpoints/handlers/patch.go` of `k8s.io/apiserver`.
    pub fn from_content_type(content_type: &str, accepted: &[PatchType]) -> Result<Self, Error> {
        let bare = content_type.split(';').next().unwrap_or_default();
        accepted
            .iter()
            .copied()
            .find(|patch| patch.content_type() == bare)
            .ok_or_else(|| {
                Fault::MediaType {
                    accepted: accepted.iter().map(|patch| patch.content_type()).collect(),
                }
                .into()
            })
    }
}
