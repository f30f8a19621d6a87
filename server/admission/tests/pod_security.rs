//! Standards of Pod security: requests with the answers of kube-apiserver, and Pods with the findings of Go
//! (`comparison/oracle/server/cmd/podsecurity`).

use std::collections::BTreeMap;
use std::future::ready;
use std::io::{BufRead, BufReader};
use std::sync::Arc;

use fieldmanager_access::{Attributes, Decision, User};
use fieldmanager_admission::plugins::PodSecurity;
use fieldmanager_admission::{
    Admission, AdmissionOperation, AdmissionPhase, AdmissionRequest, Admitted, Cluster, Denial,
    ResourceName,
};
use fieldmanager_managedfields::Status;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value as Json, json};

/// One namespace, if there is one, and the Pods in it, if they can be listed.
#[derive(Default)]
struct Shop {
    namespace: Option<Value>,
    pods: Option<Arc<Vec<Value>>>,
}

impl Cluster for Shop {
    fn get<'a>(
        &'a self,
        resource: ResourceName<'a>,
        namespace: &'a str,
        _name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, Denial>> {
        assert_eq!((resource, namespace), (("", "namespaces"), ""));
        Box::pin(ready(Ok(self.namespace.clone())))
    }

    fn list<'a>(
        &'a self,
        resource: ResourceName<'a>,
        _namespace: &'a str,
    ) -> BoxFuture<'a, Result<Arc<Vec<Value>>, Denial>> {
        assert_eq!(resource, ("", "pods"));
        let missing = || Status::not_found("gone").into();
        Box::pin(ready(self.pods.clone().ok_or_else(missing)))
    }

    fn update_status<'a>(
        &'a self,
        _resource: ResourceName<'a>,
        _object: Value,
    ) -> BoxFuture<'a, Result<bool, Denial>> {
        panic!("nothing is written")
    }

    fn authorize<'a>(
        &'a self,
        _question: Attributes<'a>,
    ) -> BoxFuture<'a, Result<Decision, Denial>> {
        panic!("everybody is judged the same")
    }
}

fn value(json: &Json) -> Value {
    Value::from_json(&json.to_string()).unwrap()
}

/// A request of the recording.
fn ask(case: &Json, shop: &Shop) -> Result<Admitted, Denial> {
    let [object, old] = ["object", "old"].map(|name| case.get(name).map(value));
    let text = |name: &str| case[name].as_str().unwrap_or_default();
    let declared = |name: &str| case["object"][name].as_str().unwrap_or_default();
    let request = AdmissionRequest {
        operation: match text("operation") {
            "CREATE" => AdmissionOperation::Create,
            "UPDATE" => AdmissionOperation::Update,
            "DELETE" => AdmissionOperation::Delete,
            other => panic!("{other}"),
        },
        kind: &GroupVersionKind::from_api_version_kind(declared("apiVersion"), declared("kind")),
        group: text("group"),
        version: "v1",
        resource: text("resource"),
        subresource: text("subresource"),
        namespace: text("namespace"),
        name: text("name"),
        user: &User::admin(),
        options: &Value::Null,
        dry_run: false,
        old: old.as_ref(),
        object: object.as_ref(),
    };
    if PodSecurity.handles(AdmissionPhase::Validate, &request) {
        PodSecurity.validate(request, shop).now_or_never().unwrap()
    } else {
        Ok(Admitted::default())
    }
}

