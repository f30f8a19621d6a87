//! Evaluates expressions.
//!
//! Costs are those of cel-go (`interpreter/runtimecost.go`) with the plans that it makes: a variable and what is
//! selected from it are one *attribute*, which costs 1 and 1 for each selection, and the branches of a condition are
//! attributes that cost only their selections.

use std::collections::BTreeMap;
use std::sync::Arc;

use fieldmanager_value::internal::level;

use crate::display::shown;
use crate::equality;
use crate::expression::{Expr, Fold, Program, Step};
use crate::functions::{self, Call, NO_LIST, sorting_cost, traversal};
use crate::meter::{Meter, WORK};
use crate::value::{Fault, Key, ListVal, MapVal, Outcome, Val, fault, no_overload};

/// The cost of making a list.
const LIST: u64 = 10;
/// The cost of making a map.
const MAP: u64 = 30;

/// An evaluation: the values of the variables, and what it costs.
struct Evaluation<'a, 'm> {
    variables: Vec<Variable<'a>>,
    has_old: bool,
    meter: &'m mut Meter,
}

struct Variable<'a> {
    value: Outcome<'a>,
    /// The cost of what cel-go does at the first use of the variable.
    first_use: u64,
}

/// Evaluates a program with `self` and `oldSelf`.
pub(crate) fn run<'a>(
    program: &Program,
    object: Val<'a>,
    old: Option<Val<'a>>,
    meter: &mut Meter,
) -> Outcome<'a> {
    let has_old = old.is_some();
    let mut evaluation = Evaluation { variables: Vec::new(), has_old, meter };
    evaluation.declare(Ok(object));
    evaluation.declare(Ok(old.unwrap_or(Val::Null)));
    evaluation.eval(&program.expr)
}

/// The value of an expression that depends on no variable.
pub(crate) fn constant(expr: &Expr) -> Outcome<'static> {
    let mut meter = Meter::new(u64::MAX, WORK);
    Evaluation { variables: Vec::new(), has_old: false, meter: &mut meter }.eval(expr)
}

/// Whether cel-go can put a constant into a set.
fn is_hashed(value: &Val<'_>) -> bool {
    matches!(value, Val::Bool(_) | Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::String(_))
}

/// The value by which the cost of a call is computed if an argument fails: null, but for an address or a network.
fn stand_in<'a>(argument: &Expr) -> Val<'a> {
    match argument {
        Expr::Call { function, .. } if matches!(function.name, "ip" | "cidr") => Val::Bool(false),
        _ => Val::Null,
    }
}

/// The cost of an attribute besides its parts: nothing for a condition. A presence test is 1 cheaper.
fn attribute_cost(expr: &Expr) -> i64 {
    let mut root = expr;
    while let Expr::Select { operand, .. } | Expr::Index { operand, .. } = root {
        root = operand;
    }
    let is_test = matches!(expr, Expr::Select { is_test: true, .. });
    i64::from(!matches!(root, Expr::Conditional(_))) - i64::from(is_test)
}

