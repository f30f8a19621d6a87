//! What plugins are made of.

use std::future::ready;

use fieldmanager_value::Value;

use crate::{
    Admission, AdmissionAnswer, AdmissionOperation, AdmissionPhase, AdmissionRequest, Admitted,
    Cluster,
};

/// One of the two steps of a plugin.
pub(super) type PluginStep =
    for<'a> fn(AdmissionRequest<'a>, &'a dyn Cluster) -> AdmissionAnswer<'a>;

/// What a plugin does.
pub(super) enum PluginSteps {
    Mutate(PluginStep),
    Validate(PluginStep),
    Both(PluginStep, PluginStep),
}

/// A plugin without a state.
pub(super) struct Plugin {
    pub(super) name: &'static str,
    pub(super) handles: fn(&AdmissionRequest<'_>) -> bool,
    pub(super) steps: PluginSteps,
}

impl Admission for Plugin {
    fn name(&self) -> &str {
        self.name
    }

    fn handles(&self, phase: AdmissionPhase, request: &AdmissionRequest<'_>) -> bool {
        let is_own = match self.steps {
            PluginSteps::Mutate(_) => phase == AdmissionPhase::Mutate,
            PluginSteps::Validate(_) => phase == AdmissionPhase::Validate,
            PluginSteps::Both(..) => true,
        };
        is_own && (self.handles)(request)
    }

    fn mutate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
    ) -> AdmissionAnswer<'a> {
        match self.steps {
            PluginSteps::Mutate(step) | PluginSteps::Both(step, _) => step(request, cluster),
            PluginSteps::Validate(_) => answer(None),
        }
    }

    fn validate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
    ) -> AdmissionAnswer<'a> {
        match self.steps {
            PluginSteps::Validate(step) | PluginSteps::Both(_, step) => step(request, cluster),
            PluginSteps::Mutate(_) => answer(None),
        }
    }
}

/// The answer with an object, should it be changed.
pub(super) fn answer(object: Option<Value>) -> AdmissionAnswer<'static> {
    let changed = object.map(Admitted::changed);
    Box::pin(ready(Ok(changed.unwrap_or_default())))
}

/// Whether a request makes an object.
pub(super) fn is_create(request: &AdmissionRequest<'_>) -> bool {
    request.operation == AdmissionOperation::Create
}

/// Whether a request makes or changes an object.
pub(super) fn is_write(request: &AdmissionRequest<'_>) -> bool {
    matches!(
        request.operation,
        AdmissionOperation::Create | AdmissionOperation::Update
    )
}
