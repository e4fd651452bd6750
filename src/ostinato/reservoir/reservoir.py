"""Cells of fixed random weights: the reservoir of an echo state network, and a spiking liquid."""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from ..cells import Cell, Leaky
from ..cells.activations import activation
from ..cells.building import draw, project, rest
from ..cells.initialisers import uniform
from ..errors import BadInput
from ..settings import setting
from .sparse import BlockSparse

RANDOM = uniform(1.0)
THRESHOLD = 1.0
INHIBITORY = 0.2  # fraction of the units whose weights are all negative


class Reservoir(Leaky):
    """`h_t = leak · tanh(W x_t + R h_{t-1} + b) + (1 - leak) h_{t-1}`, with fixed random weights.

    It is the `Leaky` cell with α = 1 - leak. Nothing in it is trained: the readout is, by `ridge`,
    `rls` or any other learner. The entries of W are from U(-s, s), s the input scaling, those of b
    likewise, and R is sparse and scaled to a spectral radius (`BlockSparse`). With `slowest`
    the leaks of the units are spread evenly on a logarithmic scale from there to `leak`: some units
    follow the input, others remember it.

    A spectral radius below 1 usually gives the echo state property, by which the state forgets
    its beginning; `lens.echo_state` measures that.

    Sources: Jaeger (2001); with a leak, Jaeger et al. (2007); Lukoševičius (2012) for how to choose
    the numbers.

    Shapes: x `(..., inputs)`, state and y `(..., units)`.

    Example:
        >>> cell = Reservoir(3, 50, key=jax.random.key(0), radius=0.9, leak=0.5)
        >>> ys, h = ostinato.unroll(cell, xs)
        >>> ys.shape
        (10, 4, 50)
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
        slowest: float | None = setting(
            None, "leaks of the units range from this to --leak (default: all are --leak)", min=0
        )

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
        slowest: float | None = None,
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
            slowest: the smallest leak of a unit, if they differ; above 0 and at most `leak`.
            f: `tanh`, `sigmoid`, `relu`, `identity` or `step`.

        All numbers but `connectivity` may be traced, to make many reservoirs at once.
        """
        activation(f)
        if _is_known(leak) and not 0 < leak <= 1:
            raise BadInput(f"leak must be above 0 and at most 1, got {leak}")
        if slowest is not None and not 0 < slowest <= (leak if _is_known(leak) else 1):
            raise BadInput(f"slowest must be above 0 and at most leak, got {slowest}")
        w, r, b = jax.random.split(key, 3)
        self.W = input_scaling * draw(RANDOM, w, inputs, units)
        self.R = BlockSparse.random(r, units, connectivity).with_radius(radius)
        self.b = bias_scaling * draw(RANDOM, b, 1, units)[0]
        # Neighbouring units have neighbouring leaks; whom a unit reads is random.
        leaks = leak if slowest is None else leak * (slowest / leak) ** jnp.linspace(0, 1, units)
        self.alpha = jnp.asarray(1 - leaks, self.b.dtype)
        self.f = f


def _is_known(number: Any) -> bool:
    return not isinstance(number, jax.core.Tracer)


class Liquid(Cell):
    """Leaky integrate-and-fire units with random weights that are not trained.

        v_t = (1 - 1/m) v_{t-1} (1 - s_{t-1}) + W x_t + R s_{t-1} + b     membrane potential
        s_t = 1 if v_t ≥ 1 else 0                                         spike
        y_t = (1 - 1/n) y_{t-1} + s_t / n                                 filtered spikes

    m and n are time constants in steps. A spike resets the potential to zero. R is sparse; a fifth
    of the units are inhibitory: all their outgoing weights are negative. The outputs are read like
    the states of a reservoir. There is no gradient through a spike, and none is needed.

    Source: Maass, Natschläger and Markram (2002).

    Shapes: x `(..., inputs)`; state v, s and y, each `(..., units)`.

    Example:
        >>> cell = Liquid(3, 50, key=jax.random.key(0))
        >>> ys, (v, s, y) = ostinato.unroll(cell, xs)
        >>> ys.shape, bool(((s == 0) | (s == 1)).all())
        ((10, 4, 50), True)
    """

    @dataclasses.dataclass(frozen=True)
    class Settings:
        connectivity: float = setting(
            0.1, "fraction of the units that each unit reads", min=0, max=1
        )
        recurrent_scaling: float = setting(1.0, "size of a unit's recurrent input", min=0)
        input_scaling: float = setting(1.0, "largest input weight", min=0)
        bias_scaling: float = setting(0.5, "largest bias; biases are not negative", min=0)
        membrane: float = setting(5.0, "time constant of the potential, in steps", min=1)
        filter: float = setting(10.0, "time constant of the filtered spikes, in steps", min=1)

    frozen: ClassVar[tuple[str, ...]] = ("W", "R", "b", "keeps")
    has_recurrent_matrix: ClassVar[bool] = False

    W: jax.Array
    R: BlockSparse
    b: jax.Array
    keeps: jax.Array

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        key: jax.Array,
        connectivity: float = 0.1,
        recurrent_scaling: Any = 1.0,
        input_scaling: Any = 1.0,
        bias_scaling: Any = 0.5,
        membrane: Any = 5.0,
        filter: Any = 10.0,
    ):
        """
        Args:
            inputs: size of `x_t`.
            units: how many there are.
            key: random key for the weights.
            connectivity: fraction of the units that each unit reads.
            recurrent_scaling: the root mean square of a unit's recurrent input, were all to spike.
            input_scaling, bias_scaling: the largest entries of W and b.
            membrane, filter: the time constants m and n, at least 1.
        """
        w, r, b, sign = jax.random.split(key, 4)
        self.W = input_scaling * draw(RANDOM, w, inputs, units)
        matrix = BlockSparse.random(r, units, connectivity)
        signs = jnp.where(jax.random.uniform(sign, (units,)) < INHIBITORY, -1.0, 1.0)
        incoming = max(1, round(connectivity * units))
        self.R = matrix.with_signs(signs) * (recurrent_scaling / jnp.sqrt(incoming))
        self.b = bias_scaling * jnp.abs(draw(RANDOM, b, 1, units)[0])
        self.keeps = jnp.stack([1 - 1 / jnp.asarray(m, self.b.dtype) for m in (membrane, filter)])

    def initial(self, batch: tuple[int, ...]) -> tuple[jax.Array, jax.Array, jax.Array]:
        zeros = rest(batch, self.b)
        return zeros, zeros, zeros

    def inputs(self, x: jax.Array) -> jax.Array:
        return project(self, x, self.W, self.b)

    def step(self, state: Any, u: jax.Array) -> tuple[Any, jax.Array]:
        v, s, y = state
        v = self.keeps[0] * v * (1 - s) + u + s @ self.R
        s = (v >= THRESHOLD).astype(v.dtype)
        y = self.keeps[1] * y + (1 - self.keeps[1]) * s
        return (v, s, y), y
