//! Conflicts.

use std::fmt;

use fieldmanager_fieldpath::Path;
use fieldmanager_value::{Str, Value};

/// A field that an apply would change and another manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The manager that owns the field.
    pub manager: Str,
    /// The field, at the version at which the manager owns it.
    pub path: Path,
    /// Its value in the live object; none if it is not there.
    pub live: Option<Value>,
    /// Its value after the apply; none if it would go.
    pub wanted: Option<Value>,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "conflict with {:?}: {}", self.manager, self.path)
    }
}

/// All conflicts of an apply, at least one: by manager name, and of one manager in the order of
/// [`Set::paths`](fieldmanager_fieldpath::Set::paths).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts(Vec<Conflict>);

impl Conflicts {
    pub(crate) fn new(conflicts: Vec<Conflict>) -> Self {
        Conflicts(conflicts)
    }

    /// The conflicts in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Conflict> {
        self.0.iter()
    }

    /// How many there are.
    #[allow(clippy::len_without_is_empty, reason = "there is always at least one")]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<'a> IntoIterator for &'a Conflicts {
    type Item = &'a Conflict;
    type IntoIter = std::slice::Iter<'a, Conflict>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// One conflict on one line; several grouped by manager, as the Go package prints them.
impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = self.0.as_slice() {
            return one.fmt(f);
        }
        for (i, group) in self.0.chunk_by(|a, b| a.manager == b.manager).enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            if let Some(first) = group.first() {
                write!(f, "conflicts with {:?}:", first.manager)?;
            }
            group.iter().try_for_each(|conflict| write!(f, "\n- {}", conflict.path))?;
        }
        Ok(())
    }
}

impl std::error::Error for Conflicts {}