impl<'a> Evaluation<'a, '_> {
    fn declare(&mut self, value: Outcome<'a>) {
        self.variables.push(Variable { value, first_use: 0 });
    }

    fn eval(&mut self, expr: &Expr) -> Outcome<'a> {
        self.meter.visit(1)?;
        level(|| match expr {
            Expr::Constant(value) => value.clone(),
            Expr::Variable(_) | Expr::Select { .. } | Expr::Index { .. } | Expr::Conditional(_) => {
                let out = self.resolve(expr);
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
                let (values, error) = self.arguments(&[&**a, &**b], false)?;
                self.meter.charge(equality_cost(&values, *is_equal))?;
                match (error, values.as_slice()) {
                    (None, [a, b]) => Ok(Val::Bool(equality::is_equal(a, b, self.meter)? == *is_equal)),
                    (Some(fault), _) => Err(fault),
                    _ => no_overload(),
                }
            }
            Expr::List(items) => {
                let out = self.list(items);
                self.meter.charge(LIST)?;
                out
            }
            Expr::Map(entries) => {
                let out = self.map(entries);
                self.meter.charge(MAP)?;
                out
            }
            Expr::Fold(fold) => self.fold(fold),
            Expr::OptionalMap { operand, variable, body, is_flat } => {
                self.optional_map(operand, *variable, body, *is_flat)
            }
            Expr::SortBy { operand, variable, key } => self.sort_by(operand, *variable, key),
            Expr::Fallback { operand, other, is_value } => match self.eval(operand)? {
                Val::Optional(Some(value)) if *is_value => Ok((*value).clone()),
                value @ Val::Optional(Some(_)) => Ok(value),
                Val::Optional(None) => self.eval(other),
                _ => no_overload(),
            },
        })
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
    fn resolve(&mut self, expr: &Expr) -> Outcome<'a> {
        level(|| match expr {
            Expr::Variable(1) if !self.has_old => fault("no such attribute(s): oldSelf"),
            Expr::Variable(at) => {
                let Some(variable) = self.variables.get_mut(*at) else { return Ok(Val::Null) };
                let (value, first_use) = (variable.value.clone(), std::mem::take(&mut variable.first_use));
                self.meter.charge(first_use)?;
                self.weighed(value)
            }
            Expr::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                match self.eval(condition)? {
                    Val::Bool(true) => self.resolve(then),
                    Val::Bool(false) => self.resolve(otherwise),
                    _ => no_overload(),
                }
            }
            Expr::Select { operand, field, is_test, is_optional } => {
                let operand = self.resolve(operand)?;
                let field = Val::String(field.clone());
                self.select(operand, *is_test, *is_optional, |_| Ok(field))
            }
            Expr::Index { operand, index, is_optional } => {
                let operand = self.resolve(operand)?;
                self.select(operand, false, *is_optional, |this| this.resolve(index))
            }
            other => self.eval(other),
        })
    }

    /// Selects a field or an item. In a chain after an optional selection, only what is present has a cost.
    fn select(
        &mut self,
        operand: Val<'a>,
        is_test: bool,
        is_optional: bool,
        key: impl FnOnce(&mut Self) -> Outcome<'a>,
    ) -> Outcome<'a> {
        let (operand, is_optional) = match operand {
            Val::Optional(None) if is_test => return Ok(Val::Bool(false)),
            Val::Optional(None) => return Ok(Val::Optional(None)),
            Val::Optional(Some(value)) => ((*value).clone(), true),
            other => (other, is_optional),
        };
        let found = key(self).and_then(|key| part(&operand, &key, is_test || is_optional));
        if !is_optional || matches!(found, Ok(Some(_))) {
            self.meter.charge(1)?;
        }
        self.weighed(match found? {
            found if is_test => Ok(Val::Bool(found.is_some())),
            Some(value) if is_optional => Ok(Val::some(value)),
            Some(value) => Ok(value),
            None => Ok(Val::Optional(None)),
        })
    }

    /// The values of arguments, with stand-ins for the ones that fail, and the first fault. With `stops`, the arguments after a
    /// fault are not evaluated, and the call has no cost.
    fn arguments(
        &mut self,
        arguments: &[&Expr],
        stops: bool,
    ) -> Result<(Vec<Val<'a>>, Option<Fault>), Fault> {
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
                    values.push(stand_in(argument));
                }
            }
        }
        Ok((values, error))
    }

    fn call(&mut self, expr: &Expr) -> Outcome<'a> {
        let Expr::Call { function, arguments, pattern } = expr else { return no_overload() };
        // As in cel-go, `in` with a list of scalars that are constants is a set, and has no cost.
        if function.is_in()
            && let [item, Expr::Constant(Ok(list @ Val::List(ListVal::Made(items))))] = arguments.as_slice()
            && items.iter().all(is_hashed)
        {
            if items.is_empty() {
                return Ok(Val::Bool(false));
            }
            let values = [self.eval(item)?, list.clone()];
            return (function.run)(&values, &mut Call { pattern: None, meter: self.meter });
        }

        let stops = arguments.len() > 2 || function.stops() || pattern.is_some();
        let arguments: Vec<&Expr> = arguments.iter().collect();
        let (values, error) = self.arguments(&arguments, stops)?;
        if error.is_some() {
            function.check_cost(&values)?;
        }
        let cost = function.cost(&values, self.meter)?;
        self.meter.charge(cost)?;
        if let Some(fault) = error {
            return Err(fault);
        }
        let mut call = Call { pattern: pattern.as_deref(), meter: self.meter };
        let out = (function.run)(&values, &mut call);
        let out = out.map_err(|fault| functions::named(fault, function, &values));
        self.weighed(out)
    }

    /// `&&` and `||`: an error on one side does not matter if the other side decides.
    fn junction(&mut self, a: &Expr, b: &Expr, decides: bool) -> Outcome<'a> {
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
        match (first, second) {
            (Err(fault), _) | (Ok(_), Err(fault)) => Err(fault),
            (Ok(Val::Bool(_)), Ok(Val::Bool(flag))) => Ok(Val::Bool(flag)),
            _ => no_overload(),
        }
    }

    fn list(&mut self, items: &[(Expr, bool)]) -> Outcome<'a> {
        self.meter.make_items(items.len())?;
        let mut out = Vec::with_capacity(items.len());
        for (item, is_optional) in items {
            match (self.eval(item)?, is_optional) {
                (Val::Optional(Some(value)), true) => out.push((*value).clone()),
                (Val::Optional(None), true) => {}
                (_, true) => return no_overload(),
                (value, false) => out.push(value),
            }
        }
        Ok(Val::list(out))
    }

    fn map(&mut self, entries: &[(Expr, Expr, bool)]) -> Outcome<'a> {
        self.meter.make_items(entries.len().saturating_mul(2))?;
        let mut out = BTreeMap::new();
        for (key, value, is_optional) in entries {
            let key = self.eval(key)?;
            let value = match (self.eval(value)?, is_optional) {
                (Val::Optional(Some(value)), true) => (*value).clone(),
                (Val::Optional(None), true) => continue,
                (_, true) => return no_overload(),
                (value, false) => value,
            };
            match Key::of(&key) {
                Some(key) => drop(out.insert(key, value)),
                None => return fault("unsupported key type"),
            }
        }
        Ok(Val::Map(MapVal::Made(Arc::new(out))))
    }

    /// `optMap` and `optFlatMap`. Their expansion evaluates the operand again where the variable is used first.
    fn optional_map(&mut self, operand: &Expr, slot: usize, body: &Expr, is_flat: bool) -> Outcome<'a> {
        let before = self.meter.cost();
        let operand = self.eval(operand);
        let again = self.meter.cost() - before;
        self.meter.charge(1)?;
        let out = match operand? {
            Val::Optional(None) => Ok(Val::Optional(None)),
            Val::Optional(Some(value)) => {
                self.variables.truncate(slot);
                let first_use = again.saturating_add(1);
                self.variables.push(Variable { value: Ok((*value).clone()), first_use });
                let out = self.eval(body);
                self.variables.truncate(slot);
                match out {
                    Ok(out @ Val::Optional(_)) if is_flat => return Ok(out),
                    Ok(_) if is_flat => return no_overload(),
                    Err(fault) if is_flat => return Err(fault),
                    out => out.map(Val::some),
                }
            }
            _ => return no_overload(),
        };
        // `optional.of` or `optional.none`.
        self.meter.charge(1)?;
        out
    }

    fn sort_by(&mut self, operand: &Expr, slot: usize, key: &Expr) -> Outcome<'a> {
        let operand = self.eval(operand);
        // The variable of the list, and again as the range of `map`.
        self.meter.charge(2)?;
        let Val::List(list) = operand.map_err(|fault| fault.or_broken(NO_LIST))? else {
            return no_overload();
        };
        let mut keys = Vec::new();
        let mut items = Vec::new();
        let mut error = None;
        for item in list.iter() {
            let item = item?;
            self.meter.make_items(2)?;
            self.variables.truncate(slot);
            self.declare(Ok(item.clone()));
            self.meter.charge(1)?;
            let value = self.eval(key);
            self.meter.charge(item_cost(key))?;
            self.meter.charge(1)?;
            match value {
                Ok(value) => keys.push(value),
                Err(fault) if fault.is_final() => return Err(fault),
                Err(fault) => drop(error.get_or_insert(fault)),
            }
            items.push(item);
        }
        self.variables.truncate(slot);
        // The result of `map`.
        self.meter.charge(1)?;
        if let Some(fault) = error {
            return Err(fault.or_broken(NO_LIST));
        }

        self.meter.charge(sorting_cost(&keys))?;
        functions::sorted(keys.into_iter().zip(items).collect(), self.meter)
    }

    fn fold(&mut self, fold: &Fold) -> Outcome<'a> {
        let range = self.eval(&fold.range)?;
        let initial = self.eval(&fold.initial)?;
        let keys = match &range {
            Val::Map(map) => Some(map.keys(self.meter)?),
            Val::List(_) => None,
            _ => return no_overload(),
        };
        let slot = fold.slot;
        self.variables.truncate(slot);
        self.declare(Ok(initial));
        let mut made = Made::default();
        for at in 0.. {
            self.variables.truncate(slot + 1);
            let item = match (&range, &keys) {
                (Val::List(list), _) => list.get(at),
                (_, Some(keys)) => keys.get(at).cloned().map(Ok),
                _ => None,
            };
            let Some(item) = item else { break };
            let item = self.weighed(item);
            match &range {
                Val::Map(map) if fold.has_two => {
                    let value = match &item {
                        Ok(key) => map.find(key).map(|value| value.unwrap_or(Val::Null)),
                        Err(fault) => Err(fault.clone()),
                    };
                    let value = self.weighed(value);
                    self.declare(item);
                    self.declare(value);
                }
                _ if fold.has_two => {
                    self.declare(Ok(Val::Int(i64::try_from(at).unwrap_or(i64::MAX))));
                    self.declare(item);
                }
                _ => self.declare(item),
            }
            if let Some(condition) = &fold.condition {
                match self.eval(condition) {
                    Ok(Val::Bool(false)) => break,
                    Err(fault) if fault.is_final() => return Err(fault),
                    _ => {}
                }
            }
            self.step(fold, &mut made)?;
        }

        self.variables.truncate(slot + 1);
        let made = match &fold.step {
            Step::Set(_) => None,
            Step::Append(..) => Some(Val::list(made.items)),
            Step::Insert { .. } => Some(Val::Map(MapVal::Made(Arc::new(made.entries)))),
        };
        if let (Some(made), Some(accumulator)) = (made, self.variables.get_mut(slot))
            && accumulator.value.is_ok()
        {
            accumulator.value = Ok(made);
        }
        let out = self.eval(&fold.result);
        self.variables.truncate(slot);
        out
    }

    /// One step of a comprehension. An error becomes the accumulator, which a later step may ignore. The error of this
    /// function ends the evaluation.
    fn step(&mut self, fold: &Fold, made: &mut Made<'a>) -> Result<(), Fault> {
        let outcome = match &fold.step {
            Step::Set(step) => self.eval(step).map(Some),
            Step::Append(condition, item) => {
                self.holds(condition.as_ref(), |this| this.append(fold.slot, item, made))
            }
            Step::Insert { condition, value, is_entry } => {
                self.holds(condition.as_ref(), |this| this.insert(fold.slot, value, *is_entry, made))
            }
        };
        let value = match outcome {
            Ok(None) => return Ok(()),
            Ok(Some(value)) => Ok(value),
            Err(fault) if fault.is_final() => return Err(fault),
            Err(fault) => Err(fault),
        };
        if let Some(accumulator) = self.variables.get_mut(fold.slot) {
            accumulator.value = value;
        }
        Ok(())
    }

    /// The fault that a previous step left in the accumulator.
    fn fault_at(&self, slot: usize) -> Result<(), Fault> {
        match self.variables.get(slot).map(|variable| &variable.value) {
            Some(Err(fault)) => Err(fault.clone()),
            _ => Ok(()),
        }
    }

    /// `accumulator + [item]`.
    fn append(&mut self, slot: usize, item: &Expr, made: &mut Made<'a>) -> Result<(), Fault> {
        self.meter.charge(1)?;
        self.meter.make_items(1)?;
        let value = self.eval(item);
        self.meter.charge(item_cost(item))?;
        self.meter.charge(1)?;
        self.fault_at(slot)?;
        made.items.push(value?);
        Ok(())
    }

    /// `cel.@mapInsert(accumulator, key, value)`, or without the key, the entries of a map.
    fn insert(
        &mut self,
        slot: usize,
        value: &Expr,
        is_entry: bool,
        made: &mut Made<'a>,
    ) -> Result<(), Fault> {
        self.meter.charge(1)?;
        self.meter.make_items(2)?;
        if !is_entry {
            self.fault_at(slot)?;
            self.meter.charge(1)?;
        }
        let value = self.eval(value);
        self.meter.charge(1)?;
        self.fault_at(slot)?;
        let value = value?;
        if !is_entry {
            let key =
                self.variables.get(slot + 1).map_or(Ok(Val::Null), |variable| variable.value.clone())?;
            return insert(&mut made.entries, &key, value);
        }

        let Val::Map(map) = value else { return no_overload() };
        for key in map.keys(self.meter)? {
            let value = map.find(&key)?.unwrap_or(Val::Null);
            insert(&mut made.entries, &key, value)?;
        }
        Ok(())
    }

    /// Runs a step if its condition holds. The step has no value for the accumulator.
    fn holds(
        &mut self,
        condition: Option<&Expr>,
        step: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<Option<Val<'a>>, Fault> {
        match condition.map_or(Ok(Val::Bool(true)), |condition| self.eval(condition))? {
            Val::Bool(true) => step(self).map(|()| None),
            Val::Bool(false) => Ok(None),
            _ => no_overload(),
        }
    }
}

