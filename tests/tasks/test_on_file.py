"""A task on another file is the same task: what it measures and how it is set do not change."""

import json
from pathlib import Path

import numpy as np
import pytest

from ostinato.data.wav import Sound, wav_bytes
from ostinato.metrics import NormalisedError
from ostinato.tasks import TASKS, Task
from ostinato.tasks.metrics import ExactMatch

RNG = np.random.default_rng(0)
OTHER = {"seed", "chance", "where"}  # of the data, or of the run's own training


def pairs(folder: Path) -> dict:
    sources = [f"{n} {n + 1} {n % 3}" for n in range(60)]
    targets = [f"{n + 1} {n}" for n in range(60)]
    for name, lines in (("one", sources), ("two", targets)):
        (folder / name).write_text("\n".join(lines))
    lines = [f"{a}\t{b}" for a, b in zip(sources, targets, strict=True)]
    (folder / "file").write_text("\n".join(lines))
    return {"source": str(folder / "one"), "target": str(folder / "two")}


def table(folder: Path) -> dict:
    rows = RNG.normal(size=(200, 3))
    lines = ["a,b,c,who", *(f"{a},{b},{c},{n // 20}" for n, (a, b, c) in enumerate(rows))]
    (folder / "file.csv").write_text("\n".join(lines))
    return {"file": str(folder / "file.csv")}


def text(folder: Path) -> dict:
    (folder / "file").write_text("a text of a few words " * 30)
    return {"file": str(folder / "file")}


def captions(folder: Path) -> dict:
    images = RNG.integers(0, 256, (30, 8, 8, 3)).astype(np.uint8)
    words = np.array([f"a {'red' if n % 2 else 'blue'} dot" for n in range(30)])
    np.savez(folder / "file.npz", images=images, captions=words)
    return {"file": str(folder / "file.npz")}


def clips(folder: Path) -> dict:
    films = RNG.integers(0, 256, (30, 5, 6, 6)).astype(np.uint8)
    np.savez(folder / "file.npz", clips=films, captions=["it moves", "it stays"] * 15)
    return {"file": str(folder / "file.npz")}


def conllu(folder: Path) -> dict:
    rows = [("Time", "NOUN"), ("flies", "VERB")]
    sentence = "".join(
        f"{n}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n" for n, (word, tag) in enumerate(rows, 1)
    )
    (folder / "file").write_text(f"{sentence}\n" * 20)
    return {"file": str(folder / "file")}


def labelled(folder: Path) -> dict:
    (folder / "file").write_text("yes\tit is good\nno\tit is not good\n" * 20)
    return {"file": str(folder / "file")}


def patterns(folder: Path) -> dict:
    np.save(folder / "file.npy", 2 * RNG.integers(0, 2, (6, 35)) - 1)
    return {"file": str(folder / "file.npy")}


def programs(folder: Path) -> dict:
    (folder / "file").write_text("print((12+34))\t46\nprint((5+6))\t11\n")
    return {}


def numbers(folder: Path) -> dict:
    pairs(folder)
    return {}


def waves(folder: Path) -> dict:
    np.save(folder / "file.npy", np.sin(np.arange(400) / 5))
    return {}


def sounds(folder: Path) -> dict:
    both = RNG.uniform(-1, 1, (400, 2))
    for name, channels in (("dry.wav", [0]), ("wet.wav", [1]), ("file.wav", [0, 1])):
        (folder / name).write_bytes(wav_bytes(Sound(8000, both[:, channels])))
    return {"source": str(folder / "dry.wav"), "target": str(folder / "wet.wav")}


PAIRS = {"attention": "none", "tied": True, "smoothing": 0.1, "sampling": 0.5, "sampling_steps": 3}
SERIES = {"length": 7, "carry": False, "washout": 3, "missing": "mask"}
CASES = {
    "text": ("text", text, {"length": 7, "carry": False}),
    "translate": ("translate", pairs, {"level": "words", "reverse": True, **PAIRS}),
    "numbers": ("translate", numbers, {"pairs": "dates"}),
    "caption": ("caption", captions, {"attention": "none", "tied": True, "shift": 2}),
    "video": ("video", clips, {"learn": "predict", "frames": 3, "ahead": 2, "conditional": True}),
    "video-caption": ("video-caption", clips, {"attention": "none", "convolutions": False}),
    "tag": ("tag", conllu, {"unknown": 0.5, "spelling": 3, "min_count": 2}),
    "classify": ("classify", labelled, {"level": "characters", "length": 5}),
    "forecasts": ("series", table, {"target": "a", "horizon": 2, "season": 4, **SERIES}),
    "quantiles": ("series", table, {"quantiles": "0.1,0.5", "scale": False, **SERIES}),
    "regression": ("series", table, {"target": "a", "kind": "regression", **SERIES}),
    "arrays": ("arrays", table, {"sequence": "who", "target": "a", "length": 5, "scale": False}),
    "execute": ("execute", programs, {"backwards": True, **PAIRS}),
    "addition": ("addition", programs, {"digits": 4}),
    "recall": ("recall", patterns, {"noise": 0.2, "length": 4}),
    "letters": ("recall", patterns, {"letters": True}),
    "audio": ("audio", sounds, {"length": 9, "washout": 3, "residual": True, "carry": False}),
    "mackey-glass": ("mackey-glass", waves, {"samples": 500, "washout": 20, "length": 9}),
}


def made(name: str, folder: Path) -> tuple[Task, Task]:
    """A task, and the same on a file."""
    task, write, given = CASES[name]
    kind = TASKS[task]
    settings = kind.Settings(**write(folder), **given)
    own = kind.from_settings(settings, 0)
    (path,) = folder.glob("file*")
    return own, kind.on_file(path, settings, json.loads(json.dumps(own.artefacts())))


def plain(task: Task) -> dict:
    """The settings that a task keeps."""
    kept = (bool, int, float, str, type(None))
    found = {
        name: value
        for name, value in vars(task).items()
        if isinstance(value, kept) and name not in OTHER and not name.startswith("_")
    }
    words = {"quantiles": getattr(task, "quantiles", None), "model": task.model}
    words |= {"pairing": getattr(task, "pairing", None)}
    return found | words | {"name": task.name}


@pytest.mark.parametrize("name", CASES)
def test_a_task_on_another_file_drops_nothing(name, tmp_path):
    own, other = made(name, tmp_path)
    assert other.metrics == own.metrics
    assert other.loss == own.loss
    assert (other.inputs, other.outputs, other.symbolic) == (
        own.inputs,
        own.outputs,
        own.symbolic,
    )
    assert other.model == own.model
    one, two = plain(own), plain(other)
    # The longest sequence is that of the data; what a run generates alone has no counterpart.
    free = {"length", "longest", "sizes"} if name in ("numbers", "execute", "addition") else set()
    for key in (one.keys() & two.keys()) - free:
        assert two[key] == one[key], key
    assert {m.name for m in own.metrics} == {m.name for m in other.metrics}


def test_what_is_reported_first_stays_first(tmp_path):
    """An exact match of generated pairs, and an NRMSE of generated series."""
    for name, kind in (("numbers", ExactMatch), ("mackey-glass", NormalisedError)):
        folder = tmp_path / name
        folder.mkdir()
        own, other = made(name, folder)
        assert isinstance(own.metric, kind) and isinstance(other.metric, kind)
