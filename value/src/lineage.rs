//! Edit history of large lists.

use std::sync::Arc;

/// The maximum number of recorded changes. Beyond it, comparing two lists item by item costs little more.
const CHANGES: usize = 64;

/// The maximum number of recorded ancestors.
const ANCESTORS: usize = 16;

/// The edit history of a large list.
///
/// Two lists that share a persistent vector differ only in the positions changed since one was derived from the other,
/// or both from a common ancestor. Comparing their chunks would visit every chunk; the lineage yields only the changed
/// positions.
#[derive(Default)]
pub(crate) struct Lineage {
    /// Identifies the list. No other list has the same allocation while a lineage refers to it.
    id: Arc<()>,
    /// The replaced or appended positions, in the order of the edits.
    changes: Vec<usize>,
    /// The lists from which this one was derived, oldest first, each with the number of changes recorded before it.
    ancestors: Vec<(Arc<()>, usize)>,
}

impl Lineage {
    /// The lineage of a list derived from this one by changing some positions.
    pub(crate) fn child(&self, positions: Vec<usize>) -> Self {
        // A list with many changes is compared as a whole.
        if positions.len() > CHANGES {
            return Lineage::default();
        }
        let mut changes = self.changes.clone();
        let mut ancestors = self.ancestors.clone();
        ancestors.push((self.id.clone(), changes.len()));
        changes.extend(positions);

        // Discard the oldest ancestors first, together with the changes that no other ancestor needs.
        let is_old = |at: &usize| changes.len() - at > CHANGES;
        let old = ancestors.iter().take_while(|(_, at)| is_old(at)).count();
        ancestors.drain(..old.max(ancestors.len().saturating_sub(ANCESTORS)));
        let unneeded = ancestors.first().map_or(changes.len(), |(_, at)| *at);
        changes.drain(..unneeded);
        for (_, at) in &mut ancestors {
            *at -= unneeded;
        }

        Lineage {
            id: Arc::default(),
            changes,
            ancestors,
        }
    }

    /// The sorted positions at which two lists may differ, or `None` if they are not known to be related.
    pub(crate) fn between(&self, other: &Lineage) -> Option<Vec<usize>> {
        // The nearest common ancestor has the fewest changes on both sides.
        let common = self.and_ancestors().find_map(|(id, mine)| {
            let theirs = other
                .and_ancestors()
                .find(|(known, _)| Arc::ptr_eq(known, id))?
                .1;
            Some((mine, theirs))
        });
        let (mine, theirs) = common?;
        let mut positions = mine.to_vec();
        positions.extend_from_slice(theirs);
        positions.sort_unstable();
        positions.dedup();

        Some(positions)
    }

    /// The list itself and its ancestors, latest first, each with the changes made since.
    fn and_ancestors(&self) -> impl Iterator<Item = (&Arc<()>, &[usize])> {
        let since = |at: &usize| self.changes.get(*at..).unwrap_or_default();
        let ancestors = self
            .ancestors
            .iter()
            .rev()
            .map(move |(id, at)| (id, since(at)));
        std::iter::once((&self.id, &[][..])).chain(ancestors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_returns_the_changes_of_related_lists() {
        let root = Lineage::default();
        let a = root.child(vec![3, 1]);
        let b = root.child(vec![5]);
        let c = b.child(vec![1, 5]);
        assert_eq!(root.between(&root), Some(vec![]));
        assert_eq!(root.between(&a), Some(vec![1, 3]));
        assert_eq!(c.between(&root), Some(vec![1, 5]));
        assert_eq!(a.between(&c), Some(vec![1, 3, 5]));
        assert_eq!(b.between(&c), Some(vec![1, 5]));
        assert_eq!(root.between(&Lineage::default()), None);
    }

    #[test]
    fn history_is_bounded() {
        let root = Lineage::default();
        let mut last = root.child(vec![0]);
        for i in 0..1000 {
            let parent = last;
            last = parent.child(vec![i, i + 1, i + 2]);
            assert!(last.ancestors.len() <= ANCESTORS && last.changes.len() <= CHANGES);
            assert_eq!(parent.between(&last), Some(vec![i, i + 1, i + 2]));
        }
        assert_eq!(root.between(&last), None);
        let bulk = last.child((0..=CHANGES).collect());
        assert_eq!(last.between(&bulk), None);
        let most = bulk.child((0..CHANGES).collect());
        assert_eq!(
            bulk.between(&most).map(|changes| changes.len()),
            Some(CHANGES)
        );
    }
}
