//! The HTML page of `blame`: the lines, a legend, and a filter for each manager.
//!
//! The template escapes every string of the object. The content security policy allows the page's style and script by
//! their hashes, so a browser would not run an injected script or style even if escaping failed.

use std::collections::BTreeMap;

use fieldmanager_managedfields::Entry;
use fieldmanager_value::Value;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::line::Line;
use crate::owners::{Owned, Palette, mark, shown_name};
use crate::text;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The content security policy. A test checks the hashes of the style and the script.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; \
    style-src 'sha256-fjmst3GldNOJBcuXhuLBDNZ7jTsJrrTQNhB+XGd6NeA='; \
    script-src 'sha256-1MK7Arf0h4YpKn0RH0jRAAye5E3I+JGimCP5ynKIq1c='";

/// The filter of lines without owners.
const UNOWNED: &str = "unowned";

/// Renders the page. If managers are chosen, the lines of all others start dimmed.
pub(crate) fn page(owned: &Owned, lines: &[Line], chosen: &[String]) -> String {
    let palette = Palette::of(&owned.owners);
    let managers = managers(owned);
    let view = View { owned, palette, managers, chosen };
    let title = title(&owned.object);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { "Who owns " (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { bdi { (title) } }
                    p { "Ages as of " time datetime=(owned.now) { (owned.now) } ". A: applied, U: updated." }
                }
                div.layout {
                    aside { (view.legend(lines)) }
                    main { (view.table(lines)) }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// The kind, namespace and name of the object.
fn title(object: &Value) -> String {
    let metadata = |name: &str| object.get("metadata")?.get(name)?.as_str();
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or("object");
    let name = match (metadata("namespace"), metadata("name")) {
        (Some(namespace), Some(name)) => format!("{kind} {namespace}/{name}"),
        (None, Some(name)) => format!("{kind} {name}"),
        _ => kind.to_owned(),
    };
    text::printable(&name)
}

/// The names of managers, each with its number and the numbers of its entries.
fn managers(owned: &Owned) -> BTreeMap<&str, (usize, Vec<usize>)> {
    let mut managers: BTreeMap<&str, (usize, Vec<usize>)> = BTreeMap::new();
    for (at, owner) in owned.owners.iter().enumerate() {
        managers.entry(owner.entry.manager.as_str()).or_default().1.push(at);
    }
    for (number, manager) in managers.values_mut().enumerate() {
        manager.0 = number;
    }
    managers
}

struct View<'o> {
    owned: &'o Owned,
    palette: Palette,
    managers: BTreeMap<&'o str, (usize, Vec<usize>)>,
    chosen: &'o [String],
}

impl View<'_> {
    fn class(&self, name: &str) -> String {
        format!("name c{}", self.palette.colour(name))
    }

    fn is_chosen(&self, name: &str) -> bool {
        self.chosen.is_empty() || self.chosen.iter().any(|chosen| chosen == name)
    }

    fn entry(&self, number: usize) -> Option<&Entry> {
        self.owned.owners.get(number).map(|owner| &owner.entry)
    }

    fn legend(&self, lines: &[Line]) -> Markup {
        html! {
            fieldset {
                legend { "Managers" }
                @for (name, (number, entries)) in &self.managers {
                    div.manager {
                        div.pick {
                            label {
                                input type="checkbox" data-manager=(number) checked[self.is_chosen(name)];
                                bdi class=(self.class(name)) { (shown_name(name)) }
                            }
                            button type="button" data-only=(number) aria-label={ "only " (shown_name(name)) } { "only" }
                        }
                        ul {
                            @for entry in entries.iter().filter_map(|entry| self.entry(*entry)) {
                                li { (self.about(entry)) }
                            }
                        }
                    }
                }
                @if lines.iter().any(Line::is_unowned) {
                    div.manager {
                        div.pick {
                            label {
                                input type="checkbox" data-manager=(UNOWNED) checked[self.chosen.is_empty()];
                                span.name.unowned { "no owner" }
                            }
                            button type="button" data-only=(UNOWNED) aria-label="only lines without owners" { "only" }
                        }
                    }
                }
            }
            div.all {
                button type="button" #all { "all" }
                button type="button" #none { "none" }
            }
            output aria-live="polite" {}
        }
    }

    /// Renders the legend entry of a manager's entry.
    fn about(&self, entry: &Entry) -> Markup {
        let fields = entry.fields.leaves().len();
        html! {
            (entry.operation) " at " bdi { (text::printable(entry.api_version.as_str())) }
            @if !entry.subresource.is_empty() { ", " bdi { (text::printable(&entry.subresource)) } }
            ", " (fields) @if fields == 1 { " field" } @else { " fields" }
            @if let Some(time) = entry.time {
                ", " time datetime=(time) title=(time) { (self.owned.age(entry)) " ago" }
            }
        }
    }

    fn table(&self, lines: &[Line]) -> Markup {
        let mut before: Option<&[usize]> = None;
        html! {
            div.code tabindex="0" role="region" aria-label="the object" {
                table {
                    thead { tr { th scope="col" { "Owners" } th scope="col" { "Object" } } }
                    tbody {
                        @for line in lines {
                            (self.row(line, before.replace(&line.owners) == Some(&line.owners)))
                        }
                    }
                }
            }
        }
    }

    /// Renders a line. Owners are faint if they equal those of the line above.
    fn row(&self, line: &Line, same: bool) -> Markup {
        let owners = self.owners(line);
        let dim = !self.chosen.is_empty()
            && owners.is_some()
            && !line
                .owners
                .iter()
                .filter_map(|owner| self.entry(*owner))
                .any(|entry| self.is_chosen(&entry.manager));
        html! {
            tr data-owners=[owners] title=(text::printable(&line.path)) .dim[dim] .same[same && !line.is_unowned()] {
                td.who {
                    @for entry in line.owners.iter().filter_map(|owner| self.entry(*owner)) {
                        div.owner {
                            bdi class=(self.class(&entry.manager)) { (shown_name(&entry.manager)) }
                            small {
                                span { (mark(entry.operation)) }
                                @if let Some(time) = entry.time {
                                    time datetime=(time) title=(time) { (self.owned.age(entry)) }
                                }
                            }
                        }
                    }
                    @if line.is_unowned() { div.owner { span.name.unowned { "-" } } }
                }
                td class={ "yaml i" (line.lead.len().min(16)) } { (text::printable_line(&line.lead)) span.key { (text::printable_line(&line.key)) } (text::printable_line(&line.rest)) }
            }
        }
    }

    /// The numbers of the line's managers, for the filters; `None` if only parts of the line's value are owned.
    fn owners(&self, line: &Line) -> Option<String> {
        if line.is_unowned() {
            return Some(UNOWNED.to_owned());
        }
        let names =
            line.owners.iter().filter_map(|owner| self.entry(*owner)).map(|entry| entry.manager.as_str());
        let mut numbers: Vec<usize> =
            names.filter_map(|name| self.managers.get(name)).map(|known| known.0).collect();
        numbers.dedup();
        let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        (!texts.is_empty()).then(|| texts.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn policy_hashes_match_style_and_script() {
        for text in [STYLE, SCRIPT] {
            let hash = STANDARD.encode(Sha256::digest(text));
            assert!(POLICY.contains(&format!("-src 'sha256-{hash}'")), "the policy lacks sha256-{hash}");
        }
        // Both are embedded in the page without escaping.
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
    }
}
