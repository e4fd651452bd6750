"""A cell, a task and a learner of one's own, from one file and a name on the command line."""

import json

import equinox as eqx
import optax
import pytest

from ostinato.errors import BadInput
from ostinato.runs import Config, open_run, train

SMALL = ("--units", "4", "--batch", "4", "--length", "10", "--steps", "4")

CELL = '''
import dataclasses

import jax
import jax.numpy as jnp

from neighbour import SCALE
from ostinato import Cell
from ostinato.settings import setting


class Sharp(Cell):
    """A cell with an option of its own."""

    @dataclasses.dataclass(frozen=True)
    class Settings:
        sharpness: float = setting(1.0, "how sharp the units are", min=0)

    W: jax.Array
    R: jax.Array
    sharpness: float

    def __init__(self, inputs, units, *, key, sharpness=1.0):
        one, two = jax.random.split(key)
        self.W = SCALE * jax.random.normal(one, (inputs, units))
        self.R = SCALE * jax.random.normal(two, (units, units))
        self.sharpness = sharpness

    def initial(self, batch):
        return jnp.zeros((*batch, self.R.shape[0]), self.R.dtype)

    def inputs(self, x):
        return x @ self.W

    def step(self, h, u):
        h = jnp.tanh(self.sharpness * (u + h @ self.R))
        return h, h


class Half(Cell):
    def initial(self, batch):
        return ()


class Nothing:
    pass
'''

TASK = '''
import dataclasses

from ostinato.settings import setting
from ostinato.tasks import Adding


class Powers(Adding):
    """The adding problem, with a power of the sum as its answer."""

    name = "powers"

    @dataclasses.dataclass(frozen=True)
    class Settings(Adding.Settings):
        own_option: int = setting(1, "the power", min=1, max=9)

    def __init__(self, length=None, seed=0, own_option=1):
        super().__init__(length=length, seed=seed)
        self.own_option = own_option

    def target(self, one, other):
        return (one + other) ** self.own_option
'''

