"""What leaves Ostinato: the network of a run in another form, with what its numbers mean."""

import dataclasses
import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from safetensors.numpy import save

from ..cells import Model
from ..errors import BadInput
from ..files import write_new
from ..runs import Run
from ..settings import shown
from ..tasks.interface import Interface
from ..wiring import to_rtneural
from ..wiring.program import Program, trace
from . import c, folder, programs, torch
from .onnx import to_onnx

RAW = "Numbers go in and come out as the network has them; its task does not say what they mean."


@dataclasses.dataclass(frozen=True)
class Exported:
    """A trained network on its way out.

    Attributes:
        file: with which the names of files begin.
        run: the run that it is from.
        step: the training steps that it had done.
        network: the trained network.
        licence: of its weights.
    """

    file: str
    run: Run
    step: int
    network: Model
    licence: str | None = None

    @property
    def name(self) -> str:
        """With which names in code begin."""
        return _as_name(self.file)

    @property
    def inputs(self) -> int:
        """The size of an input vector."""
        return self.run.sizes.inputs

    @property
    def about(self) -> str:
        """Where it is from, in a line."""
        return f"{self.run.path.name}, step {self.step}: {self.run.config.task}"

    @functools.cached_property
    def interface(self) -> Interface:
        """What its numbers mean."""
        task = self.run.config.task
        return task.kind.interface(task.settings, self.run.artefacts)

    @functools.cached_property
    def program(self) -> Program:
        """Its step, if it has one."""
        return trace(self.network, self.inputs)


class Target(NamedTuple):
    """A form in which a network can leave.

    Attributes:
        help: what it is, in a few words.
        files: the content of each file, by what is put behind the name: `.h`, `-step.onnx`, or
            `/config.json` for a file in a folder.
        ends: how the names of its files end.
        bits: of a weight that it can have.
    """

    help: str
    files: Callable[[Exported, int], dict[str, str | bytes]]
    ends: tuple[str, ...]
    bits: tuple[int, ...] = (32,)


def _c(made: Exported, bits: int) -> dict[str, str | bytes]:
    raw = made.interface.kind == "raw"
    about = f"{made.about}\n   {RAW}" if raw else made.about
    made.interface.check_plain()
    code = c.header(made.program, made.name, bits)
    files: dict[str, str | bytes] = {".h": f"/* {programs.comment(about)} */\n{code}"}
    if not raw:
        files[".c"] = programs.main(made.interface, made.name, made.file)
    return files


def _html(made: Exported, bits: int) -> dict[str, str | bytes]:
    made.interface.check_plain()
    return {".html": programs.page(made.program, made.interface, made.about)}


def _rtneural(made: Exported, bits: int) -> dict[str, str | bytes]:
    kind, about = made.interface
    content = to_rtneural(made.network)
    if kind == "audio":
        content |= {"samplerate": about["rate"], "in_skip": int(about["residual"])}
    kept = {"about": made.about, "interface": made.interface._asdict()}
    return {".json": json.dumps(content | {"metadata": kept})}


def _folder(made: Exported, bits: int) -> dict[str, str | bytes]:
    return folder.files(made.run, made.step, made.network, made.licence)


def _onnx(made: Exported, bits: int) -> dict[str, str | bytes]:
    about = {"about": made.about, "interface": json.dumps(made.interface._asdict())}
    files: dict[str, str | bytes] = {".onnx": to_onnx(made.network, made.inputs, about=about)}
    if made.network.can_step:
        step = to_onnx(made.network, made.inputs, step=True, about=about)
        files["-step.onnx"] = step
    return files


def _torch(made: Exported, bits: int) -> dict[str, str | bytes]:
    if made.file in {*sys.stdlib_module_names, "torch", "safetensors", "numpy"}:
        raise BadInput(f"a file {made.file}.py would stand in the way of the module {made.file}")
    if made.network.can_step:
        source, numbers = torch.module(made.program, made.about)
    else:
        source, numbers = torch.modules(made.network, made.about)
    about = {"interface": json.dumps(made.interface._asdict())}
    return {".py": source, ".safetensors": save(numbers, about)}


TARGETS = {
    "c": Target("a C99 header, and a program that uses it", _c, (".h", ".c"), bits=(32, 8)),
    "html": Target("one page that runs in any browser", _html, (".html",)),
    "torch": Target(
        "a module of torch as source, and its weights", _torch, (".py", ".safetensors")
    ),
    "onnx": Target("an ONNX model of a sequence, and one of a step", _onnx, (".onnx",)),
    "rtneural": Target("the JSON that audio plug-ins load with RTNeural", _rtneural, (".json",)),
    "folder": Target("a run folder to give away, without the data", _folder, ()),
}


def export_run(
    run: Run, to: str, path: Path | None = None, *, bits: int = 32, licence: str | None = None
) -> list[Path]:
    """Write the network of a run in another form.

    Args:
        run: a trained run; see `open_run`. Its data are not needed.
        to: a name in `TARGETS`.
        path: where to write: `model`, or `model.c`, becomes `model.h` and `model.c`. The name of
            the run's folder by default. Nothing that exists is overwritten, and either all files
            are written or none.
        bits: of a weight: 32, or in C also 8.
        licence: of the weights, a line for the card of a folder.

    Returns:
        The files that were written.
    """
    if to not in TARGETS:
        raise BadInput(f"--to is one of {', '.join(TARGETS)}, got {shown(to)}")
    target = TARGETS[to]
    if bits not in target.bits:
        others = ", ".join(name for name, other in TARGETS.items() if bits in other.bits)
        instead = f"; {bits} bits are for {others}" if others else ""
        wanted = " or ".join(map(str, target.bits))
        raise BadInput(f"--to {to} has weights of {wanted} bits, got {bits}{instead}")
    if licence is not None and (to != "folder" or not licence.strip() or not licence.isprintable()):
        raise BadInput(f"--licence is a line for the card of --to folder, got {shown(licence)}")
    path = Path(_as_name(run.path.name)) if path is None else path
    path = path.with_suffix("") if path.suffix in target.ends else path
    if path.name in ("", "..") or not path.name.isprintable() or {*path.name} & {*'"\\'}:
        raise BadInput(f"--out is where to write, with a name; got {shown(str(path))}")
    if not path.parent.is_dir():
        raise BadInput(f"{path} cannot be written: there is no folder {path.parent}")
    contents = target.files(Exported(path.name, run, *run.saved(), licence), bits)
    written = {
        path.name + end: content.encode() if isinstance(content, str) else content
        for end, content in contents.items()
    }
    write_new(path.parent, written)
    return [path.parent / name for name in written]


def _as_name(words: str) -> str:
    """A name that code can begin with."""
    plain = "".join(x if x.isascii() and (x.isalnum() or x == "_") else "_" for x in words)
    return plain if plain[:1].isalpha() else f"net_{plain}"
