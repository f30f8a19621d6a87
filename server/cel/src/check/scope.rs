//! The names that an expression can use.

use std::collections::BTreeMap;

use fieldmanager_structural::Structural;

use super::types::Type;

/// What names stand for.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'s, 't> {
    /// `self` and `oldSelf` are values of a schema.
    Values(&'s Structural),
    /// The names of an environment.
    Declared(&'t DeclaredInputs<'s>),
}

/// The names of an environment.
#[derive(Default)]
pub(crate) struct DeclaredInputs<'s> {
    /// The inputs, whose names may have dots.
    pub(crate) names: Vec<(&'s str, Type<'s>)>,
    /// The variables that are made by expressions.
    pub(crate) variables: BTreeMap<&'s str, Type<'s>>,
}

impl<'s, 't> Scope<'s, 't> {
    /// Whether a name has dots, and ends with this part.
    pub(super) fn has_last(self, part: &str) -> bool {
        let Scope::Declared(declared) = self else {
            return false;
        };
        let mut names = declared.names.iter();
        names.any(|(name, _)| name.rsplit_once('.').is_some_and(|(_, last)| last == part))
    }

    /// The type of a variable that is made by an expression.
    pub(super) fn variable(self, name: &str) -> Option<&'t Type<'s>> {
        match self {
            Scope::Declared(declared) => declared.variables.get(name),
            Scope::Values(_) => None,
        }
    }
}
