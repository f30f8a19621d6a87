//! `check`: the verdicts of `serve` on the objects of sources.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::path::{Path, PathBuf};

use crate::common::{Folder, Run, fails, line, prints, run_with};
use fastrand::Rng;
use fieldmanager_apiserver::ApiServer;
use fieldmanager_apiserver::testing::TestServer;
use fieldmanager_value::Value;
use serde_json::{Value as Json, json};

const MUTATIONS: usize = 400;

const QUERY: &str = "dryRun=All&fieldValidation=Strict";

const BAD: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replcas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: nginx
        imgae: nginx:1.29
---
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: web}
---
a: [
---
# A list stands for its items.
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: ok}}
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec:
    type: NodePort
    ports:
    - port: 80
      nodePort: 7
";

const PROBLEMS: [(usize, &str); 5] = [
    (
        7,
        "Deployment shop/web: spec.replcas: unknown field (nearest: replicas)",
    ),
    (
        14,
        "Deployment shop/web: spec.template.spec.containers[0].imgae: unknown field (nearest: image)",
    ),
    (
        16,
        "PodDisruptionBudget web: no matches for kind \"PodDisruptionBudget\" in version \"policy/v1beta1\" (nearest: policy/v1 PodDisruptionBudget)",
    ),
    (
        21,
        "document: document 3: not valid YAML at line 21 column 1: did not find expected node content while parsing a flow node",
    ),
    (
        34,
        "Service default/web: spec.ports[0].nodePort: Invalid value: 7: provided port is not in the valid range. The range of valid ports is 30000-32767",
    ),
];

fn check(text: &str, format: &str) -> Run {
    run_with(&["check", "-", "-o", format], text)
}

#[test]
fn text_has_a_line_for_each_fault() {
    let mut expected: String = PROBLEMS
        .iter()
        .map(|(line, text)| format!("standard input:{line}: {text}\n"))
        .collect();
    expected += "4 refused of 5 objects in 1 file\n";
    let run = check(BAD, "text");
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    assert_eq!(run.out, expected);

    assert_eq!(
        prints("check examples/testing/shops.yaml -f examples/shop/crd.yaml"),
        "nothing refused of 2 objects in 2 files\n"
    );
    let folder = Folder::new(&[("chart.yaml", "a: {{ .Values.a }}: b\n")]);
    let run = line(&folder.line("check @"));
    assert!(
        run.out.contains("a template has to be rendered first"),
        "{}",
        run.out
    );
    assert_eq!(fails("check nowhere.yaml").0, 2);
}

#[test]
fn annotations_have_the_form_of_workflow_commands() {
    let run = check(BAD, "github");
    assert_eq!(
        (run.code, run.err.as_str()),
        (1, "4 refused of 5 objects in 1 file\n")
    );
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines.len(), PROBLEMS.len());
    for (found, (line, text)) in lines.into_iter().zip(PROBLEMS) {
        let (title, message) = text.split_once(": ").unwrap();
        let expected = format!("::error file=standard input,line={line},title={title}::{message}");
        assert_eq!(found, expected);
    }
}

#[test]
fn sarif_has_the_members_that_its_schema_requires() {
    let run = check(BAD, "sarif");
    let report: Json = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &report["version"]), (1, &json!("2.1.0")));
    let run = &report["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), PROBLEMS.len());
    for (result, (line, text)) in results.iter().zip(PROBLEMS) {
        assert_eq!(result["message"]["text"], *text);
        assert_eq!(result["level"], "error");
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]));
        let location = &result["locations"][0]["physicalLocation"];
        assert_eq!(location["region"]["startLine"], line);
        assert_eq!(location["artifactLocation"]["uri"], "standard%20input");
    }
}

