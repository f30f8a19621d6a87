//! The refusal of a rule.

use std::fmt;

use fieldmanager_structural::FieldPath;

/// A rule that cannot be run.
///
/// ```
/// use fieldmanager_rules::RuleFault;
/// use fieldmanager_structural::FieldPath;
/// let fault = RuleFault { path: FieldPath::empty(), rule: "self.a".to_owned(), reason: "no".to_owned() };
/// assert_eq!(fault.to_string(), "<nil>: the rule `self.a` cannot be run: no");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RuleFault {
    /// The path of the rule in the schema.
    pub path: FieldPath,
    /// The expression.
    pub rule: String,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for RuleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: the rule `{}` cannot be run: {}", self.path, self.rule, self.reason)
    }
}

impl std::error::Error for RuleFault {}
