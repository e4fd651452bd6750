"""Two cells, one from each end."""

from typing import Any

import jax.numpy as jnp

from ..cells import Layer
from ..cells.cell import Run


class Bidirectional(Layer):
    """`y_t = [→h_t, ←h_t]`: one cell reads the sequence forwards, another backwards.

    It must see the whole sequence, so it is a layer for `unroll` and not a cell. With `lengths` and
    `resets` the backward cell starts at each sequence's own end.

    Source: Schuster and Paliwal (1997); Lipton et al. (2015), section 4.2.

    Shapes: x as the cells'; state `(forward state, backward state)`; y `(..., units + units)`.

    Example:
        >>> one, two = jax.random.split(jax.random.key(0))
        >>> layer = Bidirectional(LSTM(3, 16, key=one), LSTM(3, 16, key=two))
        >>> ys, states = ostinato.unroll(layer, jnp.ones((10, 2, 3)), lengths=[10, 7])
        >>> ys.shape
        (10, 2, 32)
    """

    forward: Layer
    backward: Layer

    @property
    def input_axes(self) -> int:
        return self.forward.input_axes

    def initial(self, batch: tuple[int, ...]) -> Any:
        return self.forward.initial(batch), self.backward.initial(batch)

    def over_time(self, run: Run, xs: Any, state: Any) -> tuple[Any, Any]:
        """Both directions; `run` is given by `unroll`."""
        ahead, behind = (None, None) if state is None else state
        ys, ahead = run(self.forward, xs, ahead)
        zs, behind = run(self.backward, xs, behind, reverse=True)
        return jnp.concatenate([ys, zs], axis=-1), (ahead, behind)

    def state_groups(self, state: Any) -> list[list[Any]]:
        ahead, behind = self.forward.state_groups(state[0]), self.backward.state_groups(state[1])
        return [one + two for one, two in zip(ahead, behind, strict=True)]
