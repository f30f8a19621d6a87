//! Webhooks that change or refuse requests: `MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook`.

mod caller;
mod configuration;
mod decode;
mod mutation;
#[cfg(feature = "net")]
pub(crate) mod net;
mod refusal;
mod review;

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use fieldmanager_cel::Environment;
use fieldmanager_managedfields::Status;
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;
use futures::future::{FutureExt, join_all};

use crate::expressions::{AUTHORIZER, Decisions, Inputs, all_hold, decide, environment};
use crate::meter::Meter;
use crate::versioned::Versioned;
use crate::{
    Admission, AdmissionAnswer, AdmissionPhase, AdmissionRequest, Admitted, Cluster, Denial,
    Equivalent, Round,
};
pub use caller::{CallError, Caller, ClientConfig, WebhookAddress};
use configuration::{Webhook, read_all};
pub(crate) use decode::decode;
use mutation::Mutation;
#[cfg(feature = "net")]
pub use net::{
    Authorities, HttpCaller, MAX_ANSWER_BYTES, MAX_CLIENTS, MAX_IDLE, MAX_REQUESTS, Resolver,
};
use refusal::{CallRefusal, by, failed_call, observe};
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
    parsed: Mutex<Option<Parsed>>,
}

/// The environment of match conditions. No request needs it before there is a configuration.
static ENVIRONMENT: LazyLock<Environment> = LazyLock::new(|| environment(&[AUTHORIZER]));

/// Configurations, and the webhooks that were read from them.
type Parsed = (Arc<Vec<Value>>, Arc<Vec<Webhook>>);

impl Webhooks {
    /// Those of `MutatingWebhookConfiguration`, one after the other.
    pub fn mutating(caller: Arc<dyn Caller>, uids: Uids) -> Self {
        Webhooks {
            is_mutating: true,
            caller,
            uids,
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
        let webhooks = Arc::new(read_all(&list, &ENVIRONMENT));
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
        let inputs = Inputs::of(&request, objects, request.resource_names());
        let hold = |authorizer: &Decisions| {
            let conditions = &webhook.conditions;
            all_hold(&ENVIRONMENT, conditions, &inputs, authorizer)
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
                let text = "Webhook SideEffects is nil".to_owned();
                return Err(CallRefusal::Call(400, text));
            }
            Some(false) if request.dry_run => {
                let name = quote(&webhook.name);
                let text = format!("admission webhook {name} does not support dry run");
                return Err(CallRefusal::Fault(Status::bad_request(text).into()));
            }
            _ => {}
        }
        if webhook.review_version.is_empty() {
            let text = "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)";
            return Err(CallRefusal::Call(400, text.to_owned()));
        }

        let uid = (self.uids)();
        let body = write_review(webhook, &uid, request, selected);
        let client = webhook.client.as_ref().map_err(|error| {
            CallRefusal::Call(500, format!("could not get REST client: {error}"))
        })?;
        let answer = self.caller.call(client, body, webhook.timeout).await;
        let answer = answer.map_err(|error| {
            let (code, what) = match error {
                CallError::Unusable(_) => (500, "could not get REST client"),
                CallError::Failed(_) => (503, "failed to call webhook"),
                CallError::Status { code, .. } => (code, "failed to call webhook"),
            };
            CallRefusal::Call(code, format!("{what}: {}", error.message()))
        })?;
        let response = read_answer(&answer, webhook, &uid, self.is_mutating);
        response.map_err(|reason| CallRefusal::Call(503, reason))
    }

