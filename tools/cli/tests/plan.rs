//! `plan`: what it says happens on a server when the tool sends its requests.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::collections::BTreeMap;

use crate::common::{Folder, fails, line, prints};
use fieldmanager_apiserver::ApiServer;
use fieldmanager_apiserver::testing::{Reply, TestServer};
use fieldmanager_harness::internal::find;
use fieldmanager_value::Value;
use serde_json::{Value as Json, json};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const PATH: &str = "/apis/apps/v1/namespaces/default/deployments/web";
const APPLY: &str = "application/apply-patch+yaml";
const CSA: &str = "kubectl-client-side-apply";

/// A configuration with these labels, replicas and image.
fn web(labels: &Json, replicas: Option<i64>, image: &str, env: &Json) -> Json {
    let mut spec = json!({
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "nginx", "image": image, "env": env}]},
        },
    });
    if let Some(replicas) = replicas {
        spec["replicas"] = replicas.into();
    }
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": labels}, "spec": spec})
}

fn old() -> Json {
    web(
        &json!({"app": "web", "team": "old"}),
        Some(3),
        "nginx:1.28",
        &json!([{"name": "DEBUG", "value": "1"}]),
    )
}

fn new() -> Json {
    web(&json!({"app": "web"}), Some(4), "nginx:1.29", &json!([]))
}

struct Cluster(TestServer);

impl Cluster {
    async fn new() -> Self {
        Cluster(TestServer::from(
            ApiServer::builder().build().await.unwrap(),
        ))
    }

    async fn send(&self, method: &str, path: &str, media: &str, body: &Json) -> Reply {
        self.0.send(method, path, media, body).await.unwrap()
    }

    /// The object after a request that is accepted.
    async fn does(&self, method: &str, path: &str, media: &str, body: &Json) -> Json {
        let reply = self.send(method, path, media, body).await;
        assert!(reply.code < 300, "{} {}", reply.code, reply.body());
        reply.body()
    }

    async fn apply(&self, manager: &str, object: &Json, force: bool) -> Reply {
        let path = format!("{PATH}?fieldManager={manager}&force={force}");
        self.send("PATCH", &path, APPLY, object).await
    }

    /// What `kubectl apply` makes, and then an autoscaler.
    async fn client_side(&self, manager: &str) -> Json {
        let mut object = old();
        let last = object.to_string();
        object["metadata"]["annotations"] = json!({LAST_APPLIED: last});
        let path = format!("/apis/apps/v1/namespaces/default/deployments?fieldManager={manager}");
        self.does("POST", &path, "application/json", &object).await;
        let path = format!("{PATH}/scale?fieldManager=kube-controller-manager");
        let scale = json!({"spec": {"replicas": 7}});
        self.does("PATCH", &path, "application/merge-patch+json", &scale)
            .await;
        self.get().await
    }

    async fn get(&self) -> Json {
        self.does("GET", PATH, "application/json", &Json::Null)
            .await
    }

    /// Migrates as `csaupgrade` does, by the patch of the command.
    async fn upgrade(&self, from: &str, to: &str) {
        let folder = Folder::new(&[("live.json", &self.get().await.to_string())]);
        let command = format!(
            "upgrade-csa --csa-manager {from} --manager {to} --patch -o json -f @/live.json"
        );
        let patch: Json = serde_json::from_str(&prints(&folder.line(&command))).unwrap();
        self.does("PATCH", PATH, "application/json-patch+json", &patch)
            .await;
    }

    /// Transfers as the package `ssa` of Flux does, by the command `migrate`.
    async fn transfer(&self, from: &str, to: &str) {
        let folder = Folder::new(&[("live.json", &self.get().await.to_string())]);
        let command = format!(
            "migrate --from {from} --to {to} --operation update --subresource= --to-applier -o json -f @/live.json"
        );
        let object: Json = serde_json::from_str(&prints(&folder.line(&command))).unwrap();
        self.does("PUT", PATH, "application/json", &object).await;
    }
}

/// The plan of one object.
fn plan(live: &Json, config: &Json, options: &str) -> (i32, Json) {
    let folder = Folder::new(&[
        ("live.json", &live.to_string()),
        ("web.json", &config.to_string()),
    ]);
    let run = line(&folder.line(&format!(
        "plan {options} --live @/live.json @/web.json -o json"
    )));
    assert_eq!(run.err, "");
    let report: Json = serde_json::from_str(&run.out).unwrap();
    (run.code, report["objects"][0].clone())
}

