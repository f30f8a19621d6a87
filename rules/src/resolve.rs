//! The resolver of expressions: the crate `cel` parses them, and their variables and functions get what they name.

use cel::common::ast::{self, EntryExpr, Expr as Parsed, LiteralValue, operators};
use cel::parser::Parser;
use fieldmanager_structural::validation::Pattern;
use fieldmanager_value::internal::level;

use crate::check::{depth, message};
use crate::evaluate;
use crate::expression::{Expr, Fold, Program, Step};
use crate::functions::{self, Function};
use crate::literal::Literal;
use crate::value::Val;

/// The maximum nesting of an expression. Conditionals, sums and selections can nest inside each other to their limits.
const DEPTH: usize = 2_048;
/// The stack for parsing, in bytes.
const STACK: usize = if cfg!(debug_assertions) { 128 << 20 } else { 32 << 20 };

/// Parses an expression.
///
/// # Errors
///
/// The words of an API server.
pub(crate) fn parse(source: &str) -> Result<(ast::IdedExpr, ast::SourceInfo), String> {
    if let Some(fault) = depth::fault(source) {
        return Err(fault);
    }
    let parser = Parser::new().enable_optional_syntax(true).enable_ident_escape_syntax(true);
    parser.max_recursion_depth(u16::MAX).parse_with_source_info(source).map_err(|found| {
        let shown = found.errors.iter().take(100).map(|error| {
            let [line, column] =
                [error.pos.0, error.pos.1].map(|place| usize::try_from(place - 1).unwrap_or(0));
            message::at(source, line, column, &error.msg)
        });
        shown.collect::<Vec<_>>().join("\n")
    })
}

/// Runs what parses and walks expressions, which nest as deep as [`DEPTH`] allows.
pub(crate) fn with_stack<R>(run: impl FnOnce() -> R) -> R {
    stacker::grow(STACK, run)
}

/// Parses and resolves an expression.
pub(crate) fn compile(source: &str) -> Result<Program, String> {
    with_stack(|| {
        let (parsed, _) = parse(source).map_err(|text| text.lines().next().unwrap_or_default().to_owned())?;
        resolve(&parsed)
    })
}

/// Resolves the names of a parsed expression.
pub(crate) fn resolve(parsed: &ast::IdedExpr) -> Result<Program, String> {
    let mut resolver = Resolver { names: vec!["self".into(), "oldSelf".into()], uses_old_self: false };
    let expr = resolver.expr(&parsed.expr, 0)?;
    Ok(Program { expr, uses_old_self: resolver.uses_old_self })
}

struct Resolver {
    /// The names of the variables in scope.
    names: Vec<String>,
    uses_old_self: bool,
}

type Resolved = Result<Expr, String>;

