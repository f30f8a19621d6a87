//! The history of an object as a scenario file.

use fieldmanager_blame::printable;
use fieldmanager_value::Value;

use super::frame::Page;
use super::place::Place;
use super::scenario::{Life, ignored, lives};
use super::step::steps;
use crate::endpoint::{Core, Failure};
use crate::object::map;
use crate::registry::Served;
use crate::store::Key;

/// A file that `fieldmanager test` runs: a scenario for each time between the creation and the deletion of the object.
pub(super) async fn export(core: &Core, place: &Place) -> Result<Page, Failure> {
    let history = place.history(core);
    if history.items.is_empty() {
        return Err(place.not_found());
    }
    let missing = |what: &str| {
        let message = format!("the history of {} cannot be a scenario: {what}", place.kind());
        Failure::new(422, "Invalid", message)
    };
    let served = place.served.as_ref().ok_or_else(|| missing("the kind is no longer served"))?;
    let ty = served.object_type().ok_or_else(|| missing("its type is not known"))?;
    let version = served.kind().api_version();
    let unions = core.registry().has_unions();
    let lives = lives(&ty, &version, unions, &history, &steps(&history))?;
    let schema = schema(core, served).await?;
    let number = lives.len();
    let documents = lives.iter().enumerate().map(|(at, life)| {
        let name = match number {
            1 => format!("history of {} {}", place.kind(), place.name()),
            _ => format!("history of {} {}, part {}", place.kind(), place.name(), at + 1),
        };
        document(&name, &schema, &version, unions, life)
    });
    let parts = place.key.parts();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' };
    let name: String = format!("{}-{}", parts.plural, parts.name).chars().map(plain).take(200).collect();
    Ok(Page {
        code: 200,
        content_type: "application/yaml",
        body: documents.collect::<Vec<_>>().join("---\n"),
        file_name: Some(format!("{name}.yaml")),
    })
}

/// The schema of the kind: the one of Kubernetes, or the definition.
async fn schema(core: &Core, served: &Served) -> Result<Value, Failure> {
    let Some(definition) = served.definition() else { return Ok("builtin:kubernetes".into()) };
    let key = Key::new("apiextensions.k8s.io", "customresourcedefinitions", None, &definition.name)?;
    let entry = core.store.get(&key, None).await?.entry;
    let stored = entry.map(|entry| entry.object).unwrap_or_default();
    let field = |name: &str| stored.get(name).cloned().unwrap_or_default();
    let metadata = map([("name", definition.name.as_str().into())]);
    Ok(map([
        ("apiVersion", field("apiVersion")),
        ("kind", field("kind")),
        ("metadata", metadata),
        ("spec", field("spec")),
    ]))
}

fn document(name: &str, schema: &Value, version: &str, unions: bool, life: &Life) -> String {
    let options = map([("unions", unions.into()), ("ignoredFields", map([(version, ignored())]))]);
    let head = [("name", Value::from(name)), ("schema", schema.clone()), ("options", options)];
    let mut out: String = head.into_iter().map(|field| map([field]).to_yaml()).collect();
    out.push_str("steps:\n");
    for (comment, step) in &life.steps {
        out.push_str(&format!("# {}\n", printable(comment)));
        if let Some(step) = step {
            out.push_str(&Value::from(vec![step.clone()]).to_yaml());
        }
    }
    out
}
