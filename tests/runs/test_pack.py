"""Many runs at once give the numbers of the same runs one by one."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from test_training import TEXT, numbers, same

from ostinato.errors import BadInput
from ostinato.runs import Config, open_run, train
from ostinato.runs.loop.step import SharedSteps
from ostinato.runs.many import is_over, many, pack, side_by_side, train_many
from ostinato.runs.many.pack import Barrier

WAYS = {"mapped": (4, 1), "beside": (1, 2)}


def ways(fast):
    """Both ways, of which one is for the fast tests."""
    marks = [() if name == fast else pytest.mark.slow for name in WAYS]
    params = [pytest.param(name, marks=mark) for name, mark in zip(WAYS, marks, strict=True)]
    return pytest.mark.parametrize("way", params, indirect=True)


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Runs as a GPU and as a CPU train them."""
    size, beside = WAYS[request.param]
    monkeypatch.setattr(many, "side_by_side", lambda config, count: (min(size, count), beside))
    return request.param


@pytest.fixture(scope="module")
def configs():
    """Runs that differ in all that may differ, a seed for noise and batches among it."""
    usual = Config(
        task="adding",
        cell="simple",
        units=8,
        batch=4,
        length=8,
        steps=60,
        learner="nesterov",
        zoneout=0.1,
        validate_every=15,
        checkpoint_every=45,
    )
    return [
        usual,
        usual.replace(seed=1),
        usual.replace(seed=1, rate=0.02, momentum=0.5, clip="0.2"),
        usual.replace(rate=1e9, clip="1e30"),
    ]


COMPARED, DIVERGING = (0, 2), 3


