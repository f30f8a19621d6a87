//! `--cluster`: live objects of a server of this project as a process.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod access;
mod migrate;
mod plugin;

use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

use crate::common::{Run, run};
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
    // An object whose name the server makes has no live one.
    let generated = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-", "namespace": "shop"}});
    live.write("generated.json", &generated.to_string());
    let by_file = run_line(&folder.line("plan --manager ci @/generated.json"));
    assert_eq!(by_file, live.run("plan --manager ci @/generated.json"));
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
    let one = live.prints("blame cm/b -n shop --now 2026-01-01T00:00:00Z");
    assert_eq!(
        live.prints("blame cm b -n shop --now 2026-01-01T00:00:00Z"),
        one
    );
    let (a, two) = (
        live.prints("blame cm/a -n shop --now 2026-01-01T00:00:00Z"),
        live.prints("blame cm a b -n shop --now 2026-01-01T00:00:00Z"),
    );
    assert_eq!(two, format!("ConfigMap shop/a\n{a}ConfigMap shop/b\n{one}"));

    // A dump, and a folder with it, have the same answers.
    std::fs::create_dir(live.0.folder.path().join("dumps")).unwrap();
    live.write("dumps/dump.json", &list.to_string());
    for file in ["@/dump.json", "@/dumps"] {
        let of = |command: &str| run_line(&live.0.folder.line(&format!("{command} -f {file}")));
        let dumped = of("blame --manager ci --now 2026-01-01T00:00:00Z");
        assert_eq!(dumped.out, blame, "{file}");
        let dumped = of("lint --large 100");
        assert_eq!(dumped, live.run("lint cm -n shop --large 100"), "{file}");
        // The objects of a page share the filters.
        let html = of("blame --html").out;
        for (part, count) in [
            ("<!DOCTYPE", 1),
            ("<h2>", 2),
            ("<table>", 2),
            ("<script>", 1),
        ] {
            assert_eq!(html.matches(part).count(), count, "{part}: {html}");
        }
        assert!(html.contains("<title>Who owns 2 objects</title>"), "{html}");
    }

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
            "blame cm b cm/a -n shop",
            "`cm/a` is expected to be a name alone",
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
