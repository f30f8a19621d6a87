//! The functions of expressions, with the types that they take.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::check::types::Type;
use crate::value::Val;

/// One way to call a function.
#[derive(Debug)]
pub(crate) struct Overload {
    /// The name of the function, and the overload as the table has it.
    pub(crate) text: (&'static str, &'static str),
    pub(crate) is_member: bool,
    pub(crate) arguments: Vec<Type<'static>>,
    pub(crate) result: Type<'static>,
    /// The number of variables in the types, which are numbered from 0.
    pub(crate) variables: usize,
    /// The name of the estimate of its cost.
    pub(crate) cost: &'static str,
}

impl Overload {
    /// Whether it can be called with arguments. Of the items of a list, the type of the first counts, as in cel-go.
    pub(super) fn takes(&self, arguments: &[Val<'_>]) -> bool {
        self.arguments.len() == arguments.len()
            && self
                .arguments
                .iter()
                .zip(arguments)
                .all(|(declared, value)| has_type(value, declared))
    }
}

fn has_type(value: &Val<'_>, declared: &Type<'_>) -> bool {
    if let (Val::List(list), Type::List(item)) = (value, declared) {
        return match list.get(0) {
            Some(Ok(first)) => has_type(&first, item),
            _ => true,
        };
    }
    matches!(declared, Type::Dyn | Type::Variable(_)) || value.type_name() == declared.name()
}

/// A line has the names of functions and their overloads: a dot for member functions, the arguments, the result, and after
/// an equals sign the name of the estimate of the cost, unless it is 1. An estimate before the overloads is that of all
/// which have no own. Lines that begin with spaces continue the line before. Capital letters are variables.
const TABLE: &str = include_str!("overloads.txt");

static OVERLOADS: LazyLock<HashMap<&str, Vec<Overload>>> = LazyLock::new(|| {
    let mut out: HashMap<&str, Vec<Overload>> = HashMap::new();
    let (mut names, mut cost) = (Vec::new(), "");
    for line in TABLE.lines() {
        let mut overloads = line;
        if !line.starts_with(' ')
            && let Some((before, after)) = line.rsplit_once(':')
        {
            let (all, of_all) = before.split_once(" =").unwrap_or((before, ""));
            (names, cost, overloads) = (all.split(' ').collect(), of_all, after);
        }

        for text in overloads.split_whitespace() {
            for name in &names {
                out.entry(name)
                    .or_default()
                    .push(overload(name, text, cost));
            }
        }
    }

    out
});

/// The names of all functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OVERLOADS.keys().copied()
}

/// The overloads of a function; none if it does not exist. `includes` is only known to rules that are stored.
pub(crate) fn overloads(name: &str, is_stored: bool) -> &'static [Overload] {
    let name = name.strip_prefix('.').unwrap_or(name);
    if name == "includes" && !is_stored {
        return &[];
    }
    OVERLOADS.get(name).map_or(&[], Vec::as_slice)
}

fn overload(name: &'static str, text: &'static str, cost: &'static str) -> Overload {
    let (text, cost) = text.split_once('=').unwrap_or((text, cost));
    let mut reader = Reader {
        left: text,
        variables: Vec::new(),
    };
    let is_member = reader.skip(".");
    let arguments = reader.list();
    let result = reader.one();

    Overload {
        text: (name, text),
        is_member,
        arguments,
        result,
        variables: reader.variables.len(),
        cost,
    }
}

/// Reads types of the table.
struct Reader {
    left: &'static str,
    variables: Vec<&'static str>,
}

impl Reader {
    fn skip(&mut self, text: &str) -> bool {
        match self.left.strip_prefix(text) {
            Some(rest) => {
                self.left = rest;
                true
            }
            None => false,
        }
    }

    /// Types in parentheses.
    fn list(&mut self) -> Vec<Type<'static>> {
        let mut out = Vec::new();
        self.skip("(");
        while !self.left.is_empty() && !self.skip(")") {
            out.push(self.one());
            self.skip(",");
        }
        out
    }

    fn one(&mut self) -> Type<'static> {
        let end = self.left.find(['(', ')', ',']).unwrap_or(self.left.len());
        let (name, rest) = self.left.split_at_checked(end).unwrap_or((self.left, ""));
        self.left = rest;
        let mut parameters = if rest.starts_with('(') {
            self.list()
        } else {
            Vec::new()
        };
        let last = parameters.pop().unwrap_or(Type::Dyn);

        match name {
            "dyn" => Type::Dyn,
            "list" => Type::list(last),
            "map" => Type::map(parameters.pop().unwrap_or(Type::Dyn), last),
            "optional_type" => Type::optional(last),
            "type" => Type::Meta(Some(last.into())),
            name if name.contains('.') => Type::Named(name),
            name if name.starts_with(char::is_uppercase) => {
                let known = self.variables.iter().position(|variable| *variable == name);
                Type::Variable(known.unwrap_or_else(|| {
                    self.variables.push(name);
                    self.variables.len() - 1
                }))
            }
            name => Type::Plain(name),
        }
    }
}
