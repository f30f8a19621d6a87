//! Expressions as a list of nodes, in which macros are expanded.

use std::collections::BTreeSet;

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr as Parsed, IdedExpr, LiteralValue, SourceInfo,
    operators,
};
use cel::parser::Parser;
use fieldmanager_value::internal::level;

use crate::check::{depth, message};
use crate::value::Val;

/// The stack for parsing, in bytes.
const STACK: usize = if cfg!(debug_assertions) {
    128 << 20
} else {
    32 << 20
};

/// The number of a node.
pub(crate) type Id = usize;

/// A part of an expression.
#[derive(Debug)]
pub(crate) struct Node {
    /// Where the source begins that the node was made from, in bytes.
    pub(crate) offset: usize,
    pub(crate) form: Form,
}

#[derive(Clone, Debug)]
pub(crate) enum Form {
    Literal(Val<'static>),
    Name(String),
    Select {
        operand: Id,
        field: String,
        is_test: bool,
    },
    Call {
        function: String,
        target: Option<Id>,
        arguments: Vec<Id>,
    },
    List(Vec<(Id, bool)>),
    Map(Vec<(Id, Id, bool)>),
    Message(MessageForm),
    Fold(Box<Fold>),
}

/// A value of a type with fields.
#[derive(Clone, Debug)]
pub(crate) struct MessageForm {
    /// The name of the type, which may begin with a dot.
    pub(crate) name: String,
    pub(crate) fields: Vec<MessageField>,
}

/// A field of a message.
#[derive(Clone, Debug)]
pub(crate) struct MessageField {
    /// Where its colon is, in bytes.
    pub(crate) offset: usize,
    pub(crate) name: String,
    pub(crate) value: Id,
    pub(crate) is_optional: bool,
}

/// A comprehension.
#[derive(Clone, Debug)]
pub(crate) struct Fold {
    pub(crate) range: Id,
    pub(crate) variable: String,
    pub(crate) second: Option<String>,
    pub(crate) result_name: String,
    pub(crate) initial: Id,
    pub(crate) condition: Id,
    pub(crate) step: Id,
    pub(crate) result: Id,
    /// Whether it only names a value: the range is empty.
    pub(crate) is_binding: bool,
}

impl Form {
    /// The nodes that this one uses.
    pub(crate) fn children(&self) -> Vec<Id> {
        match self {
            Form::Literal(_) | Form::Name(_) => Vec::new(),
            Form::Message(message) => message.fields.iter().map(|field| field.value).collect(),
            Form::Select { operand, .. } => vec![*operand],
            Form::Call {
                target, arguments, ..
            } => target.iter().chain(arguments).copied().collect(),
            Form::List(items) => items.iter().map(|(item, _)| *item).collect(),
            Form::Map(entries) => entries
                .iter()
                .flat_map(|(key, value, _)| [*key, *value])
                .collect(),
            Form::Fold(fold) => vec![
                fold.range,
                fold.initial,
                fold.condition,
                fold.step,
                fold.result,
            ],
        }
    }
}

/// An expression. A node follows those that it uses.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) root: Id,
    /// The nodes that are used twice: macros of optional values copy their target.
    pub(crate) shared: BTreeSet<Id>,
}

/// The macro with two variables.
const EXISTS_ONE: &str = "existsOne";

