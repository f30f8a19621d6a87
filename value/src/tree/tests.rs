//! Trees against the standard map, and their invariants.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A map as the standard library has it.
type Model = BTreeMap<u32, u32>;

/// Checks what holds of the nodes below a root and gives their entries.
pub(crate) fn checked<K: Ord + Clone, V: Clone>(root: &Inner<K, V>) -> Vec<(K, V)> {
    assert!(root.children().len() > 1, "a root has more than one child");
    let mut entries = Vec::new();
    check_inner(root, root.height(), true, &mut entries);
    assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
    entries
}

fn check_inner<K: Ord + Clone, V: Clone>(
    inner: &Inner<K, V>,
    height: usize,
    root: bool,
    entries: &mut Vec<(K, V)>,
) {
    let start = entries.len();
    assert!(inner.children().len() <= INNER);
    assert!(root || inner.children().len() >= INNER / 2);
    assert_eq!(inner.keys().len(), inner.children().len());
    for (key, child) in inner.keys().iter().zip(inner.children()) {
        assert!(entries.last().is_none_or(|(before, _)| before < key), "what is before is less");
        let first = entries.len();
        match child {
            Node::Leaf(leaf) => {
                assert_eq!(height, 1, "leaves are equally deep");
                assert!((LEAF / 2..=LEAF).contains(&leaf.slice.len()));
                entries.extend_from_slice(&leaf.slice);
            }
            Node::Inner(inner) => {
                assert!(height > 1, "leaves are equally deep");
                check_inner(inner, height - 1, false, entries);
            }
        }
        assert!(*key <= entries[first].0, "what has a key is not less");
    }
    assert_eq!(inner.len(), entries.len() - start);
}

fn tree(model: &Model) -> Option<Node<u32, u32>> {
    let entries: Vec<(u32, u32)> = model.clone().into_iter().collect();
    match entries.len() {
        0 => None,
        1..=LEAF => Some(Node::Leaf(ThinArc::from_header_and_iter((), entries.into_iter()))),
        _ => Inner::from_sorted_iter(entries.into_iter()).map(Node::Inner),
    }
}

fn check(node: Option<&Node<u32, u32>>, model: &Model) {
    let entries = match node {
        None => Vec::new(),
        Some(Node::Leaf(leaf)) => {
            assert!((1..=LEAF).contains(&leaf.slice.len()));
            leaf.slice.to_vec()
        }
        Some(Node::Inner(root)) => {
            assert_eq!(root.first().map(|e| e.0), model.first_key_value().map(|e| *e.0));
            assert_eq!(root.last().map(|e| e.0), model.last_key_value().map(|e| *e.0));
            checked(root)
        }
    };
    assert!(entries.iter().map(|(k, v)| (k, v)).eq(model.iter()));
}

/// Edits what is still a tree; a leaf is edited as the map above does it: by making it anew.
fn edit(
    node: Option<Node<u32, u32>>,
    model: &mut Model,
    batch: BTreeMap<u32, Option<u32>>,
) -> Option<Node<u32, u32>> {
    for (key, value) in &batch {
        match value {
            Some(value) => model.insert(*key, *value),
            None => model.remove(key),
        };
    }
    match node {
        Some(Node::Inner(root)) => root.with_edits(batch.into_iter().collect()),
        _ => tree(model),
    }
}

