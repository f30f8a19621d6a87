//! The history of an object as a file. The server has the history; the [`ExportHistory`](crate::log::ExportHistory) of a program has the format.

use fieldmanager_value::Value;

use super::frame::Page;
use super::place::Place;
use super::step::{Step, steps};
use crate::endpoint::{Core, Failure};
use crate::log::{Event, ObjectHistory, RecordedEffect, RecordedEvent, RecordedHistory};
use crate::object::map;
use crate::registry::Served;
use crate::store::Key;

/// The file of a history, to be saved.
pub(super) async fn export(core: &Core, place: &Place) -> Result<Page, Failure> {
    let write = core.export.ok_or_else(Failure::path_not_found)?;
    let history = place.history(core);
    if history.items.is_empty() {
        return Err(place.not_found());
    }
    let refused = |reason: String| Failure::new(422, "Invalid", reason);
    // A scenario needs the kind and its schema, which ended with the definition.
    let Some(served) = &place.served else {
        let kind = place.kind();
        return Err(refused(format!(
            "the history of {kind} cannot be a scenario: the kind is no longer served"
        )));
    };

    let recorded = RecordedHistory {
        title: format!("{} {}", place.kind(), place.name()),
        kind: served.kind().clone(),
        definition: definition(core, served).await?,
        unions: core.registry().has_unions(),
        events: steps(&history)
            .into_iter()
            .enumerate()
            .map(|(at, step)| event(&history, at, step))
            .collect(),
    };

    Ok(Page {
        code: 200,
        content_type: "application/yaml",
        body: write(&recorded).map_err(refused)?,
        file_name: Some(file_name(place)),
    })
}

/// The definition of a custom kind, without what the server adds to it.
async fn definition(core: &Core, served: &Served) -> Result<Option<Value>, Failure> {
    let Some(definition) = served.definition() else {
        return Ok(None);
    };
    let key = Key::new(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        None,
        &definition.name,
    )?;
    let entry = core.store.get(&key, None).await?.entry;
    let stored = entry.map(|entry| entry.object).unwrap_or_default();
    let field = |name: &str| stored.get(name).cloned().unwrap_or_default();

    // The file creates the definition again, so it has no uid, status or managed fields of this server.
    let metadata = map([("name", definition.name.as_str().into())]);
    Ok(Some(map([
        ("apiVersion", field("apiVersion")),
        ("kind", field("kind")),
        ("metadata", metadata),
        ("spec", field("spec")),
    ])))
}

/// A name for the file that every system accepts.
fn file_name(place: &Place) -> String {
    let parts = place.key.parts();
    let name: String = format!("{}-{}", parts.plural, parts.name)
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '.' | '_' => c,
            _ => '-',
        })
        .take(200)
        .collect();
    format!("{name}.yaml")
}

/// What the page calls a step, as data.
fn event(history: &ObjectHistory, at: usize, step: Step<'_>) -> RecordedEvent {
    let (after, before) = history.states(at);
    let request = step.item.request.as_deref();
    let text = |text: Option<&String>| text.cloned().unwrap_or_default();
    RecordedEvent {
        time: step.item.time.to_string(),
        sentence: step.sentence(),
        manager: text(request.map(|request| &request.manager)),
        verb: text(request.map(|request| &request.verb)),
        subresource: text(request.map(|request| &request.subresource)),
        effect: match &step.item.event {
            Event::Found { .. } => RecordedEffect::Found,
            Event::Written { .. } => RecordedEffect::Written,
            Event::Refused(refusal) => RecordedEffect::Refused {
                conflicts: refusal.conflicts.clone(),
                body: refusal.body.clone(),
            },
        },
        before: before.cloned(),
        after: after.cloned(),
        changes: step.changes,
    }
}
