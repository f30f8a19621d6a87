//! The frame of the HTML pages.

use fieldmanager_blame::html::STYLE;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The parts of a page. The page is one file: it loads nothing, and its policy allows its own styles and script alone.
pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    /// The content security policy, with the hashes of the styles and the script.
    pub(crate) policy: &'a str,
    /// An additional style for this page; may be empty.
    pub(crate) style: &'a str,
    pub(crate) script: &'a str,
    /// The part above the two columns.
    pub(crate) header: Markup,
    pub(crate) aside: Markup,
    pub(crate) main: Markup,
}

impl Page<'_> {
    pub(crate) fn render(self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(self.policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="referrer" content="no-referrer";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                    @if !self.style.is_empty() { style { (PreEscaped(self.style)) } }
                }
                body {
                    header { (self.header) }
                    div.layout {
                        aside { (self.aside) }
                        main { (self.main) }
                    }
                    script { (PreEscaped(self.script)) }
                }
            }
        };

        page.into_string()
    }
}
