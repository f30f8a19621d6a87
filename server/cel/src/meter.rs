//! The cost and the work of an evaluation.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use fieldmanager_structural::internal::expression;
use fieldmanager_value::Str;
use fieldmanager_value::internal::proceed;
use regex::Regex;

use crate::value::{Fault, Val, fault};

/// The work that one evaluation may do. A byte that it makes is one unit.
///
/// The cost of cel-go does not bound work: functions such as `replace`, `format` and `getQuery` cost little and make
/// much. Expressions whose cost is near the limit for the usual reasons stay far below this bound.
pub(crate) const WORK: u64 = 128 << 20;

/// The work of visiting a value, and of making one.
const VISIT: u64 = 4;
const VALUE: u64 = 32;
/// The bytes of a string that are visited with one unit of work.
const BYTES: u64 = 4;
/// The work of compiling a regular expression, and of one that repeats parts of it.
const PATTERN: u64 = 64 << 10;
const REPEATING_PATTERN: u64 = 1 << 20;

/// Counts the cost and the work of one evaluation, both before they take place.
pub(crate) struct Meter {
    cost: u64,
    limit: u64,
    work: u64,
    work_limit: u64,
    /// The regular expressions that are no literals, so that each is compiled once.
    patterns: BTreeMap<Str, Regex>,
}

impl Meter {
    pub(crate) fn new(limit: u64, work_limit: u64) -> Self {
        Meter {
            cost: 0,
            limit,
            work: 0,
            work_limit,
            patterns: BTreeMap::new(),
        }
    }

    /// The cost, as cel-go computes it.
    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    /// Adds a cost. After the limit was exceeded, it does not change.
    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), Fault> {
        if self.cost <= self.limit {
            self.cost = self.cost.saturating_add(cost);
        }
        if self.cost <= self.limit {
            Ok(())
        } else {
            Err(Fault::Cost)
        }
    }

    /// Takes a cost back.
    pub(crate) fn refund(&mut self, cost: u64) {
        self.cost = self.cost.saturating_sub(cost);
    }

    fn add_work(&mut self, units: u64) -> Result<(), Fault> {
        // The work also counts as steps of the thread, so that a request that takes too long is stopped.
        self.work = self.work.saturating_add(units);
        if self.work <= self.work_limit && proceed(1 + units / VISIT) {
            Ok(())
        } else {
            Err(Fault::Cost)
        }
    }

    /// Counts values that are visited.
    pub(crate) fn visit(&mut self, values: usize) -> Result<(), Fault> {
        self.add_work(size(values).saturating_mul(VISIT))
    }

    /// Counts the bytes of strings that are visited.
    pub(crate) fn scan(&mut self, bytes: usize) -> Result<(), Fault> {
        self.add_work(size(bytes) / BYTES)
    }

    /// Counts a visit of a value with the bytes of a string, but not with the items of a list.
    pub(crate) fn visit_value(&mut self, value: &Val<'_>) -> Result<(), Fault> {
        self.visit(1)?;
        self.scan(bytes(value))
    }

    /// Counts bytes that are made.
    pub(crate) fn make(&mut self, bytes: usize) -> Result<(), Fault> {
        self.add_work(size(bytes))
    }

    /// Counts items that are made.
    pub(crate) fn make_items(&mut self, count: usize) -> Result<(), Fault> {
        self.add_work(size(count).saturating_mul(VALUE))
    }

    /// Counts the comparisons of a sort.
    pub(crate) fn sort<'v>(
        &mut self,
        keys: impl ExactSizeIterator<Item = &'v Val<'v>>,
    ) -> Result<(), Fault> {
        // A sort compares each key about as often as the number of keys can be halved.
        let rounds = usize::try_from(keys.len().max(2).ilog2()).unwrap_or(usize::MAX) + 1;
        for key in keys {
            self.visit(rounds)?;
            self.scan(bytes(key).saturating_mul(rounds))?;
        }
        Ok(())
    }

    /// A regular expression that is not a literal.
    pub(crate) fn pattern(&mut self, pattern: &Str) -> Result<&Regex, Fault> {
        if !self.patterns.contains_key(pattern) {
            let units = if pattern.contains('{') {
                REPEATING_PATTERN
            } else {
                PATTERN
            };
            self.add_work(units.saturating_add(size(pattern.len())))?;
        }

        match self.patterns.entry(pattern.clone()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => match expression(pattern) {
                Ok(regex) => Ok(place.insert(regex)),
                Err(message) => fault(format!("Illegal regex: {message}")),
            },
        }
    }
}

fn size(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The bytes of a string or of bytes.
pub(crate) fn bytes(value: &Val<'_>) -> usize {
    match value {
        Val::String(text) => text.len(),
        Val::Bytes(bytes) => bytes.len(),
        Val::Url(url) => url.path.len().saturating_add(url.query.len()),
        _ => 0,
    }
}
