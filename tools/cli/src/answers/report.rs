//! The report of `check`: for people, for CI systems, for code scanning.

use std::collections::BTreeMap;
use std::process::ExitCode;

use fieldmanager_value::internal::escape_untrusted;
use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite};
use serde_json::{Value as Json, json};

use super::sources::ObjectKey;
use crate::args::VerdictFormat;
use crate::error::Failure;
use crate::output::{self, Line, Progress, Style};

/// What became of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum VerdictKind {
    #[default]
    Accepted,
    Refused,
    /// No object, or no YAML.
    Unreadable,
    /// Of an unknown kind, which the caller accepts.
    Unknown,
}

impl VerdictKind {
    fn name(self) -> &'static str {
        match self {
            VerdictKind::Accepted => "accepted",
            VerdictKind::Refused => "refused",
            VerdictKind::Unreadable => "unreadable",
            VerdictKind::Unknown => "unknown",
        }
    }

    fn is_fault(self) -> bool {
        matches!(self, VerdictKind::Refused | VerdictKind::Unreadable)
    }
}

/// A field because of which an object is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VerdictFault {
    pub(crate) path: String,
    /// The line of the field, or of the nearest one around it.
    pub(crate) line: usize,
    pub(crate) message: String,
    /// The names that the field may have been meant to have.
    pub(crate) nearest: Vec<String>,
}

impl VerdictFault {
    fn text(&self) -> String {
        let near = match self.nearest.as_slice() {
            [] => String::new(),
            near => format!(" (nearest: {})", near.join(", ")),
        };
        format!("{}: {}{near}", self.path, self.message)
    }
}

/// The answer to the creation of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectVerdict {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) kind: VerdictKind,
    pub(crate) api_version: String,
    /// `None` for a document that is no object.
    pub(crate) object: Option<ObjectKey>,
    /// The code of the answer; 0 if there was no request.
    pub(crate) code: u16,
    pub(crate) reason: String,
    /// The whole message of the answer; empty if the object is accepted.
    pub(crate) message: String,
    pub(crate) faults: Vec<VerdictFault>,
    pub(crate) warnings: Vec<String>,
}

impl ObjectVerdict {
    /// The kind, namespace and name of the object.
    fn name(&self) -> String {
        let object = self.object.as_ref();
        object.map_or_else(|| "document".to_owned(), ObjectKey::to_string)
    }

    /// The lines and messages of all faults: one for each field, or that of the whole object.
    fn problems(&self) -> Vec<(usize, String)> {
        if !self.kind.is_fault() {
            return Vec::new();
        }
        if self.faults.is_empty() {
            return vec![(self.line, self.message.clone())];
        }
        let faults = self.faults.iter();
        faults.map(|fault| (fault.line, fault.text())).collect()
    }

    fn to_json(&self) -> Json {
        let faults: Vec<Json> = self
            .faults
            .iter()
            .map(|fault| {
                json!({"path": fault.path, "line": fault.line, "message": fault.message, "nearest": fault.nearest})
            })
            .collect();
        let object = self.object.clone();
        let of = |part: fn(ObjectKey) -> String| object.clone().map(part);
        json!({
            "file": self.file, "line": self.line, "verdict": self.kind.name(),
            "apiVersion": self.api_version, "kind": of(|key| key.kind),
            "namespace": of(|key| key.namespace), "name": of(|key| key.name),
            "code": self.code, "reason": self.reason, "message": self.message,
            "faults": faults, "warnings": self.warnings,
        })
    }
}

/// The verdicts, in the order of their objects.
pub(crate) struct Report {
    format: VerdictFormat,
    files: usize,
    /// Of text and annotations, which are printed at once, only the numbers are kept.
    verdicts: Vec<ObjectVerdict>,
    /// Those that wait for the verdicts on earlier objects, by the number of their object.
    early: BTreeMap<usize, ObjectVerdict>,
    all: usize,
    refused: usize,
    unknown: usize,
    progress: Progress,
}

