//! Cells of admission policies and of the flow of requests.

use fieldmanager_value::Value;

use super::object::Object;

pub(super) fn param_kind(object: &Object<'_>) -> Value {
    if object.has("spec.paramKind") {
        format!(
            "{}/{}",
            object.text("spec.paramKind.apiVersion"),
            object.text("spec.paramKind.kind")
        )
        .into()
    } else {
        "<unset>".into()
    }
}

pub(super) fn param_ref(object: &Object<'_>) -> Value {
    let (name, namespace) = (
        object.text("spec.paramRef.name"),
        object.text("spec.paramRef.namespace"),
    );
    if !name.is_empty() {
        return format!(
            "{}/{name}",
            if namespace.is_empty() { "*" } else { namespace }
        )
        .into();
    }

    if !object.has("spec.paramRef.selector") {
        return "<unset>".into();
    }

    // Go's text form of the selector's type.
    let labels: String = object
        .map("spec.paramRef.selector.matchLabels")
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}: {},", value.as_str().unwrap_or_default()))
        .collect();
    let expressions: String = object
        .items("spec.paramRef.selector.matchExpressions")
        .map(|expression| {
            format!(
                "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
                expression.text("key"),
                expression.text("operator"),
                expression.texts("values").join(" ")
            )
        })
        .collect();

    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
    .into()
}

pub(super) fn flow_schema(object: &Object<'_>) -> Vec<Value> {
    let dangling = object.condition("status.conditions", "Dangling");
    vec![
        object.text("spec.priorityLevelConfiguration.name").into(),
        object.number("spec.matchingPrecedence").into(),
        object
            .text_or("spec.distinguisherMethod.type", "<none>")
            .into(),
        object.age().into(),
        dangling
            .map_or("?", |condition| condition.text("status"))
            .into(),
    ]
}

pub(super) fn priority_level(object: &Object<'_>) -> Vec<Value> {
    let number = |parent: &str, name: &str| -> Value {
        if object.has(parent) {
            object.number(&format!("{parent}.{name}")).into()
        } else {
            "<none>".into()
        }
    };
    let queuing = "spec.limited.limitResponse.queuing";

    vec![
        object.text("spec.type").into(),
        number("spec.limited", "nominalConcurrencyShares"),
        number(queuing, "queues"),
        number(queuing, "handSize"),
        number(queuing, "queueLengthLimit"),
    ]
}
