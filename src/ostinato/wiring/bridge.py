"""From the final state of an encoder to the initial state of a decoder."""

from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import Cell
from .network import Readout


class Encoder(Protocol):
    """A layer, or anything else whose final state is handed over."""

    def initial(self, batch: tuple[int, ...]) -> Any: ...

    def state_groups(self, state: Any) -> list[list[Any]]: ...


class Bridge(eqx.Module):
    """`s_i = tanh(W_i e_i + b_i)` for each array s_i of the decoder's state.

    Where encoder and decoder have the same layers, e_i is the array in the same place, of both
    directions if the encoder has two; otherwise it is the whole state of the encoder. Arrays that
    are not floats, such as counters, start as usual.

    Source: Cho et al. (2014); Bahdanau et al. (2015), appendix A.2.2.

    Example:
        >>> one, two = jax.random.split(jax.random.key(0))
        >>> both = Bidirectional(GRU(3, 16, key=one), GRU(3, 16, key=two))
        >>> decoder = GRU(5, 8, key=one)
        >>> bridge = Bridge(both, decoder, key=two)
        >>> bridge(both, both.initial((4,)), decoder).shape
        (4, 8)
    """

    maps: tuple[Readout, ...]

    def __init__(self, encoder: Encoder, decoder: Cell, *, key: jax.Array):
        """
        Args:
            encoder: a cell, or a layer such as `Bidirectional`.
            decoder: a cell.
            key: random key for the initial weights.
        """
        theirs, ours = (
            eqx.filter_eval_shape(lambda cell=cell: cell.initial((1,)))
            for cell in (encoder, decoder)
        )
        made = []
        goals = [x for x in jax.tree.leaves(ours) if _is_float(x)]
        sources = _sources(encoder, theirs, len(goals))
        for parts, goal, k in zip(sources, goals, jax.random.split(key, len(goals)), strict=True):
            size = sum(part.shape[-1] for part in parts)
            made.append(Readout(size, goal.shape[-1], key=k))
        self.maps = tuple(made)

    def __call__(self, encoder: Encoder, final: Any, decoder: Cell) -> Any:
        """The decoder's initial state, from the final state of the encoder `(*batch, ...)`."""
        batch = jax.tree.leaves(final)[0].shape[:1]
        leaves, tree = jax.tree.flatten(decoder.initial(batch))
        sources = iter(_sources(encoder, final, len(self.maps)))
        maps = iter(self.maps)
        state = [
            jnp.tanh(next(maps)(jnp.concatenate(next(sources), axis=-1))) if _is_float(x) else x
            for x in leaves
        ]
        return jax.tree.unflatten(tree, state)


def can_hand_over(encoder: Encoder, decoder: Cell) -> bool:
    """Whether the encoder's final state is a state of the decoder."""
    theirs, ours = (
        eqx.filter_eval_shape(lambda cell=cell: cell.initial((1,))) for cell in (encoder, decoder)
    )
    return bool(eqx.tree_equal(theirs, ours))


def _sources(encoder: Encoder, state: Any, count: int) -> list[list[Any]]:
    """For each of `count` arrays of the decoder, the arrays of the encoder's state it reads."""
    groups = encoder.state_groups(state)
    if len(groups) == count:
        return groups
    return [[x for group in groups for x in group]] * count


def _is_float(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.floating)
