"""Text of which most is always the same: files in `templates`, with places for the rest."""

import re
import textwrap
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

# A place in a template, `@name@`; or a line that has nothing else, and how far it is indented.
PLACE = re.compile(r"^( *)@(\w+)@\n|@(\w+)@", re.MULTILINE)


def template(name: str) -> str:
    """The text of a file of code with places in it."""
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")


def fill(text: str, words: Mapping[str, Any]) -> str:
    """A template with words at its places.

    At a place that is a line of its own the words may be several lines, which are indented like it.
    Without any, the line goes.

    Example:
        >>> fill("f(@x@) {\\n  @body@\\n}", {"x": 1, "body": "one;\\ntwo;"})
        'f(1) {\\n  one;\\n  two;\\n}'
    """

    def put(place: re.Match) -> str:
        indent, alone, inline = place.groups()
        if inline is not None:
            return str(words[inline])
        lines = str(words[alone]).removesuffix("\n")
        return textwrap.indent(f"{lines}\n", indent) if lines else ""

    return PLACE.sub(put, text)
