//! The key operations, whose instructions are counted and recorded.

/// The name of each in the record, and its cell.
pub const OPERATIONS: [(&str, &str); 6] = [
    ("pod-apply", "table/Pod/Apply/fresh"),
    ("pod-apply-twice", "table/Pod/ApplyTwice/fresh"),
    ("pod-validate", "parse/Pod/validate"),
    ("list-apply-again", "list/again/10000"),
    ("fields-decode", "set/decode/10000"),
    ("fields-encode", "set/encode/10000"),
];
