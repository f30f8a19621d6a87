//! `--cluster`, and the plugin of kubectl: live objects of a server of this project as a process.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value as Json, json};

use crate::common::{Folder, Run, run};
use crate::conformance::Server;

/// A server with objects, and the command on it.
struct Live(Server);

impl Live {
    fn start() -> Self {
        let live = Live(Server::start(&["--tls", "--token-file", "@/tokens"]));
        live.apply(
            "setup",
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
        );
        live
    }

    /// Applies an object, by force.
    fn apply(&self, manager: &str, object: &Json) {
        let version = object["apiVersion"].as_str().unwrap();
        let plural = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
        let (root, name) = (
            if version.contains('/') { "apis" } else { "api" },
            object["metadata"]["name"].as_str().unwrap(),
        );
        let namespace = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => format!("namespaces/{namespace}/"),
            None => String::new(),
        };
        self.send(&[
            "-X",
            "PATCH",
            "-H",
            "Content-Type: application/apply-patch+yaml",
            "--data-binary",
            &object.to_string(),
            &format!(
                "/{root}/{version}/{namespace}{plural}/{name}?force=true&fieldManager={manager}"
            ),
        ]);
    }

    /// Sends a request by curl, whose last argument is the path. The result is the answer.
    fn send(&self, arguments: &[&str]) -> Json {
        let (path, options) = arguments.split_last().unwrap();
        let output = Command::new("curl")
            .args([
                "-sS",
                "--noproxy",
                "*",
                "--insecure",
                "-H",
                "Authorization: Bearer secret",
            ])
            .args(options)
            .arg(format!("{}{path}", self.0.url))
            .output()
            .unwrap();
        let answer: Json = serde_json::from_slice(&output.stdout).unwrap();
        assert_ne!(answer["status"], "Failure", "{arguments:?}: {answer}");
        answer
    }

    /// Runs the command on the cluster; `@` is the folder of the server.
    fn run(&self, arguments: &str) -> Run {
        let line = self
            .0
            .folder
            .line(&format!("{arguments} --kubeconfig @/kubeconfig"));
        let run = run(&line.split_whitespace().collect::<Vec<_>>());
        assert!(
            !run.out.contains("secret") && !run.err.contains("secret"),
            "{run:?}"
        );
        run
    }

    /// The output of a command that succeeds.
    fn prints(&self, arguments: &str) -> String {
        let run = self.run(arguments);
        assert_eq!(
            (run.code, run.err.as_str()),
            (0, ""),
            "{arguments}: {}",
            run.out
        );
        run.out
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.folder.path().join(name), text).unwrap();
    }

    /// The command as a process.
    fn command(&self, arguments: &str) -> Command {
        let line = self
            .0
            .folder
            .line(&format!("{arguments} --kubeconfig @/kubeconfig"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_fieldmanager"));
        command.args(line.split_whitespace()).stdout(Stdio::piped());
        command
    }

    /// The managers of config maps, by name.
    fn managers(&self) -> Vec<(String, Vec<String>)> {
        let list = self.send(&["/api/v1/namespaces/shop/configmaps"]);
        let text = |value: &Json| value.as_str().unwrap().to_owned();
        let of = |item: &Json| {
            let entries = item["metadata"]["managedFields"].as_array().unwrap();
            let names = entries
                .iter()
                .map(|entry| text(&entry["manager"]))
                .collect();
            (text(&item["metadata"]["name"]), names)
        };
        list["items"].as_array().unwrap().iter().map(of).collect()
    }
}

fn config_map(name: &str, data: &Json) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop", "labels": {"app": name}}, "data": data})
}

