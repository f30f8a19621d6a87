//! Subresources that are actions: `pods/binding`, `pods/eviction` and `serviceaccounts/token`.

use fieldmanager_value::Value;

use super::delete::success;
use super::failure::until_written;
use super::{Answer, Call, Content, Core, Failure, Verb};
use crate::object::{at_revision, with};

impl Core {
    /// A request to a subresource that the handlers do not know.
    pub(super) async fn act(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        match (call.subresource, call.verb) {
            ("binding", Verb::Create) => self.bind(call).await,
            ("eviction", Verb::Create) => self.evict(call).await,
            ("token", Verb::Create) => self.create_token(call).await,
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
