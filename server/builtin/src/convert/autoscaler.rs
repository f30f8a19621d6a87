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
    // Each version is converted by way of `v2`, so that `v1` to `v1` also normalizes the annotations.
    let is_old = |kind: &Kind| kind.gvk().version == "v1";
    let new = if is_old(from) {
        to_new(object)
    } else {
        without_annotations(object)
    };
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
    let text = object
        .get("metadata")?
        .get("annotations")?
        .get(annotation)?
        .as_str()?;
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
    Value::Map(
        entries
            .into_iter()
            .filter_map(|(name, value)| Some((Str::from(name), value?)))
            .collect(),
    )
}

/// A metric for the processor time of all containers.
fn cpu(part: &str, usage: Value) -> Value {
    let resource = map([("name", Some("cpu".into())), (part, Some(usage))]);
    map([
        ("type", Some("Resource".into())),
        ("resource", Some(resource)),
    ])
}

fn to_new(object: &Value) -> Value {
    let none = Value::Map(Map::new());
    let (spec, status) = (
        object.get("spec").unwrap_or(&none),
        object.get("status").unwrap_or(&none),
    );
    let target = |percent: Value| {
        cpu(
            "target",
            map([
                ("type", Some("Utilization".into())),
                ("averageUtilization", Some(percent)),
            ]),
        )
    };

    // The annotation has all metrics but the one for processor time, which has a field of its own.
    let mut metrics = held_list(object, METRICS, "metrics").unwrap_or_default();
    metrics = metrics
        .iter()
        .map(|metric| with_sources(metric, new_source))
        .collect();
    metrics.extend(
        spec.get("targetCPUUtilizationPercentage")
            .filter(|value| !value.is_null())
            .cloned()
            .map(target),
    );

    // A scaler without a metric targets the processor time.
    if metrics.is_empty() {
        metrics.push(target(Value::Int(DEFAULT_UTILIZATION)));
    }

    // The annotation has all current metrics; without it, the field is the only one.
    let current = match held_list(object, CURRENT_METRICS, "currentMetrics") {
        Some(held) => Value::from(
            held.iter()
                .map(|metric| with_sources(metric, new_status))
                .collect::<Vec<_>>(),
        ),
        None => {
            let percent = status
                .get("currentCPUUtilizationPercentage")
                .filter(|value| !value.is_null());
            let usage = percent.map(|percent| map([("averageUtilization", Some(percent.clone()))]));
            usage.map_or(Value::Null, |usage| {
                Value::from(vec![cpu("current", usage)])
            })
        }
    };

    // Go wrote the annotation from an internal type without JSON names, so the names begin with a capital letter.
    let behavior = held(object, BEHAVIOR, "behavior")
        .map(|behavior| recased(&behavior, |c| c.to_ascii_lowercase()));
    let has_rules = |rules: &Map| rules.iter().any(|(_, rules)| !rules.is_null());
    let behavior = behavior.filter(|behavior| behavior.as_map().is_some_and(has_rules));
    let conditions = held(object, CONDITIONS, "conditions");
    let spec = set(spec, "targetCPUUtilizationPercentage", None);
    let spec = set(
        &set(&spec, "metrics", Some(Value::from(metrics))),
        "behavior",
        behavior,
    );
    let status = set(status, "currentCPUUtilizationPercentage", None);

    let status = set(
        &set(&status, "currentMetrics", Some(current)),
        "conditions",
        conditions,
    );
    without_annotations(&set(
        &set(object, "spec", Some(spec)),
        "status",
        Some(status),
    ))
}

/// A metric whose sources are those of another version.
fn with_sources(metric: &Value, convert: impl Fn(&MetricNames, &Value) -> Value) -> Value {
    let Value::Map(fields) = metric else {
        return metric.clone();
    };
    let field = |(name, value): (&Str, &Value)| match name.as_str() {
        "type" => (name.clone(), value.clone()),
        source => (name.clone(), convert(names_of(source), value)),
    };
    Value::Map(fields.iter().map(field).collect())
}

/// Pairs of a name in `v1` and one in `v2`.
type Pairs = &'static [(&'static str, &'static str)];

