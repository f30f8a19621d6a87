//! Evaluates expressions.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use fieldmanager_value::internal::level;

use crate::display::shown;
use crate::equality;
use crate::expression::{Expr, Fold, Program, Step};
use crate::functions::{self, traversal};
use crate::value::{Fault, Key, ListVal, MapVal, Outcome, Val, fault, no_overload};

/// The cost of making a list.
const LIST: u64 = 10;
/// The cost of making a map.
const MAP: u64 = 30;

/// An evaluation: the values of the variables, and the cost so far.
pub(crate) struct Evaluation<'a> {
    variables: Vec<Val<'a>>,
    has_old: bool,
    cost: u64,
    limit: u64,
}

/// Evaluates a program with `self` and `oldSelf`. Returns the cost too.
pub(crate) fn run<'a>(
    program: &Program,
    object: Val<'a>,
    old: Option<Val<'a>>,
    limit: u64,
) -> (Outcome<'a>, u64) {
    let has_old = old.is_some();
    let variables = vec![object, old.unwrap_or(Val::Null)];
    let mut evaluation = Evaluation { variables, has_old, cost: 0, limit };
    let outcome = evaluation.eval(&program.expr);
    (outcome, evaluation.cost)
}

impl<'a> Evaluation<'a> {
    /// Adds a cost.
    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), Fault> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(Fault::Cost) } else { Ok(()) }
    }

    fn eval(&mut self, expr: &Expr) -> Outcome<'a> {
        level(|| match expr {
            Expr::Literal(literal) => Ok(literal.value()),
            Expr::Type(name) => Ok(Val::Type(name)),
            Expr::Variable(1) if !self.has_old => fault("no such attribute(s): oldSelf"),
            Expr::Variable(at) => {
                self.charge(1)?;
                Ok(self.variables.get(*at).cloned().unwrap_or(Val::Null))
            }
            Expr::Select { operand, field, is_test, is_optional } => {
                let operand = self.eval(operand)?;
                self.charge(1)?;
                select(operand, &Val::String(field.clone()), *is_test, *is_optional)
            }
            Expr::Index { operand, index, is_optional } => {
                let operand = self.eval(operand)?;
                let index = self.eval(index)?;
                self.charge(1)?;
                select(operand, &index, false, *is_optional)
            }
            Expr::Call { function, arguments, regex } => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    values.push(self.eval(argument)?);
                }
                self.charge((function.cost)(&values))?;
                let out = (function.run)(&values, regex.as_deref());
                let out = out.map_err(|fault| functions::named(fault, function, &values))?;
                // What a call makes can be much larger than its arguments.
                if matches!(out, Val::String(_) | Val::List(ListVal::Made(_))) {
                    self.charge(out.size() / 10)?;
                }
                Ok(out)
            }
            Expr::And(a, b) => self.junction(a, b, false),
            Expr::Or(a, b) => self.junction(a, b, true),
            Expr::NotStrictlyFalse(operand) => match self.eval(operand) {
                Ok(Val::Bool(flag)) => Ok(Val::Bool(flag)),
                Ok(_) | Err(Fault::Error(_)) => Ok(Val::Bool(true)),
                Err(fault) => Err(fault),
            },
            Expr::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                match self.eval(condition)? {
                    Val::Bool(true) => self.eval(then),
                    Val::Bool(false) => self.eval(otherwise),
                    _ => no_overload(),
                }
            }
            Expr::Equal(a, b, is_equal) => {
                let (a, b) = (self.eval(a)?, self.eval(b)?);
                self.charge(traversal(a.size().min(b.size())))?;
                let mut visited = 0;
                let equal = equality::is_equal(&a, &b, &mut visited);
                self.charge(visited / 10)?;
                Ok(Val::Bool(equal? == *is_equal))
            }
            Expr::List(items) => {
                let mut out = Vec::with_capacity(items.len());
                for (item, is_optional) in items {
                    match (self.eval(item)?, is_optional) {
                        (Val::Optional(Some(value)), true) => out.push((*value).clone()),
                        (Val::Optional(None), true) => {}
                        (_, true) => return no_overload(),
                        (value, false) => out.push(value),
                    }
                }
                self.charge(LIST)?;
                Ok(Val::list(out))
            }
            Expr::Map(entries) => self.map(entries),
            Expr::Fold(fold) => self.fold(fold),
            Expr::OptionalMap { operand, variable, body, is_flat } => match self.eval(operand)? {
                Val::Optional(None) => Ok(Val::Optional(None)),
                Val::Optional(Some(value)) => {
                    let out = self.with(*variable, vec![(*value).clone()], |this| this.eval(body))?;
                    match (is_flat, out) {
                        (true, out @ Val::Optional(_)) => Ok(out),
                        (true, _) => no_overload(),
                        (false, out) => Ok(Val::some(out)),
                    }
                }
                _ => no_overload(),
            },
            Expr::SortBy { operand, variable, key } => self.sort_by(operand, *variable, key),
            Expr::Fallback { operand, other, is_value } => {
                self.charge(1)?;
                match self.eval(operand)? {
                    Val::Optional(Some(value)) if *is_value => Ok((*value).clone()),
                    value @ Val::Optional(Some(_)) => Ok(value),
                    Val::Optional(None) => self.eval(other),
                    _ => no_overload(),
                }
            }
        })
    }

    /// `&&` and `||`: an error on one side does not matter if the other side decides.
    fn junction(&mut self, a: &Expr, b: &Expr, decides: bool) -> Outcome<'a> {
        let first = match self.eval(a) {
            Ok(Val::Bool(flag)) if flag == decides => return Ok(Val::Bool(flag)),
            Err(Fault::Cost) => return Err(Fault::Cost),
            other => other,
        };
        let second = match self.eval(b) {
            Ok(Val::Bool(flag)) if flag == decides => return Ok(Val::Bool(flag)),
            Err(Fault::Cost) => return Err(Fault::Cost),
            other => other,
        };
        match (first, second) {
            (Err(fault), _) | (Ok(_), Err(fault)) => Err(fault),
            (Ok(Val::Bool(_)), Ok(Val::Bool(flag))) => Ok(Val::Bool(flag)),
            _ => no_overload(),
        }
    }

    fn map(&mut self, entries: &[(Expr, Expr, bool)]) -> Outcome<'a> {
        let mut out = BTreeMap::new();
        for (key, value, is_optional) in entries {
            let key = self.eval(key)?;
            let value = match (self.eval(value)?, is_optional) {
                (Val::Optional(Some(value)), true) => (*value).clone(),
                (Val::Optional(None), true) => continue,
                (_, true) => return no_overload(),
                (value, false) => value,
            };
            insert(&mut out, &key, value)?;
        }
        self.charge(MAP)?;
        Ok(Val::Map(MapVal::Made(Rc::new(out))))
    }

    /// Evaluates with more variables, the first of which has the number `slot`.
    fn with<T>(
        &mut self,
        slot: usize,
        values: Vec<Val<'a>>,
        run: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.variables.truncate(slot);
        self.variables.extend(values);
        let out = run(self);
        self.variables.truncate(slot);
        out
    }

    fn sort_by(&mut self, operand: &Expr, variable: usize, key: &Expr) -> Outcome<'a> {
        let Val::List(list) = self.eval(operand)? else { return no_overload() };
        let mut keyed = Vec::with_capacity(list.len());
        for item in list.iter() {
            let item = item?;
            let key = self.with(variable, vec![item.clone()], |this| this.eval(key))?;
            keyed.push((key, item));
        }
        self.charge(u64::try_from(keyed.len()).unwrap_or(u64::MAX))?;
        let mut is_comparable = true;
        keyed.sort_by(|(a, _), (b, _)| {
            a.compare(b).unwrap_or_else(|| {
                is_comparable = false;
                Ordering::Equal
            })
        });
        if !is_comparable {
            return no_overload();
        }
        Ok(Val::list(keyed.into_iter().map(|(_, item)| item).collect()))
    }

    fn fold(&mut self, fold: &Fold) -> Outcome<'a> {
        let range = self.eval(&fold.range)?;
        let initial = self.eval(&fold.initial)?;
        // The list or map that the steps make, apart from the variables so that it is not copied.
        let mut items = Vec::new();
        let mut entries = BTreeMap::new();
        let mut count = 0;
        let slot = fold.slot;
        self.variables.truncate(slot);
        self.variables.push(initial);
        // The accumulator can be an error, which a later step may ignore.
        let mut error: Option<Fault> = None;
        let keys = match &range {
            Val::Map(map) => Some(map.keys()),
            Val::List(_) => None,
            _ => return no_overload(),
        };
        let len = match (&range, &keys) {
            (Val::List(list), _) => list.len(),
            (_, Some(keys)) => keys.len(),
            _ => 0,
        };
        for at in 0..len {
            self.charge(1)?;
            self.variables.truncate(slot + 1);
            let item = match (&range, &keys) {
                (Val::List(list), _) => match list.get(at) {
                    Some(item) => item?,
                    None => break,
                },
                (_, Some(keys)) => keys.get(at).cloned().unwrap_or(Val::Null),
                _ => break,
            };
            if fold.has_two {
                let (first, second) = match &range {
                    Val::Map(map) => {
                        let value = map.find(&item)?.unwrap_or(Val::Null);
                        (item, value)
                    }
                    _ => (Val::Int(i64::try_from(at).unwrap_or(i64::MAX)), item),
                };
                self.variables.push(first);
                self.variables.push(second);
            } else {
                self.variables.push(item);
            }
            if let Some(condition) = &fold.condition
                && error.is_none()
                && let Val::Bool(false) = self.eval(condition)?
            {
                break;
            }
            match &fold.step {
                Step::Set(step) => match self.step(step, error.take()) {
                    Ok(value) => {
                        if let Some(accumulator) = self.variables.get_mut(slot) {
                            *accumulator = value;
                        }
                    }
                    Err(Fault::Cost) => return Err(Fault::Cost),
                    Err(fault) => error = Some(fault),
                },
                Step::Append(condition, item) => {
                    if self.holds(condition.as_ref())? {
                        items.push(self.eval(item)?);
                        self.charge(LIST)?;
                    }
                }
                Step::Insert { condition, value, is_entry } => {
                    if self.holds(condition.as_ref())? {
                        let value = self.eval(value)?;
                        self.charge(MAP)?;
                        if *is_entry {
                            let Val::Map(map) = value else { return no_overload() };
                            for key in map.keys() {
                                let value = map.find(&key)?.unwrap_or(Val::Null);
                                insert(&mut entries, &key, value)?;
                            }
                        } else {
                            let key = self.variables.get(slot + 1).cloned().unwrap_or(Val::Null);
                            insert(&mut entries, &key, value)?;
                        }
                    }
                }
                Step::Count(condition) => count += i64::from(self.holds(Some(condition))?),
            }
        }
        self.variables.truncate(slot + 1);
        let made = match &fold.step {
            Step::Set(_) => None,
            Step::Append(..) => Some(Val::list(items)),
            Step::Insert { .. } => Some(Val::Map(MapVal::Made(Rc::new(entries)))),
            Step::Count(_) => Some(Val::Int(count)),
        };
        if let (Some(made), Some(accumulator)) = (made, self.variables.get_mut(slot)) {
            *accumulator = made;
        }
        let out = match error {
            Some(fault) => Err(fault),
            None => self.eval(&fold.result),
        };
        self.variables.truncate(slot);
        out
    }

    /// A step of `all` and `exists`, whose accumulator is an error.
    fn step(&mut self, step: &Expr, error: Option<Fault>) -> Outcome<'a> {
        let Some(fault) = error else { return self.eval(step) };
        let (body, decides) = match step {
            Expr::And(_, body) => (body, false),
            Expr::Or(_, body) => (body, true),
            _ => return Err(fault),
        };
        match self.eval(body) {
            Ok(Val::Bool(flag)) if flag == decides => Ok(Val::Bool(flag)),
            Err(Fault::Cost) => Err(Fault::Cost),
            _ => Err(fault),
        }
    }

    fn holds(&mut self, condition: Option<&Expr>) -> Result<bool, Fault> {
        match condition.map(|condition| self.eval(condition)).transpose()? {
            None | Some(Val::Bool(true)) => Ok(true),
            Some(Val::Bool(false)) => Ok(false),
            Some(_) => no_overload(),
        }
    }
}

