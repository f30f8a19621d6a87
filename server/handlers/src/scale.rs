//! The subresource `scale`: an object as a `Scale`, and a `Scale` written back into its object.

use fieldmanager_fieldpath::{ApiVersion, Path, PathElement};
use fieldmanager_managedfields::ScaleHandler;
use fieldmanager_value::{Map, Str, Value};

use crate::metadata;

/// The `apiVersion` of a `Scale`.
pub(crate) const API_VERSION: &str = "autoscaling/v1";

/// Where an object has the parts of its `Scale`.
#[derive(Clone, Debug)]
pub(crate) struct ScaleFields {
    /// The desired replicas, such as `spec.replicas`.
    pub(crate) replicas: Vec<Str>,
    /// The observed replicas.
    pub(crate) observed: Vec<Str>,
    /// The label selector: a string, or a `LabelSelector` of a built-in kind.
    pub(crate) selector: Option<Vec<Str>>,
    /// The versions of the object that have the subresource, with the path of the replicas.
    pub(crate) versions: Vec<(ApiVersion, Option<Vec<Str>>)>,
}

impl ScaleFields {
    /// The parts of a built-in kind, all of whose versions have the same fields.
    pub(crate) fn builtin(versions: impl Iterator<Item = ApiVersion>) -> Self {
        let path = |names: &[&'static str]| {
            names
                .iter()
                .map(|name| Str::from(*name))
                .collect::<Vec<_>>()
        };
        let replicas = path(&["spec", "replicas"]);

        ScaleFields {
            versions: versions
                .map(|version| (version, Some(replicas.clone())))
                .collect(),
            replicas,
            observed: path(&["status", "replicas"]),
            selector: Some(path(&["spec", "selector"])),
        }
    }

    /// Converts managed fields between an object at a version and its `Scale`.
    pub(crate) fn handler(&self, version: &ApiVersion) -> ScaleHandler {
        let mut handler = ScaleHandler::new(version.clone());
        for (version, path) in &self.versions {
            handler = match path {
                Some(path) => {
                    let path: Path = path
                        .iter()
                        .map(|name| PathElement::field(name.clone()))
                        .collect();
                    handler.replicas(version.clone(), path)
                }
                None => handler.without_replicas(version.clone()),
            };
        }

        handler
    }

    /// Whether an object has the desired replicas.
    pub(crate) fn has_replicas(&self, object: &Value) -> bool {
        at(object, &self.replicas).is_some()
    }

    /// The path of the desired replicas, such as `.spec.replicas`.
    pub(crate) fn replicas_path(&self) -> String {
        self.replicas
            .iter()
            .map(|name| format!(".{name}"))
            .collect()
    }

    /// The `Scale` of an object, without managed fields.
    pub(crate) fn read(&self, object: &Value) -> Value {
        let mut metadata = Map::new();
        for name in [
            "creationTimestamp",
            "name",
            "namespace",
            "resourceVersion",
            "uid",
        ] {
            if let Some(value) = metadata::field(object, name) {
                metadata.insert(name, value.clone());
            }
        }

        let replicas = |path: &[Str]| at(object, path).and_then(Value::as_i64).unwrap_or_default();
        let mut spec = Map::new();
        // Go omits 0, so that no manager owns it.
        if replicas(&self.replicas) != 0 {
            spec.insert("replicas", Value::Int(replicas(&self.replicas)));
        }

        let mut status = Map::new();
        status.insert("replicas", Value::Int(replicas(&self.observed)));
        if let Some(selector) = self.selector.as_deref().and_then(|path| at(object, path)) {
            let text = selector_text(selector);
            if !text.is_empty() {
                status.insert("selector", text.as_str());
            }
        }

        let mut scale = Map::new();
        scale.insert("apiVersion", API_VERSION);
        scale.insert("kind", "Scale");
        scale.insert("metadata", Value::Map(metadata));
        scale.insert("spec", Value::Map(spec));
        scale.insert("status", Value::Map(status));
        Value::Map(scale)
    }

