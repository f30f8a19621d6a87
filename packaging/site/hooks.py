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
