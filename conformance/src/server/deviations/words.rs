//! Messages about one fault in different words.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::json::{items, member, text};
use crate::server::request::Answer;

/// The paths that a message about types names: words that start with a dot.
pub(in crate::server) fn paths(message: &str) -> BTreeSet<String> {
    let words = message.split([' ', '\n']);
    let words = words.filter(|word| word.starts_with('.') && word.len() > 1);
    // The library gives the key of an item where Go gives its list, or the place of the item.
    let whole = words.map(|word| word.trim_end_matches(':').split('[').next().unwrap_or_default().to_owned());
    whole.collect()
}

/// Whether a message is about fields of another one, and both are equal before the first of them. Go stops at the first
/// field of a map that its type does not declare.
pub(in crate::server) fn same_paths(real: &str, ours: &str) -> bool {
    let before = |message: &str| message.split(": ").next().unwrap_or_default().to_owned();
    let same_start = before(real) == before(ours) || !real.starts_with("failed to create typed");
    same_start && !paths(real).is_empty() && paths(real).is_subset(&paths(ours))
}

/// Whether the real server reports conflicts about fields whose values the library refuses, since they are no scalars.
pub(in crate::server) fn conflicts_before_types(real: &Json, ours: &Answer) -> bool {
    let our = message(ours);
    let causes = items(member(real, "details"), "causes");
    let fields: BTreeSet<String> = causes.iter().map(|cause| text(cause, "field").to_owned()).collect();
    ours.code == 500
        && our.starts_with("failed to create typed patch object")
        && our.contains("expected any scalar")
        && !paths(our).is_empty()
        && paths(our).is_subset(&fields)
}

/// A message without the key of the store.
pub(in crate::server) fn without_store(message: &str) -> String {
    match (message.split_once("StorageError: invalid object"), message.split_once("AdditionalErrorMsg: ")) {
        (Some((start, _)), Some((_, end))) => format!("{start}{end}"),
        _ => message.to_owned(),
    }
}

/// The message of a refusal.
pub(super) fn message(answer: &Answer) -> &str {
    text(&answer.body, "message")
}
