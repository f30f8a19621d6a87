//! Checks that need more than a table.

use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use super::check::Operation;

/// A check of the value at a path.
pub(super) type Function = fn(&FieldPath, &Value, Operation<'_>, &mut Vec<FieldError>);

/// The functions by the names that tables use.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[];
