//! A change to ten parts of lists, maps and sets of any size.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "the inputs are generated and valid"
)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fieldmanager_benches::operations::{ON_LISTS, ON_MAPS, ON_SIZES, prepare};

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

fn cells(c: &mut Criterion, kind: &str, operations: &[&str]) {
    let mut group = c.benchmark_group(kind);
    for operation in operations {
        for size in SIZES {
            // Prepare only the selected cells.
            let mut prepared = None;
            group.bench_function(BenchmarkId::new(*operation, size), |b| {
                let prepared = prepared
                    .get_or_insert_with(|| prepare(&format!("{kind}/{operation}/{size}")).unwrap());
                b.iter_custom(&mut prepared.run);
            });
        }
    }
    group.finish();
}

fn lists(c: &mut Criterion) {
    cells(c, "list", &ON_LISTS);
}

fn maps(c: &mut Criterion) {
    cells(c, "map", &ON_MAPS);
}

fn sets(c: &mut Criterion) {
    cells(c, "set", &ON_SIZES);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10)
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1));
    targets = lists, maps, sets
}
criterion_main!(benches);
