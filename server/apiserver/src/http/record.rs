//! Requests as the log shows them.

use bytes::Bytes;
use fieldmanager_value::Value;
use http::header;

use super::message::Head;
use super::route::Route;
use super::verb::verb;
use crate::endpoint::{Call, Core, Failure, Verb};
use crate::log::{self, LogEntry, Refusal};
use crate::object::{in_group, text};

/// The entry of a request that has not been answered.
pub(super) fn entry(core: &Core, head: &Head, route: &Route) -> LogEntry {
    let text = |name| head.header(name).unwrap_or_default().to_owned();
    let user_agent = text(header::USER_AGENT);
    let mut entry = LogEntry {
        time: core.source.now().to_string(),
        manager: fieldmanager_managedfields::manager_name(
            head.query.text("fieldManager"),
            &user_agent,
        ),
        user_agent,
        verb: head.method.as_str().to_ascii_lowercase(),
        path: head.path.clone(),
        dry_run: head.query.all("dryRun").any(|value| !value.is_empty()),
        ..LogEntry::default()
    };

    let Route::Resource(path) = route else {
        return entry;
    };
    if let Ok(verb) = verb(head, path) {
        entry.verb = verb_name(head, verb).to_owned();
    }

    entry.resource = in_group(&path.plural, &path.group);
    entry.version = path.version.clone();
    entry.namespace = path.namespace.clone();
    entry.name = path.name.clone();
    entry.subresource = path.subresource.clone();
    entry
}

/// The verb in the log and in faults: `apply` is a verb of its own.
pub(super) fn verb_name(head: &Head, verb: Verb) -> &'static str {
    let media = head.header(header::CONTENT_TYPE).unwrap_or_default();
    match verb {
        Verb::Patch if media.starts_with("application/apply-patch") => "apply",
        verb => verb.name(),
    }
}

/// Records in the history of an object that a request was refused: because of a conflict, a fault of the object, by
/// admission, or because of a fault that was injected.
pub(super) fn refused(call: &Call<'_>, failure: &Failure, is_injected: bool) {
    let is_write = !matches!(call.verb, Verb::Get | Verb::List | Verb::Watch);
    let is_refusal = failure.is_denied || matches!(failure.status.code, 409 | 422);
    let is_refusal = is_write && is_refusal;
    if !(is_refusal || is_injected) {
        return;
    }

    // The object of a creation is named in its body.
    let body = match call.verb {
        Verb::Create => Value::from_json_slice(call.body).unwrap_or_default(),
        _ => Value::Null,
    };
    let name = if call.name.is_empty() {
        text(&body, &["metadata", "name"])
    } else {
        call.name
    };

    // A key has a name.
    let Ok(key) = call.served.key(call.namespace, name) else {
        return;
    };
    let causes = failure
        .status
        .details
        .iter()
        .flat_map(|details| &details.causes);
    let conflicts = causes.filter(|cause| cause.reason == "FieldManagerConflict");
    let refusal = Refusal {
        message: failure.status.message.clone(),
        conflicts: conflicts
            .map(|cause| (cause.message.clone(), cause.field.clone()))
            .collect(),
        body: Bytes::copy_from_slice(call.body),
    };
    log::refused(&key, refusal);
}