#[test]
fn plan_reads_only_the_live_objects_that_it_needs() {
    let live = Live::start();
    live.apply(
        "helm",
        &config_map("web", &json!({"color": "red", "size": "1"})),
    );
    let sources = [
        config_map("web", &json!({"color": "blue"})),
        config_map("new", &json!({"color": "blue"})),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
        json!({"apiVersion": "example.com/v1", "kind": "Nothing", "metadata": {"name": "a"}}),
    ];
    let sources: Vec<String> = sources.iter().map(Json::to_string).collect();
    live.write("source.yaml", &sources.join("\n---\n"));
    let run = live.run("plan --manager ci --cluster @/source.yaml -o json");
    let report: Json = serde_json::from_str(&run.out).unwrap();
    let fates: Vec<_> = report["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| {
            (
                of["name"].as_str().unwrap(),
                of["fate"].as_str().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(run.code, 1, "{report:#}");
    assert_eq!(
        fates,
        [
            ("shop", "changed"),
            ("web", "conflict"),
            ("new", "created"),
            ("a", "refused")
        ],
        "{report:#}"
    );
    // The dump of the same object has the same answer.
    let object = live.send(&["/api/v1/namespaces/shop/configmaps/web"]);
    live.write("live.json", &object.to_string());
    live.write("web.json", &sources[0]);
    let folder = &live.0.folder;
    let by_file = run_line(&folder.line("plan --manager ci --live @/live.json @/web.json"));
    let by_cluster = live.run("plan --manager ci @/web.json");
    assert_eq!(by_file.out, by_cluster.out);
    let both = live.run("plan --manager ci --live @/live.json @/web.json --cluster");
    assert_eq!(both.code, 2);
}

fn run_line(line: &str) -> Run {
    run(&line.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn custom_objects_have_the_definition_of_the_cluster() {
    let live = Live::start();
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}}},
    }}}});
    live.send(&[
        "-X", "POST", "-H", "Content-Type: application/json", "--data-binary",
        &json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "shops.example.com"}, "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Shop", "plural": "shops", "singular": "shop", "shortNames": ["sh"], "categories": ["all"]},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        }})
        .to_string(),
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    ]);
    let shop = |ports: &[&str]| {
        let ports: Vec<_> = ports
            .iter()
            .map(|name| json!({"name": name, "port": 1}))
            .collect();
        json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a", "namespace": "shop"}, "spec": {"ports": ports}})
    };
    live.apply("ci", &shop(&["x", "y"]));
    live.write("shop.json", &shop(&["x"]).to_string());

    let plan = live.prints("plan --manager ci @/shop.json");
    assert!(plan.contains(r#"- .spec.ports[name="y"]"#), "{plan}");
    let blame = live.prints("blame sh/a -n shop --now 2026-01-01T00:00:00Z");
    assert!(blame.contains("- name: x"), "{blame}");
    for name in ["shops.example.com/a", "shops.v1.example.com/a", "Shop/a"] {
        assert_eq!(
            live.prints(&format!("blame {name} -n shop --now 2026-01-01T00:00:00Z")),
            blame
        );
    }
    let why = live.prints(r#"why sh/a .spec.ports[name="x"].port -n shop"#);
    assert!(why.contains("`ci` owns it by an apply"), "{why}");
    // A category has the types that name it.
    let all = live.prints("blame all -n shop");
    assert!(all.starts_with("Shop shop/a\n"), "{all}");
}

#[test]
fn commands_for_many_objects_take_types_and_labels() {
    let live = Live::start();
    live.apply("helm", &config_map("a", &json!({"x": "1"})));
    live.apply("helm", &config_map("b", &json!({"x": "1"})));
    live.apply("ci", &config_map("b", &json!({"x": "1"})));

    let owners = live.prints("owners cm -n shop");
    assert_eq!(
        owners,
        " MANAGER  OPERATION  SUBRESOURCE  OBJECTS  FIELDS\n \
           ci       Apply                         1       2\n \
           helm     Apply                         2       4\n\n\
         fields of several managers\n  \
           ConfigMap shop/b .data.x: ci (Apply), helm (Apply)\n  \
           ConfigMap shop/b .metadata.labels.app: ci (Apply), helm (Apply)\n\n\
         2 managers of 2 objects, 2 fields of several managers\n"
    );
    let json: Json =
        serde_json::from_str(&live.prints("owners configmaps -A -l app=b -o json")).unwrap();
    assert_eq!(json["objects"], 1, "{json:#}");
    let list = live.send(&["/api/v1/namespaces/shop/configmaps"]);
    live.write("dump.json", &list.to_string());
    assert_eq!(
        run_line(&live.0.folder.line("owners -f @/dump.json")).out,
        owners
    );

    let blame = live.prints("blame cm -n shop --manager ci --now 2026-01-01T00:00:00Z");
    assert!(
        blame.starts_with("ConfigMap shop/b\n") && !blame.contains("shop/a"),
        "{blame}"
    );
    let one = live.prints("blame cm/b -n shop --html");
    assert!(one.starts_with("<!DOCTYPE html>"), "{one}");
    let lint = live.run("lint cm,namespaces -n shop --large 100");
    assert_eq!((lint.code, lint.err.as_str()), (0, ""), "{}", lint.out);
    assert!(lint.out.contains("nothing found in"), "{}", lint.out);
    let managers = live.prints("managers cm/b -n shop");
    assert!(managers.contains("2 entries of 2 managers"), "{managers}");

    for (arguments, message) in [
        ("blame cm/c -n shop", "there is no cm/c in namespace shop"),
        (
            "blame cmx -n shop",
            "the cluster does not have a type `cmx`",
        ),
        (
            "blame --cluster",
            "expected one object of the cluster: TYPE/NAME",
        ),
        (
            "managers cm -n shop",
            "expected one object of the cluster: TYPE/NAME",
        ),
        (
            "why b .data.x -n shop",
            "`b` is not an object: expected TYPE/NAME",
        ),
        ("migrate --drop ci -A", "which objects?"),
        (
            "owners --context other",
            "there is no context `other`: expected one of",
        ),
    ] {
        let run = live.run(arguments);
        assert!(
            run.code > 0 && run.err.contains(message),
            "{arguments}: {}{}",
            run.out,
            run.err
        );
    }
}

#[test]
fn lists_are_read_page_by_page() {
    let live = Live::start();
    // More than two pages.
    for number in 0..205 {
        live.apply(
            "helm",
            &config_map(&format!("c{number:03}"), &json!({"x": "1"})),
        );
    }
    let json: Json = serde_json::from_str(&live.prints("owners cm -n shop -o json")).unwrap();
    assert_eq!(
        (&json["objects"], &json["managers"][0]["objects"]),
        (&json!(205), &json!(205))
    );
}

#[test]
fn migrate_shows_its_patch_and_writes_on_demand() {
    let live = Live::start();
    live.apply("old", &config_map("a", &json!({"x": "1"})));
    live.apply("older", &config_map("a", &json!({"y": "1"})));
    let before = live.managers();
    let migrate = "migrate cm -n shop --from old --from older --to ci --to-applier";
    let shown = live.prints(migrate);
    assert!(shown.starts_with("ConfigMap shop/a\n  fields of old (Apply) (2) become those of `ci`, whose next apply removes what it leaves out\n"), "{shown}");
    assert!(
        shown.contains(r#"[{"op":"replace","path":"/metadata/managedFields","value":["#),
        "{shown}"
    );
    assert!(
        shown.ends_with(
            "1 to migrate, 0 without such entries, 0 refused: --write sends the patches\n"
        ),
        "{shown}"
    );
    assert_eq!(live.managers(), before);

    let written = live.prints(&format!("{migrate} --write"));
    assert_eq!(written.lines().nth(3), shown.lines().nth(3));
    assert!(
        written.ends_with("1 migrated, 0 without such entries, 0 refused\n"),
        "{written}"
    );
    assert_eq!(live.managers(), [("a".to_owned(), vec!["ci".to_owned()])]);
    let again = live.prints(&format!("{migrate} --write"));
    assert_eq!(again, "0 migrated, 1 without such entries, 0 refused\n");
    // The last owner goes, too.
    live.prints("migrate cm/a -n shop --drop ci --write");
    let object = live.send(&["/api/v1/namespaces/shop/configmaps/a"]);
    assert_eq!(object["metadata"]["managedFields"], Json::Null);
    assert_eq!(object["data"], json!({"x": "1", "y": "1"}));
}

/// Config maps whose patches do not fit into a pipe, so that a process that shows them waits for its reader.
fn many(live: &Live) -> usize {
    let data: serde_json::Map<_, _> = (0..150)
        .map(|key| (format!("key-{key:032}"), json!("1")))
        .collect();
    for number in 0..30 {
        live.apply("old", &config_map(&format!("c{number:02}"), &json!(data)));
    }
    30
}

const MIGRATE: &str = "migrate cm -n shop --from old --to ci --write";

#[test]
fn migrate_reads_an_object_again_that_has_changed() {
    let live = Live::start();
    let count = many(&live);
    let mut process = live.command(MIGRATE).spawn().unwrap();
    let mut out = BufReader::with_capacity(1, process.stdout.take().unwrap());
    let mut text = String::new();
    // The objects have been read when the first is shown.
    out.read_line(&mut text).unwrap();
    for number in 0..count {
        live.apply(
            "other",
            &config_map(&format!("c{number:02}"), &json!({"own": "1"})),
        );
    }
    out.read_to_string(&mut text).unwrap();
    assert!(process.wait().unwrap().success(), "{text}");
    let last = format!("ConfigMap shop/c{:02}\n", count - 1);
    assert_eq!(
        text.matches(&last).count(),
        2,
        "the last object is shown again"
    );
    assert!(
        text.ends_with("30 migrated, 0 without such entries, 0 refused\n"),
        "{text}"
    );
    for (name, managers) in live.managers() {
        assert_eq!(managers, ["ci", "other"], "{name}");
    }
}

#[test]
fn killed_migration_leaves_whole_objects_and_the_next_one_finishes() {
    let live = Live::start();
    let count = many(&live);
    let mut process = live.command(MIGRATE).spawn().unwrap();
    let mut out = BufReader::with_capacity(1, process.stdout.take().unwrap());
    // Three lines for each object; the fourth object is shown when the third is written.
    for _ in 0..10 {
        out.read_line(&mut String::new()).unwrap();
    }
    process.kill().unwrap();
    process.wait().unwrap();
    let managers = live.managers();
    let done = managers
        .iter()
        .filter(|(_, names)| *names == ["ci"])
        .count();
    let left = managers
        .iter()
        .filter(|(_, names)| *names == ["old"])
        .count();
    assert!(
        done >= 3 && left > 0 && done + left == count,
        "{managers:?}"
    );

    let rest = live.prints(MIGRATE);
    let sum = format!("{left} migrated, {done} without such entries, 0 refused\n");
    assert!(rest.ends_with(&sum), "{rest}");
    assert!(live.managers().iter().all(|(_, names)| *names == ["ci"]));
}

#[test]
fn credentials_of_a_plugin_lead_to_the_cluster_and_are_not_shown() {
    let live = Live::start();
    live.apply("helm", &config_map("a", &json!({"x": "1"})));
    let path = live.0.folder.path().join("kubeconfig");
    let mut kubeconfig: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let exec = |script: &str| json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script], "interactiveMode": "Never"}});
    let credential = json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "secret"}});
    kubeconfig["users"][0]["user"] = exec(&format!("echo '{credential}'"));
    // The namespace of the context is that of objects that name none.
    kubeconfig["contexts"][0]["context"]["namespace"] = json!("shop");
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    assert!(live.prints("managers cm/a").contains("helm"));

    kubeconfig["users"][0]["user"] = exec("echo secret; echo secret >&2; exit 3");
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    let failed = live.run("managers cm/a");
    assert_eq!(failed.code, 2);
    assert!(
        failed
            .err
            .contains("the plugin of the kubeconfig failed with exit status: 3"),
        "{}",
        failed.err
    );
    kubeconfig["users"][0]["user"] = json!({"token": "not-the-secret-one"});
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    let refused = run_line(
        &live
            .0
            .folder
            .line("managers cm/a --kubeconfig @/kubeconfig"),
    );
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.contains("the cluster answers 401"),
        "{}",
        refused.err
    );
    assert!(
        !refused.err.contains("not-the-secret-one"),
        "{}",
        refused.err
    );
}

