//! Requests that write: create, update, patch and apply.

use fieldmanager_handlers::{
    Action, Method, Outcome, Pending, Refused, Request, Resource, Subresource,
};
use fieldmanager_value::Value;

use super::admission::{self, Subject, write_options};
use super::failure::{check_deadline, internal};
use super::services::Allocation;
use super::{Answer, Call, Core, Failure, Verb};
use crate::object::{metadata, text, with, with_metadata};
use crate::pool::{completing, enter};
use crate::store::{Entry, Key, Revision, SharedStore, StoreError, Write, unshared_bytes};

/// How often a name is generated for one object, and how often a request is overtaken by other writes before it runs on the
/// pool, where it has a deadline.
const ATTEMPTS: usize = 8;

/// The size of a request that etcd accepts, in bytes.
const LARGEST_OBJECT: usize = 3 << 19;

impl Core {
    /// `POST` of a collection.
    pub(super) async fn create(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        if !call.served.is_stored() {
            return match &*call.served.facts.plural {
                "bindings" => self.bind(call).await,
                _ => self.review(call).await,
            };
        }
        let handlers = call.served.handlers().map_err(internal)?;
        let _writing = self.writing(call);
        let (now, uid) = (self.source.now(), self.source.uid());
        let options = call.query.request_options();
        let dry_run = !options.dry_run.is_empty();
        let objects = self.objects(call.served);
        let mut attempt = 0;

        loop {
            attempt += 1;
            let suffix = self.source.suffix();
            let request = self.request(call, &options, now, &uid).name_suffix(&suffix);
            let pending = handlers.begin(&request, Method::Create, None, call.body)?;
            let (mut outcome, allocations) = self.completed(call, pending, None).await?;
            // The handlers may generate the name, so the key is known only now.
            let key = call
                .served
                .key(call.namespace, text(&outcome.object, &["metadata", "name"]))?;
            // A dry run finds a name that is taken as a write would, and leaves nothing behind.
            let written = if dry_run {
                match objects.get(&key, None).await?.entry {
                    None => return self.tried(call, outcome).await,
                    current => Err(StoreError::Conflict {
                        key: key.clone(),
                        current,
                    }),
                }
            } else {
                let write = self.write_of(call, &outcome, None);
                let write = fitting(call, &mut outcome, write);
                write_object(&objects, &key, write).await
            };

            let current = match written {
                Ok(revision) => {
                    return completing(self.finish(call, &key, outcome, revision)).await;
                }
                Err(error) => self.unwritten(error, &allocations).await?,
            };

            // A generated name may be taken.
            let generated = !text(&outcome.object, &["metadata", "generateName"]).is_empty();
            if generated && attempt < ATTEMPTS {
                continue;
            }

            if let Some(entry) = current {
                let refusal = Refused::from(handlers.exists(&call.served.live(&entry)));
                let failure = admission::refused(&outcome.warnings, refusal);
                return Err(if generated {
                    failure.of_generated_name()
                } else {
                    failure
                });
            }
            if attempt >= ATTEMPTS {
                return Err(internal(
                    "the object was created and deleted again and again".to_owned(),
                ));
            }
        }
    }

    /// Frees the allocations of a write that did not take place. Returns the object that is stored if another write was
    /// first.
    async fn unwritten(
        &self,
        error: StoreError,
        allocations: &[Allocation],
    ) -> Result<Option<Entry>, Failure> {
        match error {
            StoreError::Conflict { current, .. } => {
                self.release(allocations).await?;
                Ok(current)
            }
            error => {
                self.release_failed(&error, allocations).await;
                Err(error.into())
            }
        }
    }

    /// `PUT` and `PATCH`. A write that another one overtook is done again on the new object.
    pub(super) async fn change(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let handlers = call.served.handlers().map_err(internal)?;
        let (now, uid) = (self.source.now(), self.source.uid());
        let options = call.query.request_options();
        let dry_run = !options.dry_run.is_empty();
        let request = self.request(call, &options, now, &uid);
        let _writing = self.writing(call);
        let method = match call.verb {
            Verb::Update => Method::Update,
            _ => Method::Patch,
        };
        if call.name.is_empty() {
            // The handlers say what a request to a collection lacks.
            return Ok(answer(
                handlers
                    .begin(&request, method, None, call.body)?
                    .finish()?,
            ));
        }

        let key = call.served.key(call.namespace, call.name)?;
        let objects = self.objects(call.served);
        let mut entry = objects.get(&key, None).await?.entry;
        let mut attempt = 0;
        loop {
            attempt += 1;
            // A request that is overtaken again and again would keep the thread of its connection.
            if attempt == ATTEMPTS {
                enter().await;
            }
            let live = entry.as_ref().map(|entry| call.served.live(entry));
            let pending = handlers.begin(&request, method, live.as_ref(), call.body)?;
            if live.is_none() {
                self.check_creation(call).await?;
            }
            let (outcome, allocations) = self.completed(call, pending, live.as_ref()).await?;

            let mut outcome = rewritten(call, outcome, entry.as_ref());
            if dry_run {
                return self.tried(call, outcome).await;
            }
            // An earlier request with this effect may have ended between its write and the consequences.
            if outcome.action == Action::Nothing {
                self.repeated(call.served, &key).await?;
                return Ok(answer(outcome));
            }

            let write = self.write_of(call, &outcome, entry.as_ref());
            let write = fitting(call, &mut outcome, write);
            match write_object(&objects, &key, write).await {
                Ok(revision) => {
                    // What the Service had before is freed after the write, as it is in use if the write fails.
                    if let Some(live) = live.filter(|_| outcome.action == Action::Update) {
                        self.release_unused(call.served, &live, Some(&outcome.object))
                            .await?;
                    }
                    return completing(self.finish(call, &key, outcome, revision)).await;
                }
                Err(error) => entry = self.unwritten(error, &allocations).await?,
            }
        }
    }

