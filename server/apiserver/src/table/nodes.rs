//! Cells of nodes and of the devices that they have.

use std::collections::BTreeSet;

use fieldmanager_value::Value;

use super::object::Object;

pub(super) fn node(object: &Object<'_>) -> Vec<Value> {
    // Of several conditions of a type, the last one counts.
    let ready = object
        .items("status.conditions")
        .rfind(|condition| condition.text("type") == "Ready");
    let mut status = ready
        .map_or("Unknown", |ready| {
            if ready.text("status") == "True" {
                "Ready"
            } else {
                "NotReady"
            }
        })
        .to_owned();

    if object.flag("spec.unschedulable", false) {
        status.push_str(",SchedulingDisabled");
    }
    let address = |kind: &str| -> Value {
        let found = object
            .items("status.addresses")
            .find(|address| address.text("type") == kind);
        found
            .map_or("<none>", |address| address.text("address"))
            .into()
    };
    let info = |field: &str| object.text_or(&format!("status.nodeInfo.{field}"), "<unknown>");

    let kernel = match object.text("status.nodeInfo.architecture") {
        "" => info("kernelVersion").to_owned(),
        architecture => format!("{} ({architecture})", info("kernelVersion")),
    };
    vec![
        status.into(),
        roles(object).into(),
        object.age().into(),
        object.text("status.nodeInfo.kubeletVersion").into(),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage").into(),
        kernel.into(),
        info("containerRuntimeVersion").into(),
    ]
}

fn roles(object: &Object<'_>) -> String {
    let labels = object.map("metadata.labels").into_iter().flatten();
    let roles: BTreeSet<&str> = labels
        .filter_map(
            |(label, value)| match label.strip_prefix("node-role.kubernetes.io/") {
                None if *label == "kubernetes.io/role" => value.as_str(),
                role => role,
            },
        )
        .filter(|role| !role.is_empty())
        .collect();

    if roles.is_empty() {
        "<none>".to_owned()
    } else {
        roles.into_iter().collect::<Vec<_>>().join(",")
    }
}

pub(super) fn taint_rule(object: &Object<'_>) -> Vec<Value> {
    let added = object
        .time("spec.taint.timeAdded")
        .map(|time| object.elapsed(time))
        .unwrap_or_default();
    vec![
        object.text("spec.taint.key").into(),
        object.text("spec.taint.value").into(),
        object.text("spec.taint.effect").into(),
        added.into(),
    ]
}

/// The states of a ResourceClaim.
pub(super) fn claim(object: &Object<'_>) -> Value {
    let mut states = Vec::new();
    if object.is_deleted() {
        states.push("deleted");
    }
    if object.has("status.allocation") {
        states.push("allocated");
        if object.count("status.reservedFor") > 0 {
            states.push("reserved");
        }
    } else if !object.is_deleted() {
        states.push("pending");
    }

    states.join(",").into()
}
