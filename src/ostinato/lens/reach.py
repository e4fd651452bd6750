"""How far back the loss of one piece of a text reaches, and which pieces moved it."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Model
from ..errors import BadInput
from ..names import state_name
from ..tasks.text.passages import Passage
from ..through_time import unroll
from ..wiring import outputs_of
from .gradient_by_lag import gradient_by_lag

WINDOW = 200


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
    marks = batch.marks

    @eqx.filter_jit
    def loss(vectors: jax.Array, target: Any) -> tuple[jax.Array, jax.Array]:
        ys, _ = unroll(reading, vectors, state, **marks)
        logs = jax.nn.log_softmax(ys[step, 0])
        target = jnp.argmax(logs) if target is None else target
        return -logs[target], target

    right = int(passage.targets[at])
    target = target if target is not None else None if right < 0 else right
    (value, chosen), gradient = jax.value_and_grad(loss, has_aux=True)(vectors, target)
    chosen = int(chosen)
    errors = gradient_by_lag(
        reading,
        vectors,
        lambda y: -jax.nn.log_softmax(y)[..., chosen],
        state,
        at=step,
        **marks,
    )
    norms = np.asarray(jnp.linalg.norm(gradient[: len(places), 0], axis=-1), float)
    named = {state_name(name): profile for name, profile in errors.items()}
    by_lag = {name: np.asarray(profile[: step + 1], float) for name, profile in named.items()}
    return Reach(at, chosen, float(value), by_lag, places, norms)
