//! Comparison of sorted maps with `BTreeMap`.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn check(map: &SortedMap<u8, u8>, model: &BTreeMap<u8, u8>) {
    assert_eq!(map.len(), model.len());
    assert_eq!(map.is_empty(), model.is_empty());
    assert!(map.iter().eq(model.iter()));
    assert!(map.as_slice().is_some() || model.len() > SMALL);
}

proptest! {
    #[test]
    fn edits_match_a_btree_map(
        start in prop::collection::vec((any::<u8>(), any::<u8>()), 0..120),
        edits in prop::collection::vec((any::<u8>(), prop::option::of(any::<u8>())), 0..120),
    ) {
        let mut model: BTreeMap<u8, u8> = start.iter().copied().collect();
        let mut map: SortedMap<u8, u8> = start.into_iter().collect();
        check(&map, &model);
        let batch: BTreeMap<u8, Option<u8>> = edits.iter().copied().collect();
        let edited = map.with_edits(batch.into_iter().collect());
        for (key, value) in edits {
            match value {
                Some(value) => prop_assert_eq!(map.insert(key, value), model.insert(key, value)),
                None => prop_assert_eq!(map.remove(&key), model.remove(&key)),
            }
            check(&map, &model);
        }
        prop_assert!(edited == map);
    }

    #[test]
    fn differences_match_the_join(
        common in prop::collection::vec((any::<u8>(), any::<u8>()), 0..150),
        edits in prop::collection::vec((any::<u8>(), prop::option::of(any::<u8>())), 0..10),
    ) {
        let a: SortedMap<u8, u8> = common.into_iter().collect();
        let mut b = a.clone();
        for (key, value) in edits {
            match value {
                Some(value) => { b.insert(key, value); }
                None => { b.remove(&key); }
            }
        }
        let joined: Vec<_> = a.join(&b).filter(|(_, l, r)| l != r).collect();
        let different: Vec<_> = a.differences(&b).filter(|(_, l, r)| l != r).collect();
        prop_assert_eq!(joined, different);
    }
}

type Batch = BTreeMap<u32, Option<u32>>;

/// The number of entries of a large map, and batches of edits that derive another map from it.
fn edited() -> impl Strategy<Value = (u32, Vec<Batch>)> {
    let edits =
        |most| prop::collection::btree_map(0..9000_u32, prop::option::of(0..3_u32), 0..most);
    let range = (0..9000_u32, 0..700_u32, prop::option::of(Just(5)));
    let range =
        range.prop_map(|(start, n, value)| (start..start + n).map(|key| (key, value)).collect());
    (
        0..6000_u32,
        prop::collection::vec(prop_oneof![edits(5), edits(400), range], 0..5),
    )
}

