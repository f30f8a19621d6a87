//! Scenario files as the state of an API server.

use std::path::{Path, PathBuf};

use fieldmanager_apiserver::store::StoreError;
use fieldmanager_apiserver::testing::{Refusal, TestServer};
use fieldmanager_apiserver::{ApiServer, LoadError};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;

use crate::Errors;
use crate::load::Loader;
use crate::scenario::{Action, Expect, ManagedWrite, Scenario, WriteVerb};

/// Makes the state at the end of the scenarios of a file in a server for tests: creates the CustomResourceDefinitions of
/// their schemas, and sends their applies, updates and patches as requests of their managers. A
/// [reset](ApiServer::reset) of the server goes back to this state, and its log begins after it.
///
/// The objects of the steps need `apiVersion`, `kind` and a name. The schema is a CustomResourceDefinition, in the file or
/// in one of its own, or `builtin:kubernetes`. Expectations of objects and owners are not compared, because the server adds
/// defaults and metadata; a step is refused if and only if the scenario expects that.
///
/// # Errors
///
/// [`SetupError`], with the file and the number of the step.
///
/// ```
/// # tokio_test::block_on(async {
/// use fieldmanager_apiserver::{ApiServer, assert_owned};
///
/// let server = ApiServer::for_test().build().await?;
/// fieldmanager_harness::set_up(&server, "tests/setup/shops.yaml").await?;
/// let shop = server.get("shop.example.com/v1", "Shop", "corner").await?;
/// assert_owned!(shop, "alice", ".spec.hours");
/// assert_owned!(shop, "bob", ".spec.staff");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub async fn set_up(server: &TestServer, file: impl AsRef<Path>) -> Result<(), SetupError> {
    let file = file.as_ref();
    for scenario in Loader::new().load([file])? {
        let failed = |step: Option<usize>, reason: String| SetupError::Failed {
            file: file.to_owned(),
            scenario: scenario.name.clone(),
            step: step.map_or_else(String::new, |step| format!(", step {}", step + 1)),
            reason,
        };

        for definition in scenario
            .schema
            .definitions()
            .map_err(|reason| failed(None, reason))?
        {
            match server.load(definition).await {
                // Several scenarios may have the same definition.
                Ok(()) | Err(LoadError::Exists(_)) => {}
                Err(error) => return Err(failed(None, error.to_string())),
            }
        }

        run(server, &scenario)
            .await
            .map_err(|(step, reason)| failed(Some(step), reason))?;
    }

    match server.mark_start().await {
        Ok(()) | Err(StoreError::NoSnapshots) => {}
        Err(error) => return Err(error.into()),
    }
    ApiServer::clear_log(server);
    Ok(())
}

/// Why a scenario file cannot be the state of a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The file cannot be read as scenarios.
    #[error(transparent)]
    File(#[from] Errors),
    /// The server refuses a step, or the step cannot be a request.
    #[error("{}: scenario {scenario:?}{step}: {reason}", file.display())]
    Failed {
        /// The file.
        file: PathBuf,
        /// The name of the scenario.
        scenario: String,
        /// `, step N`, or empty for the schema.
        step: String,
        /// What was found, and what would be accepted.
        reason: String,
    },
    /// The store of the server failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Sends the steps of a scenario. The error is the index of a step and the reason.
async fn run(server: &TestServer, scenario: &Scenario) -> Result<(), (usize, String)> {
    let mut live: Option<String> = None;
    for (number, step) in scenario.steps.iter().enumerate() {
        let failed = |reason: String| (number, reason);
        let answer = match &step.action {
            Action::Write(write) => send(server, write, &mut live).await.map_err(failed)?,
            other => return Err(failed(not_a_request(other.name()))),
        };

        match (answer, is_refused(&step.expect)) {
            (Ok(_), true) => {
                return Err(failed(
                    "the scenario expects an error, and the server has none".into(),
                ));
            }
            (Err(refusal), false) => return Err(failed(refusal.to_string())),
            _ => {}
        }
    }

    Ok(())
}

/// Sends a write; `live` is the path of the object, to which patches are sent.
async fn send(
    server: &TestServer,
    write: &ManagedWrite,
    live: &mut Option<String>,
) -> Result<Result<(), Refusal>, String> {
    let (manager, given) = (&write.manager, &write.given);
    let before = live.clone();
    if let Some(object) = write.object() {
        *live = Some(path_of(server, object)?);
    }
    Ok(match write.verb {
        WriteVerb::Apply { force: true } => server.force_apply(manager, given).await,
        WriteVerb::Apply { force: false } => server.apply(manager, given).await,
        WriteVerb::Update if before.is_none() => server.create_as(manager, given).await,
        WriteVerb::Update => server.update(manager, given).await,
        WriteVerb::Patch(how) => {
            let path = before.ok_or("there is no object to patch")?;
            server
                .patch_at(&path, manager, how.content_type(), given)
                .await
        }
        WriteVerb::ExtractApply => return Err(not_a_request("extractApply")),
    }
    .map(|_| ()))
}

fn not_a_request(name: &str) -> String {
    format!("`{name}` is no request: expected `apply`, `update` or `patch`")
}

fn path_of(server: &TestServer, object: &Value) -> Result<String, String> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let name = object.metadata_string("name");
    if api_version.is_empty() || kind.is_empty() || name.is_empty() {
        return Err(
            "the object cannot be stored: expected `apiVersion`, `kind` and `metadata.name`"
                .to_owned(),
        );
    }

    let name = match object.metadata_string("namespace") {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    };
    server
        .path(api_version, kind, &name)
        .map_err(|refusal: Refusal| refusal.to_string())
}

fn is_refused(expect: &Expect) -> bool {
    let conflicts = expect
        .conflicts
        .as_ref()
        .is_some_and(|conflicts| !conflicts.is_empty());
    conflicts || expect.error.is_some()
}