#[test]
fn requests_are_answered_as_kube_apiserver_answers_them() {
    let mut count = 0;
    for line in include_str!("data/pod-security.jsonl").lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let pods = case["pods"].as_array().into_iter().flatten();
        let shop = Shop {
            namespace: case.get("stored").map(value),
            pods: Some(Arc::new(pods.map(value).collect())),
        };

        let answer = match ask(&case, &shop) {
            Ok(admitted) => {
                let annotations: BTreeMap<_, _> = admitted.annotations.into_iter().collect();
                json!({"warnings": admitted.warnings, "annotations": annotations})
            }
            Err(denial) => {
                let mut status = serde_json::to_value(&*denial.status).unwrap();
                status.as_object_mut().unwrap().remove("metadata");
                json!({"answer": status, "warnings": denial.warnings})
            }
        };
        let mut expected =
            json!({"warnings": case["warnings"], "annotations": case["annotations"]});
        if let Some(status) = case.get("answer") {
            // A refusal has no annotations.
            expected = json!({"answer": status, "warnings": case["warnings"]});
        }
        assert_eq!(answer, expected, "{line}");
        count += 1;
    }
    assert_eq!(count, 60);
}

fn pod(name: &str, owner: &str) -> Json {
    let owner = json!({"kind": "ReplicaSet", "controller": true, "uid": owner});
    json!({
        "metadata": {"name": name, "ownerReferences": [{"kind": "Node", "uid": "1"}, owner]},
        "spec": {"hostPID": true},
    })
}

fn namespace(labels: &[(&str, &str)]) -> Json {
    let labels: BTreeMap<String, &str> = labels
        .iter()
        .map(|(name, text)| (format!("pod-security.kubernetes.io/{name}"), *text))
        .collect();
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": labels}})
}

/// An update of a namespace without labels.
fn update(labels: &[(&str, &str)]) -> Json {
    json!({
        "operation": "UPDATE", "resource": "namespaces", "namespace": "shop", "name": "shop",
        "object": namespace(labels), "old": namespace(&[]),
    })
}

#[test]
fn only_so_many_pods_are_compared_and_one_of_each_controller_first() {
    let replicas = (0..3000).map(|at| value(&pod(&format!("a-{at}"), "1")));
    let others = ["3", "2"].map(|owner| value(&pod(owner, owner)));
    let shop = Shop {
        namespace: None,
        pods: Some(Arc::new(replicas.chain(others).collect())),
    };
    assert_eq!(
        ask(&update(&[("enforce", "baseline")]), &shop)
            .unwrap()
            .warnings,
        [
            "new PodSecurity enforce level only checked against the first 3000 of 3002 existing pods",
            "existing pods in namespace \"shop\" violate the new PodSecurity enforce level \"baseline:latest\"",
            "2 (and 2999 other pods): host namespaces",
        ]
    );
}

#[test]
fn what_cannot_be_read_is_told() {
    let shop = Shop::default();
    let warnings = ask(&update(&[("enforce", "baseline")]), &shop)
        .unwrap()
        .warnings;
    let told = "failed to list pods while checking new PodSecurity enforce level";
    assert_eq!(warnings, [told]);

    // A Pod needs its namespace, and a template of one does not.
    let object = json!({"metadata": {"name": "web"}});
    let mut case = json!({
        "operation": "CREATE", "resource": "pods", "namespace": "shop", "name": "web", "object": object,
    });
    let status = ask(&case, &shop).unwrap_err().status;
    assert_eq!(
        serde_json::to_value(status).unwrap(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "Internal error occurred: failed to lookup namespace \"shop\"",
            "reason": "InternalError",
            "details": {"causes": [{"message": "failed to lookup namespace \"shop\""}]},
            "code": 500,
        })
    );
    case["resource"] = "replicationcontrollers".into();
    let admitted = ask(&case, &shop).unwrap();
    assert_eq!(
        admitted.annotations,
        [(
            "pod-security.kubernetes.io/error".to_owned(),
            "failed to lookup namespace \"shop\": namespaces \"shop\" not found".to_owned()
        )]
    );
}

