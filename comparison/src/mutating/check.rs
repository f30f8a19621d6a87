//! Compares both sides.

use fieldmanager_admission::internal::MutationKind;
use fieldmanager_cel::{Environment, EvaluationError, ExpressionInput, InputType, RULE_BUDGET};
use fieldmanager_managedfields::internal::merge_unowned;
use fieldmanager_schema::Schema;
use fieldmanager_value::Value;
use serde_json::{Value as Json, json};

use crate::json::{back, member, own, same_value, text};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::suite::answer_of;
use crate::{Difference, Error, Judged, Suite, Verdict};

/// The rule for values of the wrong type, whose text shows the values of Go.
const TYPE_TEXT: &str = "mutating-type-text";

/// The rule for a `copy` or `move` with two faults.
const PATH_FIRST: &str = "mutating-path-first";

/// What Go says of a `from` that does not exist.
const MISSING_FROM: [&str; 3] = [
    "doc is missing from path",
    "error in move for path",
    "error in copy for from",
];

/// The rule for operations that crash the request in Go.
const PANIC: &str = "mutating-go-panic";

/// The rule for objects that are no objects any more, which the decoder refuses after the mutation.
const DECODER: &str = "mutating-decoder";

/// The suite.
pub struct Mutating;

impl Suite for Mutating {
    const NAME: &'static str = "mutating";
    const ORACLE: &'static str = "mutating";

    fn generate(&self, seed: u64) -> Json {
        super::generate::case(seed)
    }

    fn compare(&mut self, _: &mut dyn Oracle, case: &Json, answers: &[Json]) -> Judged {
        let theirs = answer_of(case, answers)?;
        let ours = answer(case)?;
        let mut out = Verdict::default();
        let kind = text(case, "patchType");
        let outcome = match theirs.get("error").and_then(Json::as_str) {
            Some(error) => class(error),
            None if theirs.get("object") == case.get("object") => "unchanged",
            None => "changed",
        };
        out.tally.count("mutations", format!("{kind}: {outcome}"));

        // A fault may have other words than in Go, but must be found where Go finds one.
        let (theirs_text, ours_text) = (text(theirs, "error"), text(&ours, "error"));
        if same_value(theirs, &ours) {
            return Ok(out);
        }
        if theirs.get("panic").is_some() && kind == "JSONPatch" {
            out.deviations.push(PANIC);
        } else if theirs_text.starts_with("Internal error")
            && (ours_text.is_empty() || ours_text.contains("value must be object or array"))
        {
            out.deviations.push(DECODER);
        } else if MISSING_FROM.iter().any(|text| theirs_text.contains(text))
            && ours_text.contains("doc is missing destination path")
        {
            out.deviations.push(PATH_FIRST);
        } else if !theirs_text.is_empty()
            && without_values(theirs_text) == without_values(ours_text)
        {
            out.deviations.push(TYPE_TEXT);
        } else {
            let difference = Difference::of("answer", theirs, &ours);
            out.difference = Some(Difference {
                label: format!("{outcome}, here {}", class(ours_text)),
                ..difference
            });
        }
        Ok(out)
    }

    fn cuts(&self, _: &Json) -> Vec<Cut> {
        vec![Cut::tree("/object/spec")]
    }
}

/// The answer of the library.
fn answer(case: &Json) -> Result<Json, Error> {
    let failed = |error: String| Error::Request(format!("{case}: {error}"));
    let schema = Schema::from_value(&own(member(case, "schema")));
    let schema = schema.map_err(|error| failed(error.to_string()))?;
    let ty = schema
        .type_named(text(case, "type"))
        .ok_or_else(|| failed("no type".to_owned()))?;
    let object = own(member(case, "object"));
    let merge = |config: &Value| {
        let merged = merge_unowned(&ty, &object, config);
        merged.map_err(|error| format!("error applying patch: {error}"))
    };
    Ok(match mutate(case, &object, &merge) {
        Ok(object) => json!({"object": back(&object)}),
        Err(error) => json!({"error": sorted(&error)}),
    })
}

fn mutate(
    case: &Json,
    object: &Value,
    merge: &dyn Fn(&Value) -> Result<Value, String>,
) -> Result<Value, String> {
    let environment = Environment::new()
        .with_input("object", InputType::Dynamic)
        .with_input("oldObject", InputType::Dynamic);
    let kind = if text(case, "patchType") == "JSONPatch" {
        MutationKind::Patch
    } else {
        MutationKind::Configuration
    };
    let expression = environment.compile(text(case, "expression"), &[kind.expected()])?;
    let inputs = [
        ("object", ExpressionInput::Value(object)),
        ("oldObject", ExpressionInput::Value(&Value::Null)),
    ];
    let mut activation = environment.activate(&inputs, None, RULE_BUDGET);
    let value = activation
        .evaluate(&expression)
        .map_err(|error| match error {
            EvaluationError::Failed(text) => text,
            other => format!("{other:?}"),
        })?;
    kind.apply(&value, object, merge)
}

/// An error whose lists have one order.
fn sorted(error: &str) -> String {
    let by = |mark: &str, separator: &str| {
        let (before, list) = error.split_once(mark)?;
        let mut parts: Vec<&str> = list.split(separator).collect();
        parts.sort_unstable();
        Some(format!("{before}{mark}{}", parts.join(separator)))
    };
    by("may not mutate atomic arrays, maps or structs: ", ", ")
        .or_else(|| by("type mismatch: ", "\n"))
        .unwrap_or_else(|| error.to_owned())
}

/// The kind of an error.
fn class(error: &str) -> &'static str {
    const CLASSES: [&str; 12] = [
        "compilation failed",
        "must evaluate to",
        "resulted in error",
        "type mismatch",
        "may not mutate atomic",
        "failed to convert patch object",
        "failed to convert original object",
        "failed to merge",
        "could not marshal to JSON",
        "JSON Patch",
        "Internal error",
        "invalid return type",
    ];
    let found = CLASSES.into_iter().find(|class| error.contains(class));
    found.unwrap_or("another error")
}

/// An error without the faults of a value, of which each side may list others.
fn without_values(error: &str) -> &str {
    const MARKS: [&str; 3] = [
        "object to typed object: ",
        "failed to merge patch: ",
        "could not marshal to JSON: proto: invalid type: ",
    ];
    let cut = MARKS.iter().find_map(|mark| error.split_once(mark));
    cut.map_or(error, |(before, _)| before)
}
