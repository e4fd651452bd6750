"""Faults of a user's own task: one line that says where, what is kept, and how to go on."""

import json
import math
import re
import traceback

import numpy as np
import pytest

from ostinato.cli.failures import explained
from ostinato.errors import BadInput
from ostinato.learning import FirstOrder, Objective
from ostinato.runs import Config, open_run, train, train_many
from ostinato.runs.loop import prefetch, processes, start
from ostinato.runs.loop.divergence import Diverged
from ostinato.tasks.losses import SquaredError

TASK = """
import numpy as np
from ostinato.tasks import Adding


def fail(number):
    {fault}


class Own(Adding):
    name = "own"

    def __init__(self, length=None, seed=0):
        super().__init__(length=length, seed=seed)
        self.previews = 0

    def batch(self, index, size, length=None):
        batch = super().batch(index, size, length)
        if {where!r} == "batch" and index == 7:
            return fail(index)
        if {where!r} == "numbers" and index == 7:
            wrong = np.where(batch.inputs > 0.9, float({number!r}), batch.inputs)
            return batch._replace(inputs=wrong)
        return batch

    def held_out(self, part, size=32):
        yield from super().held_out(part, size)
        if {where!r} == "held_out":
            fail(part)

    def preview(self, network, key):
        self.previews += 1
        if {where!r} == "preview" and self.previews > 1:
            fail(key)

    def baselines(self):
        return fail(0) if {where!r} == "baselines" else {{}}
"""
FAULTS = {
    "batch": "raise ValueError('shelf 9 is empty\\nof books')",
    "held_out": "open('/nowhere/at/all.csv')",
    "preview": "raise MemoryError",
    "baselines": "return 1 / 0",
}
SAID = {
    "batch": "ValueError: shelf 9 is empty. Last good checkpoint: step 4, in ",
    "held_out": "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/at/all.csv'. ",
    "preview": "MemoryError. Last good checkpoint: step ",
    "baselines": "ZeroDivisionError: division by zero. ",
}


def config_of(path, where, fault="pass", number=0):
    path.write_text(TASK.format(where=where, fault=fault, number=number))
    return Config(
        task=f"{path}:Own",
        length=5,
        units=3,
        batch=4,
        steps=12,
        validate_every=4,
        checkpoint_every=2,
        cell="simple",
    )


@pytest.mark.parametrize("where", FAULTS)
def test_an_exception_in_a_task_is_one_line_with_the_place_and_the_checkpoint(where, tmp_path):
    path = tmp_path / "mine.py"
    config = config_of(path, where, FAULTS[where])
    with pytest.raises(BadInput) as error:
        train(config, tmp_path / "run")
    words, code = explained(error.value)
    line = TASK.split("\n").index("    {fault}") + 1
    assert words.startswith(f"Own.{where} failed in {path}, line {line}: {SAID[where]}")
    assert code == 2 and "\n" not in words
    assert "Remove the cause, then --resume" in words or "yet; mend the code" in words
    assert traceback.extract_tb(error.value.__cause__.__traceback__)[-1].lineno == line
    with pytest.raises(BadInput, match=re.escape(f"Own.{where} failed in {path}, line {line}")):
        train_many([config], [tmp_path / "many"])


def test_a_batch_that_is_none_is_named(tmp_path):
    config = config_of(tmp_path / "mine.py", "batch", "return None")
    with pytest.raises(
        BadInput, match=r"batch 7 of the task own must be an ostinato\.data\.Batch, got None"
    ):
        train(config, tmp_path / "run")


def test_held_out_batches_that_are_none_are_named(tmp_path):
    config = config_of(tmp_path / "mine.py", "held_out", "return None")
    path = tmp_path / "mine.py"
    path.write_text(path.read_text().replace("yield from super().held_out(part, size)", "yield"))
    with pytest.raises(
        BadInput, match=r"a batch of held_out of the task own must be an ostinato\.data\.Batch, got"
    ):
        train(Config(**config.flat()), tmp_path / "run")


def test_memory_that_is_short_in_a_batch_has_a_reason(tmp_path):
    config = config_of(tmp_path / "mine.py", "batch", "raise MemoryError")
    with pytest.raises(BadInput, match=r"a batch of 4 sequences is too large: MemoryError$"):
        train(config, tmp_path / "run")


