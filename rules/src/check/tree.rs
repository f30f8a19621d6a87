//! Expressions as a list of nodes, in which macros are expanded.

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr as Parsed, IdedExpr, SourceInfo, operators,
};
use fieldmanager_value::internal::level;

use crate::literal::Literal;

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
    Literal(Literal),
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
    /// A message, which cannot be made.
    Message(String),
    Fold(Box<Fold>),
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
            Form::Literal(_) | Form::Name(_) | Form::Message(_) => Vec::new(),
            Form::Select { operand, .. } => vec![*operand],
            Form::Call { target, arguments, .. } => target.iter().chain(arguments).copied().collect(),
            Form::List(items) => items.iter().map(|(item, _)| *item).collect(),
            Form::Map(entries) => entries.iter().flat_map(|(key, value, _)| [*key, *value]).collect(),
            Form::Fold(fold) => vec![fold.range, fold.initial, fold.condition, fold.step, fold.result],
        }
    }
}

/// Makes the nodes of an expression. A node may be used twice: macros of optional values copy their target.
pub(crate) struct Tree<'p> {
    source: &'p SourceInfo,
    pub(crate) nodes: Vec<Node>,
    /// Macros with wrong arguments: the place and the reason.
    pub(crate) faults: Vec<(usize, String)>,
}

const RESULT: &str = "@result";

impl<'p> Tree<'p> {
    pub(crate) fn new(source: &'p SourceInfo) -> Self {
        Tree { source, nodes: Vec::new(), faults: Vec::new() }
    }

    fn offset(&self, parsed: u64) -> usize {
        self.source.offset_for(parsed).map_or(0, |(start, _)| start as usize)
    }

    fn node(&mut self, offset: usize, form: Form) -> Id {
        self.nodes.push(Node { offset, form });
        self.nodes.len() - 1
    }

    pub(crate) fn add(&mut self, parsed: &IdedExpr) -> Id {
        level(|| {
            let offset = self.offset(parsed.id);
            let form = match &parsed.expr {
                Parsed::Unspecified => Form::Literal(Literal::Null),
                Parsed::Literal(literal) => Form::Literal(Literal::of(literal)),
                Parsed::Ident(name) => Form::Name(name.clone()),
                Parsed::Select(select) => {
                    let operand = self.add(&select.operand);
                    Form::Select { operand, field: select.field.clone(), is_test: select.test }
                }
                Parsed::Call(call) => return self.call(offset, call),
                Parsed::List(list) => {
                    let items = list.elements.iter().enumerate();
                    Form::List(
                        items
                            .map(|(at, item)| (self.add(item), list.optional_indices.contains(&at)))
                            .collect(),
                    )
                }
                Parsed::Map(map) => {
                    let mut entries = Vec::with_capacity(map.entries.len());
                    for entry in &map.entries {
                        if let EntryExpr::MapEntry(entry) = &entry.expr {
                            entries.push((self.add(&entry.key), self.add(&entry.value), entry.optional));
                        }
                    }
                    Form::Map(entries)
                }
                Parsed::Struct(message) => Form::Message(message.type_name.clone()),
                Parsed::Comprehension(parsed) => self.comprehension(parsed),
            };
            self.node(offset, form)
        })
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

    fn call(&mut self, offset: usize, call: &CallExpr) -> Id {
        let target = call.target.as_deref().map(|target| self.add(target));
        let arguments: Vec<Id> = call.args.iter().map(|argument| self.add(argument)).collect();
        let made = target.and_then(|target| match (call.func_name.as_str(), arguments.as_slice()) {
            (name @ ("optMap" | "optFlatMap"), [variable, body]) => {
                let fault = format!("{name}() variable name must be a simple identifier");
                Some(self.optional_map(offset, target, (*variable, &fault), *body, name == "optMap"))
            }
            ("sortBy", [variable, key]) => Some(self.sort_by(offset, target, *variable, *key)),
            (
                name @ ("all" | "exists" | "existsOne" | "exists_one" | "transformList" | "transformMap"
                | "transformMapEntry"),
                [first, second, rest @ ..],
            ) => match rest {
                [body] => Some(self.two_variables(offset, name, target, [*first, *second], None, *body)),
                [filter, body] if name.starts_with("transform") => {
                    Some(self.two_variables(offset, name, target, [*first, *second], Some(*filter), *body))
                }
                _ => None,
            },
            _ => None,
        });
        match made {
            Some(made) => made,
            None => self.node(offset, Form::Call { function: call.func_name.clone(), target, arguments }),
        }
    }

    /// The name that an argument of a macro is.
    fn variable(&mut self, argument: Id, fault: &str) -> String {
        match self.nodes.get(argument) {
            Some(Node { form: Form::Name(name), .. }) => name.clone(),
            node => {
                let offset = node.map_or(0, |node| node.offset);
                self.faults.push((offset, fault.to_owned()));
                String::new()
            }
        }
    }

    fn global(&mut self, offset: usize, function: &str, arguments: &[Id]) -> Id {
        let (function, arguments) = (function.to_owned(), arguments.to_vec());
        self.node(offset, Form::Call { function, target: None, arguments })
    }

    fn member(&mut self, offset: usize, target: Id, function: &str, arguments: &[Id]) -> Id {
        let (function, arguments) = (function.to_owned(), arguments.to_vec());
        self.node(offset, Form::Call { function, target: Some(target), arguments })
    }

    fn literal(&mut self, offset: usize, literal: Literal) -> Id {
        self.node(offset, Form::Literal(literal))
    }

    fn name(&mut self, offset: usize, name: &str) -> Id {
        self.node(offset, Form::Name(name.to_owned()))
    }

    /// A value with a name, in an expression that uses it.
    fn binding(&mut self, offset: usize, name: &str, initial: Id, result: Id) -> Id {
        let fold = Fold {
            range: self.node(offset, Form::List(Vec::new())),
            variable: "#unused".to_owned(),
            second: None,
            result_name: name.to_owned(),
            initial,
            condition: self.literal(offset, Literal::Bool(false)),
            step: self.name(offset, name),
            result,
            is_binding: true,
        };
        self.node(offset, Form::Fold(Box::new(fold)))
    }

    fn optional_map(
        &mut self,
        offset: usize,
        target: Id,
        (variable, fault): (Id, &str),
        body: Id,
        wraps: bool,
    ) -> Id {
        let name = self.variable(variable, fault);
        let has_value = self.member(offset, target, "hasValue", &[]);
        let value = self.member(offset, target, "value", &[]);
        let mut some = self.binding(offset, &name, value, body);
        if wraps {
            some = self.global(offset, "optional.of", &[some]);
        }
        let none = self.global(offset, "optional.none", &[]);
        self.global(offset, operators::CONDITIONAL, &[has_value, some, none])
    }

    fn sort_by(&mut self, offset: usize, target: Id, variable: Id, key: Id) -> Id {
        const INPUT: &str = "@__sortBy_input__";
        let variable = self.variable(variable, "argument is not an identifier");
        let [range, input] = [(); 2].map(|()| self.name(offset, INPUT));
        let step = self.appended(offset, key);
        let keys = self.fold(offset, range, (variable, None), (Form::List(Vec::new()), step), [None, None]);
        let sorted = self.member(offset, input, "@sortByAssociatedKeys", &[keys]);
        self.binding(offset, INPUT, target, sorted)
    }

    /// The accumulator, a list, with one more item.
    fn appended(&mut self, offset: usize, item: Id) -> Id {
        let (result, item) = (self.name(offset, RESULT), self.node(offset, Form::List(vec![(item, false)])));
        self.global(offset, operators::ADD, &[result, item])
    }

    /// A comprehension. Without another condition and result, it visits all items and results in the accumulator.
    fn fold(
        &mut self,
        offset: usize,
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
            initial: self.node(offset, initial),
            condition: condition.unwrap_or_else(|| self.literal(offset, Literal::Bool(true))),
            step,
            result: result.unwrap_or_else(|| self.name(offset, RESULT)),
            is_binding: false,
        };
        self.node(offset, Form::Fold(Box::new(fold)))
    }

