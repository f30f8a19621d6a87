//! Nested definitions.

use std::fmt;
use std::ops::{Deref, DerefMut};

use fieldmanager_value::internal::level;

/// A nested definition: a `Box` that can be dropped, cloned, compared and printed at any nesting depth without a stack
/// overflow.
///
/// ```
/// use fieldmanager_schema::internal::{AtomDef, ListDef, Relationship};
/// let list = ListDef { relationship: Some(Relationship::Atomic), ..ListDef::default() };
/// let atom = AtomDef { list: Some(list.into()), ..AtomDef::default() };
/// assert!(atom.list.is_some_and(|list| list.keys.is_empty()));
/// ```
#[derive(Default, Eq)]
pub struct Nested<T: Default>(Box<T>);

impl<T: Default> From<T> for Nested<T> {
    fn from(definition: T) -> Self {
        Nested(Box::new(definition))
    }
}

impl<T: Default> Deref for Nested<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Default> DerefMut for Nested<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Default> Drop for Nested<T> {
    fn drop(&mut self) {
        // Taking the definition out lets the check of the stack surround its drop.
        let definition = std::mem::take(&mut *self.0);
        level(|| drop(definition));
    }
}

impl<T: Default + Clone> Clone for Nested<T> {
    fn clone(&self) -> Self {
        level(|| Nested(self.0.clone()))
    }
}

impl<T: Default + PartialEq> PartialEq for Nested<T> {
    fn eq(&self, other: &Self) -> bool {
        level(|| self.0 == other.0)
    }
}

impl<T: Default + fmt::Debug> fmt::Debug for Nested<T> {
    /// Prints on one line, since indentation would make the output quadratic in the depth.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        level(|| f.write_fmt(format_args!("{:?}", self.0)))
    }
}
