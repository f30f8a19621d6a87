//! Questions to an authorizer.

use std::sync::Arc;

use fieldmanager_structural::internal::subdomain_1123;

use super::function::{Run, size, traversal};
use crate::access::{AccessQuestion, AccessVal};
use crate::value::{Outcome, Val, fault, no_overload};

/// The implementation of a function.
pub(super) fn run(name: &str) -> Option<Run> {
    match name {
        "allowed" | "errored" | "error" | "reason" => Some(|a, call| decided(a, call.name)),
        "serviceAccount" => Some(|a, _| match a {
            [Val::Access(from), Val::String(namespace), Val::String(name)] => {
                account(from, namespace, name)
            }
            _ => no_overload(),
        }),
        name => place(&mut AccessQuestion::default(), name).map(|_| -> Run {
            |a, call| match a {
                [Val::Access(from), Val::String(text)] => step(from, call.name, text),
                _ => no_overload(),
            }
        }),
    }
}

/// The part of a question that a function sets.
fn place<'q>(question: &'q mut AccessQuestion, name: &str) -> Option<&'q mut String> {
    Some(match name {
        "check" => &mut question.verb,
        "fieldSelector" => &mut question.field_selector,
        "group" => &mut question.group,
        "labelSelector" => &mut question.label_selector,
        "name" => &mut question.name,
        "namespace" => &mut question.namespace,
        "path" => &mut question.path,
        "resource" => &mut question.resource,
        "subresource" => &mut question.subresource,
        _ => return None,
    })
}

/// The cost of reading a selector.
pub(super) fn selector_cost(arguments: &[Val<'_>]) -> u64 {
    let length = size(arguments, 1);
    // A requirement has at least two characters.
    let requirements = length.div_ceil(2).saturating_mul(50);
    traversal(length)
        .saturating_add(requirements)
        .saturating_add(10)
}

fn decided<'a>(arguments: &[Val<'a>], name: &str) -> Outcome<'a> {
    let [Val::Access(access)] = arguments else {
        return no_overload();
    };
    let AccessVal::Decision(decision) = &**access else {
        return no_overload();
    };
    Ok(match name {
        "allowed" => Val::Bool(decision.allowed),
        "errored" => Val::Bool(!decision.error.is_empty()),
        "error" => Val::text(decision.error.as_str()),
        _ => Val::text(decision.reason.as_str()),
    })
}

/// The next step of a question, which adds a text to it.
fn step<'a>(from: &AccessVal, name: &str, text: &str) -> Outcome<'a> {
    let (AccessVal::Authorizer(question)
    | AccessVal::Path(question)
    | AccessVal::Group(question)
    | AccessVal::Resource(question)) = from
    else {
        return no_overload();
    };
    let mut question = question.clone();
    let Some(place) = place(&mut question, name) else {
        return no_overload();
    };
    text.clone_into(place);

    // The types of the checker leave few ways, but a value of an unknown type can be on a wrong one.
    let next = match (from, name) {
        (AccessVal::Authorizer(_), "path") if text.trim().is_empty() => {
            return fault("path must not be empty");
        }
        (AccessVal::Group(_), "resource") if text.trim().is_empty() => {
            return fault("resource must not be empty");
        }
        (AccessVal::Authorizer(_), "path") => AccessVal::Path(question),
        (AccessVal::Authorizer(_), "group") => AccessVal::Group(question),
        (AccessVal::Group(_), "resource") => AccessVal::Resource(question),
        (AccessVal::Path(_) | AccessVal::Resource(_), "check") => AccessVal::Asked(question),
        (AccessVal::Resource(_), _) => AccessVal::Resource(question),
        _ => return no_overload(),
    };
    Ok(Val::Access(Arc::new(next)))
}

/// The authorizer for a service account.
fn account<'a>(from: &AccessVal, namespace: &str, name: &str) -> Outcome<'a> {
    if !matches!(from, AccessVal::Authorizer(_)) {
        return no_overload();
    }
    if !subdomain_1123(name).is_empty() {
        return fault("Invalid service account name");
    }
    if namespace.len() > 63 || namespace.contains('.') || !subdomain_1123(namespace).is_empty() {
        return fault("Invalid service account namespace");
    }
    let question = AccessQuestion {
        service_account: Some((namespace.to_owned(), name.to_owned())),
        ..AccessQuestion::default()
    };
    Ok(Val::Access(Arc::new(AccessVal::Authorizer(question))))
}
