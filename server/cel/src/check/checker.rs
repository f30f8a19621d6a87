//! Checks the types of an expression.
//!
//! Behaviour: package `checker` of `github.com/google/cel-go`.

use cel::common::ast::operators;
use fieldmanager_value::internal::{level, proceed};

use super::declared::{field, type_of};
use super::message::MOST_FAULTS;
use super::scope::Scope;
use super::types::{BOOL, Bindings, INT, TYPES, Type};
use crate::escape::is_reserved;
use crate::functions::overloads::{Overload, overloads};
use crate::message;
use crate::tree::{Fold, Form, Id, MessageForm, Tree};
use crate::value::{VARIABLES, Val};

/// How a rule is checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuleOptions {
    /// Whether `oldSelf` is an optional value.
    pub has_optional_old: bool,
    /// Whether the rule is part of a stored definition.
    pub is_stored: bool,
    /// Whether there are the types of mutations, `Object` and `JSONPatch`, and `jsonpatch.escapeKey`.
    pub has_patch_types: bool,
}

/// How many steps the types of one node may take.
const STEPS: u64 = 2_000;

/// The types of the nodes of an expression.
pub(crate) struct Checker<'s, 't> {
    tree: &'t mut Tree,
    scope: Scope<'s, 't>,
    options: RuleOptions,
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
        self.called
            .iter()
            .flatten()
            .map(|overload| overload.text)
            .collect()
    }
}

/// Checks an expression; `None` if its types are too large.
pub(crate) fn check<'s, 't>(
    tree: &'t mut Tree,
    scope: Scope<'s, 't>,
    options: RuleOptions,
) -> Option<Checked<'s>> {
    let limit = STEPS * (tree.nodes.len() as u64 + 10);
    let mut checker = Checker {
        types: tree.nodes.iter().map(|_| None).collect(),
        called: tree.nodes.iter().map(|_| Vec::new()).collect(),
        tree,
        scope,
        options,
        bindings: Bindings::new(limit),
        locals: Vec::new(),
        uses_old_self: false,
        faults: Vec::new(),
        count: 0,
    };

    checker.node(checker.tree.root);
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
        "duration" | "google.protobuf.Duration" => Type::Plain("duration"),
        "timestamp" | "google.protobuf.Timestamp" => Type::Plain("timestamp"),
        "null_type" => Type::Null,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "optional_type" => Type::optional(Type::Dyn),
        "type" => Type::Meta(None),
        name => match TYPES.into_iter().find(|known| *known == name)? {
            // Expressions cannot name the types of these libraries.
            library if library.starts_with("kubernetes.") => return None,
            library if library.contains('.') => Type::Named(library),
            plain => Type::Plain(plain),
        },
    };

    Some(Type::Meta(Some(named.into())))
}