LEARNER = """
import optax


def slow(rate):
    return optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(rate, momentum=0.9))


fixed = optax.adam(1e-3)
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "cells.py").write_text(CELL)
    (tmp_path / "mine" / "neighbour.py").write_text("SCALE = 0.5\n")
    (tmp_path / "mine" / "task.py").write_text(TASK)
    (tmp_path / "mine" / "learner.py").write_text(LEARNER)
    (tmp_path / "cat.txt").write_text("the cat sat on the mat.\nthe rat ran to the cat.\n" * 12)
    return tmp_path


def test_a_cell_of_one_s_own_does_what_a_built_in_one_does(ostinato, files):
    cell = ("--cell", "mine/cells.py:Sharp", "--sharpness", "2")
    code, out, err = ostinato("train", "cat.txt", *cell, *SMALL, "--json")
    assert code == 0 and not err
    run = open_run(json.loads(out)["run"])
    assert run.path.name == "text-Sharp-1"
    assert run.config.cell.name == f"{files.resolve()}/mine/cells.py:Sharp"
    assert run.network().cell.sharpness == run.config.sharpness == 2
    for verb in (["evaluate"], ["sample", "--length", "5"]):  # `lens` is in test_plain_install.py
        code, _, err = ostinato(verb[0], run.path, *verb[1:])
        assert code == 0, err
    more = ostinato("train", "--resume", "--run", run.path, "--steps", "6", "--json")
    assert more[0] == 0 and open_run(run.path).steps()[-1] == 6
    budget = ("--budget", "500", "--steps", "1", "--batch", "2", "--length", "4")
    assert ostinato("train", "cat.txt", *cell, *budget, "--run", "b", "--json")[0] == 0
    changed = CELL.replace("h = jnp.tanh(self.sharpness", "h = jnp.sin(self.sharpness")
    (files / "mine" / "cells.py").write_text(changed)
    code, _, err = ostinato("train", "--resume", "--run", run.path, "--steps", "8")
    assert code == 2 and "cells.py, which has changed since you allowed it" in err
    assert ostinato("allow", "mine/cells.py")[0] == 0
    code, _, err = ostinato("train", "--resume", "--run", run.path, "--steps", "8")
    assert code == 2 and "the code of cell has changed" in err
    (files / "mine" / "cells.py").unlink()
    code, _, err = ostinato("sample", run.path)
    assert code == 2 and "cannot read" in err and "mine/cells.py" in err


@pytest.mark.slow
def test_a_task_of_one_s_own_with_an_option_of_its_own(ostinato, files):
    task = ("--task", "mine/task.py:Powers", "--own-option", "3")
    code, out, err = ostinato("train", *task, *SMALL, "--cell", "gru", "--json")
    assert code == 0 and not err
    run = open_run(json.loads(out)["run"])
    assert run.path.name == "Powers-gru-1"
    assert run.config.own_option == run.task().own_option == 3
    for verb in ("evaluate", "lens"):
        code, _, err = ostinato(verb, run.path)
        assert code == 0, err
    assert ostinato("train", "--resume", "--run", run.path, "--steps", "6", "--json")[0] == 0
    code, _, err = ostinato("train", *task[:2], "--own-option", "10")
    assert code == 2 and err == "ostinato: own_option must be at most 9, got 10\n"
    code, _, err = ostinato("train", "--own-option", "3")
    assert code == 2 and "no such option --own-option" in err


def test_options_of_one_s_own_are_in_the_help(ostinato, files, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    code, out, _ = ostinato("train", "--cell=mine/cells.py:Sharp", "--help")
    assert code == 0 and "Cell: Sharp" in out
    assert "--sharpness" in out and "how sharp the units are (default: 1.0)" in out
    (files / "own.toml").write_text('[task]\nname = "mine/task.py:Powers"\n')
    code, out, _ = ostinato("train", "--config", "own.toml", "--help")
    assert code == 0 and "--own-option" in out and "--sharpness" not in out


@pytest.mark.parametrize(
    ("option", "name", "words"),
    [
        ("cell", "mine/cells.py:Half", "is not a complete cell: it lacks inputs, step"),
        ("cell", "mine/cells.py:Nothing", "is not a cell: it must be a subclass of Cell"),
        ("cell", "mine/cells.py:Sharpe", "has no Sharpe; its cells are Sharp, Half"),
        ("cell", "mine/none.py:Sharp", "none.py: No such file or directory"),
        ("cell", "nowhere:Sharp", "there is no module 'nowhere' that Python can import"),
        ("cell", "mine/bad.py:Sharp", "bad.py cannot be imported: ZeroDivisionError: division"),
        ("cell", "mine/syntax.py:Sharp", "syntax.py cannot be imported: invalid syntax (line 1)"),
        ("cell", "mine:", "a cell of your own is module:Class or file.py:Class"),
        ("task", "mine/cells.py:Sharp", "is not a task: it must be a subclass of Task"),
        ("learner", "mine/cells.py:Sharp", "is not a learner: it must be a subclass of Learner"),
        ("learner", "optax:lion", "the learner optax:lion needs --rate"),
        ("learner", "optax:nothing", "optax has no nothing"),
        ("learner", "optax:apply_updates", "needs params, updates too; write a function"),
    ],
)
def test_what_is_wrong_with_a_class_is_one_line(ostinato, files, option, name, words):
    (files / "mine" / "bad.py").write_text("1 / 0\n")
    (files / "mine" / "syntax.py").write_text("def f(:\n")
    code, out, err = ostinato("train", f"--{option}", name, "--steps", "1")
    assert code == 2 and not out and words in err and err.count("\n") == 1
    assert not (files / "runs").exists()


@pytest.mark.parametrize(
    ("learner", "rate"),
    [("optax:lion", "1e-3"), ("mine/learner.py:slow", "0.1"), ("mine/learner.py:fixed", None)],
)
def test_a_transformation_of_optax_resumes_to_the_same_bits(ostinato, files, learner, rate):
    given = ("--learner", learner, *(("--rate", rate) if rate else ()), "--cell", "simple")
    assert ostinato("train", "cat.txt", *SMALL, *given, "--run", "whole", "--json")[0] == 0
    short = (*SMALL[:-1], "2")
    assert ostinato("train", "cat.txt", *short, *given, "--run", "parts", "--json")[0] == 0
    again = ostinato("train", "--resume", "--run", "parts", "--steps", "4", "--json")
    assert again[0] == 0, again
    whole, parts = open_run("whole"), open_run("parts")
    assert whole.config.learner.name.endswith(learner.rpartition("/")[2])
    assert eqx.tree_equal(whole.network("last"), parts.network("last"))


def test_a_transformation_from_python(files):
    config = Config(task="adding", length=6, cell="simple", units=3, batch=4, steps=4)
    whole = train(config, files / "whole", learner=optax.lion(1e-3))
    train(config.replace(steps=2), files / "parts", learner=optax.lion(1e-3))
    with pytest.raises(BadInput, match=r"now FirstOrder; .* its own learner: pass it again"):
        train(config, files / "parts", resume=True)
    with pytest.raises(BadInput, match="started with another learner"):
        train(config, files / "parts", resume=True, learner=optax.sgd(1e-3, momentum=0.9))
    with pytest.raises(BadInput, match=r"step_size was -0.001, and is now -0.002"):
        train(config, files / "parts", resume=True, learner=optax.lion(2e-3))
    parts = train(config, files / "parts", resume=True, learner=optax.lion(1e-3))
    assert eqx.tree_equal(whole.network("last"), parts.network("last"))
    assert open_run(whole.path).manifest["given"] == ["learner"]
