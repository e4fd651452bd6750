"""Estimators of scikit-learn around recurrent networks, for grid searches and pipelines.

`SequenceClassifier` and `SequenceRegressor` are trained by `runs.train` on the task `tasks.Arrays`,
or on `tasks.Classify` where the inputs are texts. They need
`pip install '.[sklearn]'` in the source folder.
"""

import tempfile
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np

from .errors import BadInput, needing
from .runs import Config, train
from .runs.build import precision
from .settings import checked_int, checked_kind, settings_of, shown
from .tasks import Arrays, Classify
from .tasks.applying import ApplyOptions
from .tasks.checks import MAX_SEED

with needing("an estimator", "scikit-learn", "sklearn"):
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import check_array, check_random_state, check_X_y
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data


class _Estimator(BaseEstimator):
    """What both estimators share: parameters, training and the outputs for new sequences."""

    def __init__(
        self,
        cell: str = "gru",
        units: int = 32,
        layers: int = 1,
        learner: str = "adam",
        rate: float | None = None,
        steps: int = 300,
        batch: int = 32,
        validation: float = 0.0,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        settings: Mapping[str, Any] | None = None,
    ):
        self.cell = cell
        self.units = units
        self.layers = layers
        self.learner = learner
        self.rate = rate
        self.steps = steps
        self.batch = batch
        self.validation = validation
        self.random_state = random_state
        self.settings = settings

    def _trained(self, make: Any, xs: Any, ys: Any, **given: Any) -> Self:
        """Train on a task, and keep the network and what it needs of the task."""
        share: Any = self.validation
        if not isinstance(share, int | float | np.number) or not 0 <= share < 1:
            raise BadInput(f"validation must be a share from 0 to below 1, got {shown(share)}")
        more = self._settings(make)
        chosen = {name: getattr(self, name) for name in ("cell", "units", "layers", "learner")}
        chosen |= {"steps": self.steps, "batch": self.batch, "seed": _seed(self.random_state)}
        if self.rate is not None:
            chosen["rate"] = self.rate
        config = Config(task=make.name, **chosen, **more)
        own = {name: getattr(config, name) for name in more if name in settings_of(make.Settings)}
        with precision(config), tempfile.TemporaryDirectory() as folder:
            split = (1 - float(share), float(share), 0.0)
            task = make(xs, ys, seed=config.seed, split=split, **given, **own)
            run = train(config, folder, task=task)
            self.network_, self.artefacts_ = run.network(), run.artefacts
            self.config_ = run.config
        return self

    def _settings(self, task: Any) -> dict[str, Any]:
        """The further settings; those that are said elsewhere are refused."""
        given = dict(checked_kind("settings", self.settings or {}, Mapping, "a dictionary"))
        own, name_of_own = settings_of(task.Settings), type(self).__name__
        for name, value in given.items():
            if not isinstance(name, str):
                raise BadInput(f"names of settings are texts, got {shown(name)}")
            argument = "random_state" if name == "seed" else name
            if name == "task":
                words = "the task follows from the X that fit is given; leave out task"
            elif argument in self.get_params():
                words = f"give it as an argument: {name_of_own}({argument}={shown(value)})"
            elif name == "split":
                words = (
                    "give the share of the validation part: "
                    f"{name_of_own}(validation=0.1); nothing is held out for a test"
                )
            elif name == "kind":
                words = "it follows from the estimator: leave it out"
            elif name in own and own[name].of_file:
                words = "it is about reading a file, but X and y are the data; leave it out"
            else:
                continue
            raise BadInput(f"settings has {name!r}: {words}")
        return given

    def _answers(self, xs: Any) -> list[dict[str, Any]]:
        """What the network says of each sequence or text; see `ostinato apply`."""
        member = self.config_.task
        with precision(self.config_):
            how = ApplyOptions(xs, member.settings, self.artefacts_)
            return [*member.kind.apply(self.network_, how)]

    def _checked(self, X: Any, y: Any = None, **how: Any) -> Any:
        """The inputs, and the targets if they are given, as scikit-learn checks them.

        Texts and lists of sequences of different lengths are none of its arrays.
        """
        X = _column(X)
        if y is not None:
            for stale in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(stale, None)
        if _is_listed(X):
            if y is None:
                return X
            y = np.asarray(y)
            if len(y) != len(X):
                raise BadInput(f"X has {len(X)} sequences, y {len(y)} targets")
            return X, y
        more = {} if y is None else {"y": y, "multi_output": how.pop("several", False)}
        more |= {"ensure_all_finite": "allow-nan" if self._reads_gaps() else True}
        more |= {"dtype": np.float64, "allow_nd": True, **how}
        if np.asarray(X).ndim != 3:  # not every array knows np.ndim
            return validate_data(self, X, reset=y is not None, **more)
        # The second axis is time; `validate_data` would count its steps as features.
        return (check_array if y is None else check_X_y)(X, estimator=self, **more)

    def _reads_gaps(self) -> bool:
        return isinstance(self.settings, Mapping) and self.settings.get("missing") == "mask"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = tags.input_tags.string = True
        tags.input_tags.allow_nan = self._reads_gaps()
        tags.target_tags.required = True
        return tags


