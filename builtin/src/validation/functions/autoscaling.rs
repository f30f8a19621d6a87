//! Autoscalers.

use std::borrow::Cow;

use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_structural::{FieldError, FieldPath, GroupVersionKind};
use fieldmanager_value::Value;

use super::field::Field;
use crate::Kind;
use crate::amount::Amount;
use crate::place::NOT_NEGATIVE;
use crate::validation::operation::Operation;

const METRICS: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

/// Checks an autoscaler of `autoscaling/v1` as one of the later version, as Kubernetes does.
pub(super) fn autoscaler_v1(
    path: &FieldPath,
    object: &Value,
    operation: Operation<'_>,
    errors: &mut Vec<FieldError>,
) {
    let kind =
        |version: &str| Kind::of(&GroupVersionKind::new("autoscaling", version, "HorizontalPodAutoscaler"));
    let converted = kind("v1").zip(kind("v2")).and_then(|(v1, v2)| v1.convert(object, &v2).ok());
    let object = converted.map_or(Cow::Borrowed(object), Cow::Owned);
    autoscaler(path, &object, operation, errors);
}

pub(super) fn autoscaler(path: &FieldPath, object: &Value, _: Operation<'_>, errors: &mut Vec<FieldError>) {
    let spec = Field::new(path, object).get("spec");
    let (min, max) = (spec.get("minReplicas"), spec.get("maxReplicas"));
    if min.is_set() && max.number() < min.number() {
        let detail = "must be greater than or equal to `minReplicas`";
        errors.push(FieldError::invalid(max.path.clone(), max.number(), detail));
    }
    reference(&spec.get("scaleTargetRef"), false, errors);
    metrics(&spec, errors);
    for name in ["scaleUp", "scaleDown"] {
        let rules = spec.get("behavior").get(name);
        if rules.is_set() {
            scaling_rules(&rules, errors);
        }
    }
    // The generated validation of Kubernetes has its errors at the end.
    if min.number() < 0 {
        errors.push(min.invalid(NOT_NEGATIVE));
    }
    match max.number() {
        0 => errors.push(max.required("")),
        number if number < 0 => errors.push(max.invalid("must be greater than or equal to 1")),
        _ => {}
    }
}

fn reference(reference: &Field<'_>, has_core: bool, errors: &mut Vec<FieldError>) {
    for name in ["kind", "name"] {
        path_segment(&reference.get(name), "", errors);
    }
    let version = reference.get("apiVersion");
    let group = match version.text().split_once('/') {
        Some((_, rest)) if rest.contains('/') => {
            errors.push(version.invalid_text(format!("unexpected GroupVersion string: {}", version.text())));
            return;
        }
        Some((group, _)) => group,
        None => "",
    };
    if group.is_empty() && !has_core {
        errors.push(version.invalid_text("apiVersion must specify API group"));
    }
}

fn path_segment(field: &Field<'_>, missing: &str, errors: &mut Vec<FieldError>) {
    match field.text() {
        "" => errors.push(field.required(missing)),
        text => errors.extend(field.faults(NameSyntax::PathSegment.faults(text, false))),
    }
}

fn metrics(spec: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (metrics, min) = (spec.get("metrics"), spec.get("minReplicas"));
    for spec in metrics.items() {
        metric(&spec, errors);
    }
    let scales_to_zero = |metric: Field<'_>| matches!(metric.get("type").text(), "Object" | "External");
    if min.is_set() && min.number() == 0 && !metrics.items().any(scales_to_zero) {
        let detail =
            "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(metrics.forbidden(detail));
    }
}

fn metric(spec: &Field<'_>, errors: &mut Vec<FieldError>) {
    let ty = spec.get("type");
    if ty.is_empty() {
        errors.push(ty.required("must specify a metric source type"));
    }
    errors.extend(ty.one_of(&METRICS));
    let names = ["object", "external", "pods", "resource", "containerResource"];
    let sources: Vec<Field<'_>> =
        names.iter().map(|name| spec.get(name)).filter(|source| source.is_set()).collect();
    if let Some(source) = sources.first() {
        let name = names.iter().find(|name| spec.get(name).path == source.path);
        metric_source(name.copied().unwrap_or_default(), source, errors);
    }
    let expected = match ty.text() {
        "Object" => "object",
        "Pods" => "pods",
        "Resource" => "resource",
        "External" => "external",
        "ContainerResource" => "containerResource",
        _ => "",
    };
    if expected.is_empty() {
        errors.extend(ty.one_of(&METRICS));
    } else if !spec.get(expected).is_set() {
        errors.push(spec.get(expected).required("must populate information for the given metric source"));
    }
    if sources.len() != 1 {
        let expected = spec.get(expected).path;
        let others = sources.iter().filter(|source| source.path != expected);
        errors.extend(others.map(|source| source.forbidden("must populate the given metric source only")));
    }
}

