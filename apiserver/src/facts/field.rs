//! Fields that field selectors can name.

use std::borrow::Cow;
use std::sync::LazyLock;

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::{Str, Value};

/// A field that a field selector can name, and where objects have its value.
///
/// Those of built-in kinds are returned by [`field_selectors`](super::field_selectors); those of custom resources are
/// made of `selectableFields`.
///
/// ```
/// use fieldmanager_apiserver::facts::SelectableField;
/// use fieldmanager_value::Value;
/// let color = SelectableField::new("spec.color");
/// assert_eq!(color.value(&Value::from_json(r#"{"spec":{"color":"red"}}"#)?), "red");
/// assert_eq!(color.value(&Value::Null), "");
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectableField {
    /// The name in selectors, such as `spec.nodeName`.
    pub label: Str,
    /// The paths of the value. The first that leads to a string that is not empty, a number or a boolean is used.
    paths: Vec<Vec<Str>>,
    /// The value of objects without the field.
    absent: &'static str,
}

impl SelectableField {
    /// A field whose label is its path, without a leading dot.
    pub fn new(label: &str) -> Self {
        Self::at(label, &[label], "")
    }

    fn at(label: &str, paths: &[&str], absent: &'static str) -> Self {
        let steps = |path: &&str| path.split('.').map(Str::from).collect();
        SelectableField { label: label.into(), paths: paths.iter().map(steps).collect(), absent }
    }

    /// The value of the field in an object; that of an absent field, usually an empty string, if the object has none.
    pub fn value<'o>(&self, object: &'o Value) -> Cow<'o, str> {
        let values = self.paths.iter().filter_map(|path| read(object, path));
        values.filter_map(written).next().unwrap_or(Cow::Borrowed(self.absent))
    }
}

fn read<'o>(object: &'o Value, path: &[Str]) -> Option<&'o Value> {
    path.iter().try_fold(object, |value, step| match value {
        Value::List(items) => items.get(step.parse().ok()?),
        other => other.get(step),
    })
}

fn written(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(text.as_str()).filter(|text| !text.is_empty()).map(Cow::Borrowed),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => Some(Cow::Owned(value.to_json())),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

/// The message for a selector with a label that a kind does not support.
///
/// ```
/// use fieldmanager_apiserver::facts::unsupported_field_label;
/// use fieldmanager_structural::GroupVersionKind;
/// let message = |kind| unsupported_field_label(&GroupVersionKind::from_api_version_kind("v1", kind), "spec.x");
/// assert_eq!(message("Pod"), "field label not supported: spec.x");
/// assert_eq!(
///     message("ConfigMap"),
///     r#""spec.x" is not a known field selector: only "metadata.name", "metadata.namespace""#
/// );
/// ```
pub fn unsupported_field_label(kind: &GroupVersionKind, label: &str) -> String {
    match (kind.group.as_str(), kind.kind.as_str()) {
        _ if of_table(kind).is_none() => {
            format!("{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
        }
        ("batch", "Job") => format!("field label {label:?} not supported for Job"),
        ("resource.k8s.io", _) => format!("field label not supported for {kind}: {label}"),
        _ => format!("field label not supported: {label}"),
    }
}

/// The fields of a built-in kind.
pub(super) fn of_kind(kind: &GroupVersionKind) -> &'static [SelectableField] {
    static DEFAULT: LazyLock<Vec<SelectableField>> =
        LazyLock::new(|| ["metadata.name", "metadata.namespace"].map(SelectableField::new).to_vec());
    of_table(kind).unwrap_or(&DEFAULT)
}

fn of_table(kind: &GroupVersionKind) -> Option<&'static [SelectableField]> {
    let found = FIELDS.iter().find(|(group, name, _)| kind.group == *group && kind.kind == *name);
    found.map(|(_, _, fields)| fields.as_slice())
}

