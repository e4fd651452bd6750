"""The initial weights have the distributions that their names promise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import (
    GRU,
    LSTM,
    LSTM1997,
    MLSTM,
    MRNN,
    Delay,
    KrauseLSTM,
    PeepholeLSTM,
    Simple,
)
from ostinato.cells.initialisers import (
    fan_in,
    glorot,
    incoming,
    initialiser,
    normal,
    orthogonal,
    sparse,
    spectral_radius,
)

KEY = jax.random.key(11)
UNITS = 6
SIZE = (400, 400)


def blocks(matrix):
    return np.split(np.asarray(matrix), matrix.shape[1] // UNITS, axis=1)


def radius(matrix):
    return np.abs(np.linalg.eigvals(np.asarray(matrix))).max()


@pytest.mark.parametrize("make", [Simple, LSTM, PeepholeLSTM, LSTM1997, GRU, Delay])
def test_recurrent_weights_start_orthogonal_block_by_block(make):
    cell = make(3, UNITS, key=KEY)
    matrices = [getattr(cell, name) for name in ("R", "U", "B") if hasattr(cell, name)]
    found = [block for matrix in matrices for block in blocks(matrix)]
    for block in found:
        assert np.abs(block @ block.T - np.eye(UNITS)).max() < 1e-12
    different = {block.tobytes() for block in found}
    assert len(different) == len(found)


def test_orthogonal_scales_by_its_gain():
    cell = LSTM(3, UNITS, key=KEY, recurrent=orthogonal(0.5))
    for block in blocks(cell.R):
        assert np.abs(block @ block.T - 0.25 * np.eye(UNITS)).max() < 1e-12


def test_incoming_gives_each_unit_so_many_weights():
    matrix = np.asarray(incoming(15, std=2.0)(KEY, (60, 300), jnp.float64))
    assert np.all(np.count_nonzero(matrix, axis=0) == 15)
    # Each row is chosen for a quarter of the columns: 75 of them, give or take 7.5.
    assert np.abs(np.count_nonzero(matrix, axis=1) - 75).max() < 4 * 7.5
    assert np.std(matrix[matrix != 0]) == pytest.approx(2.0, rel=0.05)


def test_sparse_keeps_its_share():
    matrix = np.asarray(sparse(0.1, std=2.0)(KEY, SIZE, jnp.float64))
    assert np.mean(matrix != 0) == pytest.approx(0.1, abs=0.01)
    assert np.std(matrix[matrix != 0]) == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize(("make", "std"), [(KrauseLSTM, 0.1), (MLSTM, 0.1), (MRNN, 0.05)])
def test_krauses_initial_weights(make, std):
    """Krause (2015), sections 4.2, 4.3 and 4.5: one deviation for all weights of a model."""
    cell = make(100, 100, key=KEY, input=normal(std))
    for name, matrix in vars(cell).items():
        if name != "b":
            assert np.std(matrix) == pytest.approx(std, rel=0.03), name


def test_krauses_sparse_weights_are_the_default():
    matrix = np.asarray(sparse()(KEY, SIZE, jnp.float64))
    assert np.mean(matrix != 0) == pytest.approx(0.1, abs=0.01)
    assert np.std(matrix[matrix != 0]) == pytest.approx(0.1, rel=0.05)


def test_normal_has_its_deviation():
    matrix = np.asarray(normal(0.3)(KEY, SIZE, jnp.float64))
    assert np.std(matrix) == pytest.approx(0.3, rel=0.01)
    assert np.mean(matrix) == pytest.approx(0.0, abs=0.003)
    assert np.mean(np.abs(matrix) < 0.3) == pytest.approx(0.6827, abs=0.01)


def test_fan_in_goes_by_the_inputs_that_vary():
    def deviations(symbols, rows):
        matrix = np.asarray(fan_in(symbols)(KEY, (rows, 2000), jnp.float64))
        return [part.std() for part in np.split(matrix, [symbols]) if part.size]

    assert deviations(0, 100) == pytest.approx([0.1], rel=0.02)
    assert deviations(0, 1) == pytest.approx([0.6], rel=0.05)  # not 1
    assert deviations(80, 80) == pytest.approx([1.0], rel=0.02)
    assert deviations(80, 80 + 25) == pytest.approx([1.0, 0.2], rel=0.02)


def test_uniform_fills_its_interval():
    matrix = np.asarray(initialiser("uniform:0.08")(KEY, SIZE, jnp.float64))
    assert 0.0799 < np.abs(matrix).max() <= 0.08
    assert np.std(matrix) == pytest.approx(0.08 / np.sqrt(3), rel=0.01)
    assert np.array_equal(matrix, initialiser("uniform")(KEY, SIZE, jnp.float64))


def test_glorot_fills_its_interval():
    rows, columns = 100, 50
    bound = np.sqrt(6 / (rows + columns))
    matrix = np.asarray(glorot()(KEY, (rows, columns), jnp.float64))
    assert 0.99 * bound < np.abs(matrix).max() <= bound
    assert np.std(matrix) == pytest.approx(bound / np.sqrt(3), rel=0.05)


@pytest.mark.parametrize("base", [incoming(15), sparse(0.3), None])
def test_spectral_radius_is_exact(base):
    matrix = spectral_radius(1.1, base)(KEY, (40, 40), jnp.float64)
    assert radius(matrix) == pytest.approx(1.1, abs=1e-10)


def test_spectral_radius_only_scales():
    base = incoming(15)(KEY, (40, 40), jnp.float64)
    matrix = spectral_radius(1.1, incoming(15))(KEY, (40, 40), jnp.float64)
    assert np.abs(matrix - 1.1 * base / radius(base)).max() < 1e-12


def test_spectral_radius_compiled_and_for_many_keys():
    def draw(key):
        return spectral_radius(1.1, incoming(15))(key, (20, 20), jnp.float64)

    compiled, keys = jax.jit(draw), jax.random.split(KEY, 3)
    for key, matrix in zip(keys, jax.jit(jax.vmap(draw))(keys), strict=True):
        assert radius(matrix) == pytest.approx(1.1, abs=1e-10)
        assert radius(compiled(key)) == pytest.approx(1.1, abs=1e-10)
        assert np.abs(matrix - compiled(key)).max() < 1e-12
    assert np.abs(draw(KEY) - compiled(KEY)).max() < 1e-12


def test_initialisers_of_a_cell_are_its_options():
    cell = LSTM(20, 20, key=KEY, input=normal(0.0), recurrent=spectral_radius(0.7, incoming(5)))
    assert not np.any(cell.W)
    for block in np.split(np.asarray(cell.R), 4, axis=1):
        assert radius(block) == pytest.approx(0.7, abs=1e-10)
        assert np.all(np.count_nonzero(block, axis=0) == 5)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError) as caught:
        spectral_radius(1.1)(KEY, (4, 5), jnp.float64)
    assert str(caught.value) == "spectral_radius needs a square matrix, got shape (4, 5)"
    with pytest.raises(ValueError) as caught:
        Simple(3, 10, key=KEY, recurrent=incoming(15))
    assert str(caught.value) == "incoming(15) needs at least 15 rows, got shape (10, 10)"


@pytest.mark.parametrize("make", [LSTM, PeepholeLSTM])
def test_the_forget_gate_starts_open(make):
    zero, one = np.zeros(UNITS), np.ones(UNITS)
    start = np.concatenate([zero, one, zero, zero])
    assert np.array_equal(make(3, UNITS, key=KEY).b, start)
    assert np.array_equal(make(3, UNITS, key=KEY, forget=-2.0).b, -2 * start)


@pytest.mark.parametrize("make", [KrauseLSTM, MLSTM])
def test_forget_of_a_cell_without_biases_is_one_for_symbols(make):
    plain, opened = (make(3, UNITS, key=KEY, forget=b) for b in (0.0, 2.0))
    symbols = jnp.eye(3)
    first, second = (jax.tree.leaves(cell.inputs(symbols))[0] for cell in (plain, opened))
    expected = np.repeat([0.0, 2.0, 0.0, 0.0], UNITS)
    np.testing.assert_allclose(second - first, np.tile(expected, (3, 1)), atol=1e-12)
    assert np.array_equal(make(3, UNITS, key=KEY).W, plain.W)
