"""Runs of each kind of task as training would leave them, made without training."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from ostinato.runs import Config, Run
from ostinato.runs.build import build_learner, build_task, config_of
from ostinato.runs.folder.checkpoints import Checkpoint, Progress
from ostinato.runs.folder.provenance import values_used
from ostinato.runs.network.budget import network_shapes, units_of

TEXT = "the quick brown fox jumps over the lazy dog. " * 40
SENTENCES = "1\tthe\t_\tDET\t_\t_\t_\t_\t_\t_\n2\tdog\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n" * 12
STROKES = json.dumps({"strokes": [[[0, 0], [1, 2], [2, 1]]]}) + "\n"


def table() -> str:
    rows = (f"{np.sin(n / 3):.4f},{n % 7}.5,{'ab'[n % 5 > 2]}" for n in range(120))
    return "\n".join(["x,y,label", *rows]) + "\n"


def save_arrays(path: Path) -> None:
    draw = np.random.default_rng(0)
    np.savez(path, x=draw.normal(size=(30, 5, 2)), y=draw.integers(2, size=30))


def save_pictures(path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 255, (12, 8, 8, 3), np.uint8)
    np.savez(path, images=images, captions=np.array(["a dog", "a cat", "the cat"] * 4))


FILES = {
    "fox.txt": lambda path: path.write_text(TEXT),
    "table.csv": lambda path: path.write_text(table()),
    "arrays.npz": save_arrays,
    "pictures.npz": save_pictures,
    "clips.npy": lambda path: np.save(path, np.zeros((30, 4, 5, 5), np.uint8)),
    "reviews.tsv": lambda path: path.write_text("good\tfine film\nbad\tdull film\n" * 12),
    "pairs.tsv": lambda path: path.write_text("one two\tun deux\nthree\ttrois\n" * 12),
    "en.txt": lambda path: path.write_text("one two\nthree\n" * 12),
    "fr.txt": lambda path: path.write_text("un deux\ntrois\n" * 12),
    "tags.conllu": lambda path: path.write_text(SENTENCES),
    "strokes.jsonl": lambda path: path.write_text(STROKES),
    "lines.txt": lambda path: path.write_text("one three\n"),
    "programs.tsv": lambda path: path.write_text("print(1+2)\t3\n"),
}
SERIES = {"file": "table.csv", "columns": "x,y", "target": "x", "length": 8}
LABELS = SERIES | {"target": "label", "kind": "classification"}
CAPTIONS = {"task": "caption", "file": "pictures.npz", "embedding": 4}
TRANSLATE = {"task": "translate", "source": "en.txt", "target": "fr.txt", "embedding": 4}
# The settings of each kind of run, another file for it, and what it is applied to.
KINDS: dict[str, tuple[dict, str | None, str | None]] = {
    "text": ({"file": "fox.txt", "length": 8}, "fox.txt", None),
    "bytes": ({"file": "fox.txt", "length": 8, "level": "bytes"}, "fox.txt", None),
    "series": (SERIES, "table.csv", "table.csv"),
    "quantiles": (SERIES | {"quantiles": "0.1,0.5,0.9"}, "table.csv", "table.csv"),
    "labels": (LABELS, "table.csv", None),
    "arrays": ({"file": "arrays.npz"}, "arrays.npz", "arrays.npz"),
    "classify": ({"task": "classify", "file": "reviews.tsv"}, "reviews.tsv", "lines.txt"),
    "translate": (TRANSLATE | {"level": "words"}, "pairs.tsv", "lines.txt"),
    "tag": ({"task": "tag", "file": "tags.conllu", "embedding": 4}, "tags.conllu", "tags.conllu"),
    "caption": (CAPTIONS, "pictures.npz", "pictures.npz"),
    "video": (
        {"task": "video", "file": "clips.npy", "frames": 2, "ahead": 2},
        "clips.npy",
        "clips.npy",
    ),
    "handwriting": (
        {"task": "handwriting", "alphabet": "07X", "writers": 4},
        None,
        "strokes.jsonl",
    ),
    "addition": ({"task": "addition", "digits": 2, "embedding": 4}, "programs.tsv", None),
    "recall": ({"task": "recall", "cell": "hopfield", "units": None}, None, None),
    "narma10": ({"task": "narma10", "length": 8}, None, None),
    "adding": ({"task": "adding", "length": 8}, None, None),
}


def drawn(shapes):
    """A network of these shapes with numbers from NumPy, which compiles nothing."""
    random = np.random.default_rng(1)

    def array(x):
        if not isinstance(x, jax.ShapeDtypeStruct):
            return x
        size, inexact = x.shape, jnp.issubdtype(x.dtype, jnp.inexact)
        numbers = random.normal(scale=0.4, size=size) if inexact else np.zeros(size)
        return jax.device_put(numbers.astype(x.dtype))

    return jax.tree.map(array, shapes)


def write_files(folder: Path) -> Path:
    """Write all `FILES` into a folder."""
    for name, write in FILES.items():
        write(folder / name)
    return folder


def untrained(kind: str, files: Path, path: Path):
    """A run with a checkpoint, as training would leave it."""
    settings = dict(KINDS[kind][0])
    for name, value in settings.items():
        settings[name] = str(files / value) if value in FILES else value
    return untrained_run(Config(**{"cell": "gru", "units": 3, "batch": 2, **settings}), path)


def untrained_run(config: Config, path: Path, task=None):
    """The same for any configuration, and a task that is given or made from it."""
    given = [] if task is None else ["task"]
    config = config if task is None else config_of(config, task)
    task = build_task(config) if task is None else task
    learner, units = build_learner(config, task), units_of(config, task)
    network = drawn(network_shapes(config, task, units))
    used = values_used(config, task, learner, units)
    path.mkdir()
    run = Run.create(path, config, task, network, used, given, learner)
    run.save(Checkpoint(network, learner.initial(network), None), Progress(1, 1.0, 1))
    return run.with_artefacts(task.after_training(lambda: network))
