//! What takes part in admission, and what it can ask.

use std::future::ready;
use std::sync::Arc;

use fieldmanager_access::{Attributes, Decision};
use fieldmanager_value::Value;
use futures::future::BoxFuture;

use crate::{AdmissionRequest, Denial};

/// What a participant makes of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Admitted {
    /// The changed object; `None` if it stays as it is.
    pub object: Option<Value>,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Annotations for the log: a key and a text.
    pub annotations: Vec<(String, String)>,
}

impl Admitted {
    /// A changed object.
    pub fn changed(object: Value) -> Self {
        Admitted {
            object: Some(object),
            ..Admitted::default()
        }
    }
}

/// The answer of a participant, which may have to wait for it.
pub type Answer<'a> = BoxFuture<'a, Result<Admitted, Denial>>;

/// A group and a resource of it, such as `("apps", "deployments")`.
pub type ResourceName<'a> = (&'a str, &'a str);

/// What takes part in admission: a plugin, the webhooks, or a closure.
pub trait Admission: Send + Sync {
    /// The name, such as `LimitRanger`.
    fn name(&self) -> &str;

    /// Whether it looks at such requests. It is asked for every request, so the answer must be cheap.
    fn handles(&self, request: &AdmissionRequest<'_>) -> bool;

    /// Changes or refuses the object of a request, before it is validated.
    fn mutate<'a>(&'a self, request: AdmissionRequest<'a>, cluster: &'a dyn Cluster) -> Answer<'a> {
        let _ = (request, cluster);
        Box::pin(ready(Ok(Admitted::default())))
    }

    /// Refuses a request whose object is valid and complete. An object in the answer is ignored.
    fn validate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
    ) -> Answer<'a> {
        let _ = (request, cluster);
        Box::pin(ready(Ok(Admitted::default())))
    }
}

/// The other objects of the server, as participants see them.
pub trait Cluster: Send + Sync {
    /// A stored object at its preferred version; `None` if there is none. The namespace is empty for objects without one.
    fn get<'a>(
        &'a self,
        resource: ResourceName<'a>,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, Denial>>;

    /// All stored objects of a namespace, or of all namespaces if it is empty, in the order of namespaces and names. Small
    /// kinds that configure the server (quotas, limits, classes, webhooks) are known without a question to the store.
    fn list<'a>(
        &'a self,
        resource: ResourceName<'a>,
        namespace: &'a str,
    ) -> BoxFuture<'a, Result<Arc<Vec<Value>>, Denial>>;

    /// Replaces the status of a stored object whose `resourceVersion` is that of the object. `Ok(false)` if another write
    /// was first.
    fn update_status<'a>(
        &'a self,
        resource: ResourceName<'a>,
        object: Value,
    ) -> BoxFuture<'a, Result<bool, Denial>>;

    /// Whether a user may do something.
    fn authorize<'a>(&'a self, question: Attributes<'a>)
    -> BoxFuture<'a, Result<Decision, Denial>>;
}
