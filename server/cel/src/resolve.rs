//! The resolver of expressions: their variables and functions get what they name.

use std::collections::BTreeMap;
use std::sync::Arc;

use cel::common::ast::operators;
use fieldmanager_structural::Structural;
use fieldmanager_structural::internal::Pattern;
use fieldmanager_value::Str;
use fieldmanager_value::internal::level;

use crate::check::RuleOptions;
use crate::check::checker;
use crate::check::scope::Scope;
use crate::check::types::TYPES;
use crate::evaluate;
use crate::expression::{Expr, Fold, Program, Step};
use crate::functions::overloads::Overload;
use crate::functions::{self, Function};
use crate::message;
use crate::tree::{self, Form, Id, MAP_INSERT, Tree, with_stack};
use crate::value::Val;

/// The maximum nesting of an expression. Conditionals, sums and selections can nest inside each other to their limits.
const DEPTH: usize = 2_048;

/// Parses and resolves an expression about values of a schema.
pub(crate) fn compile(
    source: &str,
    values: &Structural,
    options: RuleOptions,
) -> Result<Program, String> {
    with_stack(|| {
        let mut tree = Tree::parse(source)
            .map_err(|text| text.lines().next().unwrap_or_default().to_owned())?;
        // A rule that was stored before it was checked runs, so the faults of its types do not count.
        let checked = checker::check(&mut tree, Scope::Values(values), options);
        let called = checked.map(|checked| checked.called).unwrap_or_default();
        resolve(&tree, called, vec!["self", "oldSelf"])
    })
}

/// Resolves an expression whose variables have the numbers of their places in `names`. `called` are the overloads of its
/// calls.
pub(crate) fn resolve<'t>(
    tree: &'t Tree,
    called: Vec<Vec<&'static Overload>>,
    names: Vec<&'t str>,
) -> Result<Program, String> {
    let mut resolver = Resolver {
        tree,
        called,
        names,
        uses_old_self: false,
        depth: 0,
        shared: BTreeMap::new(),
    };
    let expr = resolver.expr(tree.root)?;
    Ok(Program {
        expr,
        uses_old_self: resolver.uses_old_self,
    })
}

struct Resolver<'t> {
    tree: &'t Tree,
    /// The overloads that fit the types of each call.
    called: Vec<Vec<&'static Overload>>,
    /// The names of the variables in scope.
    names: Vec<&'t str>,
    uses_old_self: bool,
    depth: usize,
    /// The nodes that are used twice, which have the same variables in scope both times.
    shared: BTreeMap<Id, Arc<Expr>>,
}

type Resolved = Result<Expr, String>;

impl<'t> Resolver<'t> {
    fn expr(&mut self, at: Id) -> Resolved {
        // A macro can use a node twice. Resolving it again would double the work at each level of nested macros.
        if let Some(known) = self.shared.get(&at) {
            return Ok(Expr::Shared(Arc::clone(known)));
        }
        if self.depth > DEPTH {
            return Err(format!("the expression nests deeper than {DEPTH} levels"));
        }

        self.depth += 1;
        let made = level(|| self.fresh(at));
        self.depth -= 1;
        if !self.tree.shared.contains(&at) {
            return made;
        }
        let made = Arc::new(made?);
        self.shared.insert(at, Arc::clone(&made));

        Ok(Expr::Shared(made))
    }

    fn fresh(&mut self, at: Id) -> Resolved {
        match self.tree.form(at) {
            None => Err("the expression is empty".to_owned()),
            Some(Form::Literal(value)) => Ok(Expr::from(value.clone())),
            Some(Form::Name(name)) => self.name(name),
            Some(Form::Select {
                operand,
                field,
                is_test,
            }) => self.select(at, *operand, field, *is_test),
            Some(Form::Call {
                function,
                target,
                arguments,
            }) => self.call(at, function, *target, arguments),

            // cel-go computes lists and maps of constants before the evaluation, so they must have no cost.
            Some(Form::List(items)) => {
                let resolved = items
                    .iter()
                    .map(|(item, is_optional)| Ok((self.expr(*item)?, *is_optional)));
                let items = resolved.collect::<Result<Vec<_>, String>>()?;
                let is_constant = items.iter().all(|(item, _)| item.is_constant());
                Ok(Expr::List(items).constant_if(is_constant))
            }
            Some(Form::Map(entries)) => {
                let resolved = entries.iter().map(|(key, value, is_optional)| {
                    Ok((self.expr(*key)?, self.expr(*value)?, *is_optional))
                });
                let entries = resolved.collect::<Result<Vec<_>, String>>()?;
                let is_constant = entries
                    .iter()
                    .all(|(key, value, _)| key.is_constant() && value.is_constant());
                Ok(Expr::Map(entries).constant_if(is_constant))
            }

            Some(Form::Message(message)) => {
                let Some(name) = message::type_name(&message.name) else {
                    // Other types are unknown: see `server-rule-types` in docs/deviations.md.
                    return Err("messages cannot be constructed".to_owned());
                };
                let resolved = message.fields.iter().map(|field| {
                    let value = self.expr(field.value)?;
                    Ok((Str::from(field.name.as_str()), value, field.is_optional))
                });
                let fields = resolved.collect::<Result<_, String>>()?;
                Ok(Expr::Message(name.into(), fields))
            }
            Some(Form::Fold(fold)) => self.fold(fold),
        }
    }

