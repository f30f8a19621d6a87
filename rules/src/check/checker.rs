//! Checks the types of an expression.
//!
//! Behaviour: package `checker` of `github.com/google/cel-go`.

use cel::common::ast::operators;
use fieldmanager_value::internal::{level, proceed};

use super::declared::{field, type_of};
use super::message::MOST_FAULTS;
use super::overloads::{Overload, overloads};
use super::scope::Scope;
use super::tree::{Fold, Form, Id, Node};
use super::types::{BOOL, Bindings, INT, STRING, Type};
use crate::escape::is_reserved;
use crate::literal::Literal;

/// How many steps the types of one node may take.
const STEPS: u64 = 2_000;

/// The types of the nodes of an expression.
pub(crate) struct Checker<'s, 't> {
    nodes: &'t mut Vec<Node>,
    scope: &'t Scope<'s>,
    /// The types of nodes, and where their faults begin and end, which a node that is used twice has twice.
    types: Vec<Option<(Type<'s>, [usize; 2])>>,
    /// The overloads of calls.
    called: Vec<Vec<&'static Overload>>,
    bindings: Bindings<'s>,
    locals: Vec<(String, Type<'s>)>,
    uses_old_self: bool,
    /// The places and texts of faults.
    faults: Vec<(usize, String)>,
    /// The number of faults, of which not all are kept.
    count: usize,
}

/// A checked expression.
pub(crate) struct Checked<'s> {
    pub(crate) types: Vec<Type<'s>>,
    pub(crate) called: Vec<Vec<&'static Overload>>,
    pub(crate) uses_old_self: bool,
    pub(crate) faults: Vec<(usize, String)>,
    pub(crate) count: usize,
    pub(crate) steps: u64,
}

impl Checked<'_> {
    /// The names and overloads of the functions that are called.
    pub(crate) fn overloads(&self) -> Vec<(&'static str, &'static str)> {
        self.called.iter().flatten().map(|overload| overload.text).collect()
    }
}

/// Checks an expression; `None` if its types are too large.
pub(crate) fn check<'s>(nodes: &mut Vec<Node>, root: Id, scope: &Scope<'s>) -> Option<Checked<'s>> {
    let limit = STEPS * (nodes.len() as u64 + 10);
    let mut checker = Checker {
        types: nodes.iter().map(|_| None).collect(),
        called: nodes.iter().map(|_| Vec::new()).collect(),
        nodes,
        scope,
        bindings: Bindings::new(limit),
        locals: Vec::new(),
        uses_old_self: false,
        faults: Vec::new(),
        count: 0,
    };
    checker.node(root);
    let found = std::mem::take(&mut checker.types);
    let types = found.into_iter().map(|found| match found {
        Some((of, _)) => checker.bindings.resolve(&of, true),
        None => Type::Dyn,
    });
    let types = types.collect();
    (!checker.bindings.steps.are_used()).then(|| Checked {
        types,
        called: checker.called,
        uses_old_self: checker.uses_old_self,
        faults: checker.faults,
        count: checker.count,
        steps: limit - checker.bindings.steps.left,
    })
}

/// The type that a name stands for.
fn type_named<'s>(name: &str) -> Option<Type<'s>> {
    let named = match name {
        "bool" | "bytes" | "double" | "int" | "string" | "uint" => {
            const PLAIN: [&str; 6] = ["bool", "bytes", "double", "int", "string", "uint"];
            Type::Plain(PLAIN.into_iter().find(|known| *known == name)?)
        }
        "google.protobuf.Duration" => Type::Plain("duration"),
        "google.protobuf.Timestamp" => Type::Plain("timestamp"),
        "net.IP" => Type::Named("net.IP"),
        "net.CIDR" => Type::Named("net.CIDR"),
        "null_type" => Type::Null,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "optional_type" => Type::optional(Type::Dyn),
        "type" => Type::Meta(None),
        _ => return None,
    };
    Some(Type::Meta(Some(named.into())))
}

