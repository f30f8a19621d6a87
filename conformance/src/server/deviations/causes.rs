//! Causes of refusals that one side alone finds.

use serde_json::{Value as Json, json};

use super::{Deviation, Question, causes};
use crate::json::{items, member, set, text};
use crate::server::in_process::InProcess;
use crate::server::request::{Answer, DEFINITIONS, Step};

/// A fault of an address or a node port that the real server gave to a Service.
pub(super) struct Allocations;

impl Deviation for Allocations {
    const NAME: &'static str = "server-allocations";

    fn explains(question: &Question<'_>, again: Option<&mut InProcess>) -> bool {
        let Question { exchange, ours, .. } = question;
        let (step, real) = (&exchange.step, &exchange.real);
        if exchange.kind.kind != "Service" {
            return false;
        }
        // The storage of the status does not complete the addresses of a new Service.
        let lacks_addresses = match causes(&real.body) {
            [cause] => {
                text(cause, "field") == "spec.clusterIPs" && text(cause, "message") == "Required value"
            }
            _ => false,
        };
        let is_new_status = step.sub == "status" && ours.code == 201;
        let has_address = |object: &Json| object.pointer("/spec/ipFamilies").is_some();
        let is_given = || question.is_in("write") && !has_address(exchange.live) && has_address(&real.body);
        real.code == 422 && (has_allocation_fault(step, &real.body, ours) || is_new_status && lacks_addresses)
            || again.is_some() && is_given()
    }
}

/// A rule of a definition that Kubernetes refuses for its types or its cost.
pub(super) struct RuleTypes;

impl Deviation for RuleTypes {
    const NAME: &'static str = "server-rule-types";

    fn explains(Question { exchange, ours, .. }: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        let real = exchange.real;
        exchange.kind.group == DEFINITIONS && real.code == 422 && is_rule_check(&real.body, ours)
    }
}

/// A check of a built-in kind that the library does not make.
pub(super) struct Validation;

impl Deviation for Validation {
    const NAME: &'static str = "server-validation";

    fn explains(Question { exchange, ours, .. }: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        let (kind, real) = (exchange.kind, exchange.real);
        let is_builtin = kind.group != DEFINITIONS && kind.definition.is_none();
        is_builtin && real.code == 422 && is_other_validation(&real.body, ours)
    }
}

/// Conflicts in another order.
pub(super) struct ConflictOrder;

impl Deviation for ConflictOrder {
    const NAME: &'static str = "server-conflict-order";

    fn explains(question: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        question.is_same_refusal(409) && sorted(&question.exchange.real.body) == sorted(&question.ours.body)
    }
}

/// Faults or causes in another order, since the validators of Kubernetes visit Go maps.
pub(super) struct CauseOrder;

impl Deviation for CauseOrder {
    const NAME: &'static str = "server-cause-order";

    fn explains(question: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        let real = question.exchange.real;
        let is_refusal = !real.is_success() && question.is_same_refusal(real.code);
        is_refusal && sorted(&real.body) == sorted(&question.ours.body)
    }
}

/// Whether the library found all causes but those of node ports that the real server gave to the ports of a request, or
/// the real server could not give an address to a Service without a name, and checked nothing else.
fn has_allocation_fault(step: &Step<'_>, real: &Json, ours: &Answer) -> bool {
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
    ours.code == 422 && !has_own && !missing.is_empty() && found.into_iter().eq(our)
}

/// A status whose causes, and the parts of whose message, are in one order.
pub(super) fn sorted(status: &Json) -> Json {
    let mut out = status.clone();
    let mut shown: Vec<String> = causes(status).iter().map(Json::to_string).collect();
    shown.sort();
    if let Some(details) = out.get_mut("details") {
        set(details, "causes", json!(shown));
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
    let our = if ours.code == 422 { causes(&ours.body) } else { &[] };
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