fn metric_source(name: &str, source: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (target, resource) = (source.get("target"), source.get("name"));
    let has = |name: &str| target.get(name).is_set();
    match name {
        "object" | "external" | "pods" => {
            if name == "object" {
                reference(&source.get("describedObject"), true, errors);
            }
            path_segment(&source.get("metric").get("name"), "must specify a metric name", errors);
        }
        _ => {
            if resource.is_empty() {
                errors.push(resource.required("must specify a resource name"));
            }
            if name == "containerResource" {
                let container = source.get("container");
                match container.text() {
                    "" => errors.push(container.required("must specify a container")),
                    text => errors.extend(container.faults(NameSyntax::Label.faults(text, false))),
                }
            }
        }
    }
    metric_target(&target, errors);
    let (average, utilization) = (target.get("averageValue"), target.get("averageUtilization"));
    match name {
        "object" if !has("value") && !has("averageValue") => {
            errors.push(average.required("must set either a target value or averageValue"));
        }
        "external" if !has("value") && !has("averageValue") => {
            errors.push(average.required("must set either a target value for metric or a per-pod target"));
        }
        "external" if has("value") && has("averageValue") => {
            let detail = "may not set both a target value for metric and a per-pod target";
            errors.push(target.get("value").forbidden(detail));
        }
        "pods" if !has("averageValue") => {
            errors.push(average.required("must specify a positive target averageValue"));
        }
        "resource" | "containerResource" if !has("averageUtilization") && !has("averageValue") => {
            let detail = "must set either a target raw value or a target utilization";
            errors.push(utilization.required(detail));
        }
        "resource" | "containerResource" if has("averageUtilization") && has("averageValue") => {
            errors.push(average.forbidden("may not set both a target raw value and a target utilization"));
        }
        _ => {}
    }
}

fn metric_target(target: &Field<'_>, errors: &mut Vec<FieldError>) {
    let ty = target.get("type");
    if ty.is_empty() {
        errors.push(ty.required("must specify a metric target type"));
    }
    if !matches!(ty.text(), "Utilization" | "Value" | "AverageValue") {
        errors.push(ty.invalid_text("must be either Utilization, Value, or AverageValue"));
    }
    for name in ["value", "averageValue"] {
        let value = target.get(name);
        if value.is_set() && Amount::parse(value.text()).is_none_or(|amount| amount <= Amount::default()) {
            errors.push(value.invalid("must be positive"));
        }
    }
    let utilization = target.get("averageUtilization");
    if utilization.is_set() && utilization.number() < 1 {
        errors.push(utilization.invalid("must be greater than 0"));
    }
}

fn scaling_rules(rules: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (window, select, policies) =
        (rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy"), rules.get("policies"));
    if window.number() < 0 {
        errors.push(window.invalid("must be greater than or equal to zero"));
    }
    if window.number() > 3600 {
        errors.push(window.invalid("must be less than or equal to 3600"));
    }
    if select.is_set() {
        errors.extend(select.one_of(&["Disabled", "Max", "Min"]));
    }
    if policies.is_empty() {
        errors.push(policies.required("must specify at least one Policy"));
    }
    for policy in policies.items() {
        let (value, period) = (policy.get("value"), policy.get("periodSeconds"));
        errors.extend(policy.get("type").one_of(&["Percent", "Pods"]));
        for number in [&value, &period] {
            if number.number() <= 0 {
                errors.push(number.invalid("must be greater than zero"));
            }
        }
        if period.number() > 1800 {
            errors.push(period.invalid("must be less than or equal to 1800"));
        }
    }
    let tolerance = rules.get("tolerance");
    if Amount::parse(tolerance.text()).is_some_and(|amount| amount < Amount::default()) {
        errors.push(tolerance.invalid(NOT_NEGATIVE));
    }
}
