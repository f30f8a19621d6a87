//! The results of requests.

use fieldmanager_managedfields::Status;
use fieldmanager_merge::Conflicts;
use fieldmanager_value::Value;

use crate::metadata;

/// The effect of a request.
///
/// A request with `dryRun` has the same outcome; the server does not store it.
///
/// ```
/// use fieldmanager_handlers::{Request, Resource};
/// use fieldmanager_structural::GroupVersionKind;
///
/// let config_maps = Resource::builtin(&GroupVersionKind::from_api_version_kind("v1", "ConfigMap"))?;
/// let request = Request::new("2026-01-31T12:00:00Z".parse()?).namespace("shop");
/// let body = br#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}"#;
/// let outcome = config_maps.create(&request, None, body)?.at_resource_version("7");
/// let version = |object: &fieldmanager_value::Value| object.get("metadata")?.get("resourceVersion").cloned();
/// assert_eq!(version(&outcome.object), Some("7".into()));
/// assert_eq!(version(outcome.answer()), Some("7".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The object to store. Its `resourceVersion` is that of the live object, or absent if the object is new: the server
    /// sets it with [`at_resource_version`](Outcome::at_resource_version).
    pub object: Value,
    /// The answer if it is not the object: the `Scale` of a request for `scale`.
    pub(crate) scale: Option<Value>,
    pub(crate) stored_status: Option<Value>,
    /// What the store gets of a custom resource.
    pub(crate) stored: Option<Value>,
    /// What admission validates of it: with the fields that a webhook added and the store does not keep.
    pub(crate) complete: Option<Value>,
    /// The texts of the `Warning` headers.
    pub warnings: Vec<String>,
    /// The effect on the storage.
    pub action: Action,
}

/// The effect of an [`Outcome`] on the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The object is new: the server stores it, and answers 201.
    Create,
    /// The server stores the object, and answers 200.
    Update,
    /// The object equals the live one: the server stores nothing, and answers 200 with the live `resourceVersion`.
    Nothing,
    /// The last finalizer of a terminating object is gone: the server removes the object, and answers 200 with it.
    Delete,
}

impl Outcome {
    /// The outcome at the version that the storage gives the object: the object to store and the answer have it.
    #[must_use]
    pub fn at_resource_version(mut self, version: &str) -> Self {
        let version = Value::from(version);
        for object in std::iter::once(&mut self.object).chain(&mut self.scale) {
            *object = metadata::with(object, vec![("resourceVersion", Some(version.clone()))]);
        }
        self
    }

    /// The body of the answer: the object, or the `Scale` of a request for `scale`.
    pub fn answer(&self) -> &Value {
        self.scale.as_ref().unwrap_or(&self.object)
    }

    /// What is asked of admission before the object is stored: the answer, with the fields of a custom resource that its
    /// version does not declare.
    pub fn validated(&self) -> &Value {
        let object = self.complete.as_ref().unwrap_or(&self.object);
        self.scale.as_ref().unwrap_or(object)
    }

    /// The object to store in place of [`object`](Outcome::object), which shows defaults that the request does not store: a
    /// custom resource at the storage version, without a `resourceVersion`.
    pub fn stored(&self) -> Option<&Value> {
        self.stored.as_ref()
    }

    /// The status to store if the object is stored at another version, after a request to `status` whose status is more than
    /// what [`object`](Outcome::object) has at the version of the request: the `v1` of a HorizontalPodAutoscaler has no
    /// metric without a value.
    pub fn stored_status(&self) -> Option<&Value> {
        self.stored_status.as_ref()
    }

    /// The status code of the answer: 201 if an object was created, otherwise 200.
    pub fn code(&self) -> u16 {
        if self.action == Action::Create {
            201
        } else {
            200
        }
    }
}

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The answer.
    pub status: Box<Status>,
    /// The texts of the `Warning` headers: those of the steps before the one that failed.
    pub warnings: Vec<String>,
    /// The fields of other managers that an apply would change, with their values, if that is why it is refused.
    pub conflicts: Option<Conflicts>,
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Refused {
            status: Box::new(status),
            warnings: Vec::new(),
            conflicts: None,
        }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.status.message)
    }
}

impl std::error::Error for Refused {}
