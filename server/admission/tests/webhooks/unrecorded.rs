//! What no recording has: dry runs with side effects, plugins that change an object, and how often configurations are read.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fieldmanager_access::{Attributes, Decision, User};
use fieldmanager_admission::webhooks::{CallError, Caller, ClientConfig, Webhooks};
use fieldmanager_admission::{
    Admission, AdmissionAnswer, AdmissionOperation, AdmissionPhase, AdmissionRequest, Admitted,
    Cluster, Denial, ResourceName, mutate,
};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::{Map, Value};
use futures::future::{BoxFuture, ready};

use super::{block_on, text, uids};

/// A cluster with webhooks only.
struct Configurations(Mutex<Arc<Vec<Value>>>);

impl Configurations {
    fn new(webhooks: &str) -> Self {
        let yaml = format!("{{metadata: {{name: c}}, webhooks: {webhooks}}}");
        Configurations(Mutex::new(Arc::new(vec![Value::from_yaml(&yaml).unwrap()])))
    }
}

impl Cluster for Configurations {
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
        Box::pin(ready(Ok(self.0.lock().unwrap().clone())))
    }

    fn defaulted(
        &self,
        _: &AdmissionRequest<'_>,
        _: &GroupVersionKind,
        object: Value,
    ) -> Result<Value, Denial> {
        let mut fields = object.as_map().unwrap().clone();
        fields.remove("unknown");
        Ok(Value::Map(fields))
    }

    fn update_status<'a>(
        &'a self,
        _: ResourceName<'a>,
        _: Value,
    ) -> BoxFuture<'a, Result<bool, Denial>> {
        Box::pin(ready(Ok(true)))
    }

    fn authorize<'a>(&'a self, _: Attributes<'a>) -> BoxFuture<'a, Result<Decision, Denial>> {
        panic!("webhooks ask nothing")
    }
}

/// Allows everything. Where the path says so, it adds a label or a field that the kind does not have, or replaces the kind.
#[derive(Default)]
struct Labels(Mutex<Vec<String>>);

impl Caller for Labels {
    fn call<'a>(
        &'a self,
        client: &'a ClientConfig,
        body: Vec<u8>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Vec<u8>, CallError>> {
        let review = Value::from_json_slice(&body).unwrap();
        let url = client.url(timeout);
        self.0.lock().unwrap().push(url.clone());
        // [{"op":"add","path":"/metadata/labels","value":{"a":"1"}}]
        let patch =
            "W3sib3AiOiJhZGQiLCJwYXRoIjoiL21ldGFkYXRhL2xhYmVscyIsInZhbHVlIjp7ImEiOiIxIn19XQ==";
        // [{"op":"add","path":"/unknown","value":1}]
        let unknown = "W3sib3AiOiJhZGQiLCJwYXRoIjoiL3Vua25vd24iLCJ2YWx1ZSI6MX1d";
        // [{"op":"replace","path":"/kind","value":"Other"}]
        let kind = "W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9raW5kIiwidmFsdWUiOiJPdGhlciJ9XQ==";
        let patch = [("label", patch), ("unknown", unknown), ("kind", kind)]
            .into_iter()
            .find(|(path, _)| url.contains(path));
        let patch = patch.map_or(String::new(), |(_, patch)| {
            format!(r#","patchType":"JSONPatch","patch":"{patch}""#)
        });
        let uid = text(&review, "request.uid");
        let answer = format!(
            r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{{"uid":"{uid}","allowed":true{patch}}}}}"#
        );
        Box::pin(ready(Ok(answer.into_bytes())))
    }
}

/// A plugin that adds an annotation to objects with labels.
#[derive(Default)]
struct Plugin(AtomicUsize);

impl Admission for Plugin {
    fn name(&self) -> &str {
        "Plugin"
    }

    fn handles(&self, phase: AdmissionPhase, _: &AdmissionRequest<'_>) -> bool {
        phase == AdmissionPhase::Mutate
    }

