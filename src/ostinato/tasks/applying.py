"""How a trained network is applied to new input."""

import dataclasses
from pathlib import Path

from ..errors import BadInput


@dataclasses.dataclass(frozen=True)
class Applying:
    """What `ostinato apply` was asked for.

    Attributes:
        beam: how many answers a search keeps.
        n_best: how many answers to give for each input.
        penalty: of short answers; see `decoding.beam_answers`.
        targets: a file of answers to score instead of searching, one per input.
        pictures: whether to give a picture of where the network looked, with each best answer.
        steps: forecasts: how many steps, in a closed loop; `None` for the horizon of the run.
    """

    beam: int = 5
    n_best: int = 1
    penalty: float = 1.0
    targets: Path | None = None
    steps: int | None = None
    pictures: bool = False

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise BadInput(f"--beam must be at least 1, got {self.beam}")
        if not 1 <= self.n_best <= self.beam:
            raise BadInput(
                f"--n-best must be from 1 to the width of the beam, {self.beam}; got {self.n_best}"
            )
        if not 0 <= self.penalty <= 100:
            raise BadInput(f"--penalty must be from 0 to 100, got {self.penalty}")
        if self.steps is not None and self.steps < 1:
            raise BadInput(f"--steps must be at least 1, got {self.steps}")
