//! The needs of cases, and whether the server meets them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fieldmanager_builtin::Kind;
use fieldmanager_harness::Scenario;
use fieldmanager_harness::internal::{Action, SchemaSource, Step};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::cleanup::{Created, Leftover};
use crate::connection::{Connection, Message};
use crate::definitions::{Creation, Definitions, PATH, Unmet};
use crate::resources::{group_version, root};
use crate::stop::Stop;

const PROBE: &str = include_str!("probe.yaml");

/// How often discovery is read until it has the probe, and the time between.
const ATTEMPTS: usize = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// The features of a server.
pub(crate) struct Features {
    /// The words of `needs` with a feature that the server has.
    known: BTreeSet<&'static str>,
    /// Why the probe could not be created, if it could not.
    unmet: Option<Unmet>,
    /// The objects of the probe that were not removed.
    pub(crate) left: Vec<Leftover>,
    /// The names of the resources at versions that were asked for; `None` if a version is not served.
    served: Mutex<BTreeMap<String, Option<BTreeSet<String>>>>,
}

impl Features {
    /// Asks the server by a definition of its own, if a case needs that.
    pub(crate) async fn probe(
        connection: &Connection,
        run: &str,
        scenarios: &[&Scenario],
        stop: &Stop,
    ) -> Self {
        let mut features = Features {
            known: BTreeSet::new(),
            unmet: None,
            left: Vec::new(),
            served: Mutex::default(),
        };

        if !scenarios.iter().any(|scenario| {
            scenario
                .case
                .as_ref()
                .is_some_and(|case| !case.needs.is_empty())
        }) {
            return features;
        }

        let document = Value::from_yaml(PROBE).unwrap_or_default();
        let probe = Definitions::new(&[document], &format!("probe-{run}"));
        let created = Created::default();
        let creation = Creation {
            connection,
            run,
            created: &created,
            stop,
        };
        match probe.create(&creation).await {
            Ok(()) => features.known = ask(connection, &probe).await,
            Err(unmet) => features.unmet = Some(unmet),
        }
        features.left = created.remove(connection, run, "").await;

        features
    }

    /// Why a case cannot be run on the server, if it cannot.
    pub(crate) async fn lacks(
        &self,
        connection: &Connection,
        scenario: &Scenario,
    ) -> Option<Unmet> {
        let needs = scenario.case.iter().flat_map(|case| &case.needs);
        // If the probe itself failed, its reason is that of every missing feature.
        for need in needs {
            if !self.known.contains(need) {
                return Some(self.unmet.clone().unwrap_or_else(|| {
                    Unmet::Unserved(match *need {
                        "unions" => "no unions".into(),
                        subresource => format!("no {subresource} subresource"),
                    })
                }));
            }
        }

        for (api_version, kind) in kinds(&scenario.steps) {
            let (group, version) = group_version(&api_version);
            let facts = Kind::of(&GroupVersionKind::new(group, version, kind.as_str()));
            let Some(facts) = facts.as_ref().and_then(Kind::resource) else {
                continue;
            };
            // Kinds that the case defines are served by now. A built-in kind may be missing on this server.
            let is_own = scenario
                .schema
                .definitions()
                .is_ok_and(|own| own.iter().any(|one| is_of_group(one, group)));

            if !is_own && !self.serves(connection, &api_version, &facts.plural).await {
                return Some(Unmet::Unserved(format!(
                    "{kind} at {api_version} is not served"
                )));
            }
        }

        None
    }

    async fn serves(&self, connection: &Connection, api_version: &str, plural: &str) -> bool {
        let mut served = self.served.lock().await;
        // Most cases use the same few versions, so each is asked for once.
        if !served.contains_key(api_version) {
            served.insert(
                api_version.to_owned(),
                resources(connection, api_version).await,
            );
        }

        served
            .get(api_version)
            .and_then(Option::as_ref)
            .is_some_and(|names| names.contains(plural))
    }
}

