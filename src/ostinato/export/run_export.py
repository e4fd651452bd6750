"""What leaves Ostinato: the network of a run in another form, with what its numbers mean."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput
from ..files import write_whole
from ..runs import Run
from ..settings import shown
from ..tasks.interface import Interface
from . import c, c_program, html
from .program import Program, trace


class Exported(NamedTuple):
    """A trained network on its way out.

    Attributes:
        name: with which files and names in code begin.
        program: its step.
        interface: what its numbers mean.
        about: where it is from, in a line.
    """

    name: str
    program: Program
    interface: Interface
    about: str


class Target(NamedTuple):
    """A form in which a network can leave.

    Attributes:
        help: what it is, in a few words.
        files: the content of each file, by its suffix.
    """

    help: str
    files: Callable[[Exported, int], dict[str, str]]


def _c(made: Exported, bits: int) -> dict[str, str]:
    code = c.header(made.program, made.name, bits)
    return {
        ".h": f"/* {made.about.replace('*/', '* /')} */\n{code}",
        ".c": c_program.main(template(f"{made.interface.kind}.c"), made.interface, made.name),
    }


def _html(made: Exported, bits: int) -> dict[str, str]:
    if bits != 32:
        raise BadInput("a page has weights of 32 bits; leave out --bits, or export to c")
    parts = {name: template(f"{made.interface.kind}.{name}") for name in ("html", "js")}
    frame = template("page.html")
    return {".html": html.page(frame, parts, made.program, made.interface, made.about)}


TARGETS = {
    "c": Target("a C99 header, and a program that uses it", _c),
    "html": Target("one page that runs in any browser", _html),
}


def template(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")


def export_run(run: Run, to: str, path: Path | None = None, *, bits: int = 32) -> list[Path]:
    """Write the network of a run in another form.

    Args:
        run: a trained run; see `open_run`. Its data are not needed.
        to: a name in `TARGETS`.
        path: where to write, without a suffix: `model` becomes `model.h` and `model.c`. The name of
            the run's folder by default. A file that exists is not overwritten.
        bits: of a weight: 32, or in C also 8.

    Returns:
        The files that were written.
    """
    if to not in TARGETS:
        raise BadInput(f"--to is one of {', '.join(TARGETS)}, got {shown(to)}")
    path = Path(_as_name(run.path.name)) if path is None else path
    name = _as_name(path.name)
    task = run.config.task
    interface = task.kind.interface(task.settings, run.artefacts)
    step, network = run.saved()
    program = trace(network, run.sizes.inputs)
    made = Exported(name, program, interface, f"{run.path.name}, step {step}: {task}")
    texts = TARGETS[to].files(made, bits)
    written = {path.with_name(path.name + end): text for end, text in texts.items()}
    for file in written:
        if file.exists():
            raise BadInput(f"{file} exists; choose another --out, or remove it")
        if not file.parent.is_dir():
            raise BadInput(f"{file} cannot be written: there is no folder {file.parent}")
    for file, text in written.items():
        write_whole(file, text.encode())
    return [*written]


def _as_name(words: str) -> str:
    """A name that code can begin with."""
    plain = "".join(x if x.isascii() and (x.isalnum() or x == "_") else "_" for x in words)
    return plain if plain[:1].isalpha() else f"net_{plain}"
