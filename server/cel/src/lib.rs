//! Validation rules of custom resources, `x-kubernetes-validations`: compiled from a structural schema and evaluated
//! in CEL.
//!
//! ```
//! use fieldmanager_cel::{BUDGET, Rules};
//! use fieldmanager_structural::{FieldPath, Structural};
//! use fieldmanager_value::Value;
//!
//! let schema = Structural::from_value(&Value::from_yaml("
//! type: object
//! properties:
//!   spec:
//!     type: object
//!     x-kubernetes-validations:
//!     - {rule: self.min <= self.max, message: min must not exceed max}
//!     properties: {min: {type: integer}, max: {type: integer}}
//! ")?)?;
//! let rules = Rules::compile(&schema);
//! let object = Value::from_yaml("{spec: {min: 2, max: 1}}")?;
//! let evaluated = rules.validate(&FieldPath::default(), &object, None, BUDGET);
//! assert_eq!(evaluated.errors[0].to_string(), "spec: Invalid value: min must not exceed max");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a rule can use
//!
//! The language of CEL with optional values and comprehensions over two variables, and the functions that an API server
//! adds: lists, strings, regular expressions, URLs, IP addresses and networks, quantities, semantic versions, named
//! formats and sets. The crate `cel` parses; evaluation is part of this crate, because an API server limits the cost of
//! a rule, reads the fields of an object by their schema, and compares sets and lists of type map in any order.
//!
//! Compiling does not check types: a function with arguments of wrong types is an error of its evaluation. What serves
//! definitions checks types and estimates costs before, as an API server does.
//!
//! # Depth and cost
//!
//! An expression of more than 100,000 characters or 250 nested levels is refused. The cost of an evaluation grows with
//! each operation and with the sizes of strings and lists, as in the API server; above [`RULE_BUDGET`] for one rule or the
//! budget of the object, it ends with an error. It also ends, with the same error, above a bound on the bytes that it
//! makes and the values that it visits, which the cost does not always limit.

mod access;
mod activation;
mod check;
mod collections;
mod compile;
mod display;
mod environment;
mod equality;
mod escape;
mod evaluate;
mod evaluated;
mod expression;
mod functions;
mod message;
mod meter;
mod native;
mod object;
mod resolve;
mod rule;
mod time;
mod tree;
mod validate;
mod value;
mod visible;

use std::fmt;

pub(crate) use fieldmanager_structural::internal::url;
use fieldmanager_structural::{FieldPath, Structural};
use fieldmanager_value::Value;
use fieldmanager_value::internal::with_room;

pub use access::{AccessDecision, AccessQuestion, Authorizer};
pub use activation::{Activation, EvaluationError, ExpressionInput, ExpressionValue};
pub use environment::{Environment, Expression, ExpressionType, InputType};
pub use evaluated::{BUDGET, Evaluated, RULE_BUDGET};

/// Items for the other crates of the workspace; no part of the public interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::check::{CheckedRule, RefusedRule, RuleChecks, RuleOptions};
    pub use crate::url::{Url, parse as parse_url};
    pub use crate::visible::is_exposed;
}

/// The compiled rules of a structural schema.
///
/// ```
/// use fieldmanager_cel::Rules;
/// use fieldmanager_structural::Structural;
/// assert!(Rules::compile(&Structural::default()).is_empty());
/// ```
#[derive(Default)]
pub struct Rules {
    root: Option<Box<compile::Node>>,
}

