//! Autoscalers.

use std::borrow::Cow;

use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_structural::{FieldError, GroupVersionKind};

use super::field::Field;
use super::pods::resources::container_resource;
use crate::Kind;
use crate::amount::Amount;
use crate::place::{Errors, NOT_NEGATIVE};

const METRICS: [&str; 5] = [
    "ContainerResource",
    "External",
    "Object",
    "Pods",
    "Resource",
];

/// Checks an autoscaler of `autoscaling/v1` as one of the later version, as Kubernetes does.
pub(crate) fn autoscaler_v1(object: &Field<'_>, errors: &mut Errors) {
    let kind = |version: &str| {
        Kind::of(&GroupVersionKind::new(
            "autoscaling",
            version,
            "HorizontalPodAutoscaler",
        ))
    };
    let Some(value) = object.value else { return };
    // An object that cannot be converted is checked unchanged.
    let converted = kind("v1")
        .zip(kind("v2"))
        .and_then(|(v1, v2)| v1.convert(value, &v2).ok());
    let converted = converted.map_or(Cow::Borrowed(value), Cow::Owned);
    autoscaler(&Field::object(&converted, None), errors);
}

pub(crate) fn autoscaler(object: &Field<'_>, errors: &mut Errors) {
    let spec = object.get("spec");
    let (min, max) = (spec.get("minReplicas"), spec.get("maxReplicas"));
    if min.is_set() && max.number() < min.number() {
        let detail = "must be greater than or equal to `minReplicas`";
        errors.push(FieldError::invalid(max.path.clone(), max.number(), detail));
    }

    // Of the kinds of the core group, only this one can be scaled.
    let target = spec.get("scaleTargetRef");
    let is_core = target.get("kind").text() == "ReplicationController";
    reference(&target, is_core, errors);
    metrics(&spec, errors);
    for name in ["scaleUp", "scaleDown"] {
        let rules = spec.get("behavior").get(name);
        if rules.is_set() {
            scaling_rules(&rules, errors);
        }
    }

    // The generated validation of Kubernetes has its errors at the end.
    min.non_negative(errors);
    match max.number() {
        0 => max.missing("", errors),
        number => max.invalid_if(number < 0, "must be greater than or equal to 1", errors),
    }
}

pub(crate) fn autoscaler_v1_status(object: &Field<'_>, errors: &mut Errors) {
    let status = object.get("status");
    status.get("currentReplicas").non_negative(errors);
    status.get("desiredReplicas").non_negative(errors);
}

pub(crate) fn autoscaler_status(object: &Field<'_>, errors: &mut Errors) {
    for condition in object.get("status").get("conditions").items() {
        condition.get("observedGeneration").non_negative(errors);
    }
    autoscaler_v1_status(object, errors);
}

fn reference(reference: &Field<'_>, has_core: bool, errors: &mut Errors) {
    for name in ["kind", "name"] {
        reference
            .get(name)
            .require_name(NameSyntax::PathSegment, "", errors);
    }

    let version = reference.get("apiVersion");
    // The described object may be of the core group, whose version names no group, and so may
    // a ReplicationController.
    match version.text().split_once('/') {
        Some((_, rest)) if rest.contains('/') => {
            version.invalid_text(
                format!("unexpected GroupVersion string: {}", version.text()),
                errors,
            );
        }
        Some((group, _)) if !group.is_empty() => {}
        _ if has_core => {}
        _ => version.invalid_text("apiVersion must specify API group", errors),
    }
}

fn metrics(spec: &Field<'_>, errors: &mut Errors) {
    let (metrics, min) = (spec.get("metrics"), spec.get("minReplicas"));
    metrics.items().for_each(|spec| metric(&spec, errors));
    // With 0 replicas there are no pods to measure, so another metric has to say when to scale up again.
    let scales_to_zero =
        |metric: Field<'_>| matches!(metric.get("type").text(), "Object" | "External");
    let is_stuck = min.is_set() && min.number() == 0 && !metrics.items().any(scales_to_zero);
    let detail =
        "must specify at least one Object or External metric to support scaling to zero replicas";
    metrics.forbid_if(is_stuck, detail, errors);
}

fn metric(spec: &Field<'_>, errors: &mut Errors) {
    let ty = spec.get("type");
    ty.require("must specify a metric source type", errors);
    ty.one_of(&METRICS, errors);
    // The order is that in which Kubernetes looks for sources. Only the first of them is checked.
    let names = [
        "object",
        "external",
        "pods",
        "resource",
        "containerResource",
    ];
    let sources: Vec<&str> = names
        .into_iter()
        .filter(|name| spec.get(name).is_set())
        .collect();

    if let Some(name) = sources.first() {
        metric_source(name, &spec.get(name), errors);
    }
    // The type is the discriminator: it names the source that has to be set.
    let expected = match ty.text() {
        "Object" => "object",
        "Pods" => "pods",
        "Resource" => "resource",
        "External" => "external",
        "ContainerResource" => "containerResource",
        _ => "",
    };

    // Kubernetes reports an unknown type a second time here.
    if expected.is_empty() {
        ty.one_of(&METRICS, errors);
    } else if !spec.get(expected).is_set() {
        spec.get(expected).missing(
            "must populate information for the given metric source",
            errors,
        );
    }

    // A single source of another type needs no further error: the source of the type is already missing.
    if sources.len() != 1 {
        for name in sources.iter().filter(|name| **name != expected) {
            spec.get(name)
                .forbid("must populate the given metric source only", errors);
        }
    }
}

