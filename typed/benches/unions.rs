//! Cost of union normalization during update and apply of a pod. Compares a schema with unions to the same schema
//! without them, for changed and unchanged objects.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_typed::internal::{normalize_applied, normalize_config};
use fieldmanager_typed::{Duplicates, Ratcheting, TypedValue};
use fieldmanager_value::Value;

const CONTAINERS: usize = 20;
const VOLUMES: usize = 100;

/// A type similar to a pod: containers with a profile each, and volumes, with unions in the items of both lists.
fn pod(unions: bool) -> Type {
    let union = |text: &str| {
        if unions {
            text.to_owned()
        } else {
            String::new()
        }
    };
    let text = format!(
        "types:
- name: pod
  map:
    fields:
    - {{name: metadata, type: {{map: {{elementType: {{map: {{elementType: {{scalar: string}}}}}}}}}}}}
    - name: containers
      type: {{list: {{elementRelationship: associative, keys: [name], elementType: {{namedType: container}}}}}}
    - name: volumes
      type: {{list: {{elementRelationship: associative, keys: [name], elementType: {{namedType: volume}}}}}}
- name: container
  map:
    fields:
    - {{name: name, type: {{scalar: string}}}}
    - {{name: image, type: {{scalar: string}}}}
    - {{name: env, type: {{map: {{elementType: {{scalar: string}}}}}}}}
    - {{name: profile, type: {{namedType: profile}}}}
- name: profile
  map:
    fields:
    - {{name: type, type: {{scalar: string}}}}
    - {{name: localhostProfile, type: {{scalar: string}}}}
    {}
- name: volume
  map:
    fields:
    - {{name: name, type: {{scalar: string}}}}
    - {{name: emptyDir, type: {{map: {{elementType: {{scalar: string}}}}}}}}
    - {{name: configMap, type: {{map: {{elementType: {{scalar: string}}}}}}}}
    - {{name: secret, type: {{map: {{elementType: {{scalar: string}}}}}}}}
    {}
",
        union(
            "unions: [{discriminator: type, fields: [{fieldName: localhostProfile, discriminatorValue: L}]}]"
        ),
        union("unions: [{fields: [{fieldName: emptyDir}, {fieldName: configMap}, {fieldName: secret}]}]"),
    );
    Schema::from_yaml(&text).unwrap().type_named("pod").unwrap()
}

fn object() -> Value {
    let mut text = "metadata: {labels: {app: web, tier: front}}\ncontainers:\n".to_owned();
    for i in 0..CONTAINERS {
        text += &format!(
            "- {{name: c{i}, image: nginx, env: {{A: a, B: b, C: c}}, profile: {{type: L, localhostProfile: p}}}}\n"
        );
    }
    text += "volumes:\n";
    for i in 0..VOLUMES {
        text += &format!("- {{name: v{i}, configMap: {{name: c{i}}}}}\n");
    }
    Value::from_yaml(&text).unwrap()
}

/// A configuration with a single volume.
fn one_volume(member: &str) -> Value {
    Value::from_yaml(&format!("volumes: [{{name: v7, {member}: {{name: x}}}}]")).unwrap()
}

fn typed(ty: &Type, value: &Value) -> TypedValue {
    TypedValue::new(value.clone(), ty.clone(), Duplicates::Allow).unwrap()
}

/// The object parsed again, so that it shares nothing with the original.
fn reread(ty: &Type, value: &Value) -> TypedValue {
    typed(ty, &Value::from_json(value.to_json().as_str()).unwrap())
}

fn update(c: &mut Criterion) {
    let mut group = c.benchmark_group("normalize_update");
    let value = object();
    for (name, unions) in [("without unions", false), ("with unions", true)] {
        let ty = pod(unions);
        let null = TypedValue::null(ty.clone());
        let live = null.normalize_update(&typed(&ty, &value)).unwrap().value;
        let shared = live.merge(&typed(
            &ty,
            &Value::from_yaml("{metadata: {labels: {app: x}}}").unwrap(),
        ));
        let shared = shared.unwrap();
        let anew = reread(&ty, &value);
        let changed = live.merge(&typed(&ty, &one_volume("secret"))).unwrap();
        let changed_anew = reread(&ty, changed.value());
        let mut run = |case: &str, old: &TypedValue, new: &TypedValue| {
            group.bench_function(format!("{case}/{name}"), |b| {
                b.iter(|| black_box(old).normalize_update(black_box(new)).unwrap());
            });
        };
        run("create", &null, &anew);
        run("unchanged, shared", &live, &shared);
        run("unchanged, parsed again", &live, &anew);
        run("one volume changed, shared", &live, &changed);
        run("one volume changed, parsed again", &live, &changed_anew);
    }
    group.finish();
}

/// Normalization together with the rest of an update, for comparison.
fn whole(c: &mut Criterion) {
    let mut group = c.benchmark_group("normalize_update and compare");
    let value = object();
    for (name, unions) in [("without unions", false), ("with unions", true)] {
        let ty = pod(unions);
        let live = TypedValue::null(ty.clone())
            .normalize_update(&typed(&ty, &value))
            .unwrap()
            .value;
        let anew = reread(&ty, &value);
        let changed = reread(
            &ty,
            live.merge(&typed(&ty, &one_volume("secret")))
                .unwrap()
                .value(),
        );
        for (case, new) in [
            ("unchanged, parsed again", &anew),
            ("one volume changed, parsed again", &changed),
        ] {
            group.bench_function(format!("{case}/{name}"), |b| {
                b.iter(|| {
                    let normalized = live.normalize_update(black_box(new)).unwrap().value;
                    live.compare(&normalized).unwrap()
                });
            });
        }
    }
    group.finish();
}

fn apply(c: &mut Criterion) {
    let mut group = c.benchmark_group("merge and normalize an apply");
    let value = object();
    for (name, unions) in [("without unions", false), ("with unions", true)] {
        let ty = pod(unions);
        let live = TypedValue::null(ty.clone())
            .normalize_update(&typed(&ty, &value))
            .unwrap()
            .value;
        let cases = [
            (
                "one label",
                Value::from_yaml("{metadata: {labels: {app: x}}}").unwrap(),
            ),
            ("one volume, unchanged", one_volume("configMap")),
            ("one volume, another member", one_volume("secret")),
            ("all, unchanged", value.clone()),
        ];
        for (case, config) in cases {
            group.bench_function(format!("{case}/{name}"), |b| {
                b.iter_batched(
                    || reread(&ty, &config),
                    |config| {
                        let config = normalize_config(&live, &config).unwrap().value;
                        let merged = live.merge(&config).unwrap();
                        normalize_applied(&live, &config, &merged).unwrap()
                    },
                    BatchSize::SmallInput,
                );
            });
        }
    }
    group.finish();
}

fn validate(c: &mut Criterion) {
    let mut group = c.benchmark_group("validate_unions");
    let value = object();
    for (name, unions) in [("without unions", false), ("with unions", true)] {
        let ty = pod(unions);
        let (old, new) = (typed(&ty, &value), reread(&ty, &value));
        for (case, ratcheting) in [("ratcheting", Ratcheting::On), ("all", Ratcheting::Off)] {
            group.bench_function(format!("{case}/{name}"), |b| {
                b.iter(|| black_box(&old).validate_unions(black_box(&new), ratcheting));
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1));
    targets = update, whole, apply, validate
}
criterion_main!(benches);