    fn boxed(&mut self, at: Id) -> Result<Box<Expr>, String> {
        self.expr(at).map(Box::new)
    }

    fn variable(&self, name: &str) -> Option<usize> {
        self.names.iter().rposition(|known| *known == name)
    }

    fn name(&mut self, name: &str) -> Resolved {
        if let Some(at) = self.variable(name) {
            // Rules have `self` and `oldSelf`.
            self.uses_old_self |= at == 1;
            return Ok(Expr::Variable(at));
        }
        // A name that begins with a dot is not one of a comprehension.
        if let Some(global) = name.strip_prefix('.')
            && let Some(at) = self.names.iter().position(|known| *known == global)
        {
            return Ok(Expr::Variable(at));
        }
        let known = TYPES.into_iter().find(|known| *known == name);
        known.map_or_else(|| undeclared(name), |name| Ok(Expr::from(Val::Type(name))))
    }

    fn select(&mut self, at: Id, operand: Id, field: &str, is_test: bool) -> Resolved {
        // The parser reads the name of a type, such as `net.IP`, as selections.
        let is_last = |name: &str| name.rsplit_once('.').is_some_and(|(_, last)| last == field);
        for name in TYPES.into_iter().filter(|name| is_last(name)) {
            if self.tree.spelled(at).is_some_and(|spelled| spelled == name) {
                return Ok(Expr::from(Val::Type(name)));
            }
        }

        Ok(Expr::Select {
            operand: self.boxed(operand)?,
            field: field.into(),
            is_test,
            is_optional: false,
        })
    }

    fn call(&mut self, at: Id, name: &str, target: Option<Id>, arguments: &[Id]) -> Resolved {
        // These operators decide which operands are evaluated, or have costs of their own, so they are not calls.
        Ok(match (name, arguments) {
            (operators::LOGICAL_AND, [a, b]) => Expr::And(self.boxed(*a)?, self.boxed(*b)?),
            (operators::LOGICAL_OR, [a, b]) => Expr::Or(self.boxed(*a)?, self.boxed(*b)?),
            (operators::NOT_STRICTLY_FALSE, [a]) => Expr::NotStrictlyFalse(self.boxed(*a)?),
            (operators::CONDITIONAL, [a, b, c]) => {
                Expr::Conditional(Box::new([self.expr(*a)?, self.expr(*b)?, self.expr(*c)?]))
            }
            (operators::EQUALS | operators::NOT_EQUALS, [a, b]) => {
                let is_equal = name == operators::EQUALS;
                Expr::Equal(self.boxed(*a)?, self.boxed(*b)?, is_equal)
            }
            (operators::INDEX | operators::OPT_INDEX, [operand, index]) => Expr::Index {
                operand: self.boxed(*operand)?,
                index: self.boxed(*index)?,
                is_optional: name == operators::OPT_INDEX,
            },

            // `a.?b` is parsed as a call with the name of the field as a literal.
            (operators::OPT_SELECT, [operand, field]) => {
                let Some(Form::Literal(Val::String(field))) = self.tree.form(*field) else {
                    return Err("an optional selection needs the name of a field".to_owned());
                };
                Expr::Select {
                    operand: self.boxed(*operand)?,
                    field: field.clone(),
                    is_test: false,
                    is_optional: true,
                }
            }

            // `or` and `orValue` evaluate their argument only if the optional value is empty.
            _ => match (name, target, arguments) {
                ("or" | "orValue", Some(operand), [other]) => Expr::Fallback {
                    operand: self.boxed(operand)?,
                    other: self.boxed(*other)?,
                    is_value: name == "orValue",
                },
                _ => return self.function(at, name, target, arguments),
            },
        })
    }

    fn function(&mut self, at: Id, name: &str, target: Option<Id>, arguments: &[Id]) -> Resolved {
        // A function whose name has dots, such as `ip.isCanonical`.
        let spaced = match target.and_then(|target| self.tree.form(target)) {
            Some(Form::Name(space)) if self.variable(space).is_none() => {
                functions::find(&format!("{space}.{name}"), arguments.len(), false)
            }
            _ => None,
        };
        let target = target.filter(|_| spaced.is_none());
        let count = arguments.len() + usize::from(target.is_some());
        let Some(function) = spaced.or_else(|| functions::find(name, count, target.is_some()))
        else {
            return undeclared(name);
        };

        let all = target.iter().chain(arguments);
        let arguments: Vec<Expr> = all.map(|at| self.expr(*at)).collect::<Result<_, _>>()?;
        // A constant pattern is compiled once here, instead of in each evaluation.
        let pattern = constant_pattern(function, &arguments)?;
        // Only the conversion of a constant is a constant itself; other calls keep their cost.
        let is_constant = function.is_conversion() && arguments.iter().all(Expr::is_constant);
        let fitting = self.called.get(at).map_or(&[][..], Vec::as_slice);
        let cost = functions::cost_of(function, fitting);
        let is_open = fitting.len() > 1;
        Ok(Expr::Call {
            function,
            arguments,
            pattern,
            cost,
            is_open,
        }
        .constant_if(is_constant))
    }

