//! The cost of an expression, estimated from the sizes that the schema allows.
//!
//! Behaviour: `checker/cost.go` and the libraries of `github.com/google/cel-go`, `CostEstimator` of
//! `k8s.io/apiserver/pkg/cel/library`.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use cel::common::ast::operators;
use fieldmanager_value::internal::{level, proceed};

use super::checker::Checked;
use super::declared::Sizes;
use super::overloads::Overload;
use super::tree::{Fold, Form, Id, Node};
use super::types::Type;
use crate::literal::Literal;

/// The least and the greatest cost or size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

const NOTHING: Range = Range::fixed(0);
const UNKNOWN: Range = Range { min: 0, max: u64::MAX };
/// The cost of a byte of a string, of a byte of a pattern, and of a new list.
const TEXT: f64 = 0.1;
const PATTERN: f64 = 0.25;
const LIST: u64 = 10;
const MAP: u64 = 30;
/// The longest pattern of a named format, and the longest format.
const FORMAT_PATTERN: f64 = 128.0;
const FORMAT: u64 = 64;

impl Range {
    const fn fixed(value: u64) -> Self {
        Range { min: value, max: value }
    }

    fn each(self, other: Range, with: impl Fn(u64, u64) -> u64) -> Self {
        Range { min: with(self.min, other.min), max: with(self.max, other.max) }
    }

    fn plus(self, other: Range) -> Self {
        self.each(other, u64::saturating_add)
    }

    fn times(self, other: Range) -> Self {
        self.each(other, u64::saturating_mul)
    }

    fn scaled(self, factor: f64) -> Self {
        let scale = |value: u64| (value as f64 * factor).ceil() as u64;
        Range { min: scale(self.min), max: scale(self.max) }
    }

    fn union(self, other: Range) -> Self {
        Range { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// The sizes of the keys and of the values of a list or a map.
#[derive(Clone, Copy)]
struct Entries {
    is_list: bool,
    key: Range,
    value: Range,
}

impl Entries {
    fn union(self, other: Entries) -> Self {
        Entries {
            is_list: self.is_list,
            key: self.key.union(other.key),
            value: self.value.union(other.value),
        }
    }
}

/// The steps from a variable to a value.
///
/// Paths share their steps as slices do in Go: a path that grows overwrites a step that a longer path has there, if the
/// array has room. So the estimate of a nested comprehension can depend on the order of its selections, in API servers and
/// here.
#[derive(Clone, Default)]
struct Path {
    steps: Rc<RefCell<Vec<Arc<str>>>>,
    length: usize,
    room: usize,
}

impl Path {
    fn of(name: &str) -> Self {
        Path { steps: Rc::new(RefCell::new(vec![name.into()])), length: 1, room: 1 }
    }

    fn read(&self) -> Vec<Arc<str>> {
        self.steps.borrow().iter().take(self.length).cloned().collect()
    }

    fn then(&self, step: &str) -> Self {
        let length = self.length + 1;
        if self.length < self.room {
            let mut steps = self.steps.borrow_mut();
            match steps.get_mut(self.length) {
                Some(slot) => *slot = step.into(),
                None => steps.push(step.into()),
            }
            return Path { steps: Rc::clone(&self.steps), length, room: self.room };
        }
        let mut steps = self.read();
        steps.push(step.into());
        Path { steps: Rc::new(RefCell::new(steps)), length, room: (self.room * 2).max(1) }
    }
}

/// A variable of a comprehension.
struct Local {
    name: String,
    path: Path,
    size: Option<Range>,
    entries: Option<Entries>,
}

/// The facts about a node.
#[derive(Clone, Default)]
struct Known {
    cost: Option<Range>,
    path: Path,
    size: Option<Range>,
    entries: Option<Entries>,
}

pub(crate) struct Estimator<'s, 't> {
    nodes: &'t [Node],
    checked: &'t Checked<'s>,
    sizes: &'t mut Sizes<'s>,
    known: Vec<Known>,
    locals: Vec<Local>,
}

/// An argument of a call.
struct Argument {
    node: Id,
    size: Option<Range>,
    cost: Range,
}

/// The cost of a call without its arguments, and the size of its result.
struct Call {
    cost: Range,
    size: Option<Range>,
}

impl From<Range> for Call {
    fn from(cost: Range) -> Self {
        Call { cost, size: None }
    }
}

/// The greatest cost of a checked expression.
pub(crate) fn estimate<'s>(nodes: &[Node], root: Id, checked: &Checked<'s>, sizes: &mut Sizes<'s>) -> u64 {
    let known = vec![Known::default(); nodes.len()];
    Estimator { nodes, checked, sizes, known, locals: Vec::new() }.node(root).max
}

impl<'s> Estimator<'s, '_> {
    fn form(&self, at: Id) -> Option<&Form> {
        self.nodes.get(at).map(|node| &node.form)
    }

    fn type_of(&self, at: Id) -> &Type<'s> {
        self.checked.types.get(at).unwrap_or(&Type::Dyn)
    }

