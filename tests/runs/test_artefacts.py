"""Artefacts of wrong types in a folder whose checksum is right: they work, or get one line.

Every value in the JSON of a run, at every place, is replaced by values of other types; then the run
is opened, and its network, its task and its answers are asked for. Nothing is trained.
"""

import copy
import json
import random
import warnings
from pathlib import Path

import numpy as np
import pytest

from ostinato.decoding.text import opening
from ostinato.errors import BadInput
from ostinato.runs import Config, look_inside, open_run
from ostinato.runs.build import build_learner, build_network, build_task
from ostinato.runs.folder.checkpoints import Checkpoint, Progress
from ostinato.runs.folder.manifest import _checksum
from ostinato.runs.folder.provenance import values_used
from ostinato.runs.folder.run import create_run
from ostinato.runs.network.budget import units_of
from ostinato.tasks.applying import ApplyOptions

TEXT = "the quick brown fox jumps over the lazy dog. " * 40
SENTENCES = "1\tthe\t_\tDET\t_\t_\t_\t_\t_\t_\n2\tdog\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n" * 12
STROKES = json.dumps({"strokes": [[[0, 0], [1, 2], [2, 1]]]}) + "\n"
OTHERS = (None, True, "x", "", 3, 0, -1, 1.5, 1e300, float("nan"), float("inf"), 2**40, 10**30)
OTHERS += ([], [None], ["x"], [3, 4], [[1]], {}, {"x": 1}, {"level": []})


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
    "arrays": ({"file": "arrays.npz"}, "arrays.npz", None),
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


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, write in FILES.items():
        write(folder / name)
    return folder


def untrained(kind: str, files: Path, path: Path):
    """A run with a checkpoint, as training would leave it."""
    settings = dict(KINDS[kind][0])
    for name, value in settings.items():
        settings[name] = str(files / value) if value in FILES else value
    config = Config(**{"cell": "gru", "units": 3, "batch": 2, **settings})
    task = build_task(config)
    learner, units = build_learner(config, task), units_of(config, task)
    network = build_network(config, task, units)
    used = values_used(config, task, learner, units)
    path.mkdir()
    run = create_run(path, config, task, network, used, [], learner)
    run.save(Checkpoint(network, learner.initial(network), None), Progress(1, 1.0, 1))
    return run


def places(value, path=()):
    """The path of every value within JSON; of a long list, its ends."""
    yield path
    if isinstance(value, dict):
        for name, x in value.items():
            yield from places(x, (*path, name))
    elif isinstance(value, list):
        for n in sorted({0, len(value) - 1} & set(range(len(value)))):
            yield from places(value[n], (*path, n))


def changes(document):
    """All copies of a document in which one value has another type, or is missing."""
    for path in [*places(document)][1:]:
        for other in (*OTHERS, KeyError):
            found = copy.deepcopy(document)
            part = found
            for key in path[:-1]:
                part = part[key]
            if other is KeyError:
                del part[path[-1]]
            elif type(part[path[-1]]) is type(other) and part[path[-1]] == other:
                continue
            else:
                part[path[-1]] = other
            yield f"{'.'.join(map(str, path))} = {other!r}", found


def use(path: Path, kind: str, files: Path, apply: bool) -> None:
    """Open a run, and do with it whatever needs its artefacts."""
    _, other, given = KINDS[kind]
    run = open_run(path)
    with run.precision():
        network = run.network()
        for make in (run.task, *([lambda: run.task_on(files / other)] if other else [])):
            task = make()
            next(iter(task.evaluated("test")), None)
            task.baselines(), task.metrics, task.yardsticks("test")
        if run.vocabulary is not None:
            opening(run.vocabulary), run.vocabulary.encode("the")
        if apply and given is not None:
            how = ApplyOptions(files / given, run.config.task.settings, run.artefacts, beam=1)
            next(iter(run.config.task.kind.apply(network, how)))
        if apply and kind in ("text", "bytes", "tag"):
            look_inside(run, "the dog", limit=8).pieces(0, 2)
    run.events(), run.units, run.name, run.config.flat()


def judged(path: Path, kind: str, files: Path, apply: bool) -> str | None:
    """What is wrong with how a run was taken or refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(path, kind, files, apply)
    except BadInput as error:
        return f"{error!r}, in several lines" if "\n" in str(error) else None
    except Exception as error:
        return repr(error)[:150]
    return None


def attacked(kind: str, files: Path, path: Path, count: int | None, apply: bool) -> list[str]:
    """The changes that got through, of `count` drawn at random or of all."""
    untrained(kind, files, path)
    assert judged(path, kind, files, apply) is None
    model = json.loads((path / "model.json").read_bytes())
    model.pop("sha256")
    found = []
    every = [*changes(model)]
    for words, changed in every if count is None else random.Random(kind).sample(every, count):
        if isinstance(changed.get("format"), int):
            changed["sha256"] = _checksum(changed)
        (path / "model.json").write_text(json.dumps(changed))
        if wrong := judged(path, kind, files, apply):
            found.append(f"{words}: {wrong}")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_types_with_a_right_checksum(kind, files, tmp_path):
    assert attacked(kind, files, tmp_path / "run", 8, apply=False) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_wrong_type_with_a_right_checksum(kind, files, tmp_path):
    assert attacked(kind, files, tmp_path / "run", None, apply=True) == []


def test_what_a_folder_says_is_shown_short(files, tmp_path):
    """A number of a thousand digits or an unknown name makes no long line."""
    untrained("text", files, tmp_path / "run")
    model = json.loads((tmp_path / "run" / "model.json").read_bytes())
    model.pop("sha256")
    for place, value in (("sizes", "inputs"), ("made", "network")):
        changed = copy.deepcopy(model)
        part = changed[place] if value == "inputs" else changed[place][value]
        part["inputs" if value == "inputs" else "encoding"] = 10**1000
        changed["sha256"] = _checksum(changed)
        (tmp_path / "run" / "model.json").write_text(json.dumps(changed))
        with pytest.raises(BadInput, match=r"1001 digits|int` <= 2147483647") as found:
            open_run(tmp_path / "run").network()
        assert len(str(found.value)) < 400
    model["made"]["config"]["task"]["name"] = "nothing"
    with pytest.raises(BadInput, match="no task 'nothing' in this version") as found:
        Config.from_json(model["made"]["config"])
    assert len(str(found.value)) < 100
