//! The status of jobs, which other controllers than that of Kubernetes write too.
//!
//! Behaviour: `ValidateJobUpdateStatus` of `pkg/apis/batch/validation` of Kubernetes, with the options of
//! `pkg/registry/batch/job`: a part that was wrong before may stay, unless it changes.

use fieldmanager_structural::{FieldError, FieldErrorKind};
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use super::field::Field;
use crate::place::Errors;
use crate::shown;

/// Whether a status has a condition of a type with a status.
fn has(status: &Field<'_>, ty: &str, value: &str) -> bool {
    let conditions = status.get("conditions");
    let mut conditions = conditions.items();
    conditions.any(|condition| {
        condition.get("type").text() == ty && condition.get("status").text() == value
    })
}

/// The conditions that say how a job ends, before an update and after it.
struct Ends<'a, 'v> {
    status: &'a Field<'v>,
}

impl Ends<'_, '_> {
    fn has(&self, ty: &str) -> bool {
        has(self.status, ty, "True")
    }

    fn had(&self, ty: &str) -> bool {
        has(&self.status.before(), ty, "True")
    }

    fn changes(&self, ty: &str) -> bool {
        self.has(ty) != self.had(ty)
    }

    fn is_finished(&self) -> bool {
        self.has("Complete") || self.has("Failed")
    }

    fn finishes(&self) -> bool {
        self.is_finished() != (self.had("Complete") || self.had("Failed"))
    }
}

/// Checks the status of a job, and its change.
pub(crate) fn job(job: &Field<'_>, errors: &mut Errors) {
    let (spec, status) = (job.get("spec"), job.get("status"));
    for name in ["active", "succeeded", "failed", "ready", "terminating"] {
        status.get(name).non_negative(errors);
    }
    for name in ["succeeded", "failed"] {
        let pods = status.get("uncountedTerminatedPods").get(name);
        uncounted(&pods, errors);
    }

    let ends = Ends { status: &status };
    completion(&status, &ends, errors);
    finished(&spec, &status, &ends, errors);
    indexes(&spec, &status, errors);
    counts(&status, &ends, errors);
    exclusive(&spec, &status, &ends, errors);
    update(&spec, &status, &ends, errors);
}

/// The uids of Pods that ended and are not counted yet are distinct.
fn uncounted(pods: &Field<'_>, errors: &mut Errors) {
    let mut seen = std::collections::BTreeSet::new();
    for uid in pods.items() {
        if uid.text().is_empty() {
            uid.invalid_text("must not be empty", errors);
        } else {
            uid.unique(&mut seen, errors);
        }
    }
}

fn refuse(status: &Field<'_>, detail: &str, errors: &mut Errors) {
    errors.push(FieldError {
        path: status.path.child("conditions"),
        kind: FieldErrorKind::Invalid,
        value: None,
        detail: detail.to_owned(),
    });
}

/// The time of completion is that of a complete job.
fn completion(status: &Field<'_>, ends: &Ends<'_, '_>, errors: &mut Errors) {
    let (time, start) = (status.get("completionTime"), status.get("startTime"));
    let is_complete = ends.has("Complete");
    let completes = ends.changes("Complete");

    if (completes || ends.changes("Failed")) && is_complete && ends.has("Failed") {
        refuse(
            status,
            "cannot set Complete=True and Failed=true conditions",
            errors,
        );
    }
    if (completes || ends.changes("FailureTarget")) && is_complete && ends.has("FailureTarget") {
        refuse(
            status,
            "cannot set Complete=True and FailureTarget=true conditions",
            errors,
        );
    }
    if completes || time.is_changed() {
        let detail = "cannot set completionTime when there is no Complete=True condition";
        time.invalid_if(time.is_set() && !is_complete, detail, errors);
        if !time.is_set() && is_complete {
            time.missing("completionTime is required for Complete jobs", errors);
        }
    }
    // Times of one form are compared as text.
    let is_early = time.is_set() && start.is_set() && time.text() < start.text();
    let changes = start.is_changed() || time.is_changed();
    time.invalid_if(
        changes && is_early,
        "must be equal to or after `startTime`",
        errors,
    );
}

