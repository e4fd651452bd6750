"""What a configuration leaves open is chosen from the data that are read."""

import numpy as np
import pytest

from ostinato import Config, open_run, train
from ostinato.tasks import Arrays


def labelled(count=40, steps=12, classes=2):
    """Sequences whose class is the direction of their slope, with noise."""
    rng = np.random.default_rng(0)
    labels = np.arange(count) % classes
    slopes = (labels - (classes - 1) / 2)[:, None, None]
    times = np.linspace(-1, 1, steps)[None, :, None]
    return slopes * times + 0.2 * rng.normal(size=(count, steps, 1)), labels


def test_few_labelled_sequences_are_classified_by_random_features(tmp_path):
    task = Arrays(*labelled(), split="50/10/40")
    run = train(Config(task="arrays"), tmp_path / "run", task=task)
    assert (run.config.cell.name, run.config.learner.name) == ("reservoir", "ridge")
    assert run.config.batch == 20 and run.steps() == [1]
    assert run.evaluate("test")["accuracy"] == 1.0
    answers = open_run(tmp_path / "run").classify(labelled(4)[0])
    assert [answer[0] for answer in answers] == [0, 1, 0, 1]
    assert all(0.6 < max(answer.probabilities.values()) <= 1 for answer in answers)


@pytest.mark.parametrize("given", [{"cell": "gru"}, {"units": 5}, {"steps": 9}, {"rate": 0.1}])
def test_a_setting_of_network_or_training_keeps_both(given):
    task = Arrays(*labelled())
    assert task.recipe_of_data()["cell"] == "reservoir"
    config = Config(task="arrays", **given)
    assert config.with_recipe_of(task) == config
    assert Config(task="arrays", seed=3, scale=False).with_recipe_of(task).seed == 3


def test_many_sequences_symbols_numbers_and_answers_per_step_have_no_such_recipe():
    xs, ys = labelled()
    for task in (
        Arrays(xs, ys + 0.5),
        Arrays((xs[..., 0] > 0).astype(int), ys),
        Arrays(xs, np.tile(ys[:, None], (1, 12))),
        Arrays(*labelled(count=1300, steps=2)),
    ):
        assert not task.recipe_of_data()


def test_a_run_of_float64_finds_its_kept_data_again(tmp_path):
    task = Arrays(*labelled())  # scaled to float32
    config = Config(task="arrays", cell="reservoir", units=5, learner="ridge", batch=32)
    train(config, tmp_path / "run", task=task)
    assert open_run(tmp_path / "run").evaluate("test").keys() >= {"accuracy"}
