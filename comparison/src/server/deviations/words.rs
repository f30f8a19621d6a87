//! Messages about one fault in different words.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::deviation::{Deviation, Question, causes};
use crate::json::text;
use crate::server::in_process::InProcess;
use crate::server::request::Answer;

/// A request at which the real server panicked, and closed the connection.
pub(super) struct Panic;

impl Deviation for Panic {
    const NAME: &'static str = "server-panic";

    fn explains(question: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        question.exchange.real.code == 0
    }
}

/// An apply to `scale` of a custom resource, which fails in the real server.
pub(super) struct ScaleApply;

impl Deviation for ScaleApply {
    const NAME: &'static str = "server-scale-apply";

    fn explains(question: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        let (exchange, theirs) = (question.exchange, question.messages().0);
        let is_scale = exchange.kind.definition.is_some() && exchange.step.sub == "scale";
        is_scale && exchange.real.code == 500 && theirs.contains("request to convert CR")
    }
}

/// A message about an object that does not fit its type, in the words of the library.
pub(super) struct TypeWords;

impl Deviation for TypeWords {
    const NAME: &'static str = "server-type-words";

    fn explains(question: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        let (real, (theirs, our)) = (question.exchange.real, question.messages());
        let is_apply = question.exchange.step.verb == "apply";
        // Go finds a conflict about a field before it notices that the value of the field is not a scalar.
        if is_apply && real.code == 409 && conflicts_before_types(&real.body, question.ours) {
            return true;
        }

        if is_apply
            && question.is_same_refusal(real.code)
            && our.contains("expected metadata that is a map")
        {
            return true;
        }

        // Go converts to the versions of the managers in random order, and fails at the first one that lacks a field.
        let are_conversions = theirs.starts_with("failed to convert new object")
            && our.starts_with("failed to convert the object")
            && !paths(theirs).is_disjoint(&paths(our));

        // Go takes a list for a number or a string until it converts the object.
        let fault = |message: &str| {
            Some(
                message
                    .split_once("unable to convert unstructured object ")?
                    .1
                    .to_owned(),
            )
        };
        let is_later =
            our.starts_with("failed to create typed patch object ") || fault(theirs) == fault(our);
        let is_of_types = same_paths(theirs, our) || fault(theirs).is_some() && is_later;

        question.is_same_refusal(500) && (are_conversions || is_apply && is_of_types)
    }
}

/// A message of the YAML parser.
pub(super) struct YamlWords;

impl Deviation for YamlWords {
    const NAME: &'static str = "server-yaml-words";

    fn explains(question: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        let (theirs, our) = question.messages();
        let is_apply = question.exchange.step.verb == "apply";
        is_apply
            && question.is_same_refusal(400)
            && theirs.contains("yaml: ")
            && our.contains("YAML")
    }
}

/// A precondition that the store of the real server checks, whose message names the key of the store.
pub(super) struct StoreWords;

impl Deviation for StoreWords {
    const NAME: &'static str = "server-store-words";

    fn explains(question: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        let (theirs, our) = question.messages();
        question.is_same_refusal(409) && without_store(theirs) == our
    }
}

/// The paths that a message about types names: words that start with a dot.
fn paths(message: &str) -> BTreeSet<String> {
    let words = message.split([' ', '\n']);
    let words = words.filter(|word| word.starts_with('.') && word.len() > 1);
    // The library gives the key of an item where Go gives its list, or the place of the item.
    let whole = words.map(|word| {
        word.trim_end_matches(':')
            .split('[')
            .next()
            .unwrap_or_default()
            .to_owned()
    });

    whole.collect()
}

/// Whether a message is about fields of another one, and both are equal before the first of them. Go stops at the first
/// field of a map that its type does not declare.
fn same_paths(real: &str, ours: &str) -> bool {
    // What comes before the first colon names the failed step, and the object.
    let before = |message: &str| message.split(": ").next().unwrap_or_default().to_owned();
    let same_start = before(real) == before(ours) || !real.starts_with("failed to create typed");
    same_start && !paths(real).is_empty() && paths(real).is_subset(&paths(ours))
}

/// Whether the real server reports conflicts about fields whose values the library refuses, since they are no scalars.
fn conflicts_before_types(real: &Json, ours: &Answer) -> bool {
    let our = text(&ours.body, "message");
    let fields: BTreeSet<String> = causes(real)
        .iter()
        .map(|cause| text(cause, "field").to_owned())
        .collect();
    ours.code == 500
        && our.starts_with("failed to create typed patch object")
        && our.contains("expected any scalar")
        && !paths(our).is_empty()
        && paths(our).is_subset(&fields)
}

/// A message without the key of the store.
fn without_store(message: &str) -> String {
    // The key of the object in etcd is between the two parts.
    match (
        message.split_once("StorageError: invalid object"),
        message.split_once("AdditionalErrorMsg: "),
    ) {
        (Some((start, _)), Some((_, end))) => format!("{start}{end}"),
        _ => message.to_owned(),
    }
}