/// The fields of the kinds that have more than names and namespaces, or less. All versions of a kind have the same.
static FIELDS: LazyLock<Vec<(&str, &str, Vec<SelectableField>)>> = LazyLock::new(|| {
    let rows = TABLE.iter().map(|(group, kind, labels, others)| {
        let same = labels.iter().map(|label| SelectableField::new(label));
        let others = others.iter().map(|(label, paths, absent)| SelectableField::at(label, paths, absent));
        (*group, *kind, same.chain(others).collect())
    });
    rows.collect()
});

/// Group, kind, labels that are paths, and other labels with their paths and the value of an absent field.
type Row = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [(&'static str, &'static [&'static str], &'static str)],
);

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";

const TABLE: &[Row] = &[
    (
        "",
        "Pod",
        &[
            NAME,
            NAMESPACE,
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.nominatedNodeName",
        ],
        &[
            ("spec.hostNetwork", &["spec.hostNetwork"], "false"),
            ("spec.host", &["spec.nodeName"], ""),
            ("status.podIP", &["status.podIPs.0.ip"], ""),
            // The label is accepted, but objects have no value for it.
            ("status.podIPs", &[], ""),
        ],
    ),
    ("", "Node", &[NAME], &[("spec.unschedulable", &["spec.unschedulable"], "false")]),
    ("", "ReplicationController", &[NAME, NAMESPACE], &[("status.replicas", &["status.replicas"], "0")]),
    (
        "",
        "Event",
        &[
            NAME,
            NAMESPACE,
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "type",
        ],
        &[("source", &["source.component", "reportingComponent"], "")],
    ),
    (
        "events.k8s.io",
        "Event",
        &[
            NAME,
            NAMESPACE,
            "reason",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reportingController",
            "type",
        ],
        &[],
    ),
    ("", "Namespace", &[NAME, "status.phase"], &[]),
    ("", "Secret", &[NAME, NAMESPACE, "type"], &[]),
    ("", "Service", &[NAME, NAMESPACE, "spec.clusterIP", "spec.type"], &[]),
    ("batch", "Job", &[NAME, NAMESPACE], &[("status.successful", &["status.succeeded"], "0")]),
    ("certificates.k8s.io", "CertificateSigningRequest", &[NAME, "spec.signerName"], &[]),
    ("certificates.k8s.io", "ClusterTrustBundle", &[NAME, "spec.signerName"], &[]),
    (
        "certificates.k8s.io",
        "PodCertificateRequest",
        &[NAME, "spec.signerName", "spec.podName", "spec.nodeName"],
        &[],
    ),
    ("resource.k8s.io", "ResourceSlice", &[NAME, "spec.nodeName", "spec.driver", "spec.pool.name"], &[]),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn value(kind: (&str, &str), label: &str, object: &str) -> String {
        let kind = GroupVersionKind::from_api_version_kind(kind.0, kind.1);
        let field = of_kind(&kind).iter().find(|field| field.label == label).unwrap();
        field.value(&Value::from_json(object).unwrap()).into_owned()
    }

    #[test]
    fn fields_that_are_absent_have_the_zero_value_of_their_type() {
        assert_eq!(value(("v1", "Pod"), "spec.hostNetwork", "{}"), "false");
        assert_eq!(value(("v1", "Pod"), "spec.nodeName", "{}"), "");
        assert_eq!(value(("batch/v1", "Job"), "status.successful", "{}"), "0");
        assert_eq!(value(("v1", "Node"), "spec.unschedulable", r#"{"spec":{"unschedulable":true}}"#), "true");
    }

    #[test]
    fn address_of_a_pod_is_its_first() {
        let pod = r#"{"status":{"podIP":"10.0.0.9","podIPs":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}]}}"#;
        assert_eq!(value(("v1", "Pod"), "status.podIP", pod), "10.0.0.1");
        assert_eq!(value(("v1", "Pod"), "status.podIPs", pod), "");
    }

    #[test]
    fn source_of_an_event_is_its_component_or_the_controller_that_reports_it() {
        let event = r#"{"source":{"component":"kubelet"},"reportingComponent":"other"}"#;
        assert_eq!(value(("v1", "Event"), "source", event), "kubelet");
        let event = r#"{"source":{"component":""},"reportingComponent":"other"}"#;
        assert_eq!(value(("v1", "Event"), "source", event), "other");
    }
}