/// What holds for a job that has ended.
fn finished(spec: &Field<'_>, status: &Field<'_>, ends: &Ends<'_, '_>, errors: &mut Errors) {
    let [active, start, pods] =
        ["active", "startTime", "uncountedTerminatedPods"].map(|name| status.get(name));
    let fails = ends.changes("Failed") || status.get("failedIndexes").is_changed();
    if fails && ends.has("Failed") && !ends.has("FailureTarget") {
        let detail = "cannot set Failed=True condition without the FailureTarget=true condition";
        refuse(status, detail, errors);
    }
    let succeeds = ends.changes("Complete") || ends.changes("SuccessCriteriaMet");
    if succeeds && ends.has("Complete") && !ends.has("SuccessCriteriaMet") {
        let detail =
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        refuse(status, detail, errors);
    }

    let is_finished = ends.is_finished();
    let finishes = |part: &Field<'_>| is_finished && (ends.finishes() || part.is_changed());
    let is_active = finishes(&active) && active.number() > 0;
    active.invalid_if(is_active, "active>0 is invalid for finished job", errors);
    // A job without completions that is suspended ends before it starts.
    let is_empty = spec.get("completions").value == Some(&Value::Int(0))
        && spec.get("suspend").value == Some(&Value::Bool(true));
    if finishes(&start) && !start.is_set() && !is_empty {
        start.missing("startTime is required for finished job", errors);
    }
    let has_pods = ["failed", "succeeded"]
        .iter()
        .any(|name| !pods.get(name).is_empty());
    if finishes(&pods) && has_pods {
        let shown = |name: &str| {
            pods.get(name)
                .value
                .map_or("null".to_owned(), Value::to_json)
        };
        let (succeeded, failed) = (shown("succeeded"), shown("failed"));
        let shown = format!(r#"{{"Succeeded":{succeeded},"Failed":{failed}}}"#);
        let detail = "must be empty for finished job";
        errors.push(shown::invalid(pods.path.clone(), &shown, detail));
    }
}

/// Checks the indexes of an indexed job that are completed or failed.
fn indexes(spec: &Field<'_>, status: &Field<'_>, errors: &mut Errors) {
    let [completed, failed] = ["completedIndexes", "failedIndexes"].map(|name| status.get(name));
    let completions = spec.get("completions");
    let limit = spec.get("backoffLimitPerIndex");
    let most = completions.number();

    // A list that was faulty before, or exceeds completions that were lowered, may stay.
    let format = |list: &Field<'_>, name: &str, errors: &mut Errors| {
        if let Err(fault) = intervals(list.text(), most) {
            list.invalid_text(format!("error parsing {name}: {fault}"), errors);
        }
    };
    if completed.is_changed() && completions.is_set() {
        format(&completed, "completedIndexes", errors);
    }
    if failed.is_changed() && completions.is_set() && limit.is_set() && failed.is_set() {
        format(&failed, "failedIndexes", errors);
    }

    let is_indexed = spec.get("completionMode").text() == "Indexed";
    let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
    let is_misfit = completed.is_changed() && !completed.is_empty() && !is_indexed;
    completed.invalid_if(is_misfit, detail, errors);
    let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
    if failed.is_changed() && failed.is_set() && !limit.is_set() {
        failed.invalid_text(detail, errors);
    }
    let changes = completed.is_changed() || failed.is_changed();
    if changes
        && completions.is_set()
        && failed.is_set()
        && let Some(index) = common_index(completed.text(), failed.text(), most)
    {
        let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
        failed.invalid_text(&detail, errors);
    }
}

/// Reads an index or the first and the last of several, all below the number of completions.
fn interval(text: &str, completions: i64) -> Result<(i64, i64), String> {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |text: &str| {
        let quoted = quote(text);
        let number = text.parse::<i64>();
        let number =
            number.map_err(|_| format!("cannot convert string to integer for index: {quoted}"))?;
        if number >= completions {
            return Err(format!("too large index: {quoted}"));
        }
        Ok(number)
    };
    match parts.as_slice() {
        [only] => number(only).map(|index| (index, index)),
        [first, last] => {
            let (first, last) = (number(first)?, number(last)?);
            if first >= last {
                return Err(out_of_order(first, last));
            }
            Ok((first, last))
        }
        _ => {
            let quoted = quote(text);
            Err(format!(
                "the fragment {quoted} violates the requirement that an index interval can have at most two parts separated by '-'"
            ))
        }
    }
}

fn out_of_order(previous: i64, current: i64) -> String {
    format!("non-increasing order, previous: {previous}, current: {current}")
}

