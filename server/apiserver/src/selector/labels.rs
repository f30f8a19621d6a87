//! Label selectors.
//!
//! Behaviour: `k8s.io/apimachinery/pkg/labels`.

use std::collections::BTreeSet;

use fieldmanager_structural::internal::{label_value, qualified_name};
use fieldmanager_value::{Value, internal::go_format::quote};

use super::SelectorError;

/// A condition on the labels of an object: all of its requirements.
///
/// The syntax is that of the parameter `labelSelector`: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`,
/// `a>1`, `a<1`, separated by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(pub(super) Vec<Requirement>);

/// A condition on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    pub(super) key: String,
    pub(super) operator: Operator,
    /// Sorted, without duplicates: at least one for [`Operator::In`] and [`Operator::NotIn`], none for
    /// [`Operator::Exists`] and [`Operator::DoesNotExist`], otherwise one.
    pub(super) values: Vec<String>,
}

/// How a requirement relates a label to its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    /// `key in (values)`: the label has one of the values.
    In,
    /// `key notin (values)`: the label is absent or has another value.
    NotIn,
    /// `key=value`.
    Equals,
    /// `key==value`, with the same meaning.
    DoubleEquals,
    /// `key!=value`: the label is absent or has another value.
    NotEquals,
    /// `key`: the label is present.
    Exists,
    /// `!key`: the label is absent.
    DoesNotExist,
    /// `key>value`: the label is an integer greater than the value.
    GreaterThan,
    /// `key<value`: the label is an integer less than the value.
    LessThan,
}

/// The operators between a key and values, as messages list them.
const BINARY_OPERATORS: &str = ", expected: in, notin, =, ==, !=, gt, lt";

const NO_INTEGER: &str = "for 'Gt', 'Lt' operators, the value must be an integer";

impl LabelSelector {
    /// Reads a selector. The empty string selects everything.
    ///
    /// # Errors
    /// The message of kube-apiserver, which it answers with code 400, if the string is not a selector or has a key or a
    /// value that labels cannot have.
    pub(crate) fn parse(selector: &str) -> Result<Self, SelectorError> {
        let mut parser = Parser {
            tokens: tokens(selector),
            next: 0,
        };
        let mut requirements = parser.selector().map_err(SelectorError)?;
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self(requirements))
    }

    /// Reports whether the selector selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reports whether an object is selected, given the whole object.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = object
            .get("metadata")
            .and_then(|metadata| metadata.get("labels"));
        self.matches_labels(|key| {
            labels
                .and_then(|labels| labels.get(key))
                .and_then(Value::as_str)
        })
    }

    /// Reports whether labels are selected, given a function from a key to the value of the label.
    pub(crate) fn matches_labels<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.0
            .iter()
            .all(|requirement| requirement.matches(label(&requirement.key)))
    }
}

impl Requirement {
    fn new(key: String, operator: Operator, values: BTreeSet<String>) -> Result<Self, String> {
        let mut faults = Vec::new();
        if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
            for (at, value) in values
                .iter()
                .enumerate()
                .filter(|(_, value)| value.parse::<i64>().is_err())
            {
                faults.push(invalid(&format!("values[{at}]"), value, NO_INTEGER));
            }
        }

        for (at, value) in values.iter().enumerate() {
            let found = label_value(value);
            if !found.is_empty() {
                faults.push(invalid(
                    &format!("values[{at}][{key}]"),
                    value,
                    &found.join("; "),
                ));
            }
        }

        match faults.as_slice() {
            [] => Ok(Self {
                key,
                operator,
                values: values.into_iter().collect(),
            }),
            [fault] => Err(fault.clone()),
            faults => Err(format!("[{}]", faults.join(", "))),
        }
    }

    fn matches(&self, label: Option<&str>) -> bool {
        let is_listed = |label: &str| {
            self.values
                .binary_search_by(|value| value.as_str().cmp(label))
                .is_ok()
        };
        let number = |text: &str| text.parse::<i64>().ok();
        let numbers = || Some((number(label?)?, number(self.values.first()?)?));

        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => {
                label.is_some_and(is_listed)
            }
            Operator::NotIn | Operator::NotEquals => !label.is_some_and(is_listed),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => numbers().is_some_and(|(label, value)| label > value),
            Operator::LessThan => numbers().is_some_and(|(label, value)| label < value),
        }
    }
}

fn invalid(path: &str, value: &str, detail: &str) -> String {
    format!("{path}: Invalid value: {}: {detail}", quote(value))
}

/// A token. `in` and `notin` are words: only their position says whether they are operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'s> {
    Word(&'s str),
    Symbol(&'static str),
    End,
}

impl Token<'_> {
    /// The fault that something else was expected.
    fn unexpected<T>(self, expected: &str) -> Result<T, String> {
        let found = match self {
            Token::Word(word) => word,
            Token::Symbol(symbol) => symbol,
            Token::End => "",
        };
        Err(format!("found '{found}'{expected}"))
    }
}

