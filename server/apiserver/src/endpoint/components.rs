//! The components of a cluster, as far as a server knows them: its store, and the programs on the same machine.
//!
//! Behaviour: `k8s.io/kubernetes/pkg/registry/core/componentstatus`.

#[cfg(feature = "net")]
use fieldmanager_admission::internal::probe;
use fieldmanager_value::Value;
use futures::future::join_all;

use super::list::check_options;
use super::selection::Selection;
use super::{Answer, Call, Content, Core, Failure, Listed, Verb};
use crate::object::map;
use crate::store::{Entry, Revision};

/// The programs, with their ports.
const PROGRAMS: [(&str, u16); 2] = [("scheduler", 10259), ("controller-manager", 10257)];

/// The store, whatever it is.
const STORE: &str = "etcd-0";

impl Core {
    /// Answers a get or a list of components, which are asked now.
    pub(super) async fn components(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let known = PROGRAMS.map(|(name, _)| name).into_iter().chain([STORE]);
        if call.verb == Verb::Get {
            let name = known.into_iter().find(|name| *name == call.name);
            let missing = || {
                let object = ("", "componentstatus", call.name);
                let message = format!("componentstatus {:?} not found", call.name);
                Failure::about(404, "NotFound", object, message)
            };
            let object = self.component(name.ok_or_else(missing)?).await;
            return Ok(Answer::object(200, object));
        }

        // A list has no pages, and no revision.
        let selection = Selection::of(call)?;
        check_options(call.query, false)?;
        call.query.number("limit")?;
        let entries = known.map(async |name| -> Result<Entry, Failure> {
            Ok(Entry {
                key: call.served.key("", name)?,
                object: self.component(name).await,
                revision: Revision::FIRST,
            })
        });
        let entries = join_all(entries)
            .await
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?;

        let is_selected = |entry: &Entry| selection.matches(&entry.object);
        Ok(Answer::new(
            200,
            Content::List(Listed {
                items: entries.into_iter().filter(is_selected).collect(),
                are_stored: false,
                revision: None,
                next: String::new(),
                remaining: None,
            }),
        ))
    }

    /// The status of a component.
    async fn component(&self, name: &str) -> Value {
        let program = PROGRAMS.into_iter().find(|(program, _)| *program == name);
        let (status, message, error) = match program {
            Some((_, port)) => match probe(port).await {
                Ok(message) => ("True", message, String::new()),
                Err(message) => ("False", message, String::new()),
            },
            None => match self.store.revision().await {
                Ok(_) => ("True", "ok".to_owned(), String::new()),
                Err(error) => ("False", String::new(), error.to_string()),
            },
        };

        let text = |name, text: String| (!text.is_empty()).then(|| (name, Value::from(text)));
        let members = [
            Some(("type", "Healthy".into())),
            Some(("status", status.into())),
            text("message", message),
            text("error", error),
        ];
        map([
            ("apiVersion", "v1".into()),
            ("kind", "ComponentStatus".into()),
            ("metadata", map([("name", name.into())])),
            (
                "conditions",
                vec![map(members.into_iter().flatten())].into(),
            ),
        ])
    }
}

/// A server without a network reaches no program.
#[cfg(not(feature = "net"))]
async fn probe(port: u16) -> Result<String, String> {
    let refused = "connect: connection refused";
    Err(format!(
        "Get \"https://127.0.0.1:{port}/healthz\": dial tcp 127.0.0.1:{port}: {refused}"
    ))
}
