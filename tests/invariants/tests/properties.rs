//! The invariants as properties: what the fuzz targets look for, for a bounded number of inputs.

use fieldmanager_invariants::{
    check_fields_v1, check_paths, check_scenario, check_schema, check_value, texts,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..most)
}

/// Cases, without files for failures: a failure prints its input, shrunk.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
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
    fn paths_round_trip(bytes in bytes(16)) {
        holds(check_paths(&bytes))?;
        holds(check_paths(texts::path(&bytes).as_bytes()))?;
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn scenarios_hold(bytes in bytes(250)) {
        holds(check_scenario(&bytes))?;
    }
}