impl Tree {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// The words of an API server.
    pub(crate) fn parse(source: &str) -> Result<Tree, String> {
        // Expressions that nest too deep are refused first, so the limit of the parser, which has other words, is not
        // reached.
        if let Some(fault) = depth::fault(source) {
            return Err(fault);
        }
        let parser = Parser::new()
            .enable_optional_syntax(true)
            .enable_ident_escape_syntax(true)
            .max_recursion_depth(u16::MAX);
        let (parsed, info) = parser.parse_with_source_info(source).map_err(|found| {
            let shown = found.errors.iter().take(100).map(|error| {
                let [line, column] =
                    [error.pos.0, error.pos.1].map(|place| usize::try_from(place - 1).unwrap_or(0));
                let column = if MACRO_FAULTS.contains(&error.msg.as_str()) {
                    characters_before(source, line, column)
                } else {
                    column
                };
                let msg = reworded(source, line, column, &error.msg);
                // The parser of Go, at the end of an expression, expects nothing else.
                let end = msg
                    .split_once("{<EOF>,")
                    .map(|(start, _)| format!("{start}<EOF>"));
                let msg = end.as_deref().unwrap_or(msg);
                // The place of a negative number is that of its sign, of which there is one: others are operators.
                let text = source.split('\n').nth(line).unwrap_or_default();
                let before: String = text.chars().take(column).collect();
                let is_negative = before.ends_with('-') && !before.ends_with("--");
                let is_number = matches!(msg, "invalid int literal" | "invalid double literal");
                let column = column - usize::from(is_negative && is_number);
                message::at(source, line, column, msg)
            });

            shown.collect::<Vec<_>>().join("\n")
        })?;

        let mut builder = TreeBuilder {
            source: &info,
            tree: Tree::default(),
            offset: 0,
            faults: Vec::new(),
        };
        // Macros are expanded here, so faults of their arguments are found after the parser accepted the text.
        builder.tree.root = builder.add(&parsed);
        let faults = builder.faults;

        if faults.is_empty() {
            Ok(builder.tree)
        } else {
            Err(message::of(source, &faults, faults.len()))
        }
    }

    pub(crate) fn form(&self, at: Id) -> Option<&Form> {
        self.nodes.get(at).map(|node| &node.form)
    }

    pub(crate) fn offset(&self, at: Id) -> usize {
        self.nodes.get(at).map_or(0, |node| node.offset)
    }

    /// The name with dots that a node spells.
    pub(crate) fn spelled(&self, at: Id) -> Option<String> {
        match self.form(at)? {
            Form::Name(name) => Some(name.clone()),
            Form::Select {
                operand,
                field,
                is_test: false,
            } => level(|| self.spelled(*operand)).map(|before| format!("{before}.{field}")),
            _ => None,
        }
    }
}

/// The faults of macros, whose columns the parser counts in bytes; it counts those of its syntax in characters.
const MACRO_FAULTS: [&str; 2] = [
    "argument must be a simple name",
    "invalid argument to has() macro",
];

/// The number of characters before a byte of a line.
fn characters_before(source: &str, line: usize, byte: usize) -> usize {
    let text = source.split('\n').nth(line).unwrap_or_default();
    text.char_indices().take_while(|(at, _)| *at < byte).count()
}

/// The words of cel-go for a fault of a macro, which the parser calls the same for all.
fn reworded<'m>(source: &str, line: usize, column: usize, message: &'m str) -> &'m str {
    let lines = source.split('\n').take(line);
    let before = lines.map(|line| line.chars().count() + 1).sum::<usize>() + column;
    let text: String = source.chars().take(before).collect();
    let name = text.rsplit_once('(').map_or("", |(name, _)| name);
    let is_list = [".map", ".filter"]
        .iter()
        .any(|name_of| name.trim_end().ends_with(name_of));

    match message {
        "argument must be a simple name" if is_list => "argument is not an identifier",
        text if text.starts_with("invalid string literal: InvalidUnicode") => {
            "invalid unicode code point"
        }
        text if text.starts_with("invalid bytes literal: InvalidEscape") => {
            "unable to unescape string"
        }
        other => other,
    }
}

/// Runs what parses and walks expressions, which nest deep.
pub(crate) fn with_stack<R>(run: impl FnOnce() -> R) -> R {
    stacker::grow(STACK, run)
}

/// Makes the nodes of an expression.
struct TreeBuilder<'p> {
    source: &'p SourceInfo,
    tree: Tree,
    /// The offset of the nodes that are made.
    offset: usize,
    /// Macros with wrong arguments: the place and the reason.
    faults: Vec<(usize, String)>,
}

const RESULT: &str = "@result";