/// A server that answers a request for a path, and counts its connections.
fn fake(answer: impl Fn(&str) -> String + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            let mut lines = BufReader::new(&stream).lines().map(Result::unwrap);
            let first = lines.next().unwrap_or_default();
            lines.find(String::is_empty);
            let path = first.split(' ').nth(1).unwrap_or_default();
            // The client may have enough before the end.
            let _ = (&stream).write_all(answer(path).as_bytes());
        }
    });
    (url, count)
}

/// A folder with the kubeconfig of a server.
fn kubeconfig(url: &str) -> Folder {
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": url}}],
        "users": [{"name": "test", "user": {"token": "geheim"}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    });
    Folder::new(&[("kubeconfig", &kubeconfig.to_string())])
}

/// More than an answer may have.
fn endless() -> String {
    format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}",
        " ".repeat((64 << 20) + 1)
    )
}

#[test]
fn large_objects_come_in_small_pages() {
    let (url, count) = fake(|path| {
        let resource = json!({
            "resource": "configmaps", "responseKind": {"group": "", "version": "v1", "kind": "ConfigMap"}, "scope": "Namespaced",
            "singularResource": "configmap", "verbs": ["list"], "shortNames": ["cm"],
        });
        let item = |name: &str| json!({"metadata": {"name": name, "namespace": "default"}});
        let body = match path {
            "/api" => {
                json!({"items": [{"metadata": {}, "versions": [{"version": "v1", "resources": [resource]}]}]})
            }
            "/apis" => json!({"items": []}),
            _ if path.contains("limit=100") => return endless(),
            _ if path.contains("continue=a%2Fb") => json!({"items": [item("b")], "metadata": {}}),
            _ => json!({"items": [item("a")], "metadata": {"continue": "a/b"}}),
        };
        let body = body.to_string();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    });
    let run = run_line(&kubeconfig(&url).line("owners cm --kubeconfig @/kubeconfig -o json"));
    let report: Json = serde_json::from_str(&run.out).unwrap_or_default();
    assert_eq!(
        (run.code, &report["objects"]),
        (0, &json!(2)),
        "{}",
        run.err
    );
    assert_eq!(count.load(Ordering::SeqCst), 5);
}