/// Checks indexes such as `0,2-4`.
fn intervals(text: &str, completions: i64) -> Result<(), String> {
    let mut before: Option<i64> = None;
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let (first, last) = interval(part, completions)?;
        if let Some(before) = before.filter(|before| *before >= first) {
            return Err(out_of_order(before, first));
        }
        before = Some(last);
    }
    Ok(())
}

/// The first index that two lists have in common. Parts with faults are reported elsewhere.
fn common_index(completed: &str, failed: &str, completions: i64) -> Option<i64> {
    let read = |text: &str| -> Vec<(i64, i64)> {
        let parts = text
            .split(',')
            .filter_map(|part| interval(part, completions).ok());
        parts.collect()
    };
    let (completed, failed) = (read(completed), read(failed));
    let (mut at, mut other) = (completed.iter(), failed.iter());
    let (mut one, mut two) = (at.next(), other.next());
    while let (Some((first, last)), Some((begin, end))) = (one, two) {
        if first <= end && begin <= last {
            return Some(*first.max(begin));
        }
        if first <= begin {
            one = at.next();
        } else {
            two = other.next();
        }
    }
    None
}

/// The numbers of Pods agree.
fn counts(status: &Field<'_>, ends: &Ends<'_, '_>, errors: &mut Errors) {
    let [active, ready, terminating] =
        ["active", "ready", "terminating"].map(|name| status.get(name));
    let is_finished = ends.is_finished() && (ends.finishes() || terminating.is_changed());
    let detail = "terminating>0 is invalid for finished job";
    terminating.invalid_if(is_finished && terminating.number() > 0, detail, errors);
    let changes = ready.is_changed() || active.is_changed();
    let is_more = ready.is_set() && ready.number() > active.number();
    ready.invalid_if(
        changes && is_more,
        "cannot set more ready pods than active",
        errors,
    );
}

/// A job that meets its criteria has not failed.
fn exclusive(spec: &Field<'_>, status: &Field<'_>, ends: &Ends<'_, '_>, errors: &mut Errors) {
    let meets = ends.has("SuccessCriteriaMet");
    for ty in ["Failed", "FailureTarget"] {
        if meets && ends.has(ty) {
            let detail = format!("cannot set SuccessCriteriaMet=True and {ty}=true conditions");
            refuse(status, &detail, errors);
        }
    }
    if spec.get("successPolicy").is_set() && !meets && ends.has("Complete") {
        let detail =
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
        refuse(status, detail, errors);
    }
}

/// Checks what an update of a status may not change.
fn update(spec: &Field<'_>, status: &Field<'_>, ends: &Ends<'_, '_>, errors: &mut Errors) {
    for ty in ["Failed", "Complete", "FailureTarget"] {
        if ends.had(ty) && !ends.has(ty) {
            let detail = format!("cannot disable the terminal {ty}=True condition");
            refuse(status, &detail, errors);
        }
    }

    // A counter without a value is 0.
    let decreases = |name: &str, errors: &mut Errors| {
        let (path, count) = (status.get(name).path, status.get(name).number());
        if count < status.before().get(name).number() {
            let detail = format!("cannot decrease the {name} counter");
            errors.push(FieldError::invalid(path, count, detail));
        }
    };
    decreases("failed", errors);
    // An elastic job that is scaled down no longer counts the successes of removed indexes.
    let is_scalable = spec.get("completionMode").text() == "Indexed"
        && spec.get("completions").value == spec.get("parallelism").value;
    if !is_scalable {
        decreases("succeeded", errors);
    }

    let completion = status.get("completionTime");
    if completion.is_set() && completion.before().is_set() {
        completion.immutable(errors);
    }
    // The start time is reset while the job is suspended and when it resumes.
    let is_resuming =
        has(&status.before(), "Suspended", "True") && has(status, "Suspended", "False");
    let is_suspended = spec.get("suspend").value == Some(&Value::Bool(true));
    let start = status.get("startTime");
    let is_kept = !start.before().is_set() || is_suspended || is_resuming;
    let detail = "field is immutable for unsuspended job once set";
    start.invalid_if(start.is_changed() && !is_kept, detail, errors);

    let (met, meets) = (
        ends.had("SuccessCriteriaMet"),
        ends.has("SuccessCriteriaMet"),
    );
    if met && !meets {
        refuse(
            status,
            "cannot disable the SuccessCriteriaMet=True condition",
            errors,
        );
    }
    if ends.had("Complete") && !met && meets {
        let detail =
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        refuse(status, detail, errors);
    }
}
