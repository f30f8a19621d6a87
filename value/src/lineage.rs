//! Which large lists were made from which, and by changing what.

use std::sync::Arc;

/// How many changes a list remembers: beyond that, comparing two lists item by item is no great loss.
const CHANGES: usize = 64;

/// How many of the lists that it was made from a list remembers.
const ANCESTORS: usize = 16;

/// Where a large list comes from.
///
/// Two lists that share a persistent vector differ only in what was changed since one was made from the other, or
/// both from a third. Comparing them by their chunks would touch every chunk; by this it touches what changed.
#[derive(Default)]
pub(crate) struct Lineage {
    /// Tells the list from every other one: nobody else has this allocation as long as somebody remembers it.
    id: Arc<()>,
    /// Positions that were replaced or appended, in the order in which that was done.
    changes: Vec<usize>,
    /// The lists it was made from, the oldest first, and how many of the changes came before each.
    ancestors: Vec<(Arc<()>, usize)>,
}

impl Lineage {
    /// The lineage of a list that is made from this one by changing some positions.
    pub(crate) fn child(&self, positions: Vec<usize>) -> Self {
        if positions.len() > CHANGES {
            return Lineage::default();
        }
        let mut changes = self.changes.clone();
        let mut ancestors = self.ancestors.clone();
        ancestors.push((self.id.clone(), changes.len()));
        changes.extend(positions);
        // The oldest are forgotten first, and with them the changes that nobody else needs.
        let is_old = |at: &usize| changes.len() - at > CHANGES;
        let old = ancestors.iter().take_while(|(_, at)| is_old(at)).count();
        ancestors.drain(..old.max(ancestors.len().saturating_sub(ANCESTORS)));
        let unneeded = ancestors.first().map_or(changes.len(), |(_, at)| *at);
        changes.drain(..unneeded);
        for (_, at) in &mut ancestors {
            *at -= unneeded;
        }
        Lineage { id: Arc::default(), changes, ancestors }
    }

    /// The positions, sorted, at which two lists may differ; none if they are not known to be related.
    pub(crate) fn between(&self, other: &Lineage) -> Option<Vec<usize>> {
        let common = self.and_ancestors().find_map(|(id, mine)| {
            let theirs = other.and_ancestors().find(|(known, _)| Arc::ptr_eq(known, id))?.1;
            Some((mine, theirs))
        });
        let (mine, theirs) = common?;
        let mut positions = mine.to_vec();
        positions.extend_from_slice(theirs);
        positions.sort_unstable();
        positions.dedup();
        Some(positions)
    }

    /// The list itself and those that it was made from, the latest first, with the changes since.
    fn and_ancestors(&self) -> impl Iterator<Item = (&Arc<()>, &[usize])> {
        let since = |at: &usize| self.changes.get(*at..).unwrap_or_default();
        let ancestors = self.ancestors.iter().rev().map(move |(id, at)| (id, since(at)));
        std::iter::once((&self.id, &[][..])).chain(ancestors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_between_relatives_are_their_positions() {
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
    fn ancestors_and_changes_are_bounded() {
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
        assert_eq!(bulk.between(&most).map(|changes| changes.len()), Some(CHANGES));
    }
}
