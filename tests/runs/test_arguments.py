"""What Python hands to the public functions by mistake is refused in one line."""

import json

import jax
import numpy as np
import pytest

import ostinato
from ostinato import Batch, Config, cells
from ostinato.cells import LSTM, Cell
from ostinato.data import Vocabulary
from ostinato.errors import BadInput
from ostinato.learning import FirstOrder, HessianFree, Objective
from ostinato.losses import SquaredError
from ostinato.metrics import Accuracy
from ostinato.reservoir import Reservoir
from ostinato.runs.folder.digest import pieces
from ostinato.tasks import Adding, Captions, Classify, Lorenz, Pairs, Tagging, Task, Text
from untrained import untrained_run

SMALL = {"task": "adding", "length": 4, "units": 2, "steps": 1, "batch": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return untrained_run(Config(**SMALL), tmp_path_factory.mktemp("runs") / "adding").path


@pytest.mark.parametrize("given", ["runs/1", 3, None, {}])
def test_what_is_no_run_is_refused(given):
    for use in (ostinato.evaluate, ostinato.sample, ostinato.runs.examine):
        with pytest.raises(BadInput, match="run must be a run, as open_run or train returns it"):
            use(given)


def test_wrong_arguments_of_train_and_its_kin(tmp_path, folder):
    config, run = Config(**SMALL), ostinato.open_run(folder)
    wrong = [
        ("config must be a Config", lambda: ostinato.train("adding", tmp_path)),
        ("folder must be a path", lambda: ostinato.train(config, None)),
        ("folder must be a path", lambda: ostinato.train(config, "a\0b")),
        ("task must be a Task", lambda: ostinato.train(config, tmp_path, task="adding")),
        ("network must be a Model", lambda: ostinato.train(config, tmp_path, network=3)),
        ("listener must be a function", lambda: ostinato.train(config, tmp_path, listener=3)),
        ("each of configs must be a Config", lambda: ostinato.train_many([{}], [tmp_path])),
        ("folders must be a list", lambda: ostinato.train_many([config], "a")),
        ("train_many takes lists", lambda: ostinato.train_many(3, [])),
        ("each of folders must be a path", lambda: ostinato.train_many([config], [3])),
        ("path must be a path", lambda: ostinato.open_run(3)),
        ("task must be a Task", lambda: ostinato.evaluate(run, task=3)),
        ("network must be a Model", lambda: ostinato.evaluate(run, network="best")),
        ("stop must be a text to stop at", lambda: ostinato.sample(run, stop="")),
        ("stop must be a text to stop at", lambda: ostinato.sample(run, stop=3)),
        ("the part must be valid or test", lambda: Adding().held_out([1], 2).__next__()),
        ("settings must be an instance of", lambda: Adding(settings=3)),
        ("a seed is a whole number", lambda: Lorenz(seed="abc")),
    ]
    for words, use in wrong:
        with pytest.raises(BadInput, match=words):
            use()


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_what_no_system_takes_as_a_path_is_refused(path):
    for name in ("file", "source"):
        task = {"file": "text", "source": "translate"}[name]
        with pytest.raises(BadInput, match=f"{name} must be "):
            Config(task=task, **{name: path})


def test_a_step_that_no_float_holds_is_left_out_of_a_log():
    good, bad = ({"kind": "train", "step": n, "loss": 1.0} for n in (3, 10**400))
    chunk = "".join(json.dumps(event) + "\n" for event in (good, bad)).encode()
    assert np.concatenate([piece.steps for piece in pieces(chunk)]).tolist() == [3]


def test_a_message_about_clip_is_one_line():
    with pytest.raises(BadInput) as error:
        Config(task="adding", clip="\n")
    assert "\n" not in str(error.value)


def test_optax_function_that_raises():
    from ostinato.learning.transformation import _made

    def chain():
        raise ValueError("not enough values")

    with pytest.raises(BadInput, match="the learner mine cannot be made: not enough values"):
        _made(chain, "mine", None)


def test_wrong_parts_of_cells():
    key = jax.random.key(0)
    with pytest.raises(BadInput, match="an initialiser is a function"):
        LSTM(3, 4, key=key, recurrent="orthogonal")
    for wrong in ({"gates": 3}, {"gates": {"a": 3}}, {"blocks": None}, {"blocks": {"R": "units"}}):
        with pytest.raises(BadInput, match=f"Mine.{next(iter(wrong))}"):
            type("Mine", (Cell,), wrong)


KEY, OBJECTIVE, NAN = jax.random.key(0), Objective(SquaredError()), float("nan")
TEXTS, LABELS = ["a b", "c"] * 10, ["x", "y"] * 10
VOCABULARY = Vocabulary.of_text("abc")


class Huge(Adding):
    def batch(self, index, size, length=None):
        raise MemoryError("no room")

    def held_out(self, part, size):
        return None


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: cells.Simple(3, 4, key=KEY, f=["tanh"]), r"f must be of type str, got \['tanh'\]"),
        (lambda: cells.Simple(3, 4, key=KEY, f="tan"), "f must be one of tanh, .*; got tan"),
        (lambda: LSTM(3, 4, key=KEY, forget=NAN), "forget must be a number that float32 holds"),
        (lambda: LSTM(3, 4, key=KEY, forgt=1.0), "LSTM: got an unexpected .* 'forgt'"),
        (lambda: cells.PeepholeLSTM(3, 4, key=KEY, forgt=1.0), "unexpected .* 'forgt'"),
        (lambda: cells.GRU(3, 4), "GRU: missing a required (keyword-only )?argument: 'key'"),
        (lambda: cells.GRU(3, 4, key=0), "key must be a random key such as .*, got 0"),
        (lambda: cells.GRU(3, 4, key=KEY, reset="x"), "reset must be one of before, after; got x"),
        (lambda: cells.Delay(3, 4, key=KEY, dt=NAN), "dt must be a number that float32 holds"),
        (lambda: cells.Delay(3, 4, key=KEY, delay=0), "delay must be at least 1, got 0"),
        (lambda: Reservoir(3, 20, key=KEY, radius=-1), "radius must be at least 0, got -1"),
        (lambda: FirstOrder("sgd", OBJECTIVE, 9, rate=NAN), "rate must be a number that float32"),
        (lambda: FirstOrder("sgd", OBJECTIVE, 9, rat=1.0), "FirstOrder: got an .* 'rat'"),
        (lambda: HessianFree(OBJECTIVE, iterations=0), "iterations must be at least 1, got 0"),
        (lambda: HessianFree(OBJECTIVE, curvature=0), "curvature must be at least 1, got 0"),
        (lambda: Text.of("abc" * 99).epochs(1, 2, 0), "number of at least 1, got 0"),
        (lambda: Adding().batch(-1, 2), "batches are numbered from 0, got -1"),
        (lambda: Adding().batch(1.5, 2), "batches are numbered from 0, got 1.5"),
        (lambda: Adding().batch(0, 10**12), "sequences of a batch must be at most 2147483647"),
        (lambda: Huge().batch(0, 9), "a batch of 9 sequences is too large: no room"),
        (lambda: Huge().held_out("valid", 1), "held_out of the task adding must be an iterator"),
        (
            lambda: Batch(1, 2, 3).steps,
            "the inputs of a batch have time first and sequences second",
        ),
        (lambda: Batch((), None, np.ones(3)).sequences, r"the weights of a .* of shape \(3,\)"),
        (lambda: Text.of(["a", "b"]), r"text must be a text; got \['a', 'b'\]"),
        (lambda: Text(np.full(99, 7), VOCABULARY), "symbols must be whole numbers .* from 0 to 2"),
        (lambda: Text(np.zeros(99), VOCABULARY), "symbols must be .*, got float64 of shape"),
        (lambda: Pairs.of_texts([1, 2], ["a", "b"]), "sources must be a list of texts, got 1 at"),
        (lambda: Pairs.of_texts("ab", "ab"), "sources must be a list of texts, got 'ab'"),
        (lambda: Pairs(None, None, None), "the pairs must be a dictionary of train"),
        (lambda: Captions({"train": 3}), "the pictures must be a dictionary of train"),
        (lambda: Classify(TEXTS, None), "labels must be a list of texts, got None"),
        (lambda: Classify(TEXTS, [None, *LABELS[1:]]), "labels must .*, got None at place 0"),
        (lambda: Tagging([1, 2, 3]), "a sentence is two lists, words and tags; got 1"),
        (lambda: Tagging([("a b", "c d")]), "a sentence is two lists, words and tags"),
        (lambda: Tagging(None), "train must be a list of sentences; got None"),
    ],
)
def test_wrong_arguments_of_members(make, words):
    with pytest.raises(BadInput, match=words):
        make()