@pytest.fixture(scope="module")
def separate(configs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("separate")
    return {n: train(configs[n], folder / str(n)) for n in COMPARED}


def curve(run):
    return [event["value"] for event in run.events() if event["kind"] == "valid"]


def folders(path, count):
    return [path / f"run-{n}" for n in range(count)]


def killed(path, copy):
    """A copy of a run as if it had been killed before its last checkpoint."""
    shutil.copytree(path, copy)
    sorted((copy / "checkpoints").iterdir())[-1].unlink()
    lines = (copy / "events.jsonl").read_bytes().splitlines(keepends=True)
    (copy / "events.jsonl").write_bytes(b"".join(lines[:-1]))


@ways(fast="mapped")
def test_curves_are_those_of_separate_runs_though_one_diverges(
    way, configs, separate, tmp_path, monkeypatch
):
    steps = []
    monkeypatch.setattr(many, "SharedSteps", lambda: steps.append(SharedSteps()) or steps[-1])
    heard = []
    killed(separate[0].path, tmp_path / "run-0")
    runs = train_many(
        configs, folders(tmp_path, 4), listener=lambda n, event: heard.append((n, event["kind"]))
    )
    for number, other in separate.items():
        run = runs[number]
        assert len(curve(run)) == 4
        # Tests are in float64; float32 is allowed 1e-4.
        np.testing.assert_allclose(curve(run), curve(other), rtol=1e-9)
        assert run.config == other.config and run.events()[-1]["reason"] == "done"
    assert len({tuple(curve(run)) for run in runs}) == 4
    assert runs[DIVERGING].events()[-1]["kind"] == "diverged"
    assert all(is_over(run.path) for run in runs)
    assert heard.count((0, "resume")) == heard.count((0, "valid")) == heard.count((0, "end")) == 1
    assert heard.count((2, "start")) == 1 and heard.count((2, "valid")) == 4
    ((step,),) = [found.known for found in steps]
    if way == "mapped":  # compiled for four runs, and again when two of them have left
        assert step.together._cache_size() == 2
    else:
        assert step.alone._cache_size() == 1


def test_a_run_without_others_is_that_of_train_bit_for_bit(configs, separate, tmp_path):
    (run,) = train_many(configs[:1], folders(tmp_path, 1))
    same(run, separate[0])
    assert numbers(run) == numbers(separate[0])


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Everything that a run carries from step to step, as a text; see `test_training`."""
    path = tmp_path_factory.mktemp("text") / "fox.txt"
    path.write_text(TEXT)
    usual = Config(
        file=str(path),
        cell="lstm",
        units=4,
        batch=3,
        length=8,
        steps=8,
        dropout=0.1,
        schedule="plateau",
        clip="auto",
        checkpoint_every=2,
        validate_every=4,
    )
    return [usual.replace(seed=seed, rate=0.02 / (1 + seed)) for seed in range(2)]


@pytest.mark.slow
def test_interrupted_runs_go_on_with_others_at_other_steps(way, text, tmp_path):
    def interrupt(number, event):
        if event["kind"] == "train" and event["step"] == 5:
            os.kill(os.getpid(), signal.SIGINT)

    paths = folders(tmp_path, 2)
    (begun,) = train_many(text[:1], paths[:1], listener=interrupt)
    end = begun.events()[-1]
    assert end["reason"] == "interrupted" and end["step"] < 8
    assert end["signal"] == signal.SIGINT
    runs = train_many(text, paths)
    assert [run.steps()[-1] for run in runs] == [8, 8]
    other = train(text[0], tmp_path / "other")
    np.testing.assert_allclose(curve(runs[0]), curve(other), rtol=1e-9)
    before = [(run.path / "events.jsonl").read_bytes() for run in runs]
    train_many(text, paths, listener=lambda *_: pytest.fail("a finished run was trained"))
    assert before == [(run.path / "events.jsonl").read_bytes() for run in runs]


@pytest.mark.slow
def test_a_signal_interrupts_all(way, configs, tmp_path):
    def interrupt(number, event):
        if number == 1 and event["kind"] == "train" and event["step"] == 20:
            os.kill(os.getpid(), signal.SIGTERM)

    runs = train_many(configs[:DIVERGING], folders(tmp_path, 3), listener=interrupt)
    assert len(runs) == (3 if way == "mapped" else 2)
    for run in runs:
        end = run.events()[-1]
        assert end["reason"] == "interrupted" and run.steps()[-1] == end["step"] < 60


@ways(fast="beside")
def test_an_error_stops_and_saves_all(way, configs, tmp_path):
    def fail(number, event):
        if number == 1 and event["step"] == 10:
            raise BadInput("enough")

    with pytest.raises(BadInput, match="enough"):
        train_many(configs[:DIVERGING], folders(tmp_path, 3), listener=fail)
    assert open_run(tmp_path / "run-0").events()[-1]["reason"] == "interrupted"
    assert open_run(tmp_path / "run-0").steps()


@pytest.mark.slow
def test_unlike_runs_are_trained_too(way, configs, tmp_path):
    short = [config.replace(steps=2, validate_every=None) for config in configs[:2]]
    unlike = [*short, short[0].replace(units=5)]
    runs = train_many(unlike, folders(tmp_path, 3))
    assert [run.config for run in runs] == unlike and all(is_over(run.path) for run in runs)


def test_what_a_device_can_map(monkeypatch):
    plain, count = Config(task="adding", units=8), 20
    assert side_by_side(plain, count) == (1, min(20, many._cores()))
    monkeypatch.setattr(many.jax, "default_backend", lambda: "gpu")
    assert side_by_side(plain, count) == (20, 1)
    assert side_by_side(plain.replace(learner="hf"), count) == (1, 1)
    assert side_by_side(plain.replace(backend="persistent"), count) == (1, 1)
    each = many.room(plain)
    monkeypatch.setattr("ostinato.runs.fit.memory_here", lambda: 2**20)
    assert many.room(plain) < min(20, each)
    assert side_by_side(plain, count) == (many.room(plain), 1)


def test_bad_input(configs, tmp_path):
    with pytest.raises(BadInput, match="there are 4 configurations, but 2 folders"):
        train_many(configs, folders(tmp_path, 2))
    with pytest.raises(BadInput, match="cannot share a folder"):
        train_many(configs[:2], [tmp_path / "one"] * 2)


def meet(barrier, calls):
    """What each thread is told, by its number."""
    told = {}

    def ask(number):
        try:
            for call in calls[number]:
                told.setdefault(number, []).append(barrier.meet(call))
        except ValueError as error:
            told[number] = str(error)
        barrier.leave()

    threads = [threading.Thread(target=ask, args=(n,), daemon=True) for n in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    return told


def test_a_meeting_waits_only_for_those_who_are_there():
    found = meet(Barrier(3, lambda calls: [sum(calls)] * len(calls)), [[1], [2, 3], [4, 5, 6]])
    assert found == {0: [7], 1: [7, 8], 2: [7, 8, 6]}


def test_an_error_at_a_meeting_reaches_all():
    def answer(calls):
        raise ValueError("no")

    assert meet(Barrier(2, answer), [[1], [2]]) == {0: "no", 1: "no"}


def test_rows_are_given_up_by_halves():
    assert [pack._size(20, n) for n in (20, 11, 10, 6, 5, 3, 2, 1)] == [20, 20, 10, 10, 5, 3, 2, 1]


KILLED = """
import glob, json, os, re, signal, sys
import jax
from ostinato.runs import Config
from ostinato.runs.many import many

jax.config.update("jax_enable_x64", True)
many.side_by_side = lambda config, count: (count, 1)
configs = [Config.from_json(x) for x in json.loads(sys.argv[1])]
folder, end = sys.argv[2], int(sys.argv[3])

def listener(number, event):
    saved = {}
    for name in glob.glob(f"{folder}/run-*/checkpoints/step-*.safetensors"):
        run, step = re.search(r"run-(.)/checkpoints/step-([0-9]+)", name).groups()
        saved[run] = max(saved.get(run, 0), int(step))
    if len(saved) == 3 and min(saved.values()) >= end:
        os.kill(os.getpid(), signal.SIGKILL)

many.train_many(configs, [f"{folder}/run-{n}" for n in range(3)], listener=listener)
"""


@pytest.mark.slow
def test_killed_runs_go_on_to_the_same_numbers(configs, separate, tmp_path):
    """Each process is killed as soon as all runs have a checkpoint of some step."""
    often = [x.replace(checkpoint_every=5).as_json() for x in configs[:DIVERGING]]
    line = [sys.executable, "-c", KILLED, json.dumps(often), tmp_path]
    for end in ("10", "30"):
        assert subprocess.run([*line, end], check=False).returncode == -signal.SIGKILL
    line.append("1000")
    subprocess.run(line, check=True)
    for number, other in separate.items():
        run = open_run(tmp_path / f"run-{number}")
        assert any(b'"resume"' in line for line in (run.path / "events.jsonl").open("rb"))
        np.testing.assert_allclose(curve(run), curve(other), rtol=1e-9)


OWN = """
from ostinato.cells import Simple

class Mine(Simple):
    def step(self, state, u):
        h, y = super().step(state, u)
        return {} * h, y
"""


def test_a_finished_run_of_other_settings_code_or_data_is_refused_before_any_is_trained(tmp_path):
    cell, text = tmp_path / "mine.py", tmp_path / "fox.txt"
    cell.write_text(OWN.format(1))
    text.write_text(TEXT)
    config = Config(
        file=str(text), cell=f"{cell}:Mine", units=3, batch=2, length=5, steps=2, rate=0.01
    )
    one, two = folders(tmp_path, 2)
    train_many([config], [one])
    words = "was trained with rate = 0.01, and would now be trained with 0.02; choose another"
    refused = {words: config.replace(rate=0.02)}
    refused["with steps = 2, and would now be trained with 3"] = config.replace(steps=3)
    refused["with units = 3, and would now be trained with 4"] = config.replace(units=4)
    for said, other in refused.items():
        with pytest.raises(BadInput, match=said):
            train_many([config.replace(seed=1), other], [two, one])
    moved = text.rename(tmp_path / "moved.txt")
    assert len(train_many([config.replace(file=str(moved))], [one])) == 1
    moved.write_text(TEXT + "another")
    with pytest.raises(
        BadInput, match=r"no longer, what .* was trained on; change it back, choose"
    ):
        train_many([config.replace(seed=1), config.replace(file=str(moved))], [two, one])
    moved.rename(text).write_text(TEXT)
    cell.write_text(OWN.format(2))
    again = Config(**config.flat())
    with pytest.raises(BadInput, match="the code of cell has changed; change it back, choose"):
        train_many([again.replace(seed=1), again], [two, one])
    assert not two.exists()


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


KILLED_EARLY = """
import json, os, signal, sys
import jax
from ostinato.runs import Config, train_many

jax.config.update("jax_enable_x64", True)

def kill(number, event):
    if number == 1 and event["step"] >= 5:
        os.kill(os.getpid(), signal.SIGKILL)

configs = [Config.from_json(x) for x in json.loads(sys.argv[1])]
train_many(configs, sys.argv[2:], listener=kill)
"""


def test_a_killed_run_of_another_configuration_is_refused_before_any_is_trained(tmp_path):
    """Also where the others do not share its steps, and so would be trained before it."""
    text = tmp_path / "fox.txt"
    text.write_text(TEXT)
    usual = Config(file=str(text), cell="simple", units=3, batch=2, length=5, steps=20)
    usual = usual.replace(checkpoint_every=2, log_every=1)
    one, two, three = folders(tmp_path, 3)
    other, killed = usual.replace(units=4), usual.replace(seed=1)
    words = [json.dumps([usual.as_json(), killed.as_json()]), three, one]
    done = subprocess.run([sys.executable, "-c", KILLED_EARLY, *words], check=False)
    assert done.returncode == -signal.SIGKILL
    changed = {
        "was started with units = 3, so it cannot continue with 4": killed.replace(units=4),
        "was started with rate = None, so it cannot continue with 0.5": killed.replace(rate=0.5),
        "steps, so it cannot continue to step 1; give at least": killed.replace(steps=1),
        "was started with length = 5, so it cannot continue with 6": killed.replace(length=6),
    }
    before = content(tmp_path)
    for said, config in changed.items():
        with pytest.raises(BadInput, match=said):
            train_many([other, config], [two, one])
    assert content(tmp_path) == before
    text.write_text(TEXT + "another")
    with pytest.raises(BadInput, match=r"no longer, what .* was trained on; change it back"):
        train_many([other, killed], [two, one])
    text.write_text(TEXT)
    assert content(tmp_path) == before and not two.exists()
    (again,) = train_many([killed], [one])
    same(again, train(killed, tmp_path / "undisturbed"))
