//! The limits and the outcome of an evaluation.

use fieldmanager_structural::FieldError;

/// The cost that an API server allows for all rules of one object.
pub const BUDGET: u64 = 10_000_000;

/// The cost that an API server allows for one evaluation of a rule.
pub const RULE_BUDGET: u64 = 1_000_000;

/// The faults and the warnings of one object that are listed.
pub(crate) const LISTED: usize = 100;

/// The outcome of evaluating rules.
///
/// ```
/// use fieldmanager_cel::Evaluated;
/// assert!(Evaluated::default().errors.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluated {
    /// The violations and the errors of evaluations: the first 100, followed by an error with the number of the rest.
    pub errors: Vec<FieldError>,
    /// The violations of values that did not change in an update: the first 100.
    pub warnings: Vec<String>,
}