#[test]
fn kubeconfig_of_ten_thousand_contexts_leads_to_the_cluster() {
    let live = Live::start();
    live.apply("helm", &config_map("a", &json!({"x": "1"})));
    let path = live.0.folder.path().join("kubeconfig");
    let mut kubeconfig: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let context = kubeconfig["contexts"][0].clone();
    for number in 0..10_000 {
        let mut context = context.clone();
        context["name"] = json!(format!("context-{number}"));
        kubeconfig["contexts"].as_array_mut().unwrap().push(context);
    }
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    assert!(
        live.prints("managers cm/a -n shop --context context-9999")
            .contains("helm")
    );
    let unknown = live.run("managers cm/a -n shop --context none");
    assert!(
        unknown.err.contains(", and 9981 more") && unknown.err.len() < 1000,
        "{}",
        unknown.err
    );
}

#[test]
fn commands_of_the_pages_run_on_a_cluster() {
    let live = Live::start();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (manager, plural, file) in [
        (
            "kubectl-client-side-apply",
            "apis/apps/v1/namespaces/shop/deployments",
            "web.yaml",
        ),
        (
            "before-first-apply",
            "api/v1/namespaces/shop/configmaps",
            "before-first-apply.yaml",
        ),
    ] {
        let text = std::fs::read_to_string(root.join("examples/answers").join(file)).unwrap();
        let mut object =
            serde_json::to_value(fieldmanager_value::Value::from_yaml(&text).unwrap()).unwrap();
        object["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("managedFields");
        live.send(&[
            "-X",
            "POST",
            "-H",
            "Content-Type: application/json",
            "--data-binary",
            &object.to_string(),
            &format!("/{plural}?fieldManager={manager}"),
        ]);
    }
    let mut pages = vec![root.join("docs/cli.md")];
    let guides = std::fs::read_dir(root.join("docs/guides")).unwrap();
    pages.extend(guides.map(|guide| guide.unwrap().path()));
    let mut count = 0;
    for page in pages {
        let text = std::fs::read_to_string(page).unwrap();
        for line in text.lines() {
            let Some(arguments) = line.strip_prefix("kubectl fieldmanager ") else {
                continue;
            };
            let arguments =
                arguments.replace("examples/", &format!("{}/examples/", root.display()));
            let output = by_name(&live, "kubectl-fieldmanager", &arguments);
            let err = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success() && err.is_empty() && !output.stdout.is_empty(),
                "{line}: {err}"
            );
            if line.ends_with("--write") {
                let out = String::from_utf8_lossy(&output.stdout);
                assert!(
                    out.contains("1 migrated, 0 without such entries, 0 refused"),
                    "{line}: {out}"
                );
            }
            count += 1;
        }
    }
    assert!(count >= 9, "{count}");
}

