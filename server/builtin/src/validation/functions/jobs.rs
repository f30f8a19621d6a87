//! Jobs and their schedules.

use std::collections::BTreeSet;

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_value::{Map, Str, Value};

use super::field::Field;
use super::{cron, network, pods, selector, workloads};
use crate::place::{Errors, IMMUTABLE, Place};
use crate::shown;

const MOST_EXIT_CODES: usize = 255;

/// Checks a job.
pub(crate) fn job(object: &Field<'_>, errors: &mut Errors) {
    let Some(job) = object.place() else { return };
    let Some(spec) = job.child("spec") else {
        return;
    };
    // The server generates the labels and the selector at creation; afterwards they are immutable.
    if !object.is_update() {
        generated_selector(&job, &spec, errors);
    }

    job_spec(&spec, errors);
    match spec.child("selector") {
        None => spec.missing("selector", "", errors),
        Some(selector) => selector::check(&selector, errors),
    }
    if !workloads::selects_template(&spec) {
        errors.push(workloads::no_match(&spec));
    }
    if let Some(live) = object.before().place() {
        changes(object, &spec, &live, errors);
    }
    completions_fit_names(&job, &spec, errors);
}

/// Checks the labels that a job gives to its pods.
fn generated_labels(spec: &Place<'_>, expected: [(&str, &str); 4], errors: &mut Errors) {
    let metadata = spec
        .child("template")
        .and_then(|template| template.child("metadata"));
    let labels = metadata.and_then(|metadata| metadata.get("labels"));

    // Labels of the template win over generated ones, so each of them is compared.
    for (key, value) in expected {
        let path = spec
            .at("template")
            .child("metadata")
            .child("labels")
            .key(key);
        let detail = format!("must be '{value}'");
        let found = labels
            .and_then(|labels| labels.get(key))
            .and_then(Value::as_str);
        match found {
            None => errors.push(FieldError::required(path, detail)),
            Some(found) if found != value => {
                let shown = labels.cloned().unwrap_or_default();
                errors.push(FieldError::invalid(path, shown, detail));
            }
            Some(_) => {}
        }
    }
}

/// Checks the labels and the selector that a job gets from its uid.
fn generated_selector(job: &Place<'_>, spec: &Place<'_>, errors: &mut Errors) {
    // The user answers for a manual selector; the caller reports a missing one.
    let (Some(selector), false) = (spec.child("selector"), spec.flag("manualSelector")) else {
        return;
    };
    let metadata = |name: &str| {
        job.get("metadata")
            .and_then(|metadata| metadata.get(name))
            .and_then(Value::as_str)
    };
    let (uid, name) = (
        metadata("uid").unwrap_or_default(),
        metadata("name").unwrap_or_default(),
    );

    // Without the uid, the selector would not tell the pods from those of an earlier job of the same name.
    if uid.is_empty() {
        errors.push(FieldError::required(job.at("metadata").child("uid"), ""));
    }
    // The names without a prefix are from earlier versions of Kubernetes and stay for their users.
    let expected = [
        ("controller-uid", uid),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
    ];
    generated_labels(spec, expected, errors);

    // The selector is compared with the generated labels alone, not with other labels of the template.
    let own = Value::Map(
        expected
            .into_iter()
            .map(|(key, value)| (Str::from(key), Value::from(value)))
            .collect(),
    );

    if selector::selects(Some(&selector), Some(&own)) == Ok(false) {
        let shown = shown::json("LabelSelector", Some(selector.value));
        errors.push(shown::invalid(
            selector.path,
            &shown,
            "`selector` not auto-generated",
        ));
    }
}

fn success_policy(spec: &Place<'_>, policy: Place<'_>, errors: &mut Errors) {
    // The rules of a success policy count indexes, which only an indexed job has.
    if spec.text("completionMode") == "Indexed" {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        policy.require("rules", detail, errors);
    } else {
        let shown = shown::json("SuccessPolicy", Some(policy.value));
        let detail = "requires indexed completion mode";
        errors.push(shown::invalid(policy.path, &shown, detail));
    }
}

