//! The status of jobs, which other controllers than that of Kubernetes write too.
//!
//! Behaviour: `ValidateJobUpdateStatus` of `pkg/apis/batch/validation` of Kubernetes, with the options of
//! `pkg/registry/batch/job`: a part that was wrong before may stay, unless it changes.

use std::collections::BTreeSet;

use fieldmanager_structural::{FieldError, FieldErrorKind};
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use super::field::Field;
use crate::place::Errors;
use crate::shown;

/// A job whose status is checked, and its conditions, which say how it ends.
struct JobStatus<'v> {
    spec: Field<'v>,
    status: Field<'v>,
    conditions: Field<'v>,
}

/// Checks the status of a job, and its change.
pub(crate) fn job(job: &Field<'_>, errors: &mut Errors) {
    let status = job.get("status");
    for name in ["active", "succeeded", "failed", "ready", "terminating"] {
        status.get(name).non_negative(errors);
    }
    uncounted(&status.get("uncountedTerminatedPods"), errors);

    let of_job = JobStatus {
        spec: job.get("spec"),
        conditions: status.get("conditions"),
        status,
    };
    of_job.check_completion(errors);
    of_job.check_end(errors);
    of_job.check_indexes(errors);
    of_job.check_counts(errors);
    of_job.check_criteria(errors);
    of_job.check_update(errors);
}

/// Whether one of the conditions of a type has a status. Of several, Kubernetes does not take the first alone here.
fn is_any(conditions: &Field<'_>, ty: &str, status: &str) -> bool {
    let mut all = conditions.items();
    all.any(|condition| {
        condition.get("type").text() == ty && condition.get("status").text() == status
    })
}

/// The uids of Pods that ended and are not counted yet are distinct: no Pod succeeded and failed.
fn uncounted(pods: &Field<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    let both = ["succeeded", "failed"].map(|name| pods.get(name));
    for uid in both.iter().flat_map(Field::items) {
        if uid.text().is_empty() {
            uid.invalid_text("must not be empty", errors);
        } else {
            uid.unique(&mut seen, errors);
        }
    }
}

