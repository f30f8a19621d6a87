//! The number and size of the allocations of each operation.
//!
//! Criterion measures time; this prints a table, which is the same for every run. As in the other benchmarks, an
//! argument selects cells: `cargo bench -p fieldmanager-benches --bench allocations -- table/Pod`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a table is printed"
)]

use std::alloc::System;

use fieldmanager_benches::objects::OBJECTS;
use fieldmanager_benches::operations::{BYTES, ENTRIES, ON_OBJECTS, PARSE, TABLE, prepare};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Runs after the first one; one-time allocations are not counted.
const RUNS: u64 = 10;

fn main() {
    println!(
        "{:40} {:>12} {:>14}",
        "operation, all runs on the same input", "allocations", "bytes"
    );
    let mut cells = Vec::new();
    for object in OBJECTS {
        cells.extend(
            TABLE
                .iter()
                .map(|operation| format!("table/{object}/{operation}")),
        );
        cells.extend(
            PARSE
                .iter()
                .filter(|what| **what != "validate")
                .map(|what| format!("parse/{object}/{what}")),
        );
        cells.extend(
            ON_OBJECTS
                .iter()
                .map(|what| format!("fields/{object}/{what}")),
        );
        cells.extend(
            ENTRIES
                .iter()
                .map(|what| format!("entries/{object}/{what}")),
        );
        cells.extend(BYTES.iter().map(|what| format!("bytes/{object}/{what}")));
    }
    for what in ["first", "again", "update"] {
        cells.extend([1_000, 10_000].map(|size| format!("list/{what}/{size}")));
    }
    // Cargo passes its own options too.
    let wanted = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'))
        .unwrap_or_default();
    for cell in cells.into_iter().filter(|cell| cell.contains(&wanted)) {
        let mut prepared = prepare(&cell).unwrap();
        (prepared.run)(1);
        let region = Region::new(ALLOCATOR);
        (prepared.run)(RUNS);
        let change = region.change();
        let (count, bytes) = (
            change.allocations + change.reallocations,
            change.bytes_allocated,
        );
        println!(
            "{cell:40} {:>12} {:>14}",
            count as u64 / RUNS,
            bytes as u64 / RUNS
        );
    }
}
