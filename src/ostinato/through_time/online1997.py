"""The online learning algorithm of the first LSTM: forwards in time, one number a weight.

Errors flow back in time through the memory cells alone, and `∂c_t/∂c_{t-1} = 1`. So what a memory
cell has to do with a weight of its input gate or its block input is a plain sum over the past,

    ∂c_t/∂w = ∂c_{t-1}/∂w + ∂⁺c_t/∂w        Krause (2015) (2.17)

of which one running value for each weight (and sequence) is enough. The weights of the output gate
and of the readout have no past: their gradient comes from the present error alone.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import LSTM1997, Cell
from ..cells._cell import split
from .gradients import Loss, Online, Result, check_influence, check_targets
from .unroll import starting_state


def online1997(cell: Cell, loss: Loss, xs: Any, targets: Any, state: Any = None) -> Result:
    """The gradient of Hochreiter and Schmidhuber (1997), forwards in time.

    With `v_t = [x_t, h_{t-1}, 1]`, `e_t = ∂L_t/∂h_t` the present error, and a dash for the
    derivative of each squashing function at its place:

        D_t = D_{t-1} + v_t ⊗ [g i', i g']        the running ∂c_t/∂w, for i and g
        ∂L/∂w = Σ_t e_t o tanh'(c_t) D_t          for i and g
        ∂L/∂w = Σ_t v_t ⊗ e_t tanh(c_t) o'        for o

    Over one window this is `bptt` of the same cell with `truncated=True`, whether or not the cell
    is set so. Within a window the two sums over time are exchanged, so that `D` is needed only at
    its end. Time O(T · weights), memory O(batch · weights), and the states of one window.

    With `online1997_start` `D` goes on from window to window: `state` is then an `Online`, and so
    is the state that is returned. Windows of one step are the original algorithm.

    Source: Hochreiter and Schmidhuber (1997), appendix; Krause (2015) (2.17).

    Args:
        cell: an `LSTM1997`, or a network of one: something with a `cell`, a `readout` and an
            `encoding` that has no parameters.
        loss, xs, targets: as for every method.
        state: the first state, or an `Online`; by default the cell's own state.

    Example:
        >>> online = online1997_start(network, xs)
        >>> value, gradient, online = online1997(network, loss, xs, targets, online)
    """
    check_targets(cell, xs, targets)
    lstm = _lstm(cell)
    going_on = isinstance(state, Online)
    start = state if isinstance(state, Online) else online1997_start(cell, xs, state)
    check_influence(start, online1997_start(cell, xs, start.state))
    encoding = getattr(cell, "encoding", None)
    xs = xs if encoding is None else encoding(xs, lstm.W.dtype)

    def step(state, u):
        before, c = state
        gates = jax.nn.sigmoid(u + before @ lstm.R)
        i, g, o = split(gates, 3)
        c = c + i * g
        h = o * jnp.tanh(c)
        return (h, c), (before, gates, c, h)

    final, (before, gates, c, h) = jax.lax.scan(step, start.state, lstm.inputs(xs))
    value, of_readout, e = _present(cell, loss, h, targets)

    i, g, o = split(gates, 3)
    v = jnp.concatenate([xs, before, jnp.ones_like(before[..., :1])], axis=-1)
    local = jnp.concatenate([g * i * (1 - i), i * g * (1 - g)], axis=-1)
    at_c = e * o * (1 - jnp.tanh(c) ** 2)
    # What a step adds to D stays there: it meets the errors of that step and of all later ones.
    to_come = jax.lax.cumsum(at_c, axis=0, reverse=True)
    errors = jnp.concatenate([local * _twice(to_come), e * jnp.tanh(c) * o * (1 - o)], axis=-1)
    rows = jnp.einsum("nv,na->va", *(x.reshape(-1, x.shape[-1]) for x in (v, errors)))
    past = start.influence * _twice(jnp.sum(at_c, axis=0))[..., None, :]
    rows = rows.at[:, : past.shape[-1]].add(jnp.sum(past, axis=tuple(range(past.ndim - 2))))

    gradient = _like(cell, of_readout, rows)
    influence = start.influence + jnp.einsum("t...v,t...a->...va", v, local)
    return value, gradient, Online(final, influence) if going_on else final


def online1997_start(cell: Cell, xs: Any, state: Any = None) -> Online:
    """A state that depends on no weight yet, for `online1997` to go on from.

    Args:
        cell: the cell or network that learns.
        xs: inputs of the batch to come, of any number of steps.
        state: the state to begin with; by default the cell's own.

    Returns:
        The state, and zeros `(*batch, inputs + units + 1, 2 units)` for `D`: the rows of `W`, `R`
        and `b` one below the other, the columns of the input gate and of the block input.
    """
    lstm = _lstm(cell)
    state = starting_state(cell, xs, state)
    h, _ = state
    (inputs, _), (units, _) = lstm.W.shape, lstm.R.shape
    return Online(state, jnp.zeros((*h.shape[:-1], inputs + units + 1, 2 * units), h.dtype))


def _lstm(cell: Any) -> LSTM1997:
    """The memory cells: the cell itself, or those within a network."""
    lstm = cell
    if hasattr(cell, "readout") and hasattr(cell, "encoding"):
        lstm = cell.cell
        if jax.tree.leaves(eqx.filter(cell.encoding, eqx.is_inexact_array)):
            raise ValueError(
                "online1997 learns no encoding: use inputs that are vectors or one-hot symbols, "
                f"got {type(cell.encoding).__name__}"
            )
    if not isinstance(lstm, LSTM1997):
        raise ValueError(
            f"online1997 needs an LSTM1997, or a network of one, got {type(lstm).__name__}"
        )
    return lstm


def _present(cell: Any, loss: Loss, hs: jax.Array, targets: Any):
    """The summed loss, its gradient in the readout, and the error at every h."""
    learned, rest = eqx.partition(getattr(cell, "readout", None), eqx.is_inexact_array)

    def total(learned, hs):
        readout = eqx.combine(learned, rest)
        return jnp.sum(jax.vmap(loss)(hs if readout is None else readout(hs), targets))

    value, (of_readout, errors) = jax.value_and_grad(total, argnums=(0, 1))(learned, hs)
    return value, of_readout, errors


def _like(cell: Any, of_readout: Any, rows: jax.Array) -> Any:
    """The gradient as a module like the cell, from the rows of `W`, `R` and `b`."""
    lstm = _lstm(cell)
    inputs = lstm.W.shape[0]
    parts = rows[:inputs], rows[inputs:-1], rows[-1]
    gradient = eqx.filter(cell, eqx.is_inexact_array)
    gradient = eqx.tree_at(lambda c: [_lstm(c).W, _lstm(c).R, _lstm(c).b], gradient, parts)
    if of_readout is None:
        return gradient
    return eqx.tree_at(lambda c: c.readout, gradient, of_readout)


def _twice(x: jax.Array) -> jax.Array:
    """For the columns of the input gate and those of the block input."""
    return jnp.concatenate([x, x], axis=-1)