#[test]
fn other_requests_are_left_alone() {
    let shop = Shop {
        namespace: Some(value(&namespace(&[("enforce", "restricted")]))),
        pods: None,
    };
    let bad = json!({"metadata": {"name": "web"}, "spec": {"hostPID": true, "template": null}});
    for (operation, group, resource, subresource, refused) in [
        ("CREATE", "", "pods", "", true),
        ("CREATE", "", "pods", "resize", true),
        ("CREATE", "", "pods", "binding", false),
        ("CREATE", "", "pods", "eviction", false),
        ("DELETE", "", "pods", "", false),
        ("CREATE", "apps", "pods", "", false),
        ("UPDATE", "", "pods", "", false),
        ("CREATE", "", "replicationcontrollers", "", false),
        ("CREATE", "apps", "deployments", "scale", false),
        ("UPDATE", "", "namespaces", "status", false),
    ] {
        let case = json!({
            "operation": operation, "group": group, "resource": resource, "subresource": subresource,
            "namespace": "shop", "name": "web", "object": bad, "old": bad,
        });
        assert_eq!(ask(&case, &shop).is_err(), refused, "{case}");
    }
}

#[test]
fn versions_have_a_minor_number() {
    for (version, is_valid) in [
        ("latest", true),
        ("v1.0", true),
        ("v1.9223372036854775807", true),
        ("v1.9223372036854775808", false),
        ("v1.", false),
        ("v1.00", false),
        ("v1.+1", false),
        ("v2.0", false),
        ("1.0", false),
        ("", false),
    ] {
        let case = update(&[("audit-version", version)]);
        assert_eq!(ask(&case, &Shop::default()).is_ok(), is_valid, "{version}");
    }
}

/// What checks forbid, in which level and from which to which minor version.
const CHECKS: &str = r"
- [baseline, {containers: [{lifecycle: {preStop: {tcpSocket: {host: h}}}}]}, probe or lifecycle host, 34, 99]
- [baseline, {hostUsers: false, containers: [{securityContext: {procMount: Unmasked}}]}, procMount, 0, 35]
- [restricted, {hostUsers: false, containers: [{securityContext: {procMount: Unmasked}}]}, procMount, 0, 99]
- [baseline, {securityContext: {seLinuxOptions: {type: container_engine_t}}}, seLinuxOptions, 0, 31]
- [baseline, {securityContext: {seLinuxOptions: {user: a}}}, seLinuxOptions, 0, 99]
- [baseline, {securityContext: {seccompProfile: {type: Unconfined}}}, seccompProfile, 19, 99]
- [baseline, {securityContext: {sysctls: [{name: kernel.msgmax}]}}, forbidden sysctls, 0, 99]
- [baseline, {securityContext: {sysctls: [{name: kernel.shm_rmid_forced}]}}, forbidden sysctls, 0, 0]
- [baseline, {securityContext: {sysctls: [{name: net.ipv4.ip_local_reserved_ports}]}}, forbidden sysctls, 0, 27]
- [baseline, {securityContext: {sysctls: [{name: net.ipv4.tcp_fin_timeout}]}}, forbidden sysctls, 0, 29]
- [baseline, {securityContext: {sysctls: [{name: net.ipv4.tcp_rmem}]}}, forbidden sysctls, 0, 32]
- [baseline, {securityContext: {sysctls: [{name: net.ipv4.tcp_notsent_lowat}]}}, forbidden sysctls, 0, 37]
- [baseline, {volumes: [{hostPath: {}}]}, hostPath volumes, 0, 99]
- [restricted, {volumes: [{hostPath: {}}]}, hostPath volumes, 0, 0]
- [restricted, {volumes: [{hostPath: {}}]}, restricted volume types, 0, 99]
- [restricted, {volumes: [{image: {}}]}, restricted volume types, 0, 0]
- [restricted, {containers: [{securityContext: {capabilities: {add: [SYS_ADMIN]}}}]}, non-default capabilities, 0, 22]
- [restricted, {containers: [{securityContext: {capabilities: {add: [CHOWN]}}}]}, unrestricted capabilities, 22, 99]
- [restricted, {os: {name: windows}, containers: [{}]}, unrestricted capabilities, 22, 25]
- [restricted, {containers: [{}]}, allowPrivilegeEscalation != false, 8, 99]
- [restricted, {os: {name: windows}, containers: [{}]}, allowPrivilegeEscalation != false, 8, 25]
- [restricted, {containers: [{}]}, seccompProfile, 19, 99]
- [restricted, {os: {name: windows}, containers: [{}]}, seccompProfile, 19, 25]
- [restricted, {containers: [{}]}, runAsNonRoot != true, 0, 99]
- [restricted, {hostUsers: false, containers: [{}]}, runAsNonRoot != true, 0, 35]
- [restricted, {securityContext: {runAsUser: 0}}, runAsUser=0, 23, 99]
- [restricted, {hostUsers: false, securityContext: {runAsUser: 0}}, runAsUser=0, 23, 35]
- [restricted, {containers: [{ports: [{hostPort: 1}]}]}, hostPort, 0, 99]
";

