//! The key operations, whose instructions are counted and recorded.

/// The name of each in the record, and its cell.
pub const OPERATIONS: [(&str, &str); 11] = [
    ("pod-apply", "table/Pod/Apply/fresh"),
    ("pod-apply-twice", "table/Pod/ApplyTwice/fresh"),
    ("pod-conflict", "table/Pod/Conflict"),
    ("pod-compare", "table/Pod/Compare"),
    ("pod-paths", "fields/Pod/paths"),
    ("pod-parse-paths", "fields/Pod/parse-paths"),
    ("pod-validate", "parse/Pod/validate"),
    ("builtin-load", "schema/builtin/load"),
    ("list-apply-again", "list/again/10000"),
    ("fields-decode", "set/decode/10000"),
    ("fields-encode", "set/encode/10000"),
];
