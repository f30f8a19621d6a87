//! The table of the Go package's own benchmark, and reading and writing the same objects.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "the inputs are generated and valid"
)]

use criterion::{Criterion, criterion_group, criterion_main};
use fieldmanager_benches::objects::OBJECTS;
use fieldmanager_benches::operations::{PARSE, TABLE, prepare};

fn cells(c: &mut Criterion, kind: &str, operations: &[&str], suffix: &str) {
    let mut group = c.benchmark_group(kind);
    for object in OBJECTS {
        for operation in operations {
            let name = format!("{object}/{operation}{suffix}");
            // Prepare only the selected cells.
            let mut prepared = None;
            group.bench_function(&name, |b| {
                let prepared =
                    prepared.get_or_insert_with(|| prepare(&format!("{kind}/{name}")).unwrap());
                b.iter_custom(&mut prepared.run);
            });
        }
    }
    group.finish();
}

fn table(c: &mut Criterion) {
    cells(c, "table", &TABLE, "/fresh");
}

fn parse(c: &mut Criterion) {
    cells(c, "parse", &PARSE, "");
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1));
    targets = table, parse
}
criterion_main!(benches);