    fn known(&self, at: Id) -> Known {
        self.known.get(at).cloned().unwrap_or_default()
    }

    fn learn(&mut self, at: Id, with: impl FnOnce(&mut Known)) {
        if let Some(known) = self.known.get_mut(at) {
            with(known);
        }
    }

    fn local(&self, at: Id) -> Option<&Local> {
        match self.form(at)? {
            Form::Name(name) => self.locals.iter().rev().find(|local| local.name == *name),
            _ => None,
        }
    }

    fn path(&self, at: Id) -> Path {
        self.local(at).map_or_else(|| self.known(at).path, |local| local.path.clone())
    }

    fn declared_size(&mut self, steps: &[Arc<str>]) -> Option<Range> {
        if steps.is_empty() {
            return None;
        }
        self.sizes.at(steps).map(|max| Range { min: 0, max })
    }

    fn size(&mut self, at: Id) -> Option<Range> {
        if let Some(size) = self.known(at).size {
            return Some(size);
        }
        let own = match self.form(at)? {
            Form::Literal(Literal::String(text)) => Some(text.as_str().chars().count()),
            Form::Literal(Literal::Bytes(bytes)) => Some(bytes.len()),
            Form::Literal(_) => Some(1),
            Form::List(items) => Some(items.len()),
            Form::Map(entries) => Some(entries.len()),
            _ => None,
        };
        if let Some(own) = own {
            return Some(Range::fixed(own as u64));
        }
        if let Some(size) = self.declared_size(&self.path(at).read()) {
            self.learn(at, |known| known.size = Some(size));
            return Some(size);
        }
        if self.type_of(at).is_scalar() {
            return Some(Range::fixed(1));
        }
        self.local(at).and_then(|local| local.size)
    }

    fn entries(&self, at: Id) -> Option<Entries> {
        self.known(at).entries.or_else(|| self.local(at).and_then(|local| local.entries))
    }

    fn node(&mut self, at: Id) -> Range {
        if let Some(known) = self.known(at).cost {
            return known;
        }
        if !proceed(1) {
            return UNKNOWN;
        }
        let nodes = self.nodes;
        let cost = level(|| match nodes.get(at).map(|node| &node.form) {
            Some(Form::Name(name)) => {
                let path = self.local(at).map_or_else(|| Path::of(name), |local| local.path.clone());
                self.learn(at, |known| known.path = path);
                Range::fixed(1)
            }
            Some(Form::Select { operand, field, is_test }) => {
                let cost = self.node(*operand);
                if *is_test {
                    return cost;
                }
                let path = self.path(*operand).then(field);
                self.learn(at, |known| known.path = path);
                let has_fields =
                    matches!(self.type_of(*operand), Type::Map(_) | Type::Object(..) | Type::Named(_));
                cost.plus(Range::fixed(u64::from(has_fields)))
            }
            Some(Form::Call { function, target, arguments }) => self.call(at, function, *target, arguments),
            Some(Form::List(items)) => {
                let (cost, value) = self.members(items.iter().map(|(item, _)| *item));
                let entries = Entries { is_list: true, key: Range::fixed(1), value };
                self.learn(at, |known| known.entries = Some(entries));
                cost.plus(Range::fixed(LIST))
            }
            Some(Form::Map(entries)) => {
                let (keys, key) = self.members(entries.iter().map(|(key, _, _)| *key));
                let (values, value) = self.members(entries.iter().map(|(_, value, _)| *value));
                let entries = Entries { is_list: false, key, value };
                self.learn(at, |known| known.entries = Some(entries));
                keys.plus(values).plus(Range::fixed(MAP))
            }
            Some(Form::Fold(fold)) => self.fold(at, fold),
            Some(Form::Literal(_) | Form::Message(_)) | None => NOTHING,
        });
        self.learn(at, |known| known.cost = Some(cost));
        cost
    }