/// Checks the spec of a job, or of the template of jobs.
fn job_spec(spec: &Place<'_>, errors: &mut Errors) {
    for name in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        spec.non_negative(name, errors);
    }

    // An index fails only if it has its own limit of retries, so failed indexes need that limit.
    let is_set = |name: &str| spec.get(name).is_some();
    if is_set("maxFailedIndexes") && !is_set("backoffLimitPerIndex") {
        let detail = "when maxFailedIndexes is specified";
        spec.missing("backoffLimitPerIndex", detail, errors);
    }
    if spec.get("managedBy").is_some() {
        spec.require("managedBy", "", errors);
        network::domain_path(&spec.at("managedBy"), spec.text("managedBy"), errors);
    }

    // An indexed job has a pod for each index, so it needs their number; other jobs have no indexes to count.
    spec.one_of("completionMode", &["NonIndexed", "Indexed"], errors);
    if spec.text("completionMode") == "Indexed" {
        if !is_set("completions") {
            let detail = "when completion mode is Indexed";
            spec.missing("completions", detail, errors);
        }
    } else {
        for name in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            spec.invalid_if(
                is_set(name),
                name,
                "requires indexed completion mode",
                errors,
            );
        }
    }

    if let Some(policy) = spec.child("podFailurePolicy") {
        failure_policy(spec, &policy, errors);
    }
    if let Some(policy) = spec.child("successPolicy") {
        success_policy(spec, policy, errors);
    }

    // A failure policy judges pods that have failed, so no replacement may start while a pod still terminates.
    let accepted: &[&str] = if is_set("podFailurePolicy") {
        &["Failed"]
    } else {
        &["Failed", "TerminatingOrFailed"]
    };
    spec.one_of("podReplacementPolicy", accepted, errors);
    spec.check("template", pods::template, errors);
    let pod = spec
        .child("template")
        .and_then(|template| template.child("spec"));
    let path = || spec.at("template").child("spec").child("restartPolicy");

    // `Always` is the default of pods, so it cannot be told from an absent policy. Pods of a job have to end.
    match pod.map(|pod| pod.text("restartPolicy")).unwrap_or_default() {
        "Always" | "" => {
            errors.push(FieldError::required(
                path(),
                "valid values: \"OnFailure\", \"Never\"",
            ));
        }
        "OnFailure" if is_set("podFailurePolicy") => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            errors.push(FieldError::invalid(path(), "OnFailure", detail));
        }
        "OnFailure" | "Never" => {}
        other => errors.push(FieldError::not_supported(
            path(),
            other,
            &["OnFailure", "Never"],
        )),
    }
}