fn metric_source(name: &str, source: &Field<'_>, errors: &mut Errors) {
    let target = source.get("target");

    // The first three kinds measure a metric by name; the others measure a resource of pods.
    let has = |name: &str| target.get(name).is_set();
    match name {
        "object" | "external" | "pods" => {
            if name == "object" {
                reference(&source.get("describedObject"), true, errors);
            }
            let metric = source.get("metric").get("name");
            metric.require_name(
                NameSyntax::PathSegment,
                "must specify a metric name",
                errors,
            );
        }
        _ => {
            let resource = source.get("name");
            resource.require("must specify a resource name", errors);
            if name == "containerResource" {
                if !resource.is_empty() {
                    container_resource(resource.text(), &resource.path, errors);
                }
                let container = source.get("container");
                container.require_name(NameSyntax::Label, "must specify a container", errors);
            }
        }
    }

    metric_target(&target, errors);
    // Each kind has its own choice of targets, and for some of them one target excludes the other.
    let (average, utilization) = (target.get("averageValue"), target.get("averageUtilization"));
    match name {
        "object" if !has("value") && !has("averageValue") => {
            average.missing("must set either a target value or averageValue", errors);
        }
        "external" if !has("value") && !has("averageValue") => {
            average.missing(
                "must set either a target value for metric or a per-pod target",
                errors,
            );
        }
        "external" if has("value") && has("averageValue") => {
            let detail = "may not set both a target value for metric and a per-pod target";
            target.get("value").forbid(detail, errors);
        }
        "pods" if !has("averageValue") => {
            average.missing("must specify a positive target averageValue", errors);
        }
        "resource" | "containerResource" if !has("averageUtilization") && !has("averageValue") => {
            utilization.missing(
                "must set either a target raw value or a target utilization",
                errors,
            );
        }
        "resource" | "containerResource" if has("averageUtilization") && has("averageValue") => {
            average.forbid(
                "may not set both a target raw value and a target utilization",
                errors,
            );
        }
        _ => {}
    }
}

fn metric_target(target: &Field<'_>, errors: &mut Errors) {
    let ty = target.get("type");
    ty.require("must specify a metric target type", errors);
    // An empty type is missing as well as invalid, as in Kubernetes.
    if !matches!(ty.text(), "Utilization" | "Value" | "AverageValue") {
        ty.invalid_text("must be either Utilization, Value, or AverageValue", errors);
    }

    for value in ["value", "averageValue"].map(|name| target.get(name)) {
        let is_positive =
            Amount::parse(value.text()).is_some_and(|amount| amount > Amount::default());
        value.invalid_if(value.is_set() && !is_positive, "must be positive", errors);
    }

    let utilization = target.get("averageUtilization");
    let is_low = utilization.is_set() && utilization.number() < 1;
    utilization.invalid_if(is_low, "must be greater than 0", errors);
}

fn scaling_rules(rules: &Field<'_>, errors: &mut Errors) {
    let window = rules.get("stabilizationWindowSeconds");
    window.invalid_if(
        window.number() < 0,
        "must be greater than or equal to zero",
        errors,
    );
    window.invalid_if(
        window.number() > 3600,
        "must be less than or equal to 3600",
        errors,
    );
    rules
        .get("selectPolicy")
        .optional_one_of(&["Disabled", "Max", "Min"], errors);

    rules
        .get("policies")
        .require("must specify at least one Policy", errors);
    // Each policy limits how much may change within its period.
    for policy in rules.get("policies").items() {
        let (value, period) = (policy.get("value"), policy.get("periodSeconds"));
        policy.get("type").one_of(&["Percent", "Pods"], errors);
        for number in [&value, &period] {
            number.invalid_if(number.number() <= 0, "must be greater than zero", errors);
        }
        period.invalid_if(
            period.number() > 1800,
            "must be less than or equal to 1800",
            errors,
        );
    }

    // The tolerance is a quantity, so its sign is that of the parsed amount.
    let tolerance = rules.get("tolerance");
    let is_negative =
        Amount::parse(tolerance.text()).is_some_and(|amount| amount < Amount::default());
    tolerance.invalid_if(is_negative, NOT_NEGATIVE, errors);
}
