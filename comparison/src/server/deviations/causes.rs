//! Causes of refusals that one side alone finds.

use serde_json::{Value as Json, json};

use super::deviation::{Deviation, Question, adds_only, causes, causes_of_invalid};
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
                text(cause, "field") == "spec.clusterIPs"
                    && text(cause, "message") == "Required value"
            }
            _ => false,
        };
        let is_new_status = step.sub == "status" && ours.code == 201;
        // The first write after a creation by a request to `status` stores the addresses that the creation left out.
        let has_address = |object: &Json| object.pointer("/spec/ipFamilies").is_some();
        let is_given =
            || question.is_in("write") && !has_address(exchange.live) && has_address(&real.body);

        real.code == 422
            && (has_allocation_fault(step, &real.body, ours) || is_new_status && lacks_addresses)
            || again.is_some() && is_given()
    }
}

/// A rule of a definition that Kubernetes refuses for its types or its cost.
pub(super) struct RuleTypes;

impl Deviation for RuleTypes {
    const NAME: &'static str = "server-rule-types";

    fn explains(Question { exchange, ours, .. }: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        let real = exchange.real;
        exchange.kind.group == DEFINITIONS
            && real.code == 422
            && differ_in_rule_words(&real.body, ours)
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
        question.is_same_refusal(409)
            && sorted(&question.exchange.real.body) == sorted(&question.ours.body)
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
    let has_own = ports
        .iter()
        .any(|port| member(port, "nodePort").is_number());
    let is_allocated = |cause: &&Json| {
        let field = text(cause, "field");
        text(cause, "reason") == "FieldValueDuplicate"
            && field.starts_with("spec.ports[")
            && field.ends_with("].nodePort")
    };
    let (missing, found): (Vec<&Json>, Vec<&Json>) =
        theirs.iter().partition(|cause| is_allocated(cause));

    let has_no_address = || {
        theirs
            .iter()
            .any(|cause| text(cause, "message").contains(": failed to allocate IP: IPAddress."))
    };

    // A Service without a name gets no address, and is refused for that before its name is validated.
    if ours.code == 422 && has_no_address() {
        return our
            .iter()
            .any(|cause| text(cause, "field") == "metadata.name");
    }
    // Apart from node ports that the real server gave twice, both sides have the same causes.
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

    // The message repeats the causes in the order that they have in the details.
    let mut parts: Vec<&str> = text(status, "message")
        .split(['\n', ',', '[', ']', '"'])
        .map(str::trim)
        .collect();
    parts.sort_unstable();
    set(&mut out, "message", json!(parts));
    out
}

/// Whether the library found a part of the causes, and the others are checks that it does not make: those that are not
/// about required, immutable or duplicate fields, enums, names, labels or quantities.
fn is_other_validation(real: &Json, ours: &Answer) -> bool {
    if !ours.is_success() && !matches!(ours.code, 409 | 422) {
        return false;
    }
    // These words are of checks that the library makes, so that a missing cause with them is its fault.
    let made = [
        "immutable",
        "may not be changed",
        "may not change",
        "must consist of",
        "RFC 1123",
        "quantities must",
    ];
    let is_other = |cause: &Json| {
        matches!(
            text(cause, "reason"),
            "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueTooLong"
        ) && text(cause, "field") != "patch"
            && made
                .iter()
                .all(|words| !text(cause, "message").contains(words))
    };

    adds_only(causes(real), causes_of_invalid(ours), is_other)
}

/// Whether both sides found the same causes, apart from the words and the checks of rules that the deviation lists.
fn differ_in_rule_words(real: &Json, ours: &Answer) -> bool {
    if !ours.is_success() && ours.code != 422 {
        return false;
    }
    let shown = |causes: &[Json]| {
        let mut out: Vec<String> = causes.iter().filter_map(without_rule_words).collect();
        out.sort_unstable();
        out
    };
    let (theirs, our) = (causes(real), causes_of_invalid(ours));

    // Other parts of the answers that differ have another reason.
    sorted_causes(theirs) != sorted_causes(our) && shown(theirs) == shown(our)
}

fn sorted_causes(causes: &[Json]) -> Vec<String> {
    let mut shown: Vec<String> = causes.iter().map(Json::to_string).collect();
    shown.sort_unstable();
    shown
}

/// What Kubernetes says of the arguments of `format`.
const FORMAT_FAULTS: [&str; 4] = [
    "could not parse formatting",
    "error during formatting",
    "supplied to string.format",
    "unexpected end of string",
];

/// A cause without what parsers of expressions and patterns say, and without the number in a type; `None` for a check of
/// the arguments of `format`, which the library does not make.
fn without_rule_words(cause: &Json) -> Option<String> {
    let (field, message) = (text(cause, "field"), text(cause, "message"));
    let compiled = message.split_once(" compilation failed: ERROR: ");
    // The lines after the first one repeat the rule.
    let fault = compiled
        .and_then(|(_, fault)| fault.lines().next())
        .unwrap_or_default();
    if FORMAT_FAULTS.iter().any(|words| fault.contains(words)) {
        return None;
    }

    // That there is a fault, and in which field, is compared; the words of a parser are not.
    let shown = match (compiled, message.split_once("error parsing regexp: ")) {
        (Some((before, _)), _) if fault.contains("Syntax error: ") => {
            format!("{before} syntax error")
        }
        (None, Some((before, _))) => format!("{before} pattern"),
        _ => {
            let is_digit = |c: char| c.is_ascii_digit();
            let parts = message.split("selfType").enumerate();
            let parts = parts.map(|(at, part)| {
                if at == 0 {
                    part
                } else {
                    part.trim_start_matches(is_digit)
                }
            });
            parts.collect::<Vec<_>>().join("selfType")
        }
    };

    Some(format!("{} {field}: {shown}", text(cause, "reason")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(message: &str) -> Json {
        let field = "spec.x-kubernetes-validations[0].rule";
        json!({"details": {"causes": [{"field": field, "message": message, "reason": "FieldValueInvalid"}]}})
    }

    fn is_explained(theirs: &str, our: &str) -> bool {
        let ours = Answer {
            code: 422,
            body: status(our),
            ..Answer::default()
        };
        differ_in_rule_words(&status(theirs), &ours)
    }

    #[test]
    fn only_the_listed_words_of_a_rule_are_explained() {
        let fault = |text: &str| {
            format!("Invalid value: {{}}: compilation failed: ERROR: <input>:1:7: {text}")
        };
        let is_fault = |theirs: &str, our: &str| is_explained(&fault(theirs), &fault(our));
        assert!(is_fault(
            "Syntax error: mismatched input",
            "Syntax error: no viable alternative"
        ));
        assert!(is_fault(
            "expected type 'selfType12' but found 'int'",
            "expected type 'selfType' but found 'int'"
        ));
        assert!(!is_fault(
            "expected type 'bool' but found 'int'",
            "expected type 'bool' but found 'string'"
        ));
        assert!(!is_fault(
            "undeclared reference to 'a'",
            "Syntax error: mismatched input"
        ));
        assert!(!is_fault(
            "undeclared reference to 'a'",
            "undeclared reference to 'a'"
        ));
        assert!(!is_explained(
            "estimated rule cost exceeds budget by factor of 2",
            "estimated rule cost"
        ));
        let pattern =
            |text: &str| format!("program instantiation failed: error parsing regexp: {text}");
        assert!(is_explained(
            &pattern("missing closing )"),
            &pattern("unclosed group")
        ));
    }

    #[test]
    fn a_format_that_the_library_accepts_is_explained_alone() {
        let accepted = Answer {
            code: 201,
            ..Answer::default()
        };
        let fault = |text: &str| status(&format!("compilation failed: ERROR: <input>:1:7: {text}"));
        let format = status(
            "Invalid value: {}: compilation failed: ERROR: error during formatting: a decimal clause",
        );
        assert!(differ_in_rule_words(&format, &accepted));
        assert!(!differ_in_rule_words(
            &fault("expected type 'bool' but found 'int'"),
            &accepted
        ));
        assert!(!differ_in_rule_words(&json!({"details": {}}), &accepted));
        let conflict = Answer {
            code: 409,
            ..Answer::default()
        };
        assert!(!differ_in_rule_words(&format, &conflict));
    }
}
