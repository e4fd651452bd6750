"""A network as one HTML page that needs no server and no other file."""

import html
import json
from collections.abc import Mapping

from ..tasks.interface import Interface
from ..wiring.program import Program
from .javascript import function

# The scripts of a page for each kind of interface that has one; each has an `html` of its name.
SCRIPTS = {
    "text": ["text.js"],
    "forecast": ["table.js", "forecast.js"],
    "answers": ["table.js", "answers.js"],
    "audio": ["audio.js"],
}


def page(
    frame: str, parts: Mapping[str, str], program: Program, interface: Interface, about: str
) -> str:
    """The page.

    Args:
        frame: the template of all pages.
        parts: the `html` and the `js` of this kind of page.
        program: the network.
        interface: what its numbers mean.
        about: where it is from, in a line.
    """
    kept = json.dumps(interface.about).replace("<", "\\u003c")
    code = "\n".join([function(program), f"const about = {kept};", parts["js"]])
    for name, words in {
        "TITLE": html.escape(about),
        "BODY": parts["html"],
        "CODE": code,
    }.items():
        frame = frame.replace(f"<!-- {name} -->", words)
    return frame