#[test]
fn checks_begin_and_end_with_versions() {
    let rows = Value::from_yaml(CHECKS).unwrap().to_json();
    for row in serde_json::from_str::<Vec<Json>>(&rows).unwrap() {
        let pod = json!({"metadata": {"name": "web"}, "spec": row[1]});
        let shop = Shop {
            namespace: None,
            pods: Some(Arc::new(vec![value(&pod)])),
        };
        let range = row[3].as_i64().unwrap()..row[4].as_i64().unwrap();
        for minor in 0..40 {
            let version = format!("v1.{minor}");
            let level = row[0].as_str().unwrap();
            let labels = [("enforce", level), ("enforce-version", &*version)];
            let warnings = ask(&update(&labels), &shop).unwrap().warnings;
            let reasons = warnings.get(1).map_or("", |text| &text["web: ".len()..]);
            let is_found = reasons.split(", ").any(|reason| row[2] == reason);
            assert_eq!(is_found, range.contains(&minor), "{row} {version}");
        }
    }
}

#[test]
fn refusals_have_the_words_of_go() {
    for (standard, pod, expected) in [
        (
            "baseline:v1.18",
            r#"{metadata: {annotations: {seccomp.security.alpha.kubernetes.io/pod: docker/default, container.seccomp.security.alpha.kubernetes.io/a: unconfined, container.apparmor.security.beta.kubernetes.io/a: "", container.apparmor.security.beta.kubernetes.io/b: runtime/default, container.apparmor.security.beta.kubernetes.io/c: 'x"y'}}, spec: {securityContext: {appArmorProfile: {type: Unconfined}}, containers: [{name: a, securityContext: {appArmorProfile: {}}}]}}"#,
            r#"forbidden AppArmor profiles (pod and container "a" and annotation must not set AppArmor profile type to "", "Unconfined", "container.apparmor.security.beta.kubernetes.io/c="x\"y""), seccompProfile (forbidden annotation container.seccomp.security.alpha.kubernetes.io/a="unconfined")"#,
        ),
        (
            "restricted:latest",
            r#"{spec: {securityContext: {runAsNonRoot: false, runAsUser: 0, seccompProfile: {type: Unconfined}}, containers: [{name: a, securityContext: {runAsNonRoot: false, runAsUser: 0, allowPrivilegeEscalation: false, seccompProfile: {type: x}, capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}}]}}"#,
            r#"runAsNonRoot != true (pod and container "a" must not set securityContext.runAsNonRoot=false), runAsUser=0 (pod and container "a" must not set runAsUser=0), seccompProfile (pod and container "a" must not set securityContext.seccompProfile.type to "Unconfined", "x")"#,
        ),
        (
            "restricted:v1.24",
            r#"{spec: {securityContext: {runAsNonRoot: true, seccompProfile: {type: Localhost}}, containers: [{name: a}, {name: 'b"c', securityContext: {capabilities: {drop: [ALL], add: [CHOWN, AUDIT_WRITE]}}}]}}"#,
            r#"allowPrivilegeEscalation != false (containers "a", "b"c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]; container "b"c" must not include "AUDIT_WRITE", "CHOWN" in securityContext.capabilities.add)"#,
        ),
        (
            "restricted:v1.0",
            r#"{spec: {volumes: [{name: a}, {name: b, nfs: {}}, {name: c, hostPath: {}, configMap: {}}]}}"#,
            r#"restricted volume types (volumes "a", "b" use restricted volume types "nfs", "unknown")"#,
        ),
        (
            "restricted:v1.0",
            r#"{spec: {volumes: [{name: b, hostPath: {}}]}}"#,
            r#"restricted volume types (volume "b" uses restricted volume type "hostPath")"#,
        ),
        (
            "baseline:latest",
            r#"{spec: {containers: [{name: a, livenessProbe: {httpGet: {host: z}}}, {name: a, readinessProbe: {httpGet: {host: x}, tcpSocket: {host: x}}, startupProbe: {exec: {}}}]}}"#,
            r#"probe or lifecycle host (container "a" uses probe or lifecycle hosts "x", "z")"#,
        ),
        (
            "baseline:latest",
            r#"{spec: {hostPID: true, hostIPC: true, securityContext: {sysctls: [{name: ""}]}}}"#,
            r#"host namespaces (hostPID=true, hostIPC=true), forbidden sysctls"#,
        ),
        (
            "baseline:latest",
            r#"{spec: {securityContext: {seLinuxOptions: {type: a, role: r}, windowsOptions: {hostProcess: true}}, initContainers: [{name: a, securityContext: {windowsOptions: {hostProcess: true}, seLinuxOptions: {type: b}}}], ephemeralContainers: [{name: c, securityContext: {privileged: true, procMount: Unmasked}}], containers: [{name: b, securityContext: {privileged: true, seLinuxOptions: {user: u}}}]}}"#,
            r#"privileged (containers "b", "c" must not set securityContext.privileged=true), procMount (container "c" must not set securityContext.procMount to "Unmasked"), seLinuxOptions (pod and containers "a", "b" set forbidden securityContext.seLinuxOptions: types "a", "b"; user may not be set; role may not be set), hostProcess (pod and container "a" must not set securityContext.windowsOptions.hostProcess=true)"#,
        ),
        (
            "baseline:v1.36",
            r#"{spec: {containers: [{name: a, ports: [{hostPort: 0}]}, {name: b, ports: [{hostPort: 90}, {hostPort: 443}, {hostPort: 90}]}, {name: c, ports: [{hostPort: 443}]}], volumes: [{name: a, hostPath: {}}, {name: b, hostPath: {}}]}}"#,
            r#"hostPath volumes (volumes "a", "b"), hostPort (containers "b", "c" use hostPorts 443, 90)"#,
        ),
    ] {
        let (level, version) = standard.split_once(':').unwrap();
        let labels = [("enforce", level), ("enforce-version", version)];
        let shop = Shop {
            namespace: Some(value(&namespace(&labels))),
            pods: None,
        };
        let pod: Json = serde_json::from_str(&Value::from_yaml(pod).unwrap().to_json()).unwrap();
        let case = json!({
            "operation": "CREATE", "resource": "pods", "namespace": "shop", "name": "web", "object": pod,
        });
        let message = ask(&case, &shop).unwrap_err().status.message;
        let start = format!("pods \"web\" is forbidden: violates PodSecurity \"{standard}\": ");
        assert_eq!(message, start + expected);
    }
}

