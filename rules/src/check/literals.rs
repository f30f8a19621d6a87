//! Checks of constants in an expression whose types are right.
//!
//! Behaviour: the validators of `github.com/google/cel-go` that API servers use.

use std::collections::BTreeMap;

use super::checker::Checked;
use super::tree::{Form, Id, Node};
use super::types::{Steps, Type};
use crate::evaluate;
use crate::evaluated::RULE_BUDGET;
use crate::expression::{Expr, Program};
use crate::functions;
use crate::literal::Literal;
use crate::meter::{Meter, WORK};
use crate::value::{Fault, Val};

/// The faults of constants: where they are, and why.
pub(crate) fn faults(nodes: &[Node], checked: &Checked<'_>) -> Vec<(usize, String)> {
    let mut found = Found { nodes, checked, faults: Vec::new(), steps: Steps { left: u64::MAX } };
    // The list of arguments of `format` may have values of several types. A node follows those that it uses.
    let mut is_exempt = vec![false; nodes.len()];
    for (at, node) in nodes.iter().enumerate().rev() {
        let formats = matches!(&node.form, Form::Call { function, .. } if function == "format");
        if formats || is_exempt.get(at) == Some(&true) {
            for child in node.form.children() {
                is_exempt.get_mut(child).into_iter().for_each(|exempt| *exempt = true);
            }
        }
    }
    for (node, is_exempt) in nodes.iter().zip(is_exempt) {
        match &node.form {
            Form::Call { function, arguments, .. } => found.argument(function, arguments),
            Form::List(items) if !is_exempt => found.same(items.iter().copied(), true),
            Form::Map(entries) if !is_exempt => {
                found.same(entries.iter().map(|(key, _, _)| (*key, false)), false);
                found.same(entries.iter().map(|(_, value, is_optional)| (*value, *is_optional)), false);
            }
            _ => {}
        }
    }
    found.faults
}

struct Found<'s, 't> {
    nodes: &'t [Node],
    checked: &'t Checked<'s>,
    faults: Vec<(usize, String)>,
    steps: Steps,
}

impl<'s> Found<'s, '_> {
    fn add(&mut self, at: Id, text: String) {
        self.faults.push((self.nodes.get(at).map_or(0, |node| node.offset), text));
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

    /// The first argument of some functions, if it is a constant.
    fn argument(&mut self, function: &str, arguments: &[Id]) {
        let Some(first) = arguments.first() else { return };
        let Some(Form::Literal(literal)) = self.nodes.get(*first).map(|node| &node.form) else { return };
        let is_valid = match (function, literal) {
            ("duration", Literal::String(text)) => crate::time::duration(text.as_str()).is_some(),
            ("timestamp", Literal::String(text)) => crate::time::timestamp(text.as_str()).is_some(),
            ("timestamp", Literal::Int(seconds)) => (-62_135_596_800..=253_402_300_799).contains(seconds),
            ("matches", Literal::String(pattern)) => pattern_fault(pattern.as_str()).is_none(),
            _ => true,
        };
        if !is_valid {
            self.add(*first, format!("invalid {function} argument"));
        }
    }
}

/// Why a regular expression is refused.
fn pattern_fault(pattern: &str) -> Option<String> {
    fieldmanager_structural::validation::Pattern::new(pattern).err()
}

/// Why a program cannot be made: a constant pattern that is wrong, or a constant that cannot be converted.
pub(crate) fn wrong_constant(nodes: &[Node]) -> Option<String> {
    const CONVERSIONS: [&str; 8] =
        ["bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"];
    let mut converted: BTreeMap<Id, Literal> = BTreeMap::new();
    for (at, node) in nodes.iter().enumerate() {
        let Form::Call { function, target, arguments } = &node.form else { continue };
        let Some(first) = arguments.first() else { continue };
        let literal = match nodes.get(*first).map(|node| &node.form) {
            Some(Form::Literal(literal)) => literal.clone(),
            _ => match converted.get(first) {
                Some(literal) => literal.clone(),
                None => continue,
            },
        };
        match (target, function.as_str(), literal) {
            (Some(_), "find" | "findAll", Literal::String(pattern)) => {
                if let Some(fault) = pattern_fault(pattern.as_str()) {
                    return Some(format!("error parsing regexp: {fault}"));
                }
            }
            (None, name, literal) if CONVERSIONS.contains(&name) => match convert(name, literal) {
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

/// The constant that a conversion makes; `None` if it is no constant of an expression, such as a duration.
fn convert(name: &str, literal: Literal) -> Option<Result<Literal, String>> {
    let function = functions::global_named(name, 1)?;
    let expr = Expr::Call { function, arguments: vec![Expr::from(literal.value())], pattern: None };
    let program = Program { expr, uses_old_self: false };
    let mut meter = Meter::new(RULE_BUDGET, WORK);
    match evaluate::run(&program, Val::Null, None, &mut meter) {
        Ok(Val::Bool(flag)) => Some(Ok(Literal::Bool(flag))),
        Ok(Val::Int(number)) => Some(Ok(Literal::Int(number))),
        Ok(Val::Uint(number)) => Some(Ok(Literal::Uint(number))),
        Ok(Val::Double(number)) => Some(Ok(Literal::Double(number))),
        Ok(Val::String(text)) => Some(Ok(Literal::String(text))),
        Ok(Val::Bytes(bytes)) => Some(Ok(Literal::Bytes(bytes.to_vec()))),
        Ok(_) | Err(Fault::Cost | Fault::Broken(_)) => None,
        Err(Fault::Error(text)) => Some(Err(text)),
    }
}
