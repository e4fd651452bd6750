"""A forecast as a value: of which series, for when, and what."""

import csv
import dataclasses
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...data.times import shown_time
from ...errors import needing
from ..applying import with_notes
from .forecast_scores import Levels


@dataclasses.dataclass(frozen=True)
class Forecast:
    """What comes after the last row of one or several series, in the units of the data.

    Printed, it is one table with a row for each series and step, as CSV (`csv`), below a line for
    each of the notes, which begins with `#`.

    Attributes:
        series: the name of each series, or its number.
        targets: the columns that are forecast.
        levels: of the quantiles; `None` is the mean, or a path without an interval.
        values: `(series, steps, targets, levels)`.
        stamps: `(series, steps)`, the times as datetime64, in UTC if there is a zone; `None` if the
            series has none, and steps are numbered from 1.
        zone: the time zone in which times are shown.
        time, sequence: the columns of the table that say when a row is and to which series it
            belongs.
        notes: what was done to the data, in sentences: gaps, unknown words, series left out.
        years: whether the column of times has years alone, which are shown without a day.

    Example:
        >>> made = Forecast((0,), ("sold",), (0.1, 0.9), np.array([[[[1.0, 4.0]], [[2.0, 5.0]]]]))
        >>> print(made)
        step,sold 0.1,sold 0.9
        1,1,4
        2,2,5
        >>> made.rows()[1]
        {'step': 2, 'sold 0.1': 2.0, 'sold 0.9': 5.0}
    """

    series: tuple[str | int, ...]
    targets: tuple[str, ...]
    levels: Levels
    values: np.ndarray
    stamps: np.ndarray | None = None
    zone: str | None = None
    time: str = "step"
    sequence: str | None = None
    notes: tuple[str, ...] = ()
    years: bool = False

    @property
    def columns(self) -> list[str]:
        """The names of what is forecast: `sold`, or with quantiles `sold 0.9`."""
        return [
            name if level is None else f"{name} {level:g}"
            for name in self.targets
            for level in self.levels
        ]

    @property
    def times(self) -> list[list[Any]]:
        """For each series the time of each step in words, or its number from 1."""
        if self.stamps is None:
            return [[*range(1, self.values.shape[1] + 1)]] * len(self.series)
        return [[shown_time(x, self.zone, self.years) for x in stamps] for stamps in self.stamps]

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary for each series and step, with the columns of the table."""
        rows = []
        for name, times, values in zip(self.series, self.times, self._wide, strict=True):
            which = {} if self._heading is None else {self._heading: name}
            for time, row in zip(times, values.tolist(), strict=True):
                numbers = dict(zip(self.columns, row, strict=True))
                rows.append({**which, self.time: time, **numbers})
        return rows

    def to_pandas(self) -> Any:
        """The table as a pandas `DataFrame`, whose times are those of pandas.

        The notes are in its `attrs`.
        """
        with needing("a DataFrame", "pandas", "tables"):
            import pandas
        frame = pandas.DataFrame(self.rows())
        if self.stamps is not None:
            times = pandas.Series(self.stamps.ravel())
            zoned = times if self.zone is None else times.dt.tz_localize("UTC")
            frame[self.time] = zoned if self.zone is None else zoned.dt.tz_convert(self.zone)
        if self.notes:
            frame.attrs["notes"] = [*self.notes]
        return frame

    def answers(self) -> Iterator[dict[str, Any]]:
        """For each series its part of the table, as JSON; `text` is CSV, with one header in all."""
        return with_notes(self._answers(), self.notes)

    def _answers(self) -> Iterator[dict[str, Any]]:
        lines = self.csv.split("\n")
        steps = self.values.shape[1]
        for n, (name, times) in enumerate(zip(self.series, self.times, strict=True)):
            begin = 1 + n * steps
            yield {
                "series": name,
                "columns": self.columns,
                "forecast": self._wide[n].tolist(),
                "text": "\n".join(lines[begin if n else 0 : begin + steps]),
                **({} if self.stamps is None else {"times": times}),
            }

    @property
    def _heading(self) -> str | None:
        """The heading of the column of series, where there is one."""
        return self.sequence or ("series" if len(self.series) > 1 else None)

    @property
    def _wide(self) -> np.ndarray:
        """`(series, steps, columns)`."""
        return self.values.reshape(*self.values.shape[:2], -1)

    def __str__(self) -> str:
        return "\n".join([*(f"# {note}" for note in self.notes), self.csv])

    @property
    def csv(self) -> str:
        """The table as CSV, without the notes."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        rows = self.rows()
        writer.writerow(rows[0])
        for row in rows:
            writer.writerow(f"{x:.6g}" if isinstance(x, float) else x for x in row.values())
        return text.getvalue().rstrip()
