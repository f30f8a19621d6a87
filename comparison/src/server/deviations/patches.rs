//! Patches that the two sides read in different ways, and what messages show of patched objects.

use serde_json::Value as Json;

use super::deviation::{Deviation, Question, causes};
use crate::json::{drop_empty, entries_mut, member, remove_pointer, same_value, text};
use crate::server::directives::{self, Leak};
use crate::server::exchange::{Candidate, Exchange};
use crate::server::in_process::InProcess;
use crate::server::kinds::Kind;
use crate::server::request::{Answer, DEFINITIONS, Step};

/// A strategic merge patch that the library refuses with another code or other words, or carries out.
pub(super) struct Strategic;

impl Deviation for Strategic {
    const NAME: &'static str = "server-strategic";

    fn explains(question: &Question<'_>, again: Option<&mut InProcess>) -> bool {
        let Question { exchange, ours, .. } = question;
        exchange.step.is_strategic()
            && (has_other_words(exchange.real, ours)
                || leaves_directives(exchange.kind, &exchange.step, exchange.real)
                || again.is_some_and(|again| answers_smaller_patch(question, again)))
    }
}

/// A strategic merge patch with several faults: Go reports the first one in the random order of its maps.
pub(super) struct FaultOrder;

impl Deviation for FaultOrder {
    const NAME: &'static str = "server-fault-order";

    fn explains(question: &Question<'_>, again: Option<&mut InProcess>) -> bool {
        let Question { exchange, ours, .. } = question;
        let are_faults = matches!(exchange.real.code, 400 | 500) && matches!(ours.code, 400 | 500);
        let body = String::from_utf8_lossy(&exchange.request.body);
        exchange.step.is_strategic()
            && (are_faults || body.contains("\"$deleteFromPrimitiveList/"))
            && again.is_some_and(|again| finds_later(question, again))
    }
}

/// A strategic merge patch whose result does not fit the Go type, in the words of another decoder.
pub(super) struct RestoreWords;

impl Deviation for RestoreWords {
    const NAME: &'static str = "server-restore-words";

    fn explains(question: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        let Question { exchange, ours, .. } = question;
        let is_refused = exchange.step.is_strategic() && question.is_same_refusal(422);
        is_refused && restores(&exchange.real.body) && patch_cause(&ours.body).is_some()
    }
}

/// A patched object in a message: Go writes the fields of a struct in their order.
pub(super) struct FieldOrder;

impl Deviation for FieldOrder {
    const NAME: &'static str = "server-field-order";

    fn explains(question: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        let real = &question.exchange.real.body;
        question.is_same_refusal(422)
            && patch_cause(real).is_some()
            && same_patched(real, &question.ours.body)
    }
}

/// The number of faults of a patch that are left out to find that of the real server.
const FAULTS: usize = 3;

/// Whether the server gives the answer of the real one to a patch.
fn agrees(exchange: &Exchange<'_>, ours: &Candidate) -> bool {
    // No server is given, so that the deviations of a smaller request do not ask for one that is smaller still.
    exchange.difference(ours).is_none_or(|found| {
        let question = Question {
            exchange,
            ours: &ours.answer,
            found: &found,
        };
        question.answered(None).is_some()
    })
}

/// Whether the server gives the answer of the real one to a patch without some of its directives, or about an object without
/// repeated entries.
fn answers_smaller_patch(question: &Question<'_>, again: &mut InProcess) -> bool {
    let exchange = question.exchange;
    let patch = &exchange.sent;
    // What Go does with a directive depends on its value and on the content around it, so that each reading is tried.
    let leaks = [Leak::Deleted, Leak::Unknown, Leak::Merge, Leak::Any];
    let mut smaller: Vec<Json> = leaks
        .iter()
        .filter_map(|leak| directives::without_leaks(patch, *leak))
        .collect();
    // Go may delete values after it sets the list, in each of these readings.
    let deleted = smaller
        .iter()
        .chain([patch])
        .filter_map(directives::deleted_last);
    smaller.extend(deleted.collect::<Vec<_>>());

    smaller.extend(directives::without_replaced(patch));
    smaller.extend(directives::without_a_directive(patch));

    smaller.iter().any(|patch| {
        let smaller = exchange.with(exchange.live, Some(patch));
        again
            .answer(&smaller)
            .is_ok_and(|ours| agrees(&smaller, &ours))
    })
}

