"""Confusions, beside those that scikit-learn counts."""

import equinox as eqx
import jax
import numpy as np
import pytest

from ostinato.runs import Config
from ostinato.runs.build import build_network
from ostinato.tasks import Arrays, Classify, Tagging
from ostinato.tasks.confusion import Confusion, confusion

from .members import SENTENCES, STEPS, TEXTS, VERDICTS

TASKS = {
    "classify": lambda: Classify(TEXTS, VERDICTS),
    "tag": lambda: Tagging(SENTENCES),
    "arrays": lambda: Arrays(STEPS[..., None] * 1.0, STEPS),
}


@pytest.mark.parametrize("name", TASKS)
def test_counts_are_those_of_scikit_learn(name):
    metrics = pytest.importorskip("sklearn.metrics")
    task = TASKS[name]()
    network = eqx.nn.inference_mode(build_network(Config(task=name, cell="gru", units=4), task))
    found = confusion(network, task, "test")
    right, said = [], []
    for batch in task.held_out("test", 1):  # sentence by sentence, without padding
        steps = batch.steps if batch.lengths is None else int(batch.lengths[0])
        layer, xs, state = network.prepare(_run, batch.arrays)
        outputs = np.asarray(_run(layer, xs, state, **batch.marks)[0])[:steps, 0]
        asked = np.asarray(batch.weights)[:steps, 0] > 0
        right += np.asarray(batch.targets)[:steps, 0][asked].tolist()
        said += outputs.argmax(-1)[asked].tolist()
    labels = range(len(task.classes))
    assert np.array_equal(found.counts, metrics.confusion_matrix(right, said, labels=labels))
    assert found.counts.sum() == len(right) > 3


def _run(layer, xs, state=None, **marks):
    from ostinato.through_time import unroll

    return unroll(layer, jax.tree.map(np.asarray, xs), state, **marks)


def test_what_is_said_about_many_classes():
    counts = np.diag(np.arange(1, 14))
    assert Confusion(tuple("abcdefghijklm"), counts).lines() == ["nothing was confused"]
    counts[2, 5], counts[0, 1] = 7, 9
    found = Confusion(tuple("abcdefghijklm"), counts)
    assert found.largest() == [("a", "b", 9), ("c", "f", 7)]
    assert found.lines()[1] == "  a was taken for b 9 times"


def test_a_task_without_classes_has_none():
    several = Arrays(STEPS[..., None] * 1.0, np.eye(3, dtype=int)[STEPS], kind="multilabel")
    assert several.classes is None and confusion(None, several, "test") is None
