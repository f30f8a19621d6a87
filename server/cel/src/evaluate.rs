//! Evaluates expressions.
//!
//! Costs are those of cel-go (`interpreter/runtimecost.go`) with the plans that it makes: a variable and what is
//! selected from it are one *attribute*, which costs 1 and 1 for each selection, and the branches of a condition are
//! attributes that cost only their selections.

mod fold;

use std::collections::BTreeMap;
use std::sync::Arc;

use fieldmanager_value::Str;
use fieldmanager_value::internal::level;

use crate::access::{AccessDecision, AccessQuestion, AccessVal};
use crate::display::shown;
use crate::equality;
use crate::expression::{Expr, Program};
use crate::functions::{self, Call, inner_size, traversal};
use crate::meter::{Meter, WORK};
use crate::value::{Fault, Key, ListVal, MapVal, MessageVal, Outcome, Val, fault, no_overload};

/// The cost of making a list.
const LIST: u64 = 10;
/// The cost of making a map.
const MAP: u64 = 30;
/// The cost of making a message.
const MESSAGE: u64 = 40;

/// An evaluation: the values of the variables, and what it costs.
struct Evaluation<'a, 'e> {
    variables: Vec<Variable<'a, 'e>>,
    meter: &'e mut Meter,
    outside: Option<&'e dyn Outside<'a>>,
    /// Whether the last selection was one of an optional value, and so may be empty.
    is_optional: bool,
}

/// What an expression can ask for while it is evaluated.
pub(crate) trait Outside<'a> {
    /// The value of a variable that is made by an expression; `None` if there is none of this name.
    fn variable(&self, name: &str) -> Option<Outcome<'a>>;

    /// The answer of the authorizer.
    fn decide(&self, question: &AccessQuestion) -> Result<AccessDecision, Fault>;
}

struct Variable<'a, 'e> {
    value: Outcome<'a>,
    /// What makes the value at the first use of the variable.
    first_use: Option<&'e Expr>,
}

/// Evaluates a program with the values of its variables, in the order of their numbers.
pub(crate) fn run<'a, 'e>(
    program: &'e Program,
    inputs: impl IntoIterator<Item = Outcome<'a>>,
    outside: Option<&'e dyn Outside<'a>>,
    meter: &'e mut Meter,
) -> Outcome<'a> {
    let mut evaluation = Evaluation {
        variables: Vec::new(),
        meter,
        outside,
        is_optional: false,
    };
    for input in inputs {
        evaluation.declare(input);
    }
    evaluation.eval(&program.expr)
}

/// The value of a variable that has none.
pub(crate) fn missing<'a>(name: &str) -> Outcome<'a> {
    fault(format!("no such attribute(s): {name}"))
}

/// The value of an expression that depends on no variable.
pub(crate) fn constant(expr: &Expr) -> Outcome<'static> {
    // The cost of a constant does not count, but its work is bounded as in an evaluation.
    let mut meter = Meter::new(u64::MAX, WORK);
    Evaluation {
        variables: Vec::new(),
        meter: &mut meter,
        outside: None,
        is_optional: false,
    }
    .eval(expr)
}

/// Whether cel-go can put a constant into a set.
fn is_hashed(value: &Val<'_>) -> bool {
    matches!(
        value,
        Val::Bool(_) | Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::String(_)
    )
}

/// The cost of an attribute besides its parts: nothing for a condition. A presence test is 1 cheaper.
fn attribute_cost(expr: &Expr) -> i64 {
    // A chain of selections is one attribute, whose root decides whether it costs 1.
    let mut root = expr;
    while let Expr::Select { operand, .. } | Expr::Index { operand, .. } = root {
        root = operand;
    }
    let is_test = matches!(expr, Expr::Select { is_test: true, .. });
    i64::from(!matches!(root, Expr::Conditional(_))) - i64::from(is_test)
}

impl<'a, 'e> Evaluation<'a, 'e> {
    fn declare(&mut self, value: Outcome<'a>) {
        self.variables.push(Variable {
            value,
            first_use: None,
        });
    }

