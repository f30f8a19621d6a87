//! Checks of constants in an expression whose types are right.
//!
//! Behaviour: the validators of `github.com/google/cel-go` that API servers use.

use std::collections::BTreeMap;
use std::sync::Arc;

use cel::common::ast::operators::{INDEX, OPT_INDEX};
use fieldmanager_value::internal::level;

use super::checker::Checked;
use super::types::{Steps, TYPES, Type};
use crate::evaluate;
use crate::expression::Expr;
use crate::functions::{self, format_string};
use crate::tree::{Form, Id, Tree};
use crate::value::{Fault, MapVal, Val};

/// The faults of constants: where they are, and why.
pub(crate) fn faults(tree: &Tree, checked: &Checked<'_>) -> Vec<(usize, String)> {
    let mut found = Found {
        tree,
        checked,
        faults: Vec::new(),
        steps: Steps { left: u64::MAX },
    };

    // The list of arguments of `format` may have values of several types. A node follows those that it uses.
    let mut is_exempt = vec![false; tree.nodes.len()];
    for (at, node) in tree.nodes.iter().enumerate().rev() {
        let formats = matches!(&node.form, Form::Call { function, .. } if function == "format");
        if formats || is_exempt.get(at) == Some(&true) {
            for child in node.form.children() {
                is_exempt
                    .get_mut(child)
                    .into_iter()
                    .for_each(|exempt| *exempt = true);
            }
        }
    }

    for (node, is_exempt) in tree.nodes.iter().zip(is_exempt) {
        match &node.form {
            Form::Call {
                function,
                arguments,
                ..
            } => found.argument(function, arguments),
            Form::List(items) if !is_exempt => found.same(items.iter().copied(), true),
            Form::Map(entries) if !is_exempt => {
                found.same(entries.iter().map(|(key, _, _)| (*key, false)), false);
                found.same(
                    entries
                        .iter()
                        .map(|(_, value, is_optional)| (*value, *is_optional)),
                    false,
                );
            }
            _ => {}
        }
    }

    // As in cel-go, the other faults of a place come before those of formats.
    for (at, node) in tree.nodes.iter().enumerate() {
        if let Form::Call {
            function,
            target: Some(target),
            arguments,
        } = &node.form
            && function == "format"
        {
            found.format(at, *target, arguments);
        }
    }
    found.faults
}

struct Found<'s, 't> {
    tree: &'t Tree,
    checked: &'t Checked<'s>,
    faults: Vec<(usize, String)>,
    steps: Steps,
}

impl<'s> Found<'s, '_> {
    fn add(&mut self, at: Id, text: String) {
        self.faults.push((self.tree.offset(at), text));
    }

    /// Members must have the type of the first one. In a list, one fault is enough.
    fn same(&mut self, members: impl Iterator<Item = (Id, bool)>, is_list: bool) {
        let mut first: Option<&Type<'s>> = None;
        for (member, is_optional) in members {
            let own = self.checked.types.get(member).unwrap_or(&Type::Dyn);
            let own = own.unwrapped().filter(|_| is_optional).unwrap_or(own);
            match first {
                None => first = Some(own),
                Some(first) if own.is(first, &mut self.steps) => {}
                Some(first) => {
                    self.add(member, format!("expected type '{first}' but found '{own}'"));
                    if is_list {
                        return;
                    }
                }
            }
        }
    }

    /// The arguments of a constant format.
    fn format(&mut self, at: Id, format: Id, arguments: &[Id]) {
        // Only a literal format with a literal list can be checked. Others fail when they are evaluated.
        let arguments = arguments.iter().map(|list| self.tree.form(*list));
        let (Some(Form::Literal(Val::String(format))), [Some(Form::List(arguments))]) = (
            self.tree.form(format),
            arguments.collect::<Vec<_>>().as_slice(),
        ) else {
            return;
        };

        let clauses = format_string::clauses(format);
        // Formatting stops at the first fault, so only that one is reported. A clause that has no end comes before a
        // missing argument.
        for (index, clause) in clauses.iter().enumerate() {
            let fault = match (clause, arguments.get(index)) {
                (Err(fault), _) if fault.starts_with("unexpected end") => (at, fault.clone()),
                (_, None) => (at, format!("index {index} out of range")),
                (Err(fault), _) => (at, fault.clone()),
                (Ok((verb, types)), Some((argument, _))) => {
                    match self.unformatted(*argument, types) {
                        Some(wrong) => {
                            let found = self.checked.types.get(wrong).unwrap_or(&Type::Dyn);
                            (wrong, format_string::refusal(*verb, found.name()))
                        }
                        None => continue,
                    }
                }
            };
            self.add(fault.0, fault.1);
            return;
        }

        // An evaluation ignores arguments that no clause uses, so they are refused only here.
        let (expected, found) = (clauses.len(), arguments.len());
        if found > expected {
            let text = format!(
                "too many arguments supplied to string.format (expected {expected}, got {found})"
            );
            self.add(at, text);
        }
    }

    /// The part of an argument that a clause does not write. `%s` writes types with a literal, and what is in lists and maps.
    fn unformatted(&self, at: Id, accepted: &[&str]) -> Option<Id> {
        let found = self.checked.types.get(at).unwrap_or(&Type::Dyn);
        let is_accepted = match found {
            Type::Dyn => true,
            Type::Plain(name) => accepted.is_empty() || accepted.contains(name),
            Type::Null | Type::List(_) | Type::Map(_) | Type::Meta(_) => accepted.is_empty(),
            _ => false,
        };

        match self.tree.form(at) {
            _ if !is_accepted => Some(at),
            Some(form @ (Form::List(_) | Form::Map(_))) if accepted.is_empty() => {
                let mut parts = form.children().into_iter();
                parts.find_map(|part| level(|| self.unformatted(part, accepted)))
            }
            _ => None,
        }
    }

    /// The first argument of some functions, if it is a constant.
    fn argument(&mut self, function: &str, arguments: &[Id]) {
        let Some(first) = arguments.first() else {
            return;
        };
        let Some(Form::Literal(literal)) = self.tree.form(*first) else {
            return;
        };

        let is_valid = match (function, literal) {
            ("duration", Val::String(text)) => crate::time::duration(text.as_str()).is_some(),
            ("timestamp", Val::String(text)) => crate::time::timestamp(text.as_str()).is_some(),
            ("timestamp", Val::Int(seconds)) => {
                (-62_135_596_800..=253_402_300_799).contains(seconds)
            }
            ("matches", Val::String(pattern)) => pattern_fault(pattern.as_str()).is_none(),
            _ => true,
        };

        if !is_valid {
            self.add(*first, format!("invalid {function} argument"));
        }
    }
}

