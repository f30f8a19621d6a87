//! Compares scenarios: a schema, options, and steps that act on one object or on values.
//!
//! Both sides answer a scenario with `{"results": [..]}`, one result for each step:
//!
//! - `apply`, `update`, `extractApply`, `changeSchema`: `{"object", "managed"}`
//! - `validate`: `{}`; `compare`: `{"added", "modified", "removed"}`
//! - `merge`, `remove`, `extract`: `{"object"}`; `fieldset`, `set`: `{"fields"}`
//! - on failure `{"conflicts": [{"manager", "path"}]}`, `{"error", "kind"}` or `{"panic"}`
//!
//! or with `{"schemaError"}` for a schema that cannot be read. A failed step does not change the state.

pub mod compare;
pub mod deviations;

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use self::compare::{Outcome, acts_on_state, compare, outcome, step_kind};
use crate::generate::{Profile, scenario};
use crate::json::{items, member, text};
use crate::oracle::{CoProcess, Oracle};
use crate::shrink::Cut;
use crate::tally::Tally;
use crate::{Error, Judged, Suite, Verdict};

/// Options of this suite only.
#[derive(Args, Clone, Debug, Default)]
pub struct EngineOptions {
    /// The size of the objects
    #[arg(long, value_enum, default_value_t = Profile::All)]
    pub profile: Profile,
    /// A program to compare instead of the library: it reads scenarios as JSON lines and answers each with a line, as
    /// the oracle does
    #[arg(long)]
    pub engine: Option<PathBuf>,
    /// Only run the oracle and count the generated features
    #[arg(long)]
    pub oracle_only: bool,
}

/// The suite.
pub struct Engine {
    options: EngineOptions,
    /// Replaces the library.
    program: Option<CoProcess>,
}

impl Engine {
    /// Creates the suite with its options.
    pub fn new(options: &EngineOptions) -> Self {
        let program = options
            .engine
            .as_ref()
            .map(|program| CoProcess::new(program, Vec::new()));
        Engine {
            options: options.clone(),
            program,
        }
    }
}

impl Suite for Engine {
    const NAME: &'static str = "engine";
    const ORACLE: &'static str = "engine";

    fn generate(&self, seed: u64) -> Value {
        scenario(seed, self.options.profile)
    }

    fn compare(&mut self, _: &mut dyn Oracle, case: &Value, answers: &[Value]) -> Judged {
        let reference = answers.first().unwrap_or(&Value::Null);
        let mut tally = Tally::default();
        count(&mut tally, case, reference);
        let mut out = Verdict::default();
        if !self.options.oracle_only {
            let candidate = match &mut self.program {
                None => answer(case)?,
                Some(program) => program
                    .run(std::slice::from_ref(case))?
                    .pop()
                    .unwrap_or_default(),
            };
            out = compare(case, reference, &candidate, &deviations::explain);
        }
        out.tally.merge(tally);

        Ok(out)
    }

    fn cuts(&self, case: &Value) -> Vec<Cut> {
        cuts(case)
    }
}

/// The parts of a scenario that may be cut. The parts that make a step valid, such as its manager and version, stay.
pub fn cuts(scenario: &Value) -> Vec<Cut> {
    let mut out = vec![
        Cut::children("/steps"),
        Cut::whole("/conversion"),
        Cut::whole("/options"),
        Cut::names("/options"),
        Cut::names("/conversion"),
    ];

    for (number, step) in items(scenario, "steps").iter().enumerate() {
        let below = format!("/steps/{number}/{}", step_kind(step));
        // These members may lose any part and leave a valid step.
        let values = ["object", "lhs", "rhs", "fields", "old", "new"];
        out.extend(values.map(|member| Cut::tree(format!("{below}/{member}"))));
        out.push(Cut::names(format!("{below}/schema/types")));
    }
    out.push(Cut::names("/schema/types"));

    out
}

/// The library's answer. Requests and answers are serialized, so the library reads exactly what the oracle reads.
///
/// # Errors
///
/// If the scenario or the answer is not JSON that the other side can read.
pub fn answer(scenario: &Value) -> Result<Value, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Engine(error.to_string());
    let request = fieldmanager_value::Value::from_json(&scenario.to_string());
    let request = request.map_err(|error| failed(&error))?;
    let answer = fieldmanager_harness::internal::answer(&request).to_json();
    serde_json::from_str(&answer).map_err(|error| failed(&error))
}

/// The section of the tally for outcomes of steps in Go.
pub const OUTCOMES: &str = "outcomes of the steps in Go";
/// The section of the tally for steps that reached a feature.
pub const REACHED: &str = "reached";
/// Applies that removed fields or items from the live object.
pub const PRUNED: &str = "applies that pruned";
/// Schema changes after which the sets of other managers changed.
pub const RECONCILED: &str = "schema changes that moved the sets of other managers";

/// Counts the results of a scenario in Go.
fn count(tally: &mut Tally, scenario: &Value, answer: &Value) {
    let Some(results) = answer.get("results").and_then(Value::as_array) else {
        tally.count(OUTCOMES, "scenario refused");
        return;
    };
    let mut before: Option<&Value> = None;
    let mut changed = false;

    for (step, result) in items(scenario, "steps").iter().zip(results) {
        tally.operations += 1;
        let kind = step_kind(step);
        let name = match outcome(result) {
            Outcome::Success => "success".to_owned(),
            Outcome::Conflicts => "conflicts".to_owned(),
            Outcome::Error(kind) => format!("error {kind}"),
            Outcome::Panic => "panic".to_owned(),
        };
        let succeeded = name == "success";
        tally.count(OUTCOMES, name);
        tally.count(
            "steps by kind",
            format!("{kind} {}", if succeeded { "succeeded" } else { "failed" }),
        );

        // A failed step leaves the state as it was, and a step on values has none.
        if !succeeded || !acts_on_state(kind) {
            continue;
        }
        // The new schema alone changes no set: the next operation reconciles them.
        if kind == "changeSchema" {
            changed = true;
        } else if let Some(before) = before {
            if kind != "update" && lost(member(before, "object"), member(result, "object")) {
                tally.count(REACHED, PRUNED);
            }
            if changed && others_changed(before, result, text(member(step, kind), "manager")) {
                tally.count(REACHED, RECONCILED);
            }
            changed = false;
        }
        before = Some(result);
    }
}

/// Whether a field or a list item of the old object is missing in the new one.
fn lost(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => old
            .iter()
            .any(|(key, value)| new.get(key).is_none_or(|other| lost(value, other))),
        (Value::Array(old), Value::Array(new)) => old.len() > new.len(),
        _ => false,
    }
}

fn others_changed(before: &Value, after: &Value, actor: &str) -> bool {
    let managed = member(before, "managed").as_object().into_iter().flatten();
    let after = member(after, "managed");
    managed
        .into_iter()
        .any(|(name, entry)| name != actor && after.get(name) != Some(entry))
}
