"""What a network expects and what its units do, over a text, and where they do the same again."""

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Model
from ..data import Batch
from ..errors import BadInput
from ..progress import Report, each, silent
from ..tasks.text.passages import Passage
from ..through_time import unroll
from .part_names import Unit, state_names
from .saturation import gates_over_time

NUMBERS = 1 << 28  # of all states, 1 GiB
APART = 20


class Reading(NamedTuple):
    """A network on a passage.

    Attributes:
        surprise: `(pieces,)`, `-log2 p` of what came, in bits; NaN where nothing was expected (the
            first character of a text) or what is right is unknown.
        expected: `(pieces, top)`, the most probable outputs, the most probable first; -1 where
            nothing was expected.
        probabilities: of these, `(pieces, top)`.
        values: `(pieces, units)`, all states side by side, after each piece was read; 0 for one
            that is not read, as the end of what a decoder writes.
        groups: where the states of each name are in `values`.
    """

    surprise: np.ndarray
    expected: np.ndarray
    probabilities: np.ndarray
    values: np.ndarray
    groups: dict[str, slice]

    @property
    def states(self) -> dict[str, np.ndarray]:
        """`(pieces, units)` by name."""
        return {name: self.values[:, some] for name, some in self.groups.items()}

    def unit(self, column: int) -> Unit:
        """The unit of a column of `values`."""
        name, some = next((n, some) for n, some in self.groups.items() if column < some.stop)
        return Unit(name, column - some.start)


def read(network: Model, passage: Passage, top: int = 5, report: Report = silent) -> Reading:
    """Read a passage from its beginning.

    Memory beyond the result is that of a few hundred steps.

    Args:
        network: with one output per symbol or tag.
        passage: what to read.
        top: how many of the most probable outputs to keep; with 0 only states are read.
        report: hears how many pieces are read; those that are read twice count twice.

    Example:
        >>> passage = run.task().passage("valid")
        >>> found = read(run.network(), passage, top=3)
        >>> found.expected.shape == (len(passage.pieces), 3), sorted(found.states)
        (True, ['c', 'h'])
        >>> bool(np.all(found.surprise[1:] > 0))
        True
    """
    network, size = eqx.nn.inference_mode(network), len(passage.pieces)
    top = min(top, network.outputs) if passage.judged else 0
    surprise = np.full(size, np.nan)
    expected, probabilities = np.full((size, top), -1), np.zeros((size, top))
    values, groups = np.empty((size, 0), np.float32), dict[str, slice]()
    blocks = passage.over(_watching(network))
    for (ys, watched), places in each(blocks, report, "reading the text", size, _count):
        if top:
            about = places + passage.ahead
            asked = (places >= 0) & (about < size)
            targets = np.where(asked, passage.targets[np.where(asked, about, 0)], -1)
            said, best, shares = map(np.asarray, _judged(ys, targets, top))
            some = about[asked]
            surprise[some], expected[some] = said[asked], best[asked]
            probabilities[some] = shares[asked]
        if not groups:
            ends = [0, *accumulate(x.shape[-1] for x in watched.values())]
            groups = {name: slice(*cut) for name, cut in zip(watched, pairwise(ends), strict=True)}
            _check_room(size, ends[-1])
            values = np.zeros((size, ends[-1]), np.float32)
        for name, x in watched.items():
            _put(values[:, groups[name]], places, np.asarray(x))
    if not np.all(np.isfinite(probabilities)):
        raise BadInput("the network's outputs are not finite numbers; its training diverged")
    return Reading(surprise, expected, probabilities, values, groups)


def _count(block: tuple[Any, np.ndarray]) -> int:
    """The pieces of a block."""
    return int(np.count_nonzero(block[1] >= 0))