impl Resolver {
    fn expr(&mut self, parsed: &Parsed, depth: usize) -> Resolved {
        if depth > DEPTH {
            return Err(format!("the expression nests deeper than {DEPTH} levels"));
        }
        level(|| match parsed {
            Parsed::Unspecified => Err("the expression is empty".to_owned()),
            Parsed::Literal(literal) => Ok(Expr::from(Literal::of(literal).value())),
            Parsed::Ident(name) => self.name(name),
            Parsed::Select(select) => self.select(select, depth),
            Parsed::Call(call) => self.call(call, depth),
            Parsed::List(list) => {
                let items = list.elements.iter().enumerate();
                let resolved = items.map(|(at, item)| {
                    Ok((self.expr(&item.expr, depth + 1)?, list.optional_indices.contains(&at)))
                });
                let items = resolved.collect::<Result<Vec<_>, String>>()?;
                let is_constant = items.iter().all(|(item, _)| item.is_constant());
                Ok(Expr::List(items).constant_if(is_constant))
            }
            Parsed::Map(map) => {
                let mut entries = Vec::with_capacity(map.entries.len());
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else {
                        return Err("a map has an entry without a key".to_owned());
                    };
                    let key = self.expr(&entry.key.expr, depth + 1)?;
                    entries.push((key, self.expr(&entry.value.expr, depth + 1)?, entry.optional));
                }
                let is_constant =
                    entries.iter().all(|(key, value, _)| key.is_constant() && value.is_constant());
                Ok(Expr::Map(entries).constant_if(is_constant))
            }
            Parsed::Struct(_) => Err("messages cannot be constructed".to_owned()),
            Parsed::Comprehension(comprehension) => self.comprehension(comprehension, depth),
        })
    }

    fn boxed(&mut self, parsed: &ast::IdedExpr, depth: usize) -> Result<Box<Expr>, String> {
        Ok(Box::new(self.expr(&parsed.expr, depth + 1)?))
    }

    fn variable(&self, name: &str) -> Option<usize> {
        self.names.iter().rposition(|known| known == name)
    }

    fn name(&mut self, name: &str) -> Resolved {
        if let Some(at) = self.variable(name) {
            self.uses_old_self |= at == 1;
            return Ok(Expr::Variable(at));
        }
        match type_named(name) {
            Some(name) => Ok(Expr::from(Val::Type(name))),
            None => undeclared(name),
        }
    }

    fn select(&mut self, select: &ast::SelectExpr, depth: usize) -> Resolved {
        if let Some(name) =
            qualified(&select.operand.expr).map(|operand| format!("{operand}.{}", select.field))
            && let Some(name) = type_named(&name)
        {
            return Ok(Expr::from(Val::Type(name)));
        }
        let operand = self.boxed(&select.operand, depth)?;
        let field = select.field.as_str().into();
        Ok(Expr::Select { operand, field, is_test: select.test, is_optional: false })
    }

    fn call(&mut self, call: &ast::CallExpr, depth: usize) -> Resolved {
        let name = call.func_name.as_str();
        match (name, call.args.as_slice()) {
            (operators::LOGICAL_AND, [a, b]) => {
                return Ok(Expr::And(self.boxed(a, depth)?, self.boxed(b, depth)?));
            }
            (operators::LOGICAL_OR, [a, b]) => {
                return Ok(Expr::Or(self.boxed(a, depth)?, self.boxed(b, depth)?));
            }
            (operators::NOT_STRICTLY_FALSE, [a]) => {
                return Ok(Expr::NotStrictlyFalse(self.boxed(a, depth)?));
            }
            (operators::CONDITIONAL, [a, b, c]) => {
                let parts = [a, b, c].map(|part| self.expr(&part.expr, depth + 1));
                let [a, b, c] = parts;
                return Ok(Expr::Conditional(Box::new([a?, b?, c?])));
            }
            (operators::EQUALS | operators::NOT_EQUALS, [a, b]) => {
                let is_equal = name == operators::EQUALS;
                return Ok(Expr::Equal(self.boxed(a, depth)?, self.boxed(b, depth)?, is_equal));
            }
            (operators::INDEX | operators::OPT_INDEX, [operand, index]) => {
                let is_optional = name == operators::OPT_INDEX;
                let (operand, index) = (self.boxed(operand, depth)?, self.boxed(index, depth)?);
                return Ok(Expr::Index { operand, index, is_optional });
            }
            (operators::OPT_SELECT, [operand, field]) => {
                let Parsed::Literal(LiteralValue::String(field)) = &field.expr else {
                    return Err("an optional selection needs the name of a field".to_owned());
                };
                let operand = self.boxed(operand, depth)?;
                let field = field.inner().into();
                return Ok(Expr::Select { operand, field, is_test: false, is_optional: true });
            }
            _ => {}
        }
        if let Some(target) = &call.target {
            if let Some(macro_call) = self.macro_call(target, name, &call.args, depth) {
                return macro_call;
            }
            // A function whose name has dots, such as `ip.isCanonical`.
            if let Parsed::Ident(space) = &target.expr
                && self.variable(space).is_none()
                && let Some(function) = functions::global_named(&format!("{space}.{name}"), call.args.len())
            {
                return self.function(function, None, &call.args, depth);
            }
        }
        let target = call.target.as_deref();
        let found = match target {
            Some(_) => functions::member_named(name, call.args.len() + 1),
            None => functions::global_named(name, call.args.len()),
        };
        found.map_or_else(|| undeclared(name), |function| self.function(function, target, &call.args, depth))
    }

    fn function(
        &mut self,
        function: &'static Function,
        target: Option<&ast::IdedExpr>,
        arguments: &[ast::IdedExpr],
        depth: usize,
    ) -> Resolved {
        let all = target.into_iter().chain(arguments);
        let arguments: Vec<Expr> =
            all.map(|argument| self.expr(&argument.expr, depth + 1)).collect::<Result<_, _>>()?;
        let mut constant = None;
        if function.has_regex
            && let Some(Expr::Constant(Ok(Val::String(pattern)))) = arguments.get(1)
        {
            let checked = Pattern::new(pattern);
            constant = Some(Box::new(checked.map_err(|error| format!("pattern `{pattern}`: {error}"))?));
        }
        let is_constant = function.is_conversion() && arguments.iter().all(Expr::is_constant);
        Ok(Expr::Call { function, arguments, pattern: constant }.constant_if(is_constant))
    }

    /// Resolves a macro that the parser does not expand; `None` if the call is no macro.
    fn macro_call(
        &mut self,
        target: &ast::IdedExpr,
        name: &str,
        arguments: &[ast::IdedExpr],
        depth: usize,
    ) -> Option<Resolved> {
        let names = |count: usize| -> Option<Vec<&str>> {
            let names = arguments.get(..count)?.iter().map(|argument| match &argument.expr {
                Parsed::Ident(name) => Some(name.as_str()),
                _ => None,
            });
            names.collect()
        };
        match (name, arguments) {
            ("or" | "orValue", [other]) => {
                let parts = [target, other].map(|part| self.boxed(part, depth));
                let [operand, other] = parts;
                let is_value = name == "orValue";
                Some(operand.and_then(|operand| Ok(Expr::Fallback { operand, other: other?, is_value })))
            }
            ("optMap" | "optFlatMap" | "sortBy", [_, body]) => {
                let names = names(1)?;
                Some(self.one_variable(target, name, names.first()?, body, depth))
            }
            (
                "all" | "exists" | "existsOne" | "exists_one" | "transformList" | "transformMap"
                | "transformMapEntry",
                [_, _, rest @ ..],
            ) if matches!(rest.len(), 1 | 2) => {
                let names = names(2)?;
                let (condition, body) = match rest {
                    [body] => (None, body),
                    [condition, body] if name.starts_with("transform") => (Some(condition), body),
                    _ => return None,
                };
                Some(self.two_variables(target, name, &names, condition, body, depth))
            }
            _ => None,
        }
    }

    fn one_variable(
        &mut self,
        target: &ast::IdedExpr,
        name: &str,
        variable: &str,
        body: &ast::IdedExpr,
        depth: usize,
    ) -> Resolved {
        let operand = self.boxed(target, depth)?;
        let slot = self.names.len();
        self.names.push(variable.to_owned());
        let body = self.boxed(body, depth);
        self.names.truncate(slot);
        let body = body?;
        Ok(match name {
            "sortBy" => Expr::SortBy { operand, variable: slot, key: body },
            _ => Expr::OptionalMap { operand, variable: slot, body, is_flat: name == "optFlatMap" },
        })
    }

    fn two_variables(
        &mut self,
        target: &ast::IdedExpr,
        name: &str,
        variables: &[&str],
        condition: Option<&ast::IdedExpr>,
        body: &ast::IdedExpr,
        depth: usize,
    ) -> Resolved {
        let range = self.expr(&target.expr, depth + 1)?;
        let slot = self.names.len();
        self.names.push("@result".to_owned());
        self.names.extend(variables.iter().map(|name| (*name).to_owned()));
        let condition = condition.map(|condition| self.expr(&condition.expr, depth + 1)).transpose();
        let body = self.expr(&body.expr, depth + 1);
        self.names.truncate(slot);
        let (condition, body) = (condition?, body?);
        let accumulator = || Box::new(Expr::Variable(slot));
        let int = |number: i64| Expr::from(Val::Int(number));
        let (initial, stop, step) = match name {
            "all" => (
                Expr::from(Val::Bool(true)),
                Some(Expr::NotStrictlyFalse(accumulator())),
                Step::Set(Expr::And(accumulator(), Box::new(body))),
            ),
            "exists" => (
                Expr::from(Val::Bool(false)),
                Some(Expr::NotStrictlyFalse(Box::new(called(
                    operators::LOGICAL_NOT,
                    vec![Expr::Variable(slot)],
                )?))),
                Step::Set(Expr::Or(accumulator(), Box::new(body))),
            ),
            "existsOne" | "exists_one" => {
                let next = called(operators::ADD, vec![Expr::Variable(slot), int(1)])?;
                let step = Expr::Conditional(Box::new([body, next, Expr::Variable(slot)]));
                (int(0), None, Step::Set(step))
            }
            "transformList" => {
                (Expr::List(Vec::new()).constant_if(true), None, Step::Append(condition, body))
            }
            name => {
                let step = Step::Insert { condition, value: body, is_entry: name == "transformMapEntry" };
                (Expr::Map(Vec::new()).constant_if(true), None, step)
            }
        };
        let result = match name {
            "existsOne" | "exists_one" => Expr::Equal(accumulator(), Box::new(int(1)), true),
            _ => Expr::Variable(slot),
        };
        let fold = Fold { range, slot, has_two: true, initial, condition: stop, step, result };
        Ok(Expr::Fold(Box::new(fold)))
    }

    fn comprehension(&mut self, parsed: &ast::ComprehensionExpr, depth: usize) -> Resolved {
        let range = self.expr(&parsed.iter_range.expr, depth + 1)?;
        let initial = self.expr(&parsed.accu_init.expr, depth + 1)?;
        let slot = self.names.len();
        self.names.push(parsed.accu_var.clone());
        self.names.push(parsed.iter_var.clone());
        let parts = self.loop_parts(parsed, slot, depth);
        self.names.truncate(slot + 1);
        let result = self.expr(&parsed.result.expr, depth + 1);
        self.names.truncate(slot);
        let (condition, step) = parts?;
        Ok(Expr::Fold(Box::new(Fold {
            range,
            slot,
            has_two: false,
            initial,
            condition,
            step,
            result: result?,
        })))
    }

    fn loop_parts(
        &mut self,
        parsed: &ast::ComprehensionExpr,
        slot: usize,
        depth: usize,
    ) -> Result<(Option<Expr>, Step), String> {
        let condition = match &parsed.loop_cond.expr {
            Parsed::Literal(LiteralValue::Boolean(flag)) if *flag.inner() => None,
            other => Some(self.expr(other, depth + 1)?),
        };
        let step = self.expr(&parsed.loop_step.expr, depth + 1)?;
        Ok((condition, as_append(step, slot)))
    }
}

