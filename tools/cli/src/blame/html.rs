//! The HTML page of `blame`. Its content security policy allows the style and the script by their hashes.

use fieldmanager_blame::Line;
use fieldmanager_blame::html::{Emphasis, SCRIPT, View};
use fieldmanager_value::Value;
use maud::html;

use crate::owners::Owned;
use crate::page::Page;
use crate::text;

/// The content security policy. A test checks the hashes of the style and the script.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; \
    style-src 'sha256-Cgi+xLjXZ+a056YRZctXPUBubumdM5kLjTl0Xdyh3h8='; \
    script-src 'sha256-1MK7Arf0h4YpKn0RH0jRAAye5E3I+JGimCP5ynKIq1c='";

/// Renders the page. If managers are chosen, the lines of all others start dimmed.
pub(crate) fn page(owned: &Owned, lines: &[Line], chosen: &[String]) -> String {
    let entries = owned.entries();
    let view = View::new(&entries, owned.now, chosen);
    let title = title(&owned.object);
    let page = Page {
        title: &format!("Who owns {title}"),
        policy: POLICY,
        style: "",
        script: SCRIPT,
        header: html! {
            h1 { bdi { (title) } }
            p { "Ages as of " time datetime=(owned.now) { (owned.now) } ". A: applied, U: updated." }
        },
        aside: view.legend(lines),
        main: view.table(lines, &|_| Emphasis::None),
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
