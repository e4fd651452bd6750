"""How far back in time the error of one step reaches, and so how long a network remembers.

`reach` asks it of one piece of a text, and which pieces moved it.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Layer, Model
from ..cells.cell import Wrapper
from ..errors import BadInput
from ..names import state_name
from ..tasks.text.passages import Passage
from ..through_time import unroll
from ..through_time.check import one_time, sizes
from ..through_time.lengths_and_resets import Ends, find_ends, mean_over
from ..through_time.output import step_changing
from ..through_time.running import starting_state
from ..wiring import outputs_of
from .cells_in_turn import cells_in_turn

Offsets = dict[str, list[jax.Array]]
WINDOW = 200


def gradient_by_lag(
    network: Layer,
    xs: Any,
    loss: Callable[[jax.Array], jax.Array],
    state: Any = None,
    *,
    at: int = -1,
    lengths: Any = None,
    resets: Any = None,
) -> dict[str, jax.Array]:
    """`‖∂L_t / ∂s_{t-k}‖` at the state s of every cell, for each lag k = 0, 1, …, t.

    `L_t` is a loss on the output of step t alone, so what is seen is how its error fades or grows
    on the way back. `s_τ` is the state of a cell after step τ, all its float arrays (an LSTM's h
    and c) as one vector, as in `jacobian_by_lag`. So the measure is the same for every cell, with
    recurrent matrices or without. At lag 0 it is the gradient at the state off which the output of
    step t is read, and zero for a cell whose output does not follow from its new state. In a stack
    the error comes to a layer by its own later steps and by the layers above.

    Norms are over the state of one sequence; the result is their root mean square over the batch,
    each sequence's error counted as if it were alone. It costs one gradient: every state is moved
    by an offset of zero, and all offsets are differentiated at once.

    Args:
        network: a cell, a network, or a layer of cells.
        xs: the inputs, time first.
        loss: `loss(output)`, one number for each sequence, `(*batch, outputs) -> (*batch,)`.
        state: the state before the first step.
        at: t, the step whose loss it is; by default the last.
        lengths, resets: as for `unroll`. A negative `at` then counts back from each sequence's own
            end, and at each lag the mean is over the sequences that are so long.

    Returns:
        For each cell whose state has float numbers, by its path, an array `(t + 1,)`; with
        `lengths` or `resets` `(T,)`, zero at lags that no sequence has. The path of the network
        itself is empty. A network without such a state has no entry.

    Example:
        >>> found = gradient_by_lag(network, xs, lambda output: jnp.sum(output**2, axis=-1))
        >>> found[".cell"].shape  # entry k: the error at the state k steps before the loss
        (10,)
    """
    offsets = _offsets(network, xs, state)
    _, batch = sizes(network, xs)
    if lengths is not None or resets is not None:
        ends = find_ends(network, xs, lengths, resets, at)

        def total_at_ends(offsets: Offsets) -> jax.Array:
            ys = _outputs(network, xs, state, offsets, lengths=lengths, resets=resets)
            return jnp.sum(jnp.where(ends.last >= 0, loss(ends.of(ys)), 0))

        gradients = jax.grad(total_at_ends)(offsets)
        return {name: _profile_of(_squares(gradients[name], batch), ends) for name in offsets}

    def total(offsets: Offsets) -> jax.Array:
        return jnp.sum(loss(_outputs(network, xs, state, offsets)[at]))

    steps = jax.tree.leaves(xs)[0].shape[0]
    last = range(steps)[at]
    errors = jax.grad(total)(offsets)
    profiles = {name: _profile(_squares(errors[name], batch)[: last + 1]) for name in offsets}
    # A part that has only the last of the steps has no state, and no error, before them.
    return {name: jnp.pad(x, (0, last + 1 - len(x))) for name, x in profiles.items()}


class _Moved(Wrapper):
    """A cell whose state is moved after each step, by what comes with the input."""

    def check_inputs(self, xs: Any) -> None:
        self.cell.check_inputs(xs[0])

    def inputs(self, x: Any) -> Any:
        x, offsets = x
        return self.cell.inputs(x), offsets

    def step(self, state: Any, u: Any) -> tuple[Any, Any]:
        u, offsets = u

        def move(new: Any) -> Any:
            floats, rest = eqx.partition(new, eqx.is_inexact_array)
            leaves, tree = jax.tree.flatten(floats)
            moved = [x + offset for x, offset in zip(leaves, offsets, strict=True)]
            return eqx.combine(jax.tree.unflatten(tree, moved), rest)

        return step_changing(self.cell, move, state, u)


def _outputs(network: Layer, xs: Any, state: Any, offsets: Offsets, **marks: Any) -> Any:
    """The outputs of a network whose states are moved by the offsets."""
    count: dict[str, int] = {}

    def run(path: str, cell: Layer, xs: Any, state: Any, reverse: bool) -> tuple[Any, Any]:
        # The scan: a measurement is not worth compiling a kernel for.
        how: dict[str, Any] = {"reverse": reverse, "backend": "scan", **marks}
        own = offsets.get(_numbered(path, count))
        if own is None:
            return unroll(cell, xs, state, **how)
        return unroll(_Moved(cell), (xs, own), state, **how)

    return cells_in_turn(network, xs, state, run)[0]


def _offsets(network: Layer, xs: Any, state: Any) -> Offsets:
    """Zeros for every float array of every cell's state, with time first."""
    shapes: dict[str, list] = {}
    count: dict[str, int] = {}

    def visit(path: str, cell: Layer, xs: Any, state: Any, reverse: bool) -> tuple[Any, Any]:
        steps, _ = sizes(cell, xs)
        state = starting_state(cell, xs, state)
        own = eqx.filter(state, eqx.is_inexact_array)
        wanted = [jax.ShapeDtypeStruct((steps, *x.shape), x.dtype) for x in jax.tree.leaves(own)]
        name = _numbered(path, count)
        if wanted:
            shapes[name] = wanted
        _, y = eqx.filter_eval_shape(cell.step, state, one_time(cell.inputs(xs)))
        return jax.tree.map(lambda y: jnp.zeros((steps, *y.shape), y.dtype), y), state

    def follow(xs: Any, state: Any) -> Any:
        return cells_in_turn(network, xs, state, visit)[0]

    eqx.filter_eval_shape(follow, xs, state)
    return {name: [jnp.zeros(x.shape, x.dtype) for x in own] for name, own in shapes.items()}


