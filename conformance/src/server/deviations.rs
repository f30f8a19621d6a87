//! Listed deviations: differences that have a reason, see `docs/deviations.md`.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::kinds::Kind;
use super::request::{Answer, DEFINITIONS, Step};
use crate::json::{items, member, set, text};
use crate::suite::Difference;

/// A request at which the real server panicked, and closed the connection.
pub(super) const PANIC: &str = "server-panic";
/// A message about an object that does not fit its type, in the words of the library.
pub(super) const TYPE_WORDS: &str = "server-type-words";
/// Conflicts in another order.
pub(super) const CONFLICT_ORDER: &str = "server-conflict-order";
/// Faults or causes in another order, since the validators of Kubernetes visit Go maps.
pub(super) const CAUSE_ORDER: &str = "server-cause-order";
/// An apply to `scale` of a custom resource, which fails in the real server.
pub(super) const SCALE_APPLY: &str = "server-scale-apply";
/// A `resourceVersion` that is not a number.
pub(super) const VERSION_NUMBER: &str = "server-version-number";
/// A message of the YAML parser.
pub(super) const YAML_WORDS: &str = "server-yaml-words";

/// An object that the real server writes again although it is equal to the stored one.
pub(super) const WRITTEN_AGAIN: &str = "server-written-again";

/// A precondition that the store of the real server checks, whose message names the key of the store.
pub(super) const STORE_WORDS: &str = "server-store-words";
/// A patched object in a message: Go writes the fields of a struct in their order.
pub(super) const FIELD_ORDER: &str = "server-field-order";
/// A strategic merge patch whose result does not fit the Go type, in the words of another decoder.
pub(super) const RESTORE_WORDS: &str = "server-restore-words";
/// A strategic merge patch that the library refuses with another code or other words, or carries out.
pub(super) const STRATEGIC: &str = "server-strategic";
/// Two live entries of one manager, of which Go keeps the last.
pub(super) const DUPLICATE_ENTRIES: &str = "server-duplicate-entries";

/// A value in a message: Go tells an empty list or map from an absent one.
pub(super) const EMPTY_VALUES: &str = "server-empty-values";

/// A check of a built-in kind that the library does not make.
pub(super) const VALIDATION: &str = "server-validation";

/// A rule of a definition that Kubernetes refuses for its types or its cost.
pub(super) const RULE_TYPES: &str = "server-rule-types";

/// A definition in a message, with an empty list or map where the library has none.
pub(super) const EMPTY_SHOWN: &str = "server-empty-shown";

/// The rule that explains a difference.
pub(super) fn explain(
    kind: &Kind,
    step: &Step<'_>,
    live: &Json,
    real: &Answer,
    ours: &Answer,
    found: &Difference,
) -> Option<&'static str> {
    let (theirs, our) = (message(real), message(ours));
    let same_code = real.code == ours.code;
    if real.code == 0 {
        return Some(PANIC);
    }
    if real.code == 500
        && kind.definition.is_some()
        && step.sub == "scale"
        && theirs.contains("request to convert CR")
    {
        return Some(SCALE_APPLY);
    }
    if real.code == 500 && theirs.starts_with("strconv.ParseUint: parsing") && ours.code == 409 {
        return Some(VERSION_NUMBER);
    }
    // The store has claims without their phase until the second write.
    let is_rewritten = kind.definition.is_some() || kind.kind == "PersistentVolumeClaim";
    if found.what == "write" && is_rewritten && found.reference == json!(true) {
        return Some(WRITTEN_AGAIN);
    }
    if step.verb == "strategic" && is_strategic(real.code, theirs) {
        return Some(STRATEGIC);
    }
    if step.verb == "strategic" && leaves_directives(kind, step, real) {
        return Some(STRATEGIC);
    }
    if kind.group == DEFINITIONS {
        if real.code == 422 && is_rule_check(&real.body, ours) {
            return Some(RULE_TYPES);
        }
    } else if kind.definition.is_none() && real.code == 422 && is_other_validation(&real.body, ours) {
        return Some(VALIDATION);
    }
    if real.code == 422 && ours.is_success() && empties_immutable(step, real) {
        return Some(EMPTY_VALUES);
    }
    if found.what == "managed" && has_duplicates(live) {
        return Some(DUPLICATE_ENTRIES);
    }
    if same_code && real.warnings == ours.warnings {
        let is_metadata = our.contains("expected metadata that is a map");
        if step.verb == "apply" && (is_metadata || real.code == 500 && same_paths(theirs, our)) {
            return Some(TYPE_WORDS);
        }
        if real.code == 400 && theirs.contains("yaml: ") && our.contains("YAML") && step.verb == "apply" {
            return Some(YAML_WORDS);
        }
        if real.code == 409 && without_store(theirs) == our {
            return Some(STORE_WORDS);
        }
        if real.code == 422 && step.verb == "strategic" && restores(&real.body) && has_patch_cause(&ours.body)
        {
            return Some(RESTORE_WORDS);
        }
        if real.code == 422 && same_but_empty(&real.body, &ours.body) {
            return Some(EMPTY_VALUES);
        }
        if real.code == 422 && has_patch_cause(&real.body) && same_patched(&real.body, &ours.body) {
            return Some(FIELD_ORDER);
        }
        if real.code == 422
            && kind.group == DEFINITIONS
            && without_empty(&real.body) == without_empty(&ours.body)
        {
            return Some(EMPTY_SHOWN);
        }
        if !real.is_success() && sorted(&real.body) == sorted(&ours.body) {
            return Some(if real.code == 409 { CONFLICT_ORDER } else { CAUSE_ORDER });
        }
    }
    None
}