fn strings(list: &Json, name: &str) -> Vec<String> {
    let list = list.as_array().unwrap().iter();
    list.map(|item| item[name].as_str().unwrap().to_owned())
        .collect()
}

/// Checks that an object has become what the plan says.
fn check(plan: &Json, after: &Json) {
    let after: Value = serde_json::from_value(after.clone()).unwrap();
    let at = |path: &Json| {
        find(&after, path.as_str().unwrap())
            .unwrap()
            .map(Value::to_json)
    };
    let text = |value: &Json| {
        (!value.is_null()).then(|| {
            serde_json::from_value::<Value>(value.clone())
                .unwrap()
                .to_json()
        })
    };
    for change in plan["changes"].as_array().unwrap() {
        // The annotation is a configuration, whose members the server orders.
        if !change["path"].as_str().unwrap().contains(LAST_APPLIED) {
            assert_eq!(at(&change["path"]), text(&change["after"]), "{change}");
        }
    }
    for kept in plan["kept"].as_array().unwrap() {
        assert_eq!(at(&kept["path"]), text(&kept["value"]), "{kept}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_do_what_their_plan_says() {
    let both = [
        ".metadata.labels.team",
        ".spec.template.spec.containers[name=\"nginx\"].env[name=\"DEBUG\"].name",
        ".spec.template.spec.containers[name=\"nginx\"].env[name=\"DEBUG\"].value",
    ];
    // The tool, the manager that made the object, the conflicts, and the fields that are kept.
    let image = ".spec.template.spec.containers[name=\"nginx\"].image";
    type Case<'a> = (&'a str, &'a str, &'a str, &'a [&'a str], &'a [&'a str]);
    let cases: [Case<'_>; 7] = [
        ("--manager ci", CSA, "ci", &[".spec.replicas", image], &both),
        ("--as helm", "helm", "helm", &[".spec.replicas"], &[]),
        (
            "--as terraform",
            CSA,
            "Terraform",
            &[".spec.replicas", image],
            &both,
        ),
        ("--as kubectl", CSA, "kubectl", &[".spec.replicas"], &[]),
        ("--as argocd", CSA, "argocd-controller", &[], &[]),
        ("--as flux", CSA, "kustomize-controller", &[], &[]),
        (
            "--as pulumi",
            CSA,
            "pulumi-kubernetes-xxxxxxxx",
            &[".spec.replicas"],
            &[],
        ),
    ];
    for (options, maker, manager, conflicts, kept) in cases {
        let cluster = Cluster::new().await;
        let live = cluster.client_side(maker).await;
        let (code, planned) = plan(&live, &new(), options);
        assert_eq!(
            strings(&planned["conflicts"], "path"),
            *conflicts,
            "{options}"
        );
        assert_eq!(strings(&planned["kept"], "path"), *kept, "{options}");
        assert_eq!(code, i32::from(!conflicts.is_empty()), "{options}");

        // What the tool sends: a takeover, the apply, which conflicts as planned, and the apply by force.
        match options {
            "--as helm" => cluster.upgrade("helm", manager).await,
            "--as argocd" => cluster.upgrade(CSA, manager).await,
            "--as flux" | "--as pulumi" => cluster.transfer(CSA, manager).await,
            _ => {}
        }
        if options == "--as flux" {
            let patch = json!([{"op": "remove", "path": format!("/metadata/annotations/{}", LAST_APPLIED.replace('/', "~1"))}]);
            cluster
                .does("PATCH", PATH, "application/json-patch+json", &patch)
                .await;
        }
        if !conflicts.is_empty() {
            let refused = cluster.apply(manager, &new(), false).await;
            assert_eq!(
                (
                    refused.code,
                    refused.body()["details"]["causes"]
                        .as_array()
                        .unwrap()
                        .len()
                ),
                (409, conflicts.len()),
                "{options}"
            );
        }
        let applied = cluster.apply(manager, &new(), true).await;
        assert_eq!(applied.code, 200, "{options}");
        if options == "--as kubectl" {
            let annotation = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "annotations": {LAST_APPLIED: applied.body()["metadata"]["annotations"][LAST_APPLIED]}}});
            assert_eq!(
                cluster
                    .apply("kubectl-last-applied", &annotation, false)
                    .await
                    .code,
                200
            );
            cluster.upgrade(CSA, manager).await;
            assert_eq!(cluster.apply(manager, &new(), false).await.code, 200);
        }

        let after = cluster.get().await;
        check(&planned, &after);
        // A second apply changes nothing, and keeps what the first one kept.
        let (code, again) = plan(&after, &new(), options);
        assert_eq!(
            (code, &again["fate"]),
            (0, &json!("unchanged")),
            "{options} {again}"
        );
        assert_eq!(strings(&again["kept"], "path"), *kept, "{options}");
    }
}

