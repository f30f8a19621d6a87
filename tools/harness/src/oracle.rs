//! The protocol of the conformance program: the input is scenarios, the output is the results of their steps.

use fieldmanager_value::Value;

use crate::outcome::{Outcome, map};
use crate::runner::Runner;
use crate::scenario::Scenario;
use crate::schemas::SchemaError;

/// Runs a scenario, regardless of its expectations, and returns the outcome of each step.
///
/// # Errors
///
/// [`SchemaError`] if the schema cannot be used; then no step is run.
///
/// ```
/// use fieldmanager_harness::internal::{Outcome, outcomes};
/// use fieldmanager_harness::Scenario;
///
/// let scenario = Scenario::from_yaml("
/// schema: {types: [{name: app, scalar: numeric}]}
/// steps:
/// - set: {op: union, lhs: {f:a: {}}, rhs: {f:b: {}}}
/// ")?;
/// let results = outcomes(&scenario)?;
/// assert_eq!(results[0].to_value().to_json(), r#"{"fields":{"f:a":{},"f:b":{}}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn outcomes(scenario: &Scenario) -> Result<Vec<Outcome>, SchemaError> {
    let mut runner = Runner::new(scenario)?;
    let steps = scenario.steps.iter();
    Ok(steps.map(|step| runner.step(&step.action)).collect())
}

/// Answers a scenario in the conformance protocol: `{"results": [..]}` with one result for each step, `{"schemaError":
/// ".."}`, or `{"error": ".."}` for an invalid scenario.
///
/// A request is a scenario or `{"repeat": N, "scenario": {..}}`. The latter asks for all variants of random results;
/// this library is deterministic, so the answer is the same as for the scenario alone.
///
/// ```
/// use fieldmanager_harness::internal::answer;
/// use fieldmanager_value::Value;
///
/// let request = Value::from_json(r#"{"schema": {"types": [{"name": "a", "scalar": "string"}]}, "types":
///     {"v1": "a"}, "steps": [{"validate": {"apiVersion": "v1", "object": "text"}}]}"#)?;
/// assert_eq!(answer(&request).to_json(), r#"{"results":[{}]}"#);
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn answer(request: &Value) -> Value {
    let scenario = match Scenario::from_value(request.get("scenario").unwrap_or(request)) {
        Ok(scenario) => scenario,
        Err(error) => return map([("error", error.to_string().into())]),
    };
    match outcomes(&scenario) {
        Ok(outcomes) => {
            let results = outcomes.iter().map(Outcome::to_value);
            map([("results", Value::List(results.collect()))])
        }
        Err(error) => map([("schemaError", error.to_string().into())]),
    }
}

/// Answers one line of the conformance protocol with one line, without the line end.
pub fn answer_line(line: &str) -> String {
    match Value::from_json(line) {
        Ok(request) => answer(&request).to_json(),
        Err(error) => map([("error", error.to_string().into())]).to_json(),
    }
}