ODD = {
    "batch._replace(inputs=batch.inputs[..., :1])": r"expects inputs of shape \(\.\.\., 2\), got",
    "batch._replace(inputs=batch.inputs.astype(int))": "expects floating-point inputs",
    "batch._replace(inputs={'a': batch.inputs})": "expects an array of shape .*, got dict",
    "batch.take([0, 1])": r"expects a state float64\(2, 3\), got float64\(4, 3\)",
    "batch._replace(targets=batch.targets[:2])": "needs a target and a weight for each of 5 steps",
    "batch._replace(inputs=batch.inputs.astype(object))": "must be arrays of numbers; got one of",
    "batch._replace(inputs=[[1.0], [1.0, 2.0]])": "must be arrays of numbers; got .*: pad what is",
}


@pytest.mark.parametrize("thread", [True, False])
def test_a_batch_that_is_suddenly_odd_is_named(thread, tmp_path, monkeypatch):
    """Whether it is made in its turn or ahead, in a thread; what was saved stays."""
    monkeypatch.setattr(prefetch, "TRIAL", 2)
    monkeypatch.setattr(prefetch, "SHARE", -1 if thread else math.inf)
    for n, (odd, words) in enumerate(ODD.items()):
        config = config_of(tmp_path / f"mine_{n}.py", "batch")
        path = tmp_path / f"mine_{n}.py"
        path.write_text(path.read_text().replace("return fail(index)", f"return {odd}"))
        named = f"(the inputs of )?batch 7 of the task own (is unlike the first: )?.*{words}"
        with pytest.raises(BadInput, match=f"^{named}") as error:
            train(Config(**config.flat()), tmp_path / f"run_{n}")
        assert "\n" not in str(error.value)
        assert 0 < open_run(tmp_path / f"run_{n}").steps()[-1] <= 7


@pytest.mark.parametrize("number", ["nan", "inf"])
def test_a_batch_without_numbers_is_the_fault_of_the_data(number, tmp_path):
    config = config_of(tmp_path / "mine.py", "numbers", number=number)
    with pytest.raises(Diverged) as error:
        train(config, tmp_path / "run")
    words = "batch 7 of the task own holds NaN or infinity in its inputs; mend the data. Last good"
    assert words in str(error.value) and "--rate" not in str(error.value)
    assert "checkpoint: step 6" in str(error.value)


def test_an_exception_that_is_not_the_task_s_is_a_bug(tmp_path, monkeypatch):
    def fail(*_):
        raise KeyError("ours")

    monkeypatch.setattr(start, "build_network", fail)
    with pytest.raises(KeyError, match="ours"):
        train(config_of(tmp_path / "mine.py", "none"), tmp_path / "run")


@pytest.mark.parametrize(("given", "text"), [(1.0, "1"), (2, "2"), (0.25, "0.25"), ("2x", "2x")])
def test_a_clip_may_be_a_number(given, text, tmp_path):
    assert Config(task="adding", clip=given).flat()["clip"] == text
    (tmp_path / "run.toml").write_text(
        f'[task]\nname = "adding"\n[learner]\nclip = {json.dumps(given)}\n'
    )
    assert Config.from_toml(tmp_path / "run.toml").flat()["clip"] == text
    assert FirstOrder("adam", Objective(SquaredError()), steps=1, clip=given).clip == text


@pytest.mark.parametrize("given", [True, math.nan, -1.0, 0, [1.0]])
def test_a_clip_that_is_no_threshold_is_refused(given):
    with pytest.raises(BadInput, match="clip must be"):
        Config(task="adding", clip=given)


def test_processes_with_other_files_differ_in_their_data_alone(tmp_path, monkeypatch):
    """Not in their settings: the file may lie elsewhere on each machine."""
    told = {}
    monkeypatch.setattr(processes, "_joined", lambda: True)
    monkeypatch.setattr(processes, "STATED", 2)
    for name, text in {"a": "one fox. ", "b": "one fox. ", "c": "two dogs."}.items():
        (tmp_path / name).write_text(text * 60)
        config = Config(file=str(tmp_path / name), length=8, units=3, batch=2)
        task = start.build_task(config)
        told[name] = processes.facts(start._settings(config), task, np.zeros(1))
    assert told["a"] == told["b"]
    assert {x for x in told["a"] if told["a"][x] != told["c"][x]} == {"data"}