/// Whether the server gives the answer of the real one to a patch without one of its members. If each gives another one, the
/// patch without its first fault is tried, up to a number of faults.
fn finds_later(question: &Question<'_>, again: &mut InProcess) -> bool {
    let exchange = question.exchange;
    let (mut patch, mut fault) = (exchange.sent.clone(), question.messages().1.to_owned());
    // Without the faults that this server finds first, it finds that of the real server.
    for _ in 0..FAULTS {
        let mut next: Option<(usize, Json, String)> = None;
        for smaller in directives::without_a_member(&patch) {
            let without = exchange.with(exchange.live, Some(&smaller));
            let Ok(ours) = again.answer(&without) else {
                return false;
            };
            if agrees(&without, &ours) {
                return true;
            }

            // The longest patch whose fault is another one.
            let length = without.request.body.len();
            let message = text(&ours.answer.body, "message").to_owned();
            let is_longer = next.as_ref().is_none_or(|(longest, ..)| length > *longest);
            if matches!(ours.answer.code, 400 | 500) && message != fault && is_longer {
                next = Some((length, smaller, message));
            }
        }

        let Some((_, smaller, message)) = next else {
            return false;
        };
        (patch, fault) = (smaller, message);
    }

    false
}

/// Whether the real server refuses a patch for a reason that the library has other words for, or does not have.
fn has_other_words(real: &Answer, ours: &Answer) -> bool {
    let (theirs, our) = (text(&real.body, "message"), text(&ours.body, "message"));
    let same_code = real.code == ours.code;
    // The data of a ControllerRevision has no type.
    let is_raw = theirs.starts_with("unable to find api field in struct RawExtension");
    let is_order = theirs.starts_with("expected a []interface {}, but received a")
        && our == "invalid patch format of setElementOrder list";
    if real.code == 500 && (is_raw || is_order || same_code && is_strategic(theirs, our)) {
        return true;
    }

    // A map takes no directive `merge` in Go, and the library finds another fault. Go looks for the field in the type of the
    // part of a patch, and the library has one type for scalars. Of several faults the library finds another one first.
    let words = [
        "unknown patch type: merge in map: ",
        "unable to find api field in struct ",
        "The order in patch list:",
    ];
    if same_code && words.iter().any(|words| theirs.starts_with(words)) {
        return true;
    }

    // In Go, what replaces a map is data, including its directives.
    our == "invalid patch format of retainKeys"
        && patch_cause(&real.body).is_some_and(|cause| cause.contains("$retainKeys:["))
}