    /// The outcome of a write that was begun, after admission and validation, and what was allocated for it. `live` is the
    /// object before it.
    async fn completed(
        &self,
        call: &Call<'_>,
        mut pending: Pending<'_>,
        live: Option<&Value>,
    ) -> Result<(Outcome, Vec<Allocation>), Failure> {
        check_deadline()?;
        let creates = pending.old().is_none();
        if creates {
            self.check_place(call, &pending).await?;
        }
        let kind = pending.kind().clone();
        // Admission knows a request by the name that it came with, even if a webhook gives the object another one.
        let own = text(pending.object(), &["metadata", "name"]).to_owned();
        let mut subject = Subject::of(call, &kind, creates);
        if creates && subject.name.is_empty() {
            subject.name = &own;
        }
        let options = write_options(call, creates);
        let is_changed = self.mutate(&subject, &options, &mut pending).await?;
        self.check_grant(call, pending.object(), pending.old())
            .await?;

        let old = pending.validated_old();
        let allocations = self.allocate(call, &mut pending, live).await?;
        let outcome = self
            .finished(&subject, &options, old.as_ref(), pending)
            .await;
        // Only an object that is stored keeps what was allocated for it.
        let is_stored = |outcome: &Outcome| outcome.action != Action::Delete;
        if !outcome.as_ref().is_ok_and(is_stored) {
            self.release(&allocations).await?;
            return outcome.map(|outcome| (outcome, Vec::new()));
        }

        let mut outcome = outcome?;
        // The fields that webhooks added to a custom resource, and that its schema does not have, end here.
        if is_changed && !call.served.is_builtin() {
            let handlers = call.served.handlers().map_err(internal)?;
            let pruned = handlers.decoded(Subresource::Object, &outcome.object);
            outcome.object = pruned.map_err(internal)?;
        }
        Ok((outcome, allocations))
    }

    /// Validates the complete object of a write, and asks the plugins and webhooks that may refuse it.
    async fn finished(
        &self,
        subject: &Subject<'_>,
        options: &Value,
        old: Option<&Value>,
        pending: Pending<'_>,
    ) -> Result<Outcome, Failure> {
        let creates = pending.old().is_none();
        let mut outcome = pending.finish()?;
        check_deadline()?;
        if creates {
            outcome.object = requested(subject, outcome.object);
        }
        self.validate(subject, options, old, &mut outcome).await?;
        Ok(outcome)
    }

    /// The object of a request that is not stored, read by the handlers of its kind and admitted. `check` says what is wrong
    /// with it, before anybody is asked who only validates.
    pub(super) async fn question(
        &self,
        call: &Call<'_>,
        handlers: &Resource,
        check: impl FnOnce(&Value) -> Result<(), Failure>,
    ) -> Result<Outcome, Failure> {
        let options = call.query.request_options();
        let request = self.request(call, &options, self.source.now(), "");
        let mut outcome = handlers.question(&request, call.body)?;
        outcome.object = owned_by_action(&outcome.object, call.subresource);
        self.admit_question(call, handlers, outcome, check).await
    }

