"""What the numbers that go into a network and come out of it mean, as plain data.

A program elsewhere that runs the step of a network (see `ostinato.export`) needs nothing else.

    kind        about
    text        `characters`, the text of each symbol, or for bytes `None`; `opening`, the symbol
                that stands before a text. Outputs are logits of the next symbol.
    forecast    `columns`, what is read in each row, with `shift`, `factor` and `mean` of each;
                those `masked` may be missing, and have a further input that says so. Outputs are
                forecasts by step ahead, then by the `targets`, then by the `levels`, with
                `target_shift` and `target_factor` of each step and target; `moved`, by which the
                bounds of intervals are calibrated.
"""

from typing import Any, NamedTuple


class Interface(NamedTuple):
    """The meaning of inputs and outputs.

    Attributes:
        kind: `text` or `forecast`.
        about: JSON; see the module.
    """

    kind: str
    about: dict[str, Any]