    /// The object with the replicas of a `Scale`.
    pub(crate) fn write(&self, object: &Value, scale: &Value) -> Value {
        let replicas = scale
            .get("spec")
            .and_then(|spec| spec.get("replicas"))
            .and_then(Value::as_i64);
        set(
            object,
            &self.replicas,
            Value::Int(replicas.unwrap_or_default()),
        )
    }
}

/// The replicas of a `Scale` whose object has none, until a request sets them.
const NO_REPLICAS: i64 = i32::MIN as i64;

/// A `Scale` that says that its object has no replicas.
pub(crate) fn without_replicas(scale: &Value) -> Value {
    set(
        scale,
        &["spec".into(), "replicas".into()],
        Value::Int(NO_REPLICAS),
    )
}

/// Whether a `Scale` says that its object has no replicas.
pub(crate) fn lacks_replicas(scale: &Value) -> bool {
    at(scale, &["spec".into(), "replicas".into()]).and_then(Value::as_i64) == Some(NO_REPLICAS)
}

/// A live `Scale` for its validation: without owners, and without the mark of missing replicas.
pub(crate) fn validated(scale: &Value) -> Value {
    let scale = metadata::with(scale, vec![("managedFields", None)]);
    match &scale {
        Value::Map(fields) if lacks_replicas(&scale) => {
            let spec = Some(Value::Map(Map::new()));
            Value::Map(fields.with_edits(vec![("spec".into(), spec)]))
        }
        _ => scale,
    }
}

/// The value at a path of field names.
fn at<'v>(object: &'v Value, path: &[Str]) -> Option<&'v Value> {
    path.iter().try_fold(object, |value, name| value.get(name))
}

/// The object with a value at a path; missing maps are created.
fn set(object: &Value, path: &[Str], value: Value) -> Value {
    let Some((first, rest)) = path.split_first() else {
        return value;
    };
    let fields = object.as_map().cloned().unwrap_or_default();
    let inner = fields.get(first).cloned().unwrap_or_default();
    Value::Map(fields.with_edits(vec![(first.clone(), Some(set(&inner, rest, value)))]))
}

/// A label selector in the form of query parameters: `app=web,tier in (a,b),!old`.
///
/// Behaviour: `LabelSelectorAsSelector` of `k8s.io/apimachinery/pkg/apis/meta/v1`.
fn selector_text(selector: &Value) -> String {
    let Some(fields) = selector.as_map() else {
        return selector.as_str().unwrap_or_default().to_owned();
    };

    // Some built-in kinds have a map of labels in place of a `LabelSelector`; custom resources have the text itself.
    let is_selector = fields.contains("matchLabels") || fields.contains("matchExpressions");
    let labels = if is_selector {
        selector.get("matchLabels")
    } else {
        Some(selector)
    };
    let string =
        |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut parts: Vec<(String, String)> = Vec::new();

    for (name, value) in labels.and_then(Value::as_map).into_iter().flatten() {
        parts.push((
            name.to_string(),
            format!("{name}={}", value.as_str().unwrap_or_default()),
        ));
    }

    let expressions = if is_selector {
        selector.get("matchExpressions")
    } else {
        None
    };

    // Go keeps the values of an expression as a set, so they are written in their order.
    for expression in expressions.and_then(Value::as_list).into_iter().flatten() {
        let key = string(expression.get("key"));
        let values = expression.get("values").and_then(Value::as_list);
        let mut values: Vec<String> = values
            .into_iter()
            .flatten()
            .map(|value| string(Some(value)))
            .collect();
        values.sort();
        let values = values.join(",");
        let text = match string(expression.get("operator")).as_str() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.clone(),
        };
        parts.push((key, text));
    }

    // Requirements are sorted by key alone: those with the same key stay in the order of the selector.
    parts.sort_by(|(a, _), (b, _)| a.cmp(b));
    parts
        .into_iter()
        .map(|(_, text)| text)
        .collect::<Vec<_>>()
        .join(",")
}