impl<'s> Checker<'s, '_> {
    fn fault(&mut self, at: Id, text: String) {
        let offset = self.nodes.get(at).map_or(0, |node| node.offset);
        self.add_fault(offset, text);
    }

    fn add_fault(&mut self, offset: usize, text: String) {
        self.count = self.count.saturating_add(1);
        if self.faults.len() < MOST_FAULTS {
            self.faults.push((offset, text));
        }
    }

    fn undeclared(&mut self, at: Id, name: &str) -> Type<'s> {
        self.fault(at, format!("undeclared reference to '{name}' (in container '')"));
        Type::Error
    }

    fn mismatch(&mut self, at: Id, expected: &Type<'s>, found: &Type<'s>) {
        // Counts the size of the types before they are written.
        for of in [expected, found] {
            self.bindings.resolve(of, false);
        }
        if !self.bindings.steps.are_used() {
            self.fault(at, format!("expected type '{expected}' but found '{found}'"));
        }
    }

    /// The type of a node, which is checked if it is new.
    fn node(&mut self, at: Id) -> Type<'s> {
        if let Some((known, [start, end])) = self.types.get(at).cloned().flatten() {
            for again in start..end {
                if let Some((offset, text)) = self.faults.get(again).cloned() {
                    self.add_fault(offset, text);
                }
            }
            return known;
        }
        if self.bindings.steps.are_used() || !proceed(1) {
            return Type::Dyn;
        }
        level(|| {
            let start = self.faults.len();
            let Some(form) = self.nodes.get(at).map(|node| node.form.clone()) else { return Type::Error };
            let found = match form {
                Form::Literal(literal) => type_of_literal(&literal),
                Form::Name(name) => self.name(&name).unwrap_or_else(|| self.undeclared(at, &name)),
                Form::Select { operand, field, is_test } => self.select(at, operand, &field, is_test),
                Form::Call { function, target, arguments } => self.call(at, &function, target, &arguments),
                Form::List(items) => {
                    let mut joined = None;
                    for (item, is_optional) in items {
                        joined = Some(self.member(joined, item, is_optional));
                    }
                    Type::list(joined.unwrap_or_else(|| self.bindings.variable()))
                }
                Form::Map(entries) => {
                    let (mut keys, mut values) = (None, None);
                    for (key, value, is_optional) in entries {
                        keys = Some(self.member(keys, key, false));
                        values = Some(self.member(values, value, is_optional));
                    }
                    let key = keys.unwrap_or_else(|| self.bindings.variable());
                    Type::map(key, values.unwrap_or_else(|| self.bindings.variable()))
                }
                Form::Message(name) => self.undeclared(at, &name),
                Form::Fold(fold) => self.fold(&fold),
            };
            let end = self.faults.len();
            if let Some(slot) = self.types.get_mut(at) {
                *slot = Some((found.clone(), [start, end]));
            }
            found
        })
    }

    fn name(&mut self, name: &str) -> Option<Type<'s>> {
        let (global, is_global) = match name.strip_prefix('.') {
            Some(global) => (global, true),
            None => (name, false),
        };
        if !is_global && let Some((_, found)) = self.locals.iter().rev().find(|(known, _)| known == name) {
            return Some(found.clone());
        }
        let value = || type_of(self.scope.schema, self.scope.type_name);
        match global {
            "self" => Some(value()),
            "oldSelf" => {
                self.uses_old_self = true;
                Some(if self.scope.has_optional_old { Type::optional(value()) } else { value() })
            }
            other => type_named(other),
        }
    }

    /// The name with dots that a node spells.
    fn spelled(&self, at: Id) -> Option<String> {
        match &self.nodes.get(at)?.form {
            Form::Name(name) => Some(name.clone()),
            Form::Select { operand, field, is_test: false } => {
                level(|| self.spelled(*operand)).map(|before| format!("{before}.{field}"))
            }
            _ => None,
        }
    }

    fn select(&mut self, at: Id, operand: Id, field: &str, is_test: bool) -> Type<'s> {
        const QUALIFIED: [&str; 5] = ["IP", "CIDR", "Duration", "Timestamp", "protobuf"];
        if !is_test
            && QUALIFIED.contains(&field)
            && let Some(name) = self.spelled(at)
            && let Some(found) = type_named(name.trim_start_matches('.'))
            && !self.locals.iter().any(|(local, _)| name.split('.').next() == Some(local))
        {
            if let Some(node) = self.nodes.get_mut(at) {
                node.form = Form::Name(name);
            }
            return found;
        }
        let found = self.field(at, operand, field, false);
        if is_test { BOOL } else { self.bindings.resolve(&found, false) }
    }

    fn field(&mut self, at: Id, operand: Id, name: &str, is_optional: bool) -> Type<'s> {
        let of = self.node(operand);
        let operand = self.bindings.resolve(&of, false);
        let wraps = is_optional || operand.unwrapped().is_some();
        let target = operand.unwrapped().unwrap_or(&operand);
        let found = match target {
            Type::Map(pair) => {
                let [_, value] = &**pair;
                value.clone()
            }
            Type::Object(path, schema) => {
                let escaped = format!("__{name}__");
                let found = field(schema, name).map(|found| (found, name));
                let reserved = || field(schema, &escaped).map(|found| (found, escaped.as_str()));
                match found.or_else(|| is_reserved(name).then(reserved).flatten()) {
                    Some((found, name)) => type_of(found, &format!("{path}.{name}")),
                    None => {
                        self.fault(at, format!("undefined field '{name}'"));
                        Type::Error
                    }
                }
            }
            Type::Named(library) if library.starts_with("kubernetes.") => {
                self.fault(at, format!("unexpected failed resolution of '{library}'"));
                Type::Error
            }
            Type::Variable(_) => {
                self.bindings.fits(&Type::Dyn, target);
                Type::Dyn
            }
            loose if loose.is_loose() => Type::Dyn,
            other => {
                let text = format!("type '{other}' does not support field selection");
                self.fault(at, text);
                Type::Dyn
            }
        };
        if wraps { Type::optional(found) } else { found }
    }

    /// The common type of the items of a list, or of the keys or values of a map, with one more.
    fn member(&mut self, before: Option<Type<'s>>, at: Id, is_optional: bool) -> Type<'s> {
        let mut found = self.node(at);
        if is_optional {
            match found.unwrapped().cloned() {
                Some(inner) => found = inner,
                None if matches!(found, Type::Dyn) => {}
                None => self.mismatch(at, &Type::optional(found.clone()), &found),
            }
        }
        match before {
            None => found,
            Some(before) if self.bindings.fits(&before, &found) => self.bindings.more_general(before, found),
            Some(_) => Type::Dyn,
        }
    }

    fn call(&mut self, at: Id, function: &str, target: Option<Id>, arguments: &[Id]) -> Type<'s> {
        if function == operators::OPT_SELECT
            && let [operand, field] = arguments
            && let Some(Form::Literal(Literal::String(name))) =
                self.nodes.get(*field).map(|node| node.form.clone())
        {
            let found = self.field(at, *operand, name.as_str(), true);
            return self.bindings.resolve(&found, false);
        }
        let mut types: Vec<(Id, Type<'s>)> =
            arguments.iter().map(|argument| (*argument, self.node(*argument))).collect();
        let Some(target) = target else {
            return self.resolve(at, function, None, &types);
        };
        if let Some(space) = self.spelled(target) {
            let name = format!("{space}.{function}");
            if !overloads(&name, self.scope.is_stored).is_empty() {
                if let Some(node) = self.nodes.get_mut(at) {
                    node.form =
                        Form::Call { function: name.clone(), target: None, arguments: arguments.to_vec() };
                }
                return self.resolve(at, &name, None, &types);
            }
        }
        types.insert(0, (target, self.node(target)));
        self.resolve(at, function, Some(target), &types)
    }

    /// The result of a call. `types` are those of the target and of the arguments.
    fn resolve(&mut self, at: Id, function: &str, target: Option<Id>, types: &[(Id, Type<'s>)]) -> Type<'s> {
        let candidates = overloads(function, self.scope.is_stored);
        if candidates.is_empty() {
            return self.undeclared(at, function);
        }
        let mut result: Option<Type<'s>> = None;
        let mut called = Vec::new();
        for overload in candidates.iter().filter(|overload| overload.is_member == target.is_some()) {
            if matches!(function, operators::LOGICAL_AND | operators::LOGICAL_OR) {
                let wrong: Vec<_> =
                    types.iter().filter(|(_, of)| !self.bindings.fits(of, &BOOL)).cloned().collect();
                for (argument, found) in &wrong {
                    self.mismatch(*argument, &BOOL, found);
                }
                if !wrong.is_empty() {
                    return Type::Error;
                }
                called.push(overload);
                result = Some(BOOL);
                continue;
            }
            let fresh: Vec<Type<'s>> = (0..overload.variables).map(|_| self.bindings.variable()).collect();
            let arguments: Vec<Type<'s>> = overload.arguments.iter().map(|of| instance(of, &fresh)).collect();
            let pairs: Vec<_> = types.iter().map(|(_, of)| of).zip(&arguments).collect();
            if types.len() != arguments.len() || !self.bindings.fits_all(&pairs) {
                continue;
            }
            called.push(overload);
            let own = self.bindings.resolve(&instance(&overload.result, &fresh), false);
            result = Some(match result {
                None => own,
                Some(found) if matches!(found, Type::Dyn) || own.is(&found, &mut self.bindings.steps) => {
                    found
                }
                Some(_) => Type::Dyn,
            });
        }
        if let Some(result) = result {
            if let Some(slot) = self.called.get_mut(at) {
                *slot = called;
            }
            return result;
        }
        let shown: Vec<String> =
            types.iter().map(|(_, of)| self.bindings.resolve(of, true).to_string()).collect();
        let signature = match (target, shown.split_first()) {
            (Some(_), Some((target, arguments))) => format!("{target}.({})", arguments.join(", ")),
            _ => format!("({})", shown.join(", ")),
        };
        let name = function.strip_prefix('.').unwrap_or(function);
        self.fault(at, format!("found no matching overload for '{name}' applied to '{signature}'"));
        Type::Error
    }

    fn fold(&mut self, fold: &Fold) -> Type<'s> {
        let range = self.node(fold.range);
        let accumulator = self.node(fold.initial);
        let range = self.bindings.resolve(&range, false);
        let has_two = fold.second.is_some();
        let [first, second] = match &range {
            Type::List(item) if has_two => [INT, (**item).clone()],
            Type::List(item) => [(**item).clone(), Type::Error],
            Type::Map(pair) => (**pair).clone(),
            Type::Dyn | Type::Error | Type::Variable(_) => {
                self.bindings.fits(&Type::Dyn, &range);
                [Type::Dyn, Type::Dyn]
            }
            other => {
                let text = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.fault(fold.range, text);
                [Type::Error, Type::Error]
            }
        };
        let outside = self.locals.len();
        self.locals.push((fold.result_name.clone(), accumulator.clone()));
        self.locals.push((fold.variable.clone(), first));
        if let Some(name) = &fold.second {
            self.locals.push((name.clone(), second));
        }
        for (part, expected) in [(fold.condition, BOOL), (fold.step, accumulator)] {
            let found = self.node(part);
            if !self.bindings.fits(&expected, &found) {
                self.mismatch(part, &expected, &found);
            }
        }
        self.locals.truncate(outside + 1);
        let result = self.node(fold.result);
        self.locals.truncate(outside);
        self.bindings.resolve(&result, false)
    }
}

fn type_of_literal<'s>(literal: &Literal) -> Type<'s> {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => BOOL,
        Literal::Int(_) => INT,
        Literal::Uint(_) => Type::Plain("uint"),
        Literal::Double(_) => Type::Plain("double"),
        Literal::String(_) => STRING,
        Literal::Bytes(_) => Type::Plain("bytes"),
    }
}

/// A type of the table with new variables.
fn instance<'s>(of: &Type<'s>, fresh: &[Type<'s>]) -> Type<'s> {
    match of {
        Type::Variable(number) => fresh.get(*number).cloned().unwrap_or(Type::Dyn),
        other => other.with_parameters(|inner| instance(inner, fresh)),
    }
}
