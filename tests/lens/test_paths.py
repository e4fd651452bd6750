"""Paths in the unfolded network against automatic differentiation and a plain enumeration."""

from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

from ostinato import unroll
from ostinato.cells import Leaky, Simple
from ostinato.errors import BadInput
from ostinato.lens.paths import path_sum, toy_contribution

UNITS, STEPS = 3, 7
XS = jnp.asarray(np.random.default_rng(5).normal(size=(STEPS, 2)))
STATE = jnp.asarray(np.random.default_rng(6).normal(size=UNITS))


def made(f):
    """With a bias of one, some of the units are active and some are not, if they are ReLUs."""
    return eqx.tree_at(lambda c: c.b, Simple(2, UNITS, key=key(4), f=f), jnp.ones(UNITS))


def jacobian(cell, k, t, of):
    """`∂a_t/∂a_k` or `∂h_t/∂h_k`, by going on from step k."""
    f = {"tanh": jnp.tanh, "sigmoid": jax.nn.sigmoid, "relu": jax.nn.relu, "identity": jnp.asarray}
    us = cell.inputs(XS)
    h = STATE
    for step in range(k):
        h = cell.step(h, us[step])[0]
    a = us[k] + h @ cell.R

    def later(value):
        h = f[cell.f](value) if of == "a" else value
        for step in range(k + 1, t + 1):
            a = us[step] + h @ cell.R
            h = f[cell.f](a)
        return a if of == "a" else h

    return jax.jacobian(later)(a if of == "a" else f[cell.f](a))


@pytest.mark.parametrize("of", ["a", "h"])
@pytest.mark.parametrize("f", ["tanh", "sigmoid", "relu", "identity"])
def test_the_sum_is_the_derivative(f, of):
    cell = made(f)
    for k, t in ((0, 1), (2, 6)):
        expected = np.asarray(jacobian(cell, k, t, of))
        assert expected.any()
        for i, j in product(range(UNITS), repeat=2):
            found = path_sum(cell, XS, i, j, k, t, STATE, of=of)
            assert found.number == len(found.costs) == UNITS ** (t - k - 1)
            np.testing.assert_allclose(found.total, expected[i, j], rtol=1e-10, atol=1e-14)
            np.testing.assert_allclose(found.costs.sum(), found.total, rtol=1e-10, atol=1e-14)


def test_every_path_by_hand():
    """Each cost is the product of the weights and derivatives along the units that it names."""
    cell, k, t, i, j = made("tanh"), 1, 4, 2, 0
    (_, (a,)), _ = unroll(cell, XS, STATE, watch="products")
    slopes, R = 1 - np.tanh(np.asarray(a)) ** 2, np.asarray(cell.R)
    for of in ("a", "h"):
        found = path_sum(cell, XS, i, j, k, t, STATE, of=of)
        expected = {}
        for between in product(range(UNITS), repeat=t - k - 1):
            path = (j, *between, i)
            arcs = [R[path[s], path[s + 1]] for s in range(t - k)]
            crossed = [slopes[k + s, n] for s, n in enumerate(path)]
            crossed = crossed[:-1] if of == "a" else crossed[1:]
            expected[path] = np.prod(arcs) * np.prod(crossed), np.prod(arcs)
        assert {tuple(path) for path in found.units.tolist()} == expected.keys()
        for path, cost, weight in zip(found.units, found.costs, found.weights, strict=True):
            np.testing.assert_allclose((cost, weight), expected[tuple(path.tolist())], rtol=1e-12)
        assert np.all(np.diff(np.abs(found.costs)) <= 0)
        assert found.enabled.all()


def test_only_enabled_paths_count():
    """With ReLUs: a path through an inactive unit costs nothing, any other exactly its weights."""
    cell, k, t = made("relu"), 1, 5
    (hs, _), _ = unroll(cell, XS, STATE, watch="states")
    active = np.asarray(hs) > 0
    found = path_sum(cell, XS, 0, 1, k, t, STATE)
    assert 0 < found.enabled_number < found.number
    assert found.enabled_number == found.enabled.sum()
    for path, cost, weight, enabled in zip(
        found.units, found.costs, found.weights, found.enabled, strict=True
    ):
        assert enabled == all(active[k + s, n] for s, n in enumerate(path[:-1]))
        assert cost == (pytest.approx(weight, rel=1e-12) if enabled else 0)
    np.testing.assert_allclose(found.weights[found.enabled].sum(), found.total, rtol=1e-12)
    # All units dead: no path at all. All active: as if there were no ReLU.
    dead = eqx.tree_at(lambda c: c.b, cell, jnp.full(UNITS, -100.0))
    found = path_sum(dead, XS, 0, 1, k, t)
    assert (found.total, found.enabled_number) == (0, 0)
    alive = eqx.tree_at(lambda c: (c.b, c.R), cell, (jnp.full(UNITS, 100.0), jnp.abs(cell.R)))
    found = path_sum(alive, XS, 0, 1, k, t)
    assert found.enabled_number == found.number
    power = np.linalg.matrix_power(np.asarray(alive.R), t - k)
    np.testing.assert_allclose(found.total, power[1, 0], rtol=1e-12)


