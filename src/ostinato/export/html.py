"""A network as one HTML page that needs no server and no other file."""

import html
import json

from ..errors import BadInput
from ..tasks.interface import Interface
from ..wiring.program import Program
from .c_program import template
from .javascript import function

# The scripts of a page for each kind of interface that has one; each has an `html` of its name.
SCRIPTS = {
    "text": ["text.js"],
    "forecast": ["table.js", "forecast.js"],
    "answers": ["table.js", "answers.js"],
    "audio": ["audio.js"],
}


def page(program: Program, interface: Interface, about: str) -> str:
    """A page that writes, forecasts, labels or plays.

    Args:
        program: the network.
        interface: what its numbers mean; `BadInput` if that is nothing for a page.
        about: where it is from, in a line.
    """
    kind = interface.kind
    if kind not in SCRIPTS:
        raise BadInput(
            "the run gives the numbers of its network, for which there is no page; export it to c, "
            "onnx or torch"
        )
    kept = json.dumps(interface.about).replace("<", "\\u003c")
    code = "\n".join([function(program), f"const about = {kept};", *map(template, SCRIPTS[kind])])
    words = {"TITLE": html.escape(about), "BODY": template(f"{kind}.html"), "CODE": code}
    whole = template("page.html")
    for name, part in words.items():
        whole = whole.replace(f"<!-- {name} -->", part)
    return whole
