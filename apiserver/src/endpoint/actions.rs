//! Subresources that are actions: `pods/binding`, `pods/eviction` and `namespaces/finalize`.

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use super::delete::{Deletion, read_body};
use super::{Answer, Call, Content, Core, Failure, Verb};
use crate::object::text;
use crate::object::with_field;
use crate::object::with_metadata;
use crate::store::{Entry, StoreError, Write};

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
                self.delete_with(call, &options).await?;
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
                let message = format!("{plural}/{subresource} is not implemented by this server");
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
            let expected = live.revision;
            let write = match ends(&object) {
                true => Write::Delete { expected },
                false => Write::Update { expected, object: call.served.to_stored(&object) },
            };
            match self.store.write(&key, write).await {
                Ok(revision) => {
                    return Ok(with_metadata(&object, "resourceVersion", Some(revision.to_string().into())));
                }
                Err(StoreError::Conflict { current, .. }) => entry = current,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Deletes the object of a request with options that are not its body.
    async fn delete_with(&self, call: &Call<'_>, options: &Value) -> Result<(), Failure> {
        let key = call.served.key(call.namespace, call.name)?;
        let mut entry: Option<Entry> = self.store.get(&key, None).await?.entry;
        loop {
            let Some(live) = &entry else { return Err(Failure::not_found(call)) };
            match self.delete_by_options(call, live, options).await {
                Ok(()) => return Ok(()),
                Err(Deletion::Overtaken(current)) => entry = current,
                Err(Deletion::Failed(failure)) => return Err(failure),
            }
        }
    }
}

/// Whether a terminating object has no finalizers left.
pub(super) fn ends(object: &Value) -> bool {
    let is_empty = |path: [&str; 2]| {
        let list = path.iter().try_fold(object, |value, name| value.get(name)).and_then(Value::as_list);
        list.is_none_or(|list| list.is_empty())
    };
    !text(object, &["metadata", "deletionTimestamp"]).is_empty()
        && is_empty(["metadata", "finalizers"])
        && is_empty(["spec", "finalizers"])
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
    let status = [
        ("kind", Value::from("Status")),
        ("apiVersion", "v1".into()),
        ("metadata", Value::Map(Default::default())),
        ("status", "Success".into()),
        ("code", Value::Int(i64::from(code))),
    ];
    let status = status.into_iter().map(|(name, value)| (fieldmanager_value::Str::from(name), value));
    Answer { code, warnings: Vec::new(), content: Content::Status(Value::Map(status.collect())) }
}