    /// The cost of members of a list or a map, and the size of one.
    fn members(&mut self, members: impl Iterator<Item = Id>) -> (Range, Range) {
        let (mut cost, mut size) = (NOTHING, None);
        for member in members {
            cost = cost.plus(self.node(member));
            let own = self.size(member).unwrap_or(UNKNOWN);
            size = Some(size.map_or(own, |size: Range| size.union(own)));
        }
        (cost, size.unwrap_or(NOTHING))
    }

    fn fold(&mut self, at: Id, fold: &Fold) -> Range {
        let mut cost = self.node(fold.range).plus(self.node(fold.initial));
        let accumulator = Local {
            name: fold.result_name.clone(),
            path: self.path(fold.initial),
            size: self.size(fold.initial),
            entries: self.entries(fold.initial),
        };
        let outside = self.locals.len();
        self.locals.push(accumulator);
        if fold.is_binding {
            cost = cost.plus(self.node(fold.result));
            self.locals.truncate(outside);
            let (size, entries) = (self.size(fold.result), self.entries(fold.result));
            self.learn(at, |known| {
                known.size = size.or(known.size);
                known.entries = entries.or(known.entries);
            });
            return cost;
        }
        self.variables(fold);
        let step = self.node(fold.condition);
        let step = self.node(fold.step).plus(step);
        self.locals.truncate(outside + 1);
        cost = cost.plus(self.node(fold.result));
        self.locals.truncate(outside);
        let count = self.size(fold.range).unwrap_or(UNKNOWN);
        let is_literal = matches!(self.form(fold.initial), Some(Form::Literal(_)));
        let size = if is_literal { self.size(fold.initial) } else { Some(count) };
        let entries = self.entries(fold.step).filter(|_| !is_literal);
        self.learn(at, |known| {
            known.size = size.or(known.size);
            known.entries = entries.or(known.entries);
        });
        cost.plus(count.times(step))
    }

    fn variables(&mut self, fold: &Fold) {
        let entries = self.entries(fold.range);
        let is_list = entries
            .map_or_else(|| matches!(self.type_of(fold.range), Type::List(_)), |entries| entries.is_list);
        let path = self.path(fold.range);
        let (key, value) = (entries.map(|entries| entries.key), entries.map(|entries| entries.value));
        let keys = if is_list { "@indices" } else { "@keys" };
        let values = if is_list { "@items" } else { "@values" };
        let variables = match &fold.second {
            Some(second) => vec![(&fold.variable, keys, key), (second, values, value)],
            None if is_list => vec![(&fold.variable, values, value)],
            None => vec![(&fold.variable, keys, key)],
        };
        for (name, step, size) in variables {
            self.locals.push(Local { name: name.clone(), path: path.then(step), size, entries: None });
        }
    }

