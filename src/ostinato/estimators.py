"""Estimators of scikit-learn around recurrent networks, for grid searches and pipelines.

`SequenceClassifier` and `SequenceRegressor` are trained by `runs.train` on the task `tasks.Arrays`,
or on `tasks.Classify` where the inputs are texts. They need `pip install 'ostinato[sklearn]'`.
"""

import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from .errors import BadInput, needing
from .runs import Config, train
from .runs.build import precision
from .settings import checked_kind, shown
from .tasks import Arrays, Classify
from .tasks.applying import ApplyOptions

with needing("an estimator", "scikit-learn", "sklearn"):
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
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
        random_state: int = 0,
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
        share = self.validation
        if not isinstance(share, int | float) or not 0 <= share < 1:
            raise BadInput(f"validation must be a share from 0 to below 1, got {shown(share)}")
        more = dict(checked_kind("settings", self.settings or {}, Mapping, "a dictionary"))
        chosen = {name: getattr(self, name) for name in ("cell", "units", "layers", "learner")}
        chosen |= {"steps": self.steps, "batch": self.batch, "seed": self.random_state}
        if self.rate is not None:
            chosen["rate"] = self.rate
        config = Config(task=make.name, **{**chosen, **more})
        with precision(config), tempfile.TemporaryDirectory() as folder:
            split = (1 - share, share, 0.0)
            task = make(xs, ys, seed=config.seed, split=split, **given)
            run = train(config, folder, task=task)
            self.network_, self.artefacts_ = run.network(), run.artefacts
            self.config_ = run.config
        return self

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
        if _is_listed(X):
            if y is None:
                return X
            y = np.asarray(y)
            if len(y) != len(X):
                raise BadInput(f"X has {len(X)} sequences, y {len(y)} targets")
            return X, y
        more = {} if y is None else {"y": y, "multi_output": how.pop("several", False)}
        return validate_data(
            self, X, dtype=np.float64, allow_nd=True, reset=y is not None, **more, **how
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = tags.input_tags.string = True
        tags.target_tags.required = True
        return tags


class SequenceClassifier(ClassifierMixin, _Estimator):
    """A recurrent network that reads a sequence or a text, and says its class.

    Args:
        cell, units, layers: of the network.
        learner, rate, steps, batch: of its training.
        validation: the share of the sequences that chooses the best checkpoint; with 0 the last.
        random_state: the seed of weights and batches.
        settings: further settings of a run by name, such as `{"bidirectional": True}`.

    `X` has the forms that `tasks.Arrays` takes: `(N, T, inputs)`; `(N, T)`, T steps of one number;
    a list of arrays `(T_i, inputs)`; or a list of texts.

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


def _is_texts(X: Any) -> bool:
    return _is_listed(X) and isinstance(X[0], str)


def _is_listed(X: Any) -> bool:
    """Whether inputs are texts, or sequences of different lengths."""
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "UO" and len(X) > 0 and isinstance(X[0], str)
    if not isinstance(X, Sequence) or isinstance(X, str | bytes) or not X:
        return False
    return isinstance(X[0], str) or len({np.shape(x)[:1] for x in X}) > 1


def _given(y: Any) -> Any:
    if y is None:
        raise BadInput("requires y to be passed, but the target y is None")
    return y
