"""What only some tasks can do, asked of a task and of its class."""

import numpy as np
import pytest

from ostinato.errors import BadInput
from ostinato.tasks import TASKS, AnsweringTask, OnFileTask, PassageTask, PicturedTask, TextTask
from ostinato.tasks.pictures import Plot
from ostinato.tasks.series.series import Series
from ostinato.tasks.synthetic.xor import Xor


class Drawn(Xor, PicturedTask):
    """A task of a user, with an ability and nothing else that is new."""

    pictured = "What it draws"

    def plots(self, network):
        return [Plot("line", "A line", "x", "y", [0.0], {"one": np.zeros(1)})]


def test_a_task_is_given_as_one_that_can_or_not_at_all():
    task = Drawn(length=5)
    assert task.ability(PicturedTask) is task and Drawn.able(PicturedTask) is Drawn
    assert task.pictures(None) == [] and len(task.plots(None)) == 1
    assert Xor(length=5).ability(PicturedTask) is None


def test_a_class_that_cannot_refuses_in_one_line():
    for kind in (TextTask, PassageTask, AnsweringTask, OnFileTask, PicturedTask):
        with pytest.raises(BadInput, match=r"^[^\n]*the task xor [^\n]*$"):
            Xor.able(kind)


def test_a_series_forecasts_unless_something_goes_with_its_steps():
    xs = np.sin(np.arange(200) / 5)
    forecasts, labelled = Series(xs), Series(xs, np.cos(np.arange(200) / 5))
    assert forecasts.ability(Series) is forecasts and labelled.ability(Series) is None
    assert labelled.ability(AnsweringTask) is labelled


def test_naive_forecasts_are_among_the_baselines():
    for name in ("ntm-ngrams", "bouncing-balls"):
        task = TASKS[name](length=10)
        assert task.yardsticks("valid").items() <= task.baselines().items()
