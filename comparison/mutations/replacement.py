"""Replaces a part of a source file that is found by its tokens, so that the layout of the file does not matter."""

import re
import sys

TOKEN = re.compile(r"\w+|\S")


def replaced(name, file, text, before, after):
    """The text with one part replaced. Ends the program if the part does not occur exactly once."""
    found = list(pattern(before).finditer(text))
    if len(found) != 1:
        sys.exit(f"{name}: expected the text once in {file}, found it {len(found)} times: {before}")
    start, end = found[0].span()
    return text[:start] + after + text[end:]


def pattern(part):
    """Matches the tokens with any space between them, and with or without a comma before what closes a group."""
    out = []
    for token in TOKEN.findall(part):
        if token in ")]}":
            out.append(r",?\s*")
        out.append(re.escape(token) + (r"\b" if token[0].isalnum() or token[0] == "_" else "") + r"\s*")
    return re.compile("".join(out).removesuffix(r"\s*"))
