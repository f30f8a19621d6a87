//! Conflicts between managers.

use std::fmt;

use fieldmanager_fieldpath::Path;
use fieldmanager_value::{Str, Value};

/// A field that an apply would change and another manager owns.
///
/// ```
/// # use fieldmanager_merge::{ApplyRequest, Updater};
/// # use fieldmanager_testing::typed;
/// # let updater = Updater::builder().build();
/// # let nothing = fieldmanager_testing::nothing();
/// # let config = typed("{a: 1, b: 1}")?;
/// # let applied = updater.apply(ApplyRequest::new(&nothing, &config).manager("ci"))?;
/// # let live = applied.object.unwrap();
/// let config = typed("{a: 2, b: 2}")?;
/// let request = ApplyRequest::new(&live, &config).owners(&applied.owners).manager("ops");
/// let error = updater.apply(request).unwrap_err();
/// let conflict = error.conflicts().unwrap().iter().next().unwrap();
/// assert_eq!(conflict.to_string(), r#"conflict with "ci": .a"#);
/// assert_eq!((&conflict.live, &conflict.wanted), (&Some(1.into()), &Some(2.into())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// The manager that owns the field.
    pub manager: Str,
    /// The field, at the version at which the manager owns it.
    pub path: Path,
    /// Its value in the live object; `None` if it is missing there.
    pub live: Option<Value>,
    /// Its value after the apply; `None` if the apply would remove it.
    pub wanted: Option<Value>,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "conflict with {:?}: {}", self.manager, self.path)
    }
}

/// All conflicts of an apply, at least one. They are sorted by the name of the manager, and for one manager as
/// [`Set::paths`](fieldmanager_fieldpath::Set::paths) sorts its paths.
///
/// Behaviour: `Conflicts` of `sigs.k8s.io/structured-merge-diff/v6/merge`.
///
/// ```
/// # use fieldmanager_merge::{ApplyRequest, Updater};
/// # use fieldmanager_testing::typed;
/// # let updater = Updater::builder().build();
/// # let nothing = fieldmanager_testing::nothing();
/// # let config = typed("{a: 1, b: 1}")?;
/// # let applied = updater.apply(ApplyRequest::new(&nothing, &config).manager("ci"))?;
/// # let live = applied.object.unwrap();
/// let config = typed("{a: 2, b: 2}")?;
/// let request = ApplyRequest::new(&live, &config).owners(&applied.owners).manager("ops");
/// let error = updater.apply(request).unwrap_err();
/// assert_eq!(error.conflicts().unwrap().len(), 2);
/// assert_eq!(error.to_string(), "conflicts with \"ci\":\n- .a\n- .b");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts(Vec<Conflict>);

impl Conflicts {
    pub(crate) fn new(conflicts: Vec<Conflict>) -> Self {
        Conflicts(conflicts)
    }

    /// The conflicts for which `keep` returns true; `None` if there are none.
    #[must_use]
    #[doc(hidden)]
    pub fn filtered(&self, keep: impl Fn(&Conflict) -> bool) -> Option<Conflicts> {
        let kept: Vec<Conflict> = self
            .0
            .iter()
            .filter(|conflict| keep(conflict))
            .cloned()
            .collect();
        (!kept.is_empty()).then_some(Conflicts(kept))
    }

    /// The conflicts in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Conflict> {
        self.0.iter()
    }

    /// The number of conflicts.
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

/// One conflict takes one line. Several are grouped by manager, as in the Go package.
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
            group
                .iter()
                .try_for_each(|conflict| write!(f, "\n- {}", conflict.path))?;
        }

        Ok(())
    }
}

impl std::error::Error for Conflicts {}