    fn eval(&mut self, expr: &'e Expr) -> Outcome<'a> {
        self.meter.visit(1)?;
        level(|| match expr {
            Expr::Constant(value) => value.clone(),
            Expr::Variable(_) | Expr::Select { .. } | Expr::Index { .. } | Expr::Conditional(_) => {
                // `resolve` charges the selections; the attribute itself is charged once, after them.
                let out = self.resolve(expr);
                if out.as_ref().is_err_and(Fault::is_final) {
                    return out;
                }
                match attribute_cost(expr) {
                    -1 => self.meter.refund(1),
                    0 => {}
                    _ => self.meter.charge(1)?,
                }
                out
            }
            Expr::Call { .. } => self.call(expr),
            Expr::And(a, b) => self.junction(a, b, false),
            Expr::Or(a, b) => self.junction(a, b, true),

            // An error does not end the loop of `all` and `exists`, since a later item can still decide.
            Expr::NotStrictlyFalse(operand) => {
                let out = self.eval(operand);
                self.meter.charge(1)?;
                match out {
                    Ok(Val::Bool(flag)) => Ok(Val::Bool(flag)),
                    Ok(_) | Err(Fault::Error(_)) => Ok(Val::Bool(true)),
                    Err(fault) => Err(fault),
                }
            }
            Expr::Equal(a, b, is_equal) => {
                // The comparison is charged even if one side fails, so both are evaluated first.
                let (values, error) = self.arguments(&[&**a, &**b], false)?;
                self.meter.charge(equality_cost(&values, *is_equal))?;
                match (error, values.as_slice()) {
                    (None, [a, b]) if *is_equal => {
                        Ok(Val::Bool(equality::is_equal(a, b, self.meter)?))
                    }
                    // What cannot be compared is not equal.
                    (None, [a, b]) => Ok(Val::Bool(!equality::equals(a, b, self.meter)?)),
                    (Some(fault), _) => Err(fault),
                    _ => no_overload(),
                }
            }

            Expr::List(items) => {
                let out = self.list(items);
                self.charged(LIST, out)
            }
            Expr::Map(entries) => {
                let out = self.map(entries);
                self.charged(MAP, out)
            }
            Expr::Message(name, fields) => {
                let out = self.message(name, fields);
                self.charged(MESSAGE, out)
            }
            Expr::Fold(fold) => self.fold(fold),
            Expr::Binding(parts, slot) => {
                let [initial, result] = &**parts;
                // The value is made at its first use, so that a name that is not used has no cost.
                self.variables.truncate(*slot);
                self.variables.push(Variable {
                    value: Ok(Val::Null),
                    first_use: Some(initial),
                });
                let out = self.eval(result);
                self.variables.truncate(*slot);
                out
            }
            Expr::Shared(expr) => self.eval(expr),
            Expr::Fallback {
                operand,
                other,
                is_value,
            } => match self.eval(operand)? {
                Val::Optional(Some(value)) if *is_value => Ok((*value).clone()),
                value @ Val::Optional(Some(_)) => Ok(value),
                Val::Optional(None) => self.eval(other),
                _ => no_overload(),
            },
        })
    }

    /// Charges what was made, even if a part failed: `||` may ignore the error, but the cost remains.
    fn charged(&mut self, cost: u64, made: Outcome<'a>) -> Outcome<'a> {
        if !made.as_ref().is_err_and(Fault::is_final) {
            self.meter.charge(cost)?;
        }
        made
    }

    /// Counts the bytes that an outcome took, which reading the object can make at any access.
    fn weighed(&mut self, outcome: Outcome<'a>) -> Outcome<'a> {
        match &outcome {
            Ok(Val::Bytes(bytes)) => self.meter.make(bytes.len())?,
            Err(Fault::Error(message)) => self.meter.make(message.len())?,
            _ => {}
        }
        outcome
    }

    /// The value of an attribute, or of another expression below one.
    fn resolve(&mut self, expr: &'e Expr) -> Outcome<'a> {
        level(|| match expr {
            Expr::Variable(at) => {
                let Some(variable) = self.variables.get_mut(*at) else {
                    return Ok(Val::Null);
                };
                if let Some(expr) = variable.first_use.take() {
                    // It may use the variables before it only.
                    let above = self.variables.split_off(*at + 1);
                    self.variables.truncate(*at);
                    let value = self.eval(expr);
                    self.declare(value);
                    self.variables.extend(above);
                }
                let value = self.variables.get(*at).map(|found| found.value.clone());

                self.weighed(value.unwrap_or(Ok(Val::Null)))
            }
            Expr::Conditional(parts) => {
                // The branches are resolved, not evaluated: they are a part of the attribute and do not cost 1 again.
                let [condition, then, otherwise] = &**parts;
                match self.eval(condition)? {
                    Val::Bool(true) => self.resolve(then),
                    Val::Bool(false) => self.resolve(otherwise),
                    _ => no_overload(),
                }
            }
            Expr::Select {
                operand,
                field,
                is_test,
                is_optional,
            } => {
                let operand = self.operand(operand)?;
                let field = Val::String(field.clone());
                self.select(operand, *is_test, *is_optional, |_| Ok(field))
            }
            Expr::Index {
                operand,
                index,
                is_optional,
            } => {
                // The index is evaluated only if the operand is present.
                let operand = self.operand(operand)?;
                self.select(operand, false, *is_optional, |this| this.resolve(index))
            }
            other => self.eval(other),
        })
    }

    /// What a selection is from, and whether an optional value is looked into. As in cel-go, one that is found in the middle of
    /// a chain is a value without parts.
    fn operand(&mut self, operand: &'e Expr) -> Result<(Val<'a>, bool), Fault> {
        let value = self.resolve(operand)?;
        let is_selected = matches!(operand, Expr::Select { .. } | Expr::Index { .. });
        Ok((value, !is_selected || self.is_optional))
    }

    /// Selects a field or an item. In a chain after an optional selection, only what is present has a cost.
    fn select(
        &mut self,
        (operand, looks_into): (Val<'a>, bool),
        is_test: bool,
        is_optional: bool,
        key: impl FnOnce(&mut Self) -> Outcome<'a>,
    ) -> Outcome<'a> {
        // What is selected from an empty optional value is empty too; the key is not evaluated then.
        self.is_optional = true;
        let (operand, is_optional) = match operand {
            Val::Optional(None) if looks_into && is_test => return Ok(Val::Bool(false)),
            Val::Optional(None) if looks_into => return Ok(Val::Optional(None)),
            Val::Optional(Some(value)) if looks_into => ((*value).clone(), true),
            other => (other, is_optional),
        };
        let found = key(self).and_then(|key| match (&operand, &key) {
            (Val::Variables(_), Val::String(name)) => self.variable(name, is_test || is_optional),
            (Val::Variables(_), key) if key.is_scalar() => no_overload(),
            _ if !key.is_scalar() => fault(format!("invalid qualifier type: {}", key.go_type())),
            _ => part(&operand, &key, is_test || is_optional),
        });
        if !is_optional || matches!(found, Ok(Some(_))) {
            self.meter.charge(1)?;
        }
        self.is_optional = is_optional;

        self.weighed(match found? {
            found if is_test => Ok(Val::Bool(found.is_some())),
            Some(value) if is_optional => Ok(Val::some(value)),
            Some(value) => Ok(value),
            None => Ok(Val::Optional(None)),
        })
    }

    /// A variable of the environment.
    fn variable(&self, name: &str, may_be_absent: bool) -> Result<Option<Val<'a>>, Fault> {
        match self.outside.and_then(|outside| outside.variable(name)) {
            Some(outcome) => outcome.map(Some),
            None if may_be_absent => Ok(None),
            None => fault(format!("no such key: {name}")),
        }
    }

    /// The answer to a question that a call has completed; other values stay as they are.
    fn answered(&self, value: Val<'a>) -> Outcome<'a> {
        let (Val::Access(access), Some(outside)) = (&value, self.outside) else {
            return Ok(value);
        };
        let AccessVal::Asked(question) = &**access else {
            return Ok(value);
        };
        let decision = outside.decide(question)?;
        Ok(Val::Access(Arc::new(AccessVal::Decision(decision))))
    }

    /// The values of arguments, with null for the ones that fail, and the first fault. With `stops`, the arguments after a
    /// fault are not evaluated, and the call has no cost.
    fn arguments(
        &mut self,
        arguments: &[&'e Expr],
        stops: bool,
    ) -> Result<(Vec<Val<'a>>, Option<Fault>), Fault> {
        // Unless the call stops, its cost depends on all arguments, so a fault is kept until they are evaluated.
        let mut values = Vec::with_capacity(arguments.len());
        let mut error = None;
        for (at, argument) in arguments.iter().enumerate() {
            match self.eval(argument) {
                Ok(value) => {
                    self.meter.visit_value(&value)?;
                    values.push(value);
                }
                Err(fault) if fault.is_final() => return Err(fault),
                Err(fault) if stops && at + 1 < arguments.len() => return Err(fault),
                Err(fault) => {
                    error.get_or_insert(fault);
                    values.push(Val::Null);
                }
            }
        }

        Ok((values, error))
    }

    fn call(&mut self, expr: &'e Expr) -> Outcome<'a> {
        let Expr::Call {
            function,
            arguments,
            pattern,
            cost,
            is_open,
        } = expr
        else {
            return no_overload();
        };

        // As in cel-go, `in` with a list of scalars that are constants is a set, and has no cost.
        if function.is_in()
            && !is_open
            && let [
                item,
                Expr::Constant(Ok(list @ Val::List(ListVal::Made(items)))),
            ] = arguments.as_slice()
            && items.iter().all(is_hashed)
        {
            if items.is_empty() {
                return Ok(Val::Bool(false));
            }
            let values = [self.eval(item)?, list.clone()];
            return (function.run)(&values, &mut Call::of(function, None, self.meter));
        }

        let is_compiled = pattern.is_some();
        let dispatches = *is_open && functions::chooses(function, is_compiled);
        let stops = dispatches || arguments.len() > 2 || function.stops() || is_compiled;
        let arguments: Vec<&Expr> = arguments.iter().collect();
        let (values, error) = self.arguments(&arguments, stops)?;
        if !is_open {
            function.check_cost(&values, error.is_some())?;
        }

        // The call is charged before it runs, so that one that is too expensive does not run, and even if an argument
        // failed.
        let cost = cost.run(&values, self.meter)?;
        self.meter.charge(cost)?;
        if let Some(fault) = error {
            return Err(fault);
        }
        if *is_open && let Some(fault) = functions::untaken(function, is_compiled, &values) {
            return Err(fault);
        }
        let mut call = Call::of(function, pattern.as_deref(), self.meter);
        let out = (function.run)(&values, &mut call).and_then(|value| self.answered(value));
        let out = out.map_err(|fault| functions::named(fault, function, is_compiled, &values));

        self.weighed(out)
    }

    /// `&&` and `||`: an error on one side does not matter if the other side decides.
    fn junction(&mut self, a: &'e Expr, b: &'e Expr, decides: bool) -> Outcome<'a> {
        let first = match self.eval(a) {
            Ok(Val::Bool(flag)) if flag == decides => return Ok(Val::Bool(flag)),
            Err(fault) if fault.is_final() => return Err(fault),
            other => other,
        };
        let second = match self.eval(b) {
            Ok(Val::Bool(flag)) if flag == decides => return Ok(Val::Bool(flag)),
            Err(fault) if fault.is_final() => return Err(fault),
            other => other,
        };

        // Neither side decides here, so an error of either is the outcome, and the first one if both have one.
        match (first, second) {
            (Err(fault), _) | (Ok(Val::Bool(_)), Err(fault)) => Err(fault),
            (Ok(Val::Bool(_)), Ok(Val::Bool(flag))) => Ok(Val::Bool(flag)),
            _ => no_overload(),
        }
    }

    fn list(&mut self, items: &'e [(Expr, bool)]) -> Outcome<'a> {
        self.meter.make_items(items.len())?;
        let mut out = Vec::with_capacity(items.len());
        for (item, is_optional) in items {
            out.extend(self.member(item, *is_optional, || "list element".to_owned())?);
        }
        Ok(Val::list(out))
    }

    /// The value of a part of a list, a map or a message, whose error names it; `None` for an optional one that is empty.
    fn member(
        &mut self,
        part: &'e Expr,
        is_optional: bool,
        name: impl FnOnce() -> String,
    ) -> Result<Option<Val<'a>>, Fault> {
        match (self.eval(part)?, is_optional) {
            (value, false) => Ok(Some(value)),
            (Val::Optional(value), true) => Ok(value.map(|value| (*value).clone())),
            (value, true) => fault(format!(
                "cannot initialize optional {} from non-optional value {}",
                name(),
                shown(&value)
            )),
        }
    }

    fn map(&mut self, entries: &'e [(Expr, Expr, bool)]) -> Outcome<'a> {
        self.meter.make_items(entries.len().saturating_mul(2))?;
        let mut out = BTreeMap::new();
        for (key, value, is_optional) in entries {
            let key = self.eval(key)?;
            let Some(value) =
                self.member(value, *is_optional, || format!("entry '{}'", shown(&key)))?
            else {
                continue;
            };
            match Key::of(&key) {
                Some(whole) if !matches!(key, Val::Double(_)) => drop(out.insert(whole, value)),
                _ => return fault("unsupported key type"),
            }
        }

        Ok(Val::Map(MapVal::Made(Arc::new(out))))
    }

    fn message(&mut self, name: &Str, fields: &'e [(Str, Expr, bool)]) -> Outcome<'a> {
        self.meter.make_items(fields.len())?;
        let mut out = BTreeMap::new();
        for (field, value, is_optional) in fields {
            if let Some(value) = self.member(value, *is_optional, || format!("entry '{field}'"))? {
                out.insert(field.clone(), value);
            }
        }
        MessageVal::make(name, out)
    }
}

/// Addresses, quantities and the like have a fixed cost, but only for `==`.
fn equality_cost(values: &[Val<'_>], is_equal: bool) -> u64 {
    match values {
        [
            Val::Quantity(_)
            | Val::Ip(_)
            | Val::Cidr(..)
            | Val::Format(_)
            | Val::Url(_)
            | Val::Semver(_)
            | Val::Access(_),
            _,
        ] if is_equal => 1,
        [_, _] => traversal(inner_size(values, 0).min(inner_size(values, 1))),
        _ => 1,
    }
}

/// The first float that is no integer of 64 bits.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// A field of a map or an item of a list; `None` if it is absent and may be.
fn part<'a>(
    operand: &Val<'a>,
    key: &Val<'_>,
    may_be_absent: bool,
) -> Result<Option<Val<'a>>, Fault> {
    match operand {
        Val::Map(map) => match map.find(key)? {
            None if !may_be_absent => fault(format!("no such key: {}", shown(key))),
            found => Ok(found),
        },
        Val::List(list) => {
            let at = match key {
                Val::Int(at) => Some(*at),
                Val::Uint(at) => i64::try_from(*at).ok(),
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the number has no fraction"
                )]
                Val::Double(at) if at.fract() == 0.0 && (-TWO_TO_63..TWO_TO_63).contains(at) => {
                    Some(*at as i64)
                }
                Val::Double(_) => {
                    return fault(format!("unsupported index value {} in list", shown(key)));
                }
                _ => {
                    return fault(format!(
                        "unsupported index type '{}' in list",
                        key.type_name()
                    ));
                }
            };

            // A negative index is treated as one beyond the end.
            match at
                .and_then(|at| usize::try_from(at).ok())
                .and_then(|at| list.get(at))
            {
                Some(item) => item.map(Some),
                None if may_be_absent => Ok(None),
                None => {
                    let at = at.map_or_else(String::new, |at| at.to_string());
                    fault(format!("index out of bounds: {at}"))
                }
            }
        }
        Val::Message(message) => message.select(key, may_be_absent),
        // As in cel-go, a value without parts has no key.
        _ if may_be_absent => Ok(None),
        _ => fault(format!("no such key: {}", shown(key))),
    }
}
