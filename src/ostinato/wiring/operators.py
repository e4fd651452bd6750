"""Networks from the recurrent operators of other libraries."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import GRU, LSTM, Cell, Layer, PeepholeLSTM, Simple
from ..cells.operator import Operator, side_by_side
from ..errors import BadInput, NeedsExtra
from .encodings import Embedding, Encoding
from .network import Network, Readout
from .stack import Bidirectional, Stack

_INITIAL: Any = {"input": jax.nn.initializers.zeros, "recurrent": jax.nn.initializers.zeros}


@eqx.filter_jit  # one program, instead of one for each operation
def operators_of(layer: Layer) -> list[list[Operator]] | None:
    """`Layer.operators`, computed at once."""
    return layer.operators()


def network_of(
    rows: list[list[Operator]], readout: Readout | None = None, encoding: Encoding | None = None
) -> Cell | Bidirectional:
    """The network whose `operators` they are: a cell, `Bidirectional`, or a `Stack` of them.

    With a readout or an encoding there is a `Network` around it.
    """
    below = None
    for number, row in enumerate(rows):
        for one in row:
            inputs = one.W.shape[1]
            if below not in (None, inputs):
                raise BadInput(f"layer {number} reads {inputs} numbers, that below gives {below}")
        below = sum(one.units for one in row)
    cells = [[cell_of(one) for one in row] for row in rows]
    parts = [row[0] if len(row) == 1 else Bidirectional(*row) for row in cells]
    cell = parts[0] if len(parts) == 1 else Stack(parts)
    return cell if readout is None and encoding is None else Network(cell, readout, encoding)


@eqx.filter_jit  # one program, instead of one for each operation
def cell_of(operator: Operator) -> Cell:
    """The cell of one operator."""
    kind, W, R, b, d, p, f, reset = operator
    inputs, units, key = W.shape[1], operator.units, jax.random.key(0)
    if kind == "gru":
        W, R, b, d = (x.at[0].multiply(-1) for x in (W, R, b, d))  # σ(-v) = 1 - σ(v)
        gru = GRU(inputs, units, key=key, reset=reset, **_INITIAL)
        both = (b + d).at[2].set(b[2]) if reset == "after" else b + d
        weights = side_by_side(W), side_by_side(R[:2]), R[2], side_by_side(both)
        gru = eqx.tree_at(lambda c: (c.W, c.R, c.U, c.b), gru, weights)
        return gru if gru.d is None else eqx.tree_at(lambda c: c.d, gru, d[2])
    cell: LSTM | Simple
    if kind == "rnn":
        cell = Simple(inputs, units, key=key, f=f, **_INITIAL)
    else:
        make = LSTM if p is None else PeepholeLSTM
        cell = make(inputs, units, key=key, **_INITIAL)
    parts = side_by_side(W), side_by_side(R), side_by_side(b + d)
    cell = eqx.tree_at(lambda c: (c.W, c.R, c.b), cell, parts)
    return cell if p is None else eqx.tree_at(lambda c: c.p, cell, p)


def readout_of(V: Any, b: Any = None) -> Readout:
    """The readout with these weights, `(units, outputs)`, and this bias, if it has one."""
    V = jnp.asarray(V)
    readout = Readout(*V.shape, key=jax.random.key(0), bias=b is not None)
    return readout.with_weights(V, None if b is None else jnp.asarray(b))


def embedding_of(E: Any) -> Embedding:
    """The embedding with these vectors, `(symbols, size)`."""
    embedding = Embedding(*E.shape, key=jax.random.key(0))
    return eqx.tree_at(lambda x: x.E, embedding, jnp.asarray(E))


@contextmanager
def reading(source: str | Path, kind: str) -> Iterator[None]:
    """Say in one line which model is wrong; a damaged one may be so in any way."""
    try:
        yield
    except NeedsExtra:
        raise
    except BadInput as error:
        raise BadInput(f"{source}: {error}") from None
    except Exception as error:
        name = type(error).__name__
        raise BadInput(f"{source}: it is damaged or no {kind} ({name})") from None
