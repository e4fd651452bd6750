"""The film of bouncing balls: the physics, the frames, and the numbers they are compared with."""

import itertools

import numpy as np

from ostinato.tasks import BouncingBalls
from ostinato.tasks.synthetic.bouncing_balls import BOX, RADIUS, SPEED, paths, rendered


def moving(balls=3, frames=200, size=8):
    return paths(np.random.default_rng(1), size, frames, balls)


def test_balls_stay_in_the_box_and_hardly_overlap():
    x = moving()
    slack = SPEED  # they turn back after a step that went too far
    assert RADIUS - slack <= x.min() and x.max() <= BOX - RADIUS + slack
    for i, j in itertools.combinations(range(3), 2):
        assert np.linalg.norm(x[:, :, i] - x[:, :, j], axis=-1).min() > 2 * RADIUS - 2 * slack


def test_energy_is_kept_and_a_lone_ball_goes_straight():
    step = np.diff(moving(), axis=0)
    energy = (step**2).sum(axis=(-1, -2))
    # A frame in which a ball turns back shows a shorter way than the speed.
    assert np.median(np.abs(energy - SPEED**2)) < 1e-12
    assert energy.max() < SPEED**2 * 1.01
    alone = np.diff(moving(balls=1, frames=5), axis=0)
    np.testing.assert_allclose(np.linalg.norm(alone[0], axis=-1), SPEED, rtol=1e-6)


def test_two_balls_exchange_their_velocities_head_on():
    from ostinato.tasks.synthetic.bouncing_balls import _collide

    x = np.array([[[4.0, 5.0], [6.0, 5.0]]])
    v = np.array([[[0.3, 0.1], [-0.2, 0.0]]])
    _collide(x, v, 0, 1)
    np.testing.assert_allclose(v, [[[-0.2, 0.1], [0.3, 0.0]]])


def test_a_frame_shows_each_ball_as_a_disc():
    positions = np.array([[[[5.0, 2.0]]]])  # x, y
    frame = rendered(positions, 20).reshape(20, 20)
    row, column = np.unravel_index(frame.argmax(), frame.shape)
    assert abs(10 * (row + 0.5) / 20 - 2) < 0.5 and abs(10 * (column + 0.5) / 20 - 5) < 0.5
    area = frame.sum() * (BOX / 20) ** 2
    assert abs(area - np.pi * RADIUS**2) < 0.15 * np.pi * RADIUS**2
    distance = np.hypot(10 * (row + 0.5) / 20 - 2.0, 10 * (column + 0.5) / 20 - 5.0)
    np.testing.assert_allclose(frame.max(), np.exp(-((distance / RADIUS) ** 8)), rtol=1e-5)


def test_the_frame_before_is_a_better_guess_than_the_mean_frame():
    task = BouncingBalls(pixels=10, length=20, seed=3)
    batch = next(task.held_out("valid", 200))
    before = task.yardsticks("valid")["the frame before"]
    assert 0 < before < task.chance
    mean = batch.targets.mean(axis=(0, 1))
    error = ((batch.targets - mean) ** 2).sum(-1).mean()
    np.testing.assert_allclose(task.chance, error, rtol=1e-4)
    logits = np.log(mean + 1e-9) - np.log(1 - mean + 1e-9)
    outputs = np.broadcast_to(logits, batch.targets.shape)
    np.testing.assert_allclose(
        task.metric.value(task.metric.counts(outputs, batch)), error, rtol=1e-3
    )
