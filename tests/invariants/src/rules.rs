//! The memory of validating an object against a definition with rules.

use fieldmanager_cel::Rules;
use fieldmanager_structural::validation::Validator;
use fieldmanager_structural::{FieldPath, Structural};
use fieldmanager_value::Value;
use fieldmanager_value::internal::Work;

/// The steps after which the validation is stopped.
const STEPS: u64 = 1_000_000;

/// A schema, an object and its old state that can be validated.
#[derive(Debug)]
pub struct RulesInput {
    schema: Structural,
    rules: Rules,
    validator: Validator,
    object: Value,
    old: Option<Value>,
    /// The cost that rules may have.
    budget: u64,
}

/// What the validation of an object was charged.
#[derive(Clone, Copy, Debug)]
pub struct Charged {
    /// The bound on the cost of rules.
    pub budget: u64,
    /// The steps of the work.
    pub steps: u64,
}

impl RulesInput {
    /// Reads a YAML stream of a schema, the budget of its rules (100,000 unless it is a number), an object, and its old
    /// state, and compiles the schema. `None` if the schema is refused, as a definition with it would be.
    pub fn compile(text: &str) -> Option<Self> {
        let documents = Value::all_from_yaml(text).ok()?;
        let schema = Structural::from_value(documents.first()?).ok()?;
        if !schema.validate(&FieldPath::default()).is_empty() {
            return None;
        }
        let validator = Validator::new(documents.first()?).ok()?;
        let rules = Rules::compile(&schema);
        let budget = documents
            .get(1)
            .and_then(Value::as_i64)
            .and_then(|budget| u64::try_from(budget).ok());
        Some(RulesInput {
            schema,
            rules,
            validator,
            object: documents.get(2).cloned().unwrap_or_default(),
            old: documents.get(3).cloned(),
            budget: budget.unwrap_or(100_000).min(fieldmanager_cel::BUDGET),
        })
    }

    /// Prunes, defaults and validates the object, up to a number of steps.
    pub fn validate(&self) -> Charged {
        let work = Work::with_limit(STEPS);
        let root = FieldPath::default();
        // A stopped work has no result, and its steps are at the limit.
        let _ = work.run(|| {
            let pruned = self.schema.prune(&self.object, true).ok()?;
            let object = self.schema.default_object(&pruned.object).ok()?;
            drop(self.validator.validate(&object));
            drop(self.schema.validate_lists(&root, &object));
            drop(
                self.rules
                    .validate(&root, &object, self.old.as_ref(), self.budget),
            );
            Some(())
        });
        Charged {
            budget: self.budget,
            steps: work.steps(),
        }
    }
}

/// Checks the memory of [`RulesInput::compile`] in bytes: it is linear in the length of the input.
///
/// # Errors
///
/// A message if it is not.
pub fn check_rules_compiled(input: usize, bytes: u64) -> Result<(), String> {
    let bound = 1_000_000 + 4_000 * input as u64;
    ensure!(
        bytes <= bound,
        "compiling {input} bytes allocated {bytes} bytes, more than {bound}"
    );
    Ok(())
}

/// Checks the memory of [`RulesInput::validate`] in bytes, all allocations together: 500 bytes for each byte of the
/// input, 200 for each unit of the cost of rules, and 1,000 for each step; compiled patterns take 8 steps for a byte.
///
/// # Errors
///
/// A message if the memory exceeds that.
pub fn check_rules_charged(input: usize, charged: Charged, bytes: u64) -> Result<(), String> {
    let bound = 1_000_000 + 500 * input as u64 + 200 * charged.budget + 1_000 * charged.steps;
    ensure!(
        bytes <= bound,
        "{charged:?} and {input} bytes allocated {bytes} bytes, more than {bound}"
    );
    Ok(())
}