fn insert<'a>(into: &mut BTreeMap<Key, Val<'a>>, key: &Val<'a>, value: Val<'a>) -> Result<(), Fault> {
    let Some(key) = Key::of(key) else { return fault("unsupported key type") };
    match into.insert(key.clone(), value) {
        None => Ok(()),
        Some(_) => match key {
            Key::String(text) => fault(format!("Failed with repeated key: {}", text.as_str())),
            Key::Number(number) => fault(format!("Failed with repeated key: {number}")),
            Key::Bool(flag) => fault(format!("Failed with repeated key: {flag}")),
        },
    }
}

/// Selects a field or an item.
fn select<'a>(operand: Val<'a>, key: &Val<'_>, is_test: bool, is_optional: bool) -> Outcome<'a> {
    let (operand, is_optional) = match operand {
        Val::Optional(None) if is_test => return Ok(Val::Bool(false)),
        Val::Optional(None) => return Ok(Val::Optional(None)),
        Val::Optional(Some(value)) => ((*value).clone(), true),
        other => (other, is_optional),
    };
    let found = match &operand {
        Val::Map(map) => map.find(key)?,
        Val::List(list) if !is_test => {
            let at = match key {
                Val::Int(at) => Some(*at),
                Val::Uint(at) => i64::try_from(*at).ok(),
                #[expect(clippy::cast_possible_truncation, reason = "the number has no fraction")]
                Val::Double(at) if at.fract() == 0.0 => Some(*at as i64),
                _ => return fault(format!("unsupported index type '{}' in list", key.type_name())),
            };
            match at.and_then(|at| usize::try_from(at).ok()).and_then(|at| list.get(at)) {
                Some(item) => Some(item?),
                None if is_optional => None,
                None => {
                    let at = at.map_or_else(String::new, |at| at.to_string());
                    return fault(format!("index out of bounds: {at}"));
                }
            }
        }
        _ if is_test => return no_overload(),
        _ => return no_overload(),
    };
    match found {
        found if is_test => Ok(Val::Bool(found.is_some())),
        Some(value) if is_optional => Ok(Val::some(value)),
        None if is_optional => Ok(Val::Optional(None)),
        Some(value) => Ok(value),
        None => fault(format!("no such key: {}", shown(key))),
    }
}