impl<'s> Checker<'s, '_> {
    fn fault(&mut self, at: Id, text: String) {
        self.add_fault(self.tree.offset(at), text);
    }

    fn add_fault(&mut self, offset: usize, text: String) {
        self.count = self.count.saturating_add(1);
        if self.faults.len() < MOST_FAULTS {
            self.faults.push((offset, text));
        }
    }

    fn undeclared(&mut self, at: Id, name: &str) -> Type<'s> {
        self.fault(
            at,
            format!("undeclared reference to '{name}' (in container '')"),
        );
        Type::Error
    }

    fn mismatch(&mut self, at: Id, expected: &Type<'s>, found: &Type<'s>) {
        // Counts the size of the types before they are written.
        for of in [expected, found] {
            self.bindings.resolve(of, false);
        }
        if !self.bindings.steps.are_used() {
            self.fault(
                at,
                format!("expected type '{expected}' but found '{found}'"),
            );
        }
    }

    /// The type of a node, which is checked if it is new.
    fn node(&mut self, at: Id) -> Type<'s> {
        if let Some((known, [start, end])) = self.types.get(at).cloned().flatten() {
            // A node that a macro uses twice is checked once, but its faults are reported twice.
            for again in start..end {
                if let Some((offset, text)) = self.faults.get(again).cloned() {
                    self.add_fault(offset, text);
                }
            }
            return known;
        }

        // Without steps the type does not matter any more: `check` refuses the expression.
        if self.bindings.steps.are_used() || !proceed(1) {
            return Type::Dyn;
        }
        level(|| {
            // The faults between `start` and `end` are those of the node and of all nodes below it.
            let start = self.faults.len();
            let Some(form) = self.tree.form(at).cloned() else {
                return Type::Error;
            };
            let found = match form {
                Form::Literal(literal) => type_of_literal(&literal),
                Form::Name(name) => self
                    .name(&name)
                    .unwrap_or_else(|| self.undeclared(at, &name)),
                Form::Select {
                    operand,
                    field,
                    is_test,
                } => self.select(at, operand, &field, is_test),
                Form::Call {
                    function,
                    target,
                    arguments,
                } => self.call(at, &function, target, &arguments),
                Form::List(items) => {
                    let mut joined = None;
                    for (item, is_optional) in items {
                        joined = Some(self.member(joined, item, is_optional));
                    }
                    // An empty list or map fits all types of members, so theirs is a variable.
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
                Form::Message(message) => self.message(at, &message),
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
        // A leading dot skips the variables of comprehensions.
        let (global, is_global) = match name.strip_prefix('.') {
            Some(global) => (global, true),
            None => (name, false),
        };
        if !is_global
            && let Some((_, found)) = self.locals.iter().rev().find(|(known, _)| known == name)
        {
            return Some(found.clone());
        }

        let schema = match self.scope {
            Scope::Values(schema) => schema,
            Scope::Declared(declared) => {
                let found = declared.names.iter().find(|(known, _)| *known == global);
                return found.map_or_else(|| type_named(global), |(_, of)| Some(of.clone()));
            }
        };
        let value = || type_of(schema, "selfType");
        match global {
            "self" => Some(value()),
            "oldSelf" => {
                self.uses_old_self = true;
                Some(if self.options.has_optional_old {
                    Type::optional(value())
                } else {
                    value()
                })
            }
            other => type_named(other),
        }
    }

    fn select(&mut self, at: Id, operand: Id, field: &str, is_test: bool) -> Type<'s> {
        const QUALIFIED: [&str; 5] = ["IP", "CIDR", "Duration", "Timestamp", "protobuf"];
        // The name of a type is parsed as selections. It becomes one name, unless a variable has its first part.
        if !is_test
            && (QUALIFIED.contains(&field) || self.scope.has_last(field))
            && let Some(name) = self.tree.spelled(at)
            && let Some(found) = self.name(&name).filter(|_| name.contains('.'))
            && !self
                .locals
                .iter()
                .any(|(local, _)| name.split('.').next() == Some(local))
        {
            if let Some(node) = self.tree.nodes.get_mut(at) {
                node.form = Form::Name(name);
            }
            return found;
        }

        // The test of a field is a bool, but the field must be declared all the same.
        let found = self.field(at, operand, field, false);
        if is_test {
            BOOL
        } else {
            self.bindings.resolve(&found, false)
        }
    }

    fn field(&mut self, at: Id, operand: Id, name: &str, is_optional: bool) -> Type<'s> {
        let of = self.node(operand);
        let operand = self.bindings.resolve(&of, false);
        // What is selected from an optional value is optional; the field is one of the value inside.
        let wraps = is_optional || operand.unwrapped().is_some();
        let target = operand.unwrapped().unwrap_or(&operand);
        let found = match target {
            Type::Map(pair) => {
                let [_, value] = &**pair;
                value.clone()
            }
            Type::Object(path, schema) => {
                // A reserved word may be selected as it is, although the field is declared under its escaped name.
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
            Type::Message(of) if message::field_type(of, name).is_some() => {
                message::field_type(of, name).unwrap_or(Type::Dyn)
            }
            Type::Named(VARIABLES) => match self.scope.variable(name) {
                Some(found) => found.clone(),
                None => {
                    self.fault(at, format!("undefined field '{name}'"));
                    Type::Error
                }
            },
            Type::Named(library) if library.starts_with("kubernetes.") => {
                self.fault(at, format!("unexpected failed resolution of '{library}'"));
                Type::Error
            }
            Type::Variable(_) => {
                // Nothing is known about the fields of this value, so the variable becomes `dyn`.
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

    /// The type of a message, whose fields are checked.
    fn message(&mut self, at: Id, message: &MessageForm) -> Type<'s> {
        let known = message::type_name(&message.name).filter(|_| self.options.has_patch_types);
        let Some(name) = known else {
            return self.undeclared(at, &message.name);
        };
        for field in &message.fields {
            let mut found = self.node(field.value);
            if field.is_optional {
                found = self.inside_optional(field.value, found);
            }
            let expected = message::field_type(name, &field.name);
            if !expected
                .as_ref()
                .is_some_and(|expected| self.bindings.fits(expected, &found))
            {
                let expected = expected.map_or_else(String::new, |expected| expected.to_string());
                let (field_name, found) = (&field.name, self.bindings.resolve(&found, false));
                let text = format!(
                    "expected type of field '{field_name}' is '{expected}' but provided type is '{found}'"
                );
                self.add_fault(field.offset, text);
            }
        }
        Type::Message(name.into())
    }

    /// The type inside that of an optional member.
    fn inside_optional(&mut self, at: Id, found: Type<'s>) -> Type<'s> {
        match found.unwrapped().cloned() {
            Some(inner) => return inner,
            None if matches!(found, Type::Dyn) => {}
            None => self.mismatch(at, &Type::optional(found.clone()), &found),
        }
        found
    }

    /// The common type of the items of a list, or of the keys or values of a map, with one more.
    fn member(&mut self, before: Option<Type<'s>>, at: Id, is_optional: bool) -> Type<'s> {
        let mut found = self.node(at);
        if is_optional {
            found = self.inside_optional(at, found);
        }

        // Members of different types are no fault of types: `literals` refuses most of them.
        match before {
            None => found,
            Some(before) if self.bindings.fits(&before, &found) => {
                self.bindings.more_general(before, found)
            }
            Some(_) => Type::Dyn,
        }
    }

    fn call(&mut self, at: Id, function: &str, target: Option<Id>, arguments: &[Id]) -> Type<'s> {
        if function == operators::OPT_SELECT
            && let [operand, field] = arguments
            && let Some(Form::Literal(Val::String(name))) = self.tree.form(*field).cloned()
        {
            let found = self.field(at, *operand, name.as_str(), true);
            return self.bindings.resolve(&found, false);
        }

        // As in cel-go, arguments are checked before the target.
        let mut types: Vec<(Id, Type<'s>)> = arguments
            .iter()
            .map(|argument| (*argument, self.node(*argument)))
            .collect();
        let Some(target) = target else {
            return self.resolve(at, function, None, &types);
        };

        // A function whose name has dots, such as `ip.isCanonical`, is parsed as a member. It becomes a call without a
        // target.
        if let Some(space) = self.tree.spelled(target) {
            let name = format!("{space}.{function}");
            if !self.overloads(&name).is_empty() {
                if let Some(node) = self.tree.nodes.get_mut(at) {
                    node.form = Form::Call {
                        function: name.clone(),
                        target: None,
                        arguments: arguments.to_vec(),
                    };
                }
                return self.resolve(at, &name, None, &types);
            }
        }
        types.insert(0, (target, self.node(target)));

        self.resolve(at, function, Some(target), &types)
    }

    /// The overloads of a function in expressions of this kind.
    fn overloads(&self, name: &str) -> &'static [Overload] {
        if name == "jsonpatch.escapeKey" && !self.options.has_patch_types {
            return &[];
        }
        overloads(name, self.options.is_stored)
    }

    /// The result of a call. `types` are those of the target and of the arguments.
    fn resolve(
        &mut self,
        at: Id,
        function: &str,
        target: Option<Id>,
        types: &[(Id, Type<'s>)],
    ) -> Type<'s> {
        let candidates = self.overloads(function);
        if candidates.is_empty() {
            return self.undeclared(at, function);
        }
        let mut result: Option<Type<'s>> = None;
        let mut called = Vec::new();

        // An argument of the type `dyn` fits several overloads, of which the evaluation chooses one, so all that fit
        // are kept.
        for overload in candidates
            .iter()
            .filter(|overload| overload.is_member == target.is_some())
        {
            // Operands of `&&` and `||` are checked one by one, so that the message names the wrong one.
            if matches!(function, operators::LOGICAL_AND | operators::LOGICAL_OR) {
                let wrong: Vec<_> = types
                    .iter()
                    .filter(|(_, of)| !self.bindings.fits(of, &BOOL))
                    .cloned()
                    .collect();
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

            // Each call has type variables of its own, so that calls of the same function do not restrict each other.
            let fresh: Vec<Type<'s>> = (0..overload.variables)
                .map(|_| self.bindings.variable())
                .collect();
            let arguments: Vec<Type<'s>> = overload
                .arguments
                .iter()
                .map(|of| instance(of, &fresh))
                .collect();
            let pairs: Vec<_> = types.iter().map(|(_, of)| of).zip(&arguments).collect();
            if types.len() != arguments.len() || !self.bindings.fits_all(&pairs) {
                continue;
            }

            called.push(overload);
            let own = self
                .bindings
                .resolve(&instance(&overload.result, &fresh), false);
            // Overloads with different results leave the type of the call open.
            result = Some(match result {
                None => own,
                Some(found)
                    if matches!(found, Type::Dyn) || own.is(&found, &mut self.bindings.steps) =>
                {
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

        // No overload fits. The message shows what is known about the types, and `dyn` for the rest.
        let shown: Vec<String> = types
            .iter()
            .map(|(_, of)| self.bindings.resolve(of, true).to_string())
            .collect();
        let signature = match (target, shown.split_first()) {
            (Some(_), Some((target, arguments))) => format!("{target}.({})", arguments.join(", ")),
            _ => format!("({})", shown.join(", ")),
        };
        let name = function.strip_prefix('.').unwrap_or(function);
        self.fault(
            at,
            format!("found no matching overload for '{name}' applied to '{signature}'"),
        );

        Type::Error
    }

    fn fold(&mut self, fold: &Fold) -> Type<'s> {
        let range = self.node(fold.range);
        let accumulator = self.node(fold.initial);
        let range = self.bindings.resolve(&range, false);
        let has_two = fold.second.is_some();
        // A single variable is the item of a list or the key of a map; with two, the last one is the item or the value.
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

        // The condition and the step see all variables, the result sees the accumulator only.
        let outside = self.locals.len();
        self.locals
            .push((fold.result_name.clone(), accumulator.clone()));
        self.locals.push((fold.variable.clone(), first));
        if let Some(name) = &fold.second {
            self.locals.push((name.clone(), second));
        }

        // The step makes the next accumulator, so it must have the type of the first one.
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

fn type_of_literal<'s>(literal: &Val<'_>) -> Type<'s> {
    match literal {
        Val::Null => Type::Null,
        constant => Type::Plain(constant.type_name()),
    }
}

/// A type of the table with new variables.
fn instance<'s>(of: &Type<'s>, fresh: &[Type<'s>]) -> Type<'s> {
    match of {
        Type::Variable(number) => fresh.get(*number).cloned().unwrap_or(Type::Dyn),
        other => other.with_parameters(|inner| instance(inner, fresh)),
    }
}
