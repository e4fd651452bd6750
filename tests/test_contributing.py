"""The three examples of CONTRIBUTING.md are added as it says: one file and one line each."""

import importlib.util
import re
import sys
import textwrap
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.lens import recurrent_matrices, saturation
from ostinato.lens.part_names import plain_name, weight_name
from ostinato.runs import Config, evaluate, open_run, train
from ostinato.runs.config.members import REGISTRIES
from ostinato.testing import check_cell, check_task

PAGE = Path(__file__).parent.parent / "CONTRIBUTING.md"
SMALL = {"units": 4, "batch": 4, "steps": 3}


def added(role, tmp_path, monkeypatch):
    """Put the file of a section where it says, and its line into the list of the role."""
    text = PAGE.read_text().partition(f"## Add a {role}\n")[2].partition("\n## ")[0]
    where = re.search(r"`src/(ostinato/\w+)/(\w+)\.py`", text)
    code, line = re.findall(r"(?s)```python\n(.*?)```", text)
    package, module = where[1].replace("/", "."), where[2]
    file = tmp_path / f"{module}.py"
    file.write_text(textwrap.dedent(code.replace("\n   ", "\n").removeprefix("   ")))
    spec = importlib.util.spec_from_file_location(f"{package}.{module}", file)
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, made)
    spec.loader.exec_module(made)
    name, target = re.fullmatch(r'\s*"([\w-]+)": "(\w+:\w+)",\s*', line).groups()
    monkeypatch.setitem(REGISTRIES[role]._classes, name, f"{package}.{target}")
    return name, REGISTRIES[role][name]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "run"


def test_a_cell_with_named_gates(tmp_path, monkeypatch, folder):
    name, kind = added("cell", tmp_path, monkeypatch)
    run = train(Config(task="adding", cell=name, length=10, **SMALL), folder=folder)
    network = run.network()
    gates = [plain_name(path) for path in saturation(network, jnp.ones((5, 2, 2)))]
    assert gates == ["forget gate", "candidate"]
    weights = {weight_name(path, network) for path in recurrent_matrices(network)}
    assert weights == {"forget gate (R)", "candidate (U)"}
    assert isinstance(open_run(folder).network().cell, kind)


def test_the_cell_passes_the_conformance_suite(tmp_path, monkeypatch):
    _, kind = added("cell", tmp_path, monkeypatch)
    assert "derivative_is_right" in check_cell(kind(3, 4, key=jax.random.key(0)))


def test_a_task_on_a_file_of_the_user(tmp_path, monkeypatch, folder):
    name, kind = added("task", tmp_path, monkeypatch)
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=rng.integers(3, 7)) for _ in range(200)]
    (tmp_path / "numbers.txt").write_text("\n".join(" ".join(f"{x:.3f}" for x in r) for r in rows))
    config = Config(task=name, file=str(tmp_path / "numbers.txt"), cell="simple", **SMALL)
    run = train(config, folder=folder)
    task = run.task()
    assert isinstance(task, kind) and task.length == max(map(len, rows))
    assert "right_answer_is_better_than_chance" in check_task(task)
    assert all(np.isfinite(value) for value in evaluate(run).values())


def test_a_learner(tmp_path, monkeypatch, folder):
    name, kind = added("learner", tmp_path, monkeypatch)
    run = train(Config(task="adding", learner=name, rate=0.02, length=10, **SMALL), folder=folder)
    assert run.config.learner.kind is kind
    assert run.config.learner.settings.rate == 0.02
