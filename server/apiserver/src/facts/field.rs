//! Fields that field selectors can name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use fieldmanager_builtin::KindDescription;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::{Str, Value};

/// A field that a field selector can name, and where objects have its value.
///
/// Those of built-in kinds are returned by [`field_selectors`](super::field_selectors); those of custom resources are
/// made of `selectableFields`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SelectableField {
    /// The name in selectors, such as `spec.nodeName`.
    pub(crate) label: Str,
    /// The paths of the value. The first that leads to a string that is not empty, a number or a boolean is used.
    paths: Vec<Vec<Str>>,
    /// The value of objects without the field.
    absent: &'static str,
}

impl SelectableField {
    /// A field whose label is its path, without a leading dot.
    pub(crate) fn new(label: &str) -> Self {
        Self::at(label, &[label], "")
    }

    fn at(label: &str, paths: &[&str], absent: &'static str) -> Self {
        let steps = |path: &&str| path.split('.').map(Str::from).collect();
        SelectableField {
            label: label.into(),
            paths: paths.iter().map(steps).collect(),
            absent,
        }
    }

    /// The value of the field in an object; that of an absent field, usually an empty string, if the object has none.
    pub(crate) fn value<'o>(&self, object: &'o Value) -> Cow<'o, str> {
        let values = self.paths.iter().filter_map(|path| read(object, path));
        values
            .filter_map(written)
            .next()
            .unwrap_or(Cow::Borrowed(self.absent))
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
        Value::String(text) => Some(text.as_str())
            .filter(|text| !text.is_empty())
            .map(Cow::Borrowed),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => Some(Cow::Owned(value.to_json())),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

/// The message for a selector with a label that a kind does not support.
pub(crate) fn unsupported_field_label(kind: &GroupVersionKind, label: &str) -> String {
    let fault = KindDescription::find(kind)
        .label_fault
        .replace("{kind}", &kind.to_string());
    fault
        .replace("{quoted}", &format!("{label:?}"))
        .replace("{label}", label)
}

/// The fields of a built-in kind, and for kinds without fields of their own the name and the namespace.
pub(super) fn of_kind(kind: &GroupVersionKind) -> &'static [SelectableField] {
    static FIELDS: LazyLock<HashMap<(&str, &str), Vec<SelectableField>>> = LazyLock::new(|| {
        let fields = |description: &KindDescription| {
            let paths = description.labels.iter().copied();
            let derived = description.derived_labels.iter();
            paths
                .map(SelectableField::new)
                .chain(derived.map(|of| SelectableField::at(of.label, of.paths, of.absent)))
                .collect()
        };
        let other = KindDescription::find(&GroupVersionKind::default());

        KindDescription::all()
            .chain([other])
            .map(|kind| ((kind.group, kind.kind), fields(kind)))
            .collect()
    });

    let description = KindDescription::find(kind);
    FIELDS
        .get(&(description.group, description.kind))
        .map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(kind: (&str, &str), label: &str, object: &str) -> String {
        let kind = GroupVersionKind::from_api_version_kind(kind.0, kind.1);
        let field = of_kind(&kind)
            .iter()
            .find(|field| field.label == label)
            .unwrap();
        field.value(&Value::from_json(object).unwrap()).into_owned()
    }

    #[test]
    fn fields_that_are_absent_have_the_zero_value_of_their_type() {
        assert_eq!(value(("v1", "Pod"), "spec.hostNetwork", "{}"), "false");
        assert_eq!(value(("v1", "Pod"), "spec.nodeName", "{}"), "");
        assert_eq!(value(("batch/v1", "Job"), "status.successful", "{}"), "0");
        assert_eq!(
            value(
                ("v1", "Node"),
                "spec.unschedulable",
                r#"{"spec":{"unschedulable":true}}"#
            ),
            "true"
        );
    }

    #[test]
    fn address_of_a_pod_is_its_first() {
        let pod =
            r#"{"status":{"podIP":"10.0.0.9","podIPs":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}]}}"#;
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