    fn call(&mut self, at: Id, function: &str, target: Option<Id>, arguments: &[Id]) -> Range {
        if function == "dyn"
            && let [argument] = arguments
        {
            let cost = self.node(*argument).plus(Range::fixed(1));
            let (size, entries) = (self.size(*argument), self.entries(*argument));
            self.learn(at, |known| (known.size, known.entries) = (size, entries));
            return cost;
        }
        let mut all = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let cost = self.node(*argument);
            all.push(Argument { node: *argument, size: self.size(*argument), cost });
        }
        let outside = target.map_or(NOTHING, |target| self.node(target));
        let target = target.map(|node| Argument { node, size: self.size(node), cost: outside });
        let checked = self.checked;
        let overloads = checked.called.get(at).map_or(&[][..], Vec::as_slice);
        let sum = all.iter().fold(NOTHING, |sum, argument| sum.plus(argument.cost));
        let (mut cost, mut size): (Option<Range>, Option<Range>) = (None, None);
        // An optional selection has no overload in the table.
        if overloads.is_empty() {
            size = self.size(at);
            cost = Some(sum.plus(Range::fixed(1)));
        }
        for overload in overloads {
            let call = self.overload(at, function, overload, target.as_ref(), &all, sum);
            cost = Some(cost.map_or(call.cost, |cost| cost.union(call.cost)));
            size = match (size, call.size) {
                (Some(size), Some(own)) => Some(size.union(own)),
                (size, own) => size.or(own),
            };
            if let (operators::INDEX, Some(container)) = (function, arguments.first())
                && let Some(step @ (Type::List(_) | Type::Map(_))) = overload.arguments.first()
            {
                let step = if matches!(step, Type::List(_)) { "@items" } else { "@values" };
                size = self.entries(*container).map(|entries| entries.value);
                let path = self.path(*container).then(step);
                self.learn(at, |known| known.path = path);
            }
            size = size.or_else(|| self.size(at));
        }
        self.learn(at, |known| known.size = size.or(known.size));
        outside.plus(cost.unwrap_or(NOTHING))
    }

    fn overload(
        &mut self,
        at: Id,
        function: &str,
        overload: &Overload,
        target: Option<&Argument>,
        arguments: &[Argument],
        sum: Range,
    ) -> Call {
        if let Some(call) = self.library(function, overload, target, arguments) {
            return Call { cost: call.cost.plus(sum), size: call.size };
        }
        let sizes: Vec<Range> = arguments.iter().map(|argument| argument.size.unwrap_or(UNKNOWN)).collect();
        let costs: Vec<Range> = arguments.iter().map(|argument| argument.cost).collect();
        let own = target.map(|target| target.size.unwrap_or(UNKNOWN));
        let first = overload.arguments.first().unwrap_or(&Type::Dyn);
        let call: Call = match (function, own, sizes.as_slice()) {
            ("format", Some(own), _) => own.scaled(TEXT).into(),
            ("bytes", _, [text]) if first.is_plain("string") => {
                let size = Range { min: text.min, max: text.max.wrapping_mul(4) };
                Call { cost: text.scaled(TEXT), size: Some(size) }
            }
            ("string", _, [bytes]) if first.is_plain("bytes") => {
                Call { cost: bytes.scaled(TEXT), size: Some(Range { min: bytes.min / 4, max: bytes.max }) }
            }
            ("strings.quote", _, [text]) => {
                let max = text.max.wrapping_mul(2).wrapping_add(2);
                Call { cost: text.scaled(TEXT), size: Some(Range { min: text.min.wrapping_add(2), max }) }
            }
            ("startsWith" | "endsWith", _, [part]) => part.scaled(TEXT).into(),
            (operators::IN, _, [_, list]) if matches!(overload.arguments.last(), Some(Type::List(_))) => {
                list.scaled(1.0).into()
            }
            ("matches", own, [rest @ .., pattern]) => {
                let text = own.or_else(|| rest.first().copied()).unwrap_or(UNKNOWN);
                let text = text.plus(Range::fixed(1)).scaled(TEXT);
                text.times(pattern.scaled(PATTERN)).into()
            }
            ("contains", Some(own), [part]) => own.scaled(TEXT).times(part.scaled(TEXT)).into(),
            (operators::LOGICAL_AND | operators::LOGICAL_OR, ..) => {
                return Range { min: costs.first().map_or(0, |cost| cost.min), max: sum.max }.into();
            }
            (operators::CONDITIONAL, _, [_, then, otherwise]) => {
                if let [_, a, b] = arguments
                    && let (Some(a), Some(b)) = (self.entries(a.node), self.entries(b.node))
                {
                    self.learn(at, |known| known.entries = Some(a.union(b)));
                }
                let cost = match costs.as_slice() {
                    [condition, a, b] => condition.plus(a.union(*b)),
                    _ => sum,
                };
                return Call { cost, size: Some(then.union(*otherwise)) };
            }
            (operators::ADD, _, [a, b]) if first.is_text() || matches!(first, Type::List(_)) => {
                if let [a, b] = arguments
                    && let (Some(a), Some(b)) = (self.entries(a.node), self.entries(b.node))
                {
                    self.learn(at, |known| known.entries = Some(a.union(b)));
                }
                let size = a.plus(*b);
                Call {
                    cost: if first.is_text() { size.scaled(TEXT) } else { Range::fixed(1) },
                    size: Some(size),
                }
            }
            (operators::EQUALS | operators::NOT_EQUALS, _, [a, b]) => compared(*a, *b).into(),
            (
                operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS,
                _,
                [a, b],
            ) if first.is_text() => compared(*a, *b).into(),
            _ => Range::fixed(1).into(),
        };
        Call { cost: call.cost.plus(sum), size: call.size }
    }

    /// The size of an item of a list. An unknown list has no items of a known type.
    fn item(&mut self, list: Id) -> Option<(Range, bool)> {
        let of = self.type_of(list);
        let item = match of {
            Type::List(item) | Type::Optional(item) => (**item).clone(),
            Type::Map(pair) => pair.first().cloned()?,
            _ => return None,
        };
        let mut steps = self.path(list).read();
        if !steps.is_empty() {
            steps.push("@items".into());
        }
        Some((self.declared_size(&steps).unwrap_or(UNKNOWN), item.is_text()))
    }

    /// The cost of a function of a library.
    fn library(
        &mut self,
        function: &str,
        overload: &Overload,
        target: Option<&Argument>,
        arguments: &[Argument],
    ) -> Option<Call> {
        let own = target.map(|target| target.size.unwrap_or(UNKNOWN));
        let sizes: Vec<Range> = arguments.iter().map(|argument| argument.size.unwrap_or(UNKNOWN)).collect();
        let whole =
            |at: usize, default: u64| match arguments.get(at).and_then(|argument| self.form(argument.node)) {
                Some(Form::Literal(Literal::Int(number))) => u64::try_from(*number).unwrap_or(0),
                _ => default,
            };
        let made = |factor: f64, size: Range, visited: Range| {
            Some(Call { cost: visited.scaled(factor).plus(Range::fixed(1 + LIST)), size: Some(size) })
        };
        let sorted = |list: Range| {
            let inner = match overload.arguments.last() {
                Some(Type::List(item)) => item.is_text(),
                _ => false,
            };
            made(if inner { 2.0 + TEXT } else { 2.0 }, list.times(list), list.times(list))
        };
        let nominal = Some(Range::fixed(1).into());
        match (function, own, sizes.as_slice()) {
            ("slice", Some(list), [_, _]) => {
                let size = Range::fixed(whole(1, list.max).wrapping_sub(whole(0, 0)));
                made(1.0, size, size)
            }
            ("flatten", Some(list), []) => made(1.0, list, list),
            ("flatten", Some(list), [_]) => made(whole(0, u64::MAX) as f64, list, list),
            ("lists.range", None, [_]) => {
                let size = Range::fixed(whole(0, u64::MAX));
                made(1.0, size, size)
            }
            ("reverse", Some(list), []) => made(1.0, list, list),
            ("distinct", Some(list), []) => made(2.0, list.times(list), list.times(list)),
            ("sort", Some(list), []) => sorted(list),
            ("@sortByAssociatedKeys", Some(_), [keys]) => sorted(*keys),
            ("sets.contains" | "sets.intersects" | "sets.equivalent", _, [a, b]) => {
                let factor = if function == "sets.equivalent" { 2.0 } else { 1.0 };
                Some(a.times(*b).scaled(factor).plus(Range::fixed(1)).into())
            }
            ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes", Some(list), _) => {
                let one = Range::fixed(1);
                Some(match self.item(target?.node) {
                    Some((item, true)) => list.times(one.plus(item.scaled(TEXT))).into(),
                    Some((_, false)) => list.times(one).into(),
                    None if function == "includes" => list.times(one).into(),
                    None => list.scaled(TEXT).into(),
                })
            }
            ("url" | "lowerAscii" | "upperAscii" | "substring" | "trim", own, rest) => {
                let text = own.or_else(|| rest.first().copied())?;
                Some(Call { cost: text.scaled(TEXT), size: Some(text) })
            }
            ("replace", Some(text), [from, to, ..]) => Some(replaced(text, *from, *to)),
            ("split", Some(text), _) => {
                let max = match arguments.get(1).and_then(|limit| self.form(limit.node)) {
                    Some(Form::Literal(Literal::Int(limit))) => *limit as u64,
                    _ => text.max,
                };
                Some(Call { cost: text.scaled(2.0 * TEXT), size: Some(Range { min: 0, max }) })
            }
            ("join", Some(list), rest) => {
                let mut size = self.item(target?.node).map_or(NOTHING, |(item, _)| list.times(item));
                if let [separator, ..] = rest {
                    let count = Range { min: list.min.saturating_sub(1), max: list.max.saturating_sub(1) };
                    size = size.plus(separator.times(count));
                }
                Some(Call { cost: size.scaled(TEXT), size: Some(size) })
            }
            ("find" | "findAll", Some(text), [pattern, ..]) => {
                let cost = text.plus(Range::fixed(1)).scaled(TEXT).times(pattern.scaled(PATTERN));
                Some(Call { cost, size: Some(Range { min: 0, max: text.max }) })
            }
            ("ip", Some(_), []) => nominal,
            (
                "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver",
                _,
                [text, ..],
            ) => Some(text.scaled(TEXT).into()),
            ("ip.isCanonical", _, [text]) => Some(text.scaled(2.0 * TEXT).into()),
            ("containsIP" | "containsCIDR", _, [other]) => {
                let address = Range { min: 4, max: 16 };
                let mut cost = address.plus(address).scaled(TEXT);
                if function == "containsCIDR" {
                    cost = cost.plus(address.scaled(TEXT)).plus(Range::fixed(1));
                }
                if overload.arguments.last().is_some_and(|last| last.is_plain("string")) {
                    cost = cost.plus(other.scaled(TEXT));
                }
                Some(cost.into())
            }
            ("validate", _, [text]) => Some(text.scaled(TEXT).scaled(FORMAT_PATTERN * PATTERN).into()),
            (
                "masked"
                | "prefixLength"
                | "family"
                | "isUnspecified"
                | "isLoopback"
                | "isLinkLocalMulticast"
                | "isLinkLocalUnicast"
                | "isGlobalUnicast"
                | "format.named"
                | "sign"
                | "asInteger"
                | "isInteger"
                | "asApproximateFloat"
                | "isGreaterThan"
                | "isLessThan"
                | "compareTo"
                | "add"
                | "sub"
                | "major"
                | "minor"
                | "patch"
                | "getScheme"
                | "getHostname"
                | "getHost"
                | "getPort"
                | "getEscapedPath"
                | "getQuery",
                ..,
            ) => nominal,
            (operators::EQUALS, _, [_, _]) => match arguments {
                [a, b] => match (self.type_of(a.node), self.type_of(b.node)) {
                    (Type::Named(a), Type::Named(c)) if a == c => match *a {
                        "kubernetes.NamedFormat" => Some(Range { min: 1, max: FORMAT }.scaled(TEXT).into()),
                        "kubernetes.URL" => {
                            let max = b.size.map_or(1, |size| size.max);
                            Some(Range { min: 1, max }.scaled(TEXT).into())
                        }
                        _ => nominal,
                    },
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }
}

/// The cost of comparing two values.
fn compared(a: Range, b: Range) -> Range {
    let max = a.max.min(b.max);
    Range { min: u64::from(max > 0), max }.scaled(TEXT)
}

/// The cost and the size of a text in which parts are replaced.
fn replaced(text: Range, from: Range, to: Range) -> Call {
    let parts = |size: u64, length: u64| (size as f64 / length as f64).ceil() as u64;
    let (most, kept_most) = match from.min {
        0 => (text.max.saturating_add(1), text.max),
        least if to.max <= least => (0, text.max),
        least => (parts(text.max, least), 0),
    };
    let (least, kept_least) = match from.max {
        0 => (text.min.saturating_add(1), text.min),
        most if most <= to.min => (0, text.min),
        most => (parts(text.min, most), 0),
    };
    let count = Range { min: least, max: most };
    let size = count.times(to).plus(Range { min: kept_least, max: kept_most });
    Call { cost: text.scaled(2.0 * TEXT), size: Some(size) }
}
