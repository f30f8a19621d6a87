//! Quotas: conflicts, and their status from all objects.

use fieldmanager_access::User;
use fieldmanager_admission::plugins::{all, recount};
use fieldmanager_admission::{AdmissionOperation, AdmissionRequest, Denial};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use super::cluster::{FakeCluster, block_on};
use super::replay::admit;

fn value(yaml: &str) -> Value {
    Value::from_yaml(yaml).unwrap()
}

fn create_map(cluster: &FakeCluster) -> Result<Value, Denial> {
    let kind = GroupVersionKind::from_api_version_kind("v1", "ConfigMap");
    let object = value("{metadata: {name: a, namespace: shop}}");
    let request = AdmissionRequest {
        operation: AdmissionOperation::Create,
        kind: &kind,
        group: "",
        version: "v1",
        resource: "configmaps",
        subresource: "",
        namespace: "shop",
        name: "a",
        user: &User::admin(),
        options: &Value::Null,
        dry_run: false,
        old: None,
        object: Some(&object),
    };
    admit(&all(), request, cluster)
}

#[test]
fn a_quota_is_charged_again_after_a_conflict() {
    let cluster = FakeCluster::default();
    let quotas = ("", "resourcequotas");
    cluster.put(
        quotas,
        value(
            "{metadata: {name: q, namespace: shop}, status: {hard: {configmaps: '5'}, used: {configmaps: '1'}}}",
        ),
    );
    *cluster.conflicts.lock().unwrap() = 3;
    assert!(create_map(&cluster).is_ok());
    let used = || {
        cluster.all(quotas, "shop")[0]
            .get("status")
            .unwrap()
            .get("used")
            .unwrap()
            .to_json()
    };
    assert_eq!(used(), r#"{"configmaps":"2"}"#);

    *cluster.conflicts.lock().unwrap() = 4;
    let status = create_map(&cluster).unwrap_err().status;
    assert_eq!(
        (status.code, &*status.message),
        (
            409,
            "Operation cannot be fulfilled on resourcequotas \"q\": the object has been modified; please apply your changes \
             to the latest version and try again"
        )
    );
    assert_eq!(used(), r#"{"configmaps":"2"}"#);
}

#[test]
fn the_status_counts_all_objects() {
    let cluster = FakeCluster::default();
    let pod = |name: &str, more: &str| {
        cluster.put(
            ("", "pods"),
            value(&format!(
                "{{metadata: {{name: {name}, namespace: shop}}, spec: {{containers: [{{name: c, resources: {{requests: \
                 {{cpu: 500m, memory: 1Gi}}}}}}]}}, status: {{{more}}}}}"
            )),
        );
    };
    pod("running", "phase: Running");
    pod("ended", "phase: Succeeded");
    pod(
        "resized",
        "containerStatuses: [{name: c, allocatedResources: {cpu: 700m}, resources: {requests: {cpu: 600m, memory: 2Gi}}}]",
    );
    pod(
        "large",
        "containerStatuses: [{name: c, resources: {requests: {cpu: 1}}}], conditions: [{type: PodResizePending, reason: \
         Infeasible}]",
    );
    cluster.put(
        ("example.com", "widgets"),
        value("{metadata: {name: w, namespace: shop}}"),
    );
    let quota = value(
        "{metadata: {name: q, namespace: shop}, spec: {hard: {pods: '9', count/pods: '9', cpu: '4', requests.memory: 8Gi, \
         count/widgets.example.com: '1', count/events: '1', unknown: '1'}}, status: {used: {count/events: '7', gone: '1'}}}",
    );
    let counted = block_on(recount(&quota, &cluster)).unwrap().unwrap();
    let status = counted.get("status").unwrap();
    assert_eq!(status.get("hard"), quota.get("spec").unwrap().get("hard"));
    assert_eq!(
        status.get("used").unwrap().to_json(),
        r#"{"count/events":"7","count/pods":"4","count/widgets.example.com":"1","cpu":"2200m","pods":"3","requests.memory":"3Gi"}"#
    );
    assert_eq!(block_on(recount(&counted, &cluster)), Ok(None));
}
