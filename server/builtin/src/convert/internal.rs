//! The changes on the way through the internal version.

use fieldmanager_value::{Map, Str, Value};

use super::edit::{each, edit, set};
use super::error::ConvertError;
use crate::number::integer;
use crate::{Kind, base64};

/// Fields that are pointers in versions and plain in the internal version, so that they are written if their parent is
/// set. `*` is every item of a list.
const PLAIN: &[(&str, &str, &[&str])] = &[
    (
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
        &["webhooks", "*", "clientConfig", "service", "port"],
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        &["webhooks", "*", "clientConfig", "service", "port"],
    ),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        &[
            "spec",
            "conversion",
            "webhook",
            "clientConfig",
            "service",
            "port",
        ],
    ),
    (
        "apiregistration.k8s.io",
        "APIService",
        &["spec", "service", "port"],
    ),
    (
        "apps",
        "DaemonSet",
        &["spec", "updateStrategy", "rollingUpdate", "maxSurge"],
    ),
    (
        "apps",
        "DaemonSet",
        &["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"],
    ),
    ("apps", "Deployment", &["spec", "replicas"]),
    (
        "apps",
        "Deployment",
        &["spec", "strategy", "rollingUpdate", "maxSurge"],
    ),
    (
        "apps",
        "Deployment",
        &["spec", "strategy", "rollingUpdate", "maxUnavailable"],
    ),
    ("apps", "ReplicaSet", &["spec", "replicas"]),
    ("apps", "StatefulSet", &["spec", "replicas"]),
    (
        "apps",
        "StatefulSet",
        &["spec", "updateStrategy", "rollingUpdate", "partition"],
    ),
    (
        "authentication.k8s.io",
        "TokenRequest",
        &["spec", "expirationSeconds"],
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "PriorityLevelConfiguration",
        &["spec", "limited", "nominalConcurrencyShares"],
    ),
];

/// The annotation that holds a field of a DaemonSet of the internal version.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The annotation that holds a field of a Deployment of the internal version.
const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";

/// An object after the way through the internal version and back.
pub(super) fn pass(kind: &Kind, object: &Value) -> Result<Value, ConvertError> {
    let (group, name) = (kind.gvk().group.as_str(), kind.gvk().kind.as_str());
    let object = match (group, name) {
        ("", "Secret") => secret(object),
        ("", "Node") => edit(object, "spec", node),
        ("apps", "DaemonSet") => daemon_set(object)?,
        ("apps", "Deployment") => deployment(object)?,
        ("apps", "StatefulSet") => edit(object, "spec", stateful_set),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => edit(object, "spec", definition),
        _ => object.clone(),
    };
    // Pointers that are plain in the internal version come back as zero.
    let paths = PLAIN
        .iter()
        .filter(|(of, kind, _)| (*of, *kind) == (group, name));

    Ok(paths.fold(object, |object, (.., path)| fill(&object, path)))
}

/// Whether the annotations have the numbers that the internal version has in fields.
pub(super) fn check_annotations(kind: &Kind, object: &Value) -> Result<(), ConvertError> {
    match (kind.gvk().group.as_str(), kind.gvk().kind.as_str()) {
        ("apps", "DaemonSet") => daemon_set(object).map(drop),
        ("apps", "Deployment") => deployment(object).map(drop),
        _ => Ok(()),
    }
}

/// Sets a number that is absent to zero, if its parent is present.
fn fill(object: &Value, path: &[&str]) -> Value {
    match path {
        ["*", rest @ ..] => each(object, |item| fill(item, rest)),
        [name] => match object.get(name) {
            None | Some(Value::Null) => set(object, name, Some(Value::Int(0))),
            Some(_) => object.clone(),
        },
        [name, rest @ ..] => edit(object, name, |value| fill(value, rest)),
        [] => object.clone(),
    }
}

fn secret(object: &Value) -> Value {
    let Some(Value::Map(plain)) = object.get("stringData") else {
        return object.clone();
    };
    // `stringData` replaces entries of `data` with the same key, and is never stored.
    let encoded = plain.iter().filter_map(|(key, value)| {
        let text = base64::encode(value.as_str()?.as_bytes());
        Some((key.clone(), Some(Value::from(text))))
    });
    let data = object
        .get("data")
        .and_then(Value::as_map)
        .cloned()
        .unwrap_or_default();

    let data = data.with_edits(encoded.collect());
    set(
        &set(object, "data", Some(Value::Map(data))),
        "stringData",
        None,
    )
}

fn node(spec: &Value) -> Value {
    let one = spec
        .get("podCIDR")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let all = spec.get("podCIDRs").and_then(Value::as_list);
    let first = all.and_then(|all| all.get(0)).and_then(Value::as_str);

    // The single range counts if both differ, since older clients know it alone.
    match first {
        Some(first) if one.is_empty() => set(spec, "podCIDR", Some(Value::from(first))),
        Some(first) if first == one => spec.clone(),
        None if one.is_empty() => spec.clone(),
        _ => set(spec, "podCIDRs", Some(Value::from(vec![one]))),
    }
}

fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    match object.get("metadata")?.get("annotations")?.get(name)? {
        // Go decodes null to a string without characters.
        Value::Null => Some(""),
        value => value.as_str(),
    }
}

fn with_annotation(object: &Value, name: &str, value: Option<&str>) -> Value {
    edit(object, "metadata", |metadata| {
        let annotations = metadata
            .get("annotations")
            .and_then(Value::as_map)
            .cloned()
            .unwrap_or_default();
        let edits: Vec<(Str, _)> = vec![(name.into(), value.map(Value::from))];
        let annotations: Map = annotations.with_edits(edits);
        set(metadata, "annotations", Some(Value::Map(annotations)))
    })
}

fn daemon_set(object: &Value) -> Result<Value, ConvertError> {
    let generation = match annotation(object, TEMPLATE_GENERATION) {
        Some(text) => integer("ParseInt", text).map_err(ConvertError::Annotation)?,
        None => 0,
    };
    Ok(with_annotation(
        object,
        TEMPLATE_GENERATION,
        Some(&generation.to_string()),
    ))
}

fn deployment(object: &Value) -> Result<Value, ConvertError> {
    match annotation(object, ROLLBACK_TO) {
        Some("") => Ok(with_annotation(object, ROLLBACK_TO, None)),
        Some(text) => match integer("ParseInt", text) {
            Ok(revision) => Ok(with_annotation(
                object,
                ROLLBACK_TO,
                Some(&revision.to_string()),
            )),
            Err(error) => Err(ConvertError::Annotation(format!(
                "failed to parse annotation[{ROLLBACK_TO}]={text} as int64: {error}"
            ))),
        },
        None => Ok(object.clone()),
    }
}

fn stateful_set(spec: &Value) -> Value {
    // The conversion from the internal version always writes the kind of each template.
    edit(spec, "volumeClaimTemplates", |templates| {
        each(templates, |template| {
            let template = set(template, "apiVersion", Some(Value::from("v1")));
            set(
                &template,
                "kind",
                Some(Value::from("PersistentVolumeClaim")),
            )
        })
    })
}

/// A conversion with a webhook that has neither a client nor versions loses it.
fn definition(spec: &Value) -> Value {
    edit(spec, "conversion", |conversion| {
        let is_set = |field: &str| {
            conversion
                .get("webhook")?
                .get(field)
                .filter(|value| !value.is_null())
        };

        if conversion.get("webhook").is_some()
            && is_set("clientConfig")
                .or(is_set("conversionReviewVersions"))
                .is_none()
        {
            return set(conversion, "webhook", None);
        }

        conversion.clone()
    })
}
