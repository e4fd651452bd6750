"""Confusions, beside those that scikit-learn counts."""

from types import SimpleNamespace

import numpy as np
import pytest

from ostinato.report import network_charts
from ostinato.runs import Config
from ostinato.runs.build import build_network
from ostinato.tasks import Arrays, Classify, Tagging
from ostinato.tasks.applying import outputs_on
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
    network = build_network(Config(task=name, cell="gru", units=4), task)
    found = confusion(network, task, "test")
    right, said = [], []
    for batch in task.evaluated("test"):
        outputs = np.asarray(outputs_on(network, batch.arrays))
        for at in np.argwhere(np.asarray(batch.weights) > 0):
            if batch.lengths is None or at[0] < batch.lengths[at[1]]:
                right.append(int(np.asarray(batch.targets)[tuple(at)]))
                said.append(int(outputs[tuple(at)].argmax()))
    labels = range(len(task.classes))
    assert np.array_equal(found.counts, metrics.confusion_matrix(right, said, labels=labels))
    assert found.counts.sum() == len(right) > 3


def test_the_report_draws_the_classes_with_most_errors(monkeypatch):
    counts = np.diag(np.full(50, 3))
    counts[0, 49], counts[7, 8] = 2, 6
    found = Confusion(tuple(f"class{n}" for n in range(50)), counts)
    monkeypatch.setattr(network_charts, "confusion", lambda *_: found)
    (chart,) = network_charts.confusions(SimpleNamespace(whole=None, task=None))
    assert len(chart.rows) == network_charts.CLASSES and chart.rows[-1] == "class49"
    assert "class8 for class7 (6), class49 for class0 (2)" in chart.caption
    assert "Of 158 answers 8 are wrong; most often it says class8" in chart.caption
    counts[0, 49] = counts[7, 8] = 0
    (flawless,) = network_charts.confusions(SimpleNamespace(whole=None, task=None))
    assert flawless.caption.endswith("Of 150 answers 0 are wrong.")
    assert np.isclose(chart.values[7][8], 6 / 9) and chart.drawing().x.title == "said"


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
