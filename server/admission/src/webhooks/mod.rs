//! Webhooks that change or refuse requests: `MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook`.

mod caller;
mod configuration;
mod decode;
#[cfg(feature = "net")]
mod net;
mod review;

use std::sync::{Arc, Mutex, PoisonError};

use fieldmanager_cel::Environment;
use fieldmanager_managedfields::{Cause, Details, Status};
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;
use futures::future::join_all;

use crate::expressions::{AUTHORIZER, Decisions, Inputs, all_hold, decide, environment};
use crate::patch;
use crate::versioned::Versioned;
use crate::{
    Admission, AdmissionAnswer, AdmissionRequest, Admitted, Cluster, Denial, Equivalent, Round,
};
pub use caller::{CallError, Caller, ClientConfig, WebhookAddress};
use configuration::{Webhook, read_all};
pub(crate) use decode::decode;
#[cfg(feature = "net")]
pub use net::{Authorities, HttpCaller, MAX_ANSWER_BYTES, MAX_CLIENTS, MAX_IDLE, Resolver};
pub(crate) use review::map;
use review::{Response, read_answer, write_review};

/// Where the uids of reviews are from.
pub type Uids = Arc<dyn Fn() -> String + Send + Sync>;

/// The webhooks of all configurations of a kind. There is no limit to their number.
///
/// Objects of `admissionregistration.k8s.io` and reviews of access are not sent to webhooks.
pub struct Webhooks {
    is_mutating: bool,
    caller: Arc<dyn Caller>,
    uids: Uids,
    environment: Environment,
    parsed: Mutex<Option<Parsed>>,
}

/// Configurations, and the webhooks that were read from them.
type Parsed = (Arc<Vec<Value>>, Arc<Vec<Webhook>>);

/// Why a webhook did not allow a request.
enum CallRefusal {
    /// The call failed, which does not matter to some webhooks. The text is the reason.
    Call(String),
    /// The request is refused.
    Denied(Denial),
}

impl Webhooks {
    /// Those of `MutatingWebhookConfiguration`, one after the other.
    pub fn mutating(caller: Arc<dyn Caller>, uids: Uids) -> Self {
        Webhooks {
            is_mutating: true,
            caller,
            uids,
            environment: environment(&[AUTHORIZER]),
            parsed: Mutex::default(),
        }
    }

    /// Those of `ValidatingWebhookConfiguration`, all at the same time.
    pub fn validating(caller: Arc<dyn Caller>, uids: Uids) -> Self {
        Webhooks {
            is_mutating: false,
            ..Self::mutating(caller, uids)
        }
    }

