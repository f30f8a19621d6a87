//! The evaluation of expressions with inputs.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use crate::access::{AccessDecision, AccessQuestion, AccessVal, Authorizer};
use crate::display::written;
use crate::environment::{Environment, Expression, InputType};
use crate::evaluate::{Outside, missing, run};
use crate::evaluated::RULE_BUDGET;
use crate::meter::{Meter, WORK};
use crate::native;
use crate::object::{read_dynamic, read_struct};
use crate::value::{Fault, Outcome, Val, fault};

/// An input of expressions.
#[derive(Clone, Debug)]
pub enum ExpressionInput<'a> {
    /// A value, which is read as it is.
    Value(&'a Value),
    /// An authorizer, with what is known of a question.
    Authorizer(AccessQuestion),
    /// An authorizer with a question about objects.
    ResourceCheck(AccessQuestion),
}

/// The value of an expression.
#[derive(Clone, Debug)]
pub struct ExpressionValue<'a>(pub(crate) Val<'a>);

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluationError {
    /// The evaluation failed. The text names the expression, as kube-apiserver does.
    Failed(String),
    /// The budget of the activation is used up: no further expression is evaluated.
    OutOfBudget,
    /// The authorizer did not know an answer.
    Undecided,
}

/// The inputs of expressions, with the variables that were evaluated, and a budget for all expressions together.
pub struct Activation<'a> {
    environment: &'a Environment,
    inputs: Vec<Outcome<'a>>,
    authorizer: Option<&'a dyn Authorizer>,
    variables: RefCell<Vec<Option<Outcome<'a>>>>,
    /// The cost of variables since it was looked at last.
    spent: Cell<u64>,
    work: Cell<u64>,
    budget: u64,
}

/// The work that all evaluations may do, in that of one.
const EVALUATIONS: u64 = 10;

/// Ends an evaluation whose authorizer does not know an answer.
const UNDECIDED: Fault = Fault::Broken(Cow::Borrowed("the decision is not known"));

impl Environment {
    /// Begins evaluations. An input of the environment that is not among `inputs` has no value; `variables` need no input.
    /// Each expression may cost [`RULE_BUDGET`], and all together `budget`.
    pub fn activate<'a>(
        &'a self,
        inputs: &[(&str, ExpressionInput<'a>)],
        authorizer: Option<&'a dyn Authorizer>,
        budget: u64,
    ) -> Activation<'a> {
        let values = self.inputs.iter().map(|(name, of)| {
            if *of == InputType::Variables {
                return Ok(Val::Variables(self.places.len() as u64));
            }

            // An input that is not given may be one that no expression uses.
            let access = |access| Ok(Val::Access(Arc::new(access)));
            match inputs.iter().find(|(known, _)| known == name) {
                Some((_, ExpressionInput::Value(value))) if matches!(of, InputType::Typed(..)) => {
                    Ok(read_struct(value))
                }
                Some((_, ExpressionInput::Value(value))) => Ok(read_dynamic(value)),
                Some((_, ExpressionInput::Authorizer(question))) => {
                    access(AccessVal::Authorizer(question.clone()))
                }
                Some((_, ExpressionInput::ResourceCheck(question))) => {
                    access(AccessVal::Resource(question.clone()))
                }
                None => missing(name),
            }
        });

        Activation {
            inputs: values.collect(),
            environment: self,
            authorizer,
            variables: RefCell::new(vec![None; self.variables.len()]),
            spent: Cell::new(0),
            work: Cell::new(EVALUATIONS * WORK),
            budget,
        }
    }
}

