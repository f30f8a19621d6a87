//! Reading and writing: FieldsV1 of sets, managed fields of objects, and JSON of objects with an apply in between.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "the inputs are generated and valid"
)]

use criterion::{Criterion, criterion_group, criterion_main};
use fieldmanager_benches::objects::OBJECTS;
use fieldmanager_benches::operations::{BYTES, ENTRIES, ON_OBJECTS, prepare};

fn cells(c: &mut Criterion, kind: &str, operations: &[&str]) {
    let mut group = c.benchmark_group(kind);
    for object in OBJECTS {
        for operation in operations {
            let name = format!("{object}/{operation}");
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

fn fields(c: &mut Criterion) {
    cells(c, "fields", &ON_OBJECTS);
}

fn entries(c: &mut Criterion) {
    cells(c, "entries", &ENTRIES);
}

fn bytes(c: &mut Criterion) {
    cells(c, "bytes", &BYTES);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1));
    targets = fields, entries, bytes
}
criterion_main!(benches);