    fn mutate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        _: &'a dyn Cluster,
    ) -> AdmissionAnswer<'a> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let mut admitted = Admitted::default();
        let metadata = request.field(&["metadata"]).as_map().unwrap();
        if metadata.contains("labels") {
            let mut metadata = metadata.clone();
            metadata.insert("annotations", Value::Map(Map::single("seen", "1")));
            let mut fields = request.object.unwrap().as_map().unwrap().clone();
            fields.insert("metadata", Value::Map(metadata));
            admitted = Admitted::changed(Value::Map(fields));
        }
        Box::pin(ready(Ok(admitted)))
    }
}

/// Creates a config map with the webhooks of a cluster. Gives the answer, and which webhooks were called.
fn create(webhooks: &str, dry_run: bool) -> (Result<Admitted, Denial>, Vec<String>) {
    let labels = Arc::new(Labels::default());
    let mutating: Arc<dyn Admission> = Arc::new(Webhooks::mutating(labels.clone(), uids()));
    let participants = [Arc::new(Plugin::default()) as Arc<dyn Admission>, mutating];
    let answer = block_on(mutate(
        &participants,
        request(&User::admin(), &kind(), &object(), dry_run),
        &Configurations::new(webhooks),
    ));
    let calls = labels.0.lock().unwrap().clone();
    (answer, calls)
}

fn kind() -> GroupVersionKind {
    GroupVersionKind::new("", "v1", "ConfigMap")
}

fn object() -> Value {
    Value::from_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}").unwrap()
}

fn request<'a>(
    user: &'a User,
    kind: &'a GroupVersionKind,
    object: &'a Value,
    dry_run: bool,
) -> AdmissionRequest<'a> {
    AdmissionRequest {
        operation: AdmissionOperation::Create,
        kind,
        group: "",
        version: "v1",
        resource: "configmaps",
        subresource: "",
        namespace: "shop",
        name: "a",
        user,
        options: &Value::Null,
        dry_run,
        old: None,
        object: Some(object),
    }
}

const RULES: &str = "admissionReviewVersions: [v1], rules: [{operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*']}]";

fn hook(path: &str, more: &str) -> String {
    format!(
        "{{name: {path}.example.com, clientConfig: {{url: 'https://localhost/{path}'}}, {RULES}, {more}}}"
    )
}

#[test]
fn plugins_are_asked_again_and_webhooks_if_the_plugins_changed_something() {
    let webhooks = format!(
        "[{}, {}]",
        hook("label", "reinvocationPolicy: IfNeeded"),
        hook("other", "sideEffects: None")
    );
    let (answer, calls) = create(&webhooks, false);
    let object = answer.unwrap().object.unwrap();
    assert_eq!(text(&object, "metadata.annotations.seen"), "1");
    let url = |path: &str| format!("https://localhost/{path}?timeout=10s");
    assert_eq!(calls, [url("label"), url("other"), url("label")]);

    let (_, calls) = create(
        &format!("[{}]", hook("label", "reinvocationPolicy: Never")),
        false,
    );
    assert_eq!(calls.len(), 1);
}

#[test]
fn a_field_that_the_kind_does_not_have_is_no_change() {
    let webhooks = format!(
        "[{}, {}]",
        hook("other", "reinvocationPolicy: IfNeeded"),
        hook("unknown", "sideEffects: None")
    );
    let (answer, calls) = create(&webhooks, false);
    assert!(answer.is_ok());
    assert_eq!(calls.len(), 2, "{calls:?}");
}

#[test]
fn the_scale_of_a_custom_resource_becomes_typed_behind_the_last_webhook() {
    let hooks = [
        hook("kind", "sideEffects: None"),
        hook("other", "sideEffects: None"),
    ];
    let hooks = hooks
        .join(", ")
        .replace("resources: ['*']", "resources: ['*/*']");
    let cluster = Configurations::new(&format!("[{hooks}]"));
    let labels = Arc::new(Labels::default());
    let webhooks = Webhooks::mutating(labels.clone(), uids());
    let kind = GroupVersionKind::new("autoscaling", "v1", "Scale");
    let scale = Value::from_yaml("{apiVersion: autoscaling/v1, kind: Scale}").unwrap();
    let user = User::admin();
    let request = AdmissionRequest {
        group: "example.com",
        resource: "shops",
        subresource: "scale",
        ..request(&user, &kind, &scale, false)
    };

    let denial = block_on(webhooks.mutate(request, &cluster)).unwrap_err();
    assert_eq!((denial.status.code, denial.status.reason), (500, ""));
    assert_eq!(
        denial.status.message,
        r#"no kind "Other" is registered for version "autoscaling/v1" in scheme "pkg/runtime/scheme.go:111""#
    );
    assert_eq!(labels.0.lock().unwrap().len(), 2);
}

