//! `migrate` on a cluster: what is shown, written, and left by a run that is killed.

use std::io::{BufRead, BufReader, Read};
use std::process::Command;

use serde_json::{Value as Json, json};

use super::{Live, config_map};

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

#[test]
fn why_proposes_a_migration_that_writes() {
    let live = Live::start();
    live.apply("old", &config_map("a", &json!({"x": "1"})));
    live.apply("ci", &config_map("a", &json!({"y": "1"})));
    live.write("a.json", &config_map("a", &json!({"y": "1"})).to_string());
    let why = live.prints("why cm/a .data.x -n shop @/a.json --manager ci");
    let command = why
        .lines()
        .find(|line| line.contains("fieldmanager migrate"));
    let command = command.unwrap_or_else(|| panic!("{why}")).trim();
    assert!(command.ends_with("--cluster --write"), "{command}");

    let program = std::path::Path::new(env!("CARGO_BIN_EXE_fieldmanager"));
    let paths = std::env::var("PATH").unwrap();
    let output = Command::new("sh")
        .args(["-c", command])
        .env(
            "PATH",
            format!("{}:{paths}", program.parent().unwrap().display()),
        )
        .env("KUBECONFIG", live.0.folder.path().join("kubeconfig"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    // The next apply removes the field.
    assert_eq!(live.managers(), [("a".to_owned(), vec!["ci".to_owned()])]);
    live.apply("ci", &config_map("a", &json!({"y": "1"})));
    let object = live.send(&["/api/v1/namespaces/shop/configmaps/a"]);
    assert_eq!(object["data"], json!({"y": "1"}));
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
