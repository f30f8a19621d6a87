//! What kube-apiserver 1.37.1 with its default plugins said to requests, asked of the plugins.

use std::sync::Arc;

use fieldmanager_access::User;
use fieldmanager_admission::plugins::all;
use fieldmanager_admission::{
    Admission, AdmissionOperation, AdmissionPhase, AdmissionRequest, Cluster, Denial,
};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::{Map, Value};

use super::cluster::{FakeCluster, block_on, text};

/// The lines: an object that is stored (`put`, `of`) or removed (`drop`), a right of a user (`allow`), or a request with
/// the object as it is decoded, the patch that makes the object of the answer of it, or the message of the refusal, and
/// what the quotas of the namespace say then (`used`).
const RECORDING: &str = include_str!("../data/plugins.jsonl");

fn list(value: &Value, name: &str) -> Vec<String> {
    let items = value
        .get(name)
        .and_then(Value::as_list)
        .into_iter()
        .flatten();
    items
        .map(|item| item.as_str().unwrap().to_owned())
        .collect()
}

fn merge(target: &Value, patch: &Value) -> Value {
    let Value::Map(patch) = patch else {
        return patch.clone();
    };
    let mut fields = target.as_map().cloned().unwrap_or_else(Map::new);
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(name);
        } else {
            let merged = merge(fields.get(name).unwrap_or(&Value::Null), value);
            fields.insert(name.clone(), merged);
        }
    }
    Value::Map(fields)
}

/// The words of a refusal, whose faults are in any order.
fn words(message: &str) -> Vec<&str> {
    let mut words: Vec<&str> = message.split(['[', ']', ',']).map(str::trim).collect();
    words.sort_unstable();
    words
}