impl JobStatus<'_> {
    fn has(&self, ty: &str) -> bool {
        is_any(&self.conditions, ty, "True")
    }

    fn had(&self, ty: &str) -> bool {
        is_any(&self.conditions.before(), ty, "True")
    }

    fn changes(&self, ty: &str) -> bool {
        self.has(ty) != self.had(ty)
    }

    fn is_finished(&self) -> bool {
        self.has("Complete") || self.has("Failed")
    }

    fn was_finished(&self) -> bool {
        self.had("Complete") || self.had("Failed")
    }

    /// Whether the job has ended, and this update ends it or changes a part of the status.
    fn ends_with(&self, part: &Field<'_>) -> bool {
        self.is_finished() && (!self.was_finished() || part.is_changed())
    }

    fn is_suspended(&self) -> bool {
        self.spec.get("suspend").value == Some(&Value::Bool(true))
    }

    fn refuse(&self, detail: &str, errors: &mut Errors) {
        errors.push(FieldError {
            path: self.conditions.path.clone(),
            kind: FieldErrorKind::Invalid,
            value: None,
            detail: detail.to_owned(),
        });
    }

    /// The time of completion is that of a complete job.
    fn check_completion(&self, errors: &mut Errors) {
        let (time, start) = (
            self.status.get("completionTime"),
            self.status.get("startTime"),
        );
        let is_complete = self.has("Complete");
        let completes = self.changes("Complete");

        if (completes || self.changes("Failed")) && is_complete && self.has("Failed") {
            self.refuse(
                "cannot set Complete=True and Failed=true conditions",
                errors,
            );
        }
        if (completes || self.changes("FailureTarget")) && is_complete && self.has("FailureTarget")
        {
            self.refuse(
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
    fn check_end(&self, errors: &mut Errors) {
        let [active, start, pods] =
            ["active", "startTime", "uncountedTerminatedPods"].map(|name| self.status.get(name));
        let fails = self.changes("Failed") || self.status.get("failedIndexes").is_changed();
        if fails && self.has("Failed") && !self.has("FailureTarget") {
            let detail =
                "cannot set Failed=True condition without the FailureTarget=true condition";
            self.refuse(detail, errors);
        }
        let succeeds = self.changes("Complete") || self.changes("SuccessCriteriaMet");
        if succeeds && self.has("Complete") && !self.has("SuccessCriteriaMet") {
            let detail =
                "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
            self.refuse(detail, errors);
        }

        let is_active = self.ends_with(&active) && active.number() > 0;
        active.invalid_if(is_active, "active>0 is invalid for finished job", errors);
        // A job without completions that is suspended ends before it starts.
        let is_empty =
            self.spec.get("completions").value == Some(&Value::Int(0)) && self.is_suspended();
        if self.ends_with(&start) && !start.is_set() && !is_empty {
            start.missing("startTime is required for finished job", errors);
        }
        let has_pods = ["failed", "succeeded"]
            .iter()
            .any(|name| !pods.get(name).is_empty());
        if self.ends_with(&pods) && has_pods {
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
    fn check_indexes(&self, errors: &mut Errors) {
        let [completed, failed] =
            ["completedIndexes", "failedIndexes"].map(|name| self.status.get(name));
        let completions = self.spec.get("completions");
        let limit = self.spec.get("backoffLimitPerIndex");
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

        let is_indexed = self.spec.get("completionMode").text() == "Indexed";
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

    /// The numbers of Pods agree.
    fn check_counts(&self, errors: &mut Errors) {
        let [active, ready, terminating] =
            ["active", "ready", "terminating"].map(|name| self.status.get(name));
        let is_terminating = self.ends_with(&terminating) && terminating.number() > 0;
        let detail = "terminating>0 is invalid for finished job";
        terminating.invalid_if(is_terminating, detail, errors);
        let changes = ready.is_changed() || active.is_changed();
        let is_more = ready.is_set() && ready.number() > active.number();
        ready.invalid_if(
            changes && is_more,
            "cannot set more ready pods than active",
            errors,
        );
    }

    /// A job that meets its criteria has not failed.
    fn check_criteria(&self, errors: &mut Errors) {
        let meets = self.has("SuccessCriteriaMet");
        for ty in ["Failed", "FailureTarget"] {
            if meets && self.has(ty) {
                let detail = format!("cannot set SuccessCriteriaMet=True and {ty}=true conditions");
                self.refuse(&detail, errors);
            }
        }
        if self.spec.get("successPolicy").is_set() && !meets && self.has("Complete") {
            let detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
            self.refuse(detail, errors);
        }
    }

    /// Checks what an update of a status may not change.
    fn check_update(&self, errors: &mut Errors) {
        for ty in ["Failed", "Complete", "FailureTarget"] {
            if self.had(ty) && !self.has(ty) {
                let detail = format!("cannot disable the terminal {ty}=True condition");
                self.refuse(&detail, errors);
            }
        }

        // A counter without a value is 0.
        let decreases = |name: &str, errors: &mut Errors| {
            let (path, count) = (self.status.get(name).path, self.status.get(name).number());
            if count < self.status.get(name).before().number() {
                let detail = format!("cannot decrease the {name} counter");
                errors.push(FieldError::invalid(path, count, detail));
            }
        };
        decreases("failed", errors);
        // An elastic job that is scaled down no longer counts the successes of removed indexes.
        let is_scalable = self.spec.get("completionMode").text() == "Indexed"
            && self.spec.get("completions").value == self.spec.get("parallelism").value;
        if !is_scalable {
            decreases("succeeded", errors);
        }

        let completion = self.status.get("completionTime");
        if completion.is_set() && completion.before().is_set() {
            completion.immutable(errors);
        }
        // The start time is reset while the job is suspended and when it resumes.
        let is_resuming = self.had("Suspended") && is_any(&self.conditions, "Suspended", "False");
        let start = self.status.get("startTime");
        let is_kept = !start.before().is_set() || self.is_suspended() || is_resuming;
        let detail = "field is immutable for unsuspended job once set";
        start.invalid_if(start.is_changed() && !is_kept, detail, errors);

        let (met, meets) = (
            self.had("SuccessCriteriaMet"),
            self.has("SuccessCriteriaMet"),
        );
        if met && !meets {
            self.refuse(
                "cannot disable the SuccessCriteriaMet=True condition",
                errors,
            );
        }
        if self.had("Complete") && !met && meets {
            let detail =
                "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
            self.refuse(detail, errors);
        }
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
