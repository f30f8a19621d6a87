//! Objects and requests of the tests.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test panics"
)]

use fieldmanager_handlers::{Outcome, Refused, Request, Resource};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_value::{Map, Value};

pub(crate) const APPLY: &str = "application/apply-patch+yaml";
pub(crate) const MERGE: &str = "application/merge-patch+json";

pub(crate) fn config_maps() -> Resource {
    Resource::builtin(&GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).unwrap()
}

pub(crate) fn shops() -> Resource {
    let schema = "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: \
                  string, default: red}}}, status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}";
    let version = "name: v1, served: true, storage: true, subresources: {status: {}}";
    let versions = &format!("[{{{version}, schema: {{openAPIV3Schema: {schema}}}}}]");
    Resource::custom(
        &CustomResource::from_value(&fieldmanager_testing::shop(versions)).unwrap(),
        "v1",
    )
    .unwrap()
}

pub(crate) fn request(name: &str) -> Request<'_> {
    Request::new("2026-01-31T12:00:00Z".parse().unwrap())
        .name(name)
        .uid("7e1b")
        .user_agent("test/1.0")
}

/// The object as a server stores it.
pub(crate) fn stored(outcome: &Outcome, version: &str) -> Value {
    with_metadata(&outcome.object, "resourceVersion", Some(version.into()))
}

pub(crate) fn with_metadata(object: &Value, name: &str, value: Option<Value>) -> Value {
    let fields = object.as_map().unwrap();
    let metadata = fields
        .get("metadata")
        .and_then(Value::as_map)
        .cloned()
        .unwrap_or_default();
    let metadata: Map = metadata.with_edits(vec![(name.into(), value)]);
    Value::Map(fields.with_edits(vec![("metadata".into(), Some(Value::Map(metadata)))]))
}

pub(crate) fn metadata<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    object.get("metadata")?.get(name)
}

pub(crate) fn config_map(body: &str) -> Value {
    let created = config_maps()
        .create(&request("").namespace("shop"), None, body.as_bytes())
        .unwrap();
    stored(&created, "1")
}

pub(crate) fn refused(result: Result<Outcome, Refused>) -> (u16, String) {
    let status = result.unwrap_err().status;
    (status.code, status.message)
}

pub(crate) fn shop(spec: &str) -> Value {
    let body = format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Shop","metadata":{{"name":"corner"}},"spec":{spec}}}"#
    );
    stored(
        &shops().create(&request(""), None, body.as_bytes()).unwrap(),
        "1",
    )
}