impl Rules {
    /// Compiles the rules of a schema, and of the schemas below it. As in an API server, a rule that cannot be run is an
    /// error of each value that it is about.
    ///
    /// ```
    /// use fieldmanager_cel::{BUDGET, Rules};
    /// use fieldmanager_structural::{FieldPath, Structural};
    /// use fieldmanager_value::Value;
    /// let schema = Value::from_yaml("{type: object, x-kubernetes-validations: [{rule: odd(self)}]}")?;
    /// let rules = Rules::compile(&Structural::from_value(&schema)?);
    /// let evaluated = rules.validate(&FieldPath::default(), &Value::from_yaml("{}")?, None, BUDGET);
    /// assert_eq!(
    ///     evaluated.errors[0].to_string(),
    ///     "<nil>: Invalid value: \"object\": rule compile error: compilation failed: undeclared reference to 'odd'"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compile(schema: &Structural) -> Rules {
        Rules {
            root: compile::compile(schema, true).map(Box::new),
        }
    }

    /// Compiles the rules of a schema of values that are no resources, which have neither `kind` nor `metadata`.
    ///
    /// ```
    /// use fieldmanager_cel::{BUDGET, Rules};
    /// use fieldmanager_structural::{FieldPath, Structural};
    /// use fieldmanager_value::Value;
    /// let schema = Value::from_yaml("{type: integer, x-kubernetes-validations: [{rule: self > 0}]}")?;
    /// let rules = Rules::compile_value(&Structural::from_value(&schema)?);
    /// let evaluated = rules.validate(&FieldPath::root("default"), &Value::from(0), None, BUDGET);
    /// assert_eq!(evaluated.errors[0].to_string(), "default: Invalid value: 0: failed rule: self > 0");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compile_value(schema: &Structural) -> Rules {
        Rules {
            root: compile::compile(schema, false).map(Box::new),
        }
    }

    /// Whether there is no rule.
    ///
    /// ```
    /// assert!(fieldmanager_cel::Rules::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Evaluates the rules on a resource, and with an old object also those that refer to `oldSelf`. `path` is the path
    /// of the object; `budget` limits the cost, [`BUDGET`] in an API server.
    ///
    /// A rule about a transition runs where an old value is found: fields by name, items of lists of type map by key.
    /// With an old object, a violation of a rule without `oldSelf` in a value that did not change is a warning.
    ///
    /// Behaviour: `Validate` of `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel`. Fields are visited by name;
    /// the order of the API server is random.
    ///
    /// ```
    /// use fieldmanager_cel::{BUDGET, Rules};
    /// use fieldmanager_structural::{FieldPath, Structural};
    /// use fieldmanager_value::Value;
    /// let schema = Structural::from_value(&Value::from_yaml("
    /// type: object
    /// properties:
    ///   size: {type: integer, x-kubernetes-validations: [{rule: self >= oldSelf, reason: FieldValueForbidden}]}
    /// ")?)?;
    /// let rules = Rules::compile(&schema);
    /// let (old, new) = (Value::from_yaml("{size: 2}")?, Value::from_yaml("{size: 1}")?);
    /// assert!(rules.validate(&FieldPath::default(), &new, None, BUDGET).errors.is_empty());
    /// let errors = rules.validate(&FieldPath::default(), &new, Some(&old), BUDGET).errors;
    /// assert_eq!(errors[0].to_string(), "size: Forbidden: failed rule: self >= oldSelf");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn validate(
        &self,
        path: &FieldPath,
        object: &Value,
        old: Option<&Value>,
        budget: u64,
    ) -> Evaluated {
        self.measure(path, object, old, budget).0
    }

    /// [`validate`](Rules::validate), and the cost of the evaluations; `None` if they were ended by a limit.
    ///
    /// ```
    /// use fieldmanager_cel::{BUDGET, Rules};
    /// use fieldmanager_structural::{FieldPath, Structural};
    /// use fieldmanager_value::Value;
    /// let schema = Value::from_yaml("{type: integer, x-kubernetes-validations: [{rule: self > 0}]}")?;
    /// let rules = Rules::compile_value(&Structural::from_value(&schema)?);
    /// // The variable and the comparison.
    /// assert_eq!(rules.measure(&FieldPath::default(), &Value::from(1), None, BUDGET).1, Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn measure(
        &self,
        path: &FieldPath,
        object: &Value,
        old: Option<&Value>,
        budget: u64,
    ) -> (Evaluated, Option<u64>) {
        match &self.root {
            Some(root) => validate::validate(root, path, object, old, budget),
            None => (Evaluated::default(), Some(0)),
        }
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        if let Some(root) = self.root.take() {
            with_room(|| drop(root));
        }
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("is_empty", &self.is_empty())
            .finish()
    }
}
