//! Requests that write: create, update, patch and apply.

use fieldmanager_handlers::{Action, Outcome, Refused, Request, Resource};
use fieldmanager_value::Value;

use super::read::internal;
use super::review::review;
use super::services::Allocation;
use super::{Answer, Call, Content, Core, Failure, Verb};
use crate::object::text;
use crate::pool::{check_deadline, completing, enter};
use crate::store::{Entry, Key, Revision, StoreError, Write};

/// How often a name is generated for one object, and how often a request is overtaken by other writes before it runs on the
/// pool, where it has a deadline.
const ATTEMPTS: usize = 8;

impl Core {
    /// `POST` of a collection.
    pub(super) async fn create(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        if !call.served.is_stored() {
            return review(call);
        }
        let handlers = call.served.handlers().map_err(internal)?;
        let (now, uid) = (self.source.now(), self.source.uid());
        let options = call.query.request_options();
        let dry_run = !options.dry_run.is_empty();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let suffix = self.source.suffix();
            let request = self.request(call, &options, now, &uid).name_suffix(&suffix);
            let made = handlers.create(&request, None, call.body);
            check_deadline()?;
            let outcome = self.admitted(call, made).await?;
            let key = call.served.key(call.namespace, text(&outcome.object, &["metadata", "name"]))?;
            let (outcome, allocations) = self.allocated(call, outcome, None, dry_run).await?;
            let written = match dry_run {
                false => self.store.write(&key, self.write_of(call, &outcome, None)).await,
                true => match self.store.get(&key, None).await?.entry {
                    None => return Ok(answer(outcome)),
                    current => Err(StoreError::Conflict { key: key.clone(), current }),
                },
            };
            let current = match written {
                Ok(revision) => return completing(self.finish(call, &key, outcome, revision)).await,
                Err(error) => self.unwritten(error, &allocations).await?,
            };

            // A generated name may be taken.
            let generated = !text(&outcome.object, &["metadata", "generateName"]).is_empty();
            if generated && attempt < ATTEMPTS {
                continue;
            }

            // The handlers say why an object that exists cannot be created.
            let live = current.map(|entry| call.served.live(&entry));
            handlers.create(&request, live.as_ref(), call.body)?;
            if attempt >= ATTEMPTS {
                return Err(internal("the object was created and deleted again and again".to_owned()));
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
        if call.name.is_empty() {
            // The handlers say what a request to a collection lacks.
            return run(handlers, call.verb, &request, None, call.body).map(answer).map_err(Failure::from);
        }
        let key = call.served.key(call.namespace, call.name)?;
        let mut entry = self.store.get(&key, None).await?.entry;
        let mut attempt = 0;
        loop {
            attempt += 1;
            if attempt == ATTEMPTS {
                enter().await;
            }
            let live = entry.as_ref().map(|entry| call.served.live(entry));
            let made = run(handlers, call.verb, &request, live.as_ref(), call.body);
            check_deadline()?;
            let outcome = match live {
                None => self.admitted(call, made).await?,
                Some(_) => made?,
            };
            let (outcome, allocations) = self.allocated(call, outcome, live.as_ref(), dry_run).await?;
            let outcome = rewritten(call, outcome, entry.as_ref());
            if dry_run {
                return Ok(answer(outcome));
            }
            if outcome.action == Action::Nothing {
                self.repeated(call.served, &key).await?;
                return Ok(answer(outcome));
            }
            match self.store.write(&key, self.write_of(call, &outcome, entry.as_ref())).await {
                Ok(revision) => {
                    if let Some(live) = live.filter(|_| outcome.action == Action::Update) {
                        self.release_unused(call.served, &live, Some(&outcome.object)).await?;
                    }
                    return completing(self.finish(call, &key, outcome, revision)).await;
                }
                Err(error) => entry = self.unwritten(error, &allocations).await?,
            }
        }
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
            (Action::Delete, Some(entry)) => Write::Delete { expected: entry.revision },
            (_, Some(entry)) => {
                let part = call.part().unwrap_or_default();
                let object = call.served.to_stored_over(outcome, part, &entry.object);
                Write::Update { expected: entry.revision, object: self.shared(&object) }
            }
            (_, None) => Write::Create(self.created(call.served, &outcome.object)),
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
        let outcome = match outcome.action {
            Action::Delete => outcome,
            _ => outcome.at_resource_version(&revision.to_string()),
        };
        self.written(call.served, key, &outcome).await?;
        Ok(answer(outcome))
    }
}

fn run(
    handlers: &Resource,
    verb: Verb,
    request: &Request<'_>,
    live: Option<&Value>,
    body: &[u8],
) -> Result<Outcome, Refused> {
    match verb {
        Verb::Update => handlers.update(request, live, body),
        _ => handlers.patch(request, live, body),
    }
}

/// The outcome of a request. An object that is equal for the request is written again if it is stored with fields that its
/// version, or the schema of today, does not have.
fn rewritten(call: &Call<'_>, mut outcome: Outcome, entry: Option<&Entry>) -> Outcome {
    if outcome.action == Action::Nothing
        && !call.served.is_builtin()
        && entry.is_some_and(|entry| call.served.to_stored(&outcome.object) != entry.object)
    {
        outcome.action = Action::Update;
    }
    outcome
}

pub(super) fn answer(outcome: Outcome) -> Answer {
    let (code, content) = (outcome.code(), Content::Object(outcome.answer().clone()));
    Answer { code, warnings: outcome.warnings, content }
}
