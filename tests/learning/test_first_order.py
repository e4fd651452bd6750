"""The learners' equations, schedules, clipping and curriculum."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.learning import FirstOrder, Objective
from ostinato.learning.clipping import clip_factor, no_average
from ostinato.learning.first_order import FIRST_ORDER
from ostinato.learning.gradients import Gradient
from ostinato.learning.schedules import factor, length_at
from ostinato.losses import SquaredError


class Given(Gradient):
    """A gradient that is handed in as the batch."""

    def own(self, objective, network, batch, state):
        return jnp.zeros(()), {"w": batch.inputs}, state


def weights_after(gradients, name, rate=0.1, momentum=0.9, **options):
    learner = FirstOrder(
        name,
        Objective(SquaredError()),
        10,
        Given(),
        rate=rate,
        momentum=momentum,
        clip="off",
        **{"schedule": "constant"} | options,
    )
    network = {"w": jnp.asarray([1.0, -2.0])}
    learner_state, found = learner.initial(network), []
    for gradient in gradients:
        batch = Batch(jnp.asarray(gradient), None, jnp.ones((1, 1)))
        network, learner_state, _, _ = learner.step(network, learner_state, None, batch)
        found.append(network["w"])
    return found


GRADIENTS = [np.array([0.5, -1.0]), np.array([-0.25, 2.0]), np.array([1.0, 0.5])]


@pytest.mark.parametrize("name", ["sgd", "heavy-ball", "nesterov"])
def test_momentum_as_written(name):
    w, m = np.array([1.0, -2.0]), np.zeros(2)
    for gradient, found in zip(GRADIENTS, weights_after(GRADIENTS, name), strict=True):
        m = (0.0 if name == "sgd" else 0.9) * m + gradient
        w = w - 0.1 * (gradient + 0.9 * m if name == "nesterov" else m)
        np.testing.assert_allclose(found, w, rtol=1e-12)


def rate_at(schedule, step):
    return float(0.1 * factor(schedule, 10)(jnp.asarray(step, jnp.int32)))


@pytest.mark.parametrize("schedule", ["linear", "step"])
def test_heavy_ball_with_a_changing_rate(schedule):
    """Galvan (2015), (1.60-1.61): the rate of each step is part of v."""
    rates = [rate_at(schedule, t) for t in range(6)]
    assert len(set(rates)) > 1
    w, v, gradients = np.array([1.0, -2.0]), np.zeros(2), GRADIENTS * 2
    for rate, gradient, found in zip(
        rates, gradients, weights_after(gradients, "heavy-ball", schedule=schedule), strict=True
    ):
        v = 0.9 * v + rate * gradient
        w = w - v
        np.testing.assert_allclose(found, w, rtol=1e-12)


def test_nesterov_with_a_changing_rate():
    """`v ← γ v + α ∇f(θ - γ v)`, `θ ← θ - v` on ½ Σ k θ²; ours is the point θ - γ v."""
    k = np.array([1.0, 3.0])
    learner = FirstOrder(
        "nesterov", Objective(SquaredError()), 10, Given(), rate=0.1, clip="off", schedule="linear"
    )
    network = {"w": jnp.asarray([1.0, -2.0])}
    learner_state, theta, v = learner.initial(network), np.array([1.0, -2.0]), np.zeros(2)
    for t in range(6):
        batch = Batch(k * network["w"], None, jnp.ones((1, 1)))
        network, learner_state, _, _ = learner.step(network, learner_state, None, batch)
        v = 0.9 * v + rate_at("linear", t) * k * (theta - 0.9 * v)
        theta = theta - v
        np.testing.assert_allclose(network["w"], theta - 0.9 * v, rtol=1e-12)


@pytest.mark.parametrize("name", ["heavy-ball", "nesterov"])
def test_a_raw_velocity_keeps_the_rate_out(name):
    """As in torch, and as runs from before this setting did it."""
    found = weights_after(GRADIENTS, name, schedule="linear", velocity="raw")
    w, m = np.array([1.0, -2.0]), np.zeros(2)
    for t, (gradient, ours) in enumerate(zip(GRADIENTS, found, strict=True)):
        m = 0.9 * m + gradient
        w = w - rate_at("linear", t) * (gradient + 0.9 * m if name == "nesterov" else m)
        np.testing.assert_allclose(ours, w, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("adagrad", optax.adagrad(0.1)),
        ("adadelta", optax.adadelta(0.1)),
        ("rmsprop", optax.rmsprop(0.1)),
        ("adam", optax.adam(0.1)),
        ("adamw", optax.adamw(0.1, weight_decay=0.01)),
    ],
)
def test_the_rest_is_optax(name, whole):
    w = jnp.asarray([1.0, -2.0])
    learner_state = whole.init(w)
    for gradient, found in zip(GRADIENTS, weights_after(GRADIENTS, name), strict=True):
        change, learner_state = whole.update(jnp.asarray(gradient), learner_state, w)
        w = w + change
        np.testing.assert_allclose(found, w, rtol=1e-10)


@pytest.mark.parametrize("name", FIRST_ORDER)
def test_numbers_may_be_inputs_of_a_compiled_step(name):
    """A step of one learner that is given another's numbers is the other's step."""
    one, other = (
        FirstOrder(
            name,
            Objective(SquaredError()),
            10,
            Given(),
            rate=rate,
            momentum=momentum,
            weight_decay=decay,
            clip=clip,
        )
        for rate, momentum, decay, clip in ((None, 0.9, 0.0, "1"), (0.03, 0.4, 0.2, "0.1"))
    )
    network = {"w": jnp.asarray([1.0, -2.0])}
    batch = Batch(jnp.asarray(GRADIENTS[0]), None, jnp.ones((1, 1)))
    step, learner_state = jax.jit(one.step_with), one.initial(network)
    for learner in (one, other):
        numbers = {key: jnp.asarray(x) for key, x in learner.numbers.items()}
        given = step(numbers, network, learner_state, None, batch)
        own = learner.step(network, learner_state, None, batch)
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-12), given, own)


def test_weight_decay_takes_its_share():
    (found,) = weights_after([np.zeros(2)], "sgd", weight_decay=0.5)
    np.testing.assert_allclose(found, np.array([1.0, -2.0]) * (1 - 0.1 * 0.5))


def test_a_weight_decay_of_0_switches_the_decay_off():
    for name in FIRST_ORDER:
        (found,) = weights_after([np.zeros(2)], name, weight_decay=0.0)
        np.testing.assert_array_equal(found, [1.0, -2.0])
        learner = FirstOrder(name, Objective(SquaredError()), 10, weight_decay=0.0)
        assert learner.numbers["weight_decay"] == 0
        assert "(it was 0)" in FirstOrder(name, Objective(SquaredError()), 10, rate=0.0).advice(0.5)
    (found,) = weights_after([np.zeros(2)], "adamw")
    np.testing.assert_allclose(found, np.array([1.0, -2.0]) * (1 - 0.1 * 0.01))


def test_schedules_at_known_steps():
    def at(name, *steps, **options):
        return [float(factor(name, 100, **options)(jnp.asarray(s))) for s in steps]

    assert at("constant", 0, 99) == [1, 1]
    assert at("step", 0, 26, 51, 76) == [1, 0.5, 0.25, 0.125]
    np.testing.assert_allclose(at("exponential", 0, 50, 100), [1, 0.1, 0.01])
    np.testing.assert_allclose(at("linear", 0, 50, 100), [1, 0.5, 0])
    np.testing.assert_allclose(at("cosine", 0, 50, 100), [1, 0.5, 0], atol=1e-12)
    np.testing.assert_allclose(at("linear", 0, 4, 50, warmup=10), [0.1, 0.48, 0.5])
    for odd in ({"a": 1}, 0.1, None, ["step"]):
        with pytest.raises(BadInput, match=r"^there is no schedule .*; there are constant"):
            factor(odd, 100)
    with pytest.raises(BadInput, match="no schedule 'zigzag'; there are constant"):
        factor("zigzag", 100)


def test_plateau_halves_after_two_without_gain():
    learner = FirstOrder("sgd", Objective(SquaredError()), 10, schedule="plateau")
    learner_state = learner.initial({"w": jnp.ones(2)})
    scales = []
    for value in (3.0, 2.0, 2.5, 2.5, 2.5, 2.5, 1.0):
        learner_state = learner.after_validation(learner_state, value)
        scales.append(float(learner_state.plateau.scale))
    assert scales == [1, 1, 1, 0.5, 0.5, 0.25, 0.25]


def test_the_adaptive_rate_rises_after_a_gain_and_falls_like_plateau():
    learner = FirstOrder("sgd", Objective(SquaredError()), 10, schedule="adaptive")
    memory = learner.initial({"w": jnp.ones(2)})
    scales = []
    for value in (3.0, 2.0, 2.5, 2.5, 2.5, 2.5, 1.0):
        memory = learner.after_validation(memory, value)
        scales.append(float(memory.plateau.scale))
    assert scales == pytest.approx([1.1, 1.21, 1.21, 0.605, 0.605, 0.3025, 0.33275])


@pytest.mark.parametrize(
    ("name", "epoch", "expected"),
    [
        # Five epochs of 4 steps, then every two steps.
        ("halving", 4.0, [1] * 20 + [1 / 2] * 2 + [1 / 4] * 2 + [1 / 8] * 2),
        ("halving:1,4", 2.0, [1, 1, 1 / 2, 1 / 8, 1 / 32]),
        ("halving:0,1", 3.5, [1 / 2] * 4 + [1 / 4] * 3 + [1 / 8]),
    ],
)
def test_the_rate_is_halved_by_the_epoch(name, epoch, expected):
    at = factor(name, 100, epoch=epoch)
    assert [float(at(jnp.asarray(step))) for step in range(len(expected))] == pytest.approx(
        expected
    )


def test_a_halving_that_is_none_is_refused():
    for words in ("halving:", "halving:5", "halving:-1,2", "halving:5,0", "halving:5,nan"):
        with pytest.raises(BadInput, match="as in halving:5,2; got halving:"):
            FirstOrder("sgd", Objective(SquaredError()), 10, schedule=words)
    with pytest.raises(BadInput, match="no schedule 'step:2'"):
        FirstOrder("sgd", Objective(SquaredError()), 10, schedule="step:2")
    with pytest.raises(BadInput, match="counts epochs, and there is no length of an epoch"):
        weights_after(GRADIENTS, "sgd", schedule="halving")


def test_adagrad_whose_sum_starts_at_zero():
    """`v ← v + g²`, `θ ← θ - α g / √v`: of a weight with no gradient yet, nothing moves."""
    gradients = [np.array([1e-6, 0.0]), *GRADIENTS]
    w, v = np.array([1.0, -2.0]), np.zeros(2)
    found = weights_after(gradients, "adagrad", accumulator=0.0)
    for gradient, ours in zip(gradients, found, strict=True):
        v = v + gradient**2
        w = w - 0.1 * np.divide(gradient, np.sqrt(v), out=np.zeros(2), where=v > 0)
        np.testing.assert_allclose(ours, w, rtol=1e-12)


def test_line_search_shortens_a_step_that_is_too_long():
    """On ½w² a step of 10 g overshoots; the search must find one that lowers the loss."""

    class Bowl(Objective):
        def own_value(self, network, batch, state):
            return 0.5 * jnp.sum(network["w"] ** 2), state

    learner = FirstOrder(
        "sgd", Bowl(SquaredError()), 10, rate=10.0, schedule="line-search", clip="off"
    )
    network = {"w": jnp.asarray([1.0, -2.0])}
    batch = Batch(None, None, jnp.ones((1, 1)))
    moved, _, _, report = learner.step(network, learner.initial(network), None, batch)
    assert float(jnp.sum(moved["w"] ** 2)) < 5.0
    assert 0 < float(report["rate"]) < 10


def test_a_fixed_threshold_clips_to_it():
    for norm, expected in ((4.0, 0.25), (0.5, 1.0), (0.0, 1.0)):
        found, _ = clip_factor("1", jnp.asarray(norm), no_average())
        assert float(found) == expected


@pytest.mark.parametrize(("clip", "times"), [("auto", 2.0), ("3x", 3.0), ("10x", 10.0)])
def test_the_threshold_follows_the_average_and_is_not_carried_away(clip, times):
    average = no_average()
    for _ in range(50):
        found, average = clip_factor(clip, jnp.asarray(1.0), average)
        assert float(found) == 1
    found, average = clip_factor(clip, jnp.asarray(1000.0), average)
    np.testing.assert_allclose(float(found) * 1000, times, rtol=1e-6)
    np.testing.assert_allclose(float(average.total / average.weight), 1.0, rtol=0.05 * times)


def test_the_curriculum_rises_to_the_full_length():
    lengths = [length_at(step, 100, 10, 160) for step in range(100)]
    assert lengths == sorted(lengths)
    assert lengths[0] == 10 and set(lengths[50:]) == {160} and len(set(lengths)) == 5


def test_an_unknown_learner_is_named():
    with pytest.raises(BadInput, match="no learner 'sdg'; there are sgd, heavy-ball"):
        FirstOrder("sdg", Objective(SquaredError()), 10)
    with pytest.raises(BadInput, match="velocity must be one of scaled, raw; got fast"):
        FirstOrder("sgd", Objective(SquaredError()), 10, velocity="fast")


def test_every_learner_has_a_rate():
    assert all(method.rate > 0 for method in FIRST_ORDER.values())


def test_the_usual_rate_of_adam_goes_by_the_width():
    rates = [FIRST_ORDER["adam"].usual_rate(units) for units in (1, 256, 512, 1024, 2048)]
    assert rates == pytest.approx([0.004, 0.004, 0.004, 0.002, 0.001])
    assert FIRST_ORDER["sgd"].usual_rate(1) == FIRST_ORDER["sgd"].usual_rate(2048) == 0.5


@pytest.mark.parametrize("clip", [False, None, "big", "0.1x"])
def test_a_clip_that_is_none_is_refused_when_the_learner_is_made(clip):
    with pytest.raises(BadInput, match="clip must be"):
        FirstOrder("sgd", Objective(SquaredError()), steps=3, clip=clip)
