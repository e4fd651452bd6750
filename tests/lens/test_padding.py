"""Padding is not measured: a padded or packed batch gives what its sequences give alone."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

from compare import same
from ostinato import lens, unroll
from ostinato.cells import GRU, LSTM
from ostinato.wiring import Bidirectional, Network, Readout, Stack

ONE, TWO, THREE = jax.random.split(key(4), 3)
STEPS, LENGTHS = 6, np.array([6, 4])
XS = jax.random.normal(key(0), (STEPS, 2, 3))
PADDED = XS.at[4:, 1].set(1e3)  # which would change everything
RESETS = np.zeros((STEPS, 2), bool)
RESETS[2, 0] = RESETS[1, 1] = True


def network():
    return Network(LSTM(3, 4, key=ONE), Readout(4, 2, key=TWO))


def both_ways():
    layer = Bidirectional(GRU(3, 2, key=ONE), LSTM(3, 2, key=TWO))
    return Stack([layer, LSTM(4, 2, key=THREE)])


def loss(output):
    return jnp.sum(jnp.sin(output), axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("at", [-1, -2])
def test_gradient_by_lag(at):
    """At each lag the root of the mean square over the sequences that are so long."""
    net = network()
    found = lens.gradient_by_lag(net, PADDED, loss, at=at, lengths=LENGTHS)[".cell"]
    parts = [
        lens.gradient_by_lag(net, XS[:n, i : i + 1], loss, at=at)[".cell"]
        for i, n in enumerate(LENGTHS)
    ]
    squares, counts = np.zeros(STEPS), np.zeros(STEPS)
    for part in parts:
        squares[: len(part)] += part**2
        counts[: len(part)] += 1
    same(found, jnp.sqrt(jnp.asarray(squares / np.maximum(counts, 1))))


def test_gradient_by_lag_ends_at_a_reset():
    found = lens.gradient_by_lag(network(), PADDED, loss, lengths=LENGTHS, resets=RESETS)[".cell"]
    starts, parts = (2, 1), []
    for i, n in enumerate(LENGTHS):
        part = lens.gradient_by_lag(network(), XS[starts[i] : n, i : i + 1], loss)[".cell"]
        parts.append(part)
    same(found[:3], jnp.sqrt((parts[0][:3] ** 2 + parts[1][:3] ** 2) / 2))
    same(found[3:], jnp.concatenate([parts[0][3:], jnp.zeros(2)]))


def test_of_whole_sequences_nothing_changes():
    net = network()
    for name, measure in {
        "gradient": lambda **o: lens.gradient_by_lag(net, XS, loss, **o),
        "influence": lambda **o: lens.influence_by_lag(net, XS, **o)[1],
        "ignored": lambda **o: lens.ignored_before(net, XS, share=0.2, **o),
        "saturation": lambda **o: lens.saturation(net, XS, **o)[".cell.forget gate"][1:],
    }.items():
        whole, given = measure(), measure(lengths=np.array([STEPS, STEPS]))
        for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(given), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, err_msg=name)


@pytest.mark.parametrize("make", [network, both_ways])
def test_saturation(make):
    """Sums over steps: those of the sequences alone, weighted by their lengths."""
    found = lens.saturation(make(), PADDED, lengths=LENGTHS)
    alone = [lens.saturation(make(), XS[:n, i : i + 1]) for i, n in enumerate(LENGTHS)]
    assert found.keys() == alone[0].keys()
    for name, one in found.items():
        for field in ("unit_mean", "unit_high", "unit_low"):
            parts = [getattr(a[name], field) * n for a, n in zip(alone, LENGTHS, strict=True)]
            np.testing.assert_allclose(getattr(one, field), sum(parts) / sum(LENGTHS), atol=1e-12)


def test_saturation_after_resets():
    resets = np.zeros((STEPS, 2), bool)
    resets[2] = True
    found = lens.saturation(both_ways(), XS, resets=resets)
    parts = [lens.saturation(both_ways(), XS[:2]), lens.saturation(both_ways(), XS[2:])]
    for name, one in found.items():
        mean = (2 * parts[0][name].unit_mean + 4 * parts[1][name].unit_mean) / 6
        np.testing.assert_allclose(one.unit_mean, mean, atol=1e-12)


def test_influence_of_padding_and_of_other_sequences():
    """An input that is padding has none; nor has one before a reset."""
    net = network()
    ys = [lens.influence_by_lag(net, xs, lags=range(6), lengths=LENGTHS)[1] for xs in (PADDED, XS)]
    same(*ys)
    # Lag 5 is that of the long sequence alone: its first input becomes the short one's.
    ends = [jnp.asarray(XS[:, 0]), XS[:, 0].at[0].set(XS[0, 1])]
    one, other = (unroll(net, x)[0][-1] for x in ends)
    np.testing.assert_allclose(ys[0][5], jnp.linalg.norm(one - other), rtol=1e-10)
    found = lens.influence_by_lag(net, XS, lags=range(6), resets=RESETS)[1]
    assert (np.asarray(found) > 0).tolist() == [True] * 5 + [False]


def test_ignored_before_counts_from_the_end():
    """A network that reads the last input alone, whatever the lengths."""
    net = network()
    forget = net.cell.b.at[4:8].set(-50.0)
    net = eqx.tree_at(lambda n: (n.cell.b, n.cell.R), net, (forget, 0 * net.cell.R))
    assert lens.ignored_before(net, PADDED, lengths=LENGTHS) == STEPS - 1


@pytest.mark.parametrize("options", [{}, {"probes": 8, "key": key(1)}])
def test_jacobian_by_lag(options):
    """With all 8 probes the mean length is exact, whichever they are."""
    packed = {"lengths": LENGTHS, "resets": RESETS}
    found = lens.jacobian_by_lag(network(), PADDED, **packed, **options)
    one, two = (
        lens.jacobian_by_lag(network(), XS[start:n, i : i + 1], **options)
        for i, (start, n) in enumerate(zip((2, 1), LENGTHS, strict=True))
    )
    same(found[:4], jnp.sqrt((one[:4] ** 2 + two**2) / 2))
    same(found[4:5], one[4:])
    assert not np.any(found[5:])


def test_step_jacobians():
    found = lens.step_jacobians(network(), PADDED, lengths=LENGTHS, resets=RESETS)
    for i, (start, n) in enumerate(zip((2, 1), LENGTHS, strict=True)):
        same(found[start:n, i], lens.step_jacobians(network(), XS[start:n, i]))
        same(found[:start, i], lens.step_jacobians(network(), XS[:start, i]))
    assert not np.any(found[4:, 1])
