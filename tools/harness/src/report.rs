//! Reports of scenario runs.

use std::fmt::Write;
use std::path::PathBuf;

use fieldmanager_value::Value;
use serde::Serialize;

use crate::diff;
use crate::scenario::Scenario;
use fieldmanager_value::internal::escape_untrusted;

/// An unmet expectation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Failure {
    /// The number of the step, from 1; `None` if the scenario could not be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// The kind of the step, such as `apply`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<&'static str>,
    /// The name of the expectation, such as `object` or `managed`, or `schema`.
    pub what: &'static str,
    /// The failure in one sentence. It may contain a message of the library with several lines.
    pub message: String,
    /// The paths at which the expected and the actual value differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The expected value, if the expectation is a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// The actual value, if the expectation is a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<Value>,
    /// A unified diff of both values as YAML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The request to a server and its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
}

/// A request to a server, its answer, and the command that repeats the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// The method, the path and the query; the headers; the body.
    pub request: String,
    /// The code, the headers and the body.
    pub answer: String,
    /// A command of a shell that sends the request.
    pub curl: String,
}

impl Failure {
    /// A failure of an expectation.
    pub fn new(what: &'static str, message: impl Into<String>) -> Self {
        Failure {
            step: None,
            action: None,
            what,
            message: message.into(),
            paths: Vec::new(),
            expected: None,
            actual: None,
            diff: None,
            exchange: None,
        }
    }

    /// The failure of an expectation that is a value.
    pub(crate) fn of_values(
        what: &'static str,
        paths: Vec<String>,
        expected: Value,
        actual: Value,
    ) -> Self {
        const SHOWN: usize = 3;
        let shown = |path: &String| {
            if path.is_empty() {
                "the object itself".into()
            } else {
                path.clone()
            }
        };
        // A large object may differ at hundreds of paths: the message names the first, and the diff has all.
        let first: Vec<_> = paths.iter().take(SHOWN).map(shown).collect();
        let more = match paths.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };

        let message = format!("`{what}` differs at {}{more}", first.join(", "));
        Failure {
            diff: Some(diff::unified(&expected, &actual)),
            paths,
            expected: Some(expected),
            actual: Some(actual),
            ..Failure::new(what, message)
        }
    }

    /// The failure in one sentence with its step.
    pub fn summary(&self) -> String {
        match (self.step, self.action) {
            (Some(step), Some(action)) => format!("step {step} ({action}): {}", self.message),
            _ => format!("{}: {}", self.what, self.message),
        }
    }
}

/// The result of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ScenarioReport {
    /// The scenario's name.
    pub name: String,
    /// The file of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The line on which the scenario begins in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The area of a case of the conformance suite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    /// The page that describes the behaviour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The first release of Kubernetes with the behaviour, such as `1.24`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Whether all expectations were met.
    pub passed: bool,
    /// Why the scenario was not run; it has then neither passed nor failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The unmet expectations.
    pub failures: Vec<Failure>,
}

impl ScenarioReport {
    /// The report of a scenario that was run.
    pub fn new(scenario: &Scenario, failures: Vec<Failure>) -> Self {
        let case = scenario.case.as_ref();
        ScenarioReport {
            name: scenario.name.clone(),
            file: scenario.origin.file.clone(),
            line: scenario.origin.position.map(|position| position.line),
            area: None,
            source: case
                .and_then(|case| case.source.as_ref())
                .map(ToString::to_string),
            since: case
                .and_then(|case| case.since.as_ref())
                .map(ToString::to_string),
            passed: failures.is_empty(),
            skipped: None,
            failures,
        }
    }

    /// The report of a scenario that was not run.
    pub fn skipped(scenario: &Scenario, reason: impl Into<String>) -> Self {
        ScenarioReport {
            passed: false,
            skipped: Some(reason.into()),
            ..Self::new(scenario, Vec::new())
        }
    }

    /// The report with its area.
    #[must_use]
    pub fn in_area(self, area: String) -> Self {
        ScenarioReport {
            area: Some(area),
            ..self
        }
    }

    /// Whether an expectation was not met.
    pub fn failed(&self) -> bool {
        !self.passed && self.skipped.is_none()
    }