/// Why a regular expression is refused.
fn pattern_fault(pattern: &str) -> Option<String> {
    fieldmanager_structural::internal::Pattern::new(pattern).err()
}

/// Why a program cannot be made: a constant pattern that is wrong, or a constant that cannot be converted.
pub(crate) fn wrong_constant(tree: &Tree, checked: &Checked<'_>) -> Option<String> {
    // A node follows those that it uses, so the conversion of a converted constant finds its argument here.
    let mut converted: BTreeMap<Id, Val<'static>> = BTreeMap::new();
    for (at, node) in tree.nodes.iter().enumerate() {
        let is_constant = |part: &Id| {
            matches!(tree.form(*part), Some(Form::Literal(_))) || converted.contains_key(part)
        };
        let (function, target, arguments) = match &node.form {
            Form::Call {
                function,
                target,
                arguments,
            } => (function, target, arguments),
            // Of a list or a map, only the type matters.
            form @ (Form::List(_) | Form::Map(_)) => {
                if form.children().iter().all(is_constant) {
                    let empty = match form {
                        Form::List(_) => Val::list(Vec::new()),
                        _ => Val::Map(MapVal::Made(Arc::default())),
                    };
                    converted.insert(at, empty);
                }
                continue;
            }
            // What is a type must have the name of one.
            Form::Name(name) if !TYPES.contains(&name.as_str()) => {
                if let Some(Type::Meta(_)) = checked.types.get(at) {
                    return Some(format!("reference to undefined type: {name}"));
                }
                continue;
            }
            _ => continue,
        };
        let literal_of = |part: &Id| match tree.form(*part) {
            Some(Form::Literal(literal)) => Some(literal.clone()),
            _ => converted.get(part).cloned(),
        };
        if let (INDEX | OPT_INDEX, [_, index]) = (function.as_str(), arguments.as_slice())
            && let Some(key) = literal_of(index).filter(|key| !key.is_scalar())
        {
            return Some(format!("invalid qualifier type: {}", key.go_type()));
        }
        let Some(literal) = arguments.first().and_then(literal_of) else {
            continue;
        };

        // cel-go does both when it makes the program: it compiles constant patterns and converts constants.
        match (target, function.as_str(), literal) {
            (Some(_), "find" | "findAll", Val::String(pattern)) => {
                if let Some(fault) = pattern_fault(pattern.as_str()) {
                    return Some(fault);
                }
            }
            (None, name, literal) => match convert(name, literal) {
                Some(Ok(literal)) => {
                    converted.insert(at, literal);
                }
                Some(Err(fault)) => return Some(fault),
                None => {}
            },
            _ => {}
        }
    }

    None
}

/// The constant that a conversion makes; `None` if the function is none.
fn convert(name: &str, literal: Val<'static>) -> Option<Result<Val<'static>, String>> {
    let function = functions::find(name, 1, false).filter(|function| function.is_conversion())?;
    let converted = evaluate::constant(&Expr::Call {
        function,
        arguments: vec![Expr::from(literal)],
        pattern: None,
        cost: function.cost,
        is_open: true,
    });

    match converted {
        Err(Fault::Cost | Fault::Broken(_)) => None,
        Ok(value) => Some(Ok(value)),
        Err(Fault::Error(text)) => Some(Err(text)),
    }
}