/// Whether the real server took a directive of a strategic merge patch inside of new content for data.
fn leaves_directives(kind: &Kind, step: &Step<'_>, real: &Answer) -> bool {
    let patch = member(step.json, "body").to_string();
    // The list of versions is replaced as a whole.
    let versions = member(member(member(step.json, "body"), "spec"), "versions").to_string();
    if kind.group == DEFINITIONS && versions.contains("\"$") {
        return true;
    }

    let names = [
        "$patch",
        "$retainKeys",
        "$setElementOrder",
        "$deleteFromPrimitiveList",
    ];
    let is_data = |name: &&str| {
        let is_unknown = |faults: &str| {
            faults.contains(&format!(".{name}"))
                || faults.contains(&format!("unknown field \"{name}"))
        };
        let in_warning = real.warnings.iter().any(|warning| is_unknown(warning));

        // A label or a selector takes a directive for a key.
        let is_key = |cause: &Json| {
            text(cause, "message").starts_with(&format!("Invalid value: \"{name}\": "))
        };

        // The data of a ControllerRevision, which has no type, keeps a directive.
        let is_kept = |cause: &Json| {
            kind.kind == "ControllerRevision"
                && text(cause, "field") == "data"
                && text(cause, "message").contains(&format!("\"{name}"))
        };
        let in_cause = patch_cause(&real.body).is_some_and(|cause| {
            let strict = cause
                .split_once("strict decoding error: ")
                .map(|(_, faults)| faults);

            // A map of quantities takes a directive for one.
            let is_value = [
                "cannot restore ",
                "error decoding from json: ",
                "quantities must match",
            ]
            .iter()
            .any(|words| cause.contains(words));

            is_value || strict.is_some_and(is_unknown)
        });

        patch.contains(&format!("\"{name}"))
            && (in_warning
                || in_cause
                || causes(&real.body)
                    .iter()
                    .any(|cause| is_key(cause) || is_kept(cause)))
    };

    names.iter().any(is_data)
}

/// Whether both sides refuse a strategic merge patch with the code 500 for one reason, in other words.
fn is_strategic(real: &str, ours: &str) -> bool {
    let words = [
        ("unknown patch type: ", "unknown patch type: "),
        (
            "does not contain declared merge key: ",
            "does not contain declared merge key: ",
        ),
        (
            "list element types are not identical",
            "list element types are not identical",
        ),
        (
            "list element types are not identical",
            "in a list that is merged: expected maps, or scalars",
        ),
    ];

    words
        .iter()
        .any(|(theirs, our)| real.contains(theirs) && ours.contains(our))
}

/// The cause of a refused patch.
fn patch_cause(status: &Json) -> Option<&str> {
    let cause = causes(status).first()?;
    (text(cause, "field") == "patch").then(|| text(cause, "message"))
}

/// Whether the decoder of unstructured objects refused the result of a patch.
fn restores(status: &Json) -> bool {
    let words = [
        "cannot restore ",
        "cannot convert ",
        "unrecognized type: ",
        "error decoding from json: ",
    ];
    patch_cause(status).is_some_and(|cause| words.iter().any(|word| cause.contains(word)))
}

/// Whether two causes are equal, apart from the order of the fields of the object that they show, its empty fields, and the
/// forms of numbers.
fn same_patched(real: &Json, ours: &Json) -> bool {
    let parts = |status: &Json| -> Option<(Json, Json, String)> {
        let shown = patch_cause(status)?.strip_prefix("Invalid value: ")?;
        let mut read = serde_json::Deserializer::from_str(shown).into_iter::<String>();
        let object = read.next()?.ok()?;
        let rest = shown.get(read.byte_offset()..)?.to_owned();
        let mut object: Json = serde_json::from_str(&object).ok()?;

        // The order of the entries of managed fields depends on their times.
        let entries = entries_mut(&mut object);
        entries
            .into_iter()
            .for_each(|entries| entries.sort_by_cached_key(Json::to_string));
        drop_empty(&mut object);

        // The real server shows the traffic policy that it hides elsewhere, see `HIDDEN_FIELD`.
        if text(member(&object, "spec"), "type") == "ExternalName" {
            remove_pointer(&mut object, "/spec/internalTrafficPolicy");
        }

        // An object without a kind is in the message too.
        let (words, again) = match rest
            .strip_suffix('\'')
            .and_then(|rest| rest.split_once(" is missing in '"))
        {
            Some((words, again)) => (words.to_owned(), serde_json::from_str(again).ok()?),
            None => (rest, Json::Null),
        };

        Some((object, again, words))
    };

    match (parts(real), parts(ours)) {
        (Some(real), Some(ours)) => {
            real.2 == ours.2 && same_value(&real.0, &ours.0) && same_value(&real.1, &ours.1)
        }
        _ => false,
    }
}
