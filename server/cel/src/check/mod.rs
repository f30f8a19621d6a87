//! Checks expressions before they run: their types, and the cost that they may have.

pub(crate) mod checker;
pub(crate) mod declared;
pub(crate) mod depth;
mod estimate;
pub(crate) mod literals;
pub(crate) mod message;
mod path;
mod range;
pub(crate) mod scope;
pub(crate) mod types;

use fieldmanager_structural::Structural;

use self::checker::Checked;
pub use self::checker::RuleOptions;
use self::declared::Sizes;
use self::scope::Scope;
use self::types::{BOOL, STRING, Steps};
use crate::tree::{Tree, with_stack};

/// The values that rules of a schema are about, for checking rules.
///
/// ```
/// use fieldmanager_cel::internal::{RuleChecks, RuleOptions};
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
///
/// let schema = Structural::from_value(&Value::from_yaml("{type: array, maxItems: 5, items: {type: integer}}")?)?;
/// let mut checks = RuleChecks::new(&schema);
/// let checked = checks.rule("self.all(item, item > 0)", RuleOptions::default()).unwrap();
/// assert_eq!((checked.cost, checked.uses_old_self), (27, false));
/// let refused = checks.rule("self.all(item, item)", RuleOptions::default()).unwrap_err();
/// assert!(refused.reason.starts_with("compilation failed: ERROR: <input>:1:16: expected type 'bool' but found 'int'\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RuleChecks<'s> {
    schema: &'s Structural,
    sizes: Sizes<'s>,
}

/// An expression that an API server accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedRule {
    /// The greatest cost of one evaluation.
    pub cost: u64,
    /// Whether it refers to `oldSelf`.
    pub uses_old_self: bool,
    /// The overloads of functions that it may call, as the table has them.
    pub overloads: Vec<(&'static str, &'static str)>,
    /// The steps that checking its types took.
    pub steps: u64,
}

/// An expression that an API server refuses.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedRule {
    /// The words of the API server.
    pub reason: String,
    /// Whether it refers to `oldSelf`; unknown if its types are wrong.
    pub uses_old_self: bool,
}

impl From<String> for RefusedRule {
    fn from(reason: String) -> Self {
        RefusedRule {
            reason,
            uses_old_self: false,
        }
    }
}

impl<'s> RuleChecks<'s> {
    /// Checks for the values of a schema. A schema of resources has `apiVersion`, `kind` and `metadata`, see
    /// [`with_metadata`](crate::internal::with_metadata).
    pub fn new(schema: &'s Structural) -> Self {
        RuleChecks {
            schema,
            sizes: Sizes::new(schema),
        }
    }

    /// How often a value can occur in a request whose other parts are unknown.
    pub fn occurrences(&mut self) -> u64 {
        self.sizes.occurrences()
    }

    /// Checks a rule.
    ///
    /// # Errors
    ///
    /// The words of an API server that refuses it.
    pub fn rule(&mut self, source: &str, options: RuleOptions) -> Result<CheckedRule, RefusedRule> {
        self.check(source, options, true)
    }

    /// Checks the expression of a message.
    ///
    /// # Errors
    ///
    /// The words of an API server that refuses it.
    pub fn message(
        &mut self,
        source: &str,
        options: RuleOptions,
    ) -> Result<CheckedRule, RefusedRule> {
        self.check(source, options, false)
    }

    fn check(
        &mut self,
        source: &str,
        options: RuleOptions,
        is_rule: bool,
    ) -> Result<CheckedRule, RefusedRule> {
        let prefix = if is_rule { "" } else { "messageExpression " };
        let refused = |text: String| format!("{prefix}compilation failed: {text}");
        let program = if is_rule {
            "program"
        } else {
            "messageExpression"
        };

        with_stack(|| {
            // Each check relies on those before it, and the first that fails is reported: syntax, types, constants, the
            // type of the result, and what fails when the program is made.
            let mut tree = Tree::parse(source).map_err(refused)?;
            let checked = checker::check(&mut tree, Scope::Values(self.schema), options)
                .ok_or_else(|| refused("the types of the expression are too large".to_owned()))?;
            constants(source, &tree, &checked).map_err(refused)?;
            let expected = if is_rule { BOOL } else { STRING };
            // An expression of the type `dyn` is refused: the type must be known before the evaluation.
            let is_expected = checked
                .types
                .get(tree.root)
                .is_some_and(|found| found.is(&expected, &mut Steps { left: 2 }));

            if !is_expected {
                let expected = if is_rule {
                    "cel expression must evaluate to a bool"
                } else {
                    "messageExpression must evaluate to a string"
                };
                return Err(expected.to_owned().into());
            }

            // The types are right here, so it is known whether `oldSelf` is used, unlike in the refusals above.
            if let Some(fault) = literals::wrong_constant(&tree, &checked) {
                return Err(RefusedRule {
                    reason: format!("{program} instantiation failed: {fault}"),
                    uses_old_self: checked.uses_old_self,
                });
            }

            Ok(CheckedRule {
                cost: estimate::estimate(&tree, &checked, &mut self.sizes),
                uses_old_self: checked.uses_old_self,
                overloads: checked.overloads(),
                steps: checked.steps,
            })
        })
    }
}

/// The faults of types, or else of constants.
pub(crate) fn constants(source: &str, tree: &Tree, checked: &Checked<'_>) -> Result<(), String> {
    if checked.count > 0 {
        return Err(message::of(source, &checked.faults, checked.count));
    }
    let faults = literals::faults(tree, checked);
    if faults.is_empty() {
        Ok(())
    } else {
        Err(message::of(source, &faults, faults.len()))
    }
}