#[test]
fn junit_has_a_case_for_each_object() {
    let run = check(BAD, "junit");
    let out = &run.out;
    assert_eq!(run.code, 1);
    assert!(out.contains("<testsuite name=\"standard input\" tests=\"5\" skipped=\"0\" errors=\"0\" failures=\"4\">"), "{out}");
    // junit-10.xsd of the plugin xunit of Jenkins has these attributes at the root.
    assert!(
        out.contains(
            "<testsuites name=\"fieldmanager check\" tests=\"5\" failures=\"4\" errors=\"0\">"
        ),
        "{out}"
    );
    assert_eq!(out.matches("<testcase ").count(), 5);
    assert_eq!(out.matches("<failure ").count(), 4);
    assert!(out.contains("<testcase name=\"ConfigMap default/ok\" classname=\"standard input\"/>"));
}

#[test]
fn sources_are_folders_dumps_and_definitions_apply_in_any_order() {
    let shop = "{apiVersion: example.com/v1, kind: Shop, metadata: {name: a, namespace: b}, spec: {colour: red}}\n";
    let crd = std::fs::read_to_string("../../examples/shop/crd.yaml").unwrap();
    // As `kubectl cluster-info dump` writes it: the items have no kind.
    let dump = json!({"apiVersion": "apps/v1", "kind": "DeploymentList", "items": [{"metadata": {"name": "web"}, "spec": {}}]});
    let folder = Folder::new(&[("a.yaml", shop), ("logs.txt", "a: [")]);
    for (name, text) in [("z/crd.yml", &crd), ("z/y/dump.json", &dump.to_string())] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    let run = line(&folder.line("check @"));
    let out = folder.shortened(&run.out);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines[0], "@/a.yaml:1: Shop b/a: spec.colour: unknown field",
        "{out}"
    );
    assert!(
        lines[1].starts_with(
            "@/z/y/dump.json:1: Deployment default/web: spec.selector: Required value"
        ),
        "{out}"
    );
    assert_eq!(*lines.last().unwrap(), "2 refused of 3 objects in 3 files");

    // Without the definition, nobody knows the kind.
    let run = line(&folder.line("check @/a.yaml"));
    assert!(
        run.out
            .contains("no matches for kind \"Shop\" in version \"example.com/v1\""),
        "{}",
        run.out
    );
    let out = prints(&folder.line("check @/a.yaml --ignore-unknown-kinds"));
    assert_eq!(
        out,
        "nothing refused of 1 object in 1 file, 1 of unknown kinds\n"
    );
}

#[test]
fn classes_of_the_sources_exist_for_their_objects() {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {priorityClassName: high, containers: [{name: a, image: a}]}}\n";
    let class = "---\n{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 7}\n";
    let run = check(pod, "text");
    let expected = "standard input:1: Pod default/a: pods \"a\" is forbidden: no PriorityClass with name high was found\n1 refused of 1 object in 1 file\n";
    assert_eq!(run.out, expected, "{}", run.err);
    let run = check(&[pod, class].concat(), "text");
    assert_eq!(run.out, "nothing refused of 2 objects in 1 file\n");
}

/// The manifests that the repository has.
fn manifests() -> Vec<Json> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [
        "examples/deployment",
        "examples/shop",
        "examples/testing",
        "examples/unions",
        "comparison/kubectl/files",
    ];
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    files.retain(|file| file.extension().is_some_and(|ending| ending == "yaml"));
    files.sort();
    let texts = files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap());
    let documents = texts.flat_map(|text| Value::all_from_yaml(&text).unwrap());
    let objects =
        documents.filter(|object| object.get("kind").is_some() && object.get("items").is_none());
    objects
        .map(|object| serde_json::to_value(&object).unwrap())
        .collect()
}

/// Changes a random part: removes it, renames it, or gives it another value.
fn mutate(json: &mut Json, rng: &mut Rng) {
    let enter = |rng: &mut Rng| rng.u8(..) < 200;
    match json {
        Json::Object(fields) if !fields.is_empty() => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let name = rng.choice(names).unwrap();
            // The server is asked at the place that the kind has.
            let is_part = matches!(fields[&name], Json::Object(_) | Json::Array(_));
            if matches!(name.as_str(), "apiVersion" | "kind" | "name" | "namespace") && !is_part {
                return;
            }
            if is_part && enter(rng) {
                return mutate(fields.get_mut(&name).unwrap(), rng);
            }
            let value = fields.remove(&name).unwrap();
            match rng.u8(..3) {
                0 => {}
                1 => drop(fields.insert(format!("{name}x"), value)),
                _ => drop(fields.insert(name, other(rng))),
            }
        }
        Json::Array(items) if !items.is_empty() => {
            let index = rng.usize(..items.len());
            if enter(rng) {
                mutate(&mut items[index], rng);
            } else {
                let item = items[index].clone();
                items.push(item);
            }
        }
        other_value => *other_value = other(rng),
    }
}

