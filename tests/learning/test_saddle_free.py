"""Saddle-free Newton: Lanczos and the step against dense matrices, and leaving a saddle."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

from compare import same
from ostinato.cells import Simple
from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.learning import FirstOrder, Objective
from ostinato.learning.hessian_free import OnBatch
from ostinato.learning.hessian_free.curvature_batch import curvature_batch
from ostinato.learning.saddle_free import SaddleFree, lanczos
from ostinato.losses import CrossEntropy, SquaredError
from ostinato.wiring import Network, Readout


def with_eigenvalues(values):
    values = np.asarray(values, float)
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(values.size, values.size)))
    return Q @ np.diag(values) @ Q.T


MATRICES = {
    "positive": (with_eigenvalues(np.geomspace(1e-3, 10, 20)), 20),
    "indefinite": (with_eigenvalues(np.linspace(-3, 2, 20)), 20),
    "rank 5": (with_eigenvalues([-2, -1, 0.5, 3, 4] + [0] * 15), 6),
    "three eigenvalues": (with_eigenvalues([-1] * 7 + [2] * 7 + [5] * 6), 3),
    "zero": (np.zeros((20, 20)), 1),
}


@partial(jax.jit, static_argnums=2)
def lanczos_of(H, start, count):
    return lanczos(lambda v: H @ v, start, count)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("count", [4, 20])
def test_lanczos_is_orthonormal_and_tridiagonal(name, count):
    H, reachable = MATRICES[name]
    start = np.random.default_rng(1).normal(size=20)
    V, (diagonal, beside) = lanczos_of(H, start, count)
    assert V.shape == (count, 20) and diagonal.shape == (count,) and beside.shape == (count - 1,)
    there = np.arange(count) < reachable
    np.testing.assert_allclose(V @ V.T, np.diag(there), atol=1e-10)
    T = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    np.testing.assert_allclose(V @ H @ V.T, T, atol=1e-10)
    assert not np.any(V[~there]) and not np.any(T[~there])
    np.testing.assert_allclose(V[0], start / np.linalg.norm(start), atol=1e-10)
    if count >= reachable:
        np.testing.assert_allclose(V.T @ T @ (V @ start), H @ start, atol=1e-10)


def test_lanczos_of_nothing_is_zero_and_of_nan_is_nan():
    for found in jax.tree.leaves(lanczos(lambda v: 2 * v, jnp.zeros(5), 3)):
        assert not np.any(found)
    _, (diagonal, _) = lanczos(lambda v: v * jnp.nan, jnp.ones(5), 3)
    assert np.all(np.isnan(diagonal))


@pytest.fixture(scope="module")
def small():
    """A recurrent network of 13 parameters, none redundant, and eight sequences."""
    network = Network(Simple(2, 2, key=key(0)), Readout(2, 1, key=key(1)))
    rng = np.random.default_rng(0)
    xs, targets = jnp.asarray(rng.normal(size=(4, 8, 2))), jnp.asarray(rng.normal(size=(4, 8, 1)))
    return network, Batch(xs, targets, jnp.ones((4, 8)))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="plain"),
        pytest.param({"damping": 0.1}, id="damped", marks=pytest.mark.slow),
        pytest.param(
            {"damping": 0.1, "curvature": 4, "draw": "turn", "chunk": 2},
            id="on a part",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_step_is_the_dense_one(small, options):
    """`δ = -(|H| + λ)⁻¹ g`."""
    network, batch = small
    learner = SaddleFree(Objective(SquaredError()), **{"damping": 0.0, "count": 100, **options})
    state = learner.start(network, batch)
    new, _, final, report = jax.jit(learner.step)(network, learner.initial(network), state, batch)

    whole = OnBatch(learner.objective, network, batch, state)
    part, at_part = curvature_batch(batch, state, learner.curvature or 8, learner.draw, 0)
    f = OnBatch(learner.objective, network, part, at_part)
    theta = whole.start
    value, gradient, after = jax.jit(whole.gradient)(theta)
    values, vectors = np.linalg.eigh(jax.jit(jax.hessian(f.value))(theta))
    assert values[0] < -1e-2 and values[-1] > 1e-2 and np.min(np.abs(values)) > 1e-5
    dense = -vectors @ (vectors.T @ gradient / (np.abs(values) + learner.damping))

    moved = OnBatch(learner.objective, new, batch, state).start - theta
    assert report["rate"] > 0 and not report["refused"]
    same(moved / report["rate"], jnp.asarray(dense), 1e-8)
    same(final, after)
    promised = gradient @ dense + 0.5 * np.sum(np.abs(values) * (vectors.T @ dense) ** 2)
    ratio = (jax.jit(whole.value)(theta + dense) - value) / promised
    np.testing.assert_allclose(report["ratio"], ratio, rtol=1e-6)
    np.testing.assert_allclose(report["lowest"], values[0], rtol=1e-8)
    assert report["negative"] == np.sum(values < 0)
    assert report["gradients"] >= 1 + 2 * 13 * (learner.curvature or 8) / 8 + 1 / 3


@pytest.fixture(scope="module")
def saddle():
    """`o = v (w x + b) + c` for x = ±0.1 and targets ±0.1, near w = v = b = c = 0.

    There the curvature is 1 along c, which lets gradient descent have a rate of two at most, and
    ±0.01 along w ± v.
    """
    xs = jnp.asarray([0.1, -0.1]).reshape(1, 2, 1)
    batch = Batch(xs, xs, jnp.ones((1, 2)))
    network = Network(Simple(1, 1, key=key(0), f="identity"), Readout(1, 1, key=key(1)))
    f = OnBatch(Objective(SquaredError()), network, batch, network.initial((2,)))
    assert f.start.size == 5
    return f.at(1e-3 * jnp.asarray([2.0, 0.0, 0.5, 1.0, 1.0])), batch


def losses(learner, network, batch, steps):
    learner_state, state = learner.initial(network), learner.start(network, batch)
    step = jax.jit(learner.step)
    found = []
    for _ in range(steps):
        network, learner_state, _, report = step(network, learner_state, state, batch)
        found.append(report)
    return np.asarray([report["loss"] for report in found]), found


@pytest.mark.slow
def test_it_leaves_a_saddle_where_others_stay(saddle):
    network, batch = saddle
    objective, level = Objective(SquaredError()), 0.5 * 0.1**2
    ours, reports = losses(SaddleFree(objective, damping=1e-3), network, batch, 25)
    np.testing.assert_allclose(ours[0], level, rtol=1e-2)
    assert ours[-1] < 1e-3 * level and np.all(np.diff(ours) <= 0)
    assert reports[0]["negative"] == 1
    np.testing.assert_allclose(reports[0]["lowest"], -0.01, rtol=0.01)

    for rate in (0.5, 1.9, 2.5):
        sgd = FirstOrder("sgd", objective, 100, rate=rate, clip="off", schedule="constant")
        assert not losses(sgd, network, batch, 100)[0][-1] < 0.99 * level

    f = OnBatch(objective, network, batch, network.initial((2,)))
    theta, gradient, hessian = f.start, jax.jit(jax.grad(f.value)), jax.jit(jax.hessian(f.value))
    for _ in range(5):
        theta = theta - jnp.linalg.pinv(hessian(theta), rtol=1e-6) @ gradient(theta)
    w, _, _, v, c = theta
    assert max(abs(w), abs(v), abs(c)) < 1e-6, "Newton's method is drawn to the saddle"


class Of(Objective):
    """Outputs by a plain function of the weights `network["w"]` and the inputs."""

    def outputs(self, network, batch, state, watch=None):
        return FUNCTIONS[self.memory](network["w"], batch.inputs), state


FUNCTIONS = {
    "linear": lambda w, xs: xs @ w[:, None],
    # Not a number from w_1 = 1.5 on.
    "edge": lambda w, xs: xs @ w[:, None] + 0 * jnp.sqrt(1.5 - w[0]),
    # At w_1 = 0 the gradient is finite, the curvature not.
    "kink": lambda w, xs: xs @ w[:, None] + w[0] ** 1.5,
}


RANDOM = np.random.default_rng(0).normal(size=(3, 4, 2))


@cache
def learner_of(name, **options):
    """A learner, and its compiled step."""
    learner = SaddleFree(Of(SquaredError(), memory=name), **options)
    return learner, jax.jit(learner.step)


def step_of(name, w, target=3.0, xs=RANDOM, **options):
    learner, step = learner_of(name, **options)
    xs = jnp.asarray(xs)
    batch = Batch(xs, FUNCTIONS["linear"](jnp.full(2, target), xs), jnp.ones(xs.shape[:2]))
    network = {"w": jnp.asarray(w)}
    new, learner_state, _, report = step(network, learner.initial(network), None, batch)
    return new["w"], float(learner_state.scale), report


def test_the_model_is_right_on_a_convex_quadratic():
    w, scale, report = step_of("linear", [1.0, -1.0])
    np.testing.assert_allclose(report["ratio"], 1, rtol=1e-10)
    assert scale == 2 / 3 and report["negative"] == 0 and report["lowest"] > 0
    assert report["after"] < report["loss"] and not np.allclose(w, 3.0)
    w, _, report = step_of("linear", [1.0, -1.0], damping=0.0)
    np.testing.assert_allclose(w, 3.0, rtol=1e-10)
    np.testing.assert_allclose(report["ratio"], 1, rtol=1e-10)


def test_a_subspace_that_ends_early_adds_no_eigenvalue():
    """With `H = ½ I` the gradient is all there is: a single eigenvalue, a half."""
    w, _, report = step_of("linear", [1.0, -1.0], xs=np.eye(2)[None], damping=0.0)
    np.testing.assert_allclose(report["lowest"], 0.5)
    np.testing.assert_allclose(w, 3.0)


def test_a_step_into_nan_is_shortened():
    w, scale, report = step_of("edge", [1.0, -1.0])
    assert 0 < report["rate"] < 1 and report["after"] < report["loss"] and w[0] < 1.5
    assert not report["refused"] and scale == 1.5


@pytest.mark.parametrize(
    ("name", "w", "target"),
    [("linear", [1.0, -1.0], np.nan), ("edge", [2.0, 1.0], 3.0), ("kink", [0.0, 1.0], 3.0)],
    ids=["the batch", "the network", "the curvature"],
)
def test_nan_is_survived(name, w, target):
    found, scale, report = step_of(name, w, target)
    np.testing.assert_array_equal(found, w)
    assert report["refused"] and report["rate"] == 0 and scale == 1.5
    assert np.isfinite(report["loss"]) == (name == "kink")


def test_a_stationary_point_stays():
    w, _, report = step_of("linear", [3.0, 3.0])
    np.testing.assert_array_equal(w, 3.0)
    assert report["norm"] == 0


def test_wrong_settings_are_refused():
    for options, message in (
        ({"objective": Objective(CrossEntropy(), compute="bfloat16")}, "needs float32.*bfloat16"),
        ({"draw": "often"}, "draw must be one of fresh, turn; got often"),
        ({"damping": -1.0}, "damping cannot be negative"),
        ({"count": 0}, "at least one dimension, got 0"),
    ):
        with pytest.raises(BadInput, match=message):
            SaddleFree(**{"objective": Objective(CrossEntropy()), **options})
