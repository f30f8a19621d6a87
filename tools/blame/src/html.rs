//! Lines and their owners as HTML: a table, and a legend with a filter for each manager.
//!
//! The templates escape every string of the object, and [`printable`] every character that is invisible or changes the
//! direction of text. A page should have a content security policy that allows [`STYLE`] and [`SCRIPT`] by their hashes, so
//! that a browser would not run an injected script or style even if escaping failed.

use std::collections::BTreeMap;

use fieldmanager_managedfields::{Entry, Time};
use maud::{Markup, html};

use crate::line::Line;
use crate::palette::Palette;
use crate::text::{age, mark, printable, printable_line, shown_name};

/// The style of the page. It can be a part of a page without escaping.
pub const STYLE: &str = include_str!("page.css");
/// The script of the filters. It can be a part of a page without escaping, after the legend and the table.
pub const SCRIPT: &str = include_str!("page.js");

/// The filter of lines without owners.
const UNOWNED: &str = "unowned";

/// How a line of the table is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Emphasis {
    /// As others.
    #[default]
    None,
    /// As changed.
    Changed,
    /// As refused.
    Refused,
}

/// The names of managers, each with its number and the numbers of its entries.
fn managers(entries: &[Entry]) -> BTreeMap<&str, (usize, Vec<usize>)> {
    let mut managers: BTreeMap<&str, (usize, Vec<usize>)> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        managers
            .entry(entry.manager.as_str())
            .or_default()
            .1
            .push(at);
    }

    for (number, manager) in managers.values_mut().enumerate() {
        manager.0 = number;
    }
    managers
}

/// The managers of an object, for its legend and its table.
pub struct View<'o> {
    entries: &'o [Entry],
    now: Time,
    palette: Palette,
    managers: BTreeMap<&'o str, (usize, Vec<usize>)>,
    chosen: &'o [String],
}

impl<'o> View<'o> {
    /// Ages are those at `now`. If managers are chosen, the lines of all others start dimmed.
    pub fn new(entries: &'o [Entry], now: Time, chosen: &'o [String]) -> Self {
        let palette = Palette::new(entries.iter().map(|entry| entry.manager.as_str()));
        View {
            entries,
            now,
            palette,
            managers: managers(entries),
            chosen,
        }
    }

    fn class(&self, name: &str) -> String {
        format!("name c{}", self.palette.colour(name))
    }

    fn is_chosen(&self, name: &str) -> bool {
        self.chosen.is_empty() || self.chosen.iter().any(|chosen| chosen == name)
    }

    fn entry(&self, number: usize) -> Option<&Entry> {
        self.entries.get(number)
    }

    /// The managers, each with its entries and a filter, and the buttons that the script needs.
    pub fn legend<'l>(&self, lines: impl IntoIterator<Item = &'l Line>) -> Markup {
        let has_unowned = lines.into_iter().any(Line::is_unowned);
        // Filters and rows share numbers, so that the names of managers reach neither selectors nor the script.
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

                // Lines without owners have their own filter, which is off when managers are chosen.
                @if has_unowned {
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

            // The script fills the output with the number of lines that are shown.
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
            (entry.operation) " at " bdi { (printable(entry.api_version.as_str())) }
            @if !entry.subresource.is_empty() { ", " bdi { (printable(&entry.subresource)) } }
            ", " (fields) @if fields == 1 { " field" } @else { " fields" }
            @if let Some(time) = entry.time {
                ", " time datetime=(time) title=(time) { (age(time, self.now)) " ago" }
            }
        }
    }

    /// The lines with their owners. `emphasis` says how a line is shown.
    pub fn table(&self, lines: &[Line], emphasis: &dyn Fn(&Line) -> Emphasis) -> Markup {
        self.table_of("the object", lines, emphasis)
    }

    /// The table of one of several objects of a page, which has a name.
    pub fn table_of(
        &self,
        name: &str,
        lines: &[Line],
        emphasis: &dyn Fn(&Line) -> Emphasis,
    ) -> Markup {
        let mut before: Option<&[usize]> = None;
        html! {
            div.code tabindex="0" role="region" aria-label=(name) {
                table {
                    thead { tr { th scope="col" { "Owners" } th scope="col" { "Object" } } }
                    tbody {
                        @for line in lines {
                            (self.row(line, before.replace(&line.owners) == Some(&line.owners), emphasis(line)))
                        }
                    }
                }
            }
        }
    }

    /// Renders a line. Owners are faint if they equal those of the line above.
    fn row(&self, line: &Line, same: bool, emphasis: Emphasis) -> Markup {
        let owners = self.owners(line);
        // A line with parts that have owners, but without its own, belongs to no filter and is never dimmed.
        let dim = !self.chosen.is_empty()
            && owners.is_some()
            && !line
                .owners
                .iter()
                .filter_map(|owner| self.entry(*owner))
                .any(|entry| self.is_chosen(&entry.manager));
        html! {
            tr data-owners=[owners] title=(printable(&line.path)) .dim[dim] .same[same && !line.is_unowned()]
                .changed[emphasis == Emphasis::Changed] .refused[emphasis == Emphasis::Refused] {
                td.who {
                    @for entry in line.owners.iter().filter_map(|owner| self.entry(*owner)) {
                        div.owner {
                            bdi class=(self.class(&entry.manager)) { (shown_name(&entry.manager)) }
                            small {
                                span { (mark(entry.operation)) }
                                @if let Some(time) = entry.time {
                                    time datetime=(time) title=(time) { (age(time, self.now)) }
                                }
                            }
                        }
                    }
                    @if line.is_unowned() { div.owner { span.name.unowned { "-" } } }
                }
                td class={ "yaml i" (line.lead.len().min(16)) } { (printable_line(&line.lead)) span.key { (printable_line(&line.key)) } (printable_line(&line.rest)) }
            }
        }
    }

    /// The numbers of the line's managers, for the filters; `None` if only parts of the line's value are owned.
    fn owners(&self, line: &Line) -> Option<String> {
        if line.is_unowned() {
            return Some(UNOWNED.to_owned());
        }
        let names = line
            .owners
            .iter()
            .filter_map(|owner| self.entry(*owner))
            .map(|entry| entry.manager.as_str());
        let mut numbers: Vec<usize> = names
            .filter_map(|name| self.managers.get(name))
            .map(|known| known.0)
            .collect();

        // A manager with several entries is one filter.
        numbers.dedup();
        let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();

        (!texts.is_empty()).then(|| texts.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_and_script_need_no_escaping() {
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
    }
}
