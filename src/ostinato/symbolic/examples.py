"""Programs that come with the package, and programs in files."""

import difflib
import os
from importlib.resources import files

from ..data.lines import read_utf8
from ..errors import BadInput
from .language import Program, parse

# The result of each, for tables: the variable that holds it.
EXAMPLES = {
    "addition": "sum",
    "multiplication": "product",
    "gcd": "gcd",
    "fibonacci": "f",
    "prime": "prime",
}


def example_text(name: str) -> str:
    """The text of an example."""
    return (files(__package__) / "programs" / f"{name}.txt").read_text(encoding="utf-8")


def load_program(path: str | os.PathLike) -> Program:
    """The program in a file, or the example of this name if there is no such file.

    Example:
        >>> load_program("gcd").variables
        ('a', 'b', 'smaller', 'gcd')
    """
    name = os.fspath(path)
    if name in EXAMPLES and not os.path.exists(name):
        return parse(example_text(name), name)
    if not os.path.lexists(name) and os.path.basename(name) == name and "." not in name:
        near = difflib.get_close_matches(name, EXAMPLES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the examples are {', '.join(EXAMPLES)}"
        raise BadInput(f"there is no file or example {name}; {hint}")
    return parse(read_utf8(name, "program"), name)
