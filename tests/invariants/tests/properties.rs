//! The invariants as property tests: the checks of the fuzz targets for a bounded number of inputs.

use fieldmanager_invariants::{
    check_fields_v1, check_go_markers, check_handlers, check_patches, check_paths, check_policies,
    check_protobuf, check_reviews, check_scenario, check_schema, check_server, check_value, texts,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..most)
}

/// A configuration without files for failures, since a failure prints its shrunk input.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

const GO_MARKERS: [&str; 2] = [
    include_str!("../../../fuzz/seeds/go_markers/deducing"),
    include_str!("../../../fuzz/seeds/go_markers/respecting"),
];

const REQUESTS: [&str; 6] = [
    include_str!("../../../fuzz/seeds/handlers/config_map"),
    include_str!("../../../fuzz/seeds/handlers/definition"),
    include_str!("../../../fuzz/seeds/handlers/deployment"),
    include_str!("../../../fuzz/seeds/handlers/service"),
    include_str!("../../../fuzz/seeds/handlers/scale_with_managers"),
    include_str!("../../../fuzz/seeds/handlers/shop"),
];

const REVIEWS: [&str; 3] = [
    include_str!("../../../fuzz/seeds/reviews/converted"),
    include_str!("../../../fuzz/seeds/reviews/denied"),
    include_str!("../../../fuzz/seeds/reviews/patch"),
];

const POLICIES: [&str; 3] = [
    include_str!("../../../fuzz/seeds/policies/mutating.yaml"),
    include_str!("../../../fuzz/seeds/policies/patches.yaml"),
    include_str!("../../../fuzz/seeds/policies/validating.yaml"),
];

const HTTP: [&str; 4] = [
    include_str!("../../../fuzz/seeds/server/core"),
    include_str!("../../../fuzz/seeds/server/faults"),
    include_str!("../../../fuzz/seeds/server/custom"),
    include_str!("../../../fuzz/seeds/server/documents"),
];

/// A fuzz seed in which some parts are copied over others.
fn rearranged(seeds: &[&str], seed: usize, cuts: &[(usize, usize, usize)]) -> String {
    let mut text: Vec<char> = seeds
        .get(seed)
        .copied()
        .unwrap_or_default()
        .chars()
        .collect();
    for (from, to, length) in cuts {
        let at = |place: &usize| place % (text.len() + 1);
        let (from, to) = (at(from), at(to));
        let part: Vec<char> = text
            .get(from..(from + length).min(text.len()))
            .unwrap_or_default()
            .to_vec();
        let until = (to + length / 2).min(text.len());
        text.splice(to..until, part);
    }
    text.into_iter().collect()
}

/// An object in protobuf with some bytes replaced.
fn changed_protobuf() -> impl Strategy<Value = Vec<u8>> {
    let seeds: [&[u8]; 3] = [
        include_bytes!("../../../fuzz/seeds/protobuf/pod"),
        include_bytes!("../../../fuzz/seeds/protobuf/definition"),
        include_bytes!("../../../fuzz/seeds/protobuf/claim"),
    ];
    let changes = vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (prop::sample::select(seeds.to_vec()), changes).prop_map(|(seed, changes)| {
        let mut bytes = seed.to_vec();
        for (at, byte) in changes {
            if let Some(changed) = bytes.get_mut(at.index(seed.len())) {
                *changed = byte;
            }
        }
        bytes
    })
}

/// YAML on one line, with many directives.
fn patch_text() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "1", "2", "1.5", "x", "''", "null", "replace", "delete", "merge", "[]", "{}",
    ]);
    let names = vec!["a", "r", "u", "l", "v", "s", "k", "$patch", "$retainKeys"];
    let directives = vec![
        "$setElementOrder/l",
        "$setElementOrder/s",
        "$deleteFromPrimitiveList/s",
        "$setElementOrder",
    ];
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 4, move |inner| {
        let name =
            prop_oneof![6 => prop::sample::select(names.clone()), 1 => prop::sample::select(directives.clone())];
        let map = prop::collection::btree_map(name, inner.clone(), 0..5).prop_map(|fields| {
            let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            format!("{{{}}}", fields.join(", "))
        });
        prop_oneof![3 => map, 1 => vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", ")))]
    })
}

fn holds(result: Result<(), String>) -> Result<(), TestCaseError> {
    result.map_err(TestCaseError::fail)
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn values_round_trip(bytes in bytes(80)) {
        holds(check_value(&bytes))?;
        holds(check_value(texts::value(&bytes).as_bytes()))?;
    }

    #[test]
    fn schemas_round_trip(bytes in bytes(20)) {
        holds(check_schema(&bytes))?;
        holds(check_schema(texts::schema(&bytes).as_bytes()))?;
    }

    #[test]
    fn fields_v1_round_trips(bytes in bytes(80)) {
        holds(check_fields_v1(&bytes))?;
        holds(check_fields_v1(texts::fields_v1(&bytes).as_bytes()))?;
    }

    #[test]
    fn objects_in_protobuf_satisfy_the_invariants(changed in changed_protobuf(), bytes in bytes(40)) {
        holds(check_protobuf(&changed))?;
        holds(check_protobuf(&bytes))?;
    }

    #[test]
    fn patches_satisfy_the_invariants(one in patch_text(), two in patch_text(), three in patch_text()) {
        holds(check_patches(format!("{one}\n{two}\n{three}").as_bytes()))?;
    }

    #[test]
    fn go_markers_satisfy_the_invariants(seed in 0..2usize, cuts in vec((0..2000usize, 0..2000usize, 0..40usize), 0..4)) {
        holds(check_go_markers(rearranged(&GO_MARKERS, seed, &cuts).as_bytes()))?;
    }

    #[test]
    fn paths_round_trip(bytes in bytes(16)) {
        holds(check_paths(&bytes))?;
        holds(check_paths(texts::path(&bytes).as_bytes()))?;
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn requests_satisfy_the_invariants(seed in 0..5usize, cuts in vec((0..2000usize, 0..2000usize, 0..40usize), 0..4)) {
        holds(check_handlers(rearranged(&REQUESTS, seed, &cuts).as_bytes()))?;
    }

    #[test]
    fn scenarios_satisfy_the_invariants(bytes in bytes(250)) {
        holds(check_scenario(&bytes))?;
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn answers_of_webhooks_satisfy_the_invariants(seed in 0..3usize, cuts in vec((0..400usize, 0..400usize, 0..40usize), 0..6)) {
        holds(check_reviews(rearranged(&REVIEWS, seed, &cuts).as_bytes()))?;
    }
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn policies_satisfy_the_invariants(seed in 0..3usize, cuts in vec((0..2000usize, 0..2000usize, 0..40usize), 0..6)) {
        holds(check_policies(rearranged(&POLICIES, seed, &cuts).as_bytes()))?;
    }

    #[test]
    fn http_requests_satisfy_the_invariants(seed in 0..4usize, cuts in vec((0..2000usize, 0..2000usize, 0..40usize), 0..6)) {
        holds(check_server(rearranged(&HTTP, seed, &cuts).as_bytes()))?;
    }
}
