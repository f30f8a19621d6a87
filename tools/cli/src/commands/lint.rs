//! `lint`: reports problems in managed fields.

use std::process::ExitCode;

use fieldmanager_managedfields::internal::{Finding, LintOptions, LintReport, Severity, lint};
use fieldmanager_value::{List, Map, Value};

use crate::answers::cluster::LiveCluster;
use crate::answers::sources::each_in;
use crate::args::LintArgs;
use crate::error::Failure;
use crate::files::{self, Files};
use crate::output::{self, Line, Style};
use crate::text;

fn style(severity: Severity) -> Style {
    match severity {
        Severity::Note => Style::Owned,
        Severity::Warning => Style::Modified,
        Severity::Error => Style::Error,
    }
}

/// Prints all findings. Exits with 1 if any finding is more severe than a note.
pub(crate) fn run(args: &LintArgs, files: Files) -> Result<ExitCode, Failure> {
    let mut options = LintOptions::default().large_percent(args.large);
    if !args.served.is_empty() {
        options = options.served(args.served.iter().map(String::as_str));
    }
    let mut reports = Vec::new();
    let cluster = LiveCluster::of_live(&args.live, !args.files.is_empty())?;
    let (mut clean, mut is_many) = (0, cluster.is_some());
    // Most of many objects have no faults. One alone has the name of its file.
    let mut add = |name: Option<String>, file: &str, object: &Value| {
        let report = lint(object, &options);
        is_many |= name.is_some();
        if name.is_some() && report.findings.is_empty() && args.output.is_none() {
            clean += 1;
        } else {
            reports.push((name.unwrap_or_else(|| file.to_owned()), report));
        }
        Ok(())
    };
    for path in &args.files {
        let file = files::name(path);
        each_in(path, files, |name, object| add(name, &file, &object))?;
    }
    if let Some(cluster) = &cluster {
        cluster.each(&args.live, |live| {
            add(Some(live.key.to_string()), "", &live.object)
        })?;
    }

    let findings = || reports.iter().flat_map(|(_, report)| &report.findings);
    match args.output {
        Some(format) => output::print(
            &Value::from(reports.iter().map(document).collect::<Vec<_>>()),
            format,
        )?,
        None => output::print_lines(reports.iter().flat_map(lines))?,
    }
    if is_many && args.output.is_none() {
        let sum = format!(
            "nothing found in {clean} of {} objects",
            clean + reports.len()
        );
        output::print_lines([sum])?;
    }

    // Notes are no reason to fail a check.
    Ok(match findings().map(Finding::severity).max() {
        Some(severity) if severity > Severity::Note => ExitCode::from(1),
        _ => ExitCode::SUCCESS,
    })
}

fn lines((file, report): &(String, LintReport)) -> Vec<Line> {
    let mut lines = Vec::new();
    for finding in &report.findings {
        let severity = finding.severity();
        let line = format!(
            "{}: {}: {}",
            severity.name(),
            text::printable(file),
            text::printable(&finding.to_string())
        );
        // The line is wrapped as a whole, and its first word is painted afterwards.
        let mut parts = text::wrap(&line, output::room(), 4).into_iter();
        let first = parts.next().unwrap_or_default();
        let rest = first.strip_prefix(severity.name()).unwrap_or(&first);
        lines.push(style(severity).paint(severity.name()).and(rest));
        lines.extend(parts.map(Line::from));
    }

    if lines.is_empty() {
        lines.push(format!("{file}: nothing found").into());
    }
    lines
}

fn document((file, report): &(String, LintReport)) -> Value {
    let number = |number: usize| Value::from(i64::try_from(number).unwrap_or(i64::MAX));
    let findings: List = report
        .findings
        .iter()
        .map(|finding| {
            let mut map = Map::new();
            map.insert("level", finding.severity().name());
            map.insert("message", finding.to_string());
            Value::Map(map)
        })
        .collect();
    let sizes: List = report
        .sizes
        .iter()
        .map(|size| {
            let mut map = Map::new();
            map.insert("manager", size.manager.clone());
            map.insert("entries", number(size.entries));
            map.insert("bytes", number(size.bytes));
            Value::Map(map)
        })
        .collect();

    let mut map = Map::new();
    map.insert("file", file.as_str());
    map.insert("findings", findings);
    map.insert("sizes", sizes);
    map.insert("managedBytes", number(report.managed_bytes));
    map.insert("objectBytes", number(report.object_bytes));
    Value::Map(map)
}
