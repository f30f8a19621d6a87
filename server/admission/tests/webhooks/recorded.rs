//! Admission webhooks: what they are sent, what they make of a request, and what the client gets.

use std::collections::BTreeMap;
use std::sync::Arc;

use fieldmanager_access::{Attributes, Decision, User};
use fieldmanager_admission::webhooks::Webhooks;
use fieldmanager_admission::{
    Admission, AdmissionOperation, AdmissionRequest, Admitted, Cluster, Denial, Equivalent,
    ResourceName, mutate, validate,
};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::{Map, Value};
use futures::future::{BoxFuture, ready};

use super::{Replay, at, block_on, list, recordings, text, uids};

/// Cases whose answer is not made by webhooks but by what reads or validates the changed object.
const LATER: &[&str] = &[
    "patch-kind",
    "patch-version",
    "patch-label-number",
    "patch-pod-bad-type",
    "patch-namespace",
    "custom-version",
    "custom-no-kind",
    "custom-metadata-text",
];

/// Cases whose changed object is read as its type, or gets defaults, a name or warnings, before it is validated.
const DEFAULTED: &[&str] = &[
    "patch-pod-sidecar",
    "patch-no-kind",
    "patch-unknown-field",
    "patch-null-data",
    "patch-no-value",
    "custom-default",
    "custom-unknown-field",
    "equivalent-patch",
    "patch-name",
    "patch-uid",
    "patch-same-empty",
    "generate-name",
    "scale",
    "owner-clears",
    "owner-renames",
    "patch-status",
    "owner-status",
    "owner-remove",
    "match-token",
    "match-namespace-object",
];

/// Cases that differ: a changed object of a built-in type always differs from the one before in kube-apiserver, whose new
/// times are more precise than its JSON; redirects are followed below the caller that answers here; JSON that does not parse has other words; objects
/// are asked about more than once when they are deleted; or plugins change the object.
const DIFFERENT: &[&str] = &[
    "several-again-unchanged",
    "redirect",
    "bad-type",
    "503-retry",
    "cut-json",
    "twice",
    "patch-text",
    "delete-collection",
    "delete-pod",
    "several-plugin-again",
    "owner-invalid",
];

const OBSERVER: &str = r#"{"metadata":{"name":"aaa-observer"},"webhooks":[{"name":"aaa-observer.example.com",
    "admissionReviewVersions":["v1"],"sideEffects":"None","failurePolicy":"Ignore","clientConfig":{"url":"https://localhost/observer"},
    "rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"]}]}]}"#;

struct Recorded {
    mutating: Arc<Vec<Value>>,
    validating: Arc<Vec<Value>>,
    calls: Vec<Value>,
}

impl Cluster for Recorded {
    fn get<'a>(
        &'a self,
        _: ResourceName<'a>,
        _: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, Denial>> {
        let team = if name == "t1" { "one" } else { "three" };
        let labels = Map::from_iter([("team", team), ("kubernetes.io/metadata.name", name)]);
        let metadata = Map::single("labels", Value::Map(labels));
        let object = Value::Map(Map::single("metadata", Value::Map(metadata)));
        Box::pin(ready(Ok((name != "nosuch").then_some(object))))
    }

    fn list<'a>(
        &'a self,
        (_, resource): ResourceName<'a>,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Arc<Vec<Value>>, Denial>> {
        let list = match resource {
            "mutatingwebhookconfigurations" => &self.mutating,
            _ => &self.validating,
        };
        Box::pin(ready(Ok(list.clone())))
    }

    fn update_status<'a>(
        &'a self,
        _: ResourceName<'a>,
        _: Value,
    ) -> BoxFuture<'a, Result<bool, Denial>> {
        panic!("webhooks write nothing")
    }

    fn authorize<'a>(&'a self, _: Attributes<'a>) -> BoxFuture<'a, Result<Decision, Denial>> {
        panic!("webhooks ask nothing")
    }

    fn equivalents(&self, request: &AdmissionRequest<'_>) -> Vec<Equivalent> {
        let groups: &[(&str, &str, &str)] = match request.resource {
            "horizontalpodautoscalers" => &[
                ("autoscaling", "v1", "HorizontalPodAutoscaler"),
                ("autoscaling", "v2", "HorizontalPodAutoscaler"),
            ],
            "events" => &[("", "v1", "Event"), ("events.k8s.io", "v1", "Event")],
            "things" => &[
                ("example.com", "v1", "Thing"),
                ("example.com", "v2", "Thing"),
            ],
            _ => &[],
        };
        let equivalent = |(group, version, kind): &(&str, &str, &str)| Equivalent {
            group: (*group).to_owned(),
            version: (*version).to_owned(),
            resource: request.resource.to_owned(),
            kind: match request.subresource {
                "scale" => GroupVersionKind::new("autoscaling", "v1", "Scale"),
                _ => GroupVersionKind::new(*group, *version, *kind),
            },
        };
        groups.iter().map(equivalent).collect()
    }

    fn convert<'a>(
        &'a self,
        object: Value,
        kind: &'a GroupVersionKind,
    ) -> BoxFuture<'a, Result<Value, Denial>> {
        // Objects of built-in types at other versions are those that were recorded.
        let is_update = self.calls.iter().any(|call| {
            let old = at(call, "sent.request.oldObject");
            !old.is_null() && text(old, "metadata.uid") == text(&object, "metadata.uid")
        });
        let replicas = at(&object, "spec.maxReplicas").as_i64();
        let is_deleted = self
            .calls
            .iter()
            .all(|call| at(call, "sent.request.object").is_null());
        let field = match is_deleted || (is_update && replicas == Some(3)) {
            true => "oldObject",
            false => "object",
        };
        let recorded = self.calls.iter().find_map(|call| {
            let sent = at(call, "sent.request");
            (text(sent, "kind.version") == &*kind.version
                && text(sent, "kind.group") == &*kind.group)
                .then(|| at(sent, field).clone())
                .filter(|object| !object.is_null())
        });
        let converted = match recorded {
            Some(recorded) if &*kind.group != "example.com" => recorded,
            _ => {
                let mut fields = object.as_map().unwrap().clone();
                fields.insert("apiVersion", Value::from(kind.api_version().as_str()));
                Value::Map(fields)
            }
        };
        Box::pin(ready(Ok(converted)))
    }
}