    /// The webhooks that there are now. They are read again only if the list is another one.
    async fn webhooks(&self, cluster: &dyn Cluster) -> Result<Arc<Vec<Webhook>>, Denial> {
        let resource = if self.is_mutating {
            "mutatingwebhookconfigurations"
        } else {
            "validatingwebhookconfigurations"
        };
        let list = cluster
            .list(("admissionregistration.k8s.io", resource), "")
            .await?;
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, webhooks)) = &*parsed
            // The cluster gives the same list as long as no configuration was written.
            && Arc::ptr_eq(known, &list)
        {
            return Ok(webhooks.clone());
        }
        let webhooks = Arc::new(read_all(&list, &self.environment));
        *parsed = Some((list, webhooks.clone()));
        Ok(webhooks)
    }

    /// Whether the conditions of a webhook hold.
    async fn hold(
        &self,
        webhook: &Webhook,
        request: AdmissionRequest<'_>,
        objects: &Versioned,
        cluster: &dyn Cluster,
    ) -> Result<bool, Denial> {
        if webhook.conditions.is_empty() {
            return Ok(true);
        }
        // The conditions see the kind of the objects, but the resource of the request.
        let own = [request.group, request.version, request.resource];
        let described = Value::Map(request.describe(&objects.kind, own));
        let inputs = Inputs {
            object: objects.object.as_ref(),
            old: objects.old.as_ref(),
            request: described,
            resource: request.access_question(),
            ..Inputs::default()
        };
        let hold = |authorizer: &Decisions| {
            let conditions = &webhook.conditions;
            all_hold(&self.environment, conditions, &inputs, authorizer)
        };
        match decide(request.user, cluster, hold).await? {
            Ok(hold) => Ok(hold),
            // As if the webhook had not been there, which is what `Ignore` asks for.
            Err(_) if webhook.ignores_failures => Ok(false),
            Err(error) => Err(request.forbidden(&error)),
        }
    }

    /// As what a webhook sees a request, with its objects at the version that it wants; `None` if it does not see it.
    async fn prepare(
        &self,
        webhook: &Webhook,
        request: AdmissionRequest<'_>,
        (now, is_changed): (&Versioned, bool),
        cluster: &dyn Cluster,
    ) -> Result<Option<(Equivalent, Versioned)>, Denial> {
        let object = now.object.as_ref();
        let seen = AdmissionRequest { object, ..request };
        let Some(selected) = webhook.constraints.select(&seen, cluster).await? else {
            return Ok(None);
        };
        let objects = now.convert(&request, &selected.kind, is_changed, cluster);
        let objects = objects.await?;
        let holds = self.hold(webhook, request, &objects, cluster).await?;
        Ok(holds.then_some((selected, objects)))
    }

    /// Calls a webhook, which sees these objects of a request.
    ///
    /// Behaviour: `validatingDispatcher.callHook` of `k8s.io/apiserver/pkg/admission/plugin/webhook/validating`.
    async fn call(
        &self,
        webhook: &Webhook,
        request: AdmissionRequest<'_>,
        (selected, objects): (&Equivalent, &Versioned),
    ) -> Result<Response, CallRefusal> {
        // The review names the kind of the request besides.
        let kind = request.kind;
        let request = &AdmissionRequest {
            kind,
            ..objects.request(request)
        };
        match webhook.supports_dry_run {
            // Without a statement a webhook may store something elsewhere, which a dry run must
            // not.
            None if request.dry_run => {
                return Err(CallRefusal::Call("Webhook SideEffects is nil".to_owned()));
            }
            Some(false) if request.dry_run => {
                let name = quote(&webhook.name);
                let text = format!("admission webhook {name} does not support dry run");
                return Err(CallRefusal::Denied(Status::bad_request(text).into()));
            }
            _ => {}
        }
        if webhook.review_version.is_empty() {
            let text = "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)";
            return Err(CallRefusal::Call(text.to_owned()));
        }

        let uid = (self.uids)();
        let body = write_review(webhook, &uid, request, selected);
        let client = webhook
            .client
            .as_ref()
            .map_err(|error| CallRefusal::Call(format!("could not get REST client: {error}")))?;
        let answer = self.caller.call(client, body, webhook.timeout).await;
        let answer = answer.map_err(|error| {
            let what = match error {
                CallError::Unusable(_) => "could not get REST client",
                _ => "failed to call webhook",
            };
            CallRefusal::Call(format!("{what}: {}", error.message()))
        })?;
        read_answer(&answer, webhook, &uid, self.is_mutating).map_err(CallRefusal::Call)
    }

    /// Lets webhooks change an object. `first` is what they did in the first round.
    ///
    /// Behaviour: `mutatingDispatcher.Dispatch` of `k8s.io/apiserver/pkg/admission/plugin/webhook/mutating`.
    async fn dispatch(
        &self,
        request: AdmissionRequest<'_>,
        cluster: &dyn Cluster,
        first: Option<&Round>,
    ) -> Result<Admitted, Denial> {
        let webhooks = self.webhooks(cluster).await?;
        let mut run = Mutation::new(&request, first);
        for (index, webhook) in webhooks.iter().enumerate() {
            let now = (&run.objects, run.is_dirty);
            let prepared = self.prepare(webhook, request, now, cluster).await;
            let Some((selected, objects)) = prepared.map_err(|denial| run.refuse(denial))? else {
                continue;
            };
            if first.is_none() || run.round.due.contains(&webhook.id) {
                let answer = self.call(webhook, request, (&selected, &objects)).await;
                run.objects = objects;
                run.add(webhook, index, answer, cluster)?;
            }
        }

        if run.is_dirty {
            let objects = run.objects.convert(&request, request.kind, true, cluster);
            run.admitted.object = objects.await?.object;
        }
        let last = run.admitted.object.as_ref().or(request.object);
        run.round.object = last.cloned();
        run.admitted.round = Some(run.round);
        Ok(run.admitted)
    }

    /// Asks webhooks whether a request may proceed.
    ///
    /// Behaviour: `validatingDispatcher.Dispatch` of `k8s.io/apiserver/pkg/admission/plugin/webhook/validating`.
    async fn ask(
        &self,
        request: AdmissionRequest<'_>,
        cluster: &dyn Cluster,
    ) -> Result<Admitted, Denial> {
        let webhooks = self.webhooks(cluster).await?;
        let own = Versioned::of(&request);
        let mut calls = Vec::new();
        for webhook in webhooks.iter() {
            // All are selected before one is called, so that a fault costs no call.
            let prepared = self
                .prepare(webhook, request, (&own, false), cluster)
                .await?;
            calls.extend(prepared.map(|(selected, objects)| (webhook, selected, objects)));
        }
        let answers = calls
            .iter()
            .map(|(webhook, selected, objects)| self.call(webhook, request, (selected, objects)));
        let answers = join_all(answers).await;

        let mut all = Admitted::default();
        // All webhooks are heard, so that the client gets all warnings with the first refusal.
        let mut refused = None;
        for (index, ((webhook, ..), answer)) in calls.iter().zip(answers).enumerate() {
            match answer {
                Ok(response) => {
                    all.warnings.extend(response.warnings);
                    all.annotations.extend(response.annotations);
                    refused = refused.or(response.denial);
                }
                Err(CallRefusal::Call(_)) if webhook.ignores_failures => {
                    let prefix = "failed-open.validating.webhook.admission.k8s.io";
                    let key = format!("{prefix}/round_0_index_{index}");
                    all.annotations.push((key, webhook.name.clone()));
                }
                Err(CallRefusal::Call(reason)) => {
                    refused = refused.or_else(|| Some(failed_call(webhook, &reason)));
                }
                Err(CallRefusal::Denied(denial)) => refused = refused.or(Some(denial)),
            }
        }
        match refused {
            Some(denial) => Err(Denial {
                warnings: all.warnings,
                ..denial
            }),
            None => Ok(all),
        }
    }
}