/// The names of the fields of a metric in both versions. In `v2` they are in several structs.
struct MetricNames {
    own: Pairs,
    /// Those of `metric`.
    metric: Pairs,
    /// Those of `target`, the more specific one first.
    target: Pairs,
    /// Those of `current`.
    current: Pairs,
    /// The type of a target that has the first field; other targets have an average value.
    ty: &'static str,
    /// Whether a target with both has an average value: it has a value of zero beside that in Go.
    prefers_average: bool,
}

const OBJECT: MetricNames = MetricNames {
    own: &[("target", "describedObject")],
    metric: &[("metricName", "name"), ("selector", "selector")],
    target: &[("targetValue", "value"), ("averageValue", "averageValue")],
    current: &[("currentValue", "value"), ("averageValue", "averageValue")],
    ty: "Value",
    prefers_average: true,
};

const PODS: MetricNames = MetricNames {
    own: &[],
    metric: &[("metricName", "name"), ("selector", "selector")],
    target: &[("targetAverageValue", "averageValue")],
    current: &[("currentAverageValue", "averageValue")],
    ty: AVERAGE,
    prefers_average: false,
};

const EXTERNAL: MetricNames = MetricNames {
    own: &[],
    metric: &[("metricName", "name"), ("metricSelector", "selector")],
    target: &[
        ("targetValue", "value"),
        ("targetAverageValue", "averageValue"),
    ],
    current: &[
        ("currentValue", "value"),
        ("currentAverageValue", "averageValue"),
    ],
    ty: "Value",
    prefers_average: false,
};

const RESOURCE: MetricNames = MetricNames {
    own: &[("name", "name"), ("container", "container")],
    metric: &[],
    target: &[
        ("targetAverageUtilization", "averageUtilization"),
        ("targetAverageValue", "averageValue"),
    ],
    current: &[
        ("currentAverageUtilization", "averageUtilization"),
        ("currentAverageValue", "averageValue"),
    ],
    ty: "Utilization",
    prefers_average: false,
};

/// The type of a target that is an average.
const AVERAGE: &str = "AverageValue";

fn names_of(source: &str) -> &'static MetricNames {
    match source {
        "object" => &OBJECT,
        "pods" => &PODS,
        "external" => &EXTERNAL,
        _ => &RESOURCE,
    }
}

/// The source of a metric at `v2`, with its target.
fn new_source(names: &MetricNames, source: &Value) -> Value {
    let has = |pair: Option<&(&str, &str)>| pair.is_some_and(|(old, _)| source.get(old).is_some());
    let is_average = if names.prefers_average {
        has(names.target.last())
    } else {
        !has(names.target.first())
    };

    // Go has a plain value beside the average: zero there means that it is not set.
    let target = match names.target {
        [(value, _), rest @ ..]
            if names.prefers_average && is_average && is_zero(source.get(value)) =>
        {
            rest
        }
        all => all,
    };
    let ty = if is_average { AVERAGE } else { names.ty };
    let target = set(&renamed(source, target), "type", Some(ty.into()));

    new_struct(names, source, "target", target)
}

/// The current value of a metric at `v2`.
fn new_status(names: &MetricNames, status: &Value) -> Value {
    new_struct(names, status, "current", renamed(status, names.current))
}

fn new_struct(names: &MetricNames, source: &Value, part: &str, value: Value) -> Value {
    let metric = (!names.metric.is_empty()).then(|| renamed(source, names.metric));
    let out = renamed(source, names.own);
    set(&set(&out, "metric", metric), part, Some(value))
}

/// Whether a quantity in canonical form is zero.
fn is_zero(quantity: Option<&Value>) -> bool {
    quantity
        .and_then(Value::as_str)
        .is_none_or(|text| text == "0")
}

