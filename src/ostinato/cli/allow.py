"""`ostinato allow`: let run folders name a file of code."""

from pathlib import Path
from typing import Annotated

from typer import Argument

from ..runs.config.permission import allow as allow_file
from .arguments import Json, path
from .output import answer


def allow(
    file: Annotated[
        Path, Argument(help="the file with the code, which you have read", parser=path)
    ],
    as_json: Json = False,
) -> None:
    """Allow run folders to name a file of Python code, as it is now.

    A run folder may come from someone else, so opening it runs no code of its own accord. A file
    that you train with is allowed already. A file that has changed must be allowed again. The
    modules that it imports run with it, so look at them too.

    Examples:
        ostinato allow mine.py
    """
    allowed = allow_file(file)
    answer({"allowed": str(allowed)}, lambda: print(f"allowed: {allowed}"), as_json)
