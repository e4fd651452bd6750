"""Transcripts from the outputs of connectionist temporal classification (CTC).

A network outputs logits for the labels 1, 2, … and for the blank, symbol 0, at every step. A path
is one symbol per step; its transcript is what remains when repeats are merged and blanks are then
removed: `- a a - a b` is `a a b`. The probability of a transcript is the sum over all its paths.

`ctc_greedy` takes the most probable path. `ctc_beam` sums over paths: for each of the most probable
prefixes of a transcript it keeps the probability of the paths that end in a blank, and of those
that end in a label, because only after a blank does the same label count again.

Sources: Graves et al. (2006); Graves (2012), Supervised sequence labelling with recurrent neural
networks, chapter 7; Hannun et al. (2014), First-pass large vocabulary continuous speech
recognition using bi-directional recurrent DNNs.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import BadInput
from ..settings import checked_int
from .sampling import NotFinite

BLANK = 0
DEAD = -2  # the size of a prefix that does not exist; no size of another is one away from it
NEVER = -jnp.inf
Best = list[tuple[np.ndarray, float]]


def best_path(outputs: jax.Array, lengths: Any = None) -> tuple[jax.Array, jax.Array]:
    """The most probable symbol of each step, and the steps that add a label to the transcript.

    Args:
        outputs: logits `(T, B, labels + 1)`.
        lengths: `(B,)`, the valid steps of each sequence, or `None`.

    Returns:
        Symbols `(T, B)` and booleans `(T, B)`, false for blanks, repeats and padding.

    Example:
        >>> outputs = np.eye(3)[[[0], [2], [2], [0], [2], [1]]]
        >>> symbols, kept = map(np.asarray, jax.jit(best_path)(outputs))
        >>> symbols[kept].tolist()
        [2, 2, 1]
    """
    symbols = jnp.argmax(outputs, axis=-1).astype(jnp.int32)
    before = jnp.concatenate([jnp.full_like(symbols[:1], BLANK), symbols[:-1]])
    kept = (symbols != BLANK) & (symbols != before)
    if lengths is not None:
        kept &= jnp.arange(len(symbols))[:, None] < jnp.asarray(lengths)
    return symbols, kept


def ctc_greedy(outputs: Any, lengths: Any = None) -> list[np.ndarray]:
    """The transcript of the most probable path of every sequence.

    Args:
        outputs: logits `(T, B, labels + 1)`; symbol 0 is the blank.
        lengths: `(B,)`, the valid steps of each sequence; `None` if all have T.

    Returns:
        For each sequence its labels, from 1.

    Example:
        >>> outputs = np.eye(3)[[[0, 1], [2, 1], [2, 1], [0, 1]]]
        >>> [labels.tolist() for labels in ctc_greedy(outputs)]
        [[2], [1]]
    """
    outputs, lengths = _checked(outputs, lengths)
    symbols, kept = (np.asarray(x).T for x in jax.jit(best_path)(outputs, lengths))
    return [row[keep] for row, keep in zip(symbols, kept, strict=True)]


def ctc_beam(outputs: Any, lengths: Any = None, *, width: int = 16, count: int = 1) -> list[Best]:
    """The most probable transcripts of every sequence, by prefix beam search.

    After each step the search keeps the `width` most probable prefixes. The log probability of a
    transcript sums over the paths whose prefixes were all kept: it is exact if the beam is wide
    enough, and otherwise a lower bound.

    Args:
        outputs: logits `(T, B, labels + 1)`; symbol 0 is the blank.
        lengths: `(B,)`, the valid steps of each sequence; `None` if all have T.
        width: how many prefixes to keep.
        count: how many transcripts to return, at most `width`.

    Returns:
        For each sequence up to `count` pairs, the most probable first: labels, from 1, and the
        natural logarithm of their probability.

    Example:
        `- -` is the most probable path, but the three paths of `a` together are more probable:

        >>> outputs = np.log([[[0.6, 0.4]], [[0.6, 0.4]]])
        >>> ctc_greedy(outputs)[0].tolist()
        []
        >>> labels, log_probability = ctc_beam(outputs)[0][0]
        >>> labels.tolist(), round(math.exp(log_probability), 2)
        ([1], 0.64)
    """
    outputs, lengths = _checked(outputs, lengths)
    width = checked_int("the width of a beam", width)
    if not 1 <= checked_int("the number of transcripts", count) <= width:
        raise BadInput(f"the number of transcripts must be from 1 to {width}, got {count}")
    beams = jax.device_get(_search(outputs, lengths, width))
    return [
        [
            (prefix[:size], float(score))
            for prefix, size, score in zip(*(x[:count] for x in each), strict=True)
            if size >= 0
        ]
        for each in zip(*beams, strict=True)
    ]


def _checked(outputs: Any, lengths: Any) -> tuple[jax.Array, jax.Array]:
    outputs = jnp.asarray(outputs)
    if outputs.ndim != 3 or outputs.shape[-1] < 2 or not outputs.size:
        raise BadInput(
            f"outputs must be (T, B, labels + 1) with at least one label, got {outputs.shape}"
        )
    steps, size, _ = outputs.shape
    lengths = np.full(size, steps) if lengths is None else np.asarray(lengths)
    if lengths.shape != (size,) or lengths.dtype.kind not in "iu":
        raise BadInput(
            f"lengths must be {size} whole numbers, got {lengths.dtype} of shape {lengths.shape}"
        )
    if lengths.min() < 0 or lengths.max() > steps:
        wrong = lengths[(lengths < 0) | (lengths > steps)][0]
        raise BadInput(f"lengths must be from 0 to {steps}, got {wrong}")
    valid = np.arange(steps)[:, None] < lengths
    if not np.isfinite(np.asarray(outputs)[valid]).all():
        raise NotFinite
    return outputs, jnp.asarray(lengths, jnp.int32)


@partial(jax.jit, static_argnames="width")
def _search(outputs: jax.Array, lengths: jax.Array, width: int) -> tuple:
    """The prefixes `(B, width, T)`, their sizes and log probabilities `(B, width)`."""
    one = partial(_search_one, width=width)
    return jax.vmap(one, in_axes=(1, 0))(jax.nn.log_softmax(outputs), lengths)


def _search_one(logs: jax.Array, length: jax.Array, width: int) -> tuple:
    """The search for one sequence, log probabilities `(T, labels + 1)`.

    A prefix is `(prefixes, sizes, ends_blank, ends_label)`: its labels, padded by 0, how many
    there are, and the log probability of its paths by their last symbol.
    """
    steps, symbols = logs.shape
    each = jnp.arange(width)

    def extend(beams: tuple, now: tuple) -> tuple[tuple, None]:
        prefixes, sizes, ends_blank, ends_label = beams
        t, log = now
        total = jnp.logaddexp(ends_blank, ends_label)
        at = jnp.maximum(sizes - 1, 0)
        last = jnp.where(sizes > 0, prefixes[each, at], BLANK)
        # The prefix stays as it is: by a blank, or because its last label is repeated.
        stay_blank = total + log[BLANK]
        stay_label = jnp.where(sizes > 0, ends_label + log[last], NEVER)
        # One label more; the same label again only counts after a blank.
        again = jnp.arange(symbols) == last[:, None]
        longer = jnp.where(again, ends_blank[:, None], total[:, None]) + log
        longer = longer.at[:, BLANK].set(NEVER)
        # Prefix p with one label more may be prefix q of the beam: then they are merged.
        parents = prefixes.at[each, at].set(0)
        is_child = jnp.all(prefixes[:, None] == parents[None], axis=-1)
        is_child &= sizes[None] == sizes[:, None] + 1
        gained = jnp.where(is_child, longer[:, last], NEVER)
        stay_label = jnp.logaddexp(stay_label, jnp.max(gained, axis=0))
        merged = jnp.any(is_child[..., None] & (last[:, None] == jnp.arange(symbols)), axis=1)
        longer = jnp.where(merged, NEVER, longer)

        totals = jnp.concatenate([jnp.logaddexp(stay_blank, stay_label), longer.reshape(-1)])
        scores, places = jax.lax.top_k(totals, width)
        grown = places >= width
        parent = jnp.where(grown, (places - width) // symbols, places)
        label = jnp.where(grown, (places - width) % symbols, BLANK).astype(prefixes.dtype)
        size = jnp.where(scores > NEVER, sizes[parent] + grown, DEAD)
        end = jnp.clip(sizes[parent], 0, steps - 1)
        kept = prefixes[parent]
        after = (
            jnp.where(grown[:, None], kept.at[each, end].set(label), kept),
            size,
            jnp.where(grown, NEVER, stay_blank[parent]),
            jnp.where(grown, scores, stay_label[parent]),
        )
        return jax.tree.map(lambda new, old: jnp.where(t < length, new, old), after, beams), None

    nothing = jnp.full(width, NEVER, logs.dtype)
    start = (
        jnp.zeros((width, steps), jnp.int32),
        jnp.where(each == 0, 0, DEAD),
        nothing.at[0].set(0.0),
        nothing,
    )
    (prefixes, sizes, ends_blank, ends_label), _ = jax.lax.scan(
        extend, start, (jnp.arange(steps), logs)
    )
    return prefixes, sizes, jnp.logaddexp(ends_blank, ends_label)