class SequenceClassifier(ClassifierMixin, _Estimator):
    """A recurrent network that reads a sequence or a text, and says its class.

    Args:
        cell, units, layers: of the network.
        learner, rate, steps, batch: of its training.
        validation: the share of the sequences that chooses the best checkpoint; with 0 the last.
        random_state: the seed of weights and batches: a number, a `RandomState` or `Generator` of
            NumPy that draws it, or `None` for another one at every fit.
        settings: further settings of the run and its task by name, such as
            `{"bidirectional": True, "missing": "mask"}`. What is an argument above is refused.

    `X` has the forms that `tasks.Arrays` takes: `(N, T, inputs)`; `(N, T)`, T steps of one number;
    a list of arrays `(T_i, inputs)`; or texts, as a list, an array or a column of pandas.

    Example:
        >>> from ostinato.estimators import SequenceClassifier
        >>> X = np.random.default_rng(0).normal(size=(20, 6))
        >>> model = SequenceClassifier(units=4, steps=2).fit(X, X[:, 0] > 0)
        >>> model.predict_proba(X).shape, model.classes_
        ((20, 2), array([False,  True]))
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Train on sequences, and a class for each."""
        X, y = self._checked(X, _given(y))
        check_classification_targets(y)
        self.classes_, codes = np.unique(np.asarray(y).ravel(), return_inverse=True)
        if len(self.classes_) < 2:
            raise BadInput("classification needs at least 2 classes, y has 1 class")
        if _is_texts(X):
            return self._trained(Classify, X, [*map(str, codes)])
        return self._trained(Arrays, X, codes, kind="classification", per_step=False)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, `(N, classes)`, in the order of `classes_`."""
        check_is_fitted(self)
        answers = self._answers(self._checked(X))
        rows = [{int(name): p for name, p in x["probabilities"].items()} for x in answers]
        return np.array([[row[n] for n in range(len(self.classes_))] for row in rows])

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each sequence."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]


class SequenceRegressor(RegressorMixin, _Estimator):
    """A recurrent network that reads a sequence, and says a number or several.

    For the arguments and the forms of `X` see `SequenceClassifier`; texts are not read.

    Example:
        >>> from ostinato.estimators import SequenceRegressor
        >>> X = np.random.default_rng(0).normal(size=(20, 6, 2))
        >>> SequenceRegressor(units=4, steps=2).fit(X, X[:, 0]).predict(X).shape
        (20, 2)
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Train on sequences, and the numbers of each, `(N,)` or `(N, outputs)`."""
        X, y = self._checked(X, _given(y), several=True, y_numeric=True)
        if _is_texts(X):
            raise BadInput("X must be sequences of numbers; texts have classes")
        self._one = np.ndim(y) == 1
        return self._trained(Arrays, X, np.asarray(y, float), kind="regression", per_step=False)

    def predict(self, X: Any) -> np.ndarray:
        """The numbers of each sequence, of the shape that `y` had."""
        check_is_fitted(self)
        rows = np.array([answer["values"] for answer in self._answers(self._checked(X))])
        return rows[:, 0] if self._one else rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.target_tags.multi_output = False, True
        return tags


def _seed(given: Any) -> int:
    """The seed of a run: the given number, or one drawn as scikit-learn draws it."""
    if isinstance(given, np.random.Generator):
        return int(given.integers(MAX_SEED))
    if given is None or isinstance(given, np.random.RandomState):
        return int(check_random_state(given).randint(MAX_SEED, dtype=np.int64))
    if not isinstance(given, Integral) or isinstance(given, bool):
        raise BadInput(
            "random_state must be None, a whole number, a RandomState or a Generator of NumPy; "
            f"got {shown(given)}"
        )
    return checked_int("random_state", given, 0, MAX_SEED)


def _column(X: Any) -> Any:
    """A column of texts or of sequences, such as a pandas Series, as a list; else `X` itself."""
    if isinstance(X, str | bytes | Sequence) or (array := np.asarray(X)).ndim != 1:
        return X
    cells = [*array]
    return cells if cells and (np.ndim(cells[0]) or isinstance(cells[0], str)) else X


def _is_texts(X: Any) -> bool:
    return _is_listed(X) and isinstance(X[0], str)


def _is_listed(X: Any) -> bool:
    """Whether inputs are texts, or sequences of different lengths."""
    if not isinstance(X, Sequence) or isinstance(X, str | bytes) or not X:
        return False
    return isinstance(X[0], str) or len({np.shape(x)[:1] for x in X}) > 1


def _given(y: Any) -> Any:
    if y is None:
        raise BadInput("requires y to be passed, but the target y is None")
    return y
