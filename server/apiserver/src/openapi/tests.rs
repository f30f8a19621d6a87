//! OpenAPI documents are those that a kube-apiserver sent.

use std::io::Read;

use super::OpenApi;
use crate::discovery::hash;
use crate::facts;
use crate::registry::Definition;
use fieldmanager_value::Value;
use flate2::read::GzDecoder;

fn recorded(compressed: &[u8]) -> Value {
    let mut text = String::new();
    GzDecoder::new(compressed)
        .read_to_string(&mut text)
        .unwrap();
    Value::from_json(&text).unwrap()
}

fn published() -> Value {
    recorded(include_bytes!(
        "../../tests/data/definitions_published.json.gz"
    ))
}

fn with_definitions() -> OpenApi {
    let definitions = Value::from_json(include_str!("../../tests/data/definitions.json")).unwrap();
    let definitions = definitions.as_list().unwrap().iter();
    let definitions: Vec<Definition> = definitions
        .map(|definition| Definition::of(definition).unwrap())
        .collect();
    OpenApi::new(&definitions)
}

/// The pointers at which two documents differ.
fn differences(path: &str, ours: &Value, theirs: &Value, out: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Map(a), Value::Map(b)) => {
            let names: std::collections::BTreeSet<&str> = a
                .iter()
                .chain(b.iter())
                .map(|(name, _)| name.as_str())
                .collect();
            for name in names {
                let path = format!("{path}/{name}");
                match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) => differences(&path, a, b, out),
                    (Some(a), None) => out.push(format!("{path}: only here: {}", a.to_json())),
                    (None, b) => out.push(format!("{path}: missing: {}", b.unwrap().to_json())),
                }
            }
        }
        (Value::List(a), Value::List(b)) if a.len() == b.len() => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}/{i}"), a, b, out);
            }
        }
        (a, b) if a != b => out.push(format!("{path}: {} is not {}", a.to_json(), b.to_json())),
        _ => {}
    }
}

#[track_caller]
fn assert_same(path: &str, ours: &Value, theirs: &Value) {
    let mut out = Vec::new();
    differences("", ours, theirs, &mut out);
    assert!(out.is_empty(), "{path}:\n{}", out.join("\n"));
}

#[test]
fn hashes_of_version_3_documents_are_those_of_kube_apiserver() {
    let documents = OpenApi::new([]);
    for (path, known) in facts::openapi_v3_paths() {
        let document = documents.v3(path).unwrap();
        assert_eq!(
            (document.etag.as_str(), hash(&document.body)),
            (known, known.to_owned()),
            "{path}"
        );
    }
}

#[test]
fn version_2_document_as_protobuf_is_that_of_kube_apiserver() {
    let recorded = recorded(include_bytes!(
        "../../tests/data/openapi_v2_protobuf.json.gz"
    ));
    let mut body = OpenApi::new([]).v2_protobuf().body.to_vec();
    // Maps in extensions are sorted here; kube-apiserver writes one of them in another order.
    let (ours, theirs) = (
        b"group: apiregistration.k8s.io\nkind: APIService\nversion: v1\n",
        b"group: apiregistration.k8s.io\nversion: v1\nkind: APIService\n",
    );
    while let Some(at) = body.windows(ours.len()).position(|window| window == ours) {
        body[at..at + theirs.len()].copy_from_slice(theirs);
    }
    assert_eq!(
        Some(body.len() as i64),
        recorded.get("size").and_then(Value::as_i64)
    );
    assert_eq!(
        Some(hash(&body).as_str()),
        recorded.get("hash").and_then(Value::as_str)
    );
}

#[test]
fn version_3_documents_of_definitions_are_those_of_kube_apiserver() {
    let (documents, published) = (with_definitions(), published());
    let index = String::from_utf8(documents.v3_index().body.to_vec()).unwrap();
    for path in [
        "apis/alpha.example.org/v1alpha1",
        "apis/example.com/v1",
        "apis/example.com/v1beta1",
    ] {
        let document = documents.v3(path).unwrap();
        assert!(
            index.contains(&format!("/openapi/v3/{path}?hash={}", document.etag)),
            "{path}"
        );
        let ours = Value::from_json_slice(&document.body).unwrap();
        assert_same(path, &ours, published.get(&format!("v3 {path}")).unwrap());
    }
    assert!(documents.v3("apis/alpha.example.org/v2").is_none());
}

#[test]
fn kind_in_lower_case_has_a_capital_letter_behind_the_version_of_an_identifier() {
    let definition = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
        "metadata":{"name":"ws.l.com"},"spec":{"group":"l.com","scope":"Cluster",
        "names":{"plural":"ws","kind":"widget","singular":"widget","listKind":"widgetList"},
        "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}"#;
    let definition = Definition::of(&Value::from_json(definition).unwrap()).unwrap();
    let document = OpenApi::new([&definition]).v3("apis/l.com/v1").unwrap();
    let text = String::from_utf8(document.body.to_vec()).unwrap();
    for id in ["readLComV1Widget", "deleteLComV1Collectionwidget"] {
        assert!(text.contains(&format!("\"operationId\":\"{id}\"")), "{id}");
    }
}

#[test]
fn version_2_document_has_the_paths_and_definitions_that_kube_apiserver_adds() {
    let (documents, published) = (with_definitions(), published());
    let with = Value::from_json_slice(&documents.v2().body).unwrap();
    let without = Value::from_json_slice(&facts::openapi_v2()).unwrap();
    for name in ["paths", "definitions", "parameters"] {
        let members =
            |document: &Value| document.get(name).and_then(Value::as_map).unwrap().clone();
        let known = members(&without);
        let added = members(&with)
            .iter()
            .filter(|(name, _)| !known.contains(name))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        assert_same(
            name,
            &Value::Map(added),
            published.get("v2").and_then(|v2| v2.get(name)).unwrap(),
        );
    }
    // Clients that read protobuf find them, too.
    let protobuf = documents.v2_protobuf();
    assert!(
        protobuf
            .body
            .windows(19)
            .any(|window| window == b"com.example.v1.Shop")
    );
}
