"""The estimators of scikit-learn: its own checks, searches and pipelines."""

import pickle

import jax
import numpy as np
import pandas
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


GAPS = np.where(np.arange(X.size).reshape(X.shape) % 7 == 3, np.nan, X)
TEXTS = ["a fine film indeed", "a dull film indeed"] * 12


@pytest.mark.parametrize(
    "kind, xs, settings",
    [
        (SequenceRegressor, X, {"scale": False}),
        (SequenceRegressor, GAPS, {"missing": "mask"}),
        (SequenceClassifier, GAPS[:, :, None], {"missing": "mask", "scale": False}),
        (SequenceClassifier, TEXTS, {"level": "characters", "length": 4}),
    ],
    ids=str,
)
def test_settings_of_the_task_reach_the_task(kind, xs, settings):
    model = kind(**TINY, settings=settings).fit(xs, Y)
    chosen = model.config_.task.settings
    assert {name: getattr(chosen, name) for name in settings} == settings
    assert len(model.predict(xs)) == 24
    kept = model.artefacts_
    if "scale" in settings:
        assert set(kept["scaler"]["factor"]) == {1.0}
    if "missing" in settings:
        assert kept["scaler"]["masked"] == [0]
    if "level" in settings:
        assert (kept["level"], kept["length"]) == ("characters", 4)


REFUSED = {
    "task": ("text", "the task follows from the X that fit is given; leave out task"),
    "units": (5, "give it as an argument: SequenceClassifier(units=5)"),
    "rate": (0.1, "give it as an argument: SequenceClassifier(rate=0.1)"),
    "seed": (3, "give it as an argument: SequenceClassifier(random_state=3)"),
    "split": ("80/10/10", "give the share of the validation part: SequenceClassifier(validation="),
    "kind": ("regression", "it follows from the estimator: leave it out"),
    "target": ("y", "X and y are the data"),
    "file": ("x.npz", "X and y are the data"),
    "ignore": ("a", "X and y are the data"),
    "length": (3, "has a length of 5 steps"),
    "missing": ("often", "missing must be one of refuse, mask"),
    "horizon": (2, "horizon is a setting of the task"),
    3: (3, "names of settings are texts, got 3"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_setting_that_fit_cannot_honour_is_refused(name):
    value, words = REFUSED[name]
    with pytest.raises(BadInput) as error:
        SequenceClassifier(**TINY, settings={name: value}).fit(X, Y)
    assert words in str(error.value) and "\n" not in str(error.value)


def test_a_column_of_texts():
    texts = pandas.Series(TEXTS, index=range(100, 124))
    model = SequenceClassifier(**TINY).fit(texts, pandas.Series(Y))
    np.testing.assert_array_equal(model.predict(texts), model.predict(TEXTS))
    search = GridSearchCV(SequenceClassifier(**TINY), {"settings": [{"level": "words"}]}, cv=2)
    assert search.fit(texts, Y).best_params_ == {"settings": {"level": "words"}}


def test_arrays_of_sequences_have_steps_not_features():
    """The number of steps may differ from call to call, but not what each step holds."""
    xs = np.random.default_rng(0).normal(size=(24, 6, 2))
    model = SequenceClassifier(**TINY).fit(xs, Y)
    assert not hasattr(model, "n_features_in_")
    longer = np.concatenate([xs, xs[:, :3]], axis=1)
    np.testing.assert_array_equal(model.predict(longer), model.predict([*longer]))
    np.testing.assert_array_equal(
        model.predict_proba(longer), model.predict_proba([*longer[:-1], longer[-1], xs[0]])[:-1]
    )
    with pytest.raises(BadInput, match="the model reads 2 columns, these data have 3"):
        model.predict(np.zeros((4, 6, 3)))


@pytest.mark.parametrize(
    "given",
    [None, np.random.RandomState(3), np.random.default_rng(3), np.int64(3), np.uint8(3)],
    ids=lambda x: type(x).__name__,
)
def test_every_form_of_randomness(given):
    model = SequenceClassifier(**TINY, random_state=given).fit(X, Y)
    assert model.config_.seed == 3 or not isinstance(given, np.integer)


def test_numbers_of_numpy_are_numbers():
    given = {
        "units": np.int32(2), "layers": np.int64(1), "steps": np.int16(2), "batch": np.uint8(8),
        "rate": np.float32(0.25), "validation": np.float32(0.25),
        "settings": {"dropout": np.float64(0.5), "scale": np.bool_(False)},
    }  # fmt: skip
    config = SequenceClassifier(**given).fit(X, Y).config_
    assert (config.units, config.rate, config.dropout, config.scale) == (2, 0.25, 0.5, False)


@pytest.mark.parametrize(
    "given, xs, ys, words",
    [
        ({"random_state": "x"}, X, Y, "random_state must be None, a whole number, a RandomState"),
        ({"cell": "nothing"}, X, Y, "there is no cell 'nothing'"),
        ({"units": 0}, X, Y, "units must be at least 1"),
        ({"validation": 1}, X, Y, "validation must be a share from 0 to below 1"),
        ({"validation": "x"}, X, Y, "validation must be a share"),
        ({"settings": {"nothing": 1}}, X, Y, "'nothing', which is not a setting"),
        ({"settings": 3}, X, Y, "settings must be a dictionary"),
        ({"random_state": -1}, X, Y, "random_state must be at least 0, got -1"),
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