/// The request that the first webhook saw.
struct Owned {
    kind: GroupVersionKind,
    user: User,
    review: Value,
}

impl Owned {
    fn read(review: &Value) -> Self {
        let kind = |name: &str| text(review, &format!("requestKind.{name}")).to_owned();
        let texts = |value: &Value| -> Vec<String> {
            let list = value.as_list().into_iter().flatten();
            list.map(|item| item.as_str().unwrap().to_owned()).collect()
        };
        let extra = at(review, "userInfo.extra").as_map().into_iter().flatten();
        Owned {
            kind: GroupVersionKind::new(kind("group"), kind("version"), kind("kind")),
            user: User {
                name: text(review, "userInfo.username").to_owned(),
                uid: text(review, "userInfo.uid").to_owned(),
                groups: texts(at(review, "userInfo.groups")),
                extra: extra
                    .map(|(key, values)| (key.as_str().to_owned(), texts(values)))
                    .collect(),
            },
            review: review.clone(),
        }
    }

    fn request(&self) -> AdmissionRequest<'_> {
        let object = |name: &str| Some(at(&self.review, name)).filter(|value| !value.is_null());
        AdmissionRequest {
            operation: match text(&self.review, "operation") {
                "CREATE" => AdmissionOperation::Create,
                "UPDATE" => AdmissionOperation::Update,
                "DELETE" => AdmissionOperation::Delete,
                _ => AdmissionOperation::Connect,
            },
            kind: &self.kind,
            group: text(&self.review, "requestResource.group"),
            version: text(&self.review, "requestResource.version"),
            resource: text(&self.review, "requestResource.resource"),
            subresource: text(&self.review, "requestSubResource"),
            namespace: text(&self.review, "namespace"),
            name: text(&self.review, "name"),
            user: &self.user,
            options: at(&self.review, "options"),
            dry_run: at(&self.review, "dryRun").as_bool().unwrap(),
            old: object("oldObject"),
            object: object("object"),
        }
    }
}

/// An object without what the server sets after the mutations.
fn stripped(object: &Value) -> Value {
    let mut fields = object.as_map().cloned().unwrap_or_default();
    let mut metadata = at(object, "metadata").as_map().cloned().unwrap_or_default();
    for name in [
        "uid",
        "creationTimestamp",
        "resourceVersion",
        "generation",
        "managedFields",
    ] {
        metadata.remove(name);
    }
    for name in ["labels", "annotations"] {
        if metadata
            .get(name)
            .is_some_and(|value| value.as_map().is_some_and(Map::is_empty))
        {
            metadata.remove(name);
        }
    }
    fields.insert("metadata", Value::Map(metadata));
    Value::Map(fields)
}

fn is_one_of(case: &str, cases: &[&str]) -> bool {
    cases.iter().any(|name| case.contains(name))
}

/// The answer of a refusal, as the client gets it.
fn body(denial: &Denial) -> Value {
    let status = serde_json::to_string(&denial.status).unwrap();
    let status = Value::from_json(&status).unwrap();
    denial.body.clone().unwrap_or(status)
}

