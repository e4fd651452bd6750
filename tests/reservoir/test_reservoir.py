"""The cells of `ostinato.reservoir` against their equations."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato import unroll
from ostinato.cells import Leaky
from ostinato.errors import BadInput
from ostinato.reservoir import Expansion, Liquid, Reservoir
from ostinato.reservoir.sparse import BlockSparse
from ostinato.weights import trained_names
from ostinato.wiring import Network, Readout

KEY = jax.random.key(3)
XS = np.random.default_rng(4).normal(size=(30, 2, 3))
# Compiled, because one by one their operations would take far longer.
drawn = jax.jit(BlockSparse.random, static_argnums=(1, 2))
dense = jax.jit(BlockSparse.dense)


@pytest.mark.parametrize(("units", "connectivity"), [(1, 1.0), (7, 0.5), (203, 0.4)])
def test_product_is_that_of_the_dense_matrix(units, connectivity):
    R = drawn(KEY, units, connectivity).with_radius(0.8)
    h, whole = np.random.default_rng(3).normal(size=(2, 3, units)), np.asarray(dense(R))
    np.testing.assert_allclose(jax.jit(lambda h, R: h @ R)(h, R), h @ whole, atol=1e-12)
    np.testing.assert_allclose(h @ R, h @ whole, atol=1e-12)
    assert np.abs(np.linalg.eigvals(whole)).max() == pytest.approx(0.8, rel=1e-6)
    assert np.mean(whole != 0) == pytest.approx(connectivity, abs=0.08)


def test_spectral_radius_of_a_thousand_units():
    """Arnoldi iterations must not miss the largest of many eigenvalues of about the same size."""
    R = drawn(jax.random.key(0), 1000, 0.1).with_radius(0.9)
    found = np.linalg.eigvals(np.asarray(dense(R)))
    sizes = np.sort(np.abs(found))[::-1][:6]
    assert sizes[0] == pytest.approx(0.9, rel=1e-6)
    np.testing.assert_allclose(np.abs(R.outermost()), sizes, rtol=1e-8)


def test_is_a_leaky_cell():
    cell = Reservoir(3, 40, key=KEY, radius=1.1, leak=0.3, bias_scaling=0.5, input_scaling=0.7)
    leaky = Leaky(3, 40, key=KEY, alpha=0.7)
    leaky = eqx.tree_at(lambda c: (c.W, c.R, c.b), leaky, (cell.W, cell.R.dense(), cell.b))
    np.testing.assert_allclose(unroll(cell, XS)[0], unroll(leaky, XS)[0], atol=1e-12)
    assert np.abs(cell.W).max() <= 0.7 and np.abs(cell.b).max() <= 0.5


def test_only_the_readout_is_trained():
    one, two = jax.random.split(KEY)
    network = Network(Expansion(Reservoir(3, 8, key=one)), Readout(19, 2, key=two))
    assert trained_names(network) == ["readout.V", "readout.b"]
    assert trained_names(Liquid(3, 8, key=one)) == []


def test_expansion():
    cell = Reservoir(3, 8, key=KEY)
    hs, _ = unroll(cell, XS)
    ys, _ = unroll(Expansion(cell), XS)
    np.testing.assert_allclose(ys, jnp.concatenate([XS, hs, hs**2], axis=-1), atol=1e-12)


@pytest.mark.slow
def test_fourier_features_approximate_their_kernel():
    cell = Expansion(Reservoir(1, 1500, key=KEY, connectivity=0.01), "fourier", key=KEY, sigma=3.0)
    ys, _ = unroll(cell, jnp.sin(jnp.arange(6.0))[:, None])
    hs, features = ys[:, 1:1501], ys[:, 1501:]
    far = jnp.sum((hs[:, None] - hs[None]) ** 2, axis=-1)
    np.testing.assert_allclose(features @ features.T, jnp.exp(-far / 18), atol=0.1)


def test_liquid_against_a_loop():
    cell = Liquid(3, 20, key=KEY, connectivity=0.3, membrane=4.0, filter=6.0)
    R, v, s, y = np.asarray(cell.R.dense()), *np.zeros((3, 20))
    signs = np.sign(R).sum(axis=1)
    assert set(np.sign(signs)) == {-1.0, 1.0}
    assert all(len(set(np.sign(row[row != 0]))) == 1 for row in R)
    for x, found in zip(np.asarray(XS[:, 0]), unroll(cell, XS)[0][:, 0], strict=True):
        v = 0.75 * v * (1 - s) + x @ np.asarray(cell.W) + s @ R + np.asarray(cell.b)
        s = (v >= 1).astype(float)
        y = y * 5 / 6 + s / 6
        np.testing.assert_allclose(found, y, atol=1e-12)
    assert 0 < y.max()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"leak": 0.0}, "leak must be above 0 and at most 1, got 0.0"),
        ({"connectivity": 0.0}, "connectivity must be above 0 and at most 1, got 0.0"),
    ],
)
def test_refuses(options, words):
    with pytest.raises(BadInput, match=words):
        Reservoir(3, 8, key=KEY, **options)


@pytest.mark.parametrize("connectivity", [0.1, 1e-6])
def test_a_reservoir_that_memory_cannot_hold_is_refused(connectivity):
    with pytest.raises(BadInput, match=r"needs at least .* of memory .* try fewer --units"):
        Reservoir(3, 10**7, key=KEY, connectivity=connectivity)
    with pytest.raises(BadInput, match="try fewer --units"):
        eqx.filter_eval_shape(lambda: Reservoir(3, 400_000, key=KEY, connectivity=1e-4))