impl Admission for Webhooks {
    fn name(&self) -> &str {
        if self.is_mutating {
            "MutatingAdmissionWebhook"
        } else {
            "ValidatingAdmissionWebhook"
        }
    }

    /// Behaviour: `IsExemptAdmissionConfigurationResource` of `predicates/rules`, and `Excluded` of
    /// `k8s.io/kubernetes/pkg/kubeapiserver/admission/exclusion`.
    fn handles(&self, request: &AdmissionRequest<'_>) -> bool {
        let is_configuration = request.kind.group.as_str() == "admissionregistration.k8s.io";
        let is_review = matches!(
            request.group,
            "authentication.k8s.io" | "authorization.k8s.io"
        );
        !is_configuration && !is_review
    }

    fn mutate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
    ) -> AdmissionAnswer<'a> {
        self.mutate_again(request, cluster, None)
    }

    fn mutate_again<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
        first: Option<&'a Round>,
    ) -> AdmissionAnswer<'a> {
        Box::pin(async move {
            if self.is_mutating {
                self.dispatch(request, cluster, first).await
            } else {
                Ok(Admitted::default())
            }
        })
    }

    fn validate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
    ) -> AdmissionAnswer<'a> {
        Box::pin(async move {
            if self.is_mutating {
                Ok(Admitted::default())
            } else {
                self.ask(request, cluster).await
            }
        })
    }
}

/// What webhooks made of a request so far.
struct Mutation {
    objects: Versioned,
    is_dirty: bool,
    is_second: bool,
    round: Round,
    /// The warnings and annotations.
    admitted: Admitted,
}

impl Mutation {
    fn new(request: &AdmissionRequest<'_>, first: Option<&Round>) -> Self {
        let mut round = first.cloned().unwrap_or_default();
        round.changed = false;
        // Plugins changed the object since then.
        if first.is_some() && round.object.as_ref() != request.object {
            round.require_called();
        }
        Mutation {
            objects: Versioned::of(request),
            is_dirty: false,
            is_second: first.is_some(),
            round,
            admitted: Admitted::default(),
        }
    }

    /// A refusal with the warnings until now.
    fn refuse(&mut self, denial: Denial) -> Denial {
        Denial {
            warnings: std::mem::take(&mut self.admitted.warnings),
            ..denial
        }
    }

    /// Adds the answer of a webhook.
    fn add(
        &mut self,
        webhook: &Webhook,
        index: usize,
        answer: Result<Response, CallRefusal>,
        cluster: &dyn Cluster,
    ) -> Result<(), Denial> {
        let round = format!("round_{}_index_{index}", i32::from(self.is_second));
        let changed = answer.and_then(|response| self.change(webhook, &round, response, cluster));
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
        }
        if webhook.is_reinvocable {
            self.round.called.insert(webhook.id.clone());
        }

        match changed {
            Ok(_) => Ok(()),
            Err(CallRefusal::Call(_)) if webhook.ignores_failures => {
                let key = format!("failed-open.mutation.webhook.admission.k8s.io/{round}");
                self.admitted.annotations.push((key, webhook.name.clone()));
                Ok(())
            }
            Err(CallRefusal::Call(reason)) => Err(self.refuse(failed_call(webhook, &reason))),
            Err(CallRefusal::Denied(denial)) => Err(self.refuse(denial)),
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
            CallRefusal::Call(format!(
                "received undecodable patch in webhook response: {error}"
            ))
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
            return Err(CallRefusal::Denied(internal(&text)));
        };
        if response.patch_type != "JSONPatch" {
            let found = quote(&response.patch_type);
            return Err(CallRefusal::Call(format!("unsupported patch type {found}")));
        }

        let patched = patch::apply(object, &patch);
        let patched = patched.map_err(|error| CallRefusal::Denied(internal(&error)))?;
        let is_changed = patched != *object;
        // A patch may add parts whose fields have defaults, and the next webhook expects complete
        // objects.
        let defaulted = cluster.defaulted(&self.objects.kind, patched);
        self.objects.object = Some(defaulted.map_err(CallRefusal::Denied)?);
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

/// 500: the call of a webhook failed.
fn failed_call(webhook: &Webhook, reason: &str) -> Denial {
    internal(&format!(
        "failed calling webhook {}: {reason}",
        quote(&webhook.name)
    ))
}

/// 500, with a cause.
///
/// Behaviour: `NewInternalError` of `k8s.io/apimachinery/pkg/api/errors`.
fn internal(cause: &str) -> Denial {
    let mut details = Details::default();
    details.causes = vec![Cause::new("", cause, "")];
    let message = format!("Internal error occurred: {cause}");
    Status::failure(500, "InternalError", message, Some(details)).into()
}