/// Runs a case. Gives what differs.
fn run(line: &Value) -> Vec<String> {
    let (case, calls) = (text(line, "case"), list(line, "calls"));
    let review = [at(line, "request").clone()]
        .into_iter()
        .chain(calls.iter().map(|call| at(call, "sent.request").clone()))
        .find(|review| !review.is_null());
    let Some(review) = review else {
        // A webhook that must not see a request saw nothing.
        assert!(
            is_one_of(
                case,
                &[
                    "exempt",
                    "review",
                    "missing",
                    "delete-none",
                    "namespace-delete"
                ]
            ),
            "{case}"
        );
        return Vec::new();
    };

    let message = text(line, "body.message");
    let failure = message
        .split_once("failed to call webhook: ")
        .map_or("", |(_, text)| text);
    let replay = Replay::new(calls.clone(), failure);
    let mut mutating = list(line, "mutating");
    mutating.push(Value::from_json(OBSERVER).unwrap());
    let cluster = Recorded {
        mutating: Arc::new(mutating),
        validating: Arc::new(list(line, "validating")),
        calls,
    };
    let uids = uids();
    let mutating = Webhooks::mutating(replay.clone(), uids.clone());
    let validating = Webhooks::validating(replay.clone(), uids);

    let owned = Owned::read(&review);
    let request = owned.request();
    let participants: [Arc<dyn Admission>; 1] = [Arc::new(mutating)];
    let mutated = block_on(mutate(&participants, request, &cluster));
    let validated = mutated.clone().and_then(|mutated| {
        let last = Some(at(line, "final")).filter(|object| !object.is_null());
        let request = AdmissionRequest {
            object: last.or(request.object),
            ..request
        };
        let participants: [Arc<dyn Admission>; 1] = [Arc::new(validating)];
        let validated = block_on(validate(&participants, request, &cluster))?;
        Ok((mutated, validated))
    });

    let mut differences = std::mem::take(&mut *replay.differences.lock().unwrap());
    let left = replay.calls.lock().unwrap().len();
    if left > 0 {
        differences.push(format!("{left} calls are left"));
    }
    let mut expected = at(line, "body").to_json();
    for (recorded, now) in replay.uids.lock().unwrap().iter() {
        expected = expected.replace(recorded, now);
    }
    let code = at(line, "code").as_i64().unwrap();
    let warnings = match &validated {
        Ok((mutated, validated)) => [&*mutated.warnings, &*validated.warnings].concat(),
        Err(denial) => denial.warnings.clone(),
    };
    check_warnings(line, &warnings, &mut differences);
    match validated {
        Err(denial) if code >= 400 => {
            let found = body(&denial).to_json();
            if found != expected {
                differences.push(format!("answered {found}\nrecorded {expected}"));
            }
        }
        Err(denial) => differences.push(format!("refused: {}", body(&denial).to_json())),
        Ok((mutated, validated)) => check(line, request, &mutated, &validated, &mut differences),
    }
    differences
}

fn check_warnings(line: &Value, warnings: &[String], differences: &mut Vec<String>) {
    let recorded: Vec<String> = list(line, "warnings")
        .iter()
        .filter_map(|warning| {
            let text = warning.as_str().unwrap().strip_prefix("299 - \"")?;
            Some(text.trim_end_matches('"').to_owned())
        })
        .collect();
    if !text(line, "case").ends_with("-warnings") && warnings != recorded {
        differences.push(format!("warned {warnings:?}, recorded {recorded:?}"));
    }
}

/// Checks a request that webhooks allowed.
fn check(
    line: &Value,
    request: AdmissionRequest<'_>,
    mutated: &Admitted,
    validated: &Admitted,
    differences: &mut Vec<String>,
) {
    let (case, code) = (text(line, "case"), at(line, "code").as_i64().unwrap());
    if code >= 400 && code != 422 && !is_one_of(case, LATER) {
        differences.push(format!("allowed, recorded {}", at(line, "body").to_json()));
    }
    if code >= 400 {
        return;
    }

    let object = mutated.object.as_ref().or(request.object);
    let last = at(line, "final");
    if let Some(object) = object
        && !last.is_null()
        && !is_one_of(case, DEFAULTED)
        && stripped(object) != stripped(last)
    {
        let (object, last) = (stripped(object).to_json(), stripped(last).to_json());
        differences.push(format!("made     {object}\nrecorded {last}"));
    }

    let mut annotations = BTreeMap::new();
    for (key, value) in mutated.annotations.iter().chain(&validated.annotations) {
        if !value.contains("aaa-") {
            annotations.entry(key.as_str()).or_insert(value.as_str());
        }
    }
    let recorded: BTreeMap<&str, &str> = at(line, "annotations")
        .as_map()
        .unwrap()
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str().unwrap()))
        .filter(|(key, _)| key.contains("webhook.admission") || key.contains("example.com"))
        .collect();
    let as_values = |annotations: &BTreeMap<&str, &str>| -> BTreeMap<String, Value> {
        let read = |text: &str| Value::from_json(text).unwrap_or_else(|_| text.into());
        let pairs = annotations.iter();
        pairs
            .map(|(key, text)| ((*key).to_owned(), read(text)))
            .collect()
    };
    let is_same = case.starts_with("patch-same");
    if !is_same && as_values(&annotations) != as_values(&recorded) {
        differences.push(format!("noted {annotations:?}\nrecorded {recorded:?}"));
    }
}

#[test]
fn webhooks_see_and_do_what_they_do_in_kube_apiserver() {
    let (mut cases, mut failed) = (0, Vec::new());
    for line in recordings() {
        let case = text(&line, "case");
        if case.starts_with("convert-") || is_one_of(case, DIFFERENT) {
            continue;
        }
        cases += 1;
        let differences = run(&line);
        if !differences.is_empty() {
            failed.push(format!("{case}:\n{}", differences.join("\n")));
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {cases}:\n{}",
        failed.len(),
        failed.join("\n\n")
    );
    assert!(cases >= 250, "{cases}");
}
