//! What exists: kinds, namespaces, and the objects of a kind.

use std::collections::BTreeMap;

use fieldmanager_blame::{Palette, printable};
use maud::{Markup, html};

use super::frame::{Frame, Page, tag};
use super::place::{Place, encoded, group_and_plural, resource};
use super::step::{self, Step};
use crate::endpoint::{Core, Failure};
use crate::log::Recorder;
use crate::object::{in_group, metadata, text};
use crate::query::Query;
use crate::store::{Entry, Key, List, Prefix};

/// The number of changes that the first page shows.
const LATEST: usize = 20;

/// The number of objects of one page of a list.
const PAGE: usize = 500;

/// The kinds and namespaces with the number of their objects, and the latest changes.
pub(super) async fn overview(core: &Core) -> Result<Page, Failure> {
    let registry = core.registry();
    let all = core.store.list(List::new(Prefix::all())).await?;
    let mut kinds: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut namespaces: BTreeMap<String, usize> = BTreeMap::new();
    for Entry { key, .. } in &all.entries {
        // The store also has what is not an object of a served resource, such as the allocations of Services.
        let parts = key.parts();
        if registry.stored_as(parts.group, parts.plural).is_none() {
            continue;
        }
        *kinds
            .entry((parts.group.to_owned(), parts.plural.to_owned()))
            .or_default() += 1;
        if let Some(namespace) = parts.namespace {
            *namespaces.entry(namespace.to_owned()).or_default() += 1;
        }

        // A namespace without objects has a row too.
        if (parts.group, parts.plural) == ("", "namespaces") {
            namespaces.entry(parts.name.to_owned()).or_default();
        }
    }

    let content = html! {
        header { h1 { "Objects" } p { (all.entries.len()) " objects at revision " (all.revision) "." } }
        div.columns {
            section aria-labelledby="kinds" {
                h2 #kinds { "Kinds" }
                table.list {
                    thead { tr { th scope="col" { "Kind" } th scope="col" { "Group" } th.number scope="col" { "Objects" } } }
                    tbody {
                        @for ((group, plural), count) in &kinds {
                            @let name = registry.stored_as(group, plural).map(|served| served.facts.kind.to_string());
                            tr {
                                td { a href=(kind_link(group, plural, "")) { (printable(&name.unwrap_or_default())) } }
                                td { (printable(group)) }
                                td.number { (count) }
                            }
                        }
                    }
                }
            }
            section aria-labelledby="namespaces" {
                h2 #namespaces { "Namespaces" }
                table.list {
                    thead { tr { th scope="col" { "Namespace" } th.number scope="col" { "Objects" } } }
                    tbody {
                        @for (namespace, count) in &namespaces {
                            tr {
                                td { a href=(format!("/ui/kinds/-?namespace={}", encoded(namespace))) { bdi { (printable(namespace)) } } }
                                td.number { (count) }
                            }
                        }
                    }
                }
            }
            (latest(core))
        }
    };

    let frame = Frame {
        live: true,
        version: tag(core).await?,
        ..Frame::new("Objects")
    };
    Ok(frame.page(&content))
}

fn kind_link(group: &str, plural: &str, namespace: &str) -> String {
    let resource = encoded(&in_group(plural, group));
    match namespace {
        "" => format!("/ui/kinds/{resource}"),
        namespace => format!("/ui/kinds/{resource}?namespace={}", encoded(namespace)),
    }
}