/// What plugins make of a request.
pub(crate) fn admit(
    plugins: &[(&str, Arc<dyn Admission>)],
    request: AdmissionRequest<'_>,
    cluster: &dyn Cluster,
) -> Result<Value, Denial> {
    let mut object = request.object.unwrap().clone();
    for (_, plugin) in plugins {
        let request = AdmissionRequest {
            object: Some(&object),
            ..request
        };
        if plugin.handles(AdmissionPhase::Mutate, &request) {
            let admitted = block_on(plugin.mutate(request, cluster))?;
            object = admitted.object.unwrap_or(object.clone());
        }
    }

    // The server counts changes of the spec before it validates.
    let changed = match request.old {
        Some(old) if old.get("spec") != object.get("spec") => merge(
            &object,
            &Value::from_json(r#"{"metadata":{"generation":2}}"#).unwrap(),
        ),
        _ => object.clone(),
    };
    let request = AdmissionRequest {
        object: Some(&changed),
        ..request
    };
    for (_, plugin) in plugins {
        if plugin.handles(AdmissionPhase::Validate, &request) {
            block_on(plugin.validate(request, cluster))?;
        }
    }
    Ok(object)
}

struct Replay {
    cluster: FakeCluster,
    plugins: Vec<(&'static str, Arc<dyn Admission>)>,
    requests: usize,
    faults: Vec<String>,
}

impl Replay {
    fn take(&mut self, line: &Value) {
        let of = list(line, "of");
        if let Some(object) = line.get("put") {
            self.cluster.put((&of[0], &of[1]), object.clone());
        } else if line.get("drop").is_some() {
            let name = list(line, "drop");
            self.cluster.remove((&of[0], &of[1]), &name[0], &name[1]);
        } else if line.get("allow").is_some() {
            let right = list(line, "allow");
            self.cluster.allow(&right[0], &right[1], &right[2]);
        } else {
            self.ask(line);
        }
    }

    fn ask(&mut self, line: &Value) {
        self.requests += 1;
        let resource = list(line, "resource");
        let version = match &*resource[0] {
            "" => resource[1].clone(),
            group => format!("{group}/{}", resource[1]),
        };
        let kind = GroupVersionKind::from_api_version_kind(&version, text(line, &["kind"]));
        let user = match text(line, &["user"]) {
            "" => User::admin(),
            name => User {
                name: name.to_owned(),
                ..User::default()
            },
        };
        let is_create = text(line, &["op"]) == "CREATE";
        let dry_run = line.get("dry").is_some();
        let request = AdmissionRequest {
            operation: if is_create {
                AdmissionOperation::Create
            } else {
                AdmissionOperation::Update
            },
            kind: &kind,
            group: &resource[0],
            version: &resource[1],
            resource: &resource[2],
            subresource: text(line, &["sub"]),
            namespace: text(line, &["ns"]),
            name: text(line, &["name"]),
            user: &user,
            options: &Value::Null,
            dry_run,
            old: line.get("old"),
            object: line.get("object"),
        };

        let namespace = format!(r#"{{"metadata":{{"name":"{}"}}}}"#, request.namespace);
        let namespace = Value::from_json(&namespace).unwrap();
        self.cluster.put(("", "namespaces"), namespace);
        let answer = admit(&self.plugins, request, &self.cluster);
        let (name, code) = (
            line.get("message"),
            line.get("code").and_then(Value::as_i64),
        );
        match (&answer, code) {
            (_, Some(422)) => return,
            (Ok(object), Some(200 | 201)) => {
                let expected = match line.get("patch") {
                    Some(patch) => merge(request.object.unwrap(), patch),
                    None => request.object.unwrap().clone(),
                };
                // The server keeps the metadata of a Pod that is resized.
                let own = match request.subresource {
                    "resize" => "null",
                    _ => "{}",
                };
                let patch = Value::from_json(&format!(r#"{{"metadata":{{"annotations":{own}}}}}"#));
                let patch = patch.unwrap();
                if merge(object, &patch) != merge(&expected, &patch) {
                    self.faults
                        .push(format!("{object}\n  instead of {expected}"));
                }
                if request.subresource.is_empty() && !dry_run {
                    self.cluster
                        .put((&resource[0], &resource[2]), object.clone());
                }
            }
            (Err(denial), Some(403)) => {
                let expected = text(line, &["message"]);
                if words(&denial.status.message) != words(expected) || denial.status.code != 403 {
                    let found = &denial.status.message;
                    self.faults
                        .push(format!("{found}\n  instead of {expected}"));
                }
                let causes = &denial.status.details.as_ref().unwrap().causes;
                let expected = line.get("causes").and_then(Value::as_list);
                let expected = expected
                    .into_iter()
                    .flatten()
                    .map(|cause| text(cause, &["reason"]));
                assert!(
                    causes.iter().map(|cause| &*cause.reason).eq(expected),
                    "{causes:?}"
                );
            }
            _ => self
                .faults
                .push(format!("{answer:?}\n  instead of {code:?} {name:?}")),
        }
        self.check_quotas(line);
    }

    fn check_quotas(&mut self, line: &Value) {
        let used = line.get("used").and_then(Value::as_map);
        for (name, expected) in used
            .into_iter()
            .flatten()
            .filter(|(_, used)| !used.is_null())
        {
            let quotas = self
                .cluster
                .all(("", "resourcequotas"), text(line, &["ns"]));
            let quota = quotas
                .iter()
                .find(|quota| text(quota, &["metadata", "name"]) == &**name);
            let found = quota.and_then(|quota| quota.get("status")?.get("used"));
            if found != Some(expected) {
                self.faults
                    .push(format!("{name}: {found:?}\n  instead of {expected}"));
            }
        }
    }
}

#[test]
fn requests_get_the_answers_of_kube_apiserver() {
    let mut replay = Replay {
        cluster: FakeCluster::default(),
        plugins: all(),
        requests: 0,
        faults: Vec::new(),
    };
    for line in RECORDING.lines() {
        replay.take(&Value::from_json(line).unwrap());
    }
    assert!(replay.faults.is_empty(), "{}", replay.faults.join("\n"));
    assert!(replay.requests > 200, "{}", replay.requests);

    // Where objects were only added, what was charged is what there is.
    for namespace in ["q2", "q3", "q4", "q5", "q8", "qa"] {
        for quota in replay.cluster.all(("", "resourcequotas"), namespace) {
            let recounted = fieldmanager_admission::plugins::recount(&quota, &replay.cluster);
            assert_eq!(block_on(recounted), Ok(None), "{namespace} {quota}");
        }
    }
}
