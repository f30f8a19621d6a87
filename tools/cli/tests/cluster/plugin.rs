//! The command as a plugin of kubectl.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::json;

use super::{Live, config_map};

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
    assert!(plugin("").2.contains("Usage: kubectl fieldmanager "));
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
