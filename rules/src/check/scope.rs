//! The scope of an expression.

use fieldmanager_structural::Structural;

/// What the names of an expression mean.
pub(crate) struct Scope<'s> {
    pub(crate) schema: &'s Structural,
    /// The name of the type of `self`.
    pub(crate) type_name: &'s str,
    /// Whether `oldSelf` is an optional value.
    pub(crate) has_optional_old: bool,
    /// Whether the expression is part of a stored definition, and may use what newer API servers have.
    pub(crate) is_stored: bool,
}