def _numbered(path: str, count: dict[str, int]) -> str:
    """The path of a cell; numbered from its second turn on, if a network runs it several times."""
    count[path] = count.get(path, 0) + 1
    return path if count[path] == 1 else f"{path}#{count[path]}"


def _squares(errors: list[jax.Array], batch: tuple[int, ...]) -> jax.Array:
    """The squared length of the errors of each step and sequence, `(T, *batch)`."""
    return sum(
        (jnp.sum(jnp.abs(x) ** 2, axis=tuple(range(1 + len(batch), x.ndim))) for x in errors),
        jnp.zeros(()),
    )


def _profile_of(squares: jax.Array, ends: Ends) -> jax.Array:
    """Squares `(T, *batch)` as norms by lag `(T,)`, of the sequences that are so long."""
    return jnp.sqrt(mean_over(ends.by_lag(squares), ends.counted()))


def _profile(squares: jax.Array) -> jax.Array:
    """Squares `(t + 1, *batch)` as norms by lag `(t + 1,)`, the latest first."""
    mean = jnp.mean(squares.reshape(len(squares), -1), axis=1)
    return jnp.sqrt(mean)[::-1]


def joint_gradient(gradient: Mapping[str, Any]) -> np.ndarray:
    """The gradient by lag at the states of all cells together, from that at each."""
    return np.sqrt(sum(np.asarray(profile, float) ** 2 for profile in gradient.values()))


def memory_length(influence: Any, lags: Any = None, share: float = 0.01) -> int | None:
    """The largest lag at which the influence still is at least `share` of its largest value.

    Args:
        influence: by lag, however it was measured: `gradient_by_lag` (how far the error reaches
            back), `jacobian_by_lag` (how far the state depends on its past) or
            `influence_by_lag` (how far the output really does).
        lags: those of the influence; 0, 1, 2, … by default.
        share: what counts as faded.

    Returns:
        A lag; 0 where the influence is zero at every lag; `None` where it was not measured, because
        there are no values or they are not all finite.

    Example:
        >>> memory_length([1.0, 0.5, 0.1, 0.002, 0.001])
        2
    """
    influence = np.asarray(influence, float)
    lags = np.arange(len(influence)) if lags is None else np.asarray(lags)
    if not influence.size or not np.all(np.isfinite(influence)):
        return None
    peak = influence.max()
    if peak == 0:
        return 0
    return int(lags[influence >= share * peak].max())


