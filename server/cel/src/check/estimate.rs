//! The cost of an expression, estimated from the sizes that the schema allows.
//!
//! Behaviour: `checker/cost.go` and the libraries of `github.com/google/cel-go`, `CostEstimator` of
//! `k8s.io/apiserver/pkg/cel/library`.

use std::sync::Arc;

use cel::common::ast::operators;
use fieldmanager_value::internal::{level, proceed};

use super::checker::Checked;
use super::declared::Sizes;
use super::path::Path;
use super::range::{Entries, Range, TEXT};
use super::types::Type;
use crate::tree::{Fold, Form, Id, Tree};
use crate::value::Val;

const NOTHING: Range = Range::fixed(0);
const UNKNOWN: Range = Range::new(0, u64::MAX);
/// The cost of a byte of a pattern, and of a new list.
const PATTERN: f64 = 0.25;
const LIST: u64 = 10;
const MAP: u64 = 30;
const MESSAGE: u64 = 40;
/// The longest pattern of a named format, and the longest format.
const FORMAT_PATTERN: f64 = 128.0;
const FORMAT: u64 = 64;
/// The cost of comparing addresses, and of comparing networks.
const ADDRESS: Range = Range::new(1, 4);
const NETWORK: Range = Range::new(3, 7);

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
    tree: &'t Tree,
    checked: &'t Checked<'s>,
    sizes: &'t mut Sizes<'s>,
    known: Vec<Known>,
    locals: Vec<Local>,
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

impl Call {
    fn making(size: Range, cost: Range) -> Self {
        Call {
            cost,
            size: Some(size),
        }
    }

    /// A call that makes a list.
    fn list(size: Range, visited: Range, factor: f64) -> Self {
        Call::making(size, visited.scaled(factor).plus(Range::fixed(1 + LIST)))
    }
}

/// The greatest cost of a checked expression.
pub(crate) fn estimate<'s>(tree: &Tree, checked: &Checked<'s>, sizes: &mut Sizes<'s>) -> u64 {
    let known = vec![Known::default(); tree.nodes.len()];
    Estimator {
        tree,
        checked,
        sizes,
        known,
        locals: Vec::new(),
    }
    .node(tree.root)
    .max
}

