"""A network as one HTML page that needs no server and no other file."""

import html
import json

from ..errors import BadInput
from ..tasks.interface import Interface
from ..wiring.program import Program
from .c_program import template
from .javascript import function

KINDS = ("text", "forecast", "audio")  # of interfaces, each with templates of its own


def page(program: Program, interface: Interface, about: str) -> str:
    """A page that writes, forecasts or plays.

    Args:
        program: the network.
        interface: what its numbers mean; `BadInput` if that is nothing for a page.
        about: where it is from, in a line.
    """
    kind = interface.kind
    if kind not in KINDS:
        what = "the numbers of its network" if kind == "raw" else "labels or numbers"
        raise BadInput(
            f"the run gives {what}, for which there is no page; export it to c, onnx or torch"
        )
    kept = json.dumps(interface.about).replace("<", "\\u003c")
    code = "\n".join([function(program), f"const about = {kept};", template(f"{kind}.js")])
    words = {"TITLE": html.escape(about), "BODY": template(f"{kind}.html"), "CODE": code}
    whole = template("page.html")
    for name, part in words.items():
        whole = whole.replace(f"<!-- {name} -->", part)
    return whole
