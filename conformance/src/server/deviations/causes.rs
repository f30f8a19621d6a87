//! Causes of refusals that one side alone finds.

use serde_json::{Value as Json, json};

use crate::json::{items, member, set, text};
use crate::server::request::{Answer, Step};

/// Whether the library found all causes but those of node ports that the real server gave to the ports of a request, or
/// the real server could not give an address to a Service without a name, and checked nothing else.
pub(in crate::server) fn has_allocation_fault(step: &Step<'_>, real: &Json, ours: &Answer) -> bool {
    let causes = |status: &Json| items(member(status, "details"), "causes").to_vec();
    let (theirs, our) = (causes(real), causes(&ours.body));
    let ports = items(member(member(step.json, "body"), "spec"), "ports");
    let has_own = ports.iter().any(|port| member(port, "nodePort").is_number());
    let is_allocated = |cause: &&Json| {
        let field = text(cause, "field");
        text(cause, "reason") == "FieldValueDuplicate"
            && field.starts_with("spec.ports[")
            && field.ends_with("].nodePort")
    };
    let (missing, found): (Vec<&Json>, Vec<&Json>) = theirs.iter().partition(|cause| is_allocated(cause));
    let has_no_address =
        || theirs.iter().any(|cause| text(cause, "message").contains(": failed to allocate IP: IPAddress."));
    if ours.code == 422 && has_no_address() {
        return our.iter().any(|cause| text(cause, "field") == "metadata.name");
    }
    ours.code == 422 && !has_own && !missing.is_empty() && found.into_iter().eq(&our)
}

/// A status whose causes, and the parts of whose message, are in one order.
pub(in crate::server) fn sorted(status: &Json) -> Json {
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
pub(in crate::server) fn is_other_validation(real: &Json, ours: &Answer) -> bool {
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

/// Whether the library found all causes but those about the types and the cost of rules.
pub(in crate::server) fn is_rule_check(real: &Json, ours: &Answer) -> bool {
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
