//! Kinds on which kube-apiserver acts, and whose objects have no effect here.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::registry::Served;

/// The kinds of which the log says that they have no effect.
#[derive(Default)]
pub(crate) struct Inert(Mutex<HashSet<&'static str>>);

impl Inert {
    /// Warns in the log, once for each kind, that an object which a request created has no effect.
    pub(super) fn created(&self, served: &Served) {
        let Some(description) = served.description() else {
            return;
        };
        let (kind, Some(effect)) = (description.kind, description.without_effect) else {
            return;
        };

        let is_first = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(kind);
        if is_first {
            tracing::warn!("objects of the kind {kind} are stored and have no effect: {effect}");
        }
    }
}

#[cfg(test)]
mod tests {
    use fieldmanager_builtin::KindDescription;

    #[test]
    fn kinds_without_an_effect_are_documented() {
        let page = include_str!("../../../../docs/apiserver.md");
        for description in KindDescription::all() {
            let Some(effect) = description.without_effect else {
                continue;
            };
            let kind = description.kind;
            let row = page
                .lines()
                .find(|line| line.starts_with("| `") && line.contains(&format!("`{kind}`")));
            assert!(
                row.is_some_and(|row| row.ends_with(&format!("| {effect} |"))),
                "{kind}: {row:?}"
            );
        }
    }
}
