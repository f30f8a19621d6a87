//! The search for owners of a field in the histories of all objects.

use std::collections::BTreeMap;

use fieldmanager_blame::{Palette, printable};
use maud::html;

use super::frame::{Frame, Page};
use super::place::{Place, resource};
use super::step::name;
use crate::endpoint::{Core, Failure};
use crate::log::{Event, Item, ManagerChange, ObjectHistory, Recorder, is_in};
use crate::query::Query;

/// The number of rows of an answer.
const ROWS: usize = 1000;

/// The number of items after which other requests get their turn.
const TURN: usize = 64;

/// A time in which a manager owned a field.
struct Tenure {
    manager: String,
    operation: String,
    path: String,
    since: String,
    /// The number of the item with which it began.
    number: u64,
    /// When and how it ended; `None` if it lasts.
    until: Option<(String, String)>,
}

/// The page of the search, with the answer if there is a question.
pub(super) async fn search(core: &Core, query: &Query) -> Result<Page, Failure> {
    let path = query.text("path").trim();
    let (kind, namespace, wanted_name) = (
        query.text("kind").trim(),
        query.text("namespace").trim(),
        query.text("name").trim(),
    );
    let registry = core.registry();
    let mut found: Vec<(Place, Tenure)> = Vec::new();
    let mut is_cut = false;

    // Without a field, the page has only the form.
    if !path.is_empty() {
        let history = core.log.as_deref().and_then(Recorder::history);
        for (key, history) in history.map(|history| history.all()).unwrap_or_default() {
            let parts = key.parts();
            let place = Place::of_key(&registry, key.clone());
            // The form takes a kind or a resource, as kubectl does, with or without capitals.
            let is_kind = kind.is_empty()
                || [place.kind(), resource(&key)]
                    .iter()
                    .any(|own| own.eq_ignore_ascii_case(kind));
            let is_wanted = is_kind
                && (namespace.is_empty() || parts.namespace == Some(namespace))
                && (wanted_name.is_empty() || parts.name == wanted_name);
            if !is_wanted {
                continue;
            }

            for tenure in tenures(&history, path).await {
                found.push((Place::of_key(&registry, key.clone()), tenure));
            }
            // A field such as `.spec` is in many histories, so the answer needs a bound.
            is_cut = found.len() > ROWS;
            if is_cut {
                found.truncate(ROWS);
                break;
            }
        }
    }

    let palette = Palette::new(found.iter().map(|(_, tenure)| tenure.manager.as_str()));
    let fields = [
        ("path", "Field, such as .spec.replicas", path),
        ("kind", "Kind", kind),
        ("namespace", "Namespace", namespace),
        ("name", "Name", wanted_name),
    ];
    let content = html! {
        header {
            h1 { "Who owned a field" }
            p { "The field, or a field below it, in the histories of all objects that the server keeps." }
        }
        div.columns {
            form.wide role="search" action="/ui/owners" {
                @for (name, label, value) in fields {
                    label { (label) input type="text" name=(name) value=(value) required[name == "path"] spellcheck="false" autocomplete="off"; }
                }
                button { "Search" }
            }
            @if !path.is_empty() {
                section.wide aria-labelledby="found" {
                    h2 #found { @if found.is_empty() { "No manager owned it" } @else { "Owners" } }
                    @if is_cut { p { "These are the first " (ROWS) ". Name a kind, a namespace or an object to find others." } }
                    @if !found.is_empty() {
                        table.list {
                            thead { tr {
                                th scope="col" { "Object" } th scope="col" { "Field" } th scope="col" { "Manager" }
                                th scope="col" { "Since" } th scope="col" { "Until" }
                            } }
                            tbody {
                                @for (place, tenure) in &found {
                                    tr {
                                        td { a href=(format!("{}?at={}", place.link("history"), tenure.number)) { (place.kind()) " " bdi { (place.name()) } } }
                                        td.paths { code { (printable(&tenure.path)) } }
                                        td { (name(&palette, &tenure.manager)) " " small { (tenure.operation) } }
                                        td { (printable(&tenure.since)) }
                                        td {
                                            @match &tenure.until {
                                                Some((time, how)) => { (printable(time)) ", " (how) }
                                                None => { "now" }
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    };

    Ok(Frame::new("Who owned a field").page(&content))
}

/// The times in which managers owned a field, or fields below it.
async fn tenures(history: &ObjectHistory, path: &str) -> Vec<Tenure> {
    let mut ended: Vec<Tenure> = Vec::new();
    let mut lasting: BTreeMap<(String, String, String, String), Tenure> = BTreeMap::new();
    for (at, item) in history.items.iter().enumerate() {
        // What owned a field before the history began, or by a write of another server, begins with the state that was
        // found.
        let changes = match &item.event {
            Event::Found { .. } => history.found(at),
            _ => history.changes(at),
        };
        let time = item
            .request
            .as_ref()
            .map_or("before the history", |_| &*item.time);

        for change in &changes {
            // A manager can own a field by several entries, and each of them begins and ends on its own.
            let id = |path: &str| {
                [
                    &change.manager,
                    &change.operation,
                    &change.subresource,
                    path,
                ]
                .map(str::to_owned)
                .into()
            };

            for lost in change.lost.iter().filter(|own| is_in(own, path)) {
                let began: (String, String, String, String) = id(lost);
                if let Some(tenure) = lasting.remove(&began) {
                    let how = ending(&changes, change, lost, item);
                    ended.push(Tenure {
                        until: Some((time.to_owned(), how)),
                        ..tenure
                    });
                }
            }

            for gained in change.gained.iter().filter(|own| is_in(own, path)) {
                let tenure = Tenure {
                    manager: change.manager.clone(),
                    operation: change.operation.clone(),
                    path: gained.clone(),
                    since: time.to_owned(),
                    number: item.number,
                    until: None,
                };
                lasting.entry(id(gained)).or_insert(tenure);
            }
        }

        if at % TURN == TURN - 1 {
            tokio::task::yield_now().await;
        }
    }

    ended.extend(lasting.into_values());
    ended.sort_by_key(|tenure| tenure.number);
    ended
}

/// How a manager lost a field.
fn ending(changes: &[ManagerChange], own: &ManagerChange, path: &String, item: &Item) -> String {
    let taker = changes
        .iter()
        .find(|other| other.manager != own.manager && other.took.contains(path));
    let is_deleted = matches!(item.event, Event::Written { object: None, .. });
    match taker {
        Some(taker) => format!(
            "taken by {}",
            fieldmanager_blame::shown_name(&taker.manager)
        ),
        None if is_deleted => "the object was deleted".to_owned(),
        None => "given up".to_owned(),
    }
}