    /// The report as a string; empty if the scenario passed. [`escape_untrusted`] escapes
    /// names, paths and values.
    ///
    /// ```
    /// use fieldmanager_harness::{Scenario, Style, run};
    ///
    /// let scenario = Scenario::from_yaml("
    /// name: union of sets
    /// schema: {types: [{name: app, scalar: numeric}]}
    /// steps:
    /// - set: {op: union, lhs: {f:a: {}}, rhs: {f:b: {}}}
    ///   expect: {fields: {f:a: {}}}
    /// ")?;
    /// assert_eq!(run(&scenario).text(Style::Plain), r#"FAIL union of sets
    ///   step 1 (set): `fields` differs at .b
    ///     --- expected
    ///     +++ actual
    ///     @@ -1,1 +1,2 @@
    ///      f:a: {}
    ///     +f:b: {}
    /// "#);
    /// # Ok::<(), fieldmanager_harness::Error>(())
    /// ```
    pub fn text(&self, style: Style) -> String {
        let mut out = String::new();
        self.write_text(style, &mut out);
        out
    }

    /// The lines of the report, for a caller that prints them itself; empty if the scenario passed.
    /// [`escape_untrusted`] escapes their strings.
    ///
    /// ```
    /// use fieldmanager_harness::internal::Part;
    /// use fieldmanager_harness::{Scenario, run};
    /// let scenario = Scenario::from_yaml("
    /// name: a\u{202e}b
    /// schema: {types: [{name: app, scalar: numeric}]}
    /// steps: [{set: {op: leaves, lhs: {f:a: {}}}, expect: {fields: {}}}]
    /// ")?;
    /// let lines = run(&scenario).lines();
    /// assert_eq!((lines[0].part, lines[0].text.as_str()), (Part::Title, r"FAIL a\u{202e}b"));
    /// # Ok::<(), fieldmanager_harness::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn lines(&self) -> Vec<ReportLine> {
        let mut lines = Vec::new();
        if !self.failed() {
            return lines;
        }
        // Names and values come from files and servers, so no line reaches a terminal without escaping.
        let mut line = |indent: usize, text: &str, part: Part| {
            lines.push(ReportLine {
                part,
                text: format!("{:indent$}{}", "", escape_untrusted(text)),
            });
        };
        line(0, &format!("FAIL {}", self.name), Part::Title);

        if let Some(file) = &self.file {
            let place = match self.line {
                Some(number) => format!("{}: line {number}", file.display()),
                None => file.display().to_string(),
            };
            line(2, &place, Part::Plain);
        }

        if let Some(source) = &self.source {
            line(2, &format!("source: {source}"), Part::Plain);
        }
        if let Some(since) = &self.since {
            line(2, &format!("since: Kubernetes {since}"), Part::Plain);
        }

        // The message of a server may have several lines, which stay below the first.
        for failure in &self.failures {
            let summary = failure.summary();
            for (i, text) in summary.lines().enumerate() {
                line(if i == 0 { 2 } else { 4 }, text, Part::Plain);
            }
            for text in failure.diff.iter().flat_map(|diff| diff.lines()) {
                let part = match text.chars().next() {
                    Some('+') => Part::Added,
                    Some('-') => Part::Removed,
                    Some('@') => Part::Hunk,
                    _ => Part::Plain,
                };
                line(4, text, part);
            }

            // Only a step with a server has an exchange, which a reader can repeat with curl.
            if let Some(Exchange {
                request,
                answer,
                curl,
            }) = &failure.exchange
            {
                for (title, text) in [
                    ("request", request),
                    ("answer", answer),
                    ("repeat it with", curl),
                ] {
                    line(4, &format!("{title}:"), Part::Hunk);
                    text.lines().for_each(|text| line(6, text, Part::Plain));
                }
            }
        }

        lines
    }

    fn write_text(&self, style: Style, out: &mut String) {
        for line in self.lines() {
            let (on, off) = style.around(line.part);
            let text = line.text.trim_start();
            let indent = line.text.len() - text.len();
            // Writing to a `String` cannot fail.
            let _ = writeln!(out, "{:indent$}{on}{text}{off}", "");
        }
    }
}

/// A line of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportLine {
    /// The meaning of the line.
    pub part: Part,
    /// The content, with its indentation.
    pub text: String,
}

/// The style of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// No colours.
    #[default]
    Plain,
    /// ANSI escape codes: red for failures and expected values, green for actual values.
    Ansi,
}

