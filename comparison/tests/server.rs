//! Replays the recorded requests to a real kube-apiserver.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_comparison::driver::Options;
use fieldmanager_comparison::files;
use fieldmanager_comparison::server::{Recording, replay, replay_by_command};

fn count(report: &str, line: &str) -> usize {
    let found = report
        .lines()
        .find_map(|found| found.trim().strip_prefix(line));
    found.map_or(0, |count| count.trim().parse().unwrap_or(usize::MAX))
}

fn report(file: &str, at_least: usize) -> String {
    let recording = Recording::read(&files::folder("recordings").join(file)).unwrap();
    assert!(recording.requests.len() >= at_least);
    let mut out = Vec::new();
    let options = Options {
        keep_going: usize::MAX,
        report: 0,
        ..Options::default()
    };
    replay(&options, &recording, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn recorded_requests_have_the_answers_of_the_real_server() {
    let report = report("server.jsonl.gz", 10_000);
    assert_eq!(
        count(&report, "custom kinds") + count(&report, "built-in kinds"),
        0,
        "{report}"
    );
}

#[test]
fn recorded_requests_on_definitions_have_the_answers_of_the_real_server() {
    let report = report("definitions.jsonl.gz", 500);
    assert_eq!(
        count(&report, "custom kinds") + count(&report, "built-in kinds"),
        0,
        "{report}"
    );
}

#[test]
fn the_command_answers_recorded_requests_as_the_server_does() {
    let recording = Recording::read(&files::folder("recordings").join("server.jsonl.gz")).unwrap();
    let report = replay_by_command(&recording).unwrap();
    assert!(
        report.compared > 3_000,
        "{} compared, {} left out",
        report.compared,
        report.left_out
    );
    let shown = report.differences.iter().take(20).map(String::as_str);
    let number = report.differences.len();
    assert_eq!(number, 0, "{}", shown.collect::<Vec<_>>().join("\n"));
}
