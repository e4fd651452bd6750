"""What a run keeps of a series, checked, and what the numbers of its network mean."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...data.artefact_checks import Kept, kept_texts
from ...errors import BadInput
from ..interface import Interface, row_of_numbers
from ..target_codec import TargetCodec
from .columns import Columns
from .conformal import Conformal
from .naive_forecasts import check_errors
from .quantiles import answers_from_json
from .series_times import check_time


class SeriesArtefacts(NamedTuple):
    """The artefacts of a `Series`.

    Attributes:
        columns: what the network reads.
        answers: what it has learned.
        targets: the columns that it forecasts, if it does.
        horizon: how many steps ahead.
        calibration: of its intervals.
    """

    columns: Columns
    answers: TargetCodec
    targets: tuple[str, ...] = ()
    horizon: int = 0
    calibration: Conformal | None = None

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> "SeriesArtefacts":
        """`from_json`; of what a run keeps, what was read when it was opened."""
        return kept.once(cls.from_json) if type(kept) is Kept else cls.from_json(kept)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "SeriesArtefacts":
        """The artefacts that a run folder holds; raises `BadInput` for what is wrong."""
        columns, answers = Columns.from_json(kept), answers_from_json(kept["answers"])
        if "time" in kept:
            check_time(kept["time"])
        check_errors(kept.get("naive_errors", {}), answers)
        if kept["targets"] is None:
            return cls(columns, answers)
        targets = kept_texts(kept["targets"], "targets")
        if not {*targets} <= {*columns.names}:
            raise BadInput("its targets are not among its columns")
        width = answers.width or 0
        if not width or width % len(targets):
            raise BadInput("its answers are not numbers, one per target and step ahead")
        sizes = width // len(targets), len(targets)
        calibration = None
        if "conformal" in kept:
            calibration = Conformal.from_json(kept["conformal"], *sizes, answers.levels or None)
        return cls(columns, answers, targets, sizes[0], calibration)


def series_interface(kept: Mapping[str, Any], sequence: str | None) -> Interface:
    """What the inputs and outputs of a network that reads a series mean; see `interface`.

    Args:
        kept: the artefacts of a run.
        sequence: the column of a table that tells several series apart, if any.
    """
    columns, answers, targets, horizon, calibration = SeriesArtefacts.of(kept)
    about: dict[str, Any] = {
        "columns": list(columns.names),
        **row_of_numbers(columns.scaler),
        "roles": kept.get("roles"),
        "time": kept.get("time"),
        "sequence": sequence,
    }
    if not targets or answers.scaler is None:
        return Interface("answers", {**about, "answers": kept["answers"]})
    levels = (answers.levels or (None,)) if calibration is None else calibration.levels
    about |= {
        "targets": list(targets),
        "horizon": horizon,
        "levels": list(levels),
        "target_shift": list(answers.scaler.shift),
        "target_factor": list(answers.scaler.factor),
        "moved": None if calibration is None else calibration.moved.tolist(),
    }
    return Interface("forecast", about)
