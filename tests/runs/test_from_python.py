"""A run of one of our tasks that was made in Python is a full run: it knows its task and data."""

import json

import jax
import numpy as np
import pandas
import pytest

from ostinato.data import Vocabulary
from ostinato.errors import BadInput
from ostinato.report import run_page
from ostinato.runs import Config, evaluate, open_run, train
from ostinato.runs.build import build_task, config_of
from ostinato.runs.folder import kept_data
from ostinato.runs.folder.kept_data import CannotKeep, keep_data, kept_task
from ostinato.tasks import (
    TASKS,
    Adding,
    Arrays,
    Captions,
    Classify,
    MackeyGlass,
    Series,
    Tagging,
    Text,
    Video,
)
from ostinato.weights import trained
from untrained import untrained_run


def frame():
    """Two shops with dates, a price that is known ahead, and words."""
    days = pandas.date_range("2024-01-01", periods=60)
    rows = {"shop": ["a", "b"] * 60, "day": np.repeat(days, 2), "price": np.arange(120) % 7 + 0.5}
    return pandas.DataFrame(rows | {"sold": np.sin(np.arange(120) / 5), "kind": ["x", "y"] * 60})


DRAW = np.random.default_rng(0)
SMALL = {"cell": "simple", "units": 3, "batch": 4, "steps": 2, "validate_every": 2}
WAVES = np.sin(np.arange(120)[:, None] / np.array([5, 9]))
PICTURES = DRAW.integers(0, 255, (20, 8, 8, 3), np.uint8)
SENTENCE = (["Time", "flies"], ["NOUN", "VERB"])
NAMED = {"ignore": ["day"], "words": "kind", "length": 8}
MADE = {
    "text": lambda: Text.of("the quick brown fox \u00e9 jumps " * 30, length=8, seed=3),
    "bytes": lambda: Text(np.arange(200) % 256, Vocabulary.of_bytes(), split=(0.8, 0.1, 0.1)),
    "series": lambda: Series(WAVES, targets=[1], horizon=2, length=8, quantiles=(0.1, 0.9)),
    "several series": lambda: Series([WAVES, WAVES[:90]], names=["a", "b"], length=8),
    "frame": lambda: Series(frame(), targets=["sold"], sequence="shop", known=["price"], **NAMED),
    "labels": lambda: Series(WAVES, np.where(WAVES[:, 0] > 0, "up", "down"), length=8),
    "arrays": lambda: Arrays(DRAW.normal(size=(30, 5, 2)), np.arange(30) % 2, seed=1),
    "ragged": lambda: Arrays(
        [DRAW.normal(size=(n % 3 + 2, 2)) for n in range(30)], ["ab"[n % 2] for n in range(30)]
    ),
    "given parts": lambda: Arrays(
        DRAW.integers(3, size=(20, 4)),
        np.arange(20.0) + 0.5,
        split={"train": range(12), "valid": np.arange(12, 16), "test": [16, 17, 18, 19]},
    ),
    "classify": lambda: Classify(["it is good", "not good"] * 20, ["yes", "no"] * 20),
    "many texts": lambda: Classify(["word " * 500, "no"] * 20, np.array(["yes", "no"] * 20)),
    "tag": lambda: Tagging([SENTENCE] * 20, test=[SENTENCE] * 2, unknown=0.5),
    "caption": lambda: Captions.of(PICTURES, ["a dog", "the cat"] * 10, shift=1),
    "video": lambda: Video.of(np.zeros((20, 5, 6, 6)), frames=3, ahead=2),
    "adding": lambda: Adding(length=9, seed=5),
    "mackey-glass": lambda: MackeyGlass(length=8),
}


@pytest.mark.parametrize("name", MADE)
def test_the_kept_task_is_the_same(name, tmp_path):
    task = MADE[name]()
    keep_data(tmp_path, task)
    again = kept_task(tmp_path, type(task))
    assert again.fingerprint() == task.fingerprint() and again.seed == task.seed
    one, two = (x.batch(3, 4) for x in (task, again))
    for a, b in zip(one.arrays, two.arrays, strict=True):
        np.testing.assert_array_equal(a, b) if isinstance(a, np.ndarray) else None
    config = config_of(Config(task="adding", **SMALL), task)
    assert config.task.kind is type(task) and config.task.name in TASKS
    assert Config.from_json(json.loads(str(config))) == config
    read = ("split", "quantiles")  # they become texts
    whole = {name: x for name, x in vars(task.settings).items() if name not in read}
    assert {name: getattr(config.task.settings, name) for name in whole} == whole


