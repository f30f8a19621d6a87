//! Runs cases on both sides and compares the answers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fieldmanager_builtin::{Kind, defaulted, prepare_create, prepare_update};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value as Own;
use serde_json::{Value, json};

use super::generate;
use crate::json::{back, member, own, same_value, text};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::{Difference, Error, Suite, Verdict};

/// The suite.
pub struct Defaults;

impl Suite for Defaults {
    const NAME: &'static str = "defaults";
    const ORACLE: &'static str = "server/cmd/defaults";
    const REPEATS: usize = 0;

    fn generate(&self, seed: u64) -> Value {
        generate::case(seed)
    }

    fn compare(&mut self, _: &mut dyn Oracle, case: &Value, answers: &[Value]) -> Result<Verdict, Error> {
        let reference = answers.first().unwrap_or(&Value::Null);
        let mut out = Verdict::default();
        out.tally.count("kinds", text(case, "kind").to_owned());
        let operation = match case.get("old") {
            None => "create".to_owned(),
            Some(_) => format!("update {}", text(case, "subresource")).trim().to_owned(),
        };
        if let Some(failure) = reference.get("failure").and_then(Value::as_str) {
            let words: String = failure.chars().take_while(|letter| *letter != ':').collect();
            out.tally.count("failures", words);
            out.tally.count("operations", format!("{operation}: no answer"));
            return Ok(out);
        }
        out.tally.count("operations", operation);
        let candidate = answer(case);
        for part in ["panic", "defaulted", "prepared"] {
            let reference = without_clock(case, member(reference, part));
            let candidate = member(&candidate, part);
            if !same_value(&reference, candidate) {
                out.difference = Some(Difference {
                    step: None,
                    what: part.to_owned(),
                    label: part.to_owned(),
                    reference,
                    candidate: candidate.clone(),
                });
                break;
            }
        }
        Ok(out)
    }

    fn cuts(&self, _: &Value) -> Vec<Cut> {
        vec![Cut::tree("/object"), Cut::tree("/old")]
    }

    fn is_sound(&self, case: &Value) -> bool {
        ["object", "old"].iter().all(|side| {
            let object = member(case, side);
            let metadata = member(object, "metadata");
            let kind = format!("{}/{}", text(object, "apiVersion"), text(object, "kind"));
            let is_named = ["name", "namespace"].iter().all(|name| !text(metadata, name).is_empty());
            object.is_null() || (is_named && kind == text(case, "kind"))
        })
    }
}

/// Times that a registry reads from the clock are those of the library: the creation of the object, or none.
fn without_clock(case: &Value, object: &Value) -> Value {
    let mut object = object.clone();
    let created = object.pointer("/metadata/creationTimestamp").cloned();
    let is_new = case.get("old").is_none();
    if text(case, "kind") == "v1/PersistentVolume" {
        let written = case.pointer("/object/status/lastPhaseTransitionTime");
        if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut)
            && status.get("lastPhaseTransitionTime") != written
        {
            status.remove("lastPhaseTransitionTime");
            if let (true, Some(created)) = (is_new, &created) {
                status.insert("lastPhaseTransitionTime".to_owned(), created.clone());
            }
        }
    }
    if is_new && text(case, "kind") == "v1/Pod" {
        for condition in
            object.pointer_mut("/status/conditions").and_then(Value::as_array_mut).into_iter().flatten()
        {
            if text(condition, "reason") == "SchedulingGated" {
                crate::json::set(condition, "lastTransitionTime", created.clone().unwrap_or_default());
            }
        }
    }
    object
}

/// The answer of the library. A panic is an answer, and a difference.
fn answer(case: &Value) -> Value {
    catch_unwind(AssertUnwindSafe(|| answer_one(case))).unwrap_or_else(|_| json!({"panic": "the library"}))
}

fn answer_one(case: &Value) -> Value {
    let (api_version, name) = text(case, "kind").rsplit_once('/').unwrap_or_default();
    let gvk = GroupVersionKind::from_api_version_kind(api_version, name);
    let Some(kind) = Kind::of(&gvk) else { return json!({"panic": "not built in"}) };
    let read = |side: &str| -> Result<Own, Value> {
        match kind.decode(&own(member(case, side))) {
            Ok(decoded) => Ok(defaulted(&gvk, &decoded.object)),
            Err(error) => Err(json!({"panic": error.to_string()})),
        }
    };
    let object = match read("object") {
        Ok(object) => object,
        Err(answer) => return answer,
    };
    let prepared = match case.get("old") {
        None => prepare_create(&gvk, &object),
        Some(_) => match read("old") {
            Ok(old) => prepare_update(&gvk, text(case, "subresource"), &object, &old),
            Err(answer) => return answer,
        },
    };
    json!({"defaulted": back(&object), "prepared": back(&prepared)})
}
