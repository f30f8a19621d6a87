//! The library's side of the comparison.

use serde_json::Value;

use crate::{Error, Implementation};

/// The Rust engine, run in this process through the scenario harness.
#[derive(Debug, Default)]
pub struct Candidate;

impl Implementation for Candidate {
    fn run(&mut self, scenarios: &[Value]) -> Result<Vec<Value>, Error> {
        scenarios.iter().map(answer).collect()
    }
}

/// Goes through text both ways, so that the engine reads exactly what the other side reads.
fn answer(scenario: &Value) -> Result<Value, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Engine(error.to_string());
    let request = fieldmanager_value::Value::from_json(&scenario.to_string());
    let request = request.map_err(|error| failed(&error))?;
    let answer = fieldmanager_harness::answer(&request).to_json();
    serde_json::from_str(&answer).map_err(|error| failed(&error))
}
