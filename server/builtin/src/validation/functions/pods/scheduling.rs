//! Where pods run: affinity, tolerations and spread.

use std::collections::BTreeSet;

use fieldmanager_structural::internal::{NameSyntax, label_value, qualified_name};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use crate::place::{Errors, Place, faults};
use crate::validation::functions::selector;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(super) fn affinity(affinity: &Place<'_>, errors: &mut Errors) {
    if let Some(nodes) = affinity.child("nodeAffinity") {
        if let Some(required) = nodes.child(REQUIRED) {
            required.require(
                "nodeSelectorTerms",
                "must have at least one node selector term",
                errors,
            );
            for term in required.items("nodeSelectorTerms") {
                node_term(&term, true, errors);
            }
        }

        // A preferred term with faulty values matches no node and blocks nothing, so only required terms have their
        // values checked.
        for preferred in nodes.items(PREFERRED) {
            weight(&preferred, errors);
            if let Some(term) = preferred.child("preference") {
                node_term(&term, false, errors);
            }
        }
    }

    for name in ["podAffinity", "podAntiAffinity"] {
        let Some(pods) = affinity.child(name) else {
            continue;
        };
        for term in pods.items(REQUIRED) {
            pod_term(&term, errors);
        }

        for preferred in pods.items(PREFERRED) {
            weight(&preferred, errors);
            // An absent term is checked like an empty one, which lacks the topology key.
            let term = preferred.get("podAffinityTerm").unwrap_or(&Value::Null);
            pod_term(&Place::new(&preferred.at("podAffinityTerm"), term), errors);
        }
    }
}

fn weight(term: &Place<'_>, errors: &mut Errors) {
    let weight = term.int("weight").unwrap_or_default();
    if !(1..=100).contains(&weight) {
        errors.push(FieldError::invalid(
            term.at("weight"),
            weight,
            "must be in the range 1-100",
        ));
    }
}

fn node_term(term: &Place<'_>, checks_values: bool, errors: &mut Errors) {
    for expression in term.items("matchExpressions") {
        selector::operator(&expression, true, errors);
        if checks_values {
            selector::key_and_values(&expression, errors);
        } else {
            expression.faults("key", qualified_name, errors);
        }
    }

    node_fields(term, errors);
}

/// Checks the fields by which a term selects a node: one, its name, with a single value.
pub(in super::super) fn node_fields(term: &Place<'_>, errors: &mut Errors) {
    for field in term.items("matchFields") {
        // A node has one name, so that more values select nothing.
        match field.text("operator") {
            "In" | "NotIn" if field.len("values") != 1 => {
                let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                field.missing("values", detail, errors);
            }
            "In" | "NotIn" => {}
            other => errors.push(FieldError::invalid(
                field.at("operator"),
                other,
                selector::NO_OPERATOR,
            )),
        }

        match field.text("key") {
            "metadata.name" => {
                for value in field.items("values") {
                    let name = value.value.as_str().unwrap_or_default();
                    faults(
                        &value.path,
                        name,
                        NameSyntax::Subdomain.faults(name, false),
                        errors,
                    );
                }
            }
            other => errors.push(FieldError::invalid(
                field.at("key"),
                other,
                "not a valid field selector key",
            )),
        }
    }
}

fn pod_term(term: &Place<'_>, errors: &mut Errors) {
    for name in ["labelSelector", "namespaceSelector"] {
        term.check(name, selector::check, errors);
    }
    // The path of these errors is `namespace`, without an index, as in Kubernetes.
    for name in term.values("namespaces").filter_map(Value::as_str) {
        faults(
            &term.at("namespace"),
            name,
            NameSyntax::Label.faults(name, false),
            errors,
        );
    }

    label_keys(term, errors);
    let key = term.text("topologyKey");
    if key.is_empty() {
        term.missing("topologyKey", "can not be empty", errors);
    }
    faults(&term.at("topologyKey"), key, qualified_name(key), errors);
}

/// Checks the keys of labels that are added to a selector.
fn label_keys(term: &Place<'_>, errors: &mut Errors) {
    for name in ["matchLabelKeys", "mismatchLabelKeys"] {
        // These keys extend the selector with labels of the pod, so they need one.
        if term.len(name) > 0 && term.get("labelSelector").is_none() {
            term.forbid(
                name,
                "must not be specified when labelSelector is not set",
                errors,
            );
            continue;
        }

        for key in term.items(name) {
            let text = key.value.as_str().unwrap_or_default();
            faults(&key.path, text, qualified_name(text), errors);
        }
    }

    // The server has already added an expression for each of these keys, so a key that occurs twice was also written
    // by the user. The error has the path of the term with the index of the key.
    let keys: Vec<&str> = term
        .values("matchLabelKeys")
        .filter_map(Value::as_str)
        .collect();
    if let Some(selector) = term.child("labelSelector").filter(|_| !keys.is_empty()) {
        let labels = selector.map("matchLabels");
        let mut selected: BTreeSet<&str> = labels
            .into_iter()
            .flatten()
            .map(|(key, _)| key.as_str())
            .collect();

        for expression in selector.items("matchExpressions") {
            let key = expression.text("key");
            let at = keys.iter().rposition(|other| *other == key);
            if let Some(at) = at.filter(|_| selected.contains(key)) {
                let detail = "exists in both matchLabelKeys and labelSelector";
                errors.push(FieldError::invalid(term.path.index(at), key, detail));
            }
            selected.insert(key);
        }
    }

    // A label cannot be both equal and different.
    let others: BTreeSet<&str> = term
        .values("mismatchLabelKeys")
        .filter_map(Value::as_str)
        .collect();
    for key in term.items("matchLabelKeys") {
        let text = key.value.as_str().unwrap_or_default();
        if others.contains(text) {
            let detail = "exists in both matchLabelKeys and mismatchLabelKeys";
            errors.push(FieldError::invalid(key.path, text, detail));
        }
    }
}

