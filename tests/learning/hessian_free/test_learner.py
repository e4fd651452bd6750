"""The whole Hessian-free step."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

from everyday import some
from ostinato.cells import Layer, Simple
from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.learning import Objective
from ostinato.learning.hessian_free import (
    REASONS,
    Damping,
    HessianFree,
    OnBatch,
    conjugate_gradient,
)
from ostinato.losses import CrossEntropy, SquaredError
from ostinato.tasks import Adding
from ostinato.wiring import Dropout, Network, OneHot, Readout

NONE = Damping(tikhonov=0.0, structural=0.0)


@eqx.filter_jit
def compiled_step(learner, *given):
    return learner.step(*given)


def stepped(learner, network, batch, learner_state=None, state=None):
    learner_state = learner.initial(network) if learner_state is None else learner_state
    state = learner.start(network, batch) if state is None else state
    return compiled_step(learner, network, learner_state, state, batch)


@pytest.fixture(scope="module")
def linear():
    random = np.random.default_rng(0)
    return random.standard_normal((3, 40, 4)), random.standard_normal((3, 40, 2))


class Affine(Layer):
    """`o = x V + b` as a layer: with squared error, a convex quadratic of its parameters."""

    V: jax.Array
    b: jax.Array

    def initial(self, batch):
        return ()

    def over_time(self, run, xs, state):
        return xs @ self.V + self.b, ()


def test_one_step_solves_a_convex_problem(linear):
    xs, targets = linear
    network = Affine(jnp.ones((4, 2)), jnp.zeros(2))
    batch = Batch(xs, targets, jnp.ones(xs.shape[:2]))
    learner = HessianFree(Objective(SquaredError()), NONE, iterations=10, tolerance=0.0)
    after, _, _, report = stepped(learner, network, batch, state=())
    design = np.concatenate([xs.reshape(-1, 4), np.ones((120, 1))], axis=1)
    best = np.linalg.lstsq(design, targets.reshape(-1, 2))[0]
    np.testing.assert_allclose(np.vstack([after.V, after.b]), best, rtol=1e-8)
    assert report["iterations"] <= 10 == sum(x.size for x in (network.V, network.b))
    np.testing.assert_allclose(report["ratio"], 1.0, rtol=1e-8)
    assert report["rate"] == 1 and not report["refused"]


@pytest.mark.parametrize("ratio", ["damped", "undamped"])
def test_the_ratio_with_damping_on_a_quadratic(linear, ratio):
    """The undamped quadratic is the objective itself; the damped one promises less."""
    xs, targets = linear
    network = Affine(jnp.ones((4, 2)), jnp.zeros(2))
    batch = Batch(xs, targets, jnp.ones(xs.shape[:2]))
    damping = Damping(tikhonov=0.5, structural=0.0, ratio=ratio)
    learner = HessianFree(Objective(SquaredError()), damping, iterations=20, tolerance=0.0)
    _, learner_state, _, report = stepped(learner, network, batch, state=())
    if ratio == "undamped":
        np.testing.assert_allclose(report["ratio"], 1.0, rtol=1e-8)
    else:
        assert report["ratio"] > 1.05
    np.testing.assert_allclose(learner_state.scale, 2 / 3)


@pytest.mark.parametrize("judge", ["gradient", "curvature"])
def test_damping_adapted_by_iteration(linear, judge):
    """On a convex problem ρ(i) is 1 without damping: every iteration lowers the scale by 2/3."""
    xs, targets = linear
    network = Affine(jnp.ones((4, 2)), jnp.zeros(2))
    batch = Batch(xs, targets, jnp.ones(xs.shape[:2]))
    learner = HessianFree(
        Objective(SquaredError()), NONE, iterations=3, tolerance=0.0, adapt="iteration", judge=judge
    )
    _, learner_state, _, report = stepped(learner, network, batch, state=())
    np.testing.assert_allclose(learner_state.scale, (2 / 3) ** 3)
    once = dataclasses.replace(learner, adapt="step")
    _, learner_state, _, fewer = stepped(once, network, batch, state=())
    np.testing.assert_allclose(learner_state.scale, 2 / 3)
    np.testing.assert_allclose(report["gradients"] - fewer["gradients"], 3 / 3)


def addition(seed):
    """Addition over six steps: a network and a batch."""
    one, two = jax.random.split(key(seed))
    network = Network(Simple(2, 4, key=one), Readout(4, 1, key=two))
    drawn = Adding(length=6).batch(0, 24)
    batch = Batch(*(jnp.asarray(x, float) for x in drawn[:3]))
    return network, batch


@pytest.fixture(scope="module")
def problem():
    return addition(0)


OBJECTIVE = Objective(SquaredError())
# Well damped, so that rounding is not made larger by conjugate gradient.
USUAL = HessianFree(OBJECTIVE, Damping(1.0, 0.3), curvature=12, iterations=6)


@pytest.fixture(scope="module")
def usual(problem):
    return stepped(USUAL, *problem)


def alike(one, other, tolerance):
    pairs = zip(jax.tree.leaves(one[:3]), jax.tree.leaves(other[:3]), strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "learner",
    [
        dataclasses.replace(USUAL, chunk=4),
        pytest.param(
            dataclasses.replace(USUAL, objective=Objective(SquaredError(), memory="sqrt")),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["in chunks", "with less memory"],
)
def test_the_same_step_otherwise_computed(problem, usual, learner):
    alike(stepped(learner, *problem), usual, 1e-9)


@pytest.mark.slow
def test_it_starts_from_the_last_iterate_not_the_chosen_one():
    """Hardly damped, the network takes an earlier iterate; its state still holds the last."""
    network, batch = addition(3)
    damping = Damping(tikhonov=1e-9, structural=0.0)
    learner = HessianFree(OBJECTIVE, damping, iterations=14, tolerance=0.0)
    f = OnBatch(OBJECTIVE, network, batch, network.initial((24,)))
    gradient = f.gradient(f.start)[1]

    def solved(start, scale):
        curve = f.gauss_newton(f.start)
        found = conjugate_gradient(
            lambda v: curve(v) + 1e-9 * scale * v, gradient, start, iterations=14, tolerance=0.0
        )
        return found.iterates[found.last]

    after, learner_state, _, _ = stepped(learner, network, batch)
    first = solved(jnp.zeros_like(f.start), 1.0)
    # Rounding grows with every iteration that is hardly damped, on some machines to 1e-6 by now.
    np.testing.assert_allclose(
        learner_state.last, first, rtol=1e-3, atol=1e-4 * np.abs(first).max()
    )
    moved = OnBatch(OBJECTIVE, after, batch, None).start - f.start
    assert np.linalg.norm(moved - first) > 0.1 * np.linalg.norm(first)
    # The same network again, with that state: from 0.95 times the last iterate.
    _, again, _, _ = stepped(learner, network, batch, learner_state)
    second = solved(0.95 * first, learner_state.scale)
    np.testing.assert_allclose(again.last, second, rtol=1e-3, atol=1e-4 * np.abs(second).max())
    assert np.linalg.norm(second - first) > 1e-2 * np.linalg.norm(first)


@pytest.mark.parametrize("judge", ["gradient", "curvature"])
@pytest.mark.parametrize("line_search", some([False, True], [True]))
def test_the_loss_never_rises_on_the_batch_that_judges(problem, judge, line_search):
    network, batch = problem
    learner = HessianFree(
        OBJECTIVE,
        Damping(tikhonov=1e-4, structural=0.0),
        line_search=line_search,
        curvature=24 if judge == "curvature" else 12,
        judge=judge,
        iterations=15,
    )
    step = jax.jit(learner.step)
    learner_state, state = learner.initial(network), learner.start(network, batch)
    values = []
    for _ in range(12):
        network, learner_state, _, report = step(network, learner_state, state, batch)
        assert report["after"] <= report["loss"]
        values.append(float(report["loss"]))
    assert (np.diff(values) <= 1e-15).all()
    assert values[-1] < 0.3 * values[0]


def test_fresh_and_in_turn(linear):
    xs, targets = linear
    network = Affine(jnp.ones((4, 2)), jnp.zeros(2))
    batch = Batch(xs, targets, jnp.ones(xs.shape[:2]))
    seen = {}
    for draw in ("fresh", "turn"):
        learner = HessianFree(OBJECTIVE, NONE, curvature=20, iterations=6, draw=draw)
        start = learner.initial(network)
        starts = [start._replace(steps=jnp.asarray(n, jnp.int32)) for n in range(3)]
        seen[draw] = [stepped(learner, network, batch, at, state=()) for at in starts]
    weights = {draw: [s[0].V for s in steps] for draw, steps in seen.items()}
    np.testing.assert_array_equal(weights["turn"][0], weights["turn"][2])
    assert not np.array_equal(weights["turn"][0], weights["turn"][1])
    assert not np.array_equal(weights["fresh"][0], weights["fresh"][2])


def test_the_preconditioner_helps_where_scales_differ():
    random = np.random.default_rng(0)
    xs = random.standard_normal((3, 40, 30)) * np.geomspace(1, 1000, 30)
    targets = random.standard_normal((3, 40, 2))
    network = Affine(jnp.zeros((30, 2)), jnp.zeros(2))
    batch = Batch(xs, targets, jnp.ones(xs.shape[:2]))
    gained = {}
    for precondition in (False, True):
        learner = HessianFree(
            Objective(SquaredError()), NONE, iterations=10, precondition=precondition, tolerance=0.0
        )
        report = stepped(learner, network, batch, state=())[3]
        gained[precondition] = report["loss"] - report["after"]
    assert gained[True] > 1.5 * gained[False]


def test_noise_stands_still_during_a_step(problem):
    """With dropout the quadratic still agrees with the objective, for small steps."""
    _, batch = problem
    one, two, three = jax.random.split(key(1), 3)
    noisy = Dropout(Simple(2, 4, key=one), 0.3, recurrent=0.3, key=three)
    network = Network(noisy, Readout(4, 1, key=two))
    damping = Damping(tikhonov=100.0, structural=0.0, ratio="undamped")
    learner = HessianFree(OBJECTIVE, damping, iterations=30)
    report = stepped(learner, network, batch)[3]
    np.testing.assert_allclose(report["ratio"], 1.0, atol=0.02)


class Cliff(SquaredError):
    """Squared error that is not a number once an output is far away."""

    def at(self, outputs, targets):
        value = super().at(outputs, targets)
        return jnp.where(jnp.abs(outputs[..., 0]) > 1.5, jnp.nan, value)


@pytest.mark.parametrize("line_search", some([False, True], [True]))
def test_an_objective_that_turns_nan_is_survived(linear, line_search):
    xs, targets = linear
    network = Affine(jnp.zeros((4, 2)), jnp.zeros(2))
    batch = Batch(xs, 4 + targets, jnp.ones(xs.shape[:2]))
    learner = HessianFree(
        Objective(Cliff()), Damping(tikhonov=1e-6, structural=0.0), line_search, iterations=15
    )
    after, learner_state, _, report = stepped(learner, network, batch, state=())
    assert np.isfinite(report["after"]) and report["after"] <= report["loss"]
    assert all(bool(jnp.all(jnp.isfinite(x))) for x in jax.tree.leaves((after, learner_state)))
    if not line_search:  # whose every step is tried, and so cannot go over the edge
        assert report["after"] < report["loss"] and learner_state.scale == 1.5
        assert "not finite" in learner.summary([jax.device_get(report)])["remark"]


class NanCurvature(SquaredError):
    """Squared error whose Hessian is not a number."""

    def hessian_at(self, outputs):
        return lambda v: jnp.nan * v


@pytest.mark.parametrize("line_search", some([False, True], [False]))
def test_products_that_are_nan_raise_the_damping_with_a_remark(problem, line_search):
    network, batch = problem
    learner = HessianFree(Objective(NanCurvature()), line_search=line_search)
    after, learner_state, _, report = stepped(learner, network, batch)
    assert REASONS[int(report["reason"])] == "not finite" and report["refused"]
    for old, new in zip(jax.tree.leaves(network), jax.tree.leaves(after), strict=True):
        np.testing.assert_array_equal(old, new)
    assert learner_state.scale == 1.5 and not learner_state.last.any()
    words = learner.summary([jax.device_get(report)])
    assert words["reason"] == "not finite"
    assert "damping was raised from λ 0.01, μ 0.003" in words["remark"]


@pytest.mark.slow
def test_a_quadratic_that_has_no_minimum_is_left_in_time(problem):
    """Symbols that all weigh the same leave the softmax flat: curvature is zero, not negative."""
    one, two = jax.random.split(key(2))
    network = Network(Simple(3, 4, key=one), Readout(4, 3, key=two), OneHot(3))
    xs = np.zeros((4, 6), int)
    batch = Batch(xs, xs, jnp.ones((4, 6)))
    learner = HessianFree(Objective(CrossEntropy()), NONE, iterations=50)
    report = stepped(learner, network, batch)[3]
    assert np.isfinite(report["after"]) and report["after"] < report["loss"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objective": Objective(SquaredError(), "bfloat16")}, "needs float32"),
        ({"draw": "sometimes"}, "draw must be one of fresh, turn; got sometimes"),
        ({"judge": "nobody"}, "judge must be one of gradient, curvature; got nobody"),
        ({"adapt": "never"}, "adapt must be one of step, iteration; got never"),
        ({"adapt": "iteration", "line_search": True}, "has its own rule"),
    ],
)
def test_bad_settings(options, words):
    with pytest.raises(BadInput, match=words):
        HessianFree(**{"objective": OBJECTIVE, **options})


def test_the_curvature_batch_must_divide_the_batch(problem):
    with pytest.raises(BadInput, match="must divide the batch of 24 sequences, got 7"):
        stepped(dataclasses.replace(USUAL, curvature=7), *problem)