    fn fold(&mut self, fold: &'t tree::Fold) -> Resolved {
        let slot = self.names.len();
        // A binding is evaluated where its name is used first, so it has neither a range nor a step.
        if fold.is_binding {
            let initial = self.expr(fold.initial)?;
            self.names.push(&fold.result_name);
            let result = self.expr(fold.result);
            self.names.truncate(slot);
            return Ok(Expr::Binding(Box::new([initial, result?]), slot));
        }

        let range = self.expr(fold.range)?;
        let initial = self.expr(fold.initial)?;
        // The condition and the step see the accumulator and the variables; the result sees the accumulator only.
        self.names.extend([&*fold.result_name, &fold.variable]);
        self.names.extend(fold.second.as_deref());
        // A comprehension that visits all items has the condition `true`, which is not evaluated for each of them.
        let condition = match self.tree.form(fold.condition) {
            Some(Form::Literal(Val::Bool(true))) => Ok(None),
            _ => self.expr(fold.condition).map(Some),
        };
        let step = self.step(fold.step, slot);
        self.names.truncate(slot + 1);
        let result = self.expr(fold.result);
        self.names.truncate(slot);

        // Faults of the parts return only now, when the names of the comprehension are out of scope again.
        let (filter, step) = step?;
        Ok(Expr::Fold(Box::new(Fold {
            range,
            slot,
            has_two: fold.second.is_some(),
            initial,
            condition: condition?,
            filter,
            step,
            result: result?,
        })))
    }

    /// The condition of a step, and the step. `result + [item]` would copy the list each time, and so would an insertion.
    fn step(&mut self, at: Id, slot: usize) -> Result<(Option<Expr>, Step), String> {
        // The accumulator is recognized by its number: an inner comprehension may have one with the same name.
        let is_result = |this: &Self, at: Id| match this.tree.form(at) {
            Some(Form::Name(name)) => this.variable(name) == Some(slot),
            _ => false,
        };
        let tree = self.tree;
        let call = |at| match tree.form(at) {
            Some(Form::Call {
                function,
                arguments,
                ..
            }) => (function.as_str(), arguments.as_slice()),
            _ => ("", [].as_slice()),
        };

        // A macro skips an item with a conditional whose other branch is the accumulator.
        let (filter, grown) = match call(at) {
            (operators::CONDITIONAL, [filter, then, other]) if is_result(self, *other) => {
                (Some(*filter), *then)
            }
            _ => (None, at),
        };
        let added = |list| match tree.form(list) {
            Some(Form::List(items)) => items.as_slice(),
            _ => &[],
        };
        // Only one item that is not optional can be appended without making a list. Any other step is evaluated as it
        // is written.
        let step = match call(grown) {
            (operators::ADD, [result, list]) if is_result(self, *result) => match added(*list) {
                [(item, false)] => Step::Append(self.expr(*item)?),
                _ => return Ok((None, Step::Set(self.expr(at)?))),
            },
            (MAP_INSERT, [_, key @ .., value]) => {
                let key = key.first().map(|key| self.expr(*key)).transpose()?;
                Step::Insert(key, self.expr(*value)?)
            }
            _ => return Ok((None, Step::Set(self.expr(at)?))),
        };
        let filter = filter.map(|filter| self.expr(filter)).transpose()?;

        Ok((filter, step))
    }
}

/// The second argument, if it is a constant regular expression.
fn constant_pattern(
    function: &Function,
    arguments: &[Expr],
) -> Result<Option<Box<Pattern>>, String> {
    match arguments {
        [_, Expr::Constant(Ok(Val::String(pattern))), ..] if function.has_regex => {
            let checked = Pattern::new(pattern);
            let fault = |error| format!("pattern `{pattern}`: {error}");
            checked
                .map(|pattern| Some(Box::new(pattern)))
                .map_err(fault)
        }
        _ => Ok(None),
    }
}

fn undeclared(name: &str) -> Resolved {
    Err(format!("undeclared reference to '{name}'"))
}

impl Expr {
    /// The value of an expression that depends on nothing, as cel-go computes it before the evaluation.
    fn constant_if(self, is_constant: bool) -> Expr {
        if is_constant {
            Expr::Constant(evaluate::constant(&self))
        } else {
            self
        }
    }
}
