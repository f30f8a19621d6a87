//! The merge strategies match the schema.

#![allow(clippy::unwrap_used, reason = "tests")]

use fieldmanager_openapi::builtin as openapi;
use fieldmanager_patch::builtin as patch;

#[test]
fn every_kind_of_the_bundled_schema_has_strategies() {
    for (kind, _) in openapi::types().kinds() {
        let (version, kind) = (kind.api_version(), &kind.kind);
        assert!(
            patch::types().for_kind(&version, kind).is_some(),
            "{version} {kind}"
        );
    }
}