/// The meaning of a line of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Any other line.
    Plain,
    /// The name of a scenario that failed.
    Title,
    /// A line of a diff that is only in the actual value.
    Added,
    /// A line of a diff that is only in the expected value.
    Removed,
    /// The line numbers of a hunk of a diff.
    Hunk,
}

impl Style {
    fn around(self, part: Part) -> (&'static str, &'static str) {
        match (self, part) {
            (Style::Plain, _) | (_, Part::Plain) => ("", ""),
            (Style::Ansi, Part::Title) => ("\x1b[1;31m", "\x1b[0m"),
            (Style::Ansi, Part::Added) => ("\x1b[32m", "\x1b[0m"),
            (Style::Ansi, Part::Removed) => ("\x1b[31m", "\x1b[0m"),
            (Style::Ansi, Part::Hunk) => ("\x1b[36m", "\x1b[0m"),
        }
    }
}

/// The results of several scenarios.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The scenarios, in the order in which they were run.
    pub scenarios: Vec<ScenarioReport>,
    /// The server on which they were run, if they were run on one.
    pub server: Option<ReportServer>,
    /// The number of scenarios that were not run because the run was stopped.
    pub not_run: usize,
}

/// The server of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReportServer {
    /// The address.
    pub url: String,
    /// The release.
    pub version: String,
}

impl Report {
    /// The number of passed scenarios.
    pub fn passed(&self) -> usize {
        self.scenarios
            .iter()
            .filter(|scenario| scenario.passed)
            .count()
    }

    /// The number of failed scenarios.
    pub fn failed(&self) -> usize {
        self.scenarios
            .iter()
            .filter(|scenario| scenario.failed())
            .count()
    }

    /// The number of scenarios that were not run.
    pub fn skipped(&self) -> usize {
        self.scenarios
            .iter()
            .filter(|scenario| scenario.skipped.is_some())
            .count()
    }

    /// The last line of a report: `N passed, N failed`, and `, N skipped` if there are any.
    pub fn summary(&self) -> String {
        let skipped = match self.skipped() {
            0 => String::new(),
            skipped => format!(", {skipped} skipped"),
        };
        format!(
            "{} passed, {} failed{skipped}",
            self.passed(),
            self.failed()
        )
    }

    /// Every failure, followed by the line `N passed, N failed`. [`escape_untrusted`] escapes
    /// names, paths and values.
    ///
    /// ```
    /// use fieldmanager_harness::{Report, Style};
    /// assert_eq!(Report::default().text(Style::Plain), "0 passed, 0 failed\n");
    /// ```
    pub fn text(&self, style: Style) -> String {
        let mut out = String::new();
        for scenario in self.scenarios.iter().filter(|scenario| scenario.failed()) {
            scenario.write_text(style, &mut out);
            out.push('\n');
        }
        let _ = writeln!(out, "{}", self.summary());
        out
    }

    /// The report as a JSON document.
    ///
    /// ```
    /// use fieldmanager_harness::Report;
    /// let json = Report::default().json();
    /// assert_eq!(json, "{\n  \"passed\": 0,\n  \"failed\": 0,\n  \"scenarios\": []\n}\n");
    /// ```
    pub fn json(&self) -> String {
        #[derive(Serialize)]
        struct Document<'r> {
            passed: usize,
            failed: usize,
            #[serde(skip_serializing_if = "is_zero")]
            skipped: usize,
            #[serde(rename = "notRun", skip_serializing_if = "is_zero")]
            not_run: usize,
            #[serde(skip_serializing_if = "Option::is_none")]
            server: Option<&'r ReportServer>,
            scenarios: &'r [ScenarioReport],
        }

        let (passed, failed, skipped) = (self.passed(), self.failed(), self.skipped());
        let (server, not_run) = (self.server.as_ref(), self.not_run);
        let document = Document {
            passed,
            failed,
            skipped,
            not_run,
            server,
            scenarios: &self.scenarios,
        };

        // JSON cannot represent a path that is not UTF-8, so the files are omitted in this case.
        let text = serde_json::to_string_pretty(&document).or_else(|_| {
            let mut scenarios = self.scenarios.clone();
            scenarios
                .iter_mut()
                .for_each(|scenario| scenario.file = None);
            serde_json::to_string_pretty(&Document {
                scenarios: &scenarios,
                ..document
            })
        });
        let mut text = text.unwrap_or_default();
        text.push('\n');

        text
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
