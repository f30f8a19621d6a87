//! The HTML page of `blame`. Its content security policy allows the style and the script by their hashes.

use fieldmanager_blame::Line;
use fieldmanager_blame::html::{Emphasis, SCRIPT, View};
use fieldmanager_managedfields::Time;
use fieldmanager_value::Value;
use maud::html;

use crate::owners::Owned;
use crate::page::Page;
use crate::text;

/// The content security policy. A test checks the hashes of the style and the script.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; \
    style-src 'sha256-Cgi+xLjXZ+a056YRZctXPUBubumdM5kLjTl0Xdyh3h8='; \
    script-src 'sha256-1MK7Arf0h4YpKn0RH0jRAAye5E3I+JGimCP5ynKIq1c='";

/// Renders the page of objects, which share the filters. If managers are chosen, the lines of all others start dimmed.
pub(crate) fn page(objects: &[(Owned, Vec<Line>)], now: Time, chosen: &[String]) -> String {
    let mut entries = Vec::new();
    let mut tables: Vec<(String, Vec<Line>)> = Vec::new();
    for (owned, lines) in objects {
        // The owners of lines are indices of the entries of all objects.
        let mut lines = lines.clone();
        for owner in lines.iter_mut().flat_map(|line| &mut line.owners) {
            *owner += entries.len();
        }
        tables.push((title(&owned.object), lines));
        entries.extend(owned.entries());
    }
    let view = View::new(&entries, now, chosen);
    let all: Vec<Line> = tables.iter().flat_map(|(_, lines)| lines.clone()).collect();
    let title = match tables.as_slice() {
        [(title, _)] => title.clone(),
        tables => format!("{} objects", tables.len()),
    };
    let page = Page {
        title: &format!("Who owns {title}"),
        policy: POLICY,
        style: "",
        script: SCRIPT,
        header: html! {
            h1 { bdi { (title) } }
            p { "Ages as of " time datetime=(now) { (now) } ". A: applied, U: updated." }
        },
        aside: view.legend(&all),
        main: html! {
            @if let [(_, lines)] = tables.as_slice() { (view.table(lines, &|_| Emphasis::None)) }
            @else {
                @for (title, lines) in &tables {
                    h2 { bdi { (title) } }
                    (view.table_of(title, lines, &|_| Emphasis::None))
                }
            }
        },
    };

    page.render()
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
