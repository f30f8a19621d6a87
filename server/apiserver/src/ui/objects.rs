//! An object with the owners of each line.

use fieldmanager_blame::html::{Emphasis, View};
use fieldmanager_blame::{Line, lines};
use fieldmanager_managedfields::Entry;
use fieldmanager_schema::Type;
use fieldmanager_value::{List, Value};
use maud::{Markup, html};

use super::frame::{Frame, Page};
use super::place::Place;
use crate::endpoint::{Core, Failure};
use crate::object::metadata;

/// The page of an object.
pub(super) async fn object(core: &Core, place: &Place) -> Result<Page, Failure> {
    let Some(entry) = place.entry(core).await? else {
        // A deleted object keeps a page, which leads to its history.
        return if place.history(core).items.is_empty() {
            Err(place.not_found())
        } else {
            Ok(Frame::new(&place.name()).page(&html! {
                (heading(core, place, "The object does not exist any more."))
            }))
        };
    };

    // Managers own fields of the object that requests read. A stored one may be at another version.
    let object = place.present(&entry.object, entry.revision);
    let entries = entries(&object);
    let ty = place
        .served
        .as_ref()
        .and_then(|served| served.object_type());
    let lines = lines(&object, &entries, ty.as_ref());
    let view = View::new(&entries, core.source.now(), &[]);
    let content = html! {
        (heading(core, place, "A: applied, U: updated. Ages are those of the moment when the page was made."))
        div.layout {
            aside aria-label="managers" { (view.legend(&lines)) }
            div { (view.table(&lines, &|_| Emphasis::None)) }
        }
    };

    let title = format!("{} {}", place.kind(), place.name());
    let frame = Frame {
        filters: true,
        version: entry.revision.to_string(),
        ..Frame::new(&title)
    };
    Ok(frame.page(&content))
}

/// The name of an object, with links to its views.
pub(super) fn heading(core: &Core, place: &Place, about: &str) -> Markup {
    html! {
        header {
            h1 { (place.kind()) " " bdi { (place.name()) } }
            p { (about) }
            p.links {
                a href=(place.link("objects")) { "Owners" }
                a href=(place.link("history")) { "History" }
                @if core.export.is_some() { a href=(place.link("export")) { "Export as a scenario file" } }
            }
        }
    }
}

/// The entries of the managed fields that can be read.
pub(super) fn entries(object: &Value) -> Vec<Entry> {
    let list: Option<&List> = metadata(object, "managedFields").and_then(Value::as_list);
    let entries = list.into_iter().flatten().enumerate();
    entries
        .filter_map(|(index, entry)| Entry::from_value(index, entry).ok())
        .collect()
}

/// The table of an object at a time in its history.
pub(super) fn table(
    core: &Core,
    object: &Value,
    ty: Option<&Type>,
    emphasis: &dyn Fn(&Line) -> Emphasis,
) -> Markup {
    let entries = entries(object);
    View::new(&entries, core.source.now(), &[]).table(&lines(object, &entries, ty), emphasis)
}
