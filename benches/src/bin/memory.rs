//! Sizes on the heap, from a counting allocator; prints one JSON object.
//!
//! This is a separate program because counting takes time.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "its output is read by the comparison with Go"
)]

use std::alloc::System;
use std::hint::black_box;

use fieldmanager_benches::objects::{OBJECTS, object};
use fieldmanager_benches::operations::{bytes_texts, fields_of, shared_apply};
use fieldmanager_fieldpath::Set;
use fieldmanager_managedfields::{Interner, ManagedFields};
use fieldmanager_value::Value;
use serde_json::{Map, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The number of objects with the same managers.
const SHARING: usize = 10_000;
/// The number of objects that are stored as a whole.
const STORED: usize = 1000;

fn main() {
    let mut out = Map::new();
    for name in OBJECTS {
        let text = object(name).unwrap().json;
        out.insert(format!("json/{name}"), text.len().into());
        out.insert(
            format!("value/{name}"),
            kept(100, || Value::from_json(&text).unwrap()),
        );
        out.insert(
            format!("serde_json/{name}"),
            kept(100, || {
                serde_json::from_str::<serde_json::Value>(&text).unwrap()
            }),
        );
        let fields = fields_of(name).unwrap();
        out.insert(
            format!("set/{name}"),
            kept(100, || Set::from_json(fields.as_bytes()).unwrap()),
        );
    }
    let live = bytes_texts("Pod", "same").unwrap().live;
    // Parses the JSON each time, as for objects of requests.
    let read = || Value::from_json(&live).unwrap();
    let plain = || ManagedFields::of_object(&read()).unwrap();
    out.insert("decoded/Pod".to_owned(), kept(SHARING, plain));
    out.insert(
        "managed/Pod".to_owned(),
        interned(SHARING, |interner| {
            ManagedFields::of_object_with(&read(), interner).unwrap()
        }),
    );
    out.insert("object/Pod".to_owned(), kept(STORED, read));
    out.insert(
        "stored/Pod".to_owned(),
        interned(STORED, |interner| interner.share(&read())),
    );
    out.insert("growth".to_owned(), growth().into());
    println!("{}", serde_json::Value::Object(out));
}

/// The bytes in use.
fn used() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.wrapping_sub(stats.bytes_deallocated)
}

/// The bytes that one of many values keeps.
fn kept<T>(n: usize, make: impl Fn() -> T) -> serde_json::Value {
    // Makes one-time allocations first.
    drop(black_box(make()));
    kept_beside(&mut (), n, |()| make())
}

/// The bytes that one of many values keeps, with its share of the common interner.
fn interned<T>(n: usize, make: impl Fn(&mut Interner) -> T) -> serde_json::Value {
    drop(black_box(make(&mut Interner::default())));
    // The interner allocates nothing before the first use.
    kept_beside(&mut Interner::default(), n, make)
}

fn kept_beside<S, T>(shared: &mut S, n: usize, make: impl Fn(&mut S) -> T) -> serde_json::Value {
    let mut values = Vec::with_capacity(n);
    let before = used();
    for _ in 0..n {
        values.push(make(shared));
    }
    let bytes = used().wrapping_sub(before) as f64 / n as f64;
    drop(black_box(values));
    json!(bytes)
}

/// The additional bytes in use after ten thousand more applies by one field manager.
fn growth() -> usize {
    let shared = shared_apply("Pod").unwrap();
    let run = |times| (0..times).for_each(|_| shared.run());
    run(100);
    let before = used();
    run(10_000);
    used().saturating_sub(before)
}
