"""Sequences packed into one row: by every option of `unroll`, and by every method for a gradient.

That every cell and wiring does so is part of the conformance suite (`ostinato.testing.running`).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

import ostinato
from compare import same
from everyday import some
from ostinato.cells import GRU, LSTM, LSTM1997, Cell, Simple
from ostinato.errors import BadInput
from ostinato.learning.norm_preserving_term import omega
from ostinato.through_time import (
    bptt,
    online1997,
    online1997_start,
    rtrl,
    rtrl_start,
    truncated_bptt,
)
from ostinato.wiring import Bidirectional, Network, Readout, Stack

INPUTS, UNITS, STEPS = 2, 3, 7
ONE, TWO, THREE = jax.random.split(key(3), 3)
XS = jax.random.normal(key(0), (STEPS, 2, INPUTS))
TARGETS = jax.random.normal(key(1), (STEPS, 2, UNITS))
# Two sequences in each row; the first row has a step of padding, with a reset.
PIECES = [(0, 0, 3), (0, 3, 6), (1, 0, 4), (1, 4, 7)]
LENGTHS = np.array([6, 7])
RESETS = np.zeros((STEPS, 2), bool)
RESETS[[0, 0, 3, 4, 6], [0, 1, 0, 1, 0]] = True
PACKED = {"lengths": LENGTHS, "resets": RESETS}


class Learned(Cell):
    """A cell whose initial state is a parameter."""

    first: jax.Array
    cell: Simple

    def initial(self, batch):
        return jnp.broadcast_to(jnp.sin(self.first), (*batch, UNITS))

    def inputs(self, x):
        return self.cell.inputs(x)

    def step(self, state, u):
        return self.cell.step(state, u)


class LearnedStack(Stack):
    """A stack with an initial state of its own."""

    first: jax.Array

    def __init__(self, layers):
        super().__init__(layers)
        self.first = 0.3 + jnp.arange(UNITS) / 10

    def initial(self, batch):
        h, c = self.layers[0].initial(batch)
        return (h + self.first, c), jnp.cos(self.first) + self.layers[1].initial(batch)


CELLS = {
    "lstm": lambda: LSTM(INPUTS, UNITS, key=ONE),
    "learned": lambda: Learned(jnp.arange(UNITS) / 2, Simple(INPUTS, UNITS, key=ONE)),
    "learned stack": lambda: LearnedStack([LSTM(INPUTS, UNITS, key=ONE), GRU(3, UNITS, key=TWO)]),
    "bidirectional": lambda: Stack(
        [
            Bidirectional(LSTM(INPUTS, 2, key=ONE), GRU(INPUTS, 1, key=TWO)),
            Learned(jnp.arange(UNITS) / 2, Simple(3, UNITS, key=ONE)),
        ]
    ),
}


def pieces(array):
    return [array[start:stop, row] for row, start, stop in PIECES]


def loss(y, target):
    return jnp.sum((y - target) ** 2 * jnp.cos(y))


@eqx.filter_jit
def everything(cell, xs, targets, borders, cut, options):
    """Loss, outputs, their change along a direction, and what comes back from it and the loss.

    The outputs are cut into a list by `cut`. Functions and options are static.
    """
    moving, static = eqx.partition(cell, eqx.is_inexact_array)

    def outputs(moving):
        return cut(ostinato.unroll(eqx.combine(moving, static), xs, **borders, **options)[0])

    def total(found):
        return sum(loss(y.astype(t.dtype), t) for y, t in zip(found, cut(targets), strict=True))

    found, push = jax.linearize(outputs, moving)
    value, slopes = jax.value_and_grad(total)(found)
    changes = push(jax.tree.map(jnp.cos, moving))
    back = jax.linear_transpose(push, moving)(jax.tree.map(jnp.add, slopes, changes))
    return value, found, changes, back


def whole(array):
    return [array]


def packed_and_alone(cell, **options):
    """`everything` of the packed rows, and the same of each sequence alone, put together."""
    packed = everything(cell, XS, TARGETS, PACKED, pieces, options)
    options.pop("memory", None)
    pairs = zip(pieces(XS), pieces(TARGETS), strict=True)
    each = zip(*(everything(cell, x, t, {}, whole, options) for x, t in pairs), strict=True)
    values, found, changes, back = each
    return packed, (
        sum(values),
        [y for (y,) in found],
        [change for (change,) in changes],
        summed(back),
    )


def summed(trees):
    return jax.tree.map(lambda *parts: sum(parts), *trees)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("learned", {}),
        ("learned", {"reverse": True}),
        ("learned", {"memory": 2}),
        ("learned", {"memory": 3, "reverse": True}),
        pytest.param("learned stack", {"memory": 3}, marks=pytest.mark.slow),
        pytest.param("learned stack", {"reverse": True}, marks=pytest.mark.slow),
        pytest.param("bidirectional", {"memory": "sqrt"}, marks=pytest.mark.slow),
        pytest.param("bidirectional", {"reverse": True}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_packed_and_padded_sequences_are_as_alone(name, options):
    same(*packed_and_alone(CELLS[name](), **options))


def test_in_bfloat16():
    """The roundings are the same; only weight gradients are sums in another order."""
    packed, alone = packed_and_alone(CELLS["learned"](), compute="bfloat16")
    same(packed[:3], alone[:3])
    same(packed[3], alone[3], 2e-2)


@pytest.mark.parametrize("name", ["learned", "bidirectional"])
@pytest.mark.parametrize("watch", some(["states", "products", "slopes"], ["products"]))
def test_what_is_watched(name, watch):
    cell = CELLS[name]()
    (_, packed), _ = ostinato.unroll(cell, XS, **PACKED, watch=watch)
    packed = jax.device_get(packed)
    for i, x in enumerate(pieces(np.asarray(XS))):
        (_, alone), _ = ostinato.unroll(cell, x, watch=watch)
        same([pieces(p)[i] for p in packed], alone)


@pytest.mark.parametrize("name", some(["lstm", "bidirectional"], ["lstm"]))
def test_taps(name):
    """The errors at the pre-activations are those of each sequence alone."""
    cell = CELLS[name]()

    @eqx.filter_jit  # once for the packed rows and once for each length
    def errors(xs, targets, **options):
        def total(offsets):
            return loss(ostinato.unroll(cell, xs, taps=offsets, **options)[0], targets)

        return jax.grad(total)(ostinato.through_time.taps(cell, xs))

    packed = errors(XS, TARGETS, resets=RESETS)
    for i, (row, start, stop) in enumerate(PIECES[2:], 2):  # the other row has padding
        alone = errors(np.asarray(XS)[start:stop, row], np.asarray(TARGETS)[start:stop, row])
        same({name: pieces(np.asarray(e))[i] for name, e in packed.items()}, alone)


def test_a_given_state_counts_until_the_first_reset():
    cell, state = CELLS["lstm"](), (jnp.ones((2, UNITS)), jnp.ones((2, UNITS)))
    resets = np.zeros((STEPS, 2), bool)
    resets[0, 1] = resets[3, 0] = True
    ys, final = ostinato.unroll(cell, XS, state, resets=resets)
    one = ostinato.unroll(cell, XS[:3, 0], (jnp.ones(UNITS), jnp.ones(UNITS)))[0]
    two, last = ostinato.unroll(cell, XS[3:, 0])
    other = ostinato.unroll(cell, XS[:, 1])
    same(ys, jnp.stack([jnp.concatenate([one, two]), other[0]], axis=1))
    same(final, jax.tree.map(lambda *x: jnp.stack(x), last, other[1]))
    # Backwards the given state is that behind the last step, which no reset hides.
    ys, _ = ostinato.unroll(cell, XS, state, resets=resets, reverse=True)
    behind = ostinato.unroll(cell, XS[:, 1], (jnp.ones(UNITS), jnp.ones(UNITS)), reverse=True)[0]
    same(ys[:, 1], behind)


def test_second_derivatives_are_exact():
    """A Hessian product of packed sequences is the sum of those alone."""
    cell = CELLS["learned"]()
    direction = jax.tree.map(jnp.cos, cell)

    def product(total):
        return jax.jit(lambda c: jax.jvp(jax.grad(total), (c,), (direction,))[1])(cell)

    packed = product(
        lambda c: sum(
            loss(y, t)
            for y, t in zip(
                pieces(ostinato.unroll(c, XS, **PACKED)[0]), pieces(TARGETS), strict=True
            )
        )
    )
    alone = product(
        lambda c: sum(
            loss(ostinato.unroll(c, x)[0], t)
            for x, t in zip(pieces(XS), pieces(TARGETS), strict=True)
        )
    )
    same(packed, alone)


def test_a_batch_of_no_and_of_two_axes():
    cell = CELLS["learned"]()
    ys, final = ostinato.unroll(cell, XS, resets=RESETS)
    same(ostinato.unroll(cell, XS[:, 0], resets=RESETS[:, 0]), (ys[:, 0], final[0]))
    more = ostinato.unroll(cell, XS[:, None], resets=RESETS[:, None])
    same(more, (ys[:, None], final[None]))


@eqx.filter_jit
def run(method, cell, xs, targets, state=None, *, loss=loss, **options):
    """`method(cell, loss, xs, targets, state, **options)`, compiled."""
    return method(cell, loss, xs, targets, state, **options)


METHODS = {
    "bptt": (bptt, lambda: CELLS["learned"]()),
    "bptt, both ways": (bptt, lambda: CELLS["bidirectional"]()),
    "truncated": (
        lambda *given, **options: truncated_bptt(*given, window=STEPS, **options),
        lambda: CELLS["lstm"](),
    ),
    "rtrl": (rtrl, lambda: CELLS["lstm"]()),
    "online1997": (
        online1997,
        lambda: Network(LSTM1997(INPUTS, 4, key=ONE), Readout(4, UNITS, key=TWO)),
    ),
    "online1997, lstm": (online1997, lambda: CELLS["lstm"]()),
}


@pytest.mark.parametrize("name", some(METHODS, [n for n in METHODS if "online" not in n]))
def test_methods_sum_over_sequences(name):
    """Value and gradient are the sums of those of each sequence, and padding has no loss."""
    method, make = METHODS[name]
    cell = make()
    packed = run(method, cell, XS, TARGETS, **PACKED)
    alone = [run(method, cell, x, t) for x, t in zip(pieces(XS), pieces(TARGETS), strict=True)]
    same(packed[:2], summed(found[:2] for found in alone))
    if name != "bptt, both ways":
        ends = jax.tree.map(lambda *x: jnp.stack(x), alone[1][2], alone[3][2])
        same(packed[2], ends)


def test_truncation_stops_the_error_at_borders_of_windows_and_sequences():
    """Windows of 3 steps: within them the sequences are as alone, cut at steps 3 and 6."""
    cell = CELLS["lstm"]()
    packed = run(truncated_bptt, cell, XS, TARGETS, window=3, **PACKED)
    parts = []
    for row, start, stop in PIECES:
        state = None
        for first in range(0, STEPS, 3):
            low, high = max(start, first), min(stop, first + 3)
            if low < high:
                found = run(bptt, cell, XS[low:high, row], TARGETS[low:high, row], state)
                parts.append(found[:2])
                state = found[2]
    same(packed[:2], summed(parts))


@pytest.mark.slow
@pytest.mark.parametrize(("method", "start"), [(rtrl, rtrl_start), (online1997, online1997_start)])
def test_what_goes_on_from_window_to_window(method, start):
    """In windows of 2 steps, a border of sequences within one of them: the same as in one."""
    cell = CELLS["lstm"]()
    online, parts = start(cell, XS), []
    for first in range(0, STEPS, 2):
        now = slice(first, first + 2)
        steps = len(XS[now])
        options = {"lengths": np.clip(LENGTHS - first, 0, steps), "resets": RESETS[now]}
        *found, online = method(cell, loss, XS[now], TARGETS[now], online, **options)
        parts.append(found)
    whole = method(cell, loss, XS, TARGETS, start(cell, XS), **PACKED)
    same(tuple(jax.tree.map(lambda *x: sum(x), *parts)), whole[:2])
    same(online, whole[2])


def test_padding_has_no_loss_even_where_its_slope_is_infinite():
    """The logarithm of outputs that are zero in the padding."""

    def logarithm(y, target):
        return jnp.sum(target * jnp.log(y**2))

    cell = CELLS["lstm"]()
    ys, _ = ostinato.unroll(cell, XS)
    expected = sum(logarithm(ys[:n, i], TARGETS[:n, i]) for i, n in enumerate(LENGTHS))
    for method in (bptt, rtrl, online1997):
        value, gradient, _ = run(method, cell, XS, TARGETS, loss=logarithm, lengths=LENGTHS)
        same(value, expected)
        assert all(np.all(np.isfinite(g)) for g in jax.tree.leaves(gradient))


@pytest.mark.parametrize("immediate", some([False, True], [True]))
def test_omega(immediate):
    """The mean over the rows of the sums over their sequences, and its derivative."""

    def total(ys, targets):
        return jnp.sum(jnp.sin(ys) * targets)

    def packed(cell):
        return omega(cell, total, XS, TARGETS, immediate=immediate, **PACKED)

    def alone(cell):
        pairs = zip(pieces(XS), pieces(TARGETS), strict=True)
        return sum(omega(cell, total, x, t, immediate=immediate) for x, t in pairs) / 2

    cell = CELLS["learned"]()
    same(*(jax.jit(jax.value_and_grad(f))(cell) for f in (packed, alone)))


@pytest.mark.parametrize(
    ("resets", "message"),
    [
        (np.zeros((STEPS, 2)), r"resets must be booleans of shape \(7, 2\), got float64"),
        (np.zeros((STEPS, 2), int), r"resets must be booleans of shape \(7, 2\), got int64"),
        (np.zeros((2, STEPS), bool), r"resets must have the shape \(7, 2\), got \(2, 7\)"),
        (np.zeros(STEPS, bool), r"resets must have the shape \(7, 2\), got \(7,\)"),
        ([[True], [True, False]], r"resets must have the shape \(7, 2\), got \[\[True\]"),
    ],
)
def test_wrong_resets_are_refused(resets, message):
    cell = CELLS["lstm"]()
    for call in (
        lambda: ostinato.unroll(cell, XS, resets=resets),
        lambda: rtrl(cell, loss, XS, TARGETS, resets=resets),
    ):
        with pytest.raises(BadInput, match=message) as raised:
            call()
        assert "\n" not in str(raised.value)


def test_resets_may_be_lists():
    cell = CELLS["lstm"]()
    lists, arrays = (ostinato.unroll(cell, XS, resets=r) for r in (RESETS.tolist(), RESETS))
    same(lists, arrays)