#[test]
fn webhooks_with_side_effects_refuse_dry_runs() {
    let (answer, _) = create(
        &format!("[{}]", hook("a", "sideEffects: NoneOnDryRun")),
        true,
    );
    assert!(answer.is_ok());
    let (answer, _) = create(
        &format!(
            "[{}]",
            hook("a", "failurePolicy: Ignore, sideEffects: Some")
        ),
        true,
    );
    let status = answer.unwrap_err().status;
    assert_eq!((status.code, status.reason), (400, "BadRequest"));
    assert_eq!(
        status.message,
        r#"admission webhook "a.example.com" does not support dry run"#
    );
    let (answer, _) = create(&format!("[{}]", hook("a", "failurePolicy: Fail")), true);
    let message = answer.unwrap_err().status.message;
    assert_eq!(
        message,
        r#"Internal error occurred: failed calling webhook "a.example.com": Webhook SideEffects is nil"#
    );
}

#[test]
fn configurations_that_cannot_be_used_are_failures() {
    let webhooks = format!(
        "[{}]",
        hook("a", "failurePolicy: Fail").replace("[v1]", "[v3]")
    );
    let message = create(&webhooks, false).0.unwrap_err().status.message;
    assert!(message.ends_with("could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)"), "{message}");
    let webhooks = webhooks
        .replace("[v3]", "[v1]")
        .replace("url: 'https://localhost/a'", "");
    let message = create(&webhooks, false).0.unwrap_err().status.message;
    assert!(
        message.ends_with(
            "could not get REST client: webhook configuration must have either service or URL"
        ),
        "{message}"
    );
}

#[test]
fn configurations_are_read_when_the_list_changes() {
    let labels = Arc::new(Labels::default());
    let webhooks = Webhooks::mutating(labels.clone(), uids());
    let cluster = Configurations::new("[]");
    let (user, kind, object) = (User::admin(), kind(), object());
    let request = request(&user, &kind, &object, false);
    assert_eq!(
        block_on(webhooks.mutate(request, &cluster)).unwrap().object,
        None
    );
    let other = Configurations::new(&format!("[{}]", hook("label", "sideEffects: None")));
    *cluster.0.lock().unwrap() = other.0.lock().unwrap().clone();
    for _ in 0..2 {
        assert!(
            block_on(webhooks.mutate(request, &cluster))
                .unwrap()
                .object
                .is_some()
        );
    }
    assert_eq!(labels.0.lock().unwrap().len(), 2);
    assert!(
        block_on(webhooks.validate(request, &cluster))
            .unwrap()
            .warnings
            .is_empty()
    );
}

#[test]
fn configurations_and_reviews_of_access_are_not_sent() {
    let webhooks = Webhooks::validating(Arc::new(Labels::default()), uids());
    let (user, kind, object) = (User::admin(), kind(), object());
    let own = GroupVersionKind::new(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicy",
    );
    let handles =
        |request: &AdmissionRequest<'_>| webhooks.handles(AdmissionPhase::Validate, request);
    assert!(!handles(&request(&user, &own, &object, false)));
    let review = AdmissionRequest {
        group: "authorization.k8s.io",
        ..request(&user, &kind, &object, false)
    };
    assert!(!handles(&review));
    let asked = request(&user, &kind, &object, false);
    assert!(handles(&asked) && !webhooks.handles(AdmissionPhase::Mutate, &asked));
    assert_eq!(webhooks.name(), "ValidatingAdmissionWebhook");
}