    fn two_variables(
        &mut self,
        offset: usize,
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
            let at = self.nodes.get(second).map_or(0, |node| node.offset);
            self.faults.push((at, format!("duplicate variable name: {first}")));
        }
        // The accumulator is used at most twice.
        let [result, other] = [(); 2].map(|()| self.name(offset, RESULT));
        let (initial, mut step, ends) = match name {
            "all" => {
                let goes_on = self.global(offset, operators::NOT_STRICTLY_FALSE, &[other]);
                let step = self.global(offset, operators::LOGICAL_AND, &[result, body]);
                (Form::Literal(Literal::Bool(true)), step, [Some(goes_on), None])
            }
            "exists" => {
                let not = self.global(offset, operators::LOGICAL_NOT, &[other]);
                let goes_on = self.global(offset, operators::NOT_STRICTLY_FALSE, &[not]);
                let step = self.global(offset, operators::LOGICAL_OR, &[result, body]);
                (Form::Literal(Literal::Bool(false)), step, [Some(goes_on), None])
            }
            "existsOne" | "exists_one" => {
                let [one, same] = [(); 2].map(|()| self.literal(offset, Literal::Int(1)));
                let more = self.global(offset, operators::ADD, &[result, one]);
                let last = self.name(offset, RESULT);
                let is_one = self.global(offset, operators::EQUALS, &[last, same]);
                let step = self.global(offset, operators::CONDITIONAL, &[body, more, other]);
                (Form::Literal(Literal::Int(0)), step, [None, Some(is_one)])
            }
            "transformList" => (Form::List(Vec::new()), self.appended(offset, body), [None, None]),
            _ => {
                let key = (name == "transformMap").then(|| self.name(offset, &first));
                let arguments: Vec<Id> = [result].into_iter().chain(key).chain([body]).collect();
                let step = self.global(offset, "cel.@mapInsert", &arguments);
                (Form::Map(Vec::new()), step, [None, None])
            }
        };
        if let Some(filter) = filter {
            step = self.global(offset, operators::CONDITIONAL, &[filter, step, other]);
        }
        self.fold(offset, range, (first, Some(second)), (initial, step), ends)
    }
}
