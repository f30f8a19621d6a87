//! The objects that a run creates, and their removal.

use fieldmanager_value::Value;
use futures::future::join_all;
use tokio::sync::Mutex;

use crate::connection::{Answer, Connection, Message};
use crate::wire::encoded;

/// The label of the namespaces and definitions of runs. Its value is the name of the run.
pub(crate) const LABEL: &str = "fieldmanager-comparison";

/// An object that a run created, or may have created, and did not remove.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftover {
    /// The path of the object on the server.
    pub path: String,
    /// Why it was not removed.
    pub reason: String,
}

/// The objects that requests created, in order.
#[derive(Debug, Default)]
pub(crate) struct Created(Mutex<Vec<Object>>);

#[derive(Clone, Debug)]
struct Object {
    path: String,
    /// The uid; `None` if the server has none, or has not said what it did.
    uid: Option<String>,
    /// Whether the server has confirmed that the request created the object.
    is_confirmed: bool,
    /// Whether a request or an answer had finalizers.
    may_have_finalizers: bool,
}

impl Created {
    /// Remembers the object of a request that created one, or that may have done so: it had no answer, or 504.
    pub(crate) async fn note(&self, message: &Message, answer: &Result<Answer, String>) {
        let (path, query) = message.path.split_once('?').unwrap_or((&message.path, ""));
        let is_post = message.method == "POST";
        if message.method == "GET" || query.contains("dryRun=") {
            return;
        }
        let text = answer
            .as_ref()
            .map(|answer| answer.text.as_str())
            .unwrap_or_default();
        let may_have_finalizers = [message.body.as_str(), text]
            .iter()
            .any(|text| text.contains("finalizers"));

        // The server of an answer 504 does not know whether it has stored the object.
        let is_unknown = answer.as_ref().map_or(true, |answer| answer.code == 504);
        let mut objects = self.0.lock().await;
        for object in objects
            .iter_mut()
            .filter(|object| is_at(path, &object.path))
        {
            object.may_have_finalizers |= may_have_finalizers;
        }

        let source = match answer {
            // Servers that are not Kubernetes answer a POST with 200.
            Ok(answer) if answer.code == 201 || is_post && answer.code == 200 => text,
            _ if is_unknown && message.method != "DELETE" => message.body.as_str(),
            _ => return,
        };
        let body = Value::from_json(source)
            .or_else(|_| Value::from_yaml(source))
            .unwrap_or_default();
        let metadata = |name| body.get("metadata")?.get(name)?.as_str().map(str::to_owned);
        let path = match metadata("name") {
            Some(name) if is_post => format!("{path}/{}", encoded(&name)),
            // The answer of a subresource such as `eviction` is not an object.
            None if is_post && !is_unknown => return,
            _ => path.to_owned(),
        };

        if !objects
            .iter()
            .any(|object| object.path == path && object.is_confirmed && is_unknown)
        {
            let uid = metadata("uid").filter(|_| !is_unknown);
            objects.push(Object {
                path,
                uid,
                is_confirmed: !is_unknown,
                may_have_finalizers,
            });
        }
    }

    /// Removes the objects. The server removes those in `namespace` together with it, if it is one of them. Objects that
    /// requests may have created are removed only if their path has a name that no other run has.
    pub(crate) async fn remove(
        &self,
        connection: &Connection,
        run: &str,
        namespace: &str,
    ) -> Vec<Leftover> {
        let objects = std::mem::take(&mut *self.0.lock().await);
        // An object with finalizers would keep its namespace and its definition.
        let finalizers = objects.iter().filter(|object| object.may_have_finalizers);
        join_all(finalizers.map(|object| remove_finalizers(connection, object))).await;
        let inside = format!("/namespaces/{namespace}/");
        let own = namespace_path(namespace);
        let has_namespace = objects.iter().any(|object| object.path == own);
        let outside = objects
            .iter()
            .rev()
            .filter(|object| !has_namespace || !object.path.contains(&inside));
        let deleted = join_all(outside.map(|object| delete(connection, run, object))).await;

        deleted.into_iter().flatten().collect()
    }
}

/// The path of a namespace.
fn namespace_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}")
}

/// Whether a path is that of an object, or of a subresource of it.
fn is_at(path: &str, object: &str) -> bool {
    path.strip_prefix(object)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path has a name that only this run uses.
fn is_unique(path: &str, run: &str) -> bool {
    [format!("fm-{run}-"), format!(".{run}."), format!("-{run}.")]
        .iter()
        .any(|name| path.contains(name))
}

/// The live metadata of an object; `None` if it does not exist, or is another one with the same name.
async fn live(connection: &Connection, object: &Object) -> Option<Value> {
    let answer = connection
        .send(&Message::new("GET", object.path.clone(), String::new()))
        .await
        .ok()?;
    let metadata = Value::from_json(&answer.text)
        .ok()?
        .get("metadata")
        .cloned()?;
    let is_same = object.uid.is_none()
        || metadata.get("uid").and_then(Value::as_str) == object.uid.as_deref();

    (answer.code == 200 && is_same).then_some(metadata)
}

async fn remove_finalizers(connection: &Connection, object: &Object) {
    let Some(uid) = &object.uid else { return };
    let metadata = live(connection, object).await;
    let finalizers = metadata
        .as_ref()
        .and_then(|metadata| metadata.get("finalizers")?.as_list());
    if finalizers.is_none_or(|list| list.is_empty()) {
        return;
    }

    // The uid is a precondition: another object with this name keeps its finalizers.
    let body = serde_json::json!({"metadata": {"uid": uid, "finalizers": null}}).to_string();
    let mut message = Message::new("PATCH", object.path.clone(), body);
    message
        .headers
        .push(("Content-Type".into(), "application/merge-patch+json".into()));

    // The deletion reports an object that is left.
    let _ = connection.send(&message).await;
}

async fn delete(connection: &Connection, run: &str, object: &Object) -> Option<Leftover> {
    let left = |reason: String| {
        Some(Leftover {
            path: object.path.clone(),
            reason,
        })
    };
    if !object.is_confirmed && !is_unique(&object.path, run) {
        return left("a request that had no answer, or 504, may have created or changed it".into());
    }

    // The uid is a precondition: another object that has this name by now is not deleted.
    let options = |uid| {
        serde_json::json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}})
            .to_string()
    };
    let body = object.uid.as_ref().map(options).unwrap_or_default();

    match connection
        .send(&Message::new("DELETE", object.path.clone(), body))
        .await
    {
        Ok(answer) if answer.code < 300 || answer.code == 404 => None,
        Ok(answer) => match live(connection, object).await {
            // Another object has the name, or this one is being deleted.
            Some(metadata) if answer.code == 409 && metadata.get("deletionTimestamp").is_some() => {
                None
            }
            None if answer.code == 409 => None,
            _ => left(format!(
                "its deletion was refused with the code {}: {}",
                answer.code,
                answer.message()
            )),
        },
        Err(error) => left(format!("its deletion failed: {error}")),
    }
}
