//! An index of names.

use ahash::RandomState;
use fieldmanager_value::Str;
use hashbrown::HashTable;

/// A hash index of the fields of a struct. Every walk over an object looks up its fields, and one hash costs less than
/// the string comparisons of a binary search. The hash has random keys, so the author of a schema cannot choose
/// colliding names.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldNames {
    hasher: RandomState,
    positions: HashTable<usize>,
    /// The length of the longest name in bytes. A longer one is unknown, and its hash would cost its length each time
    /// that a path leads through it.
    longest: usize,
}

impl FieldNames {
    /// Creates an index of a list of names. The first of equal names is found.
    pub(crate) fn new<'n, I>(names: I) -> Self
    where
        I: IntoIterator<Item = &'n Str>,
    {
        let names = names.into_iter();
        let all: Vec<&str> = names.map(Str::as_str).collect();
        let hasher = RandomState::new();
        let hash = |at: &usize| hasher.hash_one(all.get(*at).copied().unwrap_or_default());
        let mut positions = HashTable::with_capacity(all.len());

        for (at, name) in all.iter().enumerate() {
            let is_known = |known: &usize| all.get(*known) == Some(name);
            if positions.find(hash(&at), is_known).is_none() {
                positions.insert_unique(hash(&at), at, hash);
            }
        }
        let longest = all.iter().map(|name| name.len()).max().unwrap_or_default();
        FieldNames {
            hasher,
            positions,
            longest,
        }
    }

    /// Returns the position of a name in the indexed list; `name_at` must return the name at a position.
    pub(crate) fn find<'n>(
        &self,
        name: &str,
        name_at: impl Fn(usize) -> Option<&'n Str>,
    ) -> Option<usize> {
        if name.len() > self.longest {
            return None;
        }

        let is_same = |at: &usize| {
            // Interned names share their allocation between schemas and objects.
            name_at(*at).is_some_and(|known| std::ptr::eq(known.as_str(), name) || *known == *name)
        };
        self.positions
            .find(self.hasher.hash_one(name), is_same)
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_returns_positions_of_known_names_only() {
        for n in [0, 1, 2, 3, 40, 1000, 40_000] {
            let all: Vec<Str> = (0..n).map(|i| format!("f{i:05}").into()).collect();
            let names = FieldNames::new(&all);
            for (at, name) in all.iter().enumerate() {
                assert_eq!(names.find(name, |at| all.get(at)), Some(at));
            }
            for absent in ["", "f", "f99999x", "g00001"] {
                assert_eq!(
                    names.find(absent, |at| all.get(at)),
                    None,
                    "{absent} in {n}"
                );
            }
        }
    }

    /// Names that collide under a hash of the length and the first, middle and last byte.
    fn colliding(n: usize) -> Vec<Str> {
        (0..n)
            .map(|i| format!("a{:06}m{:06}z", i % 1000, i / 1000).into())
            .collect()
    }

    #[test]
    fn lookups_take_constant_work_for_similar_names() {
        let compared_per_name = |n: usize| {
            let all = colliding(n);
            let names = FieldNames::new(&all);
            let count = std::cell::Cell::new(0_usize);
            for name in &all {
                names.find(name, |at| {
                    count.set(count.get() + 1);
                    all.get(at)
                });
            }
            count.get() as f64 / n as f64
        };
        let (few, many) = (compared_per_name(3_000), compared_per_name(30_000));
        assert!(
            few < 1.5 && many < 1.5,
            "{few} and {many} names compared per lookup"
        );
    }
}