#[test]
fn warnings_have_a_version_of_their_own() {
    let case = json!({
        "operation": "CREATE", "group": "apps", "resource": "deployments", "namespace": "shop", "name": "web",
        "object": {"spec": {"template": {"spec": {"volumes": [{"name": "a"}]}}}},
    });
    for (warn, standard) in [
        (("other", "a"), "restricted:v1.20"),
        (("warn-version", "v1.21"), "restricted:v1.21"),
        (("warn-version", "latest"), "restricted:latest"),
    ] {
        let labels = [
            ("enforce", "restricted"),
            ("enforce-version", "v1.20"),
            warn,
        ];
        let shop = Shop {
            namespace: Some(value(&namespace(&labels))),
            pods: None,
        };
        let warnings = ask(&case, &shop).unwrap().warnings;
        let text = "restricted volume types (volume \"a\" uses restricted volume type \"unknown\")";
        let text = format!("would violate PodSecurity \"{standard}\": {text}");
        assert_eq!(warnings, [text]);
    }
}

#[test]
fn a_standard_that_allows_everything_needs_no_pods() {
    let free = [("enforce", "privileged"), ("enforce-version", "v1.20")];
    assert_eq!(
        ask(&update(&free), &Shop::default()).unwrap().warnings,
        [""; 0]
    );
}

