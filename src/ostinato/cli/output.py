"""Standard output: one JSON document, or text that any terminal, file or pipe can take."""

import codecs
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any, TextIO

from ..errors import BadInput
from .compiled import DAMAGED, forget_compiled
from .progress import aside

if TYPE_CHECKING:
    from rich.console import Console

    from ..report.page import Table

WIDE = 120  # characters, for all columns of a table
LONGEST = 2000  # characters of an error message; the names of all claims fit


class Closed(Exception):
    """The reader of standard output has closed the pipe."""


def mend_streams() -> bool:
    """Make the standard streams safe to write to, and return whether there is a standard output.

    A closed stream (`>&-`) is replaced by the null device; otherwise the next file that is opened
    would get its number, and with it everything that libraries print. Characters that a stream
    cannot encode are escaped; undecodable bytes of a path are written unchanged.
    """
    present = sys.stdout is not None
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    codecs.register_error("ostinato", _escaped)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="ostinato")
    return present


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one line on standard error, without its location in the code."""
    if DAMAGED in str(message):
        forget_compiled()  # it is compiled anew, which is all that the user could do about it
        return
    with aside():
        print(f"ostinato: warning: {one_line(message)}", file=sys.stderr)


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


@contextmanager
def writing() -> Iterator[None]:
    """A context for writing to standard output: flushes, and turns failures into clear errors.

    Example:
        >>> with writing():
        ...     print("text")
        text
    """
    try:
        with aside():
            yield
            sys.stdout.flush()
    except BrokenPipeError:
        raise Closed from None
    except SystemExit:  # rich exits like this if the pipe is closed
        raise Closed from None
    except OSError as error:
        let_go()
        raise BadInput(f"cannot write to standard output: {error.strerror}") from None


_alone: list[TextIO] = []  # standard output, while only JSON may go there


@contextmanager
def json_alone() -> Iterator[None]:
    """A context in which only `print_json` writes to standard output.

    Whatever else is printed, as by classes of one's own, goes to standard error.
    """
    _alone.append(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _alone.pop()


def print_json(document: Any, indent: int | None = None) -> None:
    """Print one JSON document to standard output."""
    with redirect_stdout(_alone[-1] if _alone else sys.stdout), writing():
        print(json.dumps(document, indent=indent, allow_nan=False))


def answer(
    document: Any, show: Callable[[], None], as_json: bool, indent: int | None = None
) -> None:
    """Print a JSON document, or show the same in words."""
    if as_json:
        print_json(document, indent)
    else:
        with writing():
            show()


def show_table(console: "Console", table: "Table", left_out: tuple[str, ...] = ()) -> None:
    """Print a table of a page, with its caption below it.

    Args:
        console: where to.
        table: of a page.
        left_out: columns that a narrow terminal does not show.
    """
    from rich.box import SIMPLE_HEAD  # late, because help does without it
    from rich.table import Table as RichTable
    from rich.text import Text

    kept = [i for i, x in enumerate(table.columns) if console.width >= WIDE or x not in left_out]
    console.print(Text(table.heading, style="bold"))
    shown = RichTable(box=SIMPLE_HEAD, pad_edge=False)
    for i in kept:
        shown.add_column(table.columns[i], justify="right" if i else "left", overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(row[i]) for i in kept))
    console.print(shown)
    if table.caption:
        console.print(Text(table.caption, style="dim"))
    console.print()


def let_go() -> None:
    """Redirect standard output to the null device, so that Python can flush it at exit."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):  # a stream without a file
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)


def escaped(words: str, kept: str = "") -> str:
    """The words with control characters escaped, but for those that are kept.

    Example:
        >>> escaped("a\\tb\\n", kept="\\n")
        'a\\\\tb\\n'
    """
    return "".join(
        c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in words
    )


def one_line(words: object) -> str:
    """A message on one line: control characters are escaped, and a long one is shortened."""
    line = escaped(str(words))
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}"
