//! Cells of kinds of the core group and of definitions.

use fieldmanager_value::Value;

use super::object::Object;

pub(super) fn created(object: &Object<'_>) -> Value {
    object
        .text_or("metadata.creationTimestamp", "0001-01-01T00:00:00Z")
        .into()
}

pub(super) fn config_map(object: &Object<'_>) -> Value {
    let count = object.count("data") + object.count("binaryData");
    i64::try_from(count).unwrap_or(i64::MAX).into()
}

pub(super) fn component(object: &Object<'_>) -> Vec<Value> {
    let Some(healthy) = object.condition("conditions", "Healthy") else {
        return vec!["Unknown".into(), "".into(), "".into()];
    };
    let status = if healthy.text("status") == "True" {
        "Healthy"
    } else {
        "Unhealthy"
    };

    vec![
        status.into(),
        healthy.text("message").into(),
        healthy.text("error").into(),
    ]
}

/// The used and the allowed amount of each resource: requests, then limits.
pub(super) fn quota(object: &Object<'_>) -> Vec<Value> {
    let quantity = |path: &str, name: &str| {
        object
            .member(path, name)
            .and_then(Value::as_str)
            .unwrap_or("0")
            .to_owned()
    };
    let (mut requests, mut limits) = (Vec::new(), Vec::new());

    for (name, _) in object.map("status.hard").into_iter().flatten() {
        let text = format!(
            "{name}: {}/{}",
            quantity("status.used", name),
            quantity("status.hard", name)
        );
        if name.starts_with("limits.") {
            limits.push(text)
        } else {
            requests.push(text)
        }
    }

    vec![requests.join(", ").into(), limits.join(", ").into()]
}

pub(super) fn api_service(object: &Object<'_>) -> Vec<Value> {
    let service = if object.has("spec.service") {
        format!(
            "{}/{}",
            object.text("spec.service.namespace"),
            object.text("spec.service.name")
        )
    } else {
        "Local".to_owned()
    };
    let available = object
        .condition("status.conditions", "Available")
        .map_or_else(
            || "Unknown".to_owned(),
            |condition| match (condition.text("status"), condition.text("reason")) {
                ("True", _) => "True".to_owned(),
                (status, "") => status.to_owned(),
                (status, reason) => format!("{status} ({reason})"),
            },
        );

    vec![service.into(), available.into()]
}

pub(super) fn definition(object: &Object<'_>) -> Vec<Value> {
    let served = object
        .items("spec.versions")
        .filter(|version| version.flag("served", false));
    let mut versions: Vec<String> = served
        .map(|version| {
            let stored = if version.flag("storage", false) {
                "(storage)"
            } else {
                ""
            };
            format!("{}{stored}", version.text("name"))
        })
        .collect();

    versions.sort_unstable();
    let established = object.condition("status.conditions", "Established");
    vec![
        object.text("spec.scope").into(),
        versions.join(",").into(),
        created(object),
        object.text("spec.group").into(),
        object.text("spec.names.kind").into(),
        object.texts("spec.names.shortNames").join(",").into(),
        established
            .is_some_and(|condition| condition.text("status") == "True")
            .into(),
    ]
}
