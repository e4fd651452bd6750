"""The estimators of scikit-learn: its own checks, searches and pipelines."""

import pickle

import jax
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ostinato.errors import BadInput
from ostinato.estimators import SequenceClassifier, SequenceRegressor
from ostinato.tasks import Arrays

TINY = {"units": 2, "steps": 2, "batch": 8}
CHECKED = [SequenceClassifier(**TINY), SequenceRegressor(**TINY)]
WHY = "two steps of training are not enough for its demand on accuracy"
EXPECTED = dict.fromkeys(("check_classifiers_train", "check_regressors_train"), WHY)
X = np.random.default_rng(0).normal(size=(24, 5))
Y = X[:, 0] > 0


@pytest.mark.slow
@parametrize_with_checks(CHECKED, expected_failed_checks=lambda estimator: EXPECTED)
def test_a_check_of_scikit_learn(estimator, check):
    check(estimator)


def test_it_learns_and_is_searched_for_in_a_pipeline():
    """One search over the number of steps: more of them are better."""
    model = SequenceClassifier(units=4, rate=0.05, batch=16, settings={"log_every": 100})
    search = GridSearchCV(model, {"steps": [1, 60]}, cv=2)
    xs = np.random.default_rng(1).normal(size=(60, 3))
    labels = np.where(xs[:, -1] > 0, "up", "down")
    pipeline = make_pipeline(StandardScaler(), search).fit(xs, labels)
    assert search.best_params_ == {"steps": 60} and pipeline.score(xs, labels) > 0.8
    assert [*pipeline.classes_] == ["down", "up"]
    best = pipeline[-1].best_estimator_
    again = pickle.loads(pickle.dumps(best))
    np.testing.assert_array_equal(again.predict_proba(xs), best.predict_proba(xs))
    np.testing.assert_allclose(best.predict_proba(xs).sum(axis=1), 1)
    assert clone(best).get_params() == best.get_params() and not hasattr(clone(best), "classes_")


def test_sequences_of_vectors_of_different_lengths_and_texts():
    longer = [np.stack([x, x], axis=1)[: 2 + n % 3] for n, x in enumerate(X)]
    model = SequenceRegressor(**TINY).fit(longer, X[:, :2])
    assert model.predict(longer[:3]).shape == (3, 2)
    texts = ["a fine film", "a dull film"] * 12
    classes = [*range(12)] * 2  # as texts, 10 would come before 2
    model = SequenceClassifier(**TINY).fit(texts, classes)
    assert model.predict_proba(np.array(texts)).shape == (24, 12)
    assert {*model.predict(texts)} <= {*classes}


def test_the_validation_share_chooses_and_teaches_nothing():
    """Other sequences there change neither the scaling nor, before they are asked, a weight."""
    model = SequenceClassifier(**TINY, validation=0.25)
    task = Arrays(X, Y.astype(int), kind="classification", per_step=False, split=(0.75, 0.25, 0))
    others = X.copy()
    others[task.parts["valid"]] = 99 - 7 * others[task.parts["valid"]]
    one, two = clone(model).fit(X, Y), clone(model).fit(others, Y)
    assert len(task.parts["valid"]) == 6 and one.artefacts_ == two.artefacts_
    for x, y in zip(*(jax.tree.leaves(m.network_) for m in (one, two)), strict=True):
        np.testing.assert_array_equal(x, y)
    whole = Arrays(others, Y.astype(int), kind="classification", per_step=False, split=(1, 0, 0))
    assert whole.artefacts() != one.artefacts_, "without validation they are learned from"


@pytest.mark.parametrize(
    "given, xs, ys, words",
    [
        ({"cell": "nothing"}, X, Y, "there is no cell 'nothing'"),
        ({"units": 0}, X, Y, "units must be at least 1"),
        ({"validation": 1}, X, Y, "validation must be a share from 0 to below 1"),
        ({"validation": "x"}, X, Y, "validation must be a share"),
        ({"settings": {"nothing": 1}}, X, Y, "'nothing', which is not a setting"),
        ({"settings": 3}, X, Y, "settings must be a dictionary"),
        ({"random_state": -1}, X, Y, "seed must be at least 0"),
        ({}, X, None, "requires y to be passed"),
        ({}, X, np.zeros(24), "at least 2 classes"),
        ({}, X, X[:, 0], "Unknown label type"),
        ({}, X[:3], Y, "inconsistent numbers of samples"),
        ({}, X[0], Y, "Expected 2D array"),
        ({}, ["a"] * 3, [1, 2], "X has 3 sequences, y 2 targets"),
        ({}, ["a", 3], [1, 2], "texts must be a list of texts"),
        ({}, "text", [1], "."),
    ],
)
def test_wrong_arguments_get_one_line(given, xs, ys, words):
    with pytest.raises(ValueError, match=words):
        SequenceClassifier(**{**TINY, **given}).fit(xs, ys)
    if "texts" not in words:
        return
    with pytest.raises(BadInput, match="X must be sequences of numbers; texts have classes"):
        SequenceRegressor().fit(["a", "b"], [1.5, 2.5])
