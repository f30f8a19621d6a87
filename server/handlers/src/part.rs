//! The parts of a resource: the object and its subresources, each with its kind and field manager.

use std::sync::Arc;

use fieldmanager_managedfields::FieldManager;
use fieldmanager_managedfields::internal::with_unions;
use fieldmanager_patch::{PatchSchema, PatchType};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Str;

use crate::kind::{Kind, Policy};
use crate::request::Subresource;
use crate::scale::ScaleFields;

/// A kind with its field manager.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) gvk: GroupVersionKind,
    pub(crate) kind: Arc<dyn Kind>,
    pub(crate) policy: Policy,
    pub(crate) manager: FieldManager,
    /// The merge strategies of a built-in kind.
    pub(crate) patches: Option<PatchSchema<'static>>,
}

#[derive(Clone)]
pub(crate) struct Inner {
    pub(crate) plural: Str,
    pub(crate) namespaced: bool,
    pub(crate) object: Part,
    pub(crate) status: Option<Part>,
    pub(crate) ephemeral: Option<Part>,
    pub(crate) resize: Option<Part>,
    pub(crate) approval: Option<Part>,
    pub(crate) finalize: Option<Part>,
    pub(crate) scale: Option<(Part, ScaleFields)>,
    pub(crate) patch_types: &'static [PatchType],
}

impl Inner {
    /// The resource whose field managers normalize unions or do not.
    pub(crate) fn with_unions(&self, on: bool) -> Self {
        let part = |part: &Part| Part {
            manager: with_unions(&part.manager, on),
            ..part.clone()
        };
        let scale = self
            .scale
            .as_ref()
            .map(|(scale, fields)| (part(scale), fields.clone()));

        Inner {
            object: part(&self.object),
            status: self.status.as_ref().map(part),
            ephemeral: self.ephemeral.as_ref().map(part),
            resize: self.resize.as_ref().map(part),
            approval: self.approval.as_ref().map(part),
            finalize: self.finalize.as_ref().map(part),
            scale,
            ..self.clone()
        }
    }

    /// The part of the object that a request is for.
    pub(crate) fn part(&self, subresource: Subresource) -> Option<&Part> {
        match subresource {
            Subresource::Object => Some(&self.object),
            Subresource::Status => self.status.as_ref(),
            Subresource::Scale => self.scale.as_ref().map(|(part, _)| part),
            Subresource::EphemeralContainers => self.ephemeral.as_ref(),
            Subresource::Resize => self.resize.as_ref(),
            Subresource::Approval => self.approval.as_ref(),
            Subresource::Finalize => self.finalize.as_ref(),
        }
    }
}

/// The choices of an embedder.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// Whether the answers of kube-apiserver are preferred where they are worse.
    pub(crate) server_answers: bool,
    /// Whether unions have no effect.
    pub(crate) ignores_unions: bool,
    /// Whether objects are not validated.
    pub(crate) skips_validation: bool,
}
