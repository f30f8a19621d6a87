"""Makes pages of the repository pages of the site."""

import re

REPOSITORY = "https://github.com/fieldmanager/fieldmanager/blob/main/"
# A link to a file outside of docs/.
OUTSIDE = re.compile(r"\]\((?:\.\./)+([^)#\s]+)(#[^)\s]*)?\)")
# How pages call the program, so that tests can run their commands in a checkout.
CALL = "cargo run -q -p fieldmanager-cli --"


def on_page_markdown(markdown, **_):
    """Links to files of the repository lead to its host, and the program has its name."""
    markdown = OUTSIDE.sub(lambda found: f"]({REPOSITORY}{found[1]}{found[2] or ''})", markdown)
    return markdown.replace(CALL, "fieldmanager")


def on_post_page(output, **_):
    """The theme gives its search no name for screen readers."""
    return output.replace('data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"')
