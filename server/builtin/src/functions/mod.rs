//! Functions of rules that need more than paths.

pub(crate) mod edit;
pub(crate) mod families;
pub(crate) mod pod;
pub(crate) mod pod_resources;
mod prepare;
mod service;

use fieldmanager_value::{Map, Value};

use self::edit::{at, storage_version, text, with};
use crate::table::Function;
use crate::{amount, image};

/// The functions by the names that tables use.
pub(crate) const FUNCTIONS: &[(&str, Function)] = &[
    ("add_stored_version", |value, _| {
        prepare::add_stored_version(value)
    }),
    ("app_armor_profiles", |value, _| {
        pod::app_armor_profiles(value)
    }),
    ("budget_selector", prepare::budget_selector),
    ("claim_data_sources", prepare::claim_data_sources),
    ("cluster_ips", |value, _| service::cluster_ips(value)),
    ("definition_names", |value, _| definition_names(value)),
    (
        "drop_deallocated_devices",
        prepare::drop_deallocated_devices,
    ),
    ("drop_topology", prepare::drop_topology),
    ("first_template_generation", |value, _| {
        prepare::first_template_generation(value)
    }),
    ("image_pull_policy", |value, _| {
        image_pull_policy(value, "image", "imagePullPolicy")
    }),
    ("image_volume_pull_policy", |value, _| {
        image_pull_policy(value, "reference", "pullPolicy")
    }),
    ("job_selector", |value, _| prepare::job_selector(value)),
    ("kept_allocations", service::kept_allocations),
    (
        "keep_template_generation",
        prepare::keep_template_generation,
    ),
    ("kubernetes_finalizer", |value, _| {
        prepare::kubernetes_finalizer(value)
    }),
    ("match_label_keys", |value, _| pod::match_label_keys(value)),
    (
        "next_template_generation",
        prepare::next_template_generation,
    ),
    ("observed_generation", pod::observed_generation),
    ("only_ephemeral_containers", pod::only_ephemeral_containers),
    ("only_resources", pod::only_resources),
    ("namespace_label", |value, _| namespace_label(value)),
    ("pod_grace_period", |value, _| pod_grace_period(value)),
    ("pod_ranges", |value, _| prepare::pod_ranges(value)),
    ("pod_ips", |value, _| pod_ips(value)),
    ("pod_level_resources", |value, _| {
        pod_resources::pod_level_resources(value)
    }),
    ("qos_class", |value, _| pod::qos_class(value)),
    ("request_decisions", prepare::request_decisions),
    ("scheduling_gated", |value, _| pod::scheduling_gated(value)),
    ("secret_references", |value, _| {
        prepare::secret_references(value)
    }),
    ("service_type", prepare::service_type),
    ("round_up", |value, _| {
        amount::rounded_to_milli(value.as_str()?).map(Value::from)
    }),
    ("stored_versions", |value, _| stored_versions(value)),
    ("volume_source", |value, _| volume_source(value)),
];

fn image_pull_policy(value: &Value, image: &str, policy: &str) -> Option<Value> {
    if at(value, policy).is_some() || value.as_map().is_none() {
        return None;
    }

    // `latest` can mean another image at any time, so it is always pulled.
    let pulled = if image::is_latest(text(value, image)) {
        "Always"
    } else {
        "IfNotPresent"
    };
    with(value, policy, pulled)
}

fn namespace_label(object: &Value) -> Option<Value> {
    with(
        object,
        r#"metadata.labels["kubernetes.io/metadata.name"]"#,
        text(object, "metadata.name"),
    )
}

/// A pod that must end at once has a second to do so.
fn pod_grace_period(object: &Value) -> Option<Value> {
    let period = at(object, "spec.terminationGracePeriodSeconds")?.as_i64()?;
    if period < 0 {
        with(object, "spec.terminationGracePeriodSeconds", 1)
    } else {
        None
    }
}

fn pod_ips(status: &Value) -> Option<Value> {
    let first = at(status, "podIPs")
        .and_then(Value::as_list)
        .and_then(|ips| ips.get(0));
    let first_ip = first.map(|first| text(first, "ip"));

    // The list has the single address as its first item; if both differ, the single one counts.
    match (text(status, "podIP"), first_ip) {
        ("", None | Some("")) => None,
        ("", Some(first)) => with(status, "podIP", first),
        (ip, Some(first)) if ip == first => None,
        (ip, _) => with(status, "podIPs", vec![Value::Map(Map::single("ip", ip))]),
    }
}

/// A volume without a source is an empty directory.
fn volume_source(volume: &Value) -> Option<Value> {
    let has_source = volume
        .as_map()?
        .iter()
        .any(|(name, value)| name != "name" && !value.is_null());
    if has_source {
        None
    } else {
        with(volume, "emptyDir", Value::Map(Map::default()))
    }
}

fn definition_names(object: &Value) -> Option<Value> {
    let kind = text(object, "spec.names.kind");

    // Names that are not given follow from the kind.
    let mut out = object.clone();
    if text(&out, "spec.names.singular").is_empty() && !kind.is_empty() {
        out = with(&out, "spec.names.singular", kind.to_lowercase())?;
    }
    if text(&out, "spec.names.listKind").is_empty() && !kind.is_empty() {
        out = with(&out, "spec.names.listKind", format!("{kind}List"))?;
    }
    Some(out)
}

fn stored_versions(object: &Value) -> Option<Value> {
    let name = storage_version(object)?;
    with(object, "status.storedVersions", vec![name])
}
