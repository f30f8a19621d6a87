//! Subresources that are actions: `pods/binding`, `pods/eviction` and `namespaces/finalize`.

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use super::delete::{read_body, success};
use super::failure::Unwritten;
use super::{Answer, Call, Content, Core, Failure, Verb};
use crate::object::{at_revision, text, with, with_field};

impl Core {
    /// A request to a subresource that the handlers do not know.
    pub(super) async fn act(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let kind = if call.served.is_builtin() { call.served.facts.kind.as_str() } else { "" };
        match (kind, call.subresource, call.verb) {
            ("Pod", "binding", Verb::Create) => {
                let body = read_body(call, &GroupVersionKind::new("", "v1", "Binding"))?;
                let node = text(&body, &["target", "name"]).to_owned();
                self.changed(call, |pod| bound(call, pod, &node)).await?;
                Ok(done(201))
            }
            ("Pod", "eviction", Verb::Create) => {
                let body = read_body(call, &GroupVersionKind::new("policy", "v1", "Eviction"))?;
                let options = body.get("deleteOptions").cloned().unwrap_or_default();
                self.delete_by(call, &options).await?;
                Ok(done(201))
            }
            ("Namespace", "finalize", Verb::Update) => {
                let body = read_body(call, call.served.kind())?;
                let finalizers = body.get("spec").and_then(|spec| spec.get("finalizers")).cloned();
                let finalizers = finalizers.unwrap_or_else(|| Value::List(Default::default()));
                let object = self
                    .changed(call, |live| Ok(with_field(live, "spec", "finalizers", finalizers.clone())))
                    .await?;
                Ok(Answer::object(200, object))
            }
            _ => {
                let (subresource, plural) = (call.subresource, &call.served.facts.plural);
                let reason = match (kind, subresource) {
                    ("Service", _) => "it has no connection to Pods",
                    ("ServiceAccount", _) => "it has no key that signs tokens",
                    _ => "there is no kubelet",
                };
                let message = format!("{plural}/{subresource} is not implemented by this server: {reason}");
                Err(Failure::new(501, "NotImplemented", message))
            }
        }
    }

    /// Changes the object of a request, on the newest state, and returns it. A terminating object without finalizers ends.
    async fn changed(
        &self,
        call: &Call<'_>,
        change: impl Fn(&Value) -> Result<Value, Failure>,
    ) -> Result<Value, Failure> {
        let key = call.served.key(call.namespace, call.name)?;
        let mut entry = self.store.get(&key, None).await?.entry;
        loop {
            let Some(live) = entry else { return Err(Failure::not_found(call)) };
            let object = change(&call.served.read(&live))?;
            match self.replace(call.served, &live, call.served.to_stored(&object)).await {
                Ok(revision) => {
                    return Ok(at_revision(&object, revision));
                }
                Err(Unwritten::Overtaken(current)) => entry = current,
                Err(Unwritten::Failed(failure)) => return Err(failure),
            }
        }
    }
}

/// A pod that is assigned to a node.
fn bound(call: &Call<'_>, pod: &Value, node: &str) -> Result<Value, Failure> {
    let own = text(pod, &["spec", "nodeName"]);
    if !own.is_empty() {
        return Err(Failure::of_object(409, "Conflict", call, |_, name| {
            format!(
                "Operation cannot be fulfilled on pods/binding {name}: pod {} is already assigned to node {own:?}",
                call.name
            )
        }));
    }
    Ok(with_field(pod, "spec", "nodeName", node.into()))
}

/// A `Status` of success.
fn done(code: u16) -> Answer {
    let content = Content::Status(with(&success(), "code", i64::from(code)));
    Answer { code, warnings: Vec::new(), content }
}
