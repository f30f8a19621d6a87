//! Expressions whose variables and functions are resolved.

use std::sync::Arc;

use fieldmanager_structural::internal::Pattern;
use fieldmanager_value::Str;

use crate::functions::{Cost, Function};
use crate::value::{Outcome, Val};

/// A resolved expression. The variables of a scope are numbered: `self` is 0 and `oldSelf` is 1.
#[derive(Debug)]
pub(crate) enum Expr {
    /// A value that does not depend on the object. It has no cost.
    Constant(Outcome<'static>),
    Variable(usize),
    Select {
        operand: Box<Expr>,
        field: Str,
        is_test: bool,
        is_optional: bool,
    },
    Index {
        operand: Box<Expr>,
        index: Box<Expr>,
        is_optional: bool,
    },
    Call {
        function: &'static Function,
        arguments: Vec<Expr>,
        /// The second argument, if it is a constant regular expression.
        pattern: Option<Box<Pattern>>,
        cost: Cost,
        /// Whether the types of the arguments leave several overloads open.
        is_open: bool,
    },
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    NotStrictlyFalse(Box<Expr>),
    Conditional(Box<[Expr; 3]>),
    Equal(Box<Expr>, Box<Expr>, bool),
    List(Vec<(Expr, bool)>),
    Map(Vec<(Expr, Expr, bool)>),
    /// A message of a type, with the names, the values and the optionality of its fields.
    Message(Str, Vec<(Str, Expr, bool)>),
    Fold(Box<Fold>),
    /// A value with a number that is evaluated where it is used first, and an expression that uses it.
    Binding(Box<[Expr; 2]>, usize),
    /// An expression that is used twice.
    Shared(Arc<Expr>),
    /// `or` and `orValue`, whose argument is evaluated if the optional is empty.
    Fallback {
        operand: Box<Expr>,
        other: Box<Expr>,
        is_value: bool,
    },
}

impl Expr {
    pub(crate) fn is_constant(&self) -> bool {
        matches!(self, Expr::Constant(_))
    }
}

impl From<Val<'static>> for Expr {
    fn from(value: Val<'static>) -> Self {
        Expr::Constant(Ok(value))
    }
}

/// A comprehension. The accumulator has the number `slot`, the variables have the following ones.
#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) range: Expr,
    pub(crate) slot: usize,
    pub(crate) has_two: bool,
    pub(crate) initial: Expr,
    pub(crate) condition: Option<Expr>,
    /// The condition of a step.
    pub(crate) filter: Option<Expr>,
    pub(crate) step: Step,
    pub(crate) result: Expr,
}

/// A step of a comprehension.
#[derive(Debug)]
pub(crate) enum Step {
    /// The new accumulator.
    Set(Expr),
    /// Appends an item to a list.
    Append(Expr),
    /// Adds an entry to a map, or without a key the entries of another map.
    Insert(Option<Expr>, Expr),
}

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) expr: Expr,
    pub(crate) uses_old_self: bool,
}
