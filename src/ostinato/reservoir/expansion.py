"""More features for a readout: products and random waves of a cell's outputs, and an MLP."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell
from ..cells.building import draw, input_size, output_size, zeros
from ..cells.cell import Run, Wrapper
from ..cells.initialisers import normal
from ..errors import BadInput
from ..settings import shown
from ..wiring import Readout

EXPANSIONS = ("quadratic", "fourier")


class Expansion(Wrapper):
    """A cell whose output is expanded: `y_t = [x_t, h_t, φ(h_t)]`, h the output of a cell.

        quadratic    φ(h) = h²
        fourier      φ(h) = √(2/n) cos(C h + d), as many features as h has

    The random Fourier features stand for a Gaussian kernel `exp(-‖h - h'‖² / 2σ²)` on h, because
    `φ(h) · φ(h')` is its value on average (Rahimi and Recht, 2007): the entries of C are from
    N(0, 1/σ²), those of d from U(0, 2π). The squares break the symmetry of tanh units
    (Lukoševičius, 2012). Nothing of the expansion is trained, and any readout and learner works
    on it.

    Shapes: x and state as the cell's; y `(..., inputs + 2 * units)`.

    Example:
        >>> cell = Expansion(Reservoir(3, 50, key=jax.random.key(0)))
        >>> ys, h = ostinato.unroll(cell, xs)
        >>> ys.shape
        (10, 4, 103)
    """

    in_parts: ClassVar[bool] = True
    frozen: ClassVar[tuple[str, ...]] = ("C", "d")

    C: jax.Array | None
    d: jax.Array | None
    width: int = eqx.field(static=True)

    def __init__(
        self,
        cell: Cell,
        kind: str = "quadratic",
        *,
        key: jax.Array | None = None,
        sigma: float = 5.0,
    ):
        """
        Args:
            cell: a cell that reads vectors.
            kind: `"quadratic"` or `"fourier"`.
            key: random key, for Fourier features.
            sigma: σ of the kernel.
        """
        if kind not in EXPANSIONS:
            raise BadInput(f"an expansion is {' or '.join(EXPANSIONS)}, got {shown(kind)}")
        inputs = input_size(cell)
        units = output_size(cell, inputs)
        self.cell, self.C, self.d, self.width = cell, None, None, inputs + 2 * units
        if kind == "fourier":
            if key is None:
                raise BadInput("Fourier features need a random key")
            one, two = jax.random.split(key)
            self.C = draw(normal(1 / sigma), one, units, units)
            self.d = jax.random.uniform(two, (units,), self.C.dtype, 0, 2 * jnp.pi)

    @property
    def can_step(self) -> bool:
        return self.cell.can_step

    def inputs(self, x: jax.Array) -> Any:
        return self.cell.inputs(x), x

    def step(self, state: Any, u: Any) -> tuple[Any, jax.Array]:
        u, x = u
        state, h = self.cell.step(state, u)
        return state, self._expanded(x, h)

    def over_time(self, run: Run, xs: Any, state: Any) -> tuple[jax.Array, Any]:
        """The cell first, then the features of all steps at once."""
        hs, state = run(self.cell, xs, state)
        return self._expanded(xs, hs), state

    def _expanded(self, x: jax.Array, h: jax.Array) -> jax.Array:
        if self.C is None or self.d is None:
            more = h**2
        else:
            more = jnp.sqrt(2 / h.shape[-1]).astype(h.dtype) * jnp.cos(h @ self.C + self.d)
        return jnp.concatenate([x.astype(h.dtype), h, more], axis=-1)


class MLP(eqx.Module):
    """A readout with a hidden layer: `o = V tanh(hidden(h)) + b`.

    Shapes: h `(..., units)`, o `(..., outputs)`.

    Example:
        >>> eqx.filter_jit(MLP(50, 20, 2, key=jax.random.key(0)))(np.ones((8, 50))).shape
        (8, 2)
    """

    hidden: Readout
    V: jax.Array
    b: jax.Array

    def __init__(self, units: int, hidden: int, outputs: int, *, key: jax.Array):
        """
        Args:
            units, hidden, outputs: sizes of `h`, of the hidden layer, and of `o`.
            key: random key for the initial weights.
        """
        one, two = jax.random.split(key)
        self.hidden = Readout(units, hidden, key=one)
        self.V = Readout(hidden, outputs, key=two).V
        self.b = zeros(outputs)

    def __call__(self, h: jax.Array) -> jax.Array:
        return jnp.tanh(self.hidden(h)) @ self.V + self.b
