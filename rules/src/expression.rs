//! Expressions whose variables and functions are resolved.

use fieldmanager_structural::validation::Pattern;
use fieldmanager_value::Str;

use crate::functions::Function;
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
    },
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    NotStrictlyFalse(Box<Expr>),
    Conditional(Box<[Expr; 3]>),
    Equal(Box<Expr>, Box<Expr>, bool),
    List(Vec<(Expr, bool)>),
    Map(Vec<(Expr, Expr, bool)>),
    Fold(Box<Fold>),
    /// `optMap` and `optFlatMap`.
    OptionalMap {
        operand: Box<Expr>,
        variable: usize,
        body: Box<Expr>,
        is_flat: bool,
    },
    SortBy {
        operand: Box<Expr>,
        variable: usize,
        key: Box<Expr>,
    },
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
    pub(crate) step: Step,
    pub(crate) result: Expr,
}

/// A step of a comprehension.
#[derive(Debug)]
pub(crate) enum Step {
    /// The new accumulator.
    Set(Expr),
    /// Appends an item to a list, if a condition holds.
    Append(Option<Expr>, Expr),
    /// Adds an entry to a map, if a condition holds. Without a key, it is the first variable, and with `None` for both
    /// the value is a map with the entries.
    Insert { condition: Option<Expr>, value: Expr, is_entry: bool },
}

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) expr: Expr,
    pub(crate) uses_old_self: bool,
}
