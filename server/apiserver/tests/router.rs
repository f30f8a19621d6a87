//! Random requests: the server answers each of them, and none with an error that it does not explain.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed test panics"
)]
#![allow(clippy::indexing_slicing, reason = "a failed test panics")]

use crate::common::{CRDS, Client, shops};
use proptest::prelude::*;

/// Segments that occur in paths, and others.
fn segment() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "api",
        "apis",
        "v1",
        "apps",
        "example.com",
        "v2",
        "namespaces",
        "default",
        "configmaps",
        "deployments",
        "shops",
        "customresourcedefinitions",
        "apiextensions.k8s.io",
        "pods",
        "status",
        "scale",
        "log",
        "a",
        "watch",
        "openapi",
        "v3",
        "healthz",
        "ping",
        "events",
        "selfsubjectaccessreviews",
        "authorization.k8s.io",
        "%2F",
        "%ff",
        "..",
        "",
    ];
    prop_oneof![8 => prop::sample::select(KNOWN).prop_map(str::to_owned), 1 => "[a-z%/.]{0,6}"]
}

fn query() -> impl Strategy<Value = String> {
    const NAMES: &[&str] = &[
        "limit",
        "continue",
        "resourceVersion",
        "resourceVersionMatch",
        "labelSelector",
        "fieldSelector",
        "dryRun",
        "fieldManager",
        "force",
        "fieldValidation",
        "pretty",
        "propagationPolicy",
        "gracePeriodSeconds",
        "includeObject",
        "timeoutSeconds",
    ];
    const VALUES: &[&str] = &[
        "",
        "1",
        "0",
        "-1",
        "x",
        "All",
        "Exact",
        "a=b",
        "a in (b",
        "Foreground",
        "true",
        "%00",
        "Strict",
    ];
    let pair = (prop::sample::select(NAMES), prop::sample::select(VALUES));
    prop::collection::vec(
        pair.prop_map(|(name, value)| format!("{name}={}", value.replace(' ', "+"))),
        0..4,
    )
    .prop_map(|pairs| pairs.join("&"))
}

fn body() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "",
        "{}",
        "[]",
        "null",
        "{",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#,
        r#"{"apiVersion":"example.com/v1","kind":"Shop","metadata":{"name":"a"},"spec":{"size":1}}"#,
        r#"{"metadata":{"name":"a","finalizers":["x/y"]}}"#,
        r#"{"metadata":{"finalizers":null,"managedFields":[]}}"#,
        r#"[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]"#,
        r#"{"propagationPolicy":"Orphan","preconditions":{"uid":"x"}}"#,
        r#"{"metadata":{"generateName":"a-"},"spec":{"containers":[{"name":"a"}]}}"#,
    ];
    prop_oneof![6 => prop::sample::select(KNOWN).prop_map(str::to_owned), 1 => ".{0,20}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn requests_are_answered(
        requests in prop::collection::vec(
            (
                prop::sample::select(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].as_slice()),
                prop::collection::vec(segment(), 0..8),
                query(),
                prop::sample::select([
                    "", "application/json", "application/yaml", "application/apply-patch+yaml", "application/json-patch+json",
                    "application/merge-patch+json", "application/strategic-merge-patch+json", "application/cbor", "x",
                ].as_slice()),
                prop::sample::select([
                    "", "*/*", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml", "text/plain",
                    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
                ].as_slice()),
                body(),
            ),
            1..30,
        )
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let client = Client::new().await;
            client.post(CRDS, &shops()).await.expect(201);
            for (method, path, query, content_type, accept, body) in requests {
                let uri = format!("/{}?{query}", path.join("/"));
                if uri.parse::<http::Uri>().is_err() {
                    continue;
                }
                let headers: Vec<(&str, &str)> =
                    [("content-type", content_type), ("accept", accept)].into_iter().filter(|(_, value)| !value.is_empty()).collect();
                // A watch does not end.
                if method == "GET" && path.iter().any(|segment| segment == "watch") {
                    continue;
                }
                let answer = client.send(method, &uri, &headers, body).await;
                if answer.code == 500 {
                    let status = answer.json();
                    let message = status["message"].as_str().unwrap_or_default();
                    assert!(!message.is_empty(), "{method} {uri}: {status}");
                }
            }
        });
    }
}
