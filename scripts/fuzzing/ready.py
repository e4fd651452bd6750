"""Runs that are trained once and then copied for each case, and what a folder holds."""

import hashlib
import os
import shutil
import stat
import warnings
from pathlib import Path

import numpy as np

from ostinato.data.wav import Sound, wav_bytes

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

# A run of each kind of task that keeps something of its data; a file is one of `FILES`.
_SERIES = {"file": "table.csv", "columns": "x,y", "target": "x", **SMALL, **OFTEN}
_PAIRS = {"cell": "gru", "units": 3, "batch": 2, "embedding": 4, **OFTEN}
KINDS: dict[str, dict] = {
    "text": RUNS["text"],
    "bytes": RUNS["bytes"],
    "series": _SERIES,
    "known": _SERIES | {"known": "y"},
    "quantiles": _SERIES | {"quantiles": "0.1,0.5,0.9"},
    "labels": _SERIES | {"target": "label", "kind": "classification"},
    "arrays": {"file": "arrays.npz", "cell": "gru", "units": 3, "batch": 2, **OFTEN},
    "classify": {"task": "classify", "file": "reviews.tsv", "units": 3, "batch": 2, **OFTEN},
    "translate": {
        "task": "translate",
        "source": "en.txt",
        "target": "fr.txt",
        "level": "words",
        **_PAIRS,
    },
    "dialogue": {"task": "dialogue", "file": "turns.txt", "level": "words", **_PAIRS},
    "tag": {"task": "tag", "file": "tags.conllu", **_PAIRS},
    "audio": {"task": "audio", "file": "pair.wav", "washout": 2, **SMALL, **OFTEN},
    "adding": RUNS["adding"],
}
TABLE = "x,y,label\n" + "".join(f"{n % 11}.5,{n % 7}.25,{'ab'[n % 5 > 2]}\n" for n in range(120))
WORD = "{}\t{}\t_\t{}\t_\t_\t_\t_\t_\t_\n"
FILES = {
    "fox.txt": TEXT,
    "table.csv": TABLE,
    "reviews.tsv": "good\tfine film\nbad\tdull film\n" * 12,
    "pairs.tsv": "one two\tun deux\nthree\ttrois\n" * 12,
    "turns.txt": "who are you\na fox\n\nwhat do you do\njump\nover what\na dog\n\n" * 12,
    "en.txt": "one two\nthree\n" * 12,
    "fr.txt": "un deux\ntrois\n" * 12,
    "tags.conllu": (WORD.format(1, "the", "DET") + WORD.format(2, "dog", "NOUN") + "\n") * 12,
}


def given(kind: str, scratch: Path) -> Path | None:
    """Another file for a run of a kind, such as the one that it was trained on, if it reads any."""
    name = "pairs.tsv" if kind == "translate" else KINDS[kind].get("file")
    return None if name is None else made(name or "fox.txt", scratch)


def made(name: str, scratch: Path) -> Path:
    """One of the files, written if it is not there yet."""
    path = scratch / name
    if not path.exists() and name in FILES:
        path.write_text(FILES[name])
    elif not path.exists() and path.suffix == ".wav":
        noise = np.random.default_rng(0).uniform(-1, 1, (200, 2))
        path.write_bytes(wav_bytes(Sound(8000, noise)))
    elif not path.exists():
        draw = np.random.default_rng(0)
        np.savez(path, x=draw.normal(size=(30, 5, 2)), y=draw.integers(2, size=30))
    return path


def fox(scratch: Path) -> Path:
    """A small text."""
    return made("fox.txt", scratch)


def ready(name: str, scratch: Path) -> Path:
    """A run that was trained as `RUNS` or `KINDS` says, to be copied and not touched."""
    from ostinato.runs import Config, Diverged, train

    path = scratch / "ready" / name
    if not path.exists():
        settings = dict({**KINDS, **RUNS}[name])
        for key in ("file", "source", "target"):
            if settings.get(key, None) in ("", *FILES, "arrays.npz", "pair.wav"):
                settings[key] = str(made(settings[key] or "fox.txt", scratch))
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
    contents = {}
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(here, name)
            contents[os.path.relpath(path, folder)] = _content(path)
    return contents


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


def differing(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The names of what is not as it was, or is new."""
    return changed(before, after) + added(before, after)