/// Sends the request of a step of a scenario. `version` is that of the object in the answer before.
async fn replay(cluster: &Cluster, step: &Json, version: &mut String) {
    let request = &step["request"];
    let text = |name: &str| request[name].as_str().unwrap_or_default();
    let (method, media) = match (text("verb"), text("type")) {
        ("create", _) => ("POST", "application/json"),
        ("get", _) => ("GET", "application/json"),
        ("apply", _) => ("PATCH", APPLY),
        ("patch", "merge") => ("PATCH", "application/merge-patch+json"),
        ("patch", "json") => ("PATCH", "application/json-patch+json"),
        other => panic!("{other:?}"),
    };
    let path = match (method, text("subresource")) {
        ("POST", _) => PATH.trim_end_matches("/web").to_owned(),
        (_, "") => PATH.to_owned(),
        (_, subresource) => format!("{PATH}/{subresource}"),
    };
    let mut query = format!("fieldManager={}", text("manager"));
    for (name, value) in request["query"].as_object().into_iter().flatten() {
        query += &format!("&{name}={}", value.as_str().unwrap());
    }
    let body = request["body"].to_string();
    let body = body
        .replace("${version}", version)
        .replace("${namespace}", "default");
    let body = serde_json::from_str(&body).unwrap();

    let reply = cluster
        .send(method, &format!("{path}?{query}"), media, &body)
        .await;
    // The last step says what the object is, and not that it is found.
    let code = step["expect"]["code"].as_u64().unwrap_or(200);
    assert_eq!(code, u64::from(reply.code), "{request} {}", reply.body());
    if let Some(new) = reply.body()["metadata"]["resourceVersion"].as_str() {
        new.clone_into(version);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_requests_of_tools_do_what_the_plan_says() {
    for (file, tool) in [
        ("argocd", "argocd"),
        ("flux", "flux"),
        ("helm", "helm"),
        ("helm-forced", "helm --force-conflicts"),
        ("kubectl", "kubectl"),
        ("kubectl-forced", "kubectl --force-conflicts"),
    ] {
        let text = std::fs::read_to_string(format!("../../examples/tools/{file}.yaml")).unwrap();
        let scenario = serde_json::to_value(Value::from_yaml(&text).unwrap()).unwrap();
        let steps = scenario["steps"].as_array().unwrap();
        // The object is created, scaled and read; the last step reads it again.
        let (made, sent) = steps.split_at(3);
        let (cluster, mut version) = (Cluster::new().await, String::new());
        for step in made {
            replay(&cluster, step, &mut version).await;
        }
        let live = cluster.get().await;
        let applied = sent
            .iter()
            .rfind(|step| step["request"]["verb"] == "apply")
            .unwrap();
        let (code, planned) = plan(&live, &applied["request"]["body"], &format!("--as {tool}"));
        for step in sent {
            replay(&cluster, step, &mut version).await;
        }

        let is_refused = applied["expect"]["code"] == 409;
        assert_eq!(code, i32::from(is_refused), "{file} {planned}");
        if is_refused {
            assert_eq!(strings(&planned["conflicts"], "path"), [".spec.replicas"]);
        } else {
            check(&planned, &cluster.get().await);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_stay_for_the_reasons_of_the_plan() {
    let cluster = Cluster::new().await;
    let labels = json!({"app": "web", "team": "old", "zone": "a"});
    let mine = web(&labels, Some(3), "nginx:1.28", &json!([]));
    assert_eq!(cluster.apply("ci", &mine, false).await.code, 201);
    let other = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"team": "old"}}});
    assert_eq!(cluster.apply("other", &other, false).await.code, 200);

    // `zone` goes, `team` stays with the other owner, and replicas get their default.
    let config = web(&json!({"app": "web"}), None, "nginx:1.28", &json!([]));
    let live = cluster.get().await;
    let (code, planned) = plan(&live, &config, "--manager ci");
    assert_eq!((code, &planned["fate"]), (0, &json!("changed")));
    let changes: BTreeMap<&str, &Json> = planned["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (change["path"].as_str().unwrap(), &change["after"]))
        .collect();
    assert_eq!(changes[".spec.replicas"], &json!(1));
    assert_eq!(changes[".metadata.labels.zone"], &Json::Null);
    let kept = &planned["kept"];
    assert_eq!(strings(kept, "path"), [".metadata.labels.team"]);
    assert_eq!(kept[0]["reason"], "another manager owns it");
    assert_eq!(kept[0]["owners"][0]["manager"], "other");

    assert_eq!(cluster.apply("ci", &config, false).await.code, 200);
    check(&planned, &cluster.get().await);
}

const CONFIG: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME, namespace: shop}
data: {color: red}
";

#[test]
fn a_line_says_what_becomes_of_each_object() {
    let config = |name: &str| CONFIG.replace("NAME", name);
    let managed = |name: &str, color: &str, manager: &str| {
        let entry = format!(
            "[{{manager: {manager}, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {{f:data: {{f:color: {{}}}}}}}}]"
        );
        config(name)
            .replace("shop}", &format!("shop, managedFields: {entry}}}"))
            .replace("red", color)
    };
    let sources = [
        config("new"),
        config("same"),
        config("other"),
        config("theirs"),
        "\napiVersion: v1\nkind: Cat\nmetadata: {name: tom}\n".to_owned(),
    ];
    let live = [
        managed("same", "red", "ci"),
        managed("other", "blue", "ci"),
        managed("theirs", "blue", "ops"),
        managed("old", "red", "ci"),
    ];
    let folder = Folder::new(&[
        ("sources.yaml", &sources.join("---")),
        ("live.yaml", &live.join("---")),
        ("old.yaml", &[config("old"), config("same")].join("---")),
    ]);
    let run = line(
        &folder.line("plan --manager ci --live @/live.yaml @/sources.yaml --inventory @/old.yaml"),
    );
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    assert_eq!(
        run.out,
        "\
created   ConfigMap shop/new
changed   ConfigMap shop/other: 1 field changes
conflict  ConfigMap shop/theirs: 1 conflict, 1 field changes
refused   Cat tom: no matches for kind \"Cat\" in version \"v1\": a CustomResourceDefinition among the sources adds it
removed   ConfigMap shop/old
Three ways to resolve them:
- take them: `--force-conflicts`; the owners above lose these fields
- leave them: remove these fields from the configuration; they keep their live values
- share them: set these fields to their live values in the configuration; you become a co-owner

1 created, 1 changed, 1 unchanged, 1 conflict, 1 refused, 1 removed
"
    );

    let plan = "plan --manager ci --live @/live.yaml @/sources.yaml --inventory @/old.yaml";
    let page = line(&folder.line(&format!("{plan} -o html")));
    assert_eq!((page.code, page.err.as_str()), (1, ""));
    for part in [
        "<h1><bdi>What an apply by ci does</bdi></h1><p>1 created, 1 changed, 1 unchanged",
        "<h2><bdi>changed ConfigMap shop/other: 1 field changes</bdi></h2>",
        "<h2><bdi>removed ConfigMap shop/old</bdi></h2>",
        "<tr class=\" changed\" data-owners=\"0\" title=\".data.color\">",
        "<tr class=\" refused\" data-owners=\"0\" title=\".data.color\">",
    ] {
        assert!(page.out.contains(part), "{part}: {}", page.out);
    }
    assert!(!page.out.contains("shop/same"), "{}", page.out);

    let (code, message) = fails(&folder.line("plan --live @/live.yaml @/sources.yaml"));
    assert_eq!(
        (code, message.as_str()),
        (2, "error: who applies? --manager NAME, or --as TOOL\n")
    );
}

#[test]
fn a_live_object_is_read_at_the_version_of_the_configuration_and_may_lack_owners() {
    let scaler = |version: &str, metrics: &str| {
        format!(
            "apiVersion: autoscaling/{version}\nkind: HorizontalPodAutoscaler\nmetadata: {{name: web}}\nspec: {{maxReplicas: 3, scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}, {metrics}}}\n"
        )
    };
    let v1 = scaler("v1", "targetCPUUtilizationPercentage: 50");
    let v2 = scaler(
        "v2",
        "metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]",
    );
    let folder = Folder::new(&[("v1.yaml", &v1), ("v2.yaml", &v2)]);
    for (config, live) in [("v1", "v2"), ("v2", "v1"), ("v1", "v1")] {
        let run = line(&folder.line(&format!(
            "plan --manager ci @/{config}.yaml --live @/{live}.yaml"
        )));
        assert!(
            run.out
                .starts_with("changed   HorizontalPodAutoscaler default/web: only owners change"),
            "{}",
            run.out
        );
        assert_eq!(
            run.err,
            "warning: --live: 1 live objects have no metadata.managedFields, without which nobody owns anything: `kubectl get -o yaml --show-managed-fields` prints them\n"
        );
    }
}