#[test]
fn redirects_are_not_followed_and_answers_are_bounded() {
    let (elsewhere, followed) = fake(|_| String::new());
    let redirect = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: {elsewhere}/api\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    let strange = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n[1]".to_owned();
    for (answer, message) in [
        (
            redirect,
            "/api: the cluster redirects, which is not followed",
        ),
        (endless(), "the answer has more than 67108864 bytes"),
        (strange, "/api: the cluster answers 200: [1]"),
    ] {
        let (url, count) = fake(move |_| answer.clone());
        let run = run_line(&kubeconfig(&url).line("blame deploy/web --kubeconfig @/kubeconfig"));
        assert!(
            run.code > 0 && run.err.contains(message),
            "{message}: {}",
            run.err
        );
        assert!(
            !run.err.contains("geheim") && run.out.is_empty(),
            "{}",
            run.err
        );
        assert_eq!(
            (
                count.load(Ordering::SeqCst),
                followed.load(Ordering::SeqCst)
            ),
            (1, 0)
        );
    }
}

/// Runs a link to the command.
fn by_name(live: &Live, name: &str, arguments: &str) -> Output {
    let link = live.0.folder.path().join(name);
    if !link.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fieldmanager"), &link).unwrap();
    }
    Command::new(link)
        .args(arguments.split_whitespace())
        .env("KUBECONFIG", live.0.folder.path().join("kubeconfig"))
        .current_dir(live.0.folder.path())
        .output()
        .unwrap()
}