impl<'s> Estimator<'s, '_> {
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
        match self.tree.form(at)? {
            Form::Name(name) => self.locals.iter().rev().find(|local| local.name == *name),
            _ => None,
        }
    }

    fn path(&self, at: Id) -> Path {
        self.local(at)
            .map_or_else(|| self.known(at).path, |local| local.path.clone())
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
        // The size of what the expression spells is known. The schema bounds what is selected from the object.
        let own = match self.tree.form(at)? {
            Form::Literal(Val::String(text)) => Some(text.as_str().chars().count()),
            Form::Literal(Val::Bytes(bytes)) => Some(bytes.len()),
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
        self.known(at)
            .entries
            .or_else(|| self.local(at).and_then(|local| local.entries))
    }

    fn node(&mut self, at: Id) -> Range {
        // A node that a macro uses twice is estimated once, so that nested macros do not double the work.
        if let Some(known) = self.known(at).cost {
            return known;
        }
        // Stopped work must not make a rule look cheap.
        if !proceed(1) {
            return UNKNOWN;
        }

        let tree = self.tree;
        let cost = level(|| match tree.form(at) {
            Some(Form::Name(name)) => {
                // A variable of a comprehension has the path of the items, by which the schema is searched for their
                // sizes.
                let path = self
                    .local(at)
                    .map_or_else(|| Path::of(name), |local| local.path.clone());
                self.learn(at, |known| known.path = path);
                Range::fixed(1)
            }
            Some(Form::Select {
                operand,
                field,
                is_test,
            }) => {
                let cost = self.node(*operand);
                if *is_test {
                    return cost;
                }
                let path = self.path(*operand).then(field);
                self.learn(at, |known| known.path = path);
                // As in cel-go, a selection from a value of unknown type is free.
                let has_fields = matches!(
                    self.type_of(*operand),
                    Type::Map(_) | Type::Object(..) | Type::Message(_) | Type::Named(_)
                );

                cost.plus(Range::fixed(u64::from(has_fields)))
            }
            Some(Form::Call {
                function,
                target,
                arguments,
            }) => self.call(at, function, *target, arguments),
            Some(Form::List(items)) => {
                let (cost, value) = self.members(items.iter().map(|(item, _)| *item));
                let entries = Entries {
                    is_list: true,
                    key: Range::fixed(1),
                    value,
                };
                self.learn(at, |known| known.entries = Some(entries));
                cost.plus(Range::fixed(LIST))
            }
            Some(Form::Map(entries)) => {
                let (keys, key) = self.members(entries.iter().map(|(key, _, _)| *key));
                let (values, value) = self.members(entries.iter().map(|(_, value, _)| *value));
                let entries = Entries {
                    is_list: false,
                    key,
                    value,
                };
                self.learn(at, |known| known.entries = Some(entries));
                keys.plus(values).plus(Range::fixed(MAP))
            }
            Some(Form::Fold(fold)) => self.fold(at, fold),
            Some(Form::Message(message)) => {
                let (cost, _) = self.members(message.fields.iter().map(|field| field.value));
                cost.plus(Range::fixed(MESSAGE))
            }
            Some(Form::Literal(_)) | None => NOTHING,
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

        // A binding has no step: it costs its value and the expression that uses it.
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
        // An accumulator that begins as a scalar stays one. A list or a map can grow to the size of the range.
        let is_literal = matches!(self.tree.form(fold.initial), Some(Form::Literal(_)));
        let size = if is_literal {
            self.size(fold.initial)
        } else {
            Some(count)
        };

        let entries = self.entries(fold.step).filter(|_| !is_literal);
        self.learn(at, |known| {
            known.size = size.or(known.size);
            known.entries = entries.or(known.entries);
        });
        // The step takes place for each item, so the size of the range multiplies its cost.
        cost.plus(count.times(step))
    }

    fn variables(&mut self, fold: &Fold) {
        let entries = self.entries(fold.range);
        // What was learned about the range says more than its type, which may be `dyn`.
        let is_list = entries.map_or_else(
            || matches!(self.type_of(fold.range), Type::List(_)),
            |entries| entries.is_list,
        );
        let path = self.path(fold.range);
        let (key, value) = (
            entries.map(|entries| entries.key),
            entries.map(|entries| entries.value),
        );
        let keys = if is_list { "@indices" } else { "@keys" };
        let values = if is_list { "@items" } else { "@values" };

        let variables = match &fold.second {
            Some(second) => vec![(&fold.variable, keys, key), (second, values, value)],
            None if is_list => vec![(&fold.variable, values, value)],
            None => vec![(&fold.variable, keys, key)],
        };

        for (name, step, size) in variables {
            self.locals.push(Local {
                name: name.clone(),
                path: path.then(step),
                size,
                entries: None,
            });
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

        // The sizes are those of the target and of the arguments.
        let (mut own, mut sizes) = (NOTHING, Vec::with_capacity(arguments.len() + 1));
        for argument in arguments {
            own = own.plus(self.node(*argument));
            sizes.push(self.size(*argument));
        }
        let mut outside = NOTHING;
        if let Some(target) = target {
            outside = self.node(target);
            sizes.insert(0, self.size(target));
        }

        let all: Vec<Id> = target.iter().chain(arguments).copied().collect();
        let checked = self.checked;
        let overloads = checked.called.get(at).map_or(&[][..], Vec::as_slice);
        let (mut cost, mut size): (Option<Range>, Option<Range>) = (None, None);

        // An optional selection has no overload in the table.
        if overloads.is_empty() {
            size = self.size(at);
            cost = Some(Range::fixed(1));
        }
        for overload in overloads {
            let call = self.overload(at, overload.cost, &all, &sizes);
            cost = Some(cost.map_or(call.cost, |cost| cost.union(call.cost)));
            size = match (size, call.size) {
                (Some(size), Some(own)) => Some(size.union(own)),
                (size, own) => size.or(own),
            };
            size = size.or_else(|| self.size(at));
        }

        self.learn(at, |known| known.size = size.or(known.size));
        // The parts of a conditional and of a conjunction are not all evaluated.
        let least = match (function, arguments) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, [first, ..]) => {
                Some(self.node(*first))
            }
            (operators::CONDITIONAL, [condition, then, otherwise]) => {
                let chosen = self.node(*then).union(self.node(*otherwise));
                return outside.plus(self.node(*condition)).plus(chosen);
            }
            _ => None,
        };

        match least {
            Some(first) => outside.plus(Range::new(first.min, own.max)),
            None => outside.plus(own).plus(cost.unwrap_or(NOTHING)),
        }
    }

    /// The cost and the size that an estimate of the table names. `all` are the target and the arguments.
    fn overload(&mut self, at: Id, name: &str, all: &[Id], known: &[Option<Range>]) -> Call {
        let sizes: Vec<Range> = known.iter().map(|size| size.unwrap_or(UNKNOWN)).collect();
        let one = Range::fixed(1);
        match (name, sizes.as_slice()) {
            // Texts.
            ("read", [text, ..]) | ("read-second", [_, text]) => text.read().into(),
            ("canonical", [text]) => text.scaled(2.0 * TEXT).into(),
            ("copy", [text, ..]) => Call::making(*text, text.read()),
            ("encode", [text]) => {
                Call::making(Range::new(text.min, text.max.wrapping_mul(4)), text.read())
            }
            ("decode", [bytes]) => Call::making(Range::new(bytes.min / 4, bytes.max), bytes.read()),
            ("quote", [text]) => {
                let quoted = |size: u64| size.wrapping_add(2);
                let size = Range::new(quoted(text.min), quoted(text.max.wrapping_mul(2)));
                Call::making(size, text.read())
            }
            ("contains", [text, part]) => text.read().times(part.read()).into(),
            ("matches", [text, pattern]) => matching(*text, *pattern).into(),
            ("find", [text, pattern, ..]) => {
                Call::making(Range::new(0, text.max), matching(*text, *pattern))
            }
            ("replace", [text, from, to, ..]) => replaced(*text, *from, *to),
            ("split", [text, ..]) => {
                let max = self.literal(all, 2).map_or(text.max, |limit| limit as u64);
                Call::making(Range { min: 0, max }, text.scaled(2.0 * TEXT))
            }
            ("join", [list, rest @ ..]) => {
                // The joined text has all items, and the separators between them.
                let item = all.first().and_then(|list| self.item(*list));
                let mut size = item.map_or(NOTHING, |(item, _)| list.times(item));
                if let [separator] = rest {
                    let count = Range::new(list.min.saturating_sub(1), list.max.saturating_sub(1));
                    size = size.plus(separator.times(count));
                }
                Call::making(size, size.read())
            }
            ("address" | "address-text" | "network" | "network-text", [_, other]) => {
                let cost = if name.starts_with("address") {
                    ADDRESS
                } else {
                    NETWORK
                };
                if name.ends_with("text") {
                    cost.plus(other.read()).into()
                } else {
                    cost.into()
                }
            }
            ("check", _) => Range::fixed(350_000).into(),
            ("selector", [_, text]) => {
                let requirements = text.scaled(0.5).scaled((LIST + MESSAGE) as f64);
                text.read()
                    .plus(requirements)
                    .plus(Range::fixed(LIST))
                    .into()
            }
            ("validate", [_, text]) => text.read().scaled(FORMAT_PATTERN * PATTERN).into(),

            // Lists and maps.
            ("items", [_, list]) => list.scaled(1.0).into(),
            ("visit", [list]) => Call::list(*list, *list, 1.0),
            ("flatten", [list, _]) => Call::list(*list, *list, self.whole(all, 1, u64::MAX) as f64),
            ("range", [_]) => {
                let size = Range::fixed(self.whole(all, 0, u64::MAX));
                Call::list(size, size, 1.0)
            }
            ("slice", [list, _, _]) => {
                let [from, to] = [self.whole(all, 1, 0), self.whole(all, 2, list.max)];
                let size = Range::fixed(to.wrapping_sub(from));
                Call::list(size, size, 1.0)
            }
            ("sort" | "sort-texts", [.., keys]) => {
                // The square stands for the comparisons and, as in the API server, for the size of the result.
                let size = keys.times(*keys);
                Call::list(size, size, if name == "sort" { 2.0 } else { 2.0 + TEXT })
            }
            ("product", [a, b]) => a.times(*b).scaled(1.0).plus(one).into(),
            ("products", [a, b]) => a.times(*b).scaled(2.0).plus(one).into(),
            ("search" | "includes", [list, ..]) => {
                match all.first().and_then(|list| self.item(*list)) {
                    Some((item, true)) => list.times(one.plus(item.read())).into(),
                    Some((_, false)) => (*list).into(),
                    None if name == "includes" => (*list).into(),
                    None => list.read().into(),
                }
            }
            ("item", _) => {
                let entries = all.first().and_then(|container| self.entries(*container));
                // The path continues with the items, so that the schema is searched for the size of the one that is
                // selected.
                if let Some(container) = all.first() {
                    let path = self.path(*container).then("@items");
                    self.learn(at, |known| known.path = path);
                }
                Call {
                    cost: one,
                    size: entries.map(|entries| entries.value),
                }
            }
            ("append" | "concat", [a, b]) => {
                let size = a.plus(*b);
                self.join(at, all);
                Call::making(size, if name == "concat" { size.read() } else { one })
            }

            // Values of any type.
            ("choice", [_, then, otherwise]) => {
                self.join(at, all.get(1..).unwrap_or_default());
                Call::making(then.union(*otherwise), NOTHING)
            }
            ("equal", [a, b]) => self
                .equal(all, known.last().copied().flatten())
                .unwrap_or_else(|| a.compared(*b))
                .into(),
            ("compare", [a, b]) => a.compared(*b).into(),
            _ => one.into(),
        }
    }

    /// Learns the entries of a value that is one of two, or both.
    fn join(&mut self, at: Id, parts: &[Id]) {
        if let [a, b] = parts
            && let (Some(a), Some(b)) = (self.entries(*a), self.entries(*b))
        {
            self.learn(at, |known| known.entries = Some(a.union(b)));
        }
    }

    /// The constant that an argument is.
    fn literal(&self, all: &[Id], argument: usize) -> Option<i64> {
        match self.tree.form(*all.get(argument)?)? {
            Form::Literal(Val::Int(number)) => Some(*number),
            _ => None,
        }
    }

    fn whole(&self, all: &[Id], argument: usize, default: u64) -> u64 {
        self.literal(all, argument)
            .map_or(default, |number| u64::try_from(number).unwrap_or(0))
    }

    /// The cost of comparing two values of a library.
    fn equal(&self, all: &[Id], second: Option<Range>) -> Option<Range> {
        let [a, b] = all else { return None };
        let (Type::Named(a), Type::Named(b)) = (self.type_of(*a), self.type_of(*b)) else {
            return None;
        };
        let max = match *a {
            "kubernetes.NamedFormat" => FORMAT,
            "kubernetes.URL" => second.map_or(1, |size| size.max),
            _ => 1,
        };
        (a == b).then(|| Range { min: 1, max }.read())
    }

    /// The size of an item of a list, and whether it is a text. An unknown list has no items of a known type.
    fn item(&mut self, list: Id) -> Option<(Range, bool)> {
        let is_text = match self.type_of(list) {
            Type::List(item) | Type::Optional(item) => item.is_text(),
            Type::Map(pair) => pair.first()?.is_text(),
            _ => return None,
        };
        let mut steps = self.path(list).read();
        if !steps.is_empty() {
            steps.push("@items".into());
        }
        Some((self.declared_size(&steps).unwrap_or(UNKNOWN), is_text))
    }
}

/// The cost of matching a text.
fn matching(text: Range, pattern: Range) -> Range {
    text.plus(Range::fixed(1))
        .read()
        .times(pattern.scaled(PATTERN))
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
    let count = Range::new(least, most);

    let size = count.times(to).plus(Range::new(kept_least, kept_most));
    Call {
        cost: text.scaled(2.0 * TEXT),
        size: Some(size),
    }
}