/// A map and the map derived from it.
fn relatives((n, batches): (u32, Vec<Batch>)) -> [SortedMap<u32, u32>; 2] {
    let first: SortedMap<u32, u32> = (0..n).map(|i| (i, i % 3)).collect();
    let edit = |map: SortedMap<u32, u32>, batch: Batch| map.with_edits(batch.into_iter().collect());
    [first.clone(), batches.into_iter().fold(first, edit)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn differences_of_related_maps_match_the_join(edited in edited()) {
        let [a, b] = relatives(edited);
        let joined: Vec<_> = a.join(&b).filter(|(_, l, r)| l != r).collect();
        let different: Vec<_> = a.differences(&b).filter(|(_, l, r)| l != r).collect();
        prop_assert_eq!(&joined, &different);
        let back: Vec<_> = b.differences(&a).filter(|(_, l, r)| l != r).map(|(k, l, r)| (k, r, l)).collect();
        prop_assert_eq!(&joined, &back);
        prop_assert_eq!(a == b, joined.is_empty());
        // Maps with the same entries in different nodes are equal.
        let anew: SortedMap<u32, u32> = b.iter().map(|(k, v)| (*k, *v)).collect();
        prop_assert!(anew == b);
    }

    #[test]
    fn walks_match_a_btree_map(
        edited in edited(),
        asked in prop::collection::btree_set(0..10_000_u32, 0..600),
    ) {
        let [_, map] = relatives(edited);
        let model: BTreeMap<u32, u32> = map.iter().map(|(k, v)| (*k, *v)).collect();
        prop_assert_eq!(map.len(), model.len());
        prop_assert_eq!(map.first(), model.first_key_value());
        prop_assert_eq!(map.last(), model.last_key_value());
        let mut seek = map.seek();
        for key in &asked {
            prop_assert_eq!(seek.get(key), model.get_key_value(key));
            prop_assert_eq!(map.get_key_value(key), model.get_key_value(key));
        }
        let mut left = model.len();
        let mut iter = map.iter();
        prop_assert_eq!(iter.size_hint(), (left, Some(left)));
        while iter.next().is_some() {
            left -= 1;
            prop_assert_eq!(iter.size_hint(), (left, Some(left)));
        }
    }
}

thread_local! {
    static COMPARISONS: Cell<usize> = const { Cell::new(0) };
}

/// A key that counts its comparisons.
#[derive(Clone, Debug)]
struct Counted(u32);

impl Ord for Counted {
    fn cmp(&self, other: &Self) -> Ordering {
        COMPARISONS.set(COMPARISONS.get() + 1);
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Counted {}

/// Counts the key comparisons of an operation.
fn comparisons<T>(work: impl FnOnce() -> T) -> (T, usize) {
    COMPARISONS.set(0);
    let done = work();
    (done, COMPARISONS.get())
}

#[test]
fn comparing_related_maps_costs_in_proportion_to_the_edits() {
    let n = 100_000;
    let (map, building) = comparisons(|| {
        SortedMap::from_sorted_iter(
            (0..n)
                .map(|i| (Counted(i * 2), i))
                .collect::<Vec<_>>()
                .into_iter(),
        )
    });
    assert_eq!(building, 0, "sorted entries are not compared");
    let (_, first_edit) = comparisons(|| map.with_edits(vec![(Counted(0), Some(0))]));
    assert!(
        first_edit < n as usize * 30,
        "the first edit builds the tree: {first_edit} comparisons"
    );
    // Replaced, added and removed entries, also enough of them to merge or split nodes.
    let spread = |value: fn(u32) -> (u32, Option<u32>)| -> Vec<(Counted, Option<u32>)> {
        (0..10)
            .map(|i| value(i * (n / 10)))
            .map(|(key, value)| (Counted(key), value))
            .collect()
    };
    let batches = [
        spread(|i| (i * 2, Some(7))),
        spread(|i| (i * 2 + 1, Some(7))),
        spread(|i| (i * 2, None)),
        (0..100).map(|i| (Counted(40_000 + i), None)).collect(),
        (0..100)
            .map(|i| (Counted(40_000 + i * 2 + 1), Some(7)))
            .collect(),
    ];
    for batch in batches {
        let edits = batch.len();
        let (edited, editing) = comparisons(|| map.with_edits(batch));
        assert!(
            editing < edits * 60,
            "{editing} comparisons for {edits} edits"
        );
        for (a, b) in [(&map, &edited), (&edited, &map)] {
            let (found, comparing) = comparisons(|| a.differences(b).count());
            assert!((10..=edits).contains(&found));
            assert!(
                comparing < edits * 60,
                "{comparing} comparisons for {edits} edits"
            );
        }
        assert!(edited != map);
    }
}

#[test]
fn shared_nodes_are_found_at_different_positions() {
    // Entries added before the first key move the others to different nodes of the upper levels, or to a lower level.
    let map: SortedMap<Counted, u32> = (1000..60_000).map(|i| (Counted(i), i)).collect();
    for more in [1, 10, 1000] {
        let larger = map.with_edits((0..more).map(|i| (Counted(i), Some(i))).collect());
        let (found, comparing) = comparisons(|| map.differences(&larger).count());
        assert_eq!(found, more as usize);
        assert!(
            comparing < 300 + more as usize * 2,
            "{comparing} comparisons for {more} edits"
        );
        let smaller = map.with_edits((1000..1000 + more).map(|i| (Counted(i), None)).collect());
        let (found, comparing) = comparisons(|| map.differences(&smaller).count());
        assert_eq!(found, more as usize);
        assert!(
            comparing < 300 + more as usize * 2,
            "{comparing} comparisons for {more} edits"
        );
    }
}

#[test]
fn adjacent_keys_are_found_without_starting_at_the_root() {
    let slice: SortedMap<Counted, u32> = (0..100_000).map(|i| (Counted(i), i)).collect();
    let tree = slice.with_edits(vec![(Counted(7), Some(7))]);
    assert!(slice.as_slice().is_some() && tree.as_slice().is_none());
    for map in [slice, tree] {
        let mut seek = map.seek();
        let (found, comparing) = comparisons(|| {
            (0..100_000)
                .filter(|i| seek.get(&Counted(*i)).is_some())
                .count()
        });
        assert_eq!(found, 100_000);
        assert!(comparing < 250_000, "{comparing}");
    }
}
