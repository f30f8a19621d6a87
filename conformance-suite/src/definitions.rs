//! The CustomResourceDefinitions of a run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fieldmanager_value::Value;
use futures::future::join_all;
use tokio::time::{Instant, sleep};

use crate::connection::{Connection, Message};
use crate::names::Names;
use crate::resources::Resources;
use crate::wire::encoded;

/// The path of definitions.
pub(crate) const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// How long the server may take to serve a definition.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// The definitions of one or several cases, which have the same groups on the server.
#[derive(Clone, Debug)]
pub(crate) struct Definitions {
    /// The documents, by the names of the cases.
    pub(crate) documents: Vec<Value>,
    /// Groups, each with the group on the server.
    pub(crate) groups: Vec<(String, String)>,
}

impl Definitions {
    /// `prefix` is that of the groups on the server.
    pub(crate) fn new(documents: &[Value], prefix: &str) -> Self {
        let group = |document: &Value| document.get("spec")?.get("group")?.as_str().map(str::to_owned);
        let mut groups: Vec<String> = documents.iter().filter_map(group).collect();
        groups.sort();
        groups.dedup();
        let groups = groups.into_iter().map(|group| (group.clone(), format!("{prefix}.{group}"))).collect();
        Definitions { documents: documents.to_vec(), groups }
    }

    pub(crate) fn resources(&self) -> Resources {
        Resources::of(&self.documents)
    }

    fn names(&self) -> Names {
        Names { namespace: String::new(), groups: self.groups.clone() }
    }

    /// Creates the definitions, and waits until the server serves them.
    pub(crate) async fn create(&self, connection: &Connection, stopped: &AtomicBool) -> Result<(), String> {
        let names = self.names();
        let created = self.documents.iter().map(|document| create(connection, &names, document, stopped));
        join_all(created).await.into_iter().collect()
    }

    /// Deletes the definitions with their objects.
    pub(crate) async fn delete(&self, connection: &Connection) {
        let names = self.names();
        let deleted = self.documents.iter().filter_map(|document| {
            let document = names.value_to_server(document);
            let name = document.get("metadata")?.get("name")?.as_str()?;
            let path = format!("{PATH}/{}", encoded(name));
            Some(async move { connection.send(&Message::new("DELETE", path, String::new())).await })
        });
        // A definition that was never created has nothing to delete.
        let _ = join_all(deleted).await;
    }
}

async fn create(
    connection: &Connection,
    names: &Names,
    document: &Value,
    stopped: &AtomicBool,
) -> Result<(), String> {
    let document = names.value_to_server(document);
    let post = Message::new("POST", PATH, document.to_json());
    let answer = connection.send(&post).await?;
    if answer.code >= 300 {
        let message = names.to_case(&answer.text);
        return Err(format!("the definition was refused with the code {}: {message}", answer.code));
    }
    let spec = document.get("spec");
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let group = text(spec.and_then(|spec| spec.get("group")));
    let plural = text(spec.and_then(|spec| spec.get("names")?.get("plural")));
    let versions =
        spec.and_then(|spec| spec.get("versions")?.as_list()).into_iter().flat_map(|list| list.iter());
    let served = versions.filter(|version| version.get("served").and_then(Value::as_bool) == Some(true));
    for version in served {
        let path = format!("/apis/{group}/{}/{plural}?limit=1", text(version.get("name")));
        let end = Instant::now() + PATIENCE;
        loop {
            let answer = connection.send(&Message::new("GET", path.clone(), String::new())).await?;
            if answer.code == 200 {
                break;
            }
            if Instant::now() > end || stopped.load(Ordering::Relaxed) {
                let seconds = PATIENCE.as_secs();
                return Err(format!(
                    "{plural} are not served after {seconds} seconds: {path} has {}",
                    answer.code
                ));
            }
            sleep(PAUSE).await;
        }
    }
    Ok(())
}
