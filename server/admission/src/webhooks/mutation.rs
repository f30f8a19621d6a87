//! What webhooks make of an object, one after the other.

use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use super::configuration::Webhook;
use super::refusal::{CallRefusal, by, failed_call, internal, observe};
use super::review::{Response, map};
use crate::meter::Meter;
use crate::patch;
use crate::versioned::Versioned;
use crate::{AdmissionRequest, Admitted, Cluster, Denial, Round};

/// What webhooks made of a request so far.
pub(super) struct Mutation<'a> {
    request: AdmissionRequest<'a>,
    pub(super) objects: Versioned,
    pub(super) is_dirty: bool,
    is_second: bool,
    pub(super) round: Round,
    /// The warnings and annotations.
    pub(super) admitted: Admitted,
}

impl<'a> Mutation<'a> {
    pub(super) fn new(request: AdmissionRequest<'a>, first: Option<&Round>) -> Self {
        Mutation {
            request,
            objects: Versioned::of(&request),
            is_dirty: false,
            is_second: first.is_some(),
            round: Round::begin(first, request.object),
            admitted: Admitted::default(),
        }
    }

    /// A refusal with the warnings and annotations until now.
    pub(super) fn refuse(&mut self, denial: Denial) -> Denial {
        let admitted = std::mem::take(&mut self.admitted);
        Denial {
            warnings: admitted.warnings,
            annotations: admitted.annotations,
            ..denial
        }
    }

    /// Adds the answer of a webhook, whose call was measured until here.
    pub(super) fn add(
        &mut self,
        webhook: &Webhook,
        index: usize,
        answer: Result<Response, CallRefusal>,
        (cluster, meter): (&dyn Cluster, &Meter<'_>),
    ) -> Result<(), Denial> {
        let round = format!("round_{}_index_{index}", i32::from(self.is_second));
        let changed = answer.and_then(|response| self.change(webhook, &round, response, cluster));
        observe(webhook, meter, changed.as_ref().map(|_| None));
        let is_changed = matches!(changed, Ok(true));
        let note = [
            ("configuration", webhook.configuration.as_str().into()),
            ("webhook", webhook.name.as_str().into()),
            ("mutated", is_changed.into()),
        ];
        self.annotate(
            format!("mutation.webhook.admission.k8s.io/{round}"),
            &map(note),
        );
        if is_changed {
            // Those before saw another object than the one that is stored.
            self.round.require_called();
            self.round.changed = true;
            let effect = format!("{} changed the object", webhook.name);
            self.admitted.effects.push(effect);
        }
        if webhook.is_reinvocable {
            self.round.called.insert(webhook.id.clone());
        }

        match changed {
            Ok(_) => Ok(()),
            Err(CallRefusal::Call(..)) if webhook.ignores_failures => {
                let key = format!("failed-open.mutation.webhook.admission.k8s.io/{round}");
                self.admitted.annotations.push((key, webhook.name.clone()));
                Ok(())
            }
            Err(CallRefusal::Call(_, reason)) => Err(self.refuse(failed_call(webhook, &reason))),
            Err(CallRefusal::Denied(denial) | CallRefusal::Fault(denial)) => {
                Err(self.refuse(by(webhook, denial)))
            }
        }
    }

    /// Changes the object as a webhook wants. Gives whether that made a difference.
    ///
    /// Behaviour: `callAttrMutatingHook` of `k8s.io/apiserver/pkg/admission/plugin/webhook/mutating`.
    fn change(
        &mut self,
        webhook: &Webhook,
        round: &str,
        response: Response,
        cluster: &dyn Cluster,
    ) -> Result<bool, CallRefusal> {
        self.admitted.warnings.extend(response.warnings);
        self.admitted.annotations.extend(response.annotations);
        if let Some(denial) = response.denial {
            return Err(CallRefusal::Denied(denial));
        }
        // Allowed without a patch: there is nothing to change.
        if response.patch.is_empty() {
            return Ok(false);
        }
        let patch = patch::read_patch(&response.patch).map_err(|error| {
            let text = format!("received undecodable patch in webhook response: {error}");
            CallRefusal::Call(503, text)
        })?;
        if patch
            .as_list()
            .is_none_or(|operations| operations.is_empty())
        {
            return Ok(false);
        }
        // A deletion has no new object that could be patched.
        let Some(object) = &self.objects.object else {
            let name = quote(&webhook.name);
            let text = format!(
                "admission webhook {name} attempted to modify the object, which is not supported for this operation"
            );
            return Err(CallRefusal::Fault(internal(&text)));
        };
        if response.patch_type != "JSONPatch" {
            let found = quote(&response.patch_type);
            let text = format!("unsupported patch type {found}");
            return Err(CallRefusal::Call(400, text));
        }

        let patched = patch::apply(object, &patch);
        let patched = patched.map_err(|error| CallRefusal::Fault(internal(&error)))?;
        let is_patched = patched != *object;
        // A patch may add parts whose fields have defaults, and the next webhook expects complete
        // objects.
        let defaulted = cluster.defaulted(&self.request, &self.objects.kind, patched);
        let defaulted = defaulted.map_err(CallRefusal::Fault)?;
        // What is added and ends when the object is read is no change; what is removed may come back as a default.
        let mut operations = patch.as_list().into_iter().flatten();
        let removes = operations.any(|one| matches!(one.string("op"), "remove" | "move"));
        let is_changed = is_patched && (removes || defaulted != *object);
        self.objects.object = Some(defaulted);
        self.is_dirty = true;

        let note = [
            ("configuration", webhook.configuration.as_str().into()),
            ("webhook", webhook.name.as_str().into()),
            ("patch", patch),
            ("patchType", "JSONPatch".into()),
        ];
        self.annotate(
            format!("patch.webhook.admission.k8s.io/{round}"),
            &map(note),
        );
        Ok(is_changed)
    }

    fn annotate(&mut self, key: String, note: &Value) {
        self.admitted.annotations.push((key, note.to_json()));
    }
}
