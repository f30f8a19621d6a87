//! Replays recorded answers of Go about objects of built-in kinds, roles and bindings.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_comparison::access::Access;
use fieldmanager_comparison::builtin::{Decode, Defaults, Protobuf};
use fieldmanager_comparison::files;
use fieldmanager_comparison::record::replay;

#[test]
fn objects_of_built_in_kinds_are_decoded_and_converted_as_recorded() {
    let (tally, differences) =
        replay::<Decode>(&files::folder("recorded").join("decode.json.gz")).unwrap();
    assert!(differences.is_empty(), "{:#?}", differences.first());
    assert!(tally.cases >= 3000, "{tally}");
    for (op, least) in [("decode", 300), ("unstructured", 150), ("convert", 200)] {
        for result in ["changed", "refused"] {
            assert!(
                tally.get("requests by op", &format!("{op}: {result}")) >= least,
                "{tally}"
            );
        }
    }
}

#[test]
fn objects_of_all_kinds_are_read_from_protobuf_as_recorded() {
    let (tally, differences) =
        replay::<Protobuf>(&files::folder("recorded").join("protobuf.json.gz")).unwrap();
    assert!(differences.is_empty(), "{:#?}", differences.first());
    assert_eq!(
        tally.get("requests by op", "protobuf: written"),
        1060,
        "{tally}"
    );
}

#[test]
fn roles_and_bindings_allow_what_is_recorded() {
    let file = files::folder("recorded").join("access.json.gz");
    let (tally, differences) = replay::<Access>(&file).unwrap();
    assert!(differences.is_empty(), "{:#?}", differences.first());
    for (kind, least) in [
        ("authorize: allowed", 40),
        ("authorize: denied with errors", 80),
        ("grant: forbidden", 150),
        ("grant: other error", 80),
        ("aggregate: applied", 30),
        ("rules: plain", 80),
    ] {
        assert!(tally.get("requests by op", kind) >= least, "{tally}");
    }
}

/// The recorded writes whose defaults or errors differ from those of the registries of Go. Most of them differ in checks
/// that kube-apiserver declares, and that the recorded functions do not run, or that they leave out by an option which
/// kube-apiserver does not have for new objects: huge pages that are no multiple of their size.
const KNOWN: usize = 155;

#[test]
fn objects_get_the_defaults_and_errors_of_registries_as_recorded() {
    let file = files::folder("recorded").join("defaults.json.gz");
    let (tally, differences) = replay::<Defaults>(&file).unwrap();
    assert!(tally.cases >= 1080, "{tally}");
    assert!(differences.len() <= KNOWN, "{tally}");
    // Errors that the library lacks altogether are counted apart.
    assert!(
        tally.get("verdicts", "refused by both, fewer errors") <= 56,
        "{tally}"
    );
    assert!(tally.get("operations", "create") >= 400, "{tally}");
    assert!(
        tally.get("verdicts", "refused by both, equal") >= 815,
        "{tally}"
    );
}
