"""What the numbers that go into a network and come out of it mean, as plain data.

A program that runs the step of a network needs nothing else: a stream (`ostinato.runs`), or code in
another language (`ostinato.export`).

    kind        about
    text        `characters`, the text of each symbol, or for bytes `None`; `opening`, the symbol
                that stands before a text. Outputs are logits of the next symbol.
    forecast    `columns`, what is read in each row, with `shift`, `factor` and `mean` of each;
                those `masked` may be missing, and have a further input that says so. `roles`, if
                not all columns are numbers that are read at their own step; see `series/columns`.
                `time` and `sequence`, which columns say when a row is and to which series it
                belongs, if any do.
                Outputs are forecasts by step ahead, then by the `targets`, then by the `levels`,
                with `target_shift` and `target_factor` of each step and target; `moved`, by which
                the bounds of intervals are calibrated.
    answers     a row as above, whose `columns` are `None` if they have no names; or `symbols`, how
                many there are; or `words`, the known ones, of which 0 is every other, `level`,
                whether they are words or characters, and `length`, how many are read. Outputs are
                `answers`: `classes` by their logits, `several` at once by a sigmoid each, or
                numbers by their `scaler`.
    audio       one sample from -1 to 1, at `rate` per second. The output is a sample, or if
                `residual` what is to be added to the one that was read.
    raw         the numbers of the network itself, of which its `task` does not say what they mean.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..data.scaling import Scaler
from ..errors import BadInput


class Interface(NamedTuple):
    """The meaning of inputs and outputs.

    Attributes:
        kind: `text`, `forecast`, `answers`, `audio` or `raw`.
        about: JSON; see the module.
    """

    kind: str
    about: dict[str, Any]

    @property
    def residual(self) -> bool:
        """Whether what is read is to be added to an output."""
        return bool(self.about.get("residual"))

    def check_plain(self) -> None:
        """Refuse what is more than a symbol or a row of numbers, for a program elsewhere."""
        roles = self.about.get("roles") or {"words": {}, "calendar": [], "known": []}
        strange = [*roles["words"], *roles["calendar"], *roles["known"]]
        if strange:
            raise BadInput(
                f"the run reads {', '.join(strange[:10])}, which are words, dates or values known "
                "ahead; a program elsewhere reads a row of numbers at each step, and no more: "
                "stream it from Python, run.stream(), or export it to onnx, torch or a folder"
            )


def row_of_numbers(scaler: Scaler) -> dict[str, list[float]]:
    """How the numbers of a row are scaled, as an interface has it."""
    kept = scaler.as_json()
    return {**{name: kept[name] for name in ("shift", "factor", "masked")}, "mean": kept["means"]}


def scaler_of(about: Mapping[str, Any]) -> Scaler:
    """The inverse of `row_of_numbers`."""
    names = ("shift", "factor", "masked")
    return Scaler.from_json({**{x: about[x] for x in names}, "means": about["mean"]})