fn failure_policy(spec: &Place<'_>, policy: &Place<'_>, errors: &mut Errors) {
    // Go writes the accepted values of a required one as a list.
    let required = |place: &Place<'_>, name: &str, accepted: &[&str], errors: &mut Errors| {
        let shown: Vec<String> = accepted
            .iter()
            .map(|value| format!("\"{value}\""))
            .collect();
        if place.require(
            name,
            &format!("valid values: [{}]", shown.join(" ")),
            errors,
        ) {
            place.one_of(name, accepted, errors);
        }
    };

    for rule in policy.items("rules") {
        required(
            &rule,
            "action",
            &["Count", "FailIndex", "FailJob", "Ignore"],
            errors,
        );

        // Without a limit for each index, no index can fail alone.
        if rule.text("action") == "FailIndex" && spec.get("backoffLimitPerIndex").is_none() {
            rule.invalid(
                "action",
                "requires the backoffLimitPerIndex to be set",
                errors,
            );
        }

        let codes = rule.child("onExitCodes");
        if let Some(codes) = &codes {
            required(codes, "operator", &["In", "NotIn"], errors);
            let name = codes.text("containerName");
            if codes.get("containerName").is_some() && !has_container(spec, name) {
                let detail =
                    "must be one of the container or initContainer names in the pod template";
                codes.invalid("containerName", detail, errors);
            }

            exit_codes(codes, errors);
        }

        // Conditions are matched by type and status, so both are required.
        for condition in rule.items("onPodConditions") {
            condition.faults(
                "type",
                fieldmanager_structural::internal::qualified_name,
                errors,
            );
            required(&condition, "status", &["False", "True", "Unknown"], errors);
        }

        // A rule matches by exit codes or by conditions, never by both.
        let detail = match (codes.is_some(), rule.len("onPodConditions") > 0) {
            (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        // Kubernetes leaves out the value of this error.
        errors.push(FieldError {
            value: None,
            ..FieldError::invalid(rule.path, Value::Null, detail)
        });
    }
}

/// Whether the pods of a job have a container of a name.
fn has_container(spec: &Place<'_>, name: &str) -> bool {
    let pod = spec
        .child("template")
        .and_then(|template| template.child("spec"));
    let is_named = |container: &Value| container.get("name").and_then(Value::as_str) == Some(name);
    pod.is_some_and(|pod| {
        ["containers", "initContainers"]
            .iter()
            .any(|list| pod.values(list).any(is_named))
    })
}

/// Checks that exit codes are different, in order, not too many, and none that no failure has.
fn exit_codes(codes: &Place<'_>, errors: &mut Errors) {
    let count = codes.len("values");
    let detail = "at least one value is required";
    codes.invalid_if(count == 0, "values", detail, errors);
    if count > MOST_EXIT_CODES {
        let path = codes.at("values");
        errors.push(FieldError::too_many(path, count, MOST_EXIT_CODES));
    }

    let mut seen = BTreeSet::new();
    let mut last = None;
    let mut is_ordered = true;
    for code in codes.items("values") {
        let number = code.value.as_i64().unwrap_or_default();
        // Code 0 is a success, which a rule for failures must not select.
        if codes.text("operator") == "In" && number == 0 {
            errors.push(FieldError::invalid(
                code.path.clone(),
                number,
                "must not be 0 for the In operator",
            ));
        }

        if !seen.insert(number) {
            errors.push(FieldError::duplicate(code.path, number));
        }
        is_ordered &= last.is_none_or(|last| last <= number);
        last = Some(number);
    }
    codes.invalid_if(!is_ordered, "values", "must be ordered", errors);
}

/// Checks what an update of a job may not change.
fn changes(job: &Field<'_>, spec: &Place<'_>, live: &Place<'_>, errors: &mut Errors) {
    let field = |name: &str| job.get("spec").get(name);
    let completions = field("completions");
    // An indexed job may be scaled, but only with both numbers changed together.
    if spec.text("completionMode") != "Indexed" {
        completions.immutable(errors);
    } else {
        let differs = completions.is_set() && completions.value != spec.get("parallelism");
        let detail = "can only be modified in tandem with spec.parallelism";
        completions.invalid_if(completions.is_changed() && differs, detail, errors);
    }

    field("selector").immutable_as("LabelSelector", errors);
    template_changes(spec, live, errors);
    field("completionMode").immutable(errors);
    field("podFailurePolicy").immutable_as("PodFailurePolicy", errors);
    field("backoffLimitPerIndex").immutable(errors);
    field("managedBy").immutable(errors);
    field("successPolicy").immutable_as("SuccessPolicy", errors);
}

/// Requires that an update keeps the template. While a job is suspended and has no pods, it may change where they run,
/// and their resources.
fn template_changes(spec: &Place<'_>, live: &Place<'_>, errors: &mut Errors) {
    let empty = Value::Map(Map::default());
    let old_spec = live.child("spec").unwrap_or(Place::new(&spec.path, &empty));
    let (new, old) = (spec.get("template"), old_spec.get("template"));
    if new == old {
        return;
    }

    // No pod may be left from before: either the job never started, or its controller has confirmed the suspension.
    let status = live
        .child("status")
        .unwrap_or(Place::new(&spec.path, &empty));
    let was_suspended = has_condition(&status, "Suspended", "True");
    let is_free = old_spec.flag("suspend")
        && (status.get("startTime").is_none() || was_suspended)
        && status.int("active").unwrap_or_default() == 0;

    if !is_free {
        let shown = shown::json("PodTemplateSpec", new);
        errors.push(shown::invalid(spec.at("template"), &shown, IMMUTABLE));
        return;
    }

    // The labels and annotations of the template may change too, so only the specs are compared.
    let pod =
        |template: Option<&Value>| template.and_then(|template| template.get("spec")).cloned();
    let (new, old) = (pod(new), pod(old));
    if scheduled_alike(new.as_ref()) != scheduled_alike(old.as_ref()) {
        let path = spec.at("template").child("spec");
        errors.push(shown::invalid(
            path,
            &shown::json("PodSpec", new.as_ref()),
            IMMUTABLE,
        ));
    }
}

/// A pod without what a suspended job may change.
fn scheduled_alike(pod: Option<&Value>) -> Value {
    let without = |map: Option<&Value>, names: &[&str]| {
        let map = map.and_then(Value::as_map).cloned().unwrap_or_default();
        map.with_edits(names.iter().map(|name| (Str::from(*name), None)).collect())
    };
    // An affinity that has rules for nodes alone counts as absent, so that an update can add or remove it.
    let affinity = without(pod.and_then(|pod| pod.get("affinity")), &["nodeAffinity"]);
    let mut kept = without(
        pod,
        &["affinity", "nodeSelector", "schedulingGates", "tolerations"],
    );
    if !affinity.is_empty() {
        kept.insert("affinity", affinity);
    }

    // Resources may change as well, because no container has been started with them.
    for list in ["containers", "initContainers"] {
        let containers = pod
            .and_then(|pod| pod.get(list))
            .and_then(Value::as_list)
            .into_iter()
            .flatten();
        let containers: Vec<Value> = containers
            .map(|container| Value::Map(without(Some(container), &["resources"])))
            .collect();

        if !containers.is_empty() {
            kept.insert(list, containers);
        }
    }

    Value::Map(kept)
}

/// The name of an indexed job fits into the names of its pods.
fn completions_fit_names(job: &Place<'_>, spec: &Place<'_>, errors: &mut Errors) {
    let completions = spec
        .int("completions")
        .filter(|completions| *completions > 0);
    if let (Some(completions), "Indexed") = (completions, spec.text("completionMode")) {
        let name = job
            .get("metadata")
            .and_then(|metadata| metadata.get("name"))
            .and_then(Value::as_str);
        // The controller appends the index to the host name of each pod, and the last index is the longest.
        let host = format!("{}-{}", name.unwrap_or_default(), completions - 1);
        if !NameSyntax::Label.faults(&host, false).is_empty() {
            let detail = format!("will not able to create pod with invalid DNS label: {host}");
            let path = job.at("metadata").child("name");
            errors.push(FieldError::invalid(path, name.unwrap_or_default(), detail));
        }
    }
}

/// Whether a status has a condition of a type with a status.
fn has_condition(status: &Place<'_>, ty: &str, value: &str) -> bool {
    let is = |condition: &Value, name: &str, value: &str| {
        condition.get(name).and_then(Value::as_str) == Some(value)
    };
    status
        .values("conditions")
        .any(|condition| is(condition, "type", ty) && is(condition, "status", value))
}

pub(crate) fn cron_job(object: &Field<'_>, errors: &mut Errors) {
    let Some(spec) = object.get("spec").place() else {
        return;
    };
    let name = object.get("metadata").get("name");

    // A schedule that was empty before is the first error, and one that is emptied the last.
    let was_empty = object.is_update() && object.get("spec").get("schedule").before().is_empty();
    if was_empty {
        spec.require("schedule", "", errors);
    }
    schedule(object, errors);
    spec.non_negative("startingDeadlineSeconds", errors);
    let zone = object.get("spec").get("timeZone");
    if zone.is_set() && (zone.is_changed() || !object.is_update()) {
        zone.faults(Vec::from_iter(zone_fault(zone.text())), errors);
    }
    spec.require_one_of("concurrencyPolicy", &["Allow", "Forbid", "Replace"], errors);
    spec.check("jobTemplate", job_template, errors);
    spec.non_negative("successfulJobsHistoryLimit", errors);
    spec.non_negative("failedJobsHistoryLimit", errors);

    // Jobs get the name of their schedule and eleven characters.
    let is_long = !object.is_update() && name.text().len() > 52;
    name.invalid_if(is_long, "must be no more than 52 characters", errors);
    if !was_empty {
        spec.require("schedule", "", errors);
    }
}

/// Checks the times of a schedule.
///
/// Behaviour: `validateScheduleFormat` of `pkg/apis/batch/validation` of Kubernetes.
fn schedule(object: &Field<'_>, errors: &mut Errors) {
    let schedule = object.get("spec").get("schedule");
    if schedule.is_empty() {
        return;
    }
    schedule.faults(Vec::from_iter(cron::check(schedule.text()).err()), errors);

    // A schedule that had a zone may keep it.
    if schedule.text().contains("TZ") {
        let had_zone = schedule.before().text().contains("TZ");
        let has_field = object.get("spec").get("timeZone").is_set();
        let detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
        schedule.invalid_if(had_zone && has_field, detail, errors);
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        schedule.invalid_if(!had_zone, detail, errors);
    }
}

/// What is wrong with the name of a time zone.
///
/// Behaviour: `validateTimeZone` of `pkg/apis/batch/validation` of Kubernetes.
fn zone_fault(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("timeZone must be nil or non-empty string".to_owned());
    }
    let is_part = |part: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
        !matches!(part, "." | "..")
            && !part.starts_with('-')
            && (1..=14).contains(&part.len())
            && part.bytes().all(is_letter)
    };
    if !name.split('/').all(is_part) {
        return Some(format!("unknown time zone {name}"));
    }
    if name.eq_ignore_ascii_case("Local") {
        let detail =
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        return Some(detail.to_owned());
    }
    cron::check_zone(name).err()
}

/// Checks the template of the jobs of a schedule.
fn job_template(template: &Place<'_>, errors: &mut Errors) {
    let Some(spec) = template.child("spec") else {
        return;
    };
    job_spec(&spec, errors);
    // Each job gets its selector from its own uid, which a template cannot know.
    if let Some(selector) = spec.get("selector") {
        let shown = shown::json("LabelSelector", Some(selector));
        errors.push(shown::invalid(
            spec.at("selector"),
            &shown,
            "`selector` will be auto-generated",
        ));
    }

    if spec.flag("manualSelector") {
        errors.push(FieldError::not_supported(
            spec.at("manualSelector"),
            true,
            &["nil", "false"],
        ));
    }
}