impl Report {
    pub(crate) fn new(format: VerdictFormat, files: usize) -> Self {
        Report {
            format,
            files,
            verdicts: Vec::new(),
            early: BTreeMap::new(),
            all: 0,
            refused: 0,
            unknown: 0,
            progress: Progress::new(),
        }
    }

    /// Adds the verdict on an object with a number: each number from 0 is added once, in any order.
    pub(crate) fn add(&mut self, number: usize, verdict: ObjectVerdict) -> Result<(), Failure> {
        self.early.insert(number, verdict);
        while let Some(verdict) = self.early.remove(&self.all) {
            self.enter(verdict)?;
        }
        Ok(())
    }

    fn enter(&mut self, verdict: ObjectVerdict) -> Result<(), Failure> {
        self.all += 1;
        self.refused += usize::from(verdict.kind.is_fault());
        self.unknown += usize::from(verdict.kind == VerdictKind::Unknown);
        self.progress.done(|| match self.format {
            VerdictFormat::Text => output::print_lines(text(&verdict)),
            VerdictFormat::Github => output::print_lines(annotations(&verdict)),
            _ => {
                self.verdicts.push(verdict);
                Ok(())
            }
        })
    }

    /// Ends the report. The exit code is 1 if anything is refused.
    pub(crate) fn finish(mut self) -> Result<ExitCode, Failure> {
        self.progress.end();
        // Objects that others need were met before the others of their file.
        self.verdicts.sort_by(|a, b| a.file.cmp(&b.file));
        match self.format {
            VerdictFormat::Text => output::out().line(self.summary())?,
            // Standard output is read by a program.
            VerdictFormat::Github => output::err().line(self.summary())?,
            VerdictFormat::Json => {
                let verdicts: Vec<Json> =
                    self.verdicts.iter().map(ObjectVerdict::to_json).collect();
                output::out().json(&pretty(&json!({
                    "objects": self.all, "refused": self.refused, "unknown": self.unknown, "verdicts": verdicts,
                })))?;
            }
            VerdictFormat::Sarif => output::out().json(&pretty(&sarif(&self.verdicts)))?,
            VerdictFormat::Junit => output::print_document(&junit(&self.verdicts))?,
        }

        Ok(ExitCode::from(u8::from(self.refused > 0)))
    }

    fn summary(&self) -> Line {
        let count = |number: usize, what: &str| {
            let plural = if number == 1 { "" } else { "s" };
            format!("{number} {what}{plural}")
        };
        let of = format!(
            " of {} in {}",
            count(self.all, "object"),
            count(self.files, "file")
        );
        let unknown = match self.unknown {
            0 => String::new(),
            unknown => format!(", {unknown} of unknown kinds"),
        };

        match self.refused {
            0 => Style::Added.paint("nothing refused").and(of).and(unknown),
            refused => Style::Error
                .paint(&format!("{refused} refused"))
                .and(of)
                .and(unknown),
        }
    }
}

fn pretty(json: &Json) -> String {
    format!("{json:#}")
}

/// `FILE:LINE: OBJECT: MESSAGE`, which editors understand, for each fault and each warning.
fn text(verdict: &ObjectVerdict) -> Vec<Line> {
    let place = |line: usize| Style::Strong.paint(&format!("{}:{line}:", verdict.file));
    let name = verdict.name();
    let faults = verdict.problems().into_iter();
    let faults = faults.map(|(line, message)| place(line).and(format!(" {name}: {message}")));
    let warnings = verdict.warnings.iter().map(|warning| {
        let line = place(verdict.line).and(format!(" {name}: "));
        line.and(Style::Modified.paint("warning:"))
            .and(format!(" {warning}"))
    });

    faults.chain(warnings).collect()
}

