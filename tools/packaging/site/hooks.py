"""Makes pages of the repository pages of the site."""

import logging
import re
from pathlib import Path

from mkdocs.structure.files import File

log = logging.getLogger("mkdocs.hooks.site")
HERE = Path(__file__).parent
ROOT = HERE.parents[2]
REPOSITORY = "https://github.com/fieldmanager/fieldmanager/blob/main/"
# A link to a file outside of docs/.
OUTSIDE = re.compile(r"\]\((?:\.\./)+([^)#\s]+)(#[^)\s]*)?\)")
# The beginning of a link of the README to a file.
IN_README = re.compile(r"\]\((?!https?:|#)")
# An image that has a twin for dark pages.
LIGHT = re.compile(r"!\[([^]]*)\]\(([^)\s]+)-light\.png\)")
# A cell above the names of rows.
NO_HEADER = re.compile(r"<th([^>]*)></th>")
# How pages call the program, so that tests can run their commands in a checkout.
CALL = "cargo run -q -p fieldmanager-cli --"
# What the theme writes, and what a page has instead.
THEME = [
    # Its search has no name for screen readers.
    ('data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'),
    # It asks the host of the repository for the number of stars.
    (' data-md-component="source"', ""),
]


def on_files(files, config):
    """Adds what the pages need beside those of the theme."""
    for name in ("site.css", "site.js"):
        files.append(File.generated(config, name, abs_src_path=str(HERE / name)))
    return files


def on_page_markdown(markdown, page, **_):
    """Links to files of the repository lead to its host, and the program has its name."""
    if page.file.src_uri == "README.md":
        markdown = beginning() + "\n\n" + markdown.replace("# Documentation", "## All pages", 1)
    markdown = OUTSIDE.sub(lambda found: outside(found, page), markdown)
    markdown = LIGHT.sub(r"![\1](\2-light.png#only-light)![\1](\2-dark.png#only-dark)", markdown)
    return markdown.replace(CALL, "fieldmanager")


def beginning():
    """The README up to its first block of code, without the badges, with links as of a page in docs/."""
    before = (ROOT / "README.md").read_text().split("\n```", 1)[0]
    paragraphs = [part for part in before.split("\n\n") if not part.startswith("[![")]
    return IN_README.sub("](../", "\n\n".join(paragraphs)).replace("](../docs/", "](")


def outside(found, page):
    """The link to a file of the repository, which must exist: a warning fails a strict build."""
    if not (ROOT / found[1]).exists():
        log.warning("%s links to %s, which does not exist", page.file.src_uri, found[1])
    return f"]({REPOSITORY}{found[1]}{found[2] or ''})"


def on_page_content(html, **_):
    """A cell without a text is no header."""
    return NO_HEADER.sub(r"<td\1></td>", html)


def on_post_page(output, **_):
    """Changes what the theme writes."""
    for written, wanted in THEME:
        output = output.replace(written, wanted)
    return output
