//! What plugins are made of.

use std::future::ready;

use fieldmanager_value::Value;

use crate::{Admission, AdmissionRequest, Admitted, Answer, Cluster, Operation};

/// One of the two steps of a plugin.
pub(super) type Step = for<'a> fn(AdmissionRequest<'a>, &'a dyn Cluster) -> Answer<'a>;

/// What a plugin does.
pub(super) enum Steps {
    Mutate(Step),
    Validate(Step),
    Both(Step, Step),
}

/// A plugin without a state.
pub(super) struct Plugin {
    pub(super) name: &'static str,
    pub(super) handles: fn(&AdmissionRequest<'_>) -> bool,
    pub(super) steps: Steps,
}

impl Admission for Plugin {
    fn name(&self) -> &str {
        self.name
    }

    fn handles(&self, request: &AdmissionRequest<'_>) -> bool {
        (self.handles)(request)
    }

    fn mutate<'a>(&'a self, request: AdmissionRequest<'a>, cluster: &'a dyn Cluster) -> Answer<'a> {
        match self.steps {
            Steps::Mutate(step) | Steps::Both(step, _) => step(request, cluster),
            Steps::Validate(_) => answer(None),
        }
    }

    fn validate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
    ) -> Answer<'a> {
        match self.steps {
            Steps::Validate(step) | Steps::Both(_, step) => step(request, cluster),
            Steps::Mutate(_) => answer(None),
        }
    }
}

/// The answer with an object, should it be changed.
pub(super) fn answer(object: Option<Value>) -> Answer<'static> {
    let changed = object.map(Admitted::changed);
    Box::pin(ready(Ok(changed.unwrap_or_default())))
}

/// Whether a request makes an object.
pub(super) fn is_create(request: &AdmissionRequest<'_>) -> bool {
    request.operation == Operation::Create
}

/// Whether a request makes or changes an object.
pub(super) fn is_write(request: &AdmissionRequest<'_>) -> bool {
    matches!(request.operation, Operation::Create | Operation::Update)
}