def test_an_identity_net():
    """Linear units that read only themselves: one path counts, the straight one."""
    cell = eqx.tree_at(lambda c: c.R, made("identity"), jnp.eye(UNITS))
    found = path_sum(cell, XS, 1, 1, 0, 4)
    assert found.total == found.costs[0] == 1
    assert found.units[0].tolist() == [1] * 5
    assert not found.costs[1:].any()
    assert path_sum(cell, XS, 1, 2, 0, 4).total == 0


def test_short_lags_and_the_top():
    cell = made("tanh")
    same, other = path_sum(cell, XS, 1, 1, 2, 2), path_sum(cell, XS, 1, 0, 2, 2)
    assert (same.total, other.total) == (1, 0)
    assert path_sum(cell, XS, 1, 0, 2, 3).units.tolist() == [[0, 1]]
    all_of_them, few = (path_sum(cell, XS, 1, 0, 0, 5, top=top) for top in (None, 4))
    assert few.total == all_of_them.total
    assert few.number == 81
    assert few.units.shape == (4, 6)
    np.testing.assert_array_equal(few.costs, all_of_them.costs[:4])


def test_a_long_way_through_one_unit():
    cell = eqx.tree_at(lambda c: c.R, Simple(1, 1, key=key(0), f="identity"), jnp.asarray([[0.5]]))
    found = path_sum(cell, jnp.ones((101, 1)), 0, 0, 0, 100)
    assert found.number == 1
    np.testing.assert_allclose(found.total, 0.5**100, rtol=1e-12)


def test_what_it_refuses():
    cell = made("tanh")
    long = jnp.zeros((40, 2))
    with pytest.raises(BadInput, match=r"^3 units and a lag of 30 make 3\^29 paths, more than 1,"):
        path_sum(cell, long, 0, 0, 0, 30)
    assert path_sum(cell, long, 0, 0, 0, 13, top=1).number == 3**12
    with pytest.raises(BadInput, match=r"^path_sum needs a Simple cell, got Leaky$"):
        path_sum(Leaky(2, 3, key=key(0)), XS, 0, 0, 0, 1)
    with pytest.raises(BadInput, match=r"^path_sum needs one sequence"):
        path_sum(cell, XS[:, None], 0, 0, 0, 1)
    with pytest.raises(BadInput, match=r"< 7, got 3 and 7$"):
        path_sum(cell, XS, 0, 0, 3, 7)
    with pytest.raises(BadInput, match=r"^i and j must be from 0 to 2, got -1$"):
        path_sum(cell, XS, -1, 0, 3, 4)
    with pytest.raises(BadInput, match=r"^of must be 'a' or 'h', got 'c'$"):
        path_sum(cell, XS, 0, 0, 3, 4, of="c")


def test_the_toy_net():
    """Figures 7 and 8 of Lipton et al. (2015): it fades, stays or explodes."""
    lags = [0, 1, 10, 300]
    w = np.array([0.5, 1.0, -1.0, 1.5])
    found = toy_contribution(w, lags)
    np.testing.assert_allclose(found, w ** np.array(lags)[:, None], rtol=1e-12)
    assert toy_contribution(0.5, lags).shape == (4,)
    assert toy_contribution(1.5, lags)[-1] > 1e50
    with pytest.raises(BadInput, match=r"^lags must be at least 0, got -1$"):
        toy_contribution(0.5, [-1, 2])
    for odd in ([0.5], [np.inf], [True], "12", None):
        with pytest.raises(BadInput, match=r"^lags must be whole numbers of steps, got"):
            toy_contribution(0.5, odd)
    assert toy_contribution(0.5, []).shape == (0,)


@pytest.mark.parametrize("f", ["tanh", "sigmoid", "relu"])
def test_the_toy_net_is_a_net(f):
    """Against the derivative of a `Simple` cell with one unit, and input zero after the first."""
    w, x, lags = 1.7, 0.6, [0, 1, 2, 5]
    cell = Simple(1, 1, key=key(0), f=f)
    cell = eqx.tree_at(lambda c: (c.W, c.R), cell, (jnp.ones((1, 1)), jnp.full((1, 1), w)))

    def output(x, lag):
        return unroll(cell, jnp.zeros((6, 1)).at[0, 0].set(x))[0][lag, 0]

    expected = [jax.grad(output)(x, lag) for lag in lags]
    np.testing.assert_allclose(toy_contribution(w, lags, f=f, x=x), expected, rtol=1e-12)
