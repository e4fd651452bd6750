"""The base of tasks that generate their series, and of their forecasts in a closed loop."""

import abc
import dataclasses
from pathlib import Path
from typing import Any, ClassVar, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ...cells import Model
from ...constructors import from_arguments
from ...data import Batch
from ...data.splits import in_percent, shares
from ...errors import BadInput
from ...settings import setting
from ...weights import own_precision
from ..applying import ApplyOptions
from ..checks import checked_part, checked_seed
from ..framing import PerStep
from ..metrics import Metric, NormalisedError
from ..target_codec import TargetCodec
from ..task import Artefacts
from .continuing import continued, places_of
from .forecast import Forecast
from .series import Series

STARTS = 100  # places from which an evaluation forecasts in a closed loop


class GeneratedSeries(Series):
    """A `Series` made by a generator from the task's seed; subclasses implement `generate`.

    Attributes:
        first_metric: what is reported before the metrics of any series, by default the NRMSE.
        chance: what the best constant has of it.
    """

    first_metric: ClassVar[Metric] = NormalisedError()
    chance = 1.0

    @dataclasses.dataclass(frozen=True)
    class Settings:
        samples: int = setting(10_000, "samples of the series", min=100, max=100_000_000)
        length: int = setting(100, "steps of a window", min=1)
        washout: int = setting(
            500, "steps after a beginning that do not count, for the state to settle", min=0
        )
        split: str = setting(
            "60/20/20", "percent for training, validation, test", read=shares, write=in_percent
        )

    def __init__(
        self,
        *,
        seed: int = 0,
        artefacts: Artefacts = None,
        settings: Any = None,
        **given: Any,
    ):
        """
        Args:
            seed: of the series and of batches.
            artefacts: of a trained model, whose scaling is used.
            settings: an instance of `Settings`, in place of settings by name.
            given: settings by name; see `Settings`.
        """
        own = from_arguments(self.Settings, given, settings)
        xs, ys = self.generate(own, checked_seed(seed))
        kind = None if ys is None else "regression"
        alike = Series.Settings(length=own.length, washout=own.washout, split=own.split, kind=kind)
        source = f"the series of {self.name}"
        super().__init__(xs, ys, seed=seed, source=source, artefacts=artefacts, settings=alike)
        self.settings = own
        self.framing = self.judged(self.answers)

    @abc.abstractmethod
    def generate(self, settings: Any, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        """The series, and what goes with its steps unless it is forecast; see `Series`."""

    @classmethod
    def from_settings(cls, settings: Any, seed: int, artefacts: Artefacts = None) -> Self:
        return cls(seed=seed, artefacts=artefacts, settings=settings)

    @classmethod
    def on_file(  # type: ignore[override]
        cls, path: Path, settings: Any, artefacts: dict[str, Any]
    ) -> Series:
        """The same forecasts on a series of a file, whose columns are called 1, 2 and so on."""
        if artefacts.get("targets") is None:
            raise BadInput(f"the task {cls.name} reads no files, got {path}")
        task = Series.on_file(path, _of_series(settings), artefacts)
        task.name, task.framing = cls.name, cls.judged(task.answers)
        return task

    @classmethod
    def judged(cls, answers: TargetCodec) -> PerStep:
        """The framing of these answers, with the metric of the task as the first one."""
        return PerStep(answers.loss, (cls.first_metric, *answers.metrics), cls.chance)

    @classmethod
    def forecast(cls, network: Model, how: ApplyOptions) -> Forecast:
        if how.artefacts.get("targets") is None:
            raise BadInput(f"a run of the task {cls.name} forecasts nothing")
        return Series.forecast(network, dataclasses.replace(how, settings=_of_series(how.settings)))

    def closed_loops(
        self, network: Model, part: str, steps: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Forecasts from many places of a part, and what really came.

        From each place the network first reads as many steps as the washout has, at least one.

        Returns:
            Two arrays `(steps, places, columns)`, scaled; `None` if the part is too short.
        """
        (x,), (cut,) = self.series, self.rows.cuts
        values = self.scaler(x[cut[checked_part(part)]])
        before = max(self.washout, 1)
        room = len(values) - before - steps
        if room < 0:
            return None
        starts = before + np.unique(np.linspace(0, room, STARTS).astype(int))
        history = np.stack([values[start - before : start] for start in starts], axis=1)
        with own_precision(network):
            rows = jnp.zeros((steps, *history.shape[1:]), values.dtype)
            places = places_of(self.targets)
            layer = eqx.nn.inference_mode(network)
            batch = Batch(history, None, np.ones(history.shape[:2])).arrays
            forecasts = continued(layer, batch, self.answers, rows, places)
        came = np.stack([values[start : start + steps] for start in starts], axis=1)
        return np.asarray(forecasts), came

    def deviation(self) -> np.ndarray:
        """Of each scaled column over the whole series."""
        return np.concatenate([self.scaler(x) for x in self.series]).std(axis=0)


def _of_series(settings: Any) -> Any:
    return Series.Settings(length=settings.length, washout=settings.washout)