fn message(answer: &Answer) -> &str {
    text(&answer.body, "message")
}

/// The paths that a message about types names: words that start with a dot.
fn paths(message: &str) -> BTreeSet<String> {
    let words = message.split([' ', '\n']);
    let words = words.filter(|word| word.starts_with('.') && word.len() > 1);
    // The library gives the key of an item where Go gives its list, or the place of the item.
    let whole = words.map(|word| word.trim_end_matches(':').split('[').next().unwrap_or_default().to_owned());
    whole.collect()
}

/// Whether a message is about fields of another one, and both are equal before the first of them. Go stops at the first
/// field of a map that its type does not declare.
fn same_paths(real: &str, ours: &str) -> bool {
    let before = |message: &str| message.split(": ").next().unwrap_or_default().to_owned();
    let same_start = before(real) == before(ours) || !real.starts_with("failed to create typed");
    same_start && !paths(real).is_empty() && paths(real).is_subset(&paths(ours))
}

/// A status whose causes, and the parts of whose message, are in one order.
fn sorted(status: &Json) -> Json {
    let mut out = status.clone();
    let mut causes: Vec<String> =
        items(member(status, "details"), "causes").iter().map(Json::to_string).collect();
    causes.sort();
    if let Some(details) = out.get_mut("details") {
        set(details, "causes", json!(causes));
    }
    let mut parts: Vec<&str> =
        text(status, "message").split(['\n', ',', '[', ']', '"']).map(str::trim).collect();
    parts.sort_unstable();
    set(&mut out, "message", json!(parts));
    out
}

/// Whether the library found a part of the causes, and the others are checks that it does not make: those that are not
/// about required, immutable or duplicate fields, enums, names, labels or quantities.
fn is_other_validation(real: &Json, ours: &Answer) -> bool {
    let causes = |status: &Json| items(member(status, "details"), "causes").to_vec();
    let our = if ours.code == 422 { causes(&ours.body) } else { Vec::new() };
    if !ours.is_success() && !matches!(ours.code, 409 | 422) {
        return false;
    }
    let theirs = causes(real);
    let missing = theirs.iter().filter(|cause| !our.contains(cause));
    let made = [
        "immutable",
        "may not be changed",
        "may not change",
        "must consist of",
        "RFC 1123",
        "quantities must",
    ];
    let is_other = |cause: &Json| {
        matches!(text(cause, "reason"), "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueTooLong")
            && text(cause, "field") != "patch"
            && made.iter().all(|words| !text(cause, "message").contains(words))
    };
    our.iter().all(|cause| theirs.contains(cause))
        && missing.clone().count() > 0
        && missing.clone().all(is_other)
}

/// A status with null instead of empty lists and maps in the structs that its messages show.
fn without_empty(status: &Json) -> Json {
    let filled = |text: &str| text.replace("\":{}", "\":null").replace("\":[]", "\":null");
    let mut out = status.clone();
    set(&mut out, "message", filled(text(status, "message")));
    let causes = out.pointer_mut("/details/causes").and_then(Json::as_array_mut);
    for cause in causes.into_iter().flatten() {
        let message = filled(text(cause, "message"));
        set(cause, "message", message);
    }
    sorted(&out)
}

/// Whether the library found all causes but those about the types and the cost of rules.
fn is_rule_check(real: &Json, ours: &Answer) -> bool {
    let causes = |status: &Json| items(member(status, "details"), "causes").to_vec();
    let (theirs, our) = (causes(real), if ours.code == 422 { causes(&ours.body) } else { Vec::new() });
    if !ours.is_success() && !matches!(ours.code, 409 | 422) {
        return false;
    }
    let checks = [
        "compilation failed: ERROR: ",
        "cel expression must evaluate to a bool",
        "messageExpression must evaluate to a string",
        " exceeds budget by factor of ",
        "contributed to estimated rule cost total",
    ];
    let is_check = |cause: &Json| {
        let (field, message) = (text(cause, "field"), text(cause, "message"));
        field.contains(".x-kubernetes-validations[") && checks.iter().any(|words| message.contains(words))
            || field.ends_with(".openAPIV3Schema") && message.contains("estimated rule cost total")
    };
    let (mut missing, extra) = (
        theirs.iter().filter(|cause| !our.contains(cause)).peekable(),
        our.iter().filter(|cause| !theirs.contains(cause)),
    );
    missing.peek().is_some() && missing.all(is_check) && extra.into_iter().all(is_check)
}