/// Recognizes `result + [item]`, with or without a condition, which would copy the list at each step.
fn as_append(step: Expr, slot: usize) -> Step {
    match step {
        Expr::Conditional(parts) => match *parts {
            [condition, then, Expr::Variable(at)] if at == slot => match appended(then, slot) {
                Ok(item) => Step::Append(Some(condition), item),
                Err(then) => Step::Set(Expr::Conditional(Box::new([condition, then, Expr::Variable(at)]))),
            },
            parts => Step::Set(Expr::Conditional(Box::new(parts))),
        },
        other => appended(other, slot).map_or_else(Step::Set, |item| Step::Append(None, item)),
    }
}

/// The item that an expression appends to the accumulator, or the expression if it is another one.
fn appended(mut step: Expr, slot: usize) -> Result<Expr, Expr> {
    if let Expr::Call { function, arguments, .. } = &mut step
        && function.name == operators::ADD
        && let [Expr::Variable(at), Expr::List(items)] = arguments.as_mut_slice()
        && *at == slot
        && matches!(items.as_slice(), [(_, false)])
        && let Some((item, _)) = items.pop()
    {
        return Ok(item);
    }
    Err(step)
}

fn undeclared(name: &str) -> Resolved {
    Err(format!("undeclared reference to '{name}'"))
}