impl TreeBuilder<'_> {
    fn node(&mut self, form: Form) -> Id {
        let offset = self.offset;
        self.tree.nodes.push(Node { offset, form });
        self.tree.nodes.len() - 1
    }

    fn add(&mut self, parsed: &IdedExpr) -> Id {
        level(|| {
            // Nodes below are added first: other walks rely on a node following those that it uses.
            let form = match &parsed.expr {
                Parsed::Unspecified => Form::Literal(Val::Null),
                Parsed::Literal(literal) => Form::Literal(constant(literal)),
                Parsed::Ident(name) => Form::Name(name.clone()),
                Parsed::Select(select) => Form::Select {
                    operand: self.add(&select.operand),
                    field: select.field.clone(),
                    is_test: select.test,
                },
                Parsed::Call(call) => return self.call(parsed.id, call),
                Parsed::List(list) => {
                    let items = list.elements.iter().enumerate();
                    Form::List(
                        items
                            .map(|(at, item)| (self.add(item), list.optional_indices.contains(&at)))
                            .collect(),
                    )
                }
                Parsed::Map(map) => {
                    let entries = map.entries.iter().filter_map(|entry| match &entry.expr {
                        EntryExpr::MapEntry(entry) => Some(entry),
                        EntryExpr::StructField(_) => None,
                    });
                    let nodes = entries.map(|entry| {
                        let key = self.add(&entry.key);
                        (key, self.add(&entry.value), entry.optional)
                    });
                    Form::Map(nodes.collect())
                }
                Parsed::Struct(message) => {
                    let entries = message
                        .entries
                        .iter()
                        .filter_map(|entry| match &entry.expr {
                            EntryExpr::StructField(field) => Some((entry.id, field)),
                            EntryExpr::MapEntry(_) => None,
                        });
                    let fields = entries.map(|(id, field)| MessageField {
                        offset: self.offset_of(id),
                        name: field.field.clone(),
                        value: self.add(&field.value),
                        is_optional: field.optional,
                    });
                    Form::Message(MessageForm {
                        fields: fields.collect(),
                        name: message.type_name.clone(),
                    })
                }
                Parsed::Comprehension(fold) => match self.unexpanded(parsed.id, fold) {
                    Some(call) => return call,
                    None => self.comprehension(fold),
                },
            };
            // The nodes below have set the offset to their own places.
            self.begin(parsed.id);
            if let Form::Literal(Val::Int(..0) | Val::Double(..0.0)) = form {
                self.begin_at_sign();
            }

            self.node(form)
        })
    }

    /// Makes the following nodes from a part of the source.
    fn begin(&mut self, parsed: u64) {
        self.offset = self.offset_of(parsed);
    }

    fn offset_of(&self, parsed: u64) -> usize {
        let range = self.source.offset_for(parsed);
        range.map_or(0, |(start, _)| start as usize)
    }

    /// The place of a negative number is that of its sign; the parser has that of the digits.
    fn begin_at_sign(&mut self) {
        let before = self.source.source.get(..self.offset).unwrap_or_default();
        if let Some(before) = before.trim_end().strip_suffix('-') {
            self.offset = before.len();
        }
    }

    /// The call that was written, if only the parser knows its macro: `existsOne` with one variable.
    fn unexpanded(&mut self, id: u64, fold: &ComprehensionExpr) -> Option<Id> {
        let at = self.offset_of(id);
        let (before, after) = self.source.source.split_at_checked(at)?;
        let arguments = after.strip_prefix('(')?.trim_start();
        let Parsed::Call(step) = &fold.loop_step.expr else {
            return None;
        };
        if !before.trim_end().ends_with(EXISTS_ONE) {
            return None;
        }

        let variable_at = at + after.len() - arguments.len();
        let predicate = step.args.first()?;
        let target = self.add(&fold.iter_range);
        self.offset = variable_at;
        let variable = self.name(&fold.iter_var);
        let predicate = self.add(predicate);
        self.begin(id);
        Some(self.called(EXISTS_ONE, Some(target), &[variable, predicate]))
    }

    fn comprehension(&mut self, parsed: &ComprehensionExpr) -> Form {
        Form::Fold(Box::new(Fold {
            range: self.add(&parsed.iter_range),
            variable: parsed.iter_var.clone(),
            second: parsed.iter_var2.clone(),
            result_name: parsed.accu_var.clone(),
            initial: self.add(&parsed.accu_init),
            condition: self.add(&parsed.loop_cond),
            step: self.add(&parsed.loop_step),
            result: self.add(&parsed.result),
            is_binding: false,
        }))
    }

    fn call(&mut self, id: u64, call: &CallExpr) -> Id {
        let target = call.target.as_deref().map(|target| self.add(target));
        let arguments = call.args.iter().map(|argument| self.add(argument));
        let arguments: Vec<Id> = arguments.collect();
        // What a macro expands to has the place of the call.
        self.begin(id);
        let name = call.func_name.as_str();
        target
            .and_then(|target| self.expanded(name, target, &arguments))
            .unwrap_or_else(|| self.called(name, target, &arguments))
    }

    /// The expansion of a call, if it is a macro.
    fn expanded(&mut self, name: &str, target: Id, arguments: &[Id]) -> Option<Id> {
        match (name, arguments) {
            ("optMap" | "optFlatMap", [variable, body]) => {
                Some(self.optional_map(name, target, *variable, *body))
            }
            ("sortBy", [variable, key]) => Some(self.sort_by(target, *variable, *key)),
            ("all" | "exists" | EXISTS_ONE | "exists_one", [first, second, body]) => {
                Some(self.two_variables(name, target, [*first, *second], None, *body))
            }
            (
                "transformList" | "transformMap" | "transformMapEntry",
                [first, second, filter @ .., body],
            ) if filter.len() < 2 => {
                let filter = filter.first().copied();
                Some(self.two_variables(name, target, [*first, *second], filter, *body))
            }
            _ => None,
        }
    }

    /// The name that an argument of a macro is.
    fn variable(&mut self, argument: Id, fault: &str) -> String {
        match self.tree.form(argument) {
            Some(Form::Name(name)) => name.clone(),
            _ => {
                let offset = self.tree.offset(argument);
                self.faults.push((offset, fault.to_owned()));
                String::new()
            }
        }
    }

    fn called(&mut self, function: &str, target: Option<Id>, arguments: &[Id]) -> Id {
        self.node(Form::Call {
            function: function.to_owned(),
            target,
            arguments: arguments.to_vec(),
        })
    }

    fn global(&mut self, function: &str, arguments: &[Id]) -> Id {
        self.called(function, None, arguments)
    }

    fn literal(&mut self, literal: Val<'static>) -> Id {
        self.node(Form::Literal(literal))
    }

    fn name(&mut self, name: &str) -> Id {
        self.node(Form::Name(name.to_owned()))
    }

    /// A value with a name, in an expression that uses it.
    fn binding(&mut self, name: &str, initial: Id, result: Id) -> Id {
        // The macro of cel-go is a comprehension over an empty list, whose condition and step are never evaluated.
        let fold = Fold {
            range: self.node(Form::List(Vec::new())),
            variable: "#unused".to_owned(),
            second: None,
            result_name: name.to_owned(),
            initial,
            condition: self.literal(Val::Bool(false)),
            step: self.name(name),
            result,
            is_binding: true,
        };

        self.node(Form::Fold(Box::new(fold)))
    }

    fn optional_map(&mut self, macro_name: &str, target: Id, variable: Id, body: Id) -> Id {
        let fault = format!("{macro_name}() variable name must be a simple identifier");
        let name = self.variable(variable, &fault);
        // The target is used by the test and for the value. Sharing it keeps nested macros from doubling at each level.
        self.tree.shared.insert(target);
        let has_value = self.called("hasValue", Some(target), &[]);
        let value = self.called("value", Some(target), &[]);
        let mut some = self.binding(&name, value, body);
        if macro_name == "optMap" {
            some = self.global("optional.of", &[some]);
        }
        let none = self.global("optional.none", &[]);

        self.global(operators::CONDITIONAL, &[has_value, some, none])
    }

    fn sort_by(&mut self, target: Id, variable: Id, key: Id) -> Id {
        // The list has a name, since both the comprehension of the keys and the final call use it.
        const INPUT: &str = "@__sortBy_input__";
        let variable = self.variable(variable, "argument is not an identifier");
        let [range, input] = [(); 2].map(|()| self.name(INPUT));
        let step = self.appended(key);
        let initial = Form::List(Vec::new());
        let keys = self.fold(range, (variable, None), (initial, step), [None, None]);
        let sorted = self.called("@sortByAssociatedKeys", Some(input), &[keys]);
        self.binding(INPUT, target, sorted)
    }

    /// The accumulator, a list, with one more item.
    fn appended(&mut self, item: Id) -> Id {
        let result = self.name(RESULT);
        let item = self.node(Form::List(vec![(item, false)]));
        self.global(operators::ADD, &[result, item])
    }

    /// A comprehension. Without another condition and result, it visits all items and results in the accumulator.
    fn fold(
        &mut self,
        range: Id,
        (variable, second): (String, Option<String>),
        (initial, step): (Form, Id),
        [condition, result]: [Option<Id>; 2],
    ) -> Id {
        let fold = Fold {
            range,
            variable,
            second,
            result_name: RESULT.to_owned(),
            initial: self.node(initial),
            condition: condition.unwrap_or_else(|| self.literal(Val::Bool(true))),
            step,
            result: result.unwrap_or_else(|| self.name(RESULT)),
            is_binding: false,
        };

        self.node(Form::Fold(Box::new(fold)))
    }

    fn two_variables(
        &mut self,
        name: &str,
        range: Id,
        variables: [Id; 2],
        filter: Option<Id>,
        body: Id,
    ) -> Id {
        let [first, second] =
            variables.map(|variable| self.variable(variable, "argument must be a simple name"));
        if first == second && !first.is_empty() {
            let [_, second] = variables;
            let fault = format!("duplicate variable name: {first}");
            self.faults.push((self.tree.offset(second), fault));
        }

        // The accumulator is used at most twice.
        let [result, other] = [(); 2].map(|()| self.name(RESULT));
        let (initial, mut step, ends) = match name {
            "all" => {
                let goes_on = self.global(operators::NOT_STRICTLY_FALSE, &[other]);
                let step = self.global(operators::LOGICAL_AND, &[result, body]);
                (Form::Literal(Val::Bool(true)), step, [Some(goes_on), None])
            }
            "exists" => {
                let not = self.global(operators::LOGICAL_NOT, &[other]);
                let goes_on = self.global(operators::NOT_STRICTLY_FALSE, &[not]);
                let step = self.global(operators::LOGICAL_OR, &[result, body]);
                (Form::Literal(Val::Bool(false)), step, [Some(goes_on), None])
            }
            EXISTS_ONE | "exists_one" => {
                let [one, same] = [(); 2].map(|()| self.literal(Val::Int(1)));
                let more = self.global(operators::ADD, &[result, one]);
                let last = self.name(RESULT);
                let is_one = self.global(operators::EQUALS, &[last, same]);
                let step = self.global(operators::CONDITIONAL, &[body, more, other]);
                (Form::Literal(Val::Int(0)), step, [None, Some(is_one)])
            }
            "transformList" => (Form::List(Vec::new()), self.appended(body), [None, None]),
            _ => {
                let key = (name == "transformMap").then(|| self.name(&first));
                let arguments: Vec<Id> = [result].into_iter().chain(key).chain([body]).collect();
                let step = self.global(MAP_INSERT, &arguments);
                (Form::Map(Vec::new()), step, [None, None])
            }
        };

        if let Some(filter) = filter {
            step = self.global(operators::CONDITIONAL, &[filter, step, other]);
        }
        self.fold(range, (first, Some(second)), (initial, step), ends)
    }
}

/// The function that adds entries to the accumulator, a map.
pub(crate) const MAP_INSERT: &str = "cel.@mapInsert";

fn constant(literal: &LiteralValue) -> Val<'static> {
    match literal {
        LiteralValue::Null => Val::Null,
        LiteralValue::Boolean(flag) => Val::Bool(*flag.inner()),
        LiteralValue::Int(number) => Val::Int(*number.inner()),
        LiteralValue::UInt(number) => Val::Uint(*number.inner()),
        LiteralValue::Double(number) => Val::Double(*number.inner()),
        LiteralValue::String(text) => Val::text(text.inner()),
        LiteralValue::Bytes(bytes) => Val::Bytes(bytes.inner().into()),
    }
}
