//! The HTML page of `blame` and `plan`. Its content security policy allows the style and the script by their hashes.

use std::collections::BTreeMap;

use fieldmanager_blame::Line;
use fieldmanager_blame::html::{Emphasis, SCRIPT, View};
use fieldmanager_managedfields::Time;
use fieldmanager_value::Value;
use maud::{Markup, html};

use crate::owners::Owned;
use crate::page::Page;
use crate::text;

/// The content security policy. A test checks the hashes of the style and the script.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; \
    style-src 'sha256-WLfjG/qqxNX+N7pTIb2kgJtHxe/ePIbbTm26l8EbKJE='; \
    script-src 'sha256-1MK7Arf0h4YpKn0RH0jRAAye5E3I+JGimCP5ynKIq1c='";

/// An object of a page.
pub(crate) struct PageObject {
    pub(crate) title: String,
    /// What is said about the object, in lines; may be empty.
    pub(crate) about: String,
    pub(crate) owned: Owned,
    pub(crate) lines: Vec<Line>,
    /// How lines are shown, by their paths.
    pub(crate) emphasis: BTreeMap<String, Emphasis>,
}

impl PageObject {
    /// An object that is shown as it is.
    pub(crate) fn of(owned: Owned, lines: Vec<Line>) -> Self {
        PageObject {
            title: title(&owned.object),
            about: String::new(),
            owned,
            lines,
            emphasis: BTreeMap::new(),
        }
    }
}

/// Renders the page of the owners of objects, which share the filters. If managers are chosen, the lines of all others start
/// dimmed.
pub(crate) fn page(objects: Vec<PageObject>, now: Time, chosen: &[String]) -> String {
    let heading = match objects.as_slice() {
        [only] => only.title.clone(),
        objects => format!("{} objects", objects.len()),
    };
    let header = html! {
        h1 { bdi { (heading) } }
        p { "Ages as of " time datetime=(now) { (now) } ". A: applied, U: updated." }
    };
    let title = format!("Who owns {heading}");
    page_of(&title, [header, Markup::default()], objects, now, chosen)
}

/// Renders a page of objects with their owners, between a header and a footer.
pub(crate) fn page_of(
    title: &str,
    [header, footer]: [Markup; 2],
    mut objects: Vec<PageObject>,
    now: Time,
    chosen: &[String],
) -> String {
    let mut entries = Vec::new();
    for object in &mut objects {
        // The owners of lines are indices of the entries of all objects.
        for owner in object.lines.iter_mut().flat_map(|line| &mut line.owners) {
            *owner += entries.len();
        }
        entries.extend(object.owned.entries());
    }

    let view = View::new(&entries, now, chosen);
    let has_titles = objects.len() > 1 || objects.iter().any(|object| !object.about.is_empty());
    let page = Page {
        title,
        policy: POLICY,
        style: "",
        script: SCRIPT,
        header,
        aside: view.legend(objects.iter().flat_map(|object| &object.lines)),
        main: html! {
            @for object in &objects { (section(&view, object, has_titles)) }
            (footer)
        },
    };

    page.render()
}

/// Renders an object of a page.
fn section(view: &View<'_>, object: &PageObject, has_title: bool) -> Markup {
    let emphasis = |line: &Line| object.emphasis.get(&line.path).copied().unwrap_or_default();
    let name = if has_title {
        &object.title
    } else {
        "the object"
    };
    html! {
        @if has_title { h2 { bdi { (object.title) } } }
        @if !object.about.is_empty() { p.about { (object.about) } }
        @if !object.lines.is_empty() { (view.table_of(name, &object.lines, &emphasis)) }
    }
}

/// The kind, namespace and name of the object.
fn title(object: &Value) -> String {
    let metadata = |name: &str| object.get("metadata")?.get(name)?.as_str();
    let kind = object
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or("object");
    let name = match (metadata("namespace"), metadata("name")) {
        (Some(namespace), Some(name)) => format!("{kind} {namespace}/{name}"),
        (None, Some(name)) => format!("{kind} {name}"),
        _ => kind.to_owned(),
    };

    text::printable(&name)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use fieldmanager_blame::html::STYLE;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn policy_hashes_match_style_and_script() {
        for text in [STYLE, SCRIPT] {
            let hash = STANDARD.encode(Sha256::digest(text));
            assert!(
                POLICY.contains(&format!("-src 'sha256-{hash}'")),
                "the policy lacks sha256-{hash}"
            );
        }
    }
}