/// All symbols; one that begins with another precedes it.
const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

/// Splits a selector into tokens. A zero byte ends a token or, elsewhere, the selector.
fn tokens(selector: &str) -> Vec<Token<'_>> {
    const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];
    let ends_word = |c: char| {
        c == '\0' || SPACE.contains(&c) || SYMBOLS.iter().any(|symbol| symbol.starts_with(c))
    };
    let mut tokens = Vec::new();
    let mut rest = selector;

    loop {
        rest = rest.trim_start_matches(SPACE);
        if rest.is_empty() || rest.starts_with('\0') {
            tokens.push(Token::End);
            return tokens;
        }
        let symbol = SYMBOLS
            .iter()
            .find_map(|symbol| Some((Token::Symbol(symbol), rest.strip_prefix(symbol)?)));
        let (token, after) = symbol.unwrap_or_else(|| {
            let (word, after) = rest.split_at(rest.find(ends_word).unwrap_or(rest.len()));
            (Token::Word(word), after)
        });
        tokens.push(token);
        rest = after.strip_prefix('\0').unwrap_or(after);
    }
}

struct Parser<'s> {
    tokens: Vec<Token<'s>>,
    next: usize,
}

impl<'s> Parser<'s> {
    fn peek(&self) -> Token<'s> {
        self.tokens.get(self.next).copied().unwrap_or(Token::End)
    }

    fn take(&mut self) -> Token<'s> {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End => return Ok(requirements),
                Token::Word(_) | Token::Symbol("!") => {}
                other => return other.unexpected(", expected: !, identifier, or 'end of string'"),
            }

            let requirement = self.requirement();
            requirements.push(
                requirement.map_err(|fault| format!("unable to parse requirement: {fault}"))?,
            );
            match self.take() {
                Token::End => return Ok(requirements),
                Token::Symbol(",") => {}
                other => return other.unexpected(", expected: ',' or 'end of string'"),
            }

            match self.peek() {
                Token::Word(_) | Token::Symbol("!") => {}
                other => return other.unexpected(", expected: identifier after ','"),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.take();
        let is_negated = token == Token::Symbol("!");
        if is_negated {
            token = self.take();
        }
        let Token::Word(key) = token else {
            return token.unexpected(", expected: identifier");
        };

        // The key is checked before the operator, as in Kubernetes: of two faults, its own is reported.
        let faults = qualified_name(key);
        if !faults.is_empty() {
            return Err(invalid("<nil>", key, &faults.join("; ")));
        }
        let key = key.to_owned();
        if is_negated {
            return Requirement::new(key, Operator::DoesNotExist, BTreeSet::new());
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Requirement::new(key, Operator::Exists, BTreeSet::new());
        }

        // `in` and `notin` are words, so labels may have these names.
        let operator = match self.take() {
            Token::Word("in") => Operator::In,
            Token::Word("notin") => Operator::NotIn,
            Token::Symbol("=") => Operator::Equals,
            Token::Symbol("==") => Operator::DoubleEquals,
            Token::Symbol("!=") => Operator::NotEquals,
            Token::Symbol(">") => Operator::GreaterThan,
            Token::Symbol("<") => Operator::LessThan,
            other => return other.unexpected(BINARY_OPERATORS),
        };
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => BTreeSet::from([self.value()?]),
        };

        Requirement::new(key, operator, values)
    }

    /// Reads `(a,b)`. A value can be empty.
    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        match self.take() {
            Token::Symbol("(") => {}
            other => return other.unexpected(" expected: '('"),
        }
        match self.peek() {
            Token::Word(_) | Token::Symbol("," | ")") => {}
            other => return other.unexpected(", expected: ',', ')' or identifier"),
        }

        let mut values = BTreeSet::new();
        loop {
            // A value is expected: a comma or the end in its place stands for an empty one.
            if let Token::Word(word) = self.peek() {
                values.insert(word.to_owned());
                self.next += 1;
                match self.peek() {
                    Token::Symbol("," | ")") => {}
                    other => return other.unexpected(", expected: ',' or ')'"),
                }
            } else {
                values.insert(String::new());
            }

            match self.take() {
                Token::Symbol(")") => return Ok(values),
                Token::Symbol(",") => {}
                other => return other.unexpected(", expected: ',', or identifier"),
            }

            match self.peek() {
                Token::Word(_) | Token::Symbol("," | ")") => {}
                other => return other.unexpected(", expected: ',', or identifier"),
            }
        }
    }

    /// Reads one value, which can be empty at the end of a requirement.
    fn value(&mut self) -> Result<String, String> {
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(String::new());
        }
        match self.take() {
            Token::Word(word) => Ok(word.to_owned()),
            other => other.unexpected(", expected: identifier"),
        }
    }
}
