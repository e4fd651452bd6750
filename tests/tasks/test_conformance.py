"""What every task has to do, by the contract of `tasks/task.py`."""

import functools

import jax
import numpy as np
import pytest

from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.losses import CrossEntropy
from ostinato.tasks import TASKS
from ostinato.testing import check_task
from ostinato.testing.check import TASK_CHECKS

from .members import MEMBERS, OTHERS, TRANSCRIBED, Member, write_data

FROM_FILES = ("mnist", "permuted-mnist", "jsb")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_data(folder)
    return folder


@pytest.fixture(params=MEMBERS)
def member(request, data, monkeypatch) -> Member:
    monkeypatch.setenv("OSTINATO_DATA", str(data))
    return MEMBERS[request.param]


def make(member: Member, seed: int = 3, length: int | None = None):
    return member.make(length=length or member.length, seed=seed)


shared = functools.cache(make)  # for a test that needs no task of its own
shared_other = functools.cache(lambda name: OTHERS[name]())


@functools.cache
def of_many(member: Member):
    """2,000 sequences, and a compiled function of outputs: their scores, counts and loss."""
    task = shared(member)
    batch = task.batch(0, 2000)

    @jax.jit
    def judged(outputs):
        metric, arrays = task.metric, batch.arrays
        score = metric.score(outputs, arrays.targets)
        return score, metric.counts(outputs, arrays), task.loss(outputs, arrays)

    return task, batch, judged


def same(one: Batch, other: Batch) -> bool:
    leaves = jax.tree.leaves(one), jax.tree.leaves(other)
    return one.inputs.shape == other.inputs.shape and all(map(np.array_equal, *leaves))


def check_form(task, batch: Batch, length: int):
    size = batch.inputs.shape[1]
    assert batch.weights.shape == (length, size)
    assert batch.weights.dtype == np.float32
    assert set(np.unique(batch.weights)) <= {0, 1}
    assert batch.weights.any()
    if task.symbolic:
        assert batch.inputs.shape == (length, size)
        assert batch.inputs.dtype == np.int32
        assert 0 <= batch.inputs.min() and batch.inputs.max() < task.inputs
    else:
        assert batch.inputs.shape == (length, size, task.inputs)
        assert batch.inputs.dtype == np.float32
    if isinstance(task.loss, CrossEntropy):
        assert batch.targets.shape == (length, size)
        assert batch.targets.dtype == np.int32
        # Also where the weight is zero: the loss is computed there too.
        assert 0 <= batch.targets.min() and batch.targets.max() < task.outputs
    else:
        assert batch.targets.shape == (length, size, task.outputs)
        assert batch.targets.dtype == np.float32


def scored(member: Member, outputs: np.ndarray) -> tuple[float, float, float]:
    """The metric, its standard error and the loss; sequences are independent, steps are not."""
    task, batch, judged = of_many(member)
    score, counts, loss = judged(np.asarray(outputs, float))
    mean = task.metric.value(counts)
    apart = (np.asarray(score) * batch.weights).sum(0) - mean * batch.weights.sum(0)
    return mean, float(np.sqrt(np.sum(apart**2)) / batch.weights.sum()), float(loss)


def test_every_task_is_listed():
    others = {name.partition(",")[0] for name in OTHERS}
    assert MEMBERS.keys() | others | TRANSCRIBED == TASKS.keys()


def test_has_its_name(member):
    assert MEMBERS[shared(member).name] is member


def test_passes_the_checks_for_tasks_of_ones_own(member):
    assert len(check_task(shared(member))) == len(TASK_CHECKS)


@pytest.mark.parametrize("name", OTHERS)
def test_tasks_of_several_inputs_pass_the_checks_too(name, data, monkeypatch):
    monkeypatch.setenv("OSTINATO_DATA", str(data))
    task = shared_other(name)
    assert task.name == name.partition(",")[0]
    assert len(check_task(task)) == len(TASK_CHECKS)


