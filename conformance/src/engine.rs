//! What both sides of the comparison have in common.

use serde_json::Value;

use crate::Error;

/// Something that can say what a scenario does.
///
/// The answer to a scenario is `{"results": [..]}` with one result per step:
///
/// - `apply`, `update`, `extractApply`, `changeSchema`: `{"object", "managed"}`
/// - `validate`: `{}`; `compare`: `{"added", "modified", "removed"}`
/// - `merge`, `remove`, `extract`: `{"object"}`; `fieldset`, `set`: `{"fields"}`
/// - on failure `{"conflicts": [{"manager", "path"}]}`, `{"error", "kind"}` or
///   `{"panic"}`
///
/// or, for a schema that cannot be read, `{"schemaError"}`. A failed step
/// leaves the state as it was.
pub trait Implementation {
    /// Answers the scenarios in their order.
    ///
    /// # Errors
    ///
    /// When the implementation cannot answer at all. What a scenario itself
    /// runs into is part of its answer.
    fn run(&mut self, scenarios: &[Value]) -> Result<Vec<Value>, Error>;
}
