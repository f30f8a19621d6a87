//! Answers of webhooks.

use std::sync::Arc;
use std::time::Duration;

use fieldmanager_apiserver::User;
use fieldmanager_apiserver::admission::conversion::{ConversionWebhook, WebhookConverter};
use fieldmanager_apiserver::admission::webhooks::{
    CallError, Caller, ClientConfig, Uids, Webhooks,
};
use fieldmanager_apiserver::admission::{
    Admission, AdmissionOperation, AdmissionRequest, Cluster, Denial, ResourceName,
};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;
use futures::future::{BoxFuture, ready};

const CONFIGURATION: &str = r#"{"metadata": {"name": "c"}, "webhooks": [{
    "name": "a.example.com", "clientConfig": {"url": "https://localhost"}, "sideEffects": "None",
    "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "matchPolicy": "Exact", "timeoutSeconds": 1,
    "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]}]}"#;

const OBJECT: &str = r#"{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a", "uid": "u",
    "labels": {"a": "b"}}, "spec": {"parts": [1, {"a": null}]}}"#;

const CONVERSION: &str = r#"{"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://localhost"},
    "conversionReviewVersions": ["v1"]}}"#;

/// A webhook with one answer, and a cluster with one configuration of it.
struct Fixed {
    answer: Vec<u8>,
    configurations: Arc<Vec<Value>>,
}

impl Caller for Fixed {
    fn call<'a>(
        &'a self,
        _: &'a ClientConfig,
        _: Vec<u8>,
        _: Duration,
    ) -> BoxFuture<'a, Result<Vec<u8>, CallError>> {
        Box::pin(ready(Ok(self.answer.clone())))
    }
}

impl Cluster for Fixed {
    fn get<'a>(
        &'a self,
        _: ResourceName<'a>,
        _: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, Denial>> {
        Box::pin(ready(Ok(None)))
    }

    fn list<'a>(
        &'a self,
        _: ResourceName<'a>,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Arc<Vec<Value>>, Denial>> {
        Box::pin(ready(Ok(self.configurations.clone())))
    }

    fn update_status<'a>(
        &'a self,
        _: ResourceName<'a>,
        _: Value,
    ) -> BoxFuture<'a, Result<bool, Denial>> {
        Box::pin(ready(Ok(true)))
    }

    fn authorize<'a>(
        &'a self,
        _: fieldmanager_access::Attributes<'a>,
    ) -> BoxFuture<'a, Result<fieldmanager_access::Decision, Denial>> {
        Box::pin(ready(Ok(fieldmanager_access::Decision::default())))
    }
}

/// Gives the bytes as the answer of an admission webhook and of a conversion webhook. No answer may panic; an object that is
/// made of it can be read again, and a refusal has a code and a message.
///
/// # Errors
///
/// A message that describes the violated invariant.
pub fn check_reviews(answer: &[u8]) -> Result<(), String> {
    let read = |text: &str| Value::from_json(text).map_err(|error| error.to_string());
    let fixed = Arc::new(Fixed {
        answer: answer.to_vec(),
        configurations: Arc::new(vec![read(CONFIGURATION)?]),
    });
    let object = read(OBJECT)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let uids: Uids = Arc::new(|| "uid".to_owned());

    let kind = GroupVersionKind::new("example.com", "v1", "Shop");
    let request = AdmissionRequest {
        operation: AdmissionOperation::Create,
        kind: &kind,
        group: "example.com",
        version: "v1",
        resource: "shops",
        subresource: "",
        namespace: "",
        name: "a",
        user: &User::admin(),
        options: &Value::Null,
        dry_run: false,
        old: None,
        object: Some(&object),
    };
    let mutating = Webhooks::mutating(fixed.clone(), uids.clone());
    check_admitted(runtime.block_on(mutating.mutate(request, &*fixed)))?;
    let validating = Webhooks::validating(fixed.clone(), uids.clone());
    check_admitted(runtime.block_on(validating.validate(request, &*fixed)))?;

    let Some(Ok(webhook)) = ConversionWebhook::read(&read(CONVERSION)?) else {
        return Err("the conversion cannot be read".to_owned());
    };
    let converter = WebhookConverter::new(fixed, uids);
    match runtime.block_on(converter.convert(&webhook, &object, "example.com/v2")) {
        Ok(converted) => check_object(&converted),
        Err(text) => {
            ensure!(!text.is_empty(), "a failed conversion has no text");
            Ok(())
        }
    }
}

fn check_admitted(
    answer: Result<fieldmanager_apiserver::admission::Admitted, Denial>,
) -> Result<(), String> {
    match answer {
        Ok(admitted) => admitted.object.as_ref().map_or(Ok(()), check_object),
        Err(denial) => {
            let status = &denial.status;
            ensure!(status.code >= 400, "{status:?} is no failure");
            ensure!(
                denial.body.is_some() || !status.message.is_empty(),
                "{status:?} has no message"
            );
            Ok(())
        }
    }
}

fn check_object(object: &Value) -> Result<(), String> {
    let json = object.to_json();
    let read = Value::from_json(&json).map_err(|error| format!("{json}: {error}"))?;
    ensure!(
        read == *object,
        "the object differs after reparsing: {json}"
    );
    Ok(())
}
