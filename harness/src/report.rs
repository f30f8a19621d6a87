//! Reports of scenarios that were run.

use std::fmt::Write;
use std::path::PathBuf;

use fieldmanager_value::Value;
use serde::Serialize;

use crate::scenario::Scenario;

/// What is not as expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Failure {
    /// The number of the step, from 1; none if the scenario could not begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// The kind of the step, such as `apply`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<&'static str>,
    /// What is at fault: the name of an expectation, such as `object` or `managed`, or `schema`.
    pub what: &'static str,
    /// The failure in one sentence; it may hold the message of the library over several lines.
    pub message: String,
    /// Where expected and actual differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// What was expected, where that is a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// What was found instead, where that is a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<Value>,
    /// A unified diff of the two as YAML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

impl Failure {
    pub(crate) fn new(what: &'static str, message: impl Into<String>) -> Self {
        Failure {
            step: None,
            action: None,
            what,
            message: message.into(),
            paths: Vec::new(),
            expected: None,
            actual: None,
            diff: None,
        }
    }

    /// The failure in one sentence with its step.
    pub(crate) fn summary(&self) -> String {
        match (self.step, self.action) {
            (Some(step), Some(action)) => format!("step {step} ({action}): {}", self.message),
            _ => format!("{}: {}", self.what, self.message),
        }
    }
}

/// How one scenario ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ScenarioReport {
    /// The scenario's name.
    pub name: String,
    /// The file that it was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The line of the file on which it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Whether everything was as expected.
    pub passed: bool,
    /// What was not.
    pub failures: Vec<Failure>,
}

impl ScenarioReport {
    pub(crate) fn new(scenario: &Scenario, failures: Vec<Failure>) -> Self {
        ScenarioReport {
            name: scenario.name.clone(),
            file: scenario.origin.file.clone(),
            line: scenario.origin.position.map(|position| position.line),
            passed: failures.is_empty(),
            failures,
        }
    }

    /// The report as text; empty if the scenario passed.
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
    ///     @@ -1 +1,2 @@
    ///      "f:a": {}
    ///     +"f:b": {}
    /// "#);
    /// # Ok::<(), fieldmanager_harness::Error>(())
    /// ```
    pub fn text(&self, style: Style) -> String {
        let mut out = String::new();
        self.write_text(style, &mut out);
        out
    }

    fn write_text(&self, style: Style, out: &mut String) {
        if self.passed {
            return;
        }
        let mut line = |indent: usize, text: &str, part: Part| {
            let (on, off) = style.around(part);
            // Writing to a string does not fail.
            let _ = writeln!(out, "{:indent$}{on}{text}{off}", "");
        };
        line(0, &format!("FAIL {}", self.name), Part::Title);
        if let Some(file) = &self.file {
            let place = match self.line {
                Some(number) => format!("{}: line {number}", file.display()),
                None => file.display().to_string(),
            };
            line(2, &place, Part::Plain);
        }
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
        }
    }
}

/// Whether a text report has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Nothing but text.
    #[default]
    Plain,
    /// ANSI escape codes: red for failures and what was expected, green for what was found.
    Ansi,
}

#[derive(Clone, Copy)]
enum Part {
    Plain,
    Title,
    Added,
    Removed,
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

/// How several scenarios ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The scenarios, in the order in which they were run.
    pub scenarios: Vec<ScenarioReport>,
}

impl Report {
    /// How many scenarios passed.
    pub fn passed(&self) -> usize {
        self.scenarios.len() - self.failed()
    }

    /// How many scenarios failed.
    pub fn failed(&self) -> usize {
        self.scenarios.iter().filter(|scenario| !scenario.passed).count()
    }

    /// Every failure, and the last line `N passed, N failed`.
    ///
    /// ```
    /// use fieldmanager_harness::{Report, Style};
    /// assert_eq!(Report::default().text(Style::Plain), "0 passed, 0 failed\n");
    /// ```
    pub fn text(&self, style: Style) -> String {
        let mut out = String::new();
        for scenario in self.scenarios.iter().filter(|scenario| !scenario.passed) {
            scenario.write_text(style, &mut out);
            out.push('\n');
        }
        let _ = writeln!(out, "{} passed, {} failed", self.passed(), self.failed());
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
            scenarios: &'r [ScenarioReport],
        }
        let document = Document { passed: self.passed(), failed: self.failed(), scenarios: &self.scenarios };
        // The only thing that JSON cannot hold is a path that is no text, which is left out.
        let text = serde_json::to_string_pretty(&document).or_else(|_| {
            let mut scenarios = self.scenarios.clone();
            scenarios.iter_mut().for_each(|scenario| scenario.file = None);
            serde_json::to_string_pretty(&Document { scenarios: &scenarios, ..document })
        });
        let mut text = text.unwrap_or_default();
        text.push('\n');
        text
    }
}
