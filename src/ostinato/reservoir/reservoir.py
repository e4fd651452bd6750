"""The reservoir of an echo state network."""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from ..cells import Leaky
from ..cells.activations import activation
from ..cells.building import draw
from ..errors import BadInput
from ..settings import setting
from .sparse import BlockSparse


def uniform(key: jax.Array, shape: tuple[int, int], dtype: Any) -> jax.Array:
    """Every entry from U(-1, 1)."""
    return jax.random.uniform(key, shape, dtype, -1, 1)


class Reservoir(Leaky):
    """`h_t = leak · tanh(W x_t + R h_{t-1} + b) + (1 - leak) h_{t-1}`, with fixed random weights.

    It is the `Leaky` cell with α = 1 - leak. Nothing in it is trained: the readout is, by `ridge`,
    `rls` or any other learner. The entries of W are from U(-s, s), s the input scaling, those of b
    likewise, and R is sparse and scaled to a spectral radius (`BlockSparse`).

    A spectral radius below 1 usually gives the echo state property, by which the state forgets
    its beginning; `lens.echo_state` measures that.

    Sources: Jaeger (2001); with a leak, Jaeger et al. (2007); Lukoševičius (2012) for how to choose
    the numbers.

    Shapes: x `(..., inputs)`, state and y `(..., units)`.

    Example:
        >>> cell = Reservoir(3, 200, key=jax.random.key(0), radius=0.9, leak=0.5)
        >>> ys, h = ostinato.unroll(cell, xs)
        >>> ys.shape
        (10, 4, 200)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        radius: float = setting(0.9, "spectral radius of the reservoir", min=0)
        connectivity: float = setting(
            0.1, "fraction of the units that each unit reads", min=0, max=1
        )
        input_scaling: float = setting(1.0, "largest input weight", min=0)
        bias_scaling: float = setting(0.0, "largest bias", min=0)
        leak: float = setting(1.0, "how much of a state is new at each step", min=0, max=1)

    frozen: ClassVar[tuple[str, ...]] = ("W", "R", "b", "alpha")
    has_recurrent_matrix: ClassVar[bool] = False

    R: BlockSparse  # type: ignore[assignment]
    alpha: jax.Array  # type: ignore[assignment]

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        radius: Any = 0.9,
        connectivity: float = 0.1,
        input_scaling: Any = 1.0,
        bias_scaling: Any = 0.0,
        leak: Any = 1.0,
        f: str = "tanh",
    ):
        """
        Args:
            inputs: size of `x_t`.
            units: size of `h_t`.
            key: random key for the weights.
            radius: spectral radius of R.
            connectivity: fraction of the units that each unit reads.
            input_scaling, bias_scaling: the largest entries of W and b.
            leak: how much of a state is new at each step, above 0 and at most 1.
            f: `tanh`, `sigmoid`, `relu`, `identity` or `step`.

        All numbers but `connectivity` may be traced, to make many reservoirs at once.
        """
        activation(f)
        if not isinstance(leak, jax.core.Tracer) and not 0 < leak <= 1:
            raise BadInput(f"leak must be above 0 and at most 1, got {leak}")
        w, r, b = jax.random.split(key, 3)
        self.W = input_scaling * draw(uniform, w, inputs, units)
        self.R = BlockSparse.random(r, units, connectivity).with_radius(radius)
        self.b = bias_scaling * draw(uniform, b, 1, units)[0]
        self.alpha = jnp.asarray(1 - leak, self.b.dtype)
        self.f = f
