//! Checks expressions before they run: their types, and the cost that they may have.

mod checker;
mod declared;
pub(crate) mod depth;
mod estimate;
mod literals;
pub(crate) mod message;
mod overloads;
mod scope;
mod tree;
mod types;

use fieldmanager_structural::Structural;

use self::checker::Checked;
use self::declared::Sizes;
pub use self::overloads::all_overloads;
use self::scope::Scope;
use self::tree::{Node, Tree};
use self::types::{BOOL, STRING, Steps};
use crate::resolve;

/// The values that rules of a schema are about, for checking rules.
///
/// ```
/// use fieldmanager_rules::internal::{RuleChecks, RuleOptions};
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
///
/// let schema = Structural::from_value(&Value::from_yaml("{type: array, maxItems: 5, items: {type: integer}}")?)?;
/// let mut checks = RuleChecks::new(&schema);
/// let checked = checks.rule("self.all(item, item > 0)", RuleOptions::default()).unwrap();
/// assert_eq!((checked.cost, checked.uses_old_self), (27, false));
/// let refused = checks.rule("self.all(item, item)", RuleOptions::default()).unwrap_err();
/// assert!(refused.starts_with("compilation failed: ERROR: <input>:1:16: expected type 'bool' but found 'int'\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RuleChecks<'s> {
    schema: &'s Structural,
    sizes: Sizes<'s>,
}

/// How a rule is checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuleOptions {
    /// Whether `oldSelf` is an optional value.
    pub has_optional_old: bool,
    /// Whether the rule is part of a stored definition.
    pub is_stored: bool,
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

impl<'s> RuleChecks<'s> {
    /// Checks for the values of a schema. A schema of resources has `apiVersion`, `kind` and `metadata`, see
    /// [`with_metadata`](crate::internal::with_metadata).
    pub fn new(schema: &'s Structural) -> Self {
        RuleChecks { schema, sizes: Sizes::new(schema) }
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
    pub fn rule(&mut self, source: &str, options: RuleOptions) -> Result<CheckedRule, String> {
        self.check(source, options, true)
    }

    /// Checks the expression of a message.
    ///
    /// # Errors
    ///
    /// The words of an API server that refuses it.
    pub fn message(&mut self, source: &str, options: RuleOptions) -> Result<CheckedRule, String> {
        self.check(source, options, false)
    }

    fn check(&mut self, source: &str, options: RuleOptions, is_rule: bool) -> Result<CheckedRule, String> {
        let prefix = if is_rule { "" } else { "messageExpression " };
        let refused = |text: String| format!("{prefix}compilation failed: {text}");
        let program = if is_rule { "program" } else { "messageExpression" };
        resolve::with_stack(|| {
            let (parsed, info) = resolve::parse(source).map_err(refused)?;
            let mut tree = Tree::new(&info);
            let root = tree.add(&parsed);
            if !tree.faults.is_empty() {
                return Err(refused(message::of(source, &tree.faults, tree.faults.len())));
            }
            let mut nodes = tree.nodes;
            let scope = Scope {
                schema: self.schema,
                type_name: "selfType",
                has_optional_old: options.has_optional_old,
                is_stored: options.is_stored,
            };
            let checked = checker::check(&mut nodes, root, &scope)
                .ok_or_else(|| refused("the types of the expression are too large".to_owned()))?;
            self.constants(source, &nodes, &checked).map_err(refused)?;
            let expected = if is_rule { BOOL } else { STRING };
            let is_expected =
                checked.types.get(root).is_some_and(|found| found.is(&expected, &mut Steps { left: 2 }));
            match (is_expected, is_rule) {
                (true, _) => {}
                (false, true) => return Err("cel expression must evaluate to a bool".to_owned()),
                (false, false) => return Err("messageExpression must evaluate to a string".to_owned()),
            }
            if let Some(fault) = literals::wrong_constant(&nodes) {
                return Err(format!("{program} instantiation failed: {fault}"));
            }
            Ok(CheckedRule {
                cost: estimate::estimate(&nodes, root, &checked, &mut self.sizes),
                uses_old_self: checked.uses_old_self,
                overloads: checked.overloads(),
                steps: checked.steps,
            })
        })
    }

    /// The faults of types, or else of constants.
    fn constants(&self, source: &str, nodes: &[Node], checked: &Checked<'s>) -> Result<(), String> {
        if checked.count > 0 {
            return Err(message::of(source, &checked.faults, checked.count));
        }
        let faults = literals::faults(nodes, checked);
        if faults.is_empty() { Ok(()) } else { Err(message::of(source, &faults, faults.len())) }
    }
}