impl<'a> Activation<'a> {
    /// The value of an expression of the environment. Its cost, and that of the variables that it uses first, is taken from
    /// the budget.
    ///
    /// # Errors
    ///
    /// The evaluation fails, or costs too much.
    ///
    /// Behaviour: `evaluationActivation.Evaluate` of `k8s.io/apiserver/pkg/admission/plugin/cel/activation.go`.
    pub fn evaluate(
        &mut self,
        expression: &Expression,
    ) -> Result<ExpressionValue<'a>, EvaluationError> {
        let (outcome, own) = self.run(expression);
        if outcome.as_ref().is_err_and(|fault| *fault == UNDECIDED) {
            return Err(EvaluationError::Undecided);
        }
        let cost = own.saturating_add(self.spent.take());
        self.budget = self
            .budget
            .checked_sub(cost)
            .ok_or(EvaluationError::OutOfBudget)?;
        outcome.map(ExpressionValue).map_err(|fault| {
            let source = &expression.source;
            let text = format!("expression '{source}' resulted in error: {}", words(fault));
            EvaluationError::Failed(text)
        })
    }

    /// What is left of the budget.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// Evaluates an expression; gives its cost too.
    fn run(&self, expression: &Expression) -> (Outcome<'a>, u64) {
        let mut meter = Meter::new(RULE_BUDGET, WORK.min(self.work.get()));
        let outcome = match &expression.program {
            Some(program) => run(program, self.inputs.iter().cloned(), Some(self), &mut meter),
            None => Ok(Val::Null),
        };
        self.work.set(self.work.get().saturating_sub(meter.work()));
        (outcome, meter.cost())
    }
}

/// The text of a fault.
fn words(fault: Fault) -> String {
    match fault {
        Fault::Error(text) => text,
        Fault::Cost => "operation cancelled: actual cost limit exceeded".to_owned(),
        Fault::Broken(text) => text.into_owned(),
    }
}

impl<'a> Outside<'a> for Activation<'a> {
    /// Behaviour: `variableAccessor.Callback` of `k8s.io/apiserver/pkg/admission/plugin/cel/composition.go`.
    fn variable(&self, name: &str) -> Option<Outcome<'a>> {
        let at = *self.environment.places.get(name)?;
        if let Some(known) = self.variables.borrow().get(at).cloned().flatten() {
            return Some(known);
        }
        let failed = |how: &str, why: &str| {
            let name = quote(name);
            fault(format!("composited variable {name} fails to {how}: {why}"))
        };
        let outcome = match &self.environment.variables.get(at)?.expression {
            Err(text) => failed("compile", text),
            Ok(expression) => {
                let (outcome, cost) = self.run(expression);
                self.spent.set(self.spent.get().saturating_add(cost));
                match outcome {
                    Err(fault) if fault == UNDECIDED => return Some(Err(fault)),
                    Err(found) => failed("evaluate", &words(found)),
                    value => value,
                }
            }
        };
        if let Some(place) = self.variables.borrow_mut().get_mut(at) {
            *place = Some(outcome.clone());
        }
        Some(outcome)
    }

    fn decide(&self, question: &AccessQuestion) -> Result<AccessDecision, Fault> {
        let answer = self
            .authorizer
            .and_then(|authorizer| authorizer.decide(question));
        answer.ok_or(UNDECIDED)
    }
}

impl ExpressionValue<'_> {
    /// The bool that it is.
    pub fn as_bool(&self) -> Option<bool> {
        match &self.0 {
            Val::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The string that it is.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Val::String(text) => Some(text),
            _ => None,
        }
    }

    /// The apply configuration that it is, whose kind is not set.
    ///
    /// # Errors
    ///
    /// The words of kube-apiserver, for a value that has types at wrong places, or is not JSON.
    pub fn configuration(&self) -> Result<Value, String> {
        native::configuration(&self.0)
    }

    /// The operations of a JSON patch that it is.
    ///
    /// # Errors
    ///
    /// The words of kube-apiserver.
    pub fn operations(&self) -> Result<Value, String> {
        native::operations(&self.0)
    }

    /// The value with the types of its parts, for comparisons.
    pub fn written(&self) -> String {
        written(&self.0)
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self.0, Val::Null)
    }
}
