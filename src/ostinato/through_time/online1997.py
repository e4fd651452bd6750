"""The online learning algorithm of the first LSTM: forwards in time, one number per weight.

Errors flow back in time through the memory cells alone. There `∂c_t/∂c_{t-1}` is the forget gate,
or 1 where there is none, for each unit by itself. So what a memory cell has to do with one of its
weights is a running sum over the past,

    ∂c_t/∂w = f_t ∂c_{t-1}/∂w + ∂⁺c_t/∂w        Krause (2015), (2.17) with f = 1, and (2.18)

of which one value for each weight (and sequence) is enough. The weights of the output gate and of
the readout have no past: their gradient comes from the present error alone.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Layer
from ..cells.activations import slope
from ..cells.cell import Parts, Rule
from ..errors import BadInput
from .check import sizes
from .gradients import Loss, Online, Result, check_targets, online_state
from .lengths_and_resets import Borders, find_borders, held, restarted, valid_loss, where
from .running import starting_state

CELLS = "LSTM1997, LSTM, KrauseLSTM"  # ours with `memory_rules`


def online1997(
    cell: Layer,
    loss: Loss,
    xs: Any,
    targets: Any,
    state: Any = None,
    *,
    lengths: Any = None,
    resets: Any = None,
) -> Result:
    """The gradient of Hochreiter and Schmidhuber (1997), forwards in time.

    With `v_t = [x_t, h_{t-1}, 1]`, `e_t = ∂L_t/∂h_t` the present error, and all derivatives taken
    within step t, unit by unit (a: a pre-activation, that of the output gate a_o):

        D_t = ∂c_t/∂c_{t-1} D_{t-1} + v_t ⊗ ∂c_t/∂a        the running ∂c_t/∂w, for all a but a_o
        ∂L/∂w = Σ_t e_t ∂h_t/∂c_t D_t                      for all a but a_o
        ∂L/∂w = Σ_t v_t ⊗ e_t ∂h_t/∂a_o                    for a_o

    `∂c_t/∂c_{t-1}` is 1 for `LSTM1997` and the forget gate for `LSTM` and `KrauseLSTM`. With
    `KrauseLSTM` it is the "LSTM online" of Krause (2015), table 4.2.

    Over one window this is `bptt` of the same cell with `jax.lax.stop_gradient` around the
    `h_{t-1}` that its gates read (`LSTM1997(truncated=True)`). Within a window the two sums over
    time are exchanged, so that `D` is needed only at its end. Time O(T · weights), memory
    O(batch · weights), and the states of one window.

    With `online1997_start` `D` goes on from window to window: `state` is then an `Online`, and so
    is the state that is returned. Windows of one step are the original algorithm.

    Source: Hochreiter and Schmidhuber (1997), appendix; Gers et al. (2000) for the forget gate;
    Krause (2015), (2.17-2.18).

    Args:
        cell: an `LSTM1997`, `LSTM` or `KrauseLSTM`, or a network of one: something with a `cell`,
            a `readout` and an `encoding` that has no parameters.
        loss, xs, targets, lengths, resets: as for every method. Where the state restarts, so does
            `D`, at zero.
        state: the first state, or an `Online`; by default the cell's own state.

    Example:
        >>> def loss(y, target):
        ...     return 0.5 * jnp.sum((y - target) ** 2)
        >>> lstm = LSTM1997(3, 8, key=jax.random.key(0))
        >>> xs, targets = jnp.ones((5, 4, 3)), jnp.zeros((5, 4, 8))
        >>> online = online1997_start(lstm, xs)
        >>> step = eqx.filter_jit(online1997)
        >>> value, gradient, online = step(lstm, loss, xs, targets, online)
    """
    check_targets(cell, xs, targets)
    encoding, lstm, readout = _parts(cell)
    memory, output, weights = lstm.memory_rules()
    units = len(lstm.R)
    start = online_state(online1997_start, cell, xs, state)
    going_on = start is state  # it is an `Online`, and so is what is returned
    xs, borders = find_borders(xs, lengths, resets, *sizes(cell, xs))
    loss, targets = valid_loss(loss, targets, borders.valid)
    xs = xs if encoding is None else encoding(xs, lstm.W.dtype)
    rest = lstm.initial((1,) * (start.state[0].ndim - 1))

    def step(state: Any, at: Any) -> tuple[Any, Any]:
        u, valid, reset = at
        h, c = restarted(state, rest, reset)
        a = u + h @ lstm.R
        new = memory(a, c)
        y = output(a[..., -units:], new)
        return held((y, new), state, valid), (h, a, c, new, y)

    received = (lstm.inputs(xs), borders.valid, borders.forward)
    final, (before, a, old, new, h) = jax.lax.scan(step, start.state, received)
    value, of_readout, e = _present(readout, loss, h, targets)
    slopes = _at_borders(_slopes(memory, output, a, old, new), borders)
    columns = a.shape[-1] // units - 1

    def back(carried: Any, now: Any) -> tuple[Any, Any]:
        # What a step adds to D meets its own error and, as far as it is kept, all later ones.
        later, kept = carried
        at_c, keeps = now
        error = at_c + later
        return (keeps * error, keeps * kept), (error, kept)

    begin = jnp.zeros_like(start.state[1]), jnp.ones_like(start.state[1])
    (first, kept_of_all), (errors, kept) = jax.lax.scan(
        back, begin, (e * slopes.h_of_c, slopes.c_of_c), reverse=True
    )

    parts = [xs, before] + ([jnp.ones_like(before[..., :1])] if len(weights) == 3 else [])
    v = jnp.concatenate(parts, axis=-1)
    at_a = [slopes.c_of_a * _times(errors, columns), e * slopes.h_of_o]
    rows = jnp.einsum(
        "nv,na->va", *(x.reshape(-1, x.shape[-1]) for x in (v, jnp.concatenate(at_a, axis=-1)))
    )
    past = start.influence * _times(first, columns)[..., None, :]
    rows = rows.at[:, : past.shape[-1]].add(jnp.sum(past, axis=tuple(range(past.ndim - 2))))

    gradient = _like(cell, of_readout, rows)
    added = jnp.einsum("t...v,t...a->...va", v, slopes.c_of_a * _times(kept, columns))
    influence = start.influence * _times(kept_of_all, columns)[..., None, :] + added
    return value, gradient, Online(final, influence) if going_on else final


def online1997_start(cell: Layer, xs: Any, state: Any = None) -> Online:
    """A state that depends on no weight yet, for `online1997` to go on from.

    Args:
        cell: the cell or network that learns.
        xs: inputs of the batch to come, of any number of steps.
        state: the state to begin with; by default the cell's own.

    Returns:
        The state, and zeros for `D`, `(*batch, inputs + units + 1, k units)`: the rows of `W`, `R`
        and `b` (without the one, where there is no `b`) one below the other, the columns of all
        pre-activations but the output gate's.
    """
    _, lstm, _ = _parts(cell)
    state = starting_state(cell, xs, state)
    h, _ = state
    rows = sum(len(jnp.atleast_2d(x)) for x in lstm.memory_rules().weights)
    columns = lstm.R.shape[1] - lstm.R.shape[0]
    return Online(state, jnp.zeros((*h.shape[:-1], rows, columns), h.dtype))


def _parts(cell: Layer) -> Parts:
    """The memory cells, which are the cell itself or within a network, and what is around them."""
    parts = cell.parts()
    if jax.tree.leaves(eqx.filter(parts.encoding, eqx.is_inexact_array)):
        raise BadInput(
            "online1997 learns no encoding: use inputs that are vectors or one-hot symbols, "
            f"got {type(parts.encoding).__name__}"
        )
    if not parts.cell.memory_cell:
        raise BadInput(
            f"online1997 needs one of {CELLS}, or a network of one, got {type(parts.cell).__name__}"
        )
    return parts


class _Slopes(NamedTuple):
    """Derivatives within a step, unit by unit: of what, and by what."""

    c_of_a: jax.Array  # by all pre-activations but the output gate's, side by side
    c_of_c: jax.Array  # by the memory before
    h_of_c: jax.Array  # by the memory after
    h_of_o: jax.Array  # by the output gate's pre-activation


def _slopes(memory: Rule, output: Rule, a: jax.Array, old: jax.Array, new: jax.Array) -> _Slopes:
    """The slopes at all steps, from the pre-activations and the memory before and after."""
    units = old.shape[-1]
    o = a[..., -units:]

    def with_block(block: int) -> jax.Array:
        """The memory's, by one of the pre-activations."""
        d_a = jnp.zeros_like(a).at[..., block * units : (block + 1) * units].set(1)
        return jax.jvp(lambda a: memory(a, old), (a,), (d_a,))[1]

    return _Slopes(
        c_of_a=jnp.concatenate([with_block(k) for k in range(a.shape[-1] // units - 1)], axis=-1),
        c_of_c=slope(lambda c: memory(a, c), old),
        h_of_c=slope(lambda c: output(o, c), new),
        h_of_o=slope(lambda o: output(o, new), o),
    )


def _at_borders(slopes: _Slopes, borders: Borders) -> _Slopes:
    """Nothing of the old memory is left by a reset; all of it, and no more, by padding."""
    c_of_a, c_of_c = slopes.c_of_a, slopes.c_of_c
    if borders.forward is not None:
        c_of_c = where(borders.forward, jnp.zeros_like(c_of_c), c_of_c)
    if borders.valid is not None:
        c_of_a = where(borders.valid, c_of_a, jnp.zeros_like(c_of_a))
        c_of_c = where(borders.valid, c_of_c, jnp.ones_like(c_of_c))
    return slopes._replace(c_of_a=c_of_a, c_of_c=c_of_c)


def _present(
    readout: Any, loss: Loss, hs: jax.Array, targets: Any
) -> tuple[jax.Array, Any, jax.Array]:
    """The summed loss, its gradient in the readout, and the error at every h."""
    learned, rest = eqx.partition(readout, eqx.is_inexact_array)

    def total(learned: Any, hs: jax.Array) -> jax.Array:
        readout = eqx.combine(learned, rest)
        return jnp.sum(jax.vmap(loss)(hs if readout is None else readout(hs), targets))

    value, (of_readout, errors) = jax.value_and_grad(total, argnums=(0, 1))(learned, hs)
    return value, of_readout, errors


def _like(cell: Layer, of_readout: Any, rows: jax.Array) -> Any:
    """The gradient as a module like the cell, from the rows of `W`, `R` and `b`."""
    lstm = cell.parts().cell
    inputs, units = len(lstm.W), len(lstm.R)
    parts = [rows[:inputs], rows[inputs : inputs + units], *rows[inputs + units :]]

    def where(cell: Layer) -> tuple[jax.Array, ...]:
        return cell.parts().cell.memory_rules().weights

    # A parameter beside these is one that the memory cells do not read.
    zeros = jax.tree.map(jnp.zeros_like, eqx.filter(cell, eqx.is_inexact_array))
    gradient = eqx.tree_at(where, zeros, parts)
    if of_readout is None:
        return gradient
    return eqx.tree_at(lambda c: c.readout, gradient, of_readout)


def _times(x: jax.Array, count: int) -> jax.Array:
    """The same for the columns of each of `count` pre-activations."""
    return jnp.concatenate([x] * count, axis=-1)