/// Edits of some range of keys: many close together, or few far apart.
fn batch() -> impl Strategy<Value = BTreeMap<u32, Option<u32>>> {
    (0..6000_u32, prop_oneof![Just(50_u32), Just(600), Just(6000)], 0..4_u8, 1..300_usize).prop_flat_map(
        |(start, range, kind, most)| {
            let value = any::<u32>().prop_map(move |value| match kind {
                0 => Some(value),
                1 => None,
                _ => Some(value).filter(|value| value % 2 == 0),
            });
            prop::collection::btree_map(start..start + range, value, 0..most)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn batches_follow_a_standard_map(
        n in 0..6000_u32,
        step in 1..4_u32,
        batches in prop::collection::vec(batch(), 1..16),
    ) {
        let mut model: Model = (0..n).map(|i| (i * step, i)).collect();
        let mut node = tree(&model);
        check(node.as_ref(), &model);
        for batch in batches {
            node = edit(node, &mut model, batch);
            check(node.as_ref(), &model);
        }
    }

    #[test]
    fn lookups_follow_a_standard_map(n in 100..6000_u32, keys in prop::collection::btree_set(0..12_100_u32, 1..400)) {
        let model: Model = (0..n).map(|i| (i * 2, i)).collect();
        let Some(Node::Inner(root)) = tree(&model) else { panic!("a tree") };
        for key in keys {
            prop_assert_eq!(root.get(&key).map(|e| e.1), model.get(&key).copied());
        }
    }

    #[test]
    fn a_tree_can_be_emptied(
        n in 50..5000_u32,
        order in any::<prop::sample::Index>(),
        sizes in prop::collection::vec(1..200_usize, 1..8),
    ) {
        let mut model: Model = (0..n).map(|i| (i, i)).collect();
        let mut node = tree(&model);
        // Keys in an order that is neither ascending nor descending, in batches of several sizes.
        let step = [1, 7, 97, 991][order.index(4)];
        let mut keys: Vec<u32> = (0..n).map(|i| (i * step) % n).collect();
        let mut sizes = sizes.into_iter().cycle();
        while let Some(size) = sizes.next().filter(|_| !keys.is_empty()) {
            let batch = keys.split_off(keys.len().saturating_sub(size)).into_iter().map(|key| (key, None)).collect();
            node = edit(node, &mut model, batch);
            check(node.as_ref(), &model);
        }
        for key in 0..n {
            node = edit(node, &mut model, [(key, None)].into());
        }
        check(node.as_ref(), &Model::new());
    }
}

#[test]
fn single_edits_keep_the_tree_in_shape() {
    // Ascending, descending and interleaved inserts, then removals from both ends and from the middle.
    let orders: [fn(u32) -> u32; 3] = [|i| i, |i| 4999 - i, |i| (i * 1013) % 5000];
    for order in orders {
        let (mut node, mut model) = (None, Model::new());
        for i in 0..5000 {
            node = edit(node, &mut model, [(order(i), Some(i))].into());
            if i % 97 == 0 {
                check(node.as_ref(), &model);
            }
        }
        check(node.as_ref(), &model);
        for i in 0..5000 {
            node = edit(node, &mut model, [(order((i + 2500) % 5000), None)].into());
            if i % 97 == 0 || model.len() < 40 {
                check(node.as_ref(), &model);
            }
        }
        assert!(node.is_none());
    }
}

#[test]
fn nodes_made_at_once_are_full() {
    let model: Model = (0..100_000).map(|i| (i, i)).collect();
    let Some(Node::Inner(root)) = tree(&model) else { panic!("a tree") };
    checked(&root);
    let mut height = 1;
    let mut fits = LEAF * INNER;
    while fits < model.len() {
        fits *= INNER;
        height += 1;
    }
    assert_eq!(root.height(), height);
}

#[test]
fn an_edit_that_does_nothing_gives_the_very_tree() {
    let model: Model = (0..5000).map(|i| (i * 2, i)).collect();
    let Some(Node::Inner(root)) = tree(&model) else { panic!("a tree") };
    let same = root.with_edits(vec![(1, None), (777, None), (20_001, None)]);
    assert!(same.is_some_and(|same| matches!(same, Node::Inner(same) if same.ptr_eq(&root))));
}

#[test]
fn an_edit_shares_what_it_does_not_touch() {
    let model: Model = (0..5000).map(|i| (i, i)).collect();
    let Some(Node::Inner(root)) = tree(&model) else { panic!("a tree") };
    let Some(Node::Inner(edited)) = root.with_edits(vec![(2500, Some(0))]) else { panic!("a tree") };
    let other = root.children().iter().zip(edited.children()).filter(|(a, b)| !a.ptr_eq(b)).count();
    assert_eq!((root.children().len(), other), (edited.children().len(), 1));
}
