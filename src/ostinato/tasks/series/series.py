"""A series of your own: forecast it, or learn a value or class at each of its steps."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import jax
import numpy as np

from ...cells import Model
from ...data.frames import is_frame
from ...data.rows import is_rows, table_of_rows
from ...data.splits import PARTS, Parts, divided, shares
from ...errors import BadInput, naming
from ...settings import shown
from ..abilities import AnsweringTask
from ..applying import ApplyOptions, outputs_on
from ..batches import hashed
from ..checks import checked_part
from ..file_task import FileTask, Reading
from ..interface import Interface
from ..target_codec import TargetCodec
from ..task import Able, Artefacts
from ..windows import Stream, Streamed, in_windows
from . import naive_forecasts, series_data
from .columns import fit_columns
from .conformal import Conformal, calibrated, check_enough
from .continuing import forecast_after
from .forecast import Forecast
from .forecast_scores import Hindcasts, Levels, hindcasts, naive_scales
from .from_files import in_words, names_in, table_of_file
from .known_future import with_future
from .quantiles import levels_of
from .series_artefacts import SeriesArtefacts, series_interface
from .series_rows import SeriesRows
from .series_settings import COVERAGE, SeriesSettings
from .series_table import given_series, is_table, text_columns
from .series_targets import fit_forecasts, joined, pairs
from .series_times import calendar_of
from .sparklines import sparklines

UNCALIBRATED = "intervals are not calibrated yet, because training has not ended"


class Series(Streamed, FileTask, AnsweringTask):
    """Forecast columns of a table by time; or learn what goes with each of its steps.

    It is one series `(T, columns)` or several.

    Forecasting: at each step the values of all columns come in, and the next `horizon` values of
    the target columns are to be predicted, in the order of time and then of columns. With `ys` a
    class (whole numbers or text) or numbers (floats) are learned at each step. Of columns that are
    `known` ahead the next `horizon` values come in too; for these, words and the calendar see
    `columns`. A data frame keeps its names, and the rows of each series are sorted by its dates.

    The parts follow one another in time, and a target never lies in another part than its input.
    Of several series each is divided in this way, and the state starts anew where one begins. For
    the windows of a batch see `Streamed`.

    All columns are scaled to mean 0 and deviation 1, fitted on the training part. Errors are
    averaged over horizon and columns, in the units of the data; R² weighs all columns equally.
    Missing values: see `Arrays`.

    `chance` is the variance of the targets, the error of their mean. The baseline `persistence`
    repeats the last known value, `seasonal naive` the value one season earlier (`naive_forecasts`).
    With `quantiles` the loss is the pinball loss and intervals are forecast; see `quantiles`. With
    `conformal` the intervals of a trained network are calibrated on the validation part.

    Shapes: inputs `(T, B, inputs)`, targets `(T, B, horizon * targets)`, outputs the same, or with
    quantiles `(T, B, horizon * targets * levels)`; for classes targets are `(T, B)`.

    Example:
        >>> waves = np.sin(np.arange(400)[:, None] / np.array([5, 9]))
        >>> task = Series(waves, targets=[1], horizon=3, length=20)
        >>> batch = task.batch(0, size=4)
        >>> batch.inputs.shape, batch.targets.shape
        ((20, 4, 2), (20, 4, 3))
    """

    Settings = SeriesSettings
    name = "series"
    apply_options: ClassVar[tuple[str, ...]] = ("steps", "future")

    def __init__(
        self,
        xs: Any,
        ys: Any = None,
        *,
        targets: Sequence[int | str] | None = None,
        names: Sequence[str] | None = None,
        source: str = "the series",
        artefacts: Artefacts = None,
        **given: Any,
    ):
        """
        Args:
            xs: a series `(T, columns)` or `(T,)`; several, as a list or `(N, T, columns)`; or a
                data frame of pandas, Polars or Arrow.
            ys: what goes with each step, `(T,)` or `(T, outputs)`; `None` to forecast xs.
            targets: forecasts: numbers or names of the columns to predict; `None` for all.
            names: of the columns; by default 1, 2, 3 and so on.
            source: where the series is from, for messages.
            artefacts: of a trained model, whose scaling and classes are used.
            given: `seed` of all that is random, and settings by name: `horizon`, `quantiles`,
                `season`, `conformal`, `coverage`, `kind`, `length` (50 steps by default), `split`,
                `carry`, `washout`, `scale`, `missing`, `known` and `static`; of a data frame also
                `sequence`, `columns`, `ignore`, `words`, `time`, `gaps`, `duplicates` and
                `calendar`; see `Settings`.
        """
        in_table = is_frame(xs) or is_table(xs)
        source = "the table" if is_frame(xs) and source == "the series" else source
        super().__init__(source=source, **given)
        if targets is not None and in_table:
            named = in_words([targets] if isinstance(targets, str) else targets, "targets")
            if not names_in(named):
                raise BadInput("targets is empty; name a column to predict, or leave targets out")
            self.settings = dataclasses.replace(self.settings, target=named)
        chosen, split, kept = self.settings, shares(self.settings.split), artefacts or {}
        known = SeriesArtefacts.of(kept) if kept else None
        self.length = 50 if chosen.length is None else chosen.length
        self.carry, self.washout, self.horizon = chosen.carry, chosen.washout, chosen.horizon
        self.quantiles = None if chosen.quantiles is None else levels_of(chosen.quantiles)
        data = given_series(xs, ys, names, targets, chosen, kept)
        forecasts = self.horizon > 1 or not (targets is chosen.season is self.quantiles is None)
        if ys is not None and (forecasts or data.roles.known):
            raise BadInput(
                "horizon, targets, quantiles and season are of forecasts; leave them out or leave "
                "out ys"
            )
        self.forecasts, self.series_names = data.ys is None, data.ids
        self.names = data.roles.numbers
        cuts = [divided(end, split, "steps") for end in data.ends]
        train = [cut["train"] for cut in cuts]
        names, days = calendar_of(data.timelines if chosen.calendar else None, data.xs)
        ahead = self.horizon if self.forecasts else 0
        before = None if known is None else known.columns
        self.columns = fit_columns(before, data, train, chosen.scale, ahead, names)
        self.scaler, self.inputs = self.columns.scaler, self.columns.inputs
        if self.columns.words:
            places = self.columns.word_places
            self.model = {"kind": "network", "embedding": None, "words": places}
        whole = [*map(self.columns.matrix, data.xs, days, data.cells)]
        self.series = [x[:end] for x, end in zip(whole, data.ends, strict=True)]
        future = [x[end:] for x, end in zip(whole, data.ends, strict=True)]
        begin, end = len(self.names), len(self.names) + len(self.columns.calendar)
        calendar = slice(begin, end) if end > begin else None
        self.rows = SeriesRows(self.series, future, cuts, data.timelines, calendar)
        self.notes = (*data.notes, *self.columns.strange(np.concatenate(data.cells)))
        self.season = series_data.checked_season(chosen.season, self.series, bool(kept))
        self.targets = series_data.column_numbers(data.roles.targets, self.names)
        rows = series_data.answers_of(data.ys, self.series, chosen.kind, chosen.missing)
        self.answers = self._fit_answers(rows, train) if known is None else known.answers
        self.outputs, self.framing = self.answers.outputs, self.answers
        self.parts = Parts(lambda part: self._part(rows, [cut[part] for cut in cuts]))
        if not kept:
            self.check_parts(split)
        self.naive_errors = kept.get("naive_errors", {})
        if self.quantiles is not None and not self.naive_errors:
            stream = self.parts["train"]
            self.naive_errors = naive_forecasts.errors(self._naive("train"), stream, self.quantiles)
        self.naive_scales = naive_scales(self.series, train, self.targets, self.season or 1)
        self.calibration: Conformal | None = None
        self._check_conformal(new=not kept)
        self.coverage = chosen.coverage if chosen.conformal else None
        if kept:
            self.recall(kept)

    def _check_conformal(self, new: bool) -> None:
        """Refuse a calibration that has no sense or, of a new run, too few targets for it."""
        chosen = self.settings
        if chosen.coverage != COVERAGE and (self.quantiles or not chosen.conformal):
            why = "quantiles say it already" if self.quantiles else "add conformal"
            raise BadInput(f"coverage is of conformal intervals without quantiles; {why}")
        if chosen.conformal:
            if not self.forecasts:
                raise BadInput("conformal is of forecasts; leave it out or leave out ys")
            if new:
                count = int(self.parts["valid"].there.sum())
                check_enough(count, self.quantiles, chosen.coverage)

    def check_parts(self, split: Any) -> None:
        """Refuse a part that has a share but no target; see `series_data.check_parts`."""
        horizon = self.horizon if self.forecasts else 0
        series_data.check_parts(self.parts, split, self.where, self.series, horizon, self.washout)

    def _fit_answers(self, rows: list | None, train: list[slice]) -> TargetCodec:
        """What is learned, fitted to the training part."""
        if rows is not None:
            scale, kind = self.settings.scale, self.settings.kind
            return series_data.fit_rows(rows, train, scale, kind)
        begin = [x[some] for x, some in zip(self.series, train, strict=True)]
        return fit_forecasts(begin, self.targets, self.horizon, self.scaler, self.quantiles)

    def _naive(self, part: str) -> naive_forecasts.Forecasts:
        """The naive forecasts of a part, scaled, with a row for each of its targets."""
        if not self.forecasts:
            return {}
        cuts = [cut[part] for cut in self.rows.cuts]
        return naive_forecasts.forecasts(
            self.series, cuts, self.targets, self.horizon, self.seasons, self.scaler
        )

    def _part(self, rows: list | None, cuts: list) -> Stream:
        """The inputs and targets of one part, of all series."""
        streams = []
        for n, (x, some) in enumerate(zip(self.series, cuts, strict=True)):
            values, later = x[some], None if rows is None else rows[n][some]
            if later is None:
                values, later = pairs(values, self.targets, self.horizon)
            if len(values):
                targets, there = self.answers(later)
                starts, there = np.arange(len(values)) == 0, there.copy()
                there[: self.washout] = False
                inputs = self.columns(values, x[some][len(values) :])
                streams.append(Stream(inputs, targets, there, starts))
        return joined(streams, self.inputs, self.answers.width)

    def ability(self, kind: type[Able]) -> Able | None:
        """With `Series`: the task as one that forecasts, which one with `ys` does not."""
        return None if kind is Series and not self.forecasts else super().ability(kind)

    @property
    def seasons(self) -> dict[str, int]:
        """The naive forecasts by name, and the season of each."""
        return {"persistence": 1} | ({} if self.season is None else {"seasonal naive": self.season})

    @property
    def predicts_next(self) -> bool:  # type: ignore[override]
        return self.forecasts

    @property
    def learned_levels(self) -> Levels:
        """The levels that a network learns to forecast; `None` is the mean."""
        return self.quantiles or (None,)

    @property
    def levels(self) -> Levels:
        """The levels of its forecasts, with those of calibrated intervals."""
        return self.learned_levels if self.calibration is None else self.calibration.levels

    def stream_of(self, part: str) -> Stream:
        return self.parts[part]

    def scores(self, network: Model, part: str) -> dict[str, Any]:
        return self.scores_from(network, part, lambda: hindcasts(network, self, part))

    def scores_from(
        self, network: Model, part: str, made: Callable[[], Hindcasts]
    ) -> dict[str, Any]:
        """`scores`, with the forecasts at every step of the part, if it has use for them."""
        if not self.forecasts or not self.parts[checked_part(part)].there.any():
            return {}
        known = {metric.name for metric in self.metrics}
        return {name: value for name, value in made().metrics().items() if name not in known}

    def after_training(self, best: Callable[[], Model]) -> dict[str, Any]:
        """The calibration of intervals on the validation part, if it is asked for."""
        if self.coverage is None:
            return {}
        made = hindcasts(best(), self, "valid", calibrated=False)
        self.calibration = calibrated(made, self.coverage)
        return {"conformal": self.calibration.as_json()}

    def recall(self, artefacts: Mapping[str, Any]) -> None:
        if "conformal" in artefacts:
            sizes, kept = (self.horizon, len(self.targets)), artefacts["conformal"]
            self.calibration = Conformal.from_json(kept, *sizes, self.quantiles)
        elif self.coverage is not None and UNCALIBRATED not in self.notes:
            self.notes += (UNCALIBRATED,)

    def future_of(self, number: int, steps: int) -> np.ndarray:
        """The rows after a series, with what is known ahead; refused if they are too few."""
        future, known = self.rows.future[number], self.columns.known
        if known and len(future) < steps:
            of = f" of series {shown(self.series_names[number])}" if len(self.series) > 1 else ""
            raise BadInput(
                f"the next {steps} values of {', '.join(known[:20])}{of} are needed, because they "
                f"are known ahead; {self.where} has {len(future)} rows after the last of "
                f"{', '.join(self.names[n] for n in self.targets[:20])}; give more as future"
            )
        return self.rows.after(number, len(self.series[number]), steps + self.horizon)

    def yardsticks(self, part: str) -> dict[str, float]:
        stream = self.parts[checked_part(part)]
        return naive_forecasts.scores(self._naive(part), stream, self.metric, self.naive_errors)

    def preview(self, network: Model, key: jax.Array) -> str | None:
        """The first validation window: what came, and what had been forecast for it."""
        batch = next(iter(in_windows(self.parts["valid"], 1, self.length)), None)
        if batch is None or not self.forecasts:
            return None
        outputs = outputs_on(network, batch.arrays)
        at = (self.horizon - 1) * len(self.targets)  # the furthest forecast of the first column
        assert self.answers.scaler is not None
        factor, shift = self.answers.scaler.factor[at], self.answers.scaler.shift[at]
        there = np.asarray(batch.weights)[:, 0] > 0
        lines = {"actual": np.asarray(batch.targets)[:, 0, at]}
        lines |= self.answers.shown(np.asarray(outputs)[:, 0], at)
        if self.season is not None:
            lines["seasonal"] = self._naive("valid")["seasonal naive"][: len(there), at]
        lines = {name: row * factor + shift for name, row in lines.items()}
        return sparklines(self.names[self.targets[0]], self.horizon, lines, there)

    def artefacts(self) -> dict[str, Any]:
        times = self.rows.timelines
        return {
            "columns": self.names,
            "targets": [self.names[n] for n in self.targets] if self.forecasts else None,
            "scaler": self.scaler.as_json(),
            "answers": self.answers.as_json(),
            **self.columns.as_json(),
            **({} if times is None else {"time": times[0].as_json()}),
            **({"naive_errors": self.naive_errors} if self.naive_errors else {}),
            **({} if self.calibration is None else {"conformal": self.calibration.as_json()}),
        }

    @classmethod
    def check_artefacts(cls, artefacts: Mapping[str, Any]) -> tuple[int | None, int | None]:
        kept = SeriesArtefacts.of(artefacts)
        return kept.columns.inputs, kept.answers.outputs

    @classmethod
    def interface(cls, settings: Any, artefacts: Mapping[str, Any]) -> Interface:
        return series_interface(artefacts, settings.sequence)

    def fingerprint(self) -> str:
        return hashed([x for stream in self.parts.values() for x in stream])

    @classmethod
    def read(cls, given: Reading) -> "Series":
        if given.file is None:
            raise BadInput("the task series needs a file: data.csv, .npy or .parquet")
        with naming(given.file):
            text = text_columns(given.settings, names_in(given.settings.target))
            table = table_of_file(Path(given.file), text)
            return cls(table, source=given.file, **given.arguments)

    @classmethod
    def on_file(cls, path: Path, settings: Any, artefacts: dict[str, Any]) -> Self:
        task = super().on_file(path, settings, artefacts)
        task.check_parts((1.0, 0.0, 0.0))
        return task

    def hold_out_all(self) -> None:
        whole = self.parts
        self.parts = Parts(lambda _: whole["train"])
        cuts = [dict.fromkeys(PARTS, cut["train"]) for cut in self.rows.cuts]
        self.rows = dataclasses.replace(self.rows, cuts=cuts)
        self.naive_scales = np.full_like(self.naive_scales, np.nan)  # they are of training parts

    @classmethod
    def verb(cls, artefacts: Mapping[str, Any]) -> str:
        return "evaluate" if artefacts["targets"] is None else "forecast"

    @classmethod
    def apply(cls, network: Model, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        """What comes after the last row of a file, a table or an array; see `forecast`."""
        return cls.forecast(network, how).answers()

    @classmethod
    def forecast(cls, network: Model, how: ApplyOptions) -> Forecast:
        """What comes after the last row of each series that is given; see `forecast_after`."""
        given = how.file_or_data("a file: data.csv, .npy or .parquet")
        if how.settings.kind is not None:
            raise BadInput("this run learns a column from the others; it forecasts nothing")
        kept, notes = how.artefacts, tuple[str, ...]()
        # Not by `on_file` of this class, which refuses series that are too short for a target.
        on: Any = cls.on_data if how.in_memory else super().on_file
        if how.future is not None:
            given, notes = with_future(given, how.future, how.settings, kept)
            on = cls.on_data
        made = forecast_after(network, on(given, how.settings, kept), how.steps)
        return dataclasses.replace(made, notes=(*made.notes, *notes))

    @classmethod
    def on_data(cls, given: Any, settings: Any, artefacts: dict[str, Any]) -> Self:
        """`on_file` for a table, a frame, rows with names or arrays in memory."""
        if is_rows(given):
            text = text_columns(settings, names_in(settings.target))
            given = table_of_rows(given, tuple(text))
        named = {"targets": artefacts["targets"], "names": artefacts["columns"]}
        whole = dataclasses.replace(settings, split="100/0/0")
        named = {} if is_frame(given) or is_table(given) else named
        task = cls(given, settings=whole, artefacts=artefacts, **named)
        task.hold_out_all()
        return task