fn other(rng: &mut Rng) -> Json {
    let values = [
        json!(-1),
        json!(70000),
        json!("A_b"),
        json!(""),
        json!(null),
        json!({}),
        json!([]),
        json!(true),
    ];
    rng.choice(values).unwrap()
}

/// What the server answers to the creation of an object, as a client sends it.
async fn answer(server: &TestServer, object: &Json) -> (u64, String) {
    let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
    let namespace = text(&object["metadata"]["namespace"]);
    let namespace = if namespace.is_empty() {
        "default".to_owned()
    } else {
        namespace
    };
    let path = server.path(
        &text(&object["apiVersion"]),
        &text(&object["kind"]),
        &format!("{namespace}/"),
    );
    let path = path.unwrap();
    let path = format!("{}?{QUERY}", path.trim_end_matches('/'));
    let reply = server
        .send("POST", &path, "application/json", object)
        .await
        .unwrap();
    (reply.code.into(), text(&reply.body()["message"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn verdicts_and_words_are_those_of_a_server() {
    let mut rng = Rng::with_seed(35);
    let originals = manifests();
    assert!(originals.len() > 25, "{}", originals.len());
    let definitions: Vec<&Json> = originals
        .iter()
        .filter(|object| object["kind"] == "CustomResourceDefinition")
        .collect();

    let server = TestServer::from(ApiServer::builder().build().await.unwrap());
    let mut namespaces = std::collections::HashSet::new();
    for object in &originals {
        let namespace = object["metadata"]["namespace"]
            .as_str()
            .unwrap_or("default");
        if namespace != "default" && namespaces.insert(namespace) {
            server.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).await.unwrap();
        }
    }
    for definition in &definitions {
        let _ = server.create(definition).await;
    }

    // Definitions and what else is created come first in the report, and once.
    let created = |object: &Json| {
        matches!(
            object["kind"].as_str(),
            Some("CustomResourceDefinition" | "Namespace" | "ServiceAccount")
        )
    };
    let served = |object: &&Json| {
        let text = |name: &str| object[name].as_str().unwrap_or_default();
        !created(object) && server.path(text("apiVersion"), text("kind"), "a").is_ok()
    };
    let objects: Vec<&Json> = originals.iter().filter(served).collect();
    let mut sent: Vec<Json> = objects.iter().map(|object| (*object).clone()).collect();
    for _ in 0..MUTATIONS {
        let mut object = (*rng.choice(&objects).unwrap()).clone();
        for _ in 0..=rng.usize(..2) {
            mutate(&mut object, &mut rng);
        }
        sent.push(object);
    }

    let all = definitions.iter().map(|object| object.to_string());
    let text: Vec<String> = all.chain(sent.iter().map(Json::to_string)).collect();
    let run = run_with(&["check", "-", "-o", "json"], &text.join("\n---\n"));
    let report: Json = serde_json::from_str(&run.out).unwrap();
    let verdicts = report["verdicts"].as_array().unwrap();
    let verdicts: Vec<&Json> = verdicts
        .iter()
        .filter(|verdict| !created(verdict))
        .collect();
    assert_eq!(verdicts.len(), sent.len());

    let mut refused = 0;
    for (verdict, object) in verdicts.into_iter().zip(&sent) {
        let (code, message) = answer(&server, object).await;
        let message = if code < 400 { String::new() } else { message };
        let found = (
            verdict["code"].as_u64().unwrap(),
            verdict["message"].as_str().unwrap().to_owned(),
        );
        assert_eq!(found, (code, message), "{object}");
        refused += usize::from(code >= 400);
    }
    assert!(refused > MUTATIONS / 4, "{refused}");
}