/// Whether the real server took a directive of a strategic merge patch inside of new content for data.
fn leaves_directives(kind: &Kind, step: &Step<'_>, real: &Answer) -> bool {
    let patch = member(step.json, "body").to_string();
    // The list of versions is replaced as a whole.
    let versions = member(member(member(step.json, "body"), "spec"), "versions").to_string();
    if kind.group == DEFINITIONS && versions.contains("\"$") {
        return true;
    }
    let names = ["$patch", "$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList"];
    let is_data = |name: &&str| {
        let in_warning = real.warnings.iter().any(|warning| warning.contains(&format!(".{name}")));
        let in_cause = patch_cause(&real.body).is_some_and(|cause| {
            cause.contains("cannot restore ") || cause.contains(&format!(".{name}\\\""))
        });
        patch.contains(&format!("\"{name}")) && (in_warning || in_cause)
    };
    names.iter().any(is_data)
}

/// Whether the real server refuses nothing but empty maps in place of absent ones in an immutable object.
fn empties_immutable(step: &Step<'_>, real: &Answer) -> bool {
    let causes = items(member(&real.body, "details"), "causes");
    let body = member(step.json, "body");
    let is_empty = |cause: &Json| {
        text(cause, "message").contains("field is immutable when")
            && member(body, text(cause, "field")).as_object().is_some_and(|map| map.is_empty())
    };
    !causes.is_empty() && causes.iter().all(is_empty)
}

/// Whether two answers have the same causes, apart from empty values that they show. A difference of two values in a
/// message shows the lines around, so it is compared as a whole.
fn same_but_empty(real: &Json, ours: &Json) -> bool {
    let shows_empty = |text: &str| text.contains("[]") || text.contains("{}");
    let causes = |status: &Json| -> Vec<Vec<String>> {
        let causes = items(member(status, "details"), "causes");
        let shown = |cause: &Json| {
            let message = text(cause, "message");
            let shown = message.split("\n@@").next().unwrap_or_default();
            let shown = shown.replace("[]", "null").replace("{}", "null");
            vec![text(cause, "field").to_owned(), text(cause, "reason").to_owned(), shown]
        };
        causes.iter().map(shown).collect()
    };
    shows_empty(text(real, "message")) && causes(real) == causes(ours)
}

/// Whether the real server refuses a strategic merge patch for a reason of its own: see the section about patches.
fn is_strategic(code: u16, message: &str) -> bool {
    let starts = ["unknown patch type: ", "unable to find api field in struct RawExtension"];
    let ends = ["does not contain declared merge key: "];
    code == 500
        && (starts.iter().any(|start| message.starts_with(start))
            || ends.iter().any(|end| message.ends_with(end)))
}

/// Whether the object has two entries of one manager, operation, version and subresource.
fn has_duplicates(object: &Json) -> bool {
    let mut seen = BTreeSet::new();
    let key = |entry: &Json| {
        ["manager", "operation", "apiVersion", "subresource"].map(|name| text(entry, name).to_owned())
    };
    !items(member(object, "metadata"), "managedFields").iter().all(|entry| seen.insert(key(entry)))
}

/// A message without the key of the store.
fn without_store(message: &str) -> String {
    match (message.split_once("StorageError: invalid object"), message.split_once("AdditionalErrorMsg: ")) {
        (Some((start, _)), Some((_, end))) => format!("{start}{end}"),
        _ => message.to_owned(),
    }
}

/// The cause of a refused patch.
fn patch_cause(status: &Json) -> Option<&str> {
    let cause = items(member(status, "details"), "causes").first()?;
    (text(cause, "field") == "patch").then(|| text(cause, "message"))
}

fn has_patch_cause(status: &Json) -> bool {
    patch_cause(status).is_some()
}

/// Whether the decoder of unstructured objects refused the result of a patch.
fn restores(status: &Json) -> bool {
    let words = ["cannot restore ", "unrecognized type: ", "error decoding from json: "];
    patch_cause(status).is_some_and(|cause| words.iter().any(|word| cause.contains(word)))
}

/// Whether two causes are equal, apart from the order of the fields of the object that they show.
fn same_patched(real: &Json, ours: &Json) -> bool {
    let parts = |status: &Json| -> Option<(Json, String)> {
        let shown = patch_cause(status)?.strip_prefix("Invalid value: ")?;
        let mut read = serde_json::Deserializer::from_str(shown).into_iter::<String>();
        let object = read.next()?.ok()?;
        let rest = shown.get(read.byte_offset()..)?.to_owned();
        Some((serde_json::from_str(&object).ok()?, rest))
    };
    parts(real).is_some() && parts(real) == parts(ours)
}