def test_what_settings_can_say_needs_no_data(tmp_path):
    for task in (Adding(length=9), MackeyGlass(length=8, washout=0)):
        run = untrained_run(Config(**SMALL), tmp_path / task.name, task)
        assert run.manifest["data"] is None and not (run.path / kept_data.NAME).exists()
        built = build_task(open_run(run.path).config)
        assert built.fingerprint() == task.fingerprint() and run.manifest["given"] == []
    run = untrained_run(Config(**SMALL), tmp_path / "seed", Adding(length=9, seed=1))
    assert (run.path / kept_data.NAME).exists() and open_run(run.path).task().seed == 1


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    task = Series(WAVES, targets=["2"], horizon=2, length=8)
    return train(Config(**SMALL), tmp_path_factory.mktemp("own") / "run", task=task)


def test_every_command_knows_it(run, ostinato, tmp_path, monkeypatch):
    monkeypatch.setattr(run_page, "write_picture", lambda *_: None)  # which takes most of the time
    assert run.config.task.name == "series" and run.config.horizon == 2
    np.save(tmp_path / "more.npy", WAVES[:60])
    for verb in (["evaluate"], ["lens"], ["apply", run.path, "more.npy"]):
        code, out, error = ostinato(verb[0], *(verb[1:] or [run.path]), "--json")
        assert code == 0, error
        assert json.loads(out.splitlines()[0])
    code, out, _ = ostinato("runs", run.path.parent, "--json")
    assert code == 0 and json.loads(out)[0]["task"] == "series"
    task = Series(WAVES, targets=["2"], horizon=2, length=8)
    assert run.evaluate("test") == evaluate(run, "test", task=task)


def test_it_resumes_with_or_without_its_task(tmp_path):
    def task():
        return Series(WAVES, horizon=2, length=8)

    weights = []
    for name, again in (("with", {"task": task()}), ("without", {})):
        half = train(Config(**SMALL), tmp_path / name, task=task())
        config = Config(**SMALL) if again else half.config
        end = train(config.replace(steps=4), half.path, resume=True, **again)
        weights.append(jax.tree.leaves(trained(end.network("last"))[0]))
    for a, b in zip(*weights, strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(BadInput, match="the series is not, or no longer, what"):
        other = Series(WAVES[:100], horizon=2, length=8)
        train(Config(**SMALL | {"steps": 6}), half.path, resume=True, task=other)
    with pytest.raises(BadInput, match="started with horizon = 2"):
        other = Series(WAVES, horizon=3, length=8)
        train(Config(**SMALL | {"steps": 6}), half.path, resume=True, task=other)


def test_damaged_data_get_one_line(run, tmp_path):
    def opened(content):
        path = tmp_path / str(len([*tmp_path.iterdir()]))
        path.mkdir()
        for name in ("config.json", "model.json"):
            (path / name).write_bytes((run.path / name).read_bytes())
        if content:
            (path / kept_data.NAME).write_bytes(content)
        return open_run(path)

    good = (run.path / kept_data.NAME).read_bytes()
    for content, words in (
        (b"", "has no data.safetensors"),
        (b"x" * 99, "is not what a run writes"),
        (good[:-8], "is not what a run writes"),
        (good.replace(b"array", b"arrax"), "it has 'arrax'"),
        (good.replace(b"horizon", b"horizun"), "there is no setting 'horizun'"),
        (good[:-8] + b"\0" * 7 + b"@", "not, or no longer, what"),
    ):
        with pytest.raises(BadInput, match=words) as error:
            opened(content).task()
        assert "\n" not in str(error.value)


def test_what_is_not_kept_is_said_and_trains_all_the_same(tmp_path, monkeypatch):
    with pytest.raises(CannotKeep, match="an array of datetime64"):
        keep_data(tmp_path, Adding.__new__(Adding, np.zeros(3, "datetime64[s]")))
    monkeypatch.setattr(kept_data, "MAX_KEPT", 1000)
    task = Series(WAVES, length=8)
    with pytest.warns(
        RuntimeWarning, match=r"not kept in .*, because they take 1,976 bytes, more than"
    ):
        run = train(Config(**SMALL), tmp_path / "run", task=task)
    assert run.manifest["given"] == ["task"] and run.config.task.name == "series"
    with pytest.raises(BadInput, match="pass it again"):
        run.task()
    assert train(run.config.replace(steps=3), run.path, resume=True, task=task).steps()[-1] == 3