/// The list or the map that the steps of a comprehension make, apart from the variables so that it is not copied.
#[derive(Default)]
struct Made<'a> {
    items: Vec<Val<'a>>,
    entries: BTreeMap<Key, Val<'a>>,
}

/// The cost of a list of one item: nothing if it is a constant.
fn item_cost(item: &Expr) -> u64 {
    if item.is_constant() { 0 } else { LIST }
}

/// Addresses, quantities and the like have a fixed cost, but only for `==`.
fn equality_cost(values: &[Val<'_>], is_equal: bool) -> u64 {
    match values {
        [
            Val::Quantity(_) | Val::Ip(_) | Val::Cidr(..) | Val::Format(_) | Val::Url(_) | Val::Semver(_),
            _,
        ] if is_equal => 1,
        [a, b] => traversal(a.size().min(b.size())),
        _ => 1,
    }
}

fn insert<'a>(into: &mut BTreeMap<Key, Val<'a>>, key: &Val<'a>, value: Val<'a>) -> Result<(), Fault> {
    let Some(key) = Key::of(key) else { return fault("unsupported key type") };
    match into.insert(key.clone(), value) {
        None => Ok(()),
        Some(_) => fault(format!("insert failed: key {} already exists", shown(&key.value()))),
    }
}

/// A field of a map or an item of a list; `None` if it is absent and may be.
fn part<'a>(operand: &Val<'a>, key: &Val<'_>, may_be_absent: bool) -> Result<Option<Val<'a>>, Fault> {
    match operand {
        Val::Map(map) => match map.find(key)? {
            None if !may_be_absent => fault(format!("no such key: {}", shown(key))),
            found => Ok(found),
        },
        Val::List(list) => {
            let at = match key {
                Val::Int(at) => Some(*at),
                Val::Uint(at) => i64::try_from(*at).ok(),
                #[expect(clippy::cast_possible_truncation, reason = "the number has no fraction")]
                Val::Double(at) if at.fract() == 0.0 => Some(*at as i64),
                _ => return fault(format!("unsupported index type '{}' in list", key.type_name())),
            };
            match at.and_then(|at| usize::try_from(at).ok()).and_then(|at| list.get(at)) {
                Some(item) => item.map(Some),
                None if may_be_absent => Ok(None),
                None => {
                    let at = at.map_or_else(String::new, |at| at.to_string());
                    fault(format!("index out of bounds: {at}"))
                }
            }
        }
        // As in cel-go, a value without parts has no key.
        _ if may_be_absent => Ok(None),
        _ => fault(format!("no such key: {}", shown(key))),
    }
}