def test_a_loss_per_step_needs_a_target_for_each():
    batch = Batch(np.zeros((5, 2, 1)), np.zeros((4, 2, 3)), np.ones((5, 2)))
    with pytest.raises(BadInput, match="each of 5 steps and 2 sequences, got targets"):
        SquaredError().total(np.zeros((5, 2, 3)), batch)


class Fewer(Accuracy):
    name = "errors <5>"


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"inputs": "x"}, "inputs of the task Mine must be of type int"),
        ({"metrics": ()}, "metrics of the task Mine must have at least one metric"),
        ({"chance": None}, "chance of the task Mine must be a number, got None"),
        ({"metrics": (3,)}, "each of metrics of the task Mine must be a Metric"),
        ({"metrics": (Fewer(),)}, "a metric's name .* the task Mine has 'errors <5>'"),
        (
            {"batch": lambda *_: None},
            r"batch 0 of the task adding must be an ostinato\.data\.Batch",
        ),
    ],
)
def test_a_task_that_does_not_keep_its_contract(tmp_path, wrong, words):
    Mine = type("Mine", (Adding,), wrong)
    with pytest.raises(BadInput, match=words):
        ostinato.train(Config(**SMALL), tmp_path / "run", task=Mine(length=4))
    assert not (tmp_path / "run").exists()


def test_a_task_without_a_framing_says_what_it_lacks(tmp_path):
    methods = {"batch": lambda *_: None, "held_out": lambda *_: None}
    Mine = type(
        "Mine", (Task,), {"name": "mine", "inputs": 1, "outputs": 1, "length": 2, **methods}
    )
    with pytest.raises(BadInput, match="the task Mine does not say its loss"):
        ostinato.train(Config(**SMALL), tmp_path / "run", task=Mine())


def test_the_squared_error_does_not_broadcast():
    with pytest.raises(BadInput, match="outputs and targets of one shape"):
        SquaredError().at(np.zeros((5, 2, 2)), np.zeros((5, 2, 1)))
