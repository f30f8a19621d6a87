//! The HTML report of `conformance`: a table of cases, with filters for areas and results, and the failures.
//!
//! The template escapes every string, and the content security policy allows only the page's styles and script, as in the
//! page of `blame`.

use std::collections::BTreeMap;

use fieldmanager_conformance_suite::results_by_area;
use fieldmanager_harness::internal::Exchange;
use fieldmanager_harness::{Failure, Report, ScenarioReport};
use maud::{Markup, html};

use crate::page::Page;
use crate::text;

const OWN_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The content security policy. A test checks the hashes of the styles and the script.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; \
    style-src 'sha256-WLfjG/qqxNX+N7pTIb2kgJtHxe/ePIbbTm26l8EbKJE=' \
    'sha256-shExaPIPSZL6Lus0VLkpZbIOwtx9yVqWn+WOePonpyA='; \
    script-src 'sha256-QpTMB6+I1t9/9YrvdkUM+veR4WX6TVKtZJ4D1aQTaas='";

/// Renders the page.
pub(crate) fn page(report: &Report, server: &str, version: &str) -> String {
    let title = "Conformance of server-side apply";
    let page = Page {
        title,
        policy: POLICY,
        style: OWN_STYLE,
        script: SCRIPT,
        header: html! {
            h1 { (title) }
            p { bdi { (text::printable(server)) } ", version " bdi { (text::printable(version)) } ": " (report.summary()) }
        },
        aside: filters(report),
        main: table(report),
    };

    page.render()
}

fn filters(report: &Report) -> Markup {
    let mut results: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &report.scenarios {
        *results.entry(result(case)).or_default() += 1;
    }
    html! {
        fieldset {
            legend { "Results" }
            @for (result, count) in &results {
                (filter("result", result, html! { span class={ "name " (result) } { (result) } }, html! { (count) }))
            }
        }
        fieldset {
            legend { "Areas" }
            @for (area, sums) in results_by_area(report) {
                (filter("area", &format!("area-{area}"), html! { bdi { (text::printable(area)) } }, html! {
                    (sums.passed) "/" (sums.passed + sums.failed + sums.skipped)
                    @for reason in &sums.reasons { br; (text::printable(reason)) }
                }))
            }
        }
        div.all { button type="button" #all { "all" } }
        output aria-live="polite" {}
    }
}

fn filter(group: &str, name: &str, label: Markup, counts: Markup) -> Markup {
    html! {
        div.manager {
            div.pick {
                label {
                    input type="checkbox" name=(group) data-filter=(name) checked;
                    (label)
                }
                button type="button" data-only=(name) data-group=(group) aria-label={ "only " (name) } { "only" }
            }
            ul { li.counts { (counts) } }
        }
    }
}

fn result(case: &ScenarioReport) -> &'static str {
    match (&case.skipped, case.passed) {
        (Some(_), _) => "skipped",
        (None, true) => "passed",
        (None, false) => "failed",
    }
}

fn table(report: &Report) -> Markup {
    html! {
        div.code tabindex="0" role="region" aria-label="the cases" {
            table {
                thead { tr { th scope="col" { "Result" } th scope="col" { "Area" } th scope="col" { "Case" } } }
                tbody {
                    @for case in &report.scenarios {
                        @let area = case.area.as_deref().unwrap_or_default();
                        tr data-area={ "area-" (area) } data-result=(result(case)) {
                            td.result { span class={ "name " (result(case)) } { (result(case)) } }
                            td.result { bdi { (text::printable(area)) } }
                            td.case { (about(case)) }
                        }
                    }
                }
            }
        }
    }
}

fn about(case: &ScenarioReport) -> Markup {
    html! {
        bdi { (text::printable(&case.name)) }
        @if let Some(source) = &case.source {
            " " small {
                // Other schemes than those of pages could run something.
                @if source.starts_with("https://") || source.starts_with("http://") {
                    a href=(source) rel="noopener noreferrer" { "source" }
                } @else { bdi { (text::printable(source)) } }
            }
        }
        @if let Some(since) = &case.since { " " small { "since Kubernetes " (text::printable(since)) } }
        @if let Some(reason) = &case.skipped { br; small { (text::printable(reason)) } }
        @for failure in &case.failures {
            details open { summary { (text::printable(&failure.summary())) } (details(failure)) }
        }
    }
}

fn details(failure: &Failure) -> Markup {
    html! {
        @if let Some(diff) = &failure.diff { (block("Expected and actual", diff)) }
        @if let Some(Exchange { request, answer, curl }) = &failure.exchange {
            (block("Request", request))
            (block("Answer", answer))
            (block("Repeat it with", curl))
        }
    }
}

fn block(title: &str, content: &str) -> Markup {
    let lines: Vec<_> = content.lines().map(text::printable_line).collect();
    html! { h2 { (title) } pre { (lines.join("\n")) } }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use fieldmanager_blame::html::STYLE;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn policy_hashes_match_styles_and_script() {
        for text in [STYLE, OWN_STYLE, SCRIPT] {
            let hash = STANDARD.encode(Sha256::digest(text));
            assert!(
                POLICY.contains(&format!("'sha256-{hash}'")),
                "the policy lacks sha256-{hash}"
            );
            assert!(!text.contains("</") && !text.contains("<!--"));
        }
    }
}
