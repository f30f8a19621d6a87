//! Subresources that are actions: `pods/binding`, `pods/eviction` and `namespaces/finalize`.

use fieldmanager_builtin::validate_update;
use fieldmanager_managedfields::Status;
use fieldmanager_value::Value;

use super::admission::refused;
use super::body::read_body;
use super::delete::success;
use super::failure::until_written;
use super::{Answer, Call, Content, Core, Failure, Verb};
use crate::object::{at_revision, with, with_field};

impl Core {
    /// A request to a subresource that the handlers do not know.
    pub(super) async fn act(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        match (call.subresource, call.verb) {
            ("binding", Verb::Create) => self.bind(call).await,
            ("eviction", Verb::Create) => self.evict(call).await,
            ("token", Verb::Create) => self.create_token(call).await,
            ("finalize", Verb::Update) => {
                let body = read_body(call, call.served.kind())?;
                let old = self.read_named(call).await?;
                let (body, warnings) = self
                    .admit_body(call, call.served.kind(), Some(&old), body)
                    .await?;
                // A body without finalizers removes the last one, which ends a terminating namespace.
                let finalizers = body
                    .get("spec")
                    .and_then(|spec| spec.get("finalizers"))
                    .cloned();
                let finalizers = finalizers.unwrap_or_else(|| Value::List(Default::default()));
                let object = self
                    .changed(call, |live| {
                        let object = with_field(live, "spec", "finalizers", finalizers.clone());
                        let kind = call.served.kind();
                        let errors = validate_update(kind, call.subresource, &object, live);
                        if errors.is_empty() {
                            return Ok(object);
                        }
                        Err(Status::invalid(kind, call.name, &errors).into())
                    })
                    .await
                    .map_err(|failure| refused(&warnings, failure))?;

                Ok(Answer {
                    warnings,
                    ..Answer::object(200, object)
                })
            }
            _ => {
                // What only a kubelet does is refused: a success without an effect would mislead clients.
                let (subresource, plural) = (call.subresource, &call.served.facts.plural);
                let description = call.served.description();
                let reason = description.map_or("there is no kubelet", |kind| kind.unserved);
                let message =
                    format!("{plural}/{subresource} is not implemented by this server: {reason}");
                Err(Failure::new(501, "NotImplemented", message))
            }
        }
    }

    /// The object that a request names.
    async fn read_named(&self, call: &Call<'_>) -> Result<Value, Failure> {
        let key = call.served.key(call.namespace, call.name)?;
        let entry = self.store.get(&key, None).await?.entry;
        let entry = entry.ok_or_else(|| Failure::not_found(call))?;
        Ok(call.served.read(&entry))
    }

    /// Changes the object of a request, on the newest state, and returns it. A terminating object without finalizers ends.
    pub(super) async fn changed(
        &self,
        call: &Call<'_>,
        change: impl Fn(&Value) -> Result<Value, Failure>,
    ) -> Result<Value, Failure> {
        let key = call.served.key(call.namespace, call.name)?;
        let entry = self.store.get(&key, None).await?.entry;
        let change = &change;
        let changed = until_written(entry, |live| async move {
            let object = change(&call.served.read(&live))?;
            if call.query.all("dryRun").next().is_some() {
                return Ok(object);
            }
            let stored = call.served.to_stored(&object);
            let revision = self.replace(call.served, &live, stored).await?;
            Ok(at_revision(&object, revision))
        });
        changed.await?.ok_or_else(|| Failure::not_found(call))
    }
}

/// A `Status` of success.
pub(super) fn done(code: u16) -> Answer {
    Answer::new(
        code,
        Content::Status(with(&success(), "code", i64::from(code))),
    )
}