/// The latest changes of all objects.
fn latest(core: &Core) -> Markup {
    let registry = core.registry();
    let history = core.log.as_deref().and_then(Recorder::history);
    let latest = history
        .map(|history| history.latest(LATEST))
        .unwrap_or_default();
    // The history of an object compares an item with the state before it. It may have dropped the item meanwhile; then
    // no fields are shown.
    let steps: Vec<(Place, Step<'_>)> = latest
        .iter()
        .map(|(key, item)| {
            let place = Place::of_key(&registry, key.clone());
            let own = place.history(core);
            let at = own
                .items
                .iter()
                .position(|other| other.number == item.number);
            let changes = at.map(|at| own.changes(at)).unwrap_or_default();
            (place, Step { item, changes })
        })
        .collect();

    let palette = Palette::new(steps.iter().map(|(_, step)| step.manager()));
    html! {
        section.wide aria-labelledby="latest" {
            h2 #latest { "Latest changes" }
            @if steps.is_empty() { p { "There are none, or the server keeps no history." } }
            @else {
                table.list {
                    thead { tr { th scope="col" { "Object" } th scope="col" { "Change" } } }
                    tbody {
                        @for (place, step) in &steps {
                            tr {
                                td { a href=(format!("{}?at={}", place.link("history"), step.item.number)) { (place.kind()) " " bdi { (place.name()) } } }
                                td { (step.coloured(&palette)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The objects of a kind, or of all kinds if the resource is `-`.
pub(super) async fn list(core: &Core, wanted: &str, query: &Query) -> Result<Page, Failure> {
    let namespace = query.text("namespace");
    let (group, plural) = group_and_plural(wanted);
    let registry = core.registry();
    let (title, prefix) = match wanted {
        "-" => ("Objects".to_owned(), Prefix::all()),
        _ => {
            let served = registry
                .stored_as(group, plural)
                .ok_or_else(Failure::path_not_found)?;
            let kind = served.facts.kind.to_string();
            (
                kind,
                served.prefix(if served.facts.namespaced {
                    namespace
                } else {
                    ""
                })?,
            )
        }
    };

    // A page begins after a key and not at a number, so that objects that are created or deleted meanwhile do not shift
    // it.
    let mut request = List::new(prefix);
    if let Some(after) = query.get("after") {
        let key: Key = after
            .parse()
            .map_err(|_| Failure::bad_request("`after` is not a key"))?;
        request = request.after(key);
    }

    // A page of all kinds has those of one namespace, which are anywhere among the others.
    let page = core
        .store
        .list(if wanted == "-" {
            request
        } else {
            request.limit(PAGE)
        })
        .await?;
    let is_wanted =
        |entry: &&Entry| namespace.is_empty() || entry.key.parts().namespace == Some(namespace);
    let mut entries: Vec<&Entry> = page.entries.iter().filter(is_wanted).collect();
    let mut next = page.next.clone();

    if entries.len() > PAGE {
        entries.truncate(PAGE);
        next = entries.last().map(|entry| entry.key.clone());
    }
    let next = next.map(|key| {
        let after = encoded(key.as_str());
        format!(
            "/ui/kinds/{}?namespace={}&after={after}",
            encoded(wanted),
            encoded(namespace)
        )
    });

    let title = match namespace {
        "" => title,
        namespace => format!("{title} in {}", printable(namespace)),
    };
    let content = html! {
        header { h1 { bdi { (title) } } p { (entries.len()) " objects." } }
        div.columns { section.wide {
            table.list {
                thead { tr {
                    @if wanted == "-" { th scope="col" { "Kind" } }
                    th scope="col" { "Name" } th scope="col" { "Managers" } th.more scope="col" { "Created" }
                    th.number.more scope="col" { "Revision" } th scope="col" { "History" }
                } }
                tbody { @for entry in &entries { (row(core, entry, wanted == "-")) } }
            }
            @if let Some(next) = next { p { a href=(next) { "More objects" } } }
        } }
    };

    let frame = Frame {
        live: true,
        version: tag(core).await?,
        ..Frame::new(&title)
    };
    Ok(frame.page(&content))
}

fn row(core: &Core, entry: &Entry, with_kind: bool) -> Markup {
    let place = Place::of_key(&core.registry(), entry.key.clone());
    let mut managers: Vec<&str> = metadata(&entry.object, "managedFields")
        .and_then(|entries| entries.as_list())
        .into_iter()
        .flatten()
        .map(|entry| text(entry, &["manager"]))
        .collect();
    // A manager with entries of several operations or subresources is shown once.
    managers.sort_unstable();
    managers.dedup();
    let palette = Palette::new(managers.iter().copied());
    html! {
        tr {
            @if with_kind { td { (place.kind()) " " small { (printable(&resource(&entry.key))) } } }
            td { a href=(place.link("objects")) { bdi { (place.name()) } } }
            td.names { @for manager in &managers { (step::name(&palette, manager)) " " } }
            td.more { (printable(text(&entry.object, &["metadata", "creationTimestamp"]))) }
            td.number.more { (entry.revision) }
            td { a href=(place.link("history")) aria-label={ "History of " (place.name()) } { "history" } }
        }
    }
}
