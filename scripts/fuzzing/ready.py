"""Runs that are trained once and then copied for each case, and what a folder holds."""

import hashlib
import os
import shutil
import stat
import warnings
from pathlib import Path

from .outcomes import Case

TEXT = "the quick brown fox jumps over the lazy dog. " * 40
SMALL = {"units": 4, "batch": 3, "length": 8}
OFTEN = {"steps": 2, "checkpoint_every": 1, "validate_every": 1}

# The settings of each; `fox.txt` is put in where there is a file.
RUNS: dict[str, dict] = {
    "text": {"file": "", **SMALL, **OFTEN},
    "bytes": {"file": "", "level": "bytes", **SMALL, **OFTEN},
    "adding": {"task": "adding", "cell": "lstm", **SMALL, **OFTEN},
    "stacked": {"file": "", "cell": "lstm", "layers": 2, "dropout": 0.2, **SMALL, **OFTEN},
    "diverged": {"file": "", "rate": 1e30, "clip": "off", **SMALL, **OFTEN, "steps": 9},
    "bare": {"file": "", **SMALL, **OFTEN},  # without a checkpoint
}


def fox(scratch: Path) -> Path:
    """A small text."""
    path = scratch / "fox.txt"
    if not path.exists():
        path.write_text(TEXT)
    return path


def ready(name: str, scratch: Path) -> Path:
    """A run that was trained as `RUNS` says, to be copied and not touched."""
    from ostinato.runs import Config, Diverged, train

    path = scratch / "ready" / name
    if not path.exists():
        settings = dict(RUNS[name])
        if "file" in settings:
            settings["file"] = str(fox(scratch))
        beside = path.with_name(f"{name}.unfinished")
        shutil.rmtree(beside, ignore_errors=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                train(Config(**settings), beside)
                diverged = False
            except Diverged:
                diverged = True
        if diverged != (name == "diverged"):
            raise RuntimeError(f"the ready run {name} is not what it should be")
        if name == "bare":
            shutil.rmtree(beside / "checkpoints")
        beside.rename(path)
    return path


def copied(case: Case, name: str) -> Path:
    """A copy of a ready run in the case's folder, relative to it."""
    target = case.folder / name
    if not target.exists():
        shutil.copytree(ready(name, case.scratch), target)
    return Path(name)


def content(folder: Path) -> dict[str, str]:
    """What lies in a folder: every name with its kind, and what is in it; no link is followed."""
    found = {}
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(here, name)
            found[os.path.relpath(path, folder)] = _content(path)
    return found


def _content(path: str) -> str:
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return f"link to {os.readlink(path)!r}"
    if not stat.S_ISREG(status.st_mode):
        return f"kind {stat.S_IFMT(status.st_mode)}"
    with open(path, "rb") as file:  # of a sparse file the beginning is enough
        return f"{status.st_size} {hashlib.sha256(file.read(1 << 22)).hexdigest()}"


def changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The names of what was there before and is no longer so."""
    return [name for name, what in before.items() if after.get(name) != what]


def added(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return sorted(after.keys() - before.keys())