fn to_old(object: &Value) -> Value {
    let none = Value::Map(Map::new());
    let (spec, status) = (
        object.get("spec").unwrap_or(&none),
        object.get("status").unwrap_or(&none),
    );
    let items = |of: &Value, name: &str| -> Vec<Value> {
        of.get(name)
            .and_then(Value::as_list)
            .map(|list| list.iter().cloned().collect())
            .unwrap_or_default()
    };
    let metrics = items(spec, "metrics");

    // The field has one target for processor time, the first of them, and the last current value.
    let current = items(status, "currentMetrics");
    let percent = metrics
        .iter()
        .find_map(|metric| cpu_percent(metric, "target"));
    let current_percent = current
        .iter()
        .rev()
        .find_map(|metric| cpu_percent(metric, "current"));

    // A metric that became the field is not repeated in the annotation.
    let others: Vec<Value> = metrics
        .iter()
        .filter(|metric| cpu_percent(metric, "target").is_none())
        .map(|metric| with_sources(metric, old_source))
        .collect();

    let statuses: Vec<Value> = current
        .iter()
        .map(|metric| with_sources(metric, old_status))
        .collect();
    let behavior = spec
        .get("behavior")
        .map(|behavior| recased(behavior, |c| c.to_ascii_uppercase()));

    // An annotation is the JSON of the Go type, in the order of its fields.
    let annotations: Vec<(Str, Option<Value>)> = [
        (BEHAVIOR, "behavior", behavior),
        (
            CONDITIONS,
            "conditions",
            Some(items(status, "conditions"))
                .filter(|list| !list.is_empty())
                .map(Value::from),
        ),
        (
            CURRENT_METRICS,
            "currentMetrics",
            (!statuses.is_empty()).then(|| Value::from(statuses)),
        ),
        (
            METRICS,
            "metrics",
            (!others.is_empty()).then(|| Value::from(others)),
        ),
    ]
    .into_iter()
    .filter_map(|(annotation, name, value)| {
        let ty = part(name)?;
        let fitting = decode::fit(types(), ty, &value?);
        Some((
            Str::from(annotation),
            Some(Value::from(encode::encode(types(), ty, &fitting))),
        ))
    })
    .collect();

    // At `v1`, all other fields of the spec and the status are in annotations.
    let kept = |of: &Value, names: &[&str]| {
        renamed(
            of,
            &names.iter().map(|name| (*name, *name)).collect::<Vec<_>>(),
        )
    };
    let spec = set(
        &kept(spec, &["maxReplicas", "minReplicas", "scaleTargetRef"]),
        "targetCPUUtilizationPercentage",
        percent,
    );
    let status = set(
        &kept(
            status,
            &[
                "currentReplicas",
                "desiredReplicas",
                "lastScaleTime",
                "observedGeneration",
            ],
        ),
        "currentCPUUtilizationPercentage",
        current_percent,
    );

    let object = set(&set(object, "spec", Some(spec)), "status", Some(status));

    // Without an annotation to add, the object keeps its metadata as it is.
    if annotations.is_empty() {
        return object;
    }
    edit(&object, "metadata", |metadata| {
        let existing = metadata
            .get("annotations")
            .and_then(Value::as_map)
            .cloned()
            .unwrap_or_default();
        set(
            metadata,
            "annotations",
            Some(Value::Map(existing.with_edits(annotations))),
        )
    })
}

/// The utilization that a metric for processor time has, as a target or as the current value.
fn cpu_percent(metric: &Value, place: &str) -> Option<Value> {
    let is = |value: Option<&Value>, text: &str| value.and_then(Value::as_str) == Some(text);
    let resource = metric
        .get("resource")
        .filter(|_| is(metric.get("type"), "Resource"))?;
    if !is(resource.get("name"), "cpu") {
        return None;
    }

    resource
        .get(place)?
        .get("averageUtilization")
        .filter(|value| !value.is_null())
        .cloned()
}

/// The source of a metric at `v1`, in which all fields are in one struct.
fn old_source(names: &MetricNames, source: &Value) -> Value {
    old_struct(names, source, source.get("target"), names.target)
}

/// The current value of a metric at `v1`.
fn old_status(names: &MetricNames, status: &Value) -> Value {
    old_struct(names, status, status.get("current"), names.current)
}

fn old_struct(names: &MetricNames, source: &Value, part: Option<&Value>, of_part: Pairs) -> Value {
    let parts = [
        (source.get("metric"), names.metric),
        (part, of_part),
        (Some(source), names.own),
    ];
    let field = |(value, pairs): (Option<&Value>, Pairs)| {
        let field =
            move |(old, new): &(&str, &str)| Some((Str::from(*old), value?.get(new)?.clone()));
        pairs.iter().filter_map(field).collect::<Vec<_>>()
    };

    Value::Map(parts.into_iter().flat_map(field).collect())
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
            Value::Map(
                fields
                    .map(|(old, value)| (name(old), recased(value, case)))
                    .collect(),
            )
        }
        Value::List(items) => Value::List(items.iter().map(|item| recased(item, case)).collect()),
        other => other.clone(),
    }
}