@pytest.mark.parametrize("member", FROM_FILES, indirect=True)
def test_a_data_set_has_epochs_and_no_more_sequences_than_it_has(member):
    task = shared(member)
    count = task.batch(0, 10_000).sequences
    assert task.batch_shape(10_000) == (task.length, count)
    assert task.epochs(5, 4) == 5 / (count // 4)
    first = [task.batch(n, 4).inputs for n in range(count // 4)]
    assert not np.array_equal(first[0], task.batch(count // 4, 4).inputs)  # another epoch


@pytest.mark.parametrize("name", [*MEMBERS, *OTHERS])
def test_a_batch_of_no_sequences_is_refused(name, data, monkeypatch):
    monkeypatch.setenv("OSTINATO_DATA", str(data))
    task = shared(MEMBERS[name]) if name in MEMBERS else shared_other(name)
    for size in (0, -1, 1.5, True):
        for attempt in (lambda n: task.batch(0, n), lambda n: next(task.held_out("valid", n))):
            with pytest.raises(BadInput, match=r"of a batch must be a whole number of at least 1"):
                attempt(size)


def test_batch_depends_on_seed_and_number_alone(member):
    task, again = shared(member), make(member)
    again.batch(5, 8)
    list(again.held_out("valid", 8))
    assert same(task.batch(2, 8), again.batch(2, 8))
    assert not np.array_equal(task.batch(2, 8).inputs, task.batch(3, 8).inputs)
    assert not np.array_equal(task.batch(2, 8).inputs, make(member, seed=4).batch(2, 8).inputs)


def test_shapes_and_types(member):
    task = shared(member)
    batch = task.batch(0, 8)
    assert batch.inputs.shape[1] == 8
    assert batch.first
    check_form(task, batch, member.length)
    for part in ("valid", "test"):
        for batch in task.held_out(part, 8):
            assert 1 <= batch.inputs.shape[1] <= 8
            check_form(task, batch, len(batch.inputs))


def test_length_is_a_dial(member):
    if member.other is not None:
        assert make(member, length=member.other).length == member.other
        other = shared(member).batch(0, 8, length=member.other)
        check_form(shared(member), other, member.other)
        assert same(make(member, length=member.other).batch(0, 8), other)
    if member.refused is not None:
        for attempt in (
            lambda: make(member, length=member.refused),
            lambda: shared(member).batch(0, 8, length=member.refused),
        ):
            with pytest.raises(BadInput, match=rf"length .*, got {member.refused}") as found:
                attempt()
            assert "\n" not in str(found.value)


def test_has_a_usual_length(member):
    task = member.make()
    assert len(task.batch(0, 2).inputs) == task.length


def test_held_out_is_fixed_and_apart(member):
    task, again = shared(member), make(member)
    again.batch(0, 8)
    valid, test = (list(task.held_out(part, 8)) for part in ("valid", "test"))
    assert valid[0].first and test[0].first
    for part, batches in (("valid", valid), ("test", test)):
        repeated = list(again.held_out(part, 8))
        assert len(batches) == len(repeated)
        assert all(same(x, y) for x, y in zip(batches, repeated, strict=True))
        assert not same(batches[0], task.batch(0, 8))
    assert not same(valid[0], test[0])


# Streams depend on their number; test_text.py and test_series.py count what they hold.
@pytest.mark.parametrize("member", sorted(MEMBERS.keys() - {"text", "series"}), indirect=True)
def test_held_out_is_the_same_set_in_batches_of_any_size(member):
    task = shared(member)
    for part in ("valid", "test"):
        (whole,) = task.held_out(part, 10_000)
        pieces = list(task.held_out(part, 7))
        assert np.array_equal(whole.inputs, np.concatenate([x.inputs for x in pieces], axis=1))
        assert np.array_equal(whole.targets, np.concatenate([x.targets for x in pieces], axis=1))


def test_right_answer_is_perfect(member):
    task, batch, _ = of_many(member)
    outputs = member.answer(batch)
    assert outputs.shape == (*batch.weights.shape, task.outputs)
    metric, error, loss = scored(member, outputs)
    if task.name != "xor":  # where the random bits remain, and with them the luck
        error = 0
    assert metric == pytest.approx(member.best, abs=4 * error + 1e-6)
    if task.name != "xor":
        assert loss < 1e-6
    if task.solved is not None:
        assert (metric > task.solved) == task.metric.higher_is_better


def test_constant_answer_has_its_known_baseline(member):
    """Within four standard errors of 2,000 sequences; of files, all are taken and none is left."""
    task, batch, _ = of_many(member)
    assert task.chance == pytest.approx(member.baseline, rel=1e-6)
    metric, error, _ = scored(member, member.constant(batch))
    if task.name in FROM_FILES:
        error = 0
    assert metric == pytest.approx(task.chance, abs=4 * error + 1e-6)
    assert (metric < member.best) == task.metric.higher_is_better
    if task.solved is not None:
        assert (metric < task.solved) == task.metric.higher_is_better
