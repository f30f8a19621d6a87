//! `why`: the situations of `tests/why`, which people ask about in the threads that each names, and the commands of the
//! ways out.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::path::Path;

use crate::common::{Folder, fails, line, prints, run_with};
use fieldmanager_value::Value;
use serde_json::{Value as Json, json};

/// A question with its files.
struct Case {
    name: String,
    object: String,
    field: String,
    /// Who applies, as options.
    who: String,
    /// The source, if the question has one.
    source: &'static str,
    folder: Folder,
    live: Json,
    expected: Json,
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/why");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.collect();
    files.sort();
    files.iter().map(|file| Case::new(file)).collect()
}

impl Case {
    fn new(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap();
        let expected: Json = serde_json::to_value(Value::from_yaml(&text).unwrap()).unwrap();
        let mut words = expected["question"]
            .as_str()
            .unwrap()
            .splitn(3, ' ')
            .map(str::to_owned);
        let mut word = || words.next().unwrap_or_default();
        let live = expected["live"].clone();
        let source = expected["source"].to_string();
        let folder = Folder::new(&[("live.json", &live.to_string()), ("source.json", &source)]);
        Case {
            name: file.file_stem().unwrap().to_str().unwrap().to_owned(),
            object: word(),
            field: word(),
            who: word(),
            source: if source == "null" {
                ""
            } else {
                "@/source.json"
            },
            folder,
            live,
            expected,
        }
    }

    /// The answer for a live object.
    fn ask(&self, live: &str, more: &str) -> Json {
        let Case {
            object,
            field,
            who,
            source,
            ..
        } = self;
        let run = line(&self.folder.line(&format!(
            "why {object} {field} {who} {more} --live {live} {source} -o json"
        )));
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", self.name);
        serde_json::from_str(&run.out).unwrap()
    }

