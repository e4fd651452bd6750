"""A long text read in streams side by side, and checked where they meet.

A step for one sequence reads every weight of the network to multiply it once. With many sequences
side by side, a weight that was read is used for all of them, which is many times faster. So a long
text is cut into streams of chunks. All streams begin from the initial state, which is wrong for all
but the first, so none stops at its end: it goes on into the next one's text, and what it finds
there takes the place of what was found before. A network forgets; after a while the two agree:

    stream 1    ├──────────────┼─ ─ ─┤ agrees with what stream 2 had here, and stops
    stream 2                   ├──────────────┼─ ─ ┤
    found        1  1  1  1  1  1  1  2  2  2  2  2  3  ...

The text decides how far that is. A network that does not forget is found out, because nothing
agrees; then its streams are ended one after the other, from the first on, as in a plain reading.

So each chunk was read from the state in which the one before it ended, to within `CLOSE`. At no
place is a state further from the equations than a rounding to five digits would bring it.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import jax
import numpy as np

CHUNK = 100  # pieces that are read at a time
STREAMS = 64  # side by side, at most
SHORTEST = 15  # chunks of a stream
PATIENCE = 4  # streams whose text each of them may read, its own included, while others do
CLOSE = 1e-5  # of the largest size that a unit's state has had

Run = Callable[[np.ndarray, Any], tuple[Any, Any]]


def side_by_side(run: Run, symbols: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """Read a text from its beginning to its end.

    Args:
        run: reads symbols `(T, B)` from a state, `None` for the initial one. It returns whatever it
            finds, and the state afterwards, whose arrays have the B sequences first.
        symbols: `(pieces,)`.

    Returns:
        What was found, with the piece that each step read, `(T, B)`, or -1 where nothing is to be
        looked at. What comes later takes the place of what came earlier.

    Example:
        >>> def run(symbols, state):  # the state is the sum of the last two symbols
        ...     before = np.zeros(symbols.shape[1]) if state is None else state
        ...     last = np.concatenate([before[None], symbols])
        ...     return last[:-1] + last[1:], symbols[-1]
        >>> symbols, sums = np.arange(5000) % 7, np.zeros(5000)
        >>> for values, places in side_by_side(run, symbols):
        ...     sums[places[places >= 0]] = values[places >= 0]
        >>> bool(np.all(sums[1:] == symbols[1:] + symbols[:-1]))
        True
    """
    chunks = -(-len(symbols) // CHUNK)
    each = max(-(-chunks // STREAMS), SHORTEST)
    waiting: dict[int, Any] = dict.fromkeys(range(0, chunks, each))  # the state before each
    before: dict[int, Any] = {}  # that from which a chunk was read last
    rows, sizes = len(waiting), None
    for turn in count():
        if not waiting:
            return
        if turn == PATIENCE * each:
            rows = 1
        now = sorted(waiting)[:rows]
        states = [waiting.pop(chunk) for chunk in now]
        before.update(zip(now, states, strict=True))
        places, there = _places(now, rows, len(symbols))
        results, after = run(symbols[places], None if states[0] is None else _stacked(states, rows))
        yield results, np.where(there, places, -1)
        after = jax.tree.map(np.asarray, after)
        sizes = _largest(sizes, after)
        for row, chunk in enumerate(now, 1):
            state = jax.tree.map(lambda x, row=row: x[row - 1], after)
            if chunk + 1 < chunks and (
                chunk + 1 in waiting or not _close(before.get(chunk + 1), state, sizes)
            ):
                waiting[chunk + 1] = state


def _places(now: list[int], rows: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The pieces of some chunks, `(CHUNK, rows)`, and which of them are not filling."""
    begins = CHUNK * np.array([*now, *now[:1] * (rows - len(now))])
    places = begins + np.arange(CHUNK)[:, None]
    there = (places < size) & (np.arange(rows) < len(now))
    return np.minimum(places, size - 1), there


def _stacked(states: list, rows: int) -> Any:
    states = states + states[:1] * (rows - len(states))
    return jax.tree.map(lambda *x: np.stack(x), *states)


def _largest(sizes: Any, states: Any) -> Any:
    """The largest finite size of each number of the state, so far."""

    def largest(x: np.ndarray) -> np.ndarray:
        return np.max(np.abs(x), axis=0, where=np.isfinite(x), initial=0)

    new = jax.tree.map(largest, states)
    return new if sizes is None else jax.tree.map(np.maximum, sizes, new)


def _close(one: Any, other: Any, sizes: Any) -> bool:
    """Whether two states agree; `None`, a state that was only assumed, agrees with nothing."""
    if one is None:
        return False
    leaves = zip(*map(jax.tree.leaves, (one, other, sizes)), strict=True)
    return all(
        np.all(np.isclose(x, y, rtol=0, atol=CLOSE * size, equal_nan=True)) for x, y, size in leaves
    )
