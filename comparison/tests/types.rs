//! Compares the types that Go records for the generators with the tables of the library.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_comparison::files;
use serde_json::Value;

const TYPES: &str = include_str!("../../server/builtin/src/data/types.json");
const KINDS: &str = include_str!("../../server/builtin/src/data/kinds.json");

/// The starts of the names of kinds that Go has, and kube-apiserver does not serve.
const NOT_SERVED: &[&str] = &[
    "/v1 RangeAllocation",
    "admissionregistration.k8s.io/v1alpha1 ValidatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1alpha1 ValidatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/v1beta1 MutatingWebhookConfiguration",
    "admissionregistration.k8s.io/v1beta1 ValidatingWebhookConfiguration",
    "apiextensions.k8s.io/v1beta1 ",
    "apiregistration.k8s.io/v1beta1 ",
    "apps/v1beta1 ",
    "apps/v1beta2 ",
    "authentication.k8s.io/v1alpha1 ",
    "authentication.k8s.io/v1beta1 TokenReview",
    "authorization.k8s.io/v1beta1 ",
    "batch/v1beta1 ",
    "certificates.k8s.io/v1beta1 CertificateSigningRequest",
    "coordination.k8s.io/v1beta1 Lease",
    "discovery.k8s.io/v1beta1 ",
    "events.k8s.io/v1beta1 ",
    "extensions/v1beta1 ",
    "flowcontrol.apiserver.k8s.io/v1beta",
    "imagepolicy.k8s.io/v1alpha1 ",
    "lifecycle.k8s.io/v1alpha1 ",
    "networking.k8s.io/v1beta1 Ingress",
    "node.k8s.io/v1alpha1 ",
    "node.k8s.io/v1beta1 ",
    "policy/v1beta1 ",
    "rbac.authorization.k8s.io/v1alpha1 ",
    "rbac.authorization.k8s.io/v1beta1 ",
    "scheduling.k8s.io/v1alpha3 ",
    "scheduling.k8s.io/v1beta1 ",
    "storage.k8s.io/v1alpha1 ",
    "storage.k8s.io/v1beta1 CSI",
    "storage.k8s.io/v1beta1 StorageClass",
    "storage.k8s.io/v1beta1 VolumeAttachment",
];

/// A type of one of the tables: its sort, the types inside, and its fields.
#[derive(Debug, PartialEq)]
struct Shape {
    sort: String,
    item: Option<String>,
    fields: BTreeMap<String, String>,
}

fn recorded() -> Value {
    files::read(&files::folder("recorded").join("types.json.gz")).unwrap()
}

fn kinds(table: &Value) -> BTreeMap<String, Value> {
    let name = |entry: &Value| {
        let part = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        format!("{}/{} {}", part("group"), part("version"), part("kind"))
    };
    let kinds = table["kinds"].as_array().unwrap().iter();
    kinds
        .map(|entry| (name(entry), entry["type"].clone()))
        .collect()
}

fn shape_in_go(table: &Value, key: &str) -> Shape {
    let ty = &table["types"][key];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let fields = ty.get("fields").and_then(Value::as_array).into_iter();
    Shape {
        sort: text(&ty["sort"]),
        item: ty.get("item").map(text),
        fields: fields
            .flatten()
            .map(|field| (text(&field["name"]), text(&field["type"])))
            .collect(),
    }
}

fn shape_in_library(table: &Value, key: &str) -> Shape {
    let ty = &table["types"][key.parse::<usize>().unwrap()];
    let sort = ty[0].as_str().unwrap().to_owned();
    let item = match sort.as_str() {
        "map" => ty.get(3),
        "struct" => None,
        _ => ty.get(2),
    };
    let mut fields = BTreeMap::new();
    for field in ty.get(2).and_then(Value::as_array).into_iter().flatten() {
        let ty = field[1].to_string();
        if field[2].as_u64().unwrap() & 4 == 0 {
            let name = usize::try_from(field[0].as_u64().unwrap()).unwrap();
            fields.insert(table["names"][name].as_str().unwrap().to_owned(), ty);
        } else {
            fields.extend(shape_in_library(table, &ty).fields);
        }
    }
    Shape {
        item: item.map(Value::to_string),
        sort,
        fields,
    }
}

#[test]
fn tables_of_the_library_have_the_types_of_go() {
    let (go, library) = (recorded(), serde_json::from_str::<Value>(TYPES).unwrap());
    let (in_go, own) = (kinds(&go), kinds(&serde_json::from_str(KINDS).unwrap()));
    for name in in_go.keys().filter(|name| !own.contains_key(*name)) {
        assert!(
            NOT_SERVED.iter().any(|other| name.starts_with(other)),
            "{name} is not in the table of the library"
        );
    }
    let mut open: Vec<(String, String, String)> = Vec::new();
    for (name, ty) in &own {
        let key = in_go[name].as_str().unwrap();
        open.push((name.clone(), key.to_owned(), ty.to_string()));
    }
    let mut seen = BTreeSet::new();
    while let Some((path, key, at)) = open.pop() {
        if !seen.insert((key.clone(), at.clone())) {
            continue;
        }
        let (theirs, ours) = (shape_in_go(&go, &key), shape_in_library(&library, &at));
        assert_eq!(theirs.sort, ours.sort, "{path}");
        let names = |shape: &Shape| shape.fields.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&theirs), names(&ours), "{path}");
        for (name, ty) in theirs.fields {
            open.push((format!("{path}.{name}"), ty, ours.fields[&name].clone()));
        }
        assert_eq!(theirs.item.is_some(), ours.item.is_some(), "{path}");
        open.extend(theirs.item.zip(ours.item).map(|(a, b)| (path, a, b)));
    }
    assert!(seen.len() > 1000, "{}", seen.len());
}
