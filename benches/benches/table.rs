//! The table of the Go package's own benchmark, and reading and writing the same objects.
#![allow(clippy::unwrap_used, missing_docs, reason = "it measures inputs that it made itself")]

use criterion::{Criterion, criterion_group, criterion_main};
use fieldmanager_benches::objects::OBJECTS;
use fieldmanager_benches::operations::{PARSE, TABLE, prepare};

fn cells(c: &mut Criterion, group: &str, operations: &[&str]) {
    let mut group = c.benchmark_group(group);
    for object in OBJECTS {
        for operation in operations {
            let cell = format!("{}/{object}/{operation}", group_name(operation));
            let mut prepared = prepare(&cell).unwrap();
            group.bench_function(format!("{object}/{operation}"), |b| b.iter_custom(&mut prepared.run));
        }
    }
    group.finish();
}

fn group_name(operation: &str) -> &'static str {
    if TABLE.contains(&operation) { "table" } else { "parse" }
}

fn table(c: &mut Criterion) {
    cells(c, "table", &TABLE);
}

fn parse(c: &mut Criterion) {
    cells(c, "parse", &PARSE);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1));
    targets = table, parse
}
criterion_main!(benches);
