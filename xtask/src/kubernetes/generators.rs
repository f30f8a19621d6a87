//! The generators of the tables, in the order in which they run.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use xshell::{Cmd, cmd};

use super::upgrade::{Upgrade, copy_tracked, minor};
use crate::run::{succeeds, target};

/// What writes some files.
pub(super) struct Generator {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// The files, below the workspace.
    pub(super) files: &'static [&'static str],
    /// It needs a kube-apiserver of the release.
    pub(super) asks_server: bool,
    /// The files have times and names of the run.
    pub(super) is_sample: bool,
    /// The files are compared, and edited by hand.
    pub(super) is_by_hand: bool,
    pub(super) write: fn(&Upgrade) -> Result<()>,
}

impl Generator {
    /// Why it does not run.
    pub(super) fn skips(&self, upgrade: &Upgrade) -> Option<&'static str> {
        if self.is_sample && upgrade.version == upgrade.current {
            Some("it has times and names of its run, and is written for another release alone")
        } else if self.asks_server && upgrade.kube_apiserver.is_none() {
            Some("it needs a kube-apiserver: --kube-apiserver FILE, which build-release.sh builds")
        } else {
            None
        }
    }
}

const PLAIN: Generator = Generator {
    name: "",
    title: "",
    files: &[],
    asks_server: false,
    is_sample: false,
    is_by_hand: false,
    write: |_| Ok(()),
};

pub(super) const GENERATORS: &[Generator] = &[
    Generator {
        name: "modules",
        title: "The versions of Go modules",
        files: &[
            "comparison/oracle/server/go.mod",
            "comparison/oracle/server/go.sum",
            "comparison/oracle/go.mod",
            "comparison/oracle/go.sum",
            "comparison/kubectl/program/go.mod",
            "comparison/kubectl/program/go.sum",
        ],
        write: modules,
        ..PLAIN
    },
    Generator {
        name: "types",
        title: "Go types, resources and reset fields, from the sources",
        files: &[
            "server/builtin/src/data/types.json",
            "server/builtin/src/data/kinds.json",
            "server/builtin/src/data/internal.json",
        ],
        write: types,
        ..PLAIN
    },
    Generator {
        name: "schema",
        title: "The bundled schema and the merge strategies, from the OpenAPI document of the sources",
        files: &[
            "openapi/src/builtin/kubernetes.json",
            "openapi/src/builtin/release.txt",
            "patch/src/builtin/patches.json",
        ],
        write: schema,
        ..PLAIN
    },
    Generator {
        name: "meta",
        title: "The definitions of meta/v1 that custom resources refer to, from the OpenAPI documents",
        files: &["structural/src/crd/meta.json"],
        is_by_hand: true,
        write: meta,
        ..PLAIN
    },
    Generator {
        name: "selectors",
        title: "What Go makes of selectors",
        files: &["server/apiserver/tests/data/selectors.json"],
        write: selectors,
        ..PLAIN
    },
    Generator {
        name: "answers",
        title: "Answers of Go about objects of built-in kinds, roles and bindings",
        files: &[
            "comparison/recorded/decode.json.gz",
            "comparison/recorded/protobuf.json.gz",
            "comparison/recorded/access.json.gz",
        ],
        write: answers,
        ..PLAIN
    },
    Generator {
        name: "facts",
        title: "What a kube-apiserver serves",
        files: &[
            "server/apiserver/src/facts/data/definitions.json.gz",
            "server/apiserver/src/facts/data/objects.json.gz",
            "server/apiserver/src/facts/data/openapi_v2.json.gz",
            "server/apiserver/src/facts/data/openapi_v3.bin.gz",
            "server/apiserver/src/facts/data/openapi_v3.json.gz",
            "server/apiserver/src/facts/data/version.json.gz",
            "server/apiserver/tests/data/definitions_published.json.gz",
            "server/apiserver/tests/data/discovery.json.gz",
            "server/apiserver/tests/data/openapi_v2_protobuf.json.gz",
            "server/builtin/src/data/columns.json.gz",
            "server/builtin/src/data/resources.json.gz",
        ],
        asks_server: true,
        write: facts,
        ..PLAIN
    },
    Generator {
        name: "tables",
        title: "Tables of generated objects, with the facts",
        files: &["server/apiserver/tests/data/tables.json.gz"],
        asks_server: true,
        is_sample: true,
        write: |upgrade| {
            let file = upgrade
                .work
                .join("server/apiserver/tests/data/tables.json.gz");
            if file.exists() {
                Ok(())
            } else {
                facts(upgrade)
            }
        },
        ..PLAIN
    },
    Generator {
        name: "requests",
        title: "Answers of a kube-apiserver to generated requests",
        files: &[
            "comparison/recordings/server.jsonl.gz",
            "comparison/recordings/definitions.jsonl.gz",
        ],
        asks_server: true,
        is_sample: true,
        write: requests,
        ..PLAIN
    },
    Generator {
        name: "kubectl",
        title: "What kubectl prints with a kube-apiserver",
        files: &["comparison/kubectl/recorded"],
        asks_server: true,
        is_sample: true,
        write: kubectl,
        ..PLAIN
    },
];