/// A call of an operator.
fn called(operator: &str, arguments: Vec<Expr>) -> Resolved {
    match functions::global_named(operator, arguments.len()) {
        Some(function) => Ok(Expr::Call { function, arguments, pattern: None }),
        None => Err(format!("the operator `{operator}` is unknown")),
    }
}

/// The name with dots that an expression spells.
fn qualified(parsed: &Parsed) -> Option<String> {
    match parsed {
        Parsed::Ident(name) => Some(name.clone()),
        Parsed::Select(select) if !select.test => match &select.operand.expr {
            Parsed::Ident(name) => Some(format!("{name}.{}", select.field)),
            _ => None,
        },
        _ => None,
    }
}

fn type_named(name: &str) -> Option<&'static str> {
    const TYPES: [&str; 18] = [
        "null_type",
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "type",
        "optional_type",
        "google.protobuf.Duration",
        "google.protobuf.Timestamp",
        "net.IP",
        "net.CIDR",
        "kubernetes.URL",
        "kubernetes.Quantity",
        "kubernetes.Semver",
    ];
    TYPES.into_iter().find(|known| *known == name)
}

impl Expr {
    /// The value of an expression that depends on nothing, as cel-go computes it before the evaluation.
    fn constant_if(self, is_constant: bool) -> Expr {
        if is_constant { Expr::Constant(evaluate::constant(&self)) } else { self }
    }
}
