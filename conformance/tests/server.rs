//! Replays the recorded requests to a real kube-apiserver.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_conformance::driver::Options;
use fieldmanager_conformance::files;
use fieldmanager_conformance::server::{Recording, replay};

fn count(report: &str, line: &str) -> usize {
    let found = report.lines().find_map(|found| found.trim().strip_prefix(line));
    found.map_or(0, |count| count.trim().parse().unwrap_or(usize::MAX))
}

fn report(file: &str, at_least: usize) -> String {
    let recording = Recording::read(&files::folder("recordings").join(file)).unwrap();
    assert!(recording.requests.len() >= at_least);
    let mut out = Vec::new();
    let options = Options { keep_going: usize::MAX, report: 0, ..Options::default() };
    replay(&options, &recording, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn recorded_requests_have_the_answers_of_the_real_server() {
    let report = report("server.jsonl.gz", 10_000);
    assert_eq!(count(&report, "custom kinds") + count(&report, "built-in kinds"), 0, "{report}");
}

#[test]
fn recorded_requests_on_definitions_have_the_answers_of_the_real_server() {
    let report = report("definitions.jsonl.gz", 500);
    assert_eq!(count(&report, "custom kinds") + count(&report, "built-in kinds"), 0, "{report}");
}
