"""The settings of a network, and how it is built from them."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax

from ..reservoir import EXPANSIONS
from ..settings import setting
from ..tasks import Task
from .models import MODELS
from .parts import Parts, Sizes, memory_size
from .refusals import NETWORK, refuse

READOUTS = ("bias", "plain", "own")
FACTORS = ("input", "all")
POOLS = ("last", "mean")
UNITS = 128


@dataclasses.dataclass(frozen=True)
class NetworkSettings:
    """How cells are combined into a network."""

    units: int | tuple[int, ...] | None = setting(
        None, "units per layer (128 if no budget is given), or one number for each layer", min=1
    )
    layers: int = setting(1, "number of layers", min=1, max=1000)
    skip: bool = setting(False, "connect every layer to the input and to the output")
    bidirectional: bool = setting(False, "every layer reads the sequence in both directions")
    feedback: bool = setting(False, "gated feedback: every layer reads every layer")
    turing: str | None = setting(
        None,
        "neural Turing machine: rows x columns of its memory, such as 128x20; the layers are its "
        "controller",
        read=memory_size,
    )
    heads: int = setting(1, "with --turing: read heads, and as many write heads", min=1)
    head_shift: int = setting(
        1, "with --turing: how many rows a head can move per step, in both directions", min=0
    )
    budget: int | None = setting(
        None, "choose the units for this many parameters", min=1, max=10**18
    )
    embedding: int | None = setting(
        None, "size of learned input vectors; 0 for one-hot (default: as the task needs)", min=0
    )
    readout: str | None = setting(
        None,
        f"how the last layer is read: {', '.join(READOUTS)} (by default as in the cell's source)",
        among=READOUTS,
    )
    output_feedback: bool = setting(
        False, "the previous output is another input (for ridge and rls: the previous target)"
    )
    readout_units: int | None = setting(
        None, "units of a hidden layer in the readout (none)", min=1
    )
    expand: str | None = setting(
        None,
        f"also read the input and more features of the last layer: {', '.join(EXPANSIONS)}",
        among=EXPANSIONS,
    )
    pool: str = setting(
        "last", "what is read at a step: its own state, or the mean of all so far", among=POOLS
    )
    factor: str = setting(
        "input", f"mrnn with --skip: what the factor reads, {', '.join(FACTORS)}", among=FACTORS
    )
    layer_norm: bool = setting(False, "normalise each layer's pre-activations")
    dropout: float = setting(0.0, "dropout probability of each layer's outputs", min=0, below=1)
    recurrent_dropout: float = setting(0.0, "dropout probability of the state", min=0, below=1)
    zoneout: float = setting(0.0, "probability that a unit keeps its value", min=0, below=1)
    weight_noise: float = setting(0.0, "standard deviation of the noise on the weights", min=0)
    incoming: int | None = setting(None, "nonzero recurrent weights per unit", min=1)
    spectral_radius: float | None = setting(
        None, "initial spectral radius of the recurrent matrices", min=0
    )
    input_scale: float | None = setting(
        None, "standard deviation of the initial input weights", min=0
    )
    output_scale: float | None = setting(
        None, "standard deviation of the initial output weights", min=0
    )

    def __post_init__(self) -> None:
        if isinstance(self.units, tuple) and self.layers == 1:
            object.__setattr__(self, "layers", len(self.units))

    def sizes(self, units: int | Sequence[int]) -> list[int]:
        """The units of every layer."""
        return [units] * self.layers if isinstance(units, int) else list(units)


def make_network(
    config: Any, task: Task | Sizes, units: int | Sequence[int], key: jax.Array
) -> Any:
    """A newly initialised network, wired as the task needs it (`models.MODELS`).

    Args:
        config: the `Config`, of which the cell and the network count.
        task: determines the sizes of inputs and outputs, and the wiring.
        units: per layer: one number for all layers, or one for each.
        key: random key for the initial weights.
    """
    refuse(NETWORK, config, task)
    kind = "network" if task.model is None else task.model["kind"]
    return MODELS[kind](Parts(config.cell, config.network, task, units), key)