pub(in crate::validation::functions) fn tolerations(spec: &Place<'_>, errors: &mut Errors) {
    for each in spec.items("tolerations") {
        toleration(&each, errors);
    }
}

pub(super) fn toleration(toleration: &Place<'_>, errors: &mut Errors) {
    let (key, operator) = (toleration.text("key"), toleration.text("operator"));
    let invalid = |name: &str, found: &str, detail: &str, errors: &mut Errors| {
        errors.push(FieldError::invalid(toleration.at(name), found, detail));
    };
    if !key.is_empty() {
        faults(&toleration.at("key"), key, qualified_name(key), errors);
    }
    // An empty key stands for all taints, which have no common value.
    if key.is_empty() && operator != "Exists" {
        let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        invalid("operator", operator, detail, errors);
    }

    // Only this effect evicts running pods, which the seconds delay.
    let effect = toleration.text("effect");
    if toleration.get("tolerationSeconds").is_some() && effect != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        invalid("effect", effect, detail, errors);
    }

    operator_value(toleration, errors);
    if !effect.is_empty() {
        let accepted = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
        toleration.one_of("effect", accepted, errors);
    }
}

/// Checks the operator of a toleration and its value, whose errors have the path of the operator, as in Kubernetes.
fn operator_value(toleration: &Place<'_>, errors: &mut Errors) {
    let (operator, value) = (toleration.text("operator"), toleration.text("value"));
    let path = || toleration.at("operator");
    match operator {
        "" | "Equal" => {
            let found = label_value(value);
            if !found.is_empty() {
                errors.push(FieldError::invalid(path(), value, found.join(";")));
            }
        }
        "Exists" if !value.is_empty() => {
            let detail = "value must be empty when `operator` is 'Exists'";
            errors.push(FieldError::invalid(path(), value, detail));
        }
        "Exists" => {}
        // These operators are behind a feature gate, but its message lists them.
        "Lt" | "Gt" => {
            let accepted = &["Equal", "Exists", "Lt", "Gt"];
            errors.push(FieldError::not_supported(path(), operator, accepted));
        }
        _ => toleration.one_of("operator", &["Equal", "Exists"], errors),
    }
}

fn min_domains(constraint: &Place<'_>, errors: &mut Errors) {
    let Some(domains) = constraint.int("minDomains") else {
        return;
    };
    constraint.invalid_if(
        domains <= 0,
        "minDomains",
        "must be greater than zero",
        errors,
    );

    // The minimum keeps pods from being scheduled, which the constraint would have to enforce.
    let when = constraint.text("whenUnsatisfiable");
    if when != "DoNotSchedule" {
        let detail =
            format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}");
        constraint.invalid("minDomains", &detail, errors);
    }
}

pub(super) fn spread(spec: &Place<'_>, errors: &mut Errors) {
    let pair = |constraint: &Value| {
        let text = |name: &str| {
            constraint
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        (text("topologyKey"), text("whenUnsatisfiable"))
    };
    // Kubernetes compares each pair with those that follow, so all but the last are duplicates.
    let mut left = std::collections::BTreeMap::new();
    for constraint in spec.values("topologySpreadConstraints") {
        *left.entry(pair(constraint)).or_insert(0_usize) += 1;
    }

    for constraint in spec.items("topologySpreadConstraints") {
        let skew = constraint.int("maxSkew").unwrap_or_default();
        if skew <= 0 {
            errors.push(FieldError::invalid(
                constraint.at("maxSkew"),
                skew,
                "must be greater than zero",
            ));
        }

        constraint.require("topologyKey", "can not be empty", errors);
        constraint.text_one_of(
            "whenUnsatisfiable",
            &["DoNotSchedule", "ScheduleAnyway"],
            errors,
        );
        let key = pair(constraint.value);
        let shown = format!("{{{}, {}}}", key.0, key.1);

        if let Some(left) = left.get_mut(&key) {
            *left -= 1;
            if *left > 0 {
                errors.push(FieldError::duplicate(
                    constraint.at("{topologyKey, whenUnsatisfiable}"),
                    shown,
                ));
            }
        }

        min_domains(&constraint, errors);
        for name in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            constraint.one_of(name, &["Honor", "Ignore"], errors);
        }
        label_keys(&constraint, errors);
        constraint.check("labelSelector", selector::check, errors);
    }
}

pub(super) fn gates(spec: &Place<'_>, errors: &mut Errors) {
    let mut names = BTreeSet::new();
    for gate in spec.items("schedulingGates") {
        let name = gate.text("name");
        faults(&gate.path, name, qualified_name(name), errors);
        if !names.insert(name) {
            errors.push(FieldError::duplicate(gate.path, name));
        }
    }
}

/// An update may add tolerations, and change the seconds of those there are.
pub(super) fn added_tolerations(
    spec: &Place<'_>,
    live: &Place<'_>,
    path: FieldPath,
    errors: &mut Errors,
) {
    // The seconds may change, so they are not part of the comparison.
    let key = |toleration: &Value| {
        let map = toleration.as_map().cloned().unwrap_or_default();
        Value::Map(map.with_edits(vec![("tolerationSeconds".into(), None)]))
    };
    let new: BTreeSet<Value> = spec.values("tolerations").map(key).collect();

    if !live
        .values("tolerations")
        .all(|old| new.contains(&key(old)))
    {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(FieldError::forbidden(path, detail));
        return;
    }
    tolerations(spec, errors);
}