fn is_of_group(definition: &Value, group: &str) -> bool {
    definition
        .get("spec")
        .and_then(|spec| spec.get("group")?.as_str())
        == Some(group)
}

async fn ask(connection: &Connection, probe: &Definitions) -> BTreeSet<&'static str> {
    let Some((_, group)) = probe.groups.first() else {
        return BTreeSet::new();
    };
    let mut known = BTreeSet::new();
    let mut names = BTreeSet::new();

    for _ in 0..ATTEMPTS {
        names = resources(connection, &format!("{group}/v1"))
            .await
            .unwrap_or_default();
        if names.contains("probes") {
            break;
        }
        // Discovery follows a definition a little later.
        sleep(PAUSE).await;
    }

    known.extend(
        ["status", "scale"]
            .into_iter()
            .filter(|name| names.contains(&format!("probes/{name}"))),
    );
    let definition = Message::new("GET", format!("{PATH}/probes.{group}"), String::new());
    let stored = connection
        .send(&definition)
        .await
        .map(|answer| answer.text)
        .unwrap_or_default();

    // A server without unions drops the unknown extension.
    known.extend(stored.contains("x-kubernetes-unions").then_some("unions"));
    known
}

/// The names of the resources at a version, with their subresources.
async fn resources(connection: &Connection, api_version: &str) -> Option<BTreeSet<String>> {
    let answer = connection
        .send(&Message::new("GET", root(api_version), String::new()))
        .await
        .ok()?;
    let body = Value::from_json(&answer.text)
        .ok()
        .filter(|_| answer.code == 200)?;
    let name = |resource: &Value| resource.get("name")?.as_str().map(str::to_owned);

    Some(
        body.get("resources")?
            .as_list()?
            .iter()
            .filter_map(name)
            .collect(),
    )
}

/// The versions and kinds of the objects of steps.
fn kinds(steps: &[Step]) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let mut add = |api_version: Option<&str>, kind: Option<&str>| {
        if let (Some(api_version), Some(kind)) = (api_version, kind) {
            found.insert((api_version.to_owned(), kind.to_owned()));
        }
    };
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    // Steps of watches and branches are visited too.
    let mut nested: Vec<&Step> = steps.iter().collect();

    while let Some(step) = nested.pop() {
        match &step.action {
            Action::Write(write) => {
                let of_object = |name: &str| text(write.object()?, name);
                add(
                    of_object("apiVersion").as_deref(),
                    of_object("kind").as_deref(),
                );
            }
            Action::Request(request) => {
                let body = request.body.as_ref();
                let of_body = |name: &str| body.and_then(|body| text(body, name));
                let target = &request.target;
                let api_version = target
                    .api_version
                    .as_ref()
                    .map(ToString::to_string)
                    .or(of_body("apiVersion"));
                let kind = target
                    .kind
                    .as_ref()
                    .map(ToString::to_string)
                    .or(of_body("kind"));
                add(api_version.as_deref(), kind.as_deref());
            }
            Action::Watch(watch) => nested.extend(&watch.steps),
            Action::Parallel(branches) => {
                nested.extend(branches.iter().flat_map(|branch| &branch.steps))
            }
            _ => {}
        }
    }

    found
}

/// Whether a step changes definitions, so that the case cannot share its own with others.
pub(crate) fn changes_definitions(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.action {
        Action::ChangeSchema { schema } => !matches!(schema, SchemaSource::Builtin(_)),
        Action::Request(request) => {
            let kind = request.target.kind.as_deref().or(request
                .body
                .as_ref()
                .and_then(|body| body.get("kind")?.as_str()));
            let path = request.target.path.as_deref().unwrap_or_default();
            kind == Some("CustomResourceDefinition") || path.contains("customresourcedefinitions")
        }
        Action::Watch(watch) => changes_definitions(&watch.steps),
        Action::Parallel(branches) => branches
            .iter()
            .any(|branch| changes_definitions(&branch.steps)),
        _ => false,
    })
}
