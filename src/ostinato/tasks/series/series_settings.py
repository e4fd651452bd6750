"""The settings of a series, in one place for the task, its tables and its forecasts."""

import dataclasses

from ...data.arrange import DUPLICATES, GAPS
from ...data.scaling import POLICIES
from ...data.splits import in_percent, shares
from ...settings import setting
from ..file_task import FileSettings
from ..target_codec import KINDS
from .from_files import in_words, names_in
from .quantiles import in_text, levels_of

COVERAGE = 0.8  # of conformal intervals, like that of the quantiles 0.1 and 0.9


@dataclasses.dataclass(frozen=True)
class SeriesSettings(FileSettings):
    """What can be set of a `Series`: columns, what is forecast, parts and scaling."""

    file: str | None = setting(None, "a table: .csv, .parquet, or .npy", of_file=True)
    target: str | None = setting(None, "columns to predict, a,b (all of them)", of_file=True)
    columns: str | None = setting(None, "columns to read, a,b,c (all of them)", read=names_in)
    ignore: str | None = setting(None, "columns to leave out, a,b,c", read=names_in)
    sequence: str | None = setting(None, "column that says to which series a row belongs")
    known: str | None = setting(
        None, "columns whose future is known, such as a price, a,b", read=names_in
    )
    static: str | None = setting(
        None, "columns that are constant within a series, a,b", read=names_in
    )
    words: str | None = setting(
        None,
        "columns of words, read as one-hot vectors or with --embedding, a,b",
        read=names_in,
    )
    time: str | None = setting(None, "column of dates or times (found by itself)")
    gaps: str = setting("keep", "what to do where rows are missing in time", among=GAPS)
    duplicates: str = setting(
        "refuse", "what to do about several rows of one time", among=DUPLICATES
    )
    calendar: bool = setting(False, "read the hour, the weekday and the season of the time too")
    kind: str | None = setting(
        None, "learn the target of the same step, not the next ones (forecast)", among=KINDS
    )
    horizon: int = setting(1, "steps to forecast", min=1)
    quantiles: str | None = setting(
        None, "forecast quantiles, 0.1,0.5,0.9 (the mean)", read=levels_of, write=in_text
    )
    season: int | None = setting(None, "steps of a season, for the seasonal naive baseline", min=1)
    conformal: bool = setting(False, "calibrate the intervals of forecasts on the validation part")
    coverage: float = setting(
        COVERAGE, "of conformal intervals, if there are no quantiles", min=0.01, max=0.999
    )
    length: int | None = setting(None, "steps of a sequence or window", min=1)
    split: str = setting(
        "90/5/5", "percent for training, validation, test", read=shares, write=in_percent
    )
    carry: bool = setting(True, "contiguous streams with carried state, or independent sequences")
    washout: int = setting(
        0, "steps after a beginning that do not count, for the state to settle", min=0
    )
    scale: bool = setting(True, "scale all columns")
    missing: str = setting("refuse", "what to do about missing values", among=POLICIES)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("columns", "ignore", "known", "static", "words"):
            object.__setattr__(self, name, in_words(getattr(self, name), name))
