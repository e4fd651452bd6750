"""A network as one HTML page that needs no server and no other file."""

import html
import json

from ..tasks.interface import Interface
from ..wiring.program import Program
from .c_program import template
from .javascript import function

KINDS = ("text", "forecast", "audio")  # of interfaces, which have a page


def page(program: Program, interface: Interface, about: str) -> str:
    """The page.

    Args:
        program: the network.
        interface: what its numbers mean, one of the `KINDS`.
        about: where it is from, in a line.
    """
    kept = json.dumps(interface.about).replace("<", "\\u003c")
    script = template(f"{interface.kind}.js")
    words = {
        "TITLE": html.escape(about),
        "BODY": template(f"{interface.kind}.html"),
        "CODE": "\n".join([function(program), f"const about = {kept};", script]),
    }
    frame = template("page.html")
    for name, part in words.items():
        frame = frame.replace(f"<!-- {name} -->", part)
    return frame