class Reach(NamedTuple):
    """The gradient of `L = -ln p` of one piece.

    Attributes:
        at: the piece.
        target: the output whose loss it is.
        loss: L, in nats.
        by_lag: for each cell, `‖∂L/∂s_{t-k}‖` at its state s, from lag k = 0 on, where t is the
            step that outputs what L judges.
        places: the pieces that were read in the window.
        moved: `‖∂L/∂x‖` at the input vector of each of these.
    """

    at: int
    target: int
    loss: float
    by_lag: dict[str, np.ndarray]
    places: np.ndarray
    moved: np.ndarray


def reach(
    network: Model, passage: Passage, at: int, *, target: int | None = None, window: int = WINDOW
) -> Reach:
    """Follow the loss of one piece back through time.

    What comes before the window is read, so that the state there is right, and nothing of it is
    kept; memory is that of the window.

    Args:
        network: with one output per symbol or tag.
        passage: the text.
        at: the piece.
        target: the output whose loss is followed; by default the right one, or if that is unknown
            the most probable.
        window: how many pieces to go back, at most.

    Example:
        >>> found = reach(run.network(), run.task().passage("valid"), 20, window=10)
        >>> found.places.tolist(), found.moved.shape
        ([10, 11, 12, 13, 14, 15, 16, 17, 18, 19], (10,))
        >>> {name: profile.shape for name, profile in found.by_lag.items()}
        {'state': (10,)}
    """
    size = len(passage.pieces)
    if not 0 <= at < size:
        raise BadInput(f"the text has the pieces 0 to {size - 1}; there is no {at}")
    if window < 1:
        raise BadInput(f"the window must be at least 1, got {window}")
    if not passage.judged:
        raise BadInput("of several labels at once there is no one loss to follow")
    network = eqx.nn.inference_mode(network)
    batch, places, step = passage.window(at, window)
    state: Any = None
    for earlier in passage.before(int(places[0])):
        _, state = outputs_of(network, earlier.arrays, state)
    layer, xs, begin = network.prepare(unroll, batch.arrays)
    state = state if layer is network else begin
    vectors, reading = layer.on_vectors(jnp.asarray(xs))
    right = int(passage.targets[at])
    target = target if target is not None else None if right < 0 else right
    asked = None if target is None else np.asarray(target)
    found = _followed(reading, vectors, state, asked, step, batch.marks)
    value, chosen, gradient, names, profiles = jax.device_get(found)
    norms = np.linalg.norm(gradient[: len(places), 0].astype(float), axis=-1)
    named = zip(map(state_name, names), profiles, strict=True)
    by_lag = {name: np.asarray(profile[: step + 1], float) for name, profile in named}
    return Reach(at, int(chosen), float(value), by_lag, places, norms)


@eqx.filter_jit
def _followed(
    network: Layer, vectors: jax.Array, state: Any, target: Any, step: int, marks: dict[str, Any]
) -> tuple[jax.Array, jax.Array, jax.Array, list[str], list[jax.Array]]:
    """The loss at a step, its target, its gradient at the inputs, and names and errors of states.

    Compiled as a whole: one by one its operations would be as many programs.
    """

    def loss(vectors: jax.Array) -> tuple[jax.Array, jax.Array]:
        ys, _ = unroll(network, vectors, state, **marks)
        logs = jax.nn.log_softmax(ys[step, 0])
        chosen = jnp.argmax(logs) if target is None else target
        return -logs[chosen], chosen

    (value, chosen), gradient = jax.value_and_grad(loss, has_aux=True)(vectors)
    errors = gradient_by_lag(
        network,
        vectors,
        lambda y: -jax.nn.log_softmax(y)[..., chosen],
        state,
        at=step,
        **marks,
    )
    return value, chosen, gradient, list(errors), list(errors.values())