    /// Lets webhooks change an object. `first` is what they did in the first round.
    ///
    /// Behaviour: `mutatingDispatcher.Dispatch` of `k8s.io/apiserver/pkg/admission/plugin/webhook/mutating`.
    async fn dispatch(
        &self,
        request: AdmissionRequest<'_>,
        cluster: &dyn Cluster,
        first: Option<&Round>,
        webhooks: &[Webhook],
    ) -> Result<Admitted, Denial> {
        let mut run = Mutation::new(request, first);
        for (index, webhook) in webhooks.iter().enumerate() {
            let now = (&run.objects, run.is_dirty);
            let prepared = self.prepare(webhook, request, now, cluster).await;
            let Some((selected, objects)) = prepared.map_err(|denial| run.refuse(denial))? else {
                continue;
            };
            if first.is_none() || run.round.due.contains(&webhook.id) {
                let meter = Meter::start(cluster, AdmissionPhase::Mutate.name(), &request);
                let answer = self.call(webhook, request, (&selected, &objects)).await;
                run.objects = objects;
                run.add(webhook, index, answer, (cluster, &meter))?;
            }
        }

        if run.is_dirty {
            let objects = run.objects.convert(&request, request.kind, true, cluster);
            let mut object = objects.await?.object;
            // A patch may give a custom resource another version.
            let version = request.kind.api_version().to_string();
            if let Some(other) = object.take_if(|object| object.api_version() != version) {
                object = Some(cluster.convert(other, request.kind).await?);
            }
            // The Scale of a custom resource may have any fields until here, where it is read as a Scale.
            if let Some(found) = object.as_ref().map(Value::declared_kind)
                && request.subresource == "scale"
                && found != *request.kind
            {
                let fault = decode::unregistered(&found.kind, &found.api_version());
                return Err(run.refuse(Status::failure(500, "", fault, None).into()));
            }
            run.admitted.object = object;
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
        webhooks: &[Webhook],
    ) -> Result<Admitted, Denial> {
        let own = Versioned::of(&request);
        let mut calls = Vec::new();
        for webhook in webhooks.iter() {
            // All are selected before one is called, so that a fault costs no call.
            let prepared = self
                .prepare(webhook, request, (&own, false), cluster)
                .await?;
            calls.extend(prepared.map(|(selected, objects)| (webhook, selected, objects)));
        }
        let answers = calls.iter().map(|(webhook, selected, objects)| {
            let meter = Meter::start(cluster, "validating", &request);
            let call = self.call(webhook, request, (selected, objects));
            call.inspect(move |answer| {
                let denial = answer.as_ref().map(|response| response.denial.as_ref());
                observe(webhook, &meter, denial);
            })
        });
        let answers = join_all(answers).await;

        let mut all = Admitted::default();
        // All webhooks are heard, so that the client gets all warnings with the first refusal.
        let mut refused = None;
        for (index, ((webhook, ..), answer)) in calls.iter().zip(answers).enumerate() {
            match answer {
                Ok(response) => {
                    all.warnings.extend(response.warnings);
                    all.annotations.extend(response.annotations);
                    let denial = response.denial.map(|denial| by(webhook, denial));
                    refused = refused.or(denial);
                }
                Err(CallRefusal::Call(..)) if webhook.ignores_failures => {
                    let prefix = "failed-open.validating.webhook.admission.k8s.io";
                    let key = format!("{prefix}/round_0_index_{index}");
                    all.annotations.push((key, webhook.name.clone()));
                }
                Err(CallRefusal::Call(_, reason)) => {
                    refused = refused.or_else(|| Some(failed_call(webhook, &reason)));
                }
                Err(CallRefusal::Denied(denial) | CallRefusal::Fault(denial)) => {
                    refused = refused.or_else(|| Some(by(webhook, denial)));
                }
            }
        }
        match refused {
            Some(denial) => Err(Denial {
                warnings: all.warnings,
                annotations: all.annotations,
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
    fn handles(&self, phase: AdmissionPhase, request: &AdmissionRequest<'_>) -> bool {
        let is_phase = self.is_mutating == (phase == AdmissionPhase::Mutate);
        let is_configuration = request.kind.group.as_str() == "admissionregistration.k8s.io";
        let is_review = matches!(
            request.group,
            "authentication.k8s.io" | "authorization.k8s.io"
        );
        is_phase && !is_configuration && !is_review
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
            let webhooks = self.webhooks(cluster).await?;
            if webhooks.is_empty() {
                return Ok(Admitted::default());
            }
            // Most servers have none, and the future of the rest is large.
            Box::pin(self.dispatch(request, cluster, first, &webhooks)).await
        })
    }

    fn validate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        cluster: &'a dyn Cluster,
    ) -> AdmissionAnswer<'a> {
        Box::pin(async move {
            let webhooks = self.webhooks(cluster).await?;
            if webhooks.is_empty() {
                return Ok(Admitted::default());
            }
            Box::pin(self.ask(request, cluster, &webhooks)).await
        })
    }
}