/// The commands of a workflow on GitHub that annotate lines.
fn annotations(verdict: &ObjectVerdict) -> Vec<Line> {
    // Behaviour: `escapeData` and `escapeProperty` of `packages/core/src/command.ts` of github.com/actions/toolkit.
    let data = |text: &str| {
        text.replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A")
    };
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let line = |level: &str, line: usize, message: &str| {
        let (file, title) = (property(&verdict.file), property(&verdict.name()));
        Line::from(format!(
            "::{level} file={file},line={line},title={title}::{}",
            data(message)
        ))
    };
    let faults = verdict.problems().into_iter();
    let faults = faults.map(|(at, message)| line("error", at, &message));
    let warnings = verdict.warnings.iter();
    let warnings = warnings.map(|warning| line("warning", verdict.line, warning));

    faults.chain(warnings).collect()
}

/// A report in the format SARIF 2.1.0.
fn sarif(verdicts: &[ObjectVerdict]) -> Json {
    let result = |verdict: &ObjectVerdict, level: &str, line: usize, message: &str| {
        // A file name is a path of a URI.
        let uri = verdict
            .file
            .replace('%', "%25")
            .replace(' ', "%20")
            .replace('#', "%23")
            .replace('?', "%3F");
        json!({
            "ruleId": if level == "error" { verdict.kind.name() } else { level },
            "level": level,
            "message": {"text": format!("{}: {message}", verdict.name())},
            "locations": [{"physicalLocation": {
                "artifactLocation": {"uri": uri}, "region": {"startLine": line.max(1)},
            }}],
        })
    };
    let mut results = Vec::new();
    for verdict in verdicts {
        let problems = verdict.problems().into_iter();
        results.extend(problems.map(|(line, message)| result(verdict, "error", line, &message)));
        let warnings = verdict.warnings.iter();
        results.extend(warnings.map(|text| result(verdict, "warning", verdict.line, text)));
    }

    let rules = [
        ("refused", "An API server refuses the object."),
        ("unreadable", "The document is no object."),
        (
            "warning",
            "An API server accepts the object with a warning.",
        ),
    ];
    let rules = rules.map(|(id, text)| json!({"id": id, "shortDescription": {"text": text}}));
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "fieldmanager", "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"), "rules": rules,
            }},
            "results": results,
        }],
    })
}

/// A report in the format of JUnit: a suite for each file, and a case for each object.
fn junit(verdicts: &[ObjectVerdict]) -> String {
    let printable = |text: &str| escape_untrusted(text).into_owned();
    let mut report = Junit::new("fieldmanager check");
    let mut suites: Vec<(&str, TestSuite)> = Vec::new();
    for verdict in verdicts {
        let status = match verdict.kind {
            VerdictKind::Accepted => TestCaseStatus::success(),
            VerdictKind::Unknown => TestCaseStatus::skipped(),
            VerdictKind::Refused | VerdictKind::Unreadable => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                let problems = verdict.problems().into_iter();
                let lines: Vec<String> = problems
                    .map(|(line, message)| {
                        printable(&format!("{}:{line}: {message}", verdict.file))
                    })
                    .collect();
                status
                    .set_type(verdict.kind.name())
                    .set_message(printable(&verdict.message))
                    .set_description(lines.join("\n"));
                status
            }
        };

        let mut case = TestCase::new(printable(&verdict.name()), status);
        case.set_classname(printable(&verdict.file));
        // The objects of a file are adjacent.
        match suites.last_mut() {
            Some((file, suite)) if *file == verdict.file => {
                suite.add_test_case(case);
            }
            _ => {
                let mut suite = TestSuite::new(printable(&verdict.file));
                suite.add_test_case(case);
                suites.push((&verdict.file, suite));
            }
        }
    }

    report.add_test_suites(suites.into_iter().map(|(_, suite)| suite));
    // Writing XML to a `String` cannot fail.
    output::junit_for_jenkins(&report.to_string().unwrap_or_default())
}