#[test]
fn plugin_of_kubectl_reads_the_cluster_unless_there_are_files() {
    let live = Live::start();
    live.apply("helm", &config_map("a", &json!({"x": "1"})));
    live.write("a.json", &config_map("a", &json!({"x": "2"})).to_string());
    let plugin = |arguments: &str| {
        let output = by_name(&live, "kubectl-fieldmanager", arguments);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let (code, out, err) = plugin("blame cm/a -n shop --now 2026-01-01T00:00:00Z");
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(
        out,
        live.prints("blame cm/a -n shop --now 2026-01-01T00:00:00Z")
    );
    let (code, out, _) = plugin("plan --manager ci a.json");
    assert!(code == 1 && out.starts_with("conflict"), "{out}");
    let (_, out, _) = plugin("plan --manager ci --live a.json a.json");
    assert!(out.starts_with("changed"), "{out}");
    assert_eq!(plugin("blame -f a.json").0, 0);

    let (_, out, _) = plugin("blame --help");
    assert!(
        out.contains("Usage: kubectl fieldmanager blame [OPTIONS] [TYPE[/NAME]]..."),
        "{out}"
    );
    let (code, _, err) = plugin("nothing");
    assert!(
        code == 2 && err.contains("Usage: kubectl fieldmanager "),
        "{err}"
    );
    assert!(
        plugin("")
            .1
            .contains("kubectl fieldmanager blame deploy/web -n shop")
    );
    for (arguments, expected) in [
        ("bl", "blame\n:4\n"),
        ("blame --context ", ":4\n"),
        ("blame --namesp", "--namespace\n:4\n"),
    ] {
        // kubectl passes an empty word, too.
        let words = if arguments.ends_with(' ') {
            vec!["blame", "--context", ""]
        } else {
            arguments.split(' ').collect()
        };
        let link = live.0.folder.path().join("kubectl_complete-fieldmanager");
        if !link.exists() {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fieldmanager"), &link).unwrap();
        }
        let output = Command::new(link).args(words).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    }
}

/// A kubectl, if `KUBECTL` names one, or the path has one.
fn kubectl() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join("kubectl"));
    let named = std::env::var_os("KUBECTL").map(PathBuf::from);
    named
        .into_iter()
        .chain(found)
        .find(|program| program.is_file())
}

#[test]
fn kubectl_finds_the_plugin_and_its_completions() {
    let Some(kubectl) = kubectl() else {
        return;
    };
    let live = Live::start();
    live.apply("helm", &config_map("a", &json!({"x": "1"})));
    for name in ["kubectl-fieldmanager", "kubectl_complete-fieldmanager"] {
        by_name(&live, name, "");
    }
    let run = |arguments: &str| {
        let output = Command::new(&kubectl)
            .args(arguments.split_whitespace())
            .env("KUBECONFIG", live.0.folder.path().join("kubeconfig"))
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", live.0.folder.path().display()),
            )
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let blame = run("fieldmanager blame cm/a -n shop --now 2026-01-01T00:00:00Z");
    assert_eq!(
        blame,
        live.prints("blame cm/a -n shop --now 2026-01-01T00:00:00Z")
    );
    assert_eq!(run("__complete fieldmanager bl"), "blame\n:4\n");
    assert!(run("plugin list").contains("kubectl-fieldmanager"));
}