const SERVER: &str = "comparison/oracle/server";
const ORACLE: &str = "comparison/oracle";
const KUBECTL: &str = "comparison/kubectl";

/// Copies the Go modules, and sets the versions of those that have another one. A module of another patch of the same
/// minor version stays.
fn modules(upgrade: &Upgrade) -> Result<()> {
    let (shell, version) = (&upgrade.shell, &upgrade.version);
    for folder in [ORACLE, KUBECTL] {
        copy_tracked(upgrade, folder)?;
    }
    if *version != upgrade.current {
        let _folder = shell.push_dir(upgrade.work.join(SERVER));
        cmd!(shell, "./pin.sh {version}").run()?;
    }
    if upgrade.minor() == minor(&upgrade.current) {
        return Ok(());
    }

    // The staging modules of v1.MINOR.PATCH are v0.MINOR.PATCH.
    let staging = |version: &str| format!(" v0{}", version.trim_start_matches('1'));
    let (old, new) = (staging(minor(&upgrade.current)), staging(version));
    for folder in [ORACLE, "comparison/kubectl/program"] {
        let folder = upgrade.work.join(folder);
        let manifest = fs::read_to_string(folder.join("go.mod"))?;
        let lines = manifest.lines().map(|line| match line.split_once(&old) {
            Some((name, rest)) if name.trim().starts_with("k8s.io/") => {
                let end = rest.find(' ').and_then(|at| rest.get(at..));
                format!("{name}{new}{}\n", end.unwrap_or_default())
            }
            _ => format!("{line}\n"),
        });
        fs::write(folder.join("go.mod"), lines.collect::<String>())?;
        let _folder = shell.push_dir(&folder);
        cmd!(shell, "go mod tidy -e").run()?;
    }

    Ok(())
}

/// A command of Go with the options of `build.sh`, so that both use the same packages of Go's cache.
fn cached(command: Cmd<'_>) -> Cmd<'_> {
    let flags = env::var("GOFLAGS").unwrap_or_default();
    command
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", format!("{flags} -trimpath"))
}

fn types(upgrade: &Upgrade) -> Result<()> {
    let shell = &upgrade.shell;
    let data = upgrade.path("server/builtin/src/data/internal.json")?;
    let folder = data.parent().context("no folder")?;
    let _folder = shell.push_dir(upgrade.work.join(SERVER));
    cached(cmd!(shell, "go run ./cmd/facts {folder}")).run()?;
    cached(cmd!(shell, "go run ./cmd/internal {data}")).run()?;
    Ok(())
}

/// The folder of OpenAPI documents that the sources of the release contain.
fn documents(upgrade: &Upgrade) -> Result<PathBuf> {
    let shell = &upgrade.shell;
    let _folder = shell.push_dir(upgrade.work.join(SERVER));
    let template = "{{.Dir}}";
    cmd!(shell, "go mod download k8s.io/kubernetes").run()?;
    let folder = cmd!(shell, "go list -m -f {template} k8s.io/kubernetes").read()?;
    Ok(PathBuf::from(folder).join("api/openapi-spec"))
}

fn schema(upgrade: &Upgrade) -> Result<()> {
    let (shell, release) = (&upgrade.shell, upgrade.minor());
    let document = documents(upgrade)?.join("swagger.json");
    let schema = upgrade.path("openapi/src/builtin/kubernetes.json")?;
    let patches = upgrade.path("patch/src/builtin/patches.json")?;
    cmd!(
        shell,
        "cargo run -q -p fieldmanager-bundle -- --openapi {document} --release {release} --corrections xtask/bundle/corrections.yaml --out {schema} --patches {patches}"
    )
    .run()?;
    Ok(())
}

/// Writes the definitions that the file has, in its layout if nothing changed, and else as JSON with one definition a line.
fn meta(upgrade: &Upgrade) -> Result<()> {
    let file = "structural/src/crd/meta.json";
    let kept = upgrade.shell.read_file(file)?;
    let names: Map<String, Value> = serde_json::from_str(&kept)?;

    // Only version 3 has the defaults.
    let document = documents(upgrade)?.join("v3/apis__apps__v1_openapi.json");
    let document: Value = serde_json::from_str(&fs::read_to_string(document)?)?;
    let definition = |name: &String| {
        let mut definition = document
            .pointer(&format!("/components/schemas/{name}"))
            .cloned()
            .unwrap_or_default();
        as_meta(&mut definition);
        (name.clone(), definition)
    };
    // A file that is equal in content keeps its layout, so that it does not count as changed.
    let made: Map<String, Value> = names.keys().map(definition).collect();
    let text = if made == names {
        kept
    } else {
        Value::Object(made).to_string()
    };
    fs::write(upgrade.path(file)?, text)?;

    Ok(())
}

/// Removes descriptions, and the `allOf` around a reference.
fn as_meta(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(inner) = members.get_mut("allOf").and_then(|all| all.get_mut(0)) {
                *value = inner.take();
                return;
            }
            members.retain(|name, value| name != "description" || !value.is_string());
            members.values_mut().for_each(as_meta);
        }
        Value::Array(items) => items.iter_mut().for_each(as_meta),
        _ => {}
    }
}

