//! Output of `conformance`: the table of areas, the progress, and the HTML page.

mod html;

use comfy_table::{CellAlignment, Table, presets};
use fieldmanager_conformance_suite::results_by_area;
use fieldmanager_harness::{Report, ScenarioReport};
use indicatif::{ProgressBar, ProgressStyle};

pub(crate) use html::page;

use crate::output::Line;
use crate::text;

/// The results by area, with the reasons for skipped cases.
pub(crate) fn table(report: &Report) -> Vec<Line> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["AREA", "PASSED", "FAILED", "SKIPPED", ""]);
    for (area, result) in results_by_area(report) {
        let number = |number: usize| {
            if number == 0 {
                "-".to_owned()
            } else {
                number.to_string()
            }
        };
        let reasons: Vec<_> = result
            .reasons
            .iter()
            .map(|reason| shortened(reason))
            .collect();

        // Areas and reasons come from files and servers, so both are escaped.
        table.add_row([
            text::printable(area),
            number(result.passed),
            number(result.failed),
            number(result.skipped),
            reasons.join("; "),
        ]);
    }

    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if (1..=3).contains(&number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt().lines().map(Line::from).collect()
}

/// A reason in one line.
fn shortened(reason: &str) -> String {
    const COLUMNS: usize = 60;
    text::shortened(
        &text::printable(reason.lines().next().unwrap_or_default()),
        COLUMNS,
    )
}

/// The progress of a run on standard error, if that is a terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new(cases: usize) -> Self {
        let bar = ProgressBar::new(u64::try_from(cases).unwrap_or(u64::MAX));
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}") {
            bar.set_style(style);
        }
        Progress(bar)
    }

    /// A case has ended.
    pub(crate) fn done(&self, case: &ScenarioReport) {
        self.0.inc(1);
        if case.failed() {
            self.0
                .println(format!("FAIL {}", text::printable(&case.name)));
        }
        self.0
            .set_message(text::printable(case.area.as_deref().unwrap_or_default()));
    }

    /// A line above the bar.
    pub(crate) fn say(&self, line: &str) {
        self.0.println(line);
    }

    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}
