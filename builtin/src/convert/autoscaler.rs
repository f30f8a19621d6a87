//! HorizontalPodAutoscalers: `autoscaling/v1` has the metrics of `v2` in annotations.

use fieldmanager_value::{Map, Str, Value};

use super::edit::{edit, renamed, set};
use crate::kinds::part;
use crate::types::types;
use crate::{Kind, decode, encode};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// The annotations that no version but `v1` has.
const ANNOTATIONS: &[&str] = &[
    BEHAVIOR,
    CONDITIONS,
    CURRENT_METRICS,
    METRICS,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

/// The target of a scaler without metrics, in percent.
const DEFAULT_UTILIZATION: i64 = 80;

pub(super) fn convert(from: &Kind, object: &Value, to: &Kind) -> Value {
    let is_old = |kind: &Kind| kind.gvk().version == "v1";
    let new = if is_old(from) { to_new(object) } else { without_annotations(object) };
    if is_old(to) { to_old(&new) } else { new }
}

fn without_annotations(object: &Value) -> Value {
    edit(object, "metadata", |metadata| {
        edit(metadata, "annotations", |annotations| match annotations {
            Value::Map(entries) => {
                let found = ANNOTATIONS.iter().filter(|name| entries.contains(name));
                let mut edits: Vec<(Str, Option<Value>)> =
                    found.map(|name| (Str::from(*name), None)).collect();
                edits.sort_by(|a, b| a.0.cmp(&b.0));
                Value::Map(entries.with_edits(edits))
            }
            other => other.clone(),
        })
    })
}

/// The value that an annotation holds, as the Go type of its JSON writes it; `None` if it is absent or unreadable.
fn held(object: &Value, annotation: &str, name: &str) -> Option<Value> {
    let text = object.get("metadata")?.get("annotations")?.get(annotation)?.as_str()?;
    let value = Value::from_json(text).ok()?;
    decode::decode_folded(types(), part(name)?, &value).ok()
}

/// The items of a list that an annotation holds.
fn held_list(object: &Value, annotation: &str, name: &str) -> Option<Vec<Value>> {
    match held(object, annotation, name)? {
        Value::List(items) => Some(items.iter().cloned().collect()),
        _ => Some(Vec::new()),
    }
}

fn map<const N: usize>(entries: [(&str, Option<Value>); N]) -> Value {
    Value::Map(entries.into_iter().filter_map(|(name, value)| Some((Str::from(name), value?))).collect())
}

/// A metric for the processor time of all containers.
fn cpu(part: &str, usage: Value) -> Value {
    let resource = map([("name", Some("cpu".into())), (part, Some(usage))]);
    map([("type", Some("Resource".into())), ("resource", Some(resource))])
}

fn to_new(object: &Value) -> Value {
    let none = Value::Map(Map::new());
    let (spec, status) = (object.get("spec").unwrap_or(&none), object.get("status").unwrap_or(&none));
    let target = |percent: Value| {
        cpu("target", map([("type", Some("Utilization".into())), ("averageUtilization", Some(percent))]))
    };
    let mut metrics = held_list(object, METRICS, "metrics").unwrap_or_default();
    metrics = metrics.iter().map(|metric| new_metric(metric, new_source)).collect();
    metrics.extend(
        spec.get("targetCPUUtilizationPercentage").filter(|value| !value.is_null()).cloned().map(target),
    );
    if metrics.is_empty() {
        metrics.push(target(Value::Int(DEFAULT_UTILIZATION)));
    }
    let current = match held_list(object, CURRENT_METRICS, "currentMetrics") {
        Some(held) => {
            Value::from(held.iter().map(|metric| new_metric(metric, new_status)).collect::<Vec<_>>())
        }
        None => {
            let percent = status.get("currentCPUUtilizationPercentage").filter(|value| !value.is_null());
            let usage = percent.map(|percent| map([("averageUtilization", Some(percent.clone()))]));
            usage.map_or(Value::Null, |usage| Value::from(vec![cpu("current", usage)]))
        }
    };
    let behavior =
        held(object, BEHAVIOR, "behavior").map(|behavior| recased(&behavior, |c| c.to_ascii_lowercase()));
    let has_rules = |rules: &Map| rules.iter().any(|(_, rules)| !rules.is_null());
    let behavior = behavior.filter(|behavior| behavior.as_map().is_some_and(has_rules));
    let conditions = held(object, CONDITIONS, "conditions");
    let spec = set(spec, "targetCPUUtilizationPercentage", None);
    let spec = set(&set(&spec, "metrics", Some(Value::from(metrics))), "behavior", behavior);
    let status = set(status, "currentCPUUtilizationPercentage", None);
    let status = set(&set(&status, "currentMetrics", Some(current)), "conditions", conditions);
    without_annotations(&set(&set(object, "spec", Some(spec)), "status", Some(status)))
}

fn new_metric(metric: &Value, convert: fn(&str, &Value) -> Value) -> Value {
    let Value::Map(fields) = metric else { return metric.clone() };
    let field = |(name, value): (&Str, &Value)| match name.as_str() {
        "type" => (name.clone(), value.clone()),
        source => (name.clone(), convert(source, value)),
    };
    Value::Map(fields.iter().map(field).collect())
}

/// The name and selector of a metric.
fn identifier(source: &Value, selector: &str) -> Option<Value> {
    Some(renamed(source, &[("metricName", "name"), (selector, "selector")]))
}

/// Converts the source and target of a metric from `v1` to `v2`.
fn new_source(form: &str, source: &Value) -> Value {
    let target =
        |names: &[(&str, &str)], kind: &str| Some(set(&renamed(source, names), "type", Some(kind.into())));
    let or_average =
        |field: &str, kind: &'static str| if source.get(field).is_some() { kind } else { "AverageValue" };
    match form {
        "object" => {
            let mut names = vec![("targetValue", "value"), ("averageValue", "averageValue")];
            let kind = match source.get("averageValue") {
                None => "Value",
                Some(_) => {
                    names.retain(|(old, _)| *old != "targetValue" || !is_zero(source.get("targetValue")));
                    "AverageValue"
                }
            };
            map([
                ("describedObject", source.get("target").cloned()),
                ("target", target(&names, kind)),
                ("metric", identifier(source, "selector")),
            ])
        }
        "pods" => map([
            ("metric", identifier(source, "selector")),
            ("target", target(&[("targetAverageValue", "averageValue")], "AverageValue")),
        ]),
        "external" => {
            let names = [("targetValue", "value"), ("targetAverageValue", "averageValue")];
            map([
                ("metric", identifier(source, "metricSelector")),
                ("target", target(&names, or_average("targetValue", "Value"))),
            ])
        }
        _ => {
            let names =
                [("targetAverageUtilization", "averageUtilization"), ("targetAverageValue", "averageValue")];
            map([
                ("name", source.get("name").cloned()),
                ("container", source.get("container").cloned()),
                ("target", target(&names, or_average("targetAverageUtilization", "Utilization"))),
            ])
        }
    }
}

/// Whether a quantity in canonical form is zero.
fn is_zero(quantity: Option<&Value>) -> bool {
    quantity.and_then(Value::as_str).is_none_or(|text| text == "0")
}

/// Converts the current value of a metric from `v1` to `v2`.
fn new_status(form: &str, status: &Value) -> Value {
    let current = |names: &[(&str, &str)]| Some(renamed(status, names));
    match form {
        "object" => map([
            ("describedObject", status.get("target").cloned()),
            ("current", current(&[("currentValue", "value"), ("averageValue", "averageValue")])),
            ("metric", identifier(status, "selector")),
        ]),
        "pods" => map([
            ("metric", identifier(status, "selector")),
            ("current", current(&[("currentAverageValue", "averageValue")])),
        ]),
        "external" => map([
            ("metric", identifier(status, "metricSelector")),
            ("current", current(&[("currentValue", "value"), ("currentAverageValue", "averageValue")])),
        ]),
        _ => map([
            ("name", status.get("name").cloned()),
            ("container", status.get("container").cloned()),
            (
                "current",
                current(&[
                    ("currentAverageUtilization", "averageUtilization"),
                    ("currentAverageValue", "averageValue"),
                ]),
            ),
        ]),
    }
}

fn to_old(object: &Value) -> Value {
    let none = Value::Map(Map::new());
    let (spec, status) = (object.get("spec").unwrap_or(&none), object.get("status").unwrap_or(&none));
    let items = |of: &Value, name: &str| -> Vec<Value> {
        of.get(name).and_then(Value::as_list).map(|list| list.iter().cloned().collect()).unwrap_or_default()
    };
    let metrics = items(spec, "metrics");
    let current = items(status, "currentMetrics");
    let percent = metrics.iter().find_map(|metric| cpu_percent(metric, "target"));
    let current_percent = current.iter().rev().find_map(|metric| cpu_percent(metric, "current"));
    let others: Vec<Value> = metrics
        .iter()
        .filter(|metric| cpu_percent(metric, "target").is_none())
        .map(|metric| new_metric(metric, old_source))
        .collect();
    let statuses: Vec<Value> = current.iter().map(|metric| new_metric(metric, old_status)).collect();
    let behavior = spec.get("behavior").map(|behavior| recased(behavior, |c| c.to_ascii_uppercase()));
    let annotations: Vec<(Str, Option<Value>)> = [
        (BEHAVIOR, "behavior", behavior),
        (
            CONDITIONS,
            "conditions",
            Some(items(status, "conditions")).filter(|list| !list.is_empty()).map(Value::from),
        ),
        (CURRENT_METRICS, "currentMetrics", (!statuses.is_empty()).then(|| Value::from(statuses))),
        (METRICS, "metrics", (!others.is_empty()).then(|| Value::from(others))),
    ]
    .into_iter()
    .filter_map(|(annotation, name, value)| {
        let ty = part(name)?;
        let fitting = decode::fit(types(), ty, &value?);
        Some((Str::from(annotation), Some(Value::from(encode::encode(types(), ty, &fitting)))))
    })
    .collect();
    let kept = |of: &Value, names: &[&str]| {
        renamed(of, &names.iter().map(|name| (*name, *name)).collect::<Vec<_>>())
    };
    let spec = set(
        &kept(spec, &["maxReplicas", "minReplicas", "scaleTargetRef"]),
        "targetCPUUtilizationPercentage",
        percent,
    );
    let status = set(
        &kept(status, &["currentReplicas", "desiredReplicas", "lastScaleTime", "observedGeneration"]),
        "currentCPUUtilizationPercentage",
        current_percent,
    );
    let object = set(&set(object, "spec", Some(spec)), "status", Some(status));
    if annotations.is_empty() {
        return object;
    }
    edit(&object, "metadata", |metadata| {
        let existing = metadata.get("annotations").and_then(Value::as_map).cloned().unwrap_or_default();
        set(metadata, "annotations", Some(Value::Map(existing.with_edits(annotations))))
    })
}

/// The utilization that a metric for processor time has, as a target or as the current value.
fn cpu_percent(metric: &Value, place: &str) -> Option<Value> {
    let is = |value: Option<&Value>, text: &str| value.and_then(Value::as_str) == Some(text);
    let resource = metric.get("resource").filter(|_| is(metric.get("type"), "Resource"))?;
    if !is(resource.get("name"), "cpu") {
        return None;
    }
    resource.get(place)?.get("averageUtilization").filter(|value| !value.is_null()).cloned()
}

/// Pairs of an old and a new name.
type Names<'a> = &'a [(&'a str, &'a str)];

/// The fields of the parts of a metric, under other names.
fn joined(parts: [(Option<&Value>, Names<'_>); 2]) -> Value {
    let fields = parts.into_iter().filter_map(|(part, names)| match renamed(part?, names) {
        Value::Map(fields) => Some(fields),
        _ => None,
    });
    Value::Map(
        fields
            .flat_map(|fields| fields.iter().map(|(n, v)| (n.clone(), v.clone())).collect::<Vec<_>>())
            .collect(),
    )
}

/// Converts the source and target of a metric from `v2` to `v1`.
fn old_source(form: &str, source: &Value) -> Value {
    let (metric, target) = (source.get("metric"), source.get("target"));
    match form {
        "object" => set(
            &joined([
                (metric, &[("name", "metricName"), ("selector", "selector")]),
                (target, &[("value", "targetValue"), ("averageValue", "averageValue")]),
            ]),
            "target",
            source.get("describedObject").cloned(),
        ),
        "pods" => joined([
            (metric, &[("name", "metricName"), ("selector", "selector")]),
            (target, &[("averageValue", "targetAverageValue")]),
        ]),
        "external" => joined([
            (metric, &[("name", "metricName"), ("selector", "metricSelector")]),
            (target, &[("value", "targetValue"), ("averageValue", "targetAverageValue")]),
        ]),
        _ => joined([
            (Some(source), &[("name", "name"), ("container", "container")]),
            (
                target,
                &[("averageUtilization", "targetAverageUtilization"), ("averageValue", "targetAverageValue")],
            ),
        ]),
    }
}

/// Converts the current value of a metric from `v2` to `v1`.
fn old_status(form: &str, status: &Value) -> Value {
    let (metric, current) = (status.get("metric"), status.get("current"));
    match form {
        "object" => set(
            &joined([
                (metric, &[("name", "metricName"), ("selector", "selector")]),
                (current, &[("value", "currentValue"), ("averageValue", "averageValue")]),
            ]),
            "target",
            status.get("describedObject").cloned(),
        ),
        "pods" => joined([
            (metric, &[("name", "metricName"), ("selector", "selector")]),
            (current, &[("averageValue", "currentAverageValue")]),
        ]),
        "external" => joined([
            (metric, &[("name", "metricName"), ("selector", "metricSelector")]),
            (current, &[("value", "currentValue"), ("averageValue", "currentAverageValue")]),
        ]),
        _ => joined([
            (Some(status), &[("name", "name"), ("container", "container")]),
            (
                current,
                &[
                    ("averageUtilization", "currentAverageUtilization"),
                    ("averageValue", "currentAverageValue"),
                ],
            ),
        ]),
    }
}

/// A value whose names have another first letter, without fields that are null. The depth is that of the Go type.
fn recased(value: &Value, case: fn(char) -> char) -> Value {
    match value {
        Value::Map(fields) => {
            let name = |name: &Str| {
                let mut chars = name.chars();
                let first = chars.next().map(case);
                Str::from(first.into_iter().chain(chars).collect::<String>())
            };
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Map(fields.map(|(old, value)| (name(old), recased(value, case))).collect())
        }
        Value::List(items) => Value::List(items.iter().map(|item| recased(item, case)).collect()),
        other => other.clone(),
    }
}
