//! Cells of roles and certificates.

use fieldmanager_value::Value;
use jiff::SignedDuration;

use super::duration::human_duration;
use super::object::Object;
use super::selector::labels;

pub(super) fn binding(object: &Object<'_>) -> Vec<Value> {
    let subjects = |kind: &str| -> Value {
        let names: Vec<String> = object
            .items("subjects")
            .filter(|subject| subject.text("kind") == kind)
            .map(|subject| match kind {
                "ServiceAccount" => {
                    format!("{}/{}", subject.text("namespace"), subject.text("name"))
                }
                _ => subject.text("name").to_owned(),
            })
            .collect();

        names.join(", ").into()
    };

    vec![
        format!(
            "{}/{}",
            object.text("roleRef.kind"),
            object.text("roleRef.name")
        )
        .into(),
        object.age().into(),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}

pub(super) fn signing_request(object: &Object<'_>) -> Vec<Value> {
    let is = |kind: &str| object.condition("status.conditions", kind).is_some();
    let mut status = if is("Denied") {
        "Denied"
    } else if is("Approved") {
        "Approved"
    } else {
        "Pending"
    }
    .to_owned();
    if is("Failed") {
        status.push_str(",Failed");
    }

    if !object.text("status.certificate").is_empty() {
        status.push_str(",Issued");
    }
    let duration = object.get("spec.expirationSeconds").and_then(Value::as_i64);
    let duration = duration.map(|seconds| human_duration(SignedDuration::from_secs(seconds)));
    vec![
        object.text_or("spec.signerName", "<none>").into(),
        object.text("spec.username").into(),
        duration.unwrap_or_else(|| "<none>".to_owned()).into(),
        status.into(),
    ]
}

pub(super) fn pod_certificate(object: &Object<'_>) -> Vec<Value> {
    let mut state = "Pending";
    for condition in object.items("status.conditions") {
        if matches!(condition.text("type"), "Issued" | "Denied" | "Failed") {
            state = condition.text("type");
        }
    }
    vec![
        state.into(),
        labels(object.map("spec.unverifiedUserAnnotations")).into(),
    ]
}
