//! Runs one key operation, or the operation of any cell, for callgrind; see `instructions`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the caller passes valid arguments"
)]

use fieldmanager_benches::{key, operations};

fn main() {
    let name = std::env::args()
        .nth(1)
        .expect("the name of a key operation");
    let runs = std::env::args()
        .nth(2)
        .map_or(10, |text| text.parse().expect("a number of runs"));
    let known = key::OPERATIONS.iter().find(|(known, _)| *known == name);
    let cell = known.map_or(name.as_str(), |(_, cell)| cell);
    (operations::prepare(cell)
        .expect("a known operation or cell")
        .run)(runs);
}