fn selectors(upgrade: &Upgrade) -> Result<()> {
    let shell = &upgrade.shell;
    let file = upgrade.path("server/apiserver/tests/data/selectors.json")?;
    let _folder = shell.push_dir(upgrade.work.join(ORACLE));
    let text = cmd!(shell, "go run ./selectors").output()?.stdout;
    fs::write(file, text)?;
    Ok(())
}

/// The program that compares.
fn comparison(upgrade: &Upgrade) -> Result<PathBuf> {
    let build = crate::comparison::BUILD;
    cmd!(upgrade.shell, "sh -c {build}").run()?;
    Ok(target().join("comparison/fieldmanager-comparison"))
}

fn answers(upgrade: &Upgrade) -> Result<()> {
    let (shell, program) = (&upgrade.shell, comparison(upgrade)?);
    for (suite, oracle, cases) in [
        ("decode", "decode", "3150"),
        ("protobuf", "decode", "1060"),
        ("access", "access", "300"),
    ] {
        // The oracle is built from the modules of the release, not from those of the workspace.
        let built = upgrade.work.join(oracle);
        {
            let _folder = shell.push_dir(upgrade.work.join(SERVER));
            cached(cmd!(shell, "go build -o {built} ./cmd/{oracle}")).run()?;
        }
        let file = upgrade.path(&format!("comparison/recorded/{suite}.json.gz"))?;
        cmd!(
            shell,
            "{program} {suite} --cases {cases} --oracle {built} --record {file}"
        )
        .run()?;
    }

    Ok(())
}

/// The program, which [`Generator::skips`] found.
fn server(upgrade: &Upgrade) -> Result<&PathBuf> {
    upgrade.kube_apiserver.as_ref().context("no kube-apiserver")
}

fn facts(upgrade: &Upgrade) -> Result<()> {
    let (shell, program) = (&upgrade.shell, server(upgrade)?);
    // The recorder reads the definitions of tests below the folder that it writes to.
    let out = copy_tracked(upgrade, "server/apiserver/tests/data/definitions.json")?;
    let out = out.ancestors().nth(3).context("no folder")?;
    let release = format!("v{}", upgrade.version);
    cmd!(
        shell,
        "cargo run -q -p fieldmanager-bundle -- apiserver --kube-apiserver {program} --release {release} --out {out}"
    )
    .run()?;
    Ok(())
}

fn requests(upgrade: &Upgrade) -> Result<()> {
    let (shell, program) = (&upgrade.shell, comparison(upgrade)?);
    let server = server(upgrade)?;
    // Generated definitions are rare among all kinds, so they have a recording of their own.
    let [all, definitions] = ["server", "definitions"]
        .map(|name| upgrade.path(&format!("comparison/recordings/{name}.jsonl.gz")));
    let (all, definitions) = (all?, definitions?);
    cmd!(
        shell,
        "{program} server --kube-apiserver {server} --record {all} --seed 1"
    )
    .run()?;
    cmd!(
        shell,
        "{program} server --kube-apiserver {server} --record {definitions} --kind CustomResourceDefinition --requests 700 --seed 50000"
    )
    .run()?;

    Ok(())
}

/// Runs the commands of kubectl with a server, which ends with its standard input.
fn kubectl(upgrade: &Upgrade) -> Result<()> {
    let shell = &upgrade.shell;
    let (kubectl, data) = (upgrade.work.join("bin"), upgrade.work.join("data"));
    {
        let _folder = shell.push_dir(upgrade.work.join("comparison/kubectl/program"));
        cmd!(shell, "go build -o {kubectl} .").run()?;
    }

    // The server makes its certificate when it starts, so the client cannot know it.
    let config = upgrade.work.join("kubeconfig");
    let cluster = json!({ "server": "https://127.0.0.1:26443", "insecure-skip-tls-verify": true });
    let document = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "server", "cluster": cluster }],
        "users": [{ "name": "admin", "user": { "token": "secret" } }],
        "contexts": [{ "name": "server", "context": { "cluster": "server", "user": "admin" } }],
        "current-context": "server",
    });
    fs::write(&config, document.to_string())?;
    // The server ends with this program, since it watches its standard input.
    let mut process = Command::new(server(upgrade)?)
        .arg("-watch-stdin")
        .arg("-data")
        .arg(data)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;

    // An error must not leave the server behind, so it is returned after the process has ended.
    let result = (|| {
        for _ in 0..600 {
            if succeeds(cmd!(
                shell,
                "{kubectl} --kubeconfig {config} get --raw /readyz"
            )) {
                let script = upgrade.work.join(KUBECTL).join("run");
                cmd!(shell, "{script} {kubectl} --record {config}").run()?;
                return Ok(());
            }
            thread::sleep(Duration::from_millis(200));
        }

        bail!("kube-apiserver does not get ready")
    })();
    process.kill()?;
    process.wait()?;

    result
}