def _put(into: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    """Copy what was found, `(T, B, units)`, to its pieces, `(pieces, units)`, stream by stream."""
    for stream, count in enumerate(np.sum(places >= 0, axis=0)):
        if count:
            into[places[0, stream] :][:count] = values[:count, stream]


def _check_room(pieces: int, units: int) -> None:
    if pieces * units > NUMBERS:
        raise BadInput(
            f"{units} units over {pieces} pieces are more than the {NUMBERS:,} numbers that are "
            f"kept; give a text of at most {NUMBERS // units:,} pieces"
        )


def read_gates(network: Model, passage: Passage) -> dict[str, np.ndarray]:
    """Everything that the network's steps squash, over a passage: `(pieces, units)` by name.

    Example:
        >>> found = read_gates(run.network(), run.task().passage("valid"))
        >>> sorted(found)
        ['forget gate', 'input gate', 'output', 'output gate']
    """
    network, size = eqx.nn.inference_mode(network), len(passage.pieces)
    gates: dict[str, np.ndarray] = {}

    def run(batch: Batch, state: Any) -> tuple[Any, Any]:
        layer, xs, state = _opened(network, batch, state)
        return gates_over_time(layer, xs, state, **batch.marks)

    for values, places in passage.over(run):
        for name, x in values.items():
            if name not in gates:
                gates[name] = np.zeros((size, x.shape[-1]), np.float32)
            _put(gates[name], places, np.asarray(x))
    return gates


def _watching(network: Model) -> Callable[[Batch, Any], tuple[Any, Any]]:
    """Reads a batch: outputs `(T, B, outputs)` and states by name, and the state afterwards."""
    names: list[str] = []

    def run(batch: Batch, state: Any) -> tuple[Any, Any]:
        layer, xs, state = _opened(network, batch, state)
        (ys, watched), state = unroll(layer, xs, state, watch="states", **batch.marks)
        names[:] = names or state_names(layer, xs)
        named = zip(names, watched, strict=True)
        # A state without an axis of units, such as a counter, is not shown; a matrix is, flat.
        return (ys, {k: x.reshape(*x.shape[:2], -1) for k, x in named}), state

    return run


def _opened(network: Model, batch: Batch, state: Any) -> tuple[Any, Any, Any]:
    layer, xs, begin = network.prepare(unroll, batch.arrays)
    return layer, jax.tree.map(jnp.asarray, xs), state if layer is network else begin


@eqx.filter_jit
def _judged(logits: Any, targets: Any, top: int) -> tuple[Any, Any, Any]:
    """Surprise in bits, and the most probable outputs with their probabilities."""
    logs = jax.nn.log_softmax(logits)
    right = jnp.take_along_axis(logs, jnp.maximum(targets, 0)[..., None], axis=-1)[..., 0]
    best, which = jax.lax.top_k(logs, top)
    return jnp.where(targets < 0, jnp.nan, -right / jnp.log(2.0)), which, jnp.exp(best)


def similar_states(
    states: Any, at: int, *, count: int = 5, apart: int = APART
) -> list[tuple[int, float]]:
    """The positions whose states have the largest cosine with the state at a position.

    Args:
        states: `(T, units)`.
        at: the position.
        count: how many to return, at most.
        apart: the least distance between two of them, and between each and `at`.

    Returns:
        Positions and cosines, the most similar first.

    Example:
        >>> angles = np.array([0.0, 1.5, 0.1, 3.0, 0.2, 1.6])
        >>> states = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        >>> [at for at, cosine in similar_states(states, 0, count=2, apart=2)]
        [2, 4]
    """
    states = np.asarray(states)
    if not 0 <= at < len(states):
        raise BadInput(f"the text has the pieces 0 to {len(states) - 1}; there is no {at}")
    if count < 1 or apart < 1:
        raise BadInput(f"count and apart must be at least 1, got {count} and {apart}")
    norms = np.sqrt(np.einsum("tu,tu->t", states, states))
    cosines = states @ states[at] / np.maximum(norms * norms[at], np.finfo(np.float32).tiny)
    cosines = np.clip(cosines.astype(float), -1, 1)
    free = np.ones(len(states), bool)
    free[max(at - apart + 1, 0) : at + apart] = False
    similar: list[tuple[int, float]] = []
    while len(similar) < count and free.any():
        best = int(np.argmax(np.where(free, cosines, -np.inf)))
        similar.append((best, float(cosines[best])))
        free[max(best - apart + 1, 0) : best + apart] = False
    return similar
