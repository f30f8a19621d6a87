//! Reports in the JUnit XML format for CI systems.

use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite};

use crate::report::{Report, ScenarioReport, Style};
use fieldmanager_value::internal::escape_untrusted;

impl Report {
    /// The report as JUnit XML: a suite for each file, with a case for each scenario, without times.
    /// [`escape_untrusted`] escapes names, paths and values, since XML cannot represent all control characters.
    ///
    /// ```
    /// use fieldmanager_harness::Report;
    /// let xml = Report::default().junit();
    /// assert!(xml.contains(r#"<testsuites name="fieldmanager" tests="0""#));
    /// ```
    pub fn junit(&self) -> String {
        let mut report = Junit::new("fieldmanager");
        // The scenarios of a file are adjacent.
        for suite in self.scenarios.chunk_by(|a, b| a.file == b.file) {
            let file = suite.first().and_then(|scenario| scenario.file.as_ref());
            let name = file.map_or_else(
                || "scenarios".into(),
                |file| printable(&file.display().to_string()),
            );
            let mut out = TestSuite::new(name.as_str());
            if let Some(server) = &self.server {
                out.add_property(("server", printable(&server.url).as_str()));
                out.add_property(("version", printable(&server.version).as_str()));
            }
            if self.not_run > 0 {
                out.add_property(("notRun", self.not_run.to_string().as_str()));
            }
            out.add_test_cases(suite.iter().map(|scenario| case(scenario, &name)));
            report.add_test_suite(out);
        }

        // Writing XML to a `String` cannot fail.
        report.to_string().unwrap_or_default()
    }
}

fn case(scenario: &ScenarioReport, class: &str) -> TestCase {
    let status = match scenario.failures.first() {
        None if scenario.skipped.is_some() => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(printable(scenario.skipped.as_deref().unwrap_or_default()));
            status
        }
        None => TestCaseStatus::success(),
        Some(first) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status
                .set_type(first.what)
                .set_message(
                    first
                        .summary()
                        .lines()
                        .map(printable)
                        .collect::<Vec<_>>()
                        .join("\n"),
                )
                .set_description(scenario.text(Style::Plain));

            status
        }
    };
    let mut case = TestCase::new(printable(&scenario.name), status);
    case.set_classname(class);

    case
}

fn printable(text: &str) -> String {
    escape_untrusted(text).into_owned()
}
