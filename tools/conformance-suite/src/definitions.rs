//! The CustomResourceDefinitions of a run.

use std::time::Duration;

use fieldmanager_value::Value;
use futures::future::join_all;
use tokio::time::{Instant, sleep};

use crate::cleanup::{Created, LABEL};
use crate::connection::{Connection, Message};
use crate::names::Names;
use crate::resources::Resources;
use crate::stop::Stop;

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
        let group = |document: &Value| {
            document
                .get("spec")?
                .get("group")?
                .as_str()
                .map(str::to_owned)
        };
        // Each group has its own name on the server, so that cases with the same groups run at once.
        let mut groups: Vec<String> = documents.iter().filter_map(group).collect();
        groups.sort();
        groups.dedup();
        let groups = groups
            .into_iter()
            .map(|group| (group.clone(), format!("{prefix}.{group}")))
            .collect();

        Definitions {
            documents: documents.to_vec(),
            groups,
        }
    }

    pub(crate) fn resources(&self) -> Resources {
        Resources::of(&self.documents)
    }

    fn names(&self) -> Names {
        Names {
            namespace: String::new(),
            groups: self.groups.clone(),
        }
    }

    /// Creates the definitions, and waits until the server serves them.
    pub(crate) async fn create(&self, creation: &Creation<'_>) -> Result<(), Unmet> {
        let names = self.names();
        let created = self
            .documents
            .iter()
            .map(|document| creation.create(&names, document));
        join_all(created).await.into_iter().collect()
    }
}

/// Why a case has no custom resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unmet {
    /// The server does not serve definitions.
    Unserved(String),
    /// The server serves definitions, and refused or did not serve one.
    Failed(String),
}

/// The definition with the label of a run.
pub(crate) fn labelled(definition: &Value, run: &str) -> Value {
    let Value::Map(map) = definition else {
        return definition.clone();
    };
    let child = |value: Option<&Value>| value.and_then(Value::as_map).cloned().unwrap_or_default();
    // After a run that could not remove everything, the label finds what is left.
    let mut metadata = child(map.get("metadata"));
    let mut labels = child(metadata.get("labels"));
    labels.insert(LABEL, Value::from(run));
    metadata.insert("labels", Value::Map(labels));
    let mut map = map.clone();
    map.insert("metadata", Value::Map(metadata));

    Value::Map(map)
}

/// How definitions are created.
pub(crate) struct Creation<'c> {
    pub(crate) connection: &'c Connection,
    /// The name of the run.
    pub(crate) run: &'c str,
    pub(crate) created: &'c Created,
    pub(crate) stop: &'c Stop,
}

impl Creation<'_> {
    async fn create(&self, names: &Names, document: &Value) -> Result<(), Unmet> {
        let document = labelled(&names.value_to_server(document), self.run);
        let post = Message::new("POST", PATH, document.to_json());
        let answer = self.connection.send(&post).await;
        // A request without an answer may have created the definition too, so it is noted before the answer is
        // examined.
        self.created.note(&post, &answer).await;
        let answer = answer.map_err(Unmet::Failed)?;

        if answer.code >= 300 {
            let message = names.to_case(&answer.message());
            let message = format!(
                "the definition was refused with the code {}: {message}",
                answer.code
            );
            // A server without definitions skips the cases that need them; one that refuses a definition fails them.
            return Err(match answer.code {
                404 => Unmet::Unserved(format!("no custom resources: {message}")),
                _ => Unmet::Failed(message),
            });
        }

        // The server accepts a definition before it serves its versions, and requests in between would have the code
        // 404.
        let spec = document.get("spec");
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let group = text(spec.and_then(|spec| spec.get("group")));
        let plural = text(spec.and_then(|spec| spec.get("names")?.get("plural")));
        let versions = spec
            .and_then(|spec| spec.get("versions")?.as_list())
            .into_iter()
            .flat_map(|list| list.iter());
        let served =
            versions.filter(|version| version.get("served").and_then(Value::as_bool) == Some(true));

        for version in served {
            let path = format!(
                "/apis/{group}/{}/{plural}?limit=1",
                text(version.get("name"))
            );
            self.wait_until_served(&plural, &path)
                .await
                .map_err(Unmet::Failed)?;
        }

        Ok(())
    }

    async fn wait_until_served(&self, plural: &str, path: &str) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        loop {
            let answer = self
                .connection
                .send(&Message::new("GET", path, String::new()))
                .await?;
            if answer.code == 200 {
                return Ok(());
            }
            if self.stop.is_set() {
                return Err("the run was stopped".into());
            }

            if Instant::now() > end {
                let seconds = PATIENCE.as_secs();
                let message = answer.message();
                return Err(format!(
                    "{plural} are not served after {seconds} seconds: {path} has {} {message}",
                    answer.code
                ));
            }
            sleep(PAUSE).await;
        }
    }
}
