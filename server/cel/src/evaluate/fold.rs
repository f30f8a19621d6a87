//! Evaluates comprehensions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Evaluation, LIST};
use crate::display::shown;
use crate::expression::{Expr, Fold, Step};
use crate::value::{Fault, Key, MapVal, Outcome, Val, fault, no_overload};

impl<'a, 'e> Evaluation<'a, 'e> {
    pub(super) fn fold(&mut self, fold: &'e Fold) -> Outcome<'a> {
        let range = self.eval(&fold.range)?;
        let initial = self.eval(&fold.initial)?;
        // The keys of a map are collected once: they are the items, in a fixed order.
        let keys = match &range {
            Val::Map(map) => Some(map.keys(self.meter)?),
            Val::List(_) => None,
            other => return not_iterable(other, fold.has_two),
        };
        let slot = fold.slot;
        // A variable is found by its position, so nothing may be above the slot of the accumulator.
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

            // An item that cannot be read is declared as an error, which matters only where the step uses it.
            // Two variables are the key and the value of a map, or the index and the item of a list.
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

            // Only `false` ends the loop. After an error, a later item can still decide.
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
        // A step that appends or inserts fills `made` and leaves the accumulator alone, which gets the whole value now.
        let made = match &fold.step {
            Step::Set(_) => None,
            Step::Append(..) => Some(Val::list(made.items)),
            Step::Insert { .. } => Some(Val::Map(MapVal::Made(Arc::new(made.entries)))),
        };

        // The error of a step stays in the accumulator: it is the outcome, unless the result ignores it.
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
    fn step(&mut self, fold: &'e Fold, made: &mut Made<'a>) -> Result<(), Fault> {
        let value = match self.stepped(fold, made) {
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

    /// The new accumulator, unless the step adds to what was made.
    fn stepped(&mut self, fold: &'e Fold, made: &mut Made<'a>) -> Result<Option<Val<'a>>, Fault> {
        if let Some(filter) = &fold.filter {
            match self.eval(filter)? {
                Val::Bool(true) => {}
                Val::Bool(false) => return Ok(None),
                _ => return no_overload(),
            }
        }

        match &fold.step {
            Step::Set(step) => return self.eval(step).map(Some),
            Step::Append(item) => self.append(fold.slot, item, made)?,
            Step::Insert(key, value) => self.insert(fold.slot, key.as_ref(), value, made)?,
        }
        Ok(None)
    }

    /// The fault that a previous step left in the accumulator.
    fn fault_at(&self, slot: usize) -> Result<(), Fault> {
        match self.variables.get(slot).map(|variable| &variable.value) {
            Some(Err(fault)) => Err(fault.clone()),
            _ => Ok(()),
        }
    }

    /// `accumulator + [item]`.
    fn append(&mut self, slot: usize, item: &'e Expr, made: &mut Made<'a>) -> Result<(), Fault> {
        // These are the charges of the sum as the macro spells it: the accumulator, the list of one item, and the call.
        self.meter.charge(1)?;
        self.meter.make_items(1)?;
        let value = self.eval(item);
        self.meter.charge(item_cost(item))?;
        self.meter.charge(1)?;
        // The accumulator is the first operand, so its fault comes before that of the item.
        self.fault_at(slot)?;
        made.items.push(value?);
        Ok(())
    }

    /// `cel.@mapInsert(accumulator, key, value)`, or without the key, the entries of a map.
    fn insert(
        &mut self,
        slot: usize,
        key: Option<&'e Expr>,
        value: &'e Expr,
        made: &mut Made<'a>,
    ) -> Result<(), Fault> {
        self.meter.charge(1)?;
        self.meter.make_items(2)?;
        // A call of three arguments ends at the first error, so the key is evaluated only if the accumulator has none.
        let key = match key {
            Some(key) => {
                self.fault_at(slot)?;
                Some(self.eval(key)?)
            }
            None => None,
        };
        let value = self.eval(value);
        self.meter.charge(1)?;
        self.fault_at(slot)?;

        let value = value?;
        if let Some(key) = key {
            return insert(&mut made.entries, &key, value);
        }
        // `transformMapEntry` has no key: it makes a map for each item, whose entries are added.
        let Val::Map(map) = value else {
            return no_overload();
        };
        for key in map.keys(self.meter)? {
            let value = map.find(&key)?.unwrap_or(Val::Null);
            insert(&mut made.entries, &key, value)?;
        }

        Ok(())
    }
}

/// The list or the map that the steps of a comprehension make, apart from the variables so that it is not copied.
#[derive(Default)]
struct Made<'a> {
    items: Vec<Val<'a>>,
    entries: BTreeMap<Key, Val<'a>>,
}

fn not_iterable<'a>(range: &Val<'_>, has_two: bool) -> Outcome<'a> {
    let found = range.go_type();
    fault(if has_two {
        format!("unsupported comprehension range type: {found}")
    } else {
        format!("got '{found}', expected iterable type")
    })
}

/// The cost of a list of one item: nothing if it is a constant.
fn item_cost(item: &Expr) -> u64 {
    if item.is_constant() { 0 } else { LIST }
}

fn insert<'a>(
    into: &mut BTreeMap<Key, Val<'a>>,
    key: &Val<'a>,
    value: Val<'a>,
) -> Result<(), Fault> {
    let Some(key) = Key::of(key) else {
        return fault("unsupported key type");
    };
    match into.insert(key.clone(), value) {
        None => Ok(()),
        Some(_) => fault(format!(
            "insert failed: key {} already exists",
            shown(&key.value())
        )),
    }
}
