//! The history of an object of an API server as a scenario file.

mod differences;
mod lives;
mod part;

use fieldmanager_apiserver::log::RecordedHistory;
use fieldmanager_value::Value;
use fieldmanager_value::internal::escape_untrusted;

use crate::outcome::map;
use lives::{Life, ignored, lives};

/// Writes the history of an object as a scenario file that `fieldmanager test` runs: the
/// [format](fieldmanager_apiserver::Builder::export) of the page of a server. The file has a scenario for each time between
/// the creation and the deletion of the object.
///
/// # Errors
///
/// The reason, if the library alone would have other results than the server.
///
/// ```
/// # tokio_test::block_on(async {
/// use fieldmanager_apiserver::ApiServer;
///
/// let server = ApiServer::builder().export(fieldmanager_harness::export_history).build().await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub fn export_history(history: &RecordedHistory) -> Result<String, String> {
    let lives =
        lives(history).map_err(|reason| format!("the history cannot be a scenario: {reason}"))?;
    let number = lives.len();
    let documents = lives.iter().enumerate().map(|(at, life)| {
        let part = match number {
            1 => String::new(),
            _ => format!(", part {}", at + 1),
        };
        document(
            &format!("history of {}{part}", history.title),
            history,
            life,
        )
    });

    Ok(documents.collect::<Vec<_>>().join("---\n"))
}

fn document(name: &str, history: &RecordedHistory, life: &Life) -> String {
    let schema = history.definition.clone();
    let version = history.kind.api_version();
    let filters = Value::Map(
        [(version.as_str(), ignored().to_value())]
            .into_iter()
            .collect(),
    );
    let options = map([
        ("unions", history.unions.into()),
        ("ignoredFields", filters),
    ]);
    let head = [
        ("name", Value::from(name)),
        (
            "schema",
            schema.unwrap_or_else(|| "builtin:kubernetes".into()),
        ),
        ("options", options),
    ];

    let mut out: String = head.map(|field| map([field]).to_yaml()).concat();
    out.push_str("steps:\n");
    for (comment, step) in &life.steps {
        out.push_str(&format!("# {}\n", escape_untrusted(comment)));
        if let Some(step) = step {
            out.push_str(&Value::from(vec![step.clone()]).to_yaml());
        }
    }

    out
}
