//! What takes part in admission, and what it can ask.

use std::collections::BTreeSet;
use std::future::ready;
use std::sync::Arc;

use fieldmanager_access::{Attributes, Decision};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;
use futures::future::BoxFuture;

use crate::{AdmissionRequest, Denial, Observation};

/// What a participant makes of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Admitted {
    /// The changed object; `None` if it stays as it is.
    pub object: Option<Value>,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Annotations for the log: a key and a text. The first text of a key stays.
    pub annotations: Vec<(String, String)>,
    /// What was done, for people, such as `LimitRanger changed the object`.
    pub effects: Vec<String>,
    /// What the participant has to know if all of them are asked once more; `None` if it need not know anything.
    pub round: Option<Round>,
}

/// What webhooks and policies did in the first round of mutations, so that the second one asks only those that have to be
/// asked again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// Whether a webhook or a policy changed the object, so that all participants are asked once more.
    pub changed: bool,
    /// Who was asked since the last change and may be asked again.
    pub called: BTreeSet<String>,
    /// Who has to be asked again, since another one changed the object.
    pub due: BTreeSet<String>,
    /// The object at the end of the round.
    pub object: Option<Value>,
}

impl Round {
    /// The beginning of a round about an object. `first` is the end of the one before: if another participant changed the object
    /// since then, whoever may be asked again has to be.
    pub(crate) fn begin(first: Option<&Round>, object: Option<&Value>) -> Self {
        let mut round = first.cloned().unwrap_or_default();
        round.changed = false;
        if first.is_some() && round.object.as_ref() != object {
            round.require_called();
        }
        round
    }

    /// Whoever may be asked again has to be.
    pub fn require_called(&mut self) {
        self.due.append(&mut self.called);
    }
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
pub type AdmissionAnswer<'a> = BoxFuture<'a, Result<Admitted, Denial>>;

/// A group and a resource of it, such as `("apps", "deployments")`.
pub type ResourceName<'a> = (&'a str, &'a str);

/// A phase of admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionPhase {
    /// Objects are changed or refused, before they are validated.
    Mutate,
    /// Valid and complete objects are refused.
    Validate,
}

impl AdmissionPhase {
    /// The name in metrics: `admit` or `validate`.
    pub fn name(self) -> &'static str {
        match self {
            AdmissionPhase::Mutate => "admit",
            AdmissionPhase::Validate => "validate",
        }
    }
}

/// What takes part in admission: a plugin, the webhooks, or a closure.
pub trait Admission: Send + Sync {
    /// The name, such as `LimitRanger`.
    fn name(&self) -> &str;

    /// Whether it takes part in a phase for such requests. It is asked for every request, so the answer must be cheap.
    fn handles(&self, phase: AdmissionPhase, request: &AdmissionRequest<'_>) -> bool;

    /// Changes or refuses the object of a request, before it is validated.
    fn mutate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
    ) -> AdmissionAnswer<'a> {
        let _ = (request, cluster);
        Box::pin(ready(Ok(Admitted::default())))
    }

    /// Changes or refuses the object in one of two rounds, of which the second one follows if a webhook or a policy changed it
    /// in the first. `first` is what the participant answered then. Plugins do the same in both rounds.
    ///
    /// Behaviour: `reinvoker.Admit` of `k8s.io/apiserver/pkg/admission/reinvocation.go`.
    fn mutate_again<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
        first: Option<&'a Round>,
    ) -> AdmissionAnswer<'a> {
        let _ = first;
        self.mutate(request, cluster)
    }

    /// Refuses a request whose object is valid and complete. An object in the answer is ignored.
    fn validate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
    ) -> AdmissionAnswer<'a> {
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

    /// The labels of a namespace, null if it has none; `None` if it does not exist. Every request may ask for them, so they
    /// should cost less than the whole namespace, which the default reads.
    fn namespace_labels<'a>(
        &'a self,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, Denial>> {
        Box::pin(async move {
            let found = self.get(("", "namespaces"), "", name).await?;
            let labels = |found: &Value| found.metadata_field("labels").cloned();
            Ok(found.map(|found| labels(&found).unwrap_or_default()))
        })
    }

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

    /// The other resources that have the same objects as that of a request, with the same subresource. The default knows
    /// none, so that rules of webhooks match only the resource of the request.
    ///
    /// Behaviour: `EquivalentResourceMapper` of `k8s.io/apimachinery/pkg/runtime`.
    fn equivalents(&self, request: &AdmissionRequest<'_>) -> Vec<Equivalent> {
        let _ = request;
        Vec::new()
    }

    /// The resource of a kind, and whether its objects are in namespaces; `None` if no such kind is served, as the default
    /// says.
    fn resource_of(&self, kind: &GroupVersionKind) -> Option<(String, bool)> {
        let _ = kind;
        None
    }

    /// An object at the version of a kind. The default gives it as it is.
    fn convert<'a>(
        &'a self,
        object: Value,
        kind: &'a GroupVersionKind,
    ) -> BoxFuture<'a, Result<Value, Denial>> {
        let _ = kind;
        Box::pin(ready(Ok(object)))
    }

    /// An object with what the apply configuration of a policy sets, read as its kind, with defaults. The default refuses.
    ///
    /// # Errors
    ///
    /// The words of kube-apiserver, if the configuration does not fit the type of the kind, or sets a part that is atomic.
    fn merge(
        &self,
        kind: &GroupVersionKind,
        object: &Value,
        configuration: &Value,
    ) -> Result<Value, String> {
        let _ = (object, configuration);
        Err(format!("the type of {kind} is not known"))
    }

    /// An object that a JSON patch of a policy made, read as its kind without fields that the kind does not have, with
    /// defaults. The default gives what [`defaulted`](Self::defaulted) gives.
    fn decoded_strictly(
        &self,
        request: &AdmissionRequest<'_>,
        kind: &GroupVersionKind,
        object: Value,
    ) -> Result<Value, Denial> {
        self.defaulted(request, kind, object)
    }

    /// The object of a request that a webhook or a policy changed, read as its kind, with defaults. The default gives it as
    /// it is.
    fn defaulted(
        &self,
        request: &AdmissionRequest<'_>,
        kind: &GroupVersionKind,
        object: Value,
    ) -> Result<Value, Denial> {
        let _ = (request, kind);
        Ok(object)
    }

    /// Takes note of a measurement. The default does not.
    fn observe(&self, observation: &Observation<'_>) {
        let _ = observation;
    }
}

/// Another resource that has the same objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equivalent {
    /// The group; empty for the first one.
    pub group: String,
    /// The version.
    pub version: String,
    /// The resource, such as `deployments`.
    pub resource: String,
    /// The kind of its objects.
    pub kind: GroupVersionKind,
}

impl Equivalent {
    /// The group, the version and the name of the resource.
    pub(crate) fn names(&self) -> [&str; 3] {
        [&self.group, &self.version, &self.resource]
    }
}