#[test]
fn only_new_images_and_containers_lead_to_a_check() {
    let mut case =
        json!({"operation": "UPDATE", "resource": "pods", "namespace": "shop", "name": "web"});
    let shop = Shop {
        namespace: Some(value(&namespace(&[("enforce", "baseline")]))),
        pods: None,
    };
    let web = json!([{"name": "a", "image": "a"}]);
    let spec = json!({"hostPID": true, "containers": web, "initContainers": web, "ephemeralContainers": web});
    for (kind, containers, is_refused) in [
        ("volumes", json!([{"name": "a"}]), false),
        ("containers", json!([{"name": "b", "image": "a"}]), false),
        ("containers", json!([{"name": "a", "image": "b"}]), true),
        ("containers", json!([]), true),
        ("initContainers", json!([{"name": "a"}]), true),
        (
            "ephemeralContainers",
            json!([{"name": "b", "image": "a"}]),
            true,
        ),
        ("ephemeralContainers", json!([]), false),
    ] {
        case["old"] = json!({"spec": spec});
        case["object"] = case["old"].clone();
        case["object"]["spec"][kind] = containers;
        assert_eq!(ask(&case, &shop).is_err(), is_refused, "{case}");
    }
}

/// Needs the output of the Go program `comparison/oracle/server/cmd/podsecurity` in the file that the variable
/// `POD_SECURITY_ANSWERS` names.
#[test]
fn pods_are_judged_as_go_judges_them() {
    let Some(file) = std::env::var_os("POD_SECURITY_ANSWERS") else {
        return;
    };
    let (mut count, mut differences) = (0, Vec::new());
    for line in BufReader::new(std::fs::File::open(file).unwrap()).lines() {
        let case: Json = serde_json::from_str(&line.unwrap()).unwrap();
        let [level, version] = ["level", "version"].map(|name| case[name].as_str().unwrap());
        let labels = [("enforce", level), ("enforce-version", version)];
        let (reason, detail) = (&case["reason"], &case["detail"]);
        let pod = &case["pod"];
        let name = pod["metadata"]["name"].as_str().unwrap();

        // A Pod is refused with details.
        let shop = Shop {
            namespace: Some(value(&namespace(&labels))),
            pods: Some(Arc::new(vec![value(pod)])),
        };
        let request = json!({
            "operation": "CREATE", "resource": "pods", "namespace": "shop", "name": name, "object": pod,
        });
        let message = ask(&request, &shop)
            .err()
            .map(|denial| denial.status.message);
        let expected = (case["allowed"] == false).then(|| {
            let detail = detail.as_str().unwrap();
            format!(
                "pods \"{name}\" is forbidden: violates PodSecurity \"{level}:{version}\": {detail}"
            )
        });
        if message != expected {
            differences.push(format!("{case}\n  {message:?}"));
        }

        // A namespace has a warning with the reasons.
        let warnings = ask(&update(&labels), &shop).unwrap().warnings;
        let expected = expected.map(|_| format!("{name}: {}", reason.as_str().unwrap()));
        if warnings.get(1) != expected.as_ref() {
            differences.push(format!("{case}\n  {warnings:?}"));
        }
        count += 1;
    }
    let shown: Vec<&String> = differences.iter().take(5).collect();
    assert!(
        differences.is_empty(),
        "{} of {count}: {shown:#?}",
        differences.len()
    );
    assert!(count > 9000, "{count}");
}
