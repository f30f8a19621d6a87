//! The frame of all pages, and their content security policy.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fieldmanager_blame::html::{SCRIPT as FILTERS, STYLE as TABLE};
use fieldmanager_blame::printable;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::endpoint::{Core, Failure};
use crate::log::{History, Recorder};

/// The content type of a page.
pub(crate) const HTML: &str = "text/html; charset=utf-8";

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The answer to a request.
pub(crate) struct Page {
    pub(crate) code: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
    /// The name under which a browser saves it, instead of showing it.
    pub(crate) file_name: Option<String>,
}

impl Page {
    pub(super) fn html(markup: Markup) -> Self {
        Page {
            code: 200,
            content_type: HTML,
            body: markup.into_string(),
            file_name: None,
        }
    }
}

/// The policy allows the styles and scripts of this folder by their hashes, and requests to the server itself.
pub(crate) fn policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
        format!(
            "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; connect-src 'self'; \
             style-src {} {}; script-src {} {}",
            hash(TABLE),
            hash(STYLE),
            hash(SCRIPT),
            hash(FILTERS),
        )
    });

    &POLICY
}

/// A string that differs whenever a page may differ, as an `ETag`.
pub(crate) async fn tag(core: &Core) -> Result<String, Failure> {
    let revision = core.store.revision().await?;
    let number = core
        .log
        .as_deref()
        .and_then(Recorder::history)
        .map_or(0, History::last);
    Ok(format!("\"{revision}-{number}\""))
}

/// The page of a request that failed.
pub(crate) fn failed(failure: &Failure) -> Page {
    let status = &failure.status;
    let title = format!("{} {}", status.code, status.reason);
    let content =
        html! { header { h1 { (title) } p.message { (printable(status.message.trim())) } } };
    Page {
        code: status.code,
        ..Frame::new(&title).page(&content)
    }
}

/// The properties of a page besides its content.
pub(super) struct Frame<'a> {
    pub(super) title: &'a str,
    /// Whether the script replaces the live parts of the page when they change.
    pub(super) live: bool,
    /// Differs whenever the content of a live page does.
    pub(super) version: String,
    /// Whether there is a legend with filters.
    pub(super) filters: bool,
}

impl<'a> Frame<'a> {
    pub(super) fn new(title: &'a str) -> Self {
        Frame {
            title,
            live: false,
            version: String::new(),
            filters: false,
        }
    }

    /// A page with content.
    pub(super) fn page(&self, content: &Markup) -> Page {
        Page::html(html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (self.title) " - fieldmanager" }
                    style { (PreEscaped(TABLE)) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a.skip href="#content" { "Skip to the content" }
                    nav aria-label="Pages" {
                        a href="/ui" { "Kinds" }
                        a href="/ui/owners" { "Owners of a field" }
                        p #status role="status" {}
                    }
                    main #content tabindex="-1" data-live=[self.live.then_some("")] data-version=(self.version) {
                        (content)
                    }
                    @if self.filters { script { (PreEscaped(FILTERS)) } }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        })
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
