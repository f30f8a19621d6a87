//! Replays recorded answers of Go about objects of built-in kinds.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_conformance::files;
use fieldmanager_conformance::record::replay;

#[test]
fn objects_of_built_in_kinds_are_decoded_and_converted_as_recorded() {
    let (tally, differences) = replay(&files::folder("recorded").join("decode.json.gz")).unwrap();
    assert!(differences.is_empty(), "{:#?}", differences.first());
    assert!(tally.cases >= 3000, "{tally}");
    for (op, least) in [("decode", 300), ("unstructured", 150), ("convert", 200)] {
        for result in ["changed", "refused"] {
            assert!(tally.get("requests by op", &format!("{op}: {result}")) >= least, "{tally}");
        }
    }
}

#[test]
fn objects_of_all_kinds_are_read_from_protobuf_as_recorded() {
    let (tally, differences) = replay(&files::folder("recorded").join("protobuf.json.gz")).unwrap();
    assert!(differences.is_empty(), "{:#?}", differences.first());
    assert_eq!(tally.get("requests by op", "protobuf: written"), 1060, "{tally}");
}