    /// The plan of the source for a live object.
    fn plan(&self, live: &str) -> Json {
        let run = line(&self.folder.line(&format!(
            "plan {} --live {live} {} -o json",
            self.who, self.source
        )));
        let report: Json = serde_json::from_str(&run.out).unwrap();
        report["objects"][0].clone()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// Runs the part of a command that is a `fieldmanager`, on the live object. The result is the new object.
    fn migrate(&self, command: &str) {
        let ours = command
            .lines()
            .find(|line| line.trim_start().starts_with("fieldmanager"))
            .unwrap();
        let words = ours
            .trim()
            .trim_end_matches('|')
            .replace(" --patch -o json", "")
            .replace("''", "\"\"");
        let mut words: Vec<&str> = words.split_whitespace().skip(1).collect();
        for word in &mut words {
            if *word == "\"\"" {
                *word = "";
            }
        }
        let run = run_with(&words, &self.live.to_string());
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", self.name);
        self.write("migrated.yaml", &run.out);
    }

    /// Checks that a way out does what it says.
    fn go(&self, answer: &Json, way: &Json) {
        let path = &answer["path"];
        let has = |list: &Json| {
            list.as_array()
                .unwrap()
                .iter()
                .any(|item| item["path"] == *path)
        };
        let Some(command) = way["command"].as_str() else {
            return;
        };
        match way["name"].as_str().unwrap() {
            "take" => {
                assert!(command.contains("--force-conflicts"));
                let forced = self.ask("@/live.json", "--force-conflicts");
                let paragraph = forced["paragraph"].as_str().unwrap();
                assert!(
                    paragraph.contains(" sets it to "),
                    "{}: {paragraph}",
                    self.name
                );
            }
            // The first apply of an object without owners makes what is migrated.
            "migrate" if command.starts_with("kubectl apply") => {}
            "migrate" => {
                self.migrate(command);
                let plan = self.plan("@/migrated.yaml");
                let removed = |change: &&Json| change["path"] == *path && change["after"].is_null();
                let changes = plan["changes"].as_array().unwrap();
                let goes = changes.iter().find(removed).is_some() && !has(&plan["kept"]);
                // Another way leads on if there are several owners.
                assert!(
                    goes || answer["owners"].as_array().unwrap().len() > 1,
                    "{}: {plan}",
                    self.name
                );
            }
            "remove" => {
                let patch = command.split_once("-p '").unwrap().1.trim_end_matches('\'');
                self.write("patch.json", patch);
                let command = "patch --type json --manager me --no-validation --live @/live.json -f @/patch.json -o json";
                let run = line(&self.folder.line(command));
                // What the object must have cannot be removed.
                assert!(
                    run.code == 0 || run.err.contains("immutable"),
                    "{}: {}",
                    self.name,
                    run.err
                );
            }
            other => panic!("{}: {other} has a command", self.name),
        }
    }
}

#[test]
fn situations_have_their_paragraphs_and_ways_out() {
    let cases = cases();
    assert!(cases.len() >= 40, "{}", cases.len());
    for case in &cases {
        let answer = case.ask("@/live.json", "");
        assert_eq!(
            answer["paragraph"], case.expected["paragraph"],
            "{}",
            case.name
        );
        let ways = answer["ways"].as_array().unwrap();
        let names: Vec<&Json> = ways.iter().map(|way| &way["name"]).collect();
        assert_eq!(json!(names), case.expected["ways"], "{}", case.name);
        for way in ways {
            case.go(&answer, way);
        }
    }
}

#[test]
fn an_answer_is_a_paragraph_with_evidence_and_commands_to_copy() {
    let case =
        Case::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/why/csa-removed-label.yaml"));
    let out = prints(&case.folder.line("why deployments.apps/web metadata.labels.team --manager ci --live @/live.json @/source.json"));
    let expected = "\
Deployment shop/web

`.metadata.labels.team` is \"old\". `kubectl-client-side-apply` owns it by an update, at least since
2026-01-01T00:00:00Z. The configuration does not have it, and an apply by `ci` leaves it as it is,
because only updates made it, as client-side apply does, and an apply removes only what its own
manager applied.

evidence
  kubectl-client-side-apply (Update apps/v1): owns it, last changed 2026-01-01T00:00:00Z

ways out
- migrate: the fields of kubectl-client-side-apply become `ci`'s, and its next apply removes this
  one
    kubectl get deployments.apps web -n shop -o yaml --show-managed-fields |
      fieldmanager upgrade-csa --csa-manager kubectl-client-side-apply --manager ci --patch -o json -f - |
      kubectl patch deployments.apps web -n shop --type json --patch-file /dev/stdin
    kubectl apply --server-side --field-manager ci -f @/source.json
- remove: the field is removed once; an owner that applies or updates it again brings it back
    kubectl patch deployments.apps web -n shop --type json -p '[{\"op\":\"remove\",\"path\":\"/metadata/labels/team\"}]'
- leave: nothing breaks: the field stays until its owner or a patch removes it
";
    assert_eq!(case.folder.shortened(&out), expected);
}

#[test]
fn questions_without_an_answer_say_what_is_missing() {
    let case =
        Case::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/why/csa-removed-label.yaml"));
    for (question, code, expected) in [
        (
            "web spec.paused --manager ci @/source.json",
            1,
            "neither the live object nor the configuration has `.spec.paused`",
        ),
        (
            "web spec.paused",
            1,
            "the live object does not have `.spec.paused`",
        ),
        (
            "svc/web spec.paused",
            1,
            "there is no svc/web among the live objects",
        ),
        (
            "web spec[ --manager ci @/source.json",
            2,
            "`spec[` is not a path",
        ),
        (
            "web spec.replicas @/source.json",
            2,
            "who applies the configuration? --manager NAME, or --as TOOL",
        ),
    ] {
        let (found, message) = fails(
            &case
                .folder
                .line(&format!("why {question} --live @/live.json")),
        );
        assert!(
            found == code && message.contains(expected),
            "{question}: {found} {message}"
        );
    }
}