    fn request<'c>(
        &self,
        call: &'c Call<'_>,
        options: &fieldmanager_managedfields::RequestOptions,
        now: fieldmanager_managedfields::Time,
        uid: &'c str,
    ) -> Request<'c> {
        Request::new(now)
            .subresource(call.part().unwrap_or_default())
            .namespace(call.namespace)
            .name(call.name)
            .content_type(call.content_type)
            .user_agent(call.user_agent)
            .options(options.clone())
            .uid(uid)
    }

    /// The write of an outcome, on the object that it was computed from.
    fn write_of(&self, call: &Call<'_>, outcome: &Outcome, entry: Option<&Entry>) -> Write {
        match (outcome.action, entry) {
            (Action::Delete, Some(entry)) => Write::Delete {
                expected: entry.revision,
            },
            (_, Some(entry)) => {
                let part = call.part().unwrap_or_default();
                let object = call.served.to_stored_over(outcome, part, &entry.object);
                Write::Update {
                    expected: entry.revision,
                    object: self.shared(&object),
                }
            }
            (_, None) => Write::Create(self.created(call.served, outcome)),
        }
    }

    /// The answer after a write, and what the server does because of it.
    async fn finish(
        &self,
        call: &Call<'_>,
        key: &Key,
        outcome: Outcome,
        revision: Revision,
    ) -> Result<Answer, Failure> {
        // An object that ends with its last finalizer is answered at the version that the request found.
        let mut outcome = match outcome.action {
            Action::Delete => outcome,
            _ => outcome.at_resource_version(&revision.to_string()),
        };
        if outcome.action != Action::Delete {
            outcome.object = self
                .read_back(call.served, key, revision, outcome.object)
                .await?;
        }
        self.written(call.served, key, &outcome).await?;
        // The status of a quota is what counts, and not what is counted.
        if call.subresource.is_empty() || call.served.facts.plural != "resourcequotas" {
            self.recount_after(call.served, key, outcome.action).await?;
        }
        self.check_types_after(call, outcome.action, &outcome.object)
            .await?;
        self.check_flow_schemas_after(call.served).await?;
        Ok(answer(outcome))
    }
}

/// An object that is created, with its user, if it is a request for a certificate.
///
/// Behaviour: `PrepareForCreate` of `k8s.io/kubernetes/pkg/registry/certificates/certificates`.
fn requested(subject: &Subject<'_>, object: Value) -> Value {
    let facts = &subject.served.facts;
    let is_request =
        (&*facts.group, &*facts.kind) == ("certificates.k8s.io", "CertificateSigningRequest");
    let Some(Value::Map(spec)) = object.get("spec").filter(|_| is_request) else {
        return object;
    };
    let user = Value::from(subject.user);
    let mut spec = spec.clone();
    for name in ["username", "uid", "groups", "extra"] {
        match user.get(name) {
            Some(value) => drop(spec.insert(name, value.clone())),
            None => drop(spec.remove(name)),
        }
    }
    with(&object, "spec", spec)
}

/// The object of a request to an action, whose fields belong to managers of that.
fn owned_by_action(object: &Value, action: &str) -> Value {
    let entries = metadata(object, "managedFields").and_then(Value::as_list);
    match entries.filter(|_| !action.is_empty()) {
        Some(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|entry| with(entry, "subresource", Value::from(action)));
            with_metadata(
                object,
                "managedFields",
                Some(Value::List(entries.collect())),
            )
        }
        None => object.clone(),
    }
}

/// Writes an object, unless etcd would refuse its size.
async fn write_object(
    objects: &SharedStore,
    key: &Key,
    write: Write,
) -> Result<Revision, StoreError> {
    if let Write::Create(object) | Write::Update { object, .. } = &write
        && let Some(size) = too_large(object)
    {
        return Err(StoreError::TooLarge {
            key: key.clone(),
            size,
            limit: LARGEST_OBJECT,
        });
    }
    objects.write(key, write).await
}

/// The size of an object, if etcd would refuse it.
fn too_large(object: &Value) -> Option<usize> {
    // An object that takes little memory has a short text, which need not be written.
    let is_large = unshared_bytes(object, None) > LARGEST_OBJECT / 4;
    let size = if is_large { object.to_json().len() } else { 0 };
    (size > LARGEST_OBJECT).then_some(size)
}

/// A write without managed fields, if the object is too large with them; the answer has none either. An apply fails instead.
///
/// Behaviour: `isTooLargeError` of `k8s.io/apiserver/pkg/endpoints/handlers`.
fn fitting(call: &Call<'_>, outcome: &mut Outcome, mut write: Write) -> Write {
    let is_apply = call.content_type.starts_with("application/apply-patch");
    if let Write::Create(object) | Write::Update { object, .. } = &mut write
        && !is_apply
        && too_large(object).is_some()
    {
        *object = with_metadata(object, "managedFields", None);
        outcome.object = with_metadata(&outcome.object, "managedFields", None);
    }
    write
}

/// The outcome of a request. An object that is equal for the request is written again if it is stored with fields that its
/// version, or the schema of today, does not have.
fn rewritten(call: &Call<'_>, mut outcome: Outcome, entry: Option<&Entry>) -> Outcome {
    // Whether an object that a webhook converts is stored as it was is known only after the conversion.
    if outcome.action == Action::Nothing
        && !call.served.is_builtin()
        && (call.served.converts_by_webhook()
            || entry.is_some_and(|entry| call.served.outcome_to_stored(&outcome) != entry.object))
    {
        outcome.action = Action::Update;
    }
    outcome
}

pub(super) fn answer(outcome: Outcome) -> Answer {
    let answer = Answer::object(outcome.code(), outcome.answer().clone());
    Answer {
        warnings: outcome.warnings,
        ..answer
    }
}
