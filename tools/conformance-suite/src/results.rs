//! Results by area, as lists and as Markdown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use fieldmanager_harness::internal::escape_untrusted;
use fieldmanager_harness::{Report, ScenarioReport};

/// The results of an area.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AreaResult {
    /// The number of cases that passed.
    pub passed: usize,
    /// The number of cases that failed.
    pub failed: usize,
    /// The number of cases that were not run.
    pub skipped: usize,
    /// Why cases were not run.
    pub reasons: BTreeSet<String>,
}

/// The results of a report by area, sorted by name.
///
/// ```
/// use fieldmanager_conformance_suite::results_by_area;
/// use fieldmanager_harness::Report;
/// assert!(results_by_area(&Report::default()).is_empty());
/// ```
pub fn results_by_area(report: &Report) -> BTreeMap<&str, AreaResult> {
    let mut areas: BTreeMap<&str, AreaResult> = BTreeMap::new();
    for case in &report.scenarios {
        let area = areas
            .entry(case.area.as_deref().unwrap_or("cases"))
            .or_default();
        match &case.skipped {
            Some(reason) => {
                area.skipped += 1;
                area.reasons.insert(reason.clone());
            }
            None if case.passed => area.passed += 1,
            None => area.failed += 1,
        }
    }

    areas
}

/// The name of a case in lists: its area and its name.
pub(crate) fn full_name(case: &ScenarioReport) -> String {
    format!("{}: {}", case.area.as_deref().unwrap_or("cases"), case.name)
}

/// A report in Markdown: the server, a table of areas, and the failures.
///
/// ```
/// use fieldmanager_conformance_suite::markdown;
/// use fieldmanager_harness::Report;
/// let text = markdown(&Report::default(), "http://127.0.0.1:8080", "v1.37.1");
/// assert!(text.contains("Server `http://127.0.0.1:8080`, version `v1.37.1`: 0 passed, 0 failed."));
/// ```
pub fn markdown(report: &Report, server: &str, version: &str) -> String {
    let mut out = format!(
        "# Conformance of server-side apply\n\nServer {}, version {}: {}.\n\n",
        code(server),
        code(version),
        report.summary()
    );
    if report.not_run > 0 {
        let _ = writeln!(out, "Stopped before the end of {} cases.\n", report.not_run);
    }

    out.push_str("| area | passed | failed | skipped |\n|---|---:|---:|---|\n");
    for (area, result) in results_by_area(report) {
        let reasons: Vec<_> = result.reasons.iter().map(|reason| plain(reason)).collect();
        let skipped = match result.skipped {
            0 => String::new(),
            skipped => format!("{skipped}: {}", reasons.join("; ")),
        };

        // Writing to a `String` cannot fail.
        let _ = writeln!(
            out,
            "| {} | {} | {} | {skipped} |",
            plain(area),
            result.passed,
            result.failed
        );
    }

    for case in report.scenarios.iter().filter(|case| case.failed()) {
        let _ = writeln!(out, "\n## {}\n", plain(&full_name(case)));
        if let Some(source) = &case.source {
            let _ = writeln!(out, "Source: {}\n", link(source));
        }
        if let Some(since) = &case.since {
            let _ = writeln!(out, "Since Kubernetes {}.\n", plain(since));
        }

        for failure in &case.failures {
            let _ = writeln!(out, "{}\n", plain(&failure.summary()));
            let diff = failure.diff.as_deref().map(|diff| ("diff", diff));
            let exchange = failure.exchange.iter().flat_map(|exchange| {
                [
                    ("http", exchange.request.as_str()),
                    ("", exchange.answer.as_str()),
                    ("sh", exchange.curl.as_str()),
                ]
            });

            for (language, text) in diff.into_iter().chain(exchange) {
                fence(&mut out, language, text);
            }
        }
    }

    out
}

/// A string without markup: one line whose special characters are escaped.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in escape_untrusted(&text.replace('\n', " ")).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' => {
                out.push('\\');
                out.push(c);
            }
            other => out.push(other),
        }
    }

    out
}

/// A link to a page, in which a backslash would be part of the address. Anything else is a string without markup.
fn link(address: &str) -> String {
    let is_link = (address.starts_with("https://") || address.starts_with("http://"))
        && address
            .chars()
            .all(|c| c.is_ascii_graphic() && !matches!(c, '<' | '>' | '\\' | '`'));
    if is_link {
        format!("<{address}>")
    } else {
        plain(address)
    }
}

fn code(text: &str) -> String {
    format!("`{}`", escape_untrusted(&text.replace('`', "'")))
}

/// A block of code, with a fence that is longer than those inside.
fn fence(out: &mut String, language: &str, text: &str) {
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = writeln!(out, "{fence}{language}");
    for line in text.lines() {
        let _ = writeln!(out, "{}", escape_untrusted(line));
    }
    let _ = writeln!(out, "{fence}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_unchanged_and_other_sources_are_escaped() {
        assert_eq!(
            link("https://example.com/a_b/#conflicts"),
            "<https://example.com/a_b/#conflicts>"
        );
        assert_eq!(
            link("https://example.com/><script>"),
            "https://example.com/>&lt;script>"
        );
        assert_eq!(link("javascript:a_b"), "javascript:a\\_b");
    }
}
