"""What `unroll` says when it is used wrongly: one line with what it expected and what it got."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jax.random import key

import ostinato
from ostinato.cells import GRU, LSTM, Cell, Simple
from ostinato.wiring import Bidirectional, Stack

INPUTS, UNITS, STEPS, BATCH = 2, 3, 5, 4
XS = jnp.ones((STEPS, BATCH, INPUTS))


def zeros(cell, inputs=INPUTS, units=UNITS):
    """A cell with weights of zeros: these cells never get to run."""
    shapes = eqx.filter_eval_shape(lambda key: cell(inputs, units, key=key), key(0))
    return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)


def to_float32(tree):
    return jax.tree.map(lambda x: x.astype(jnp.float32), tree)


GATED, MEMORY = zeros(GRU), zeros(LSTM)
STACK = Stack([MEMORY, zeros(GRU, UNITS, UNITS)])
BOTH = Bidirectional(MEMORY, GATED)


class User(Cell):
    """A cell whose step is wrong."""

    W: jax.Array

    def __init__(self):
        self.W = jnp.ones((INPUTS, UNITS))

    def initial(self, batch):
        return jnp.zeros((*batch, UNITS))

    def inputs(self, x):
        return x @ self.W

    def step(self, state, u):
        return jnp.concatenate([state, u], axis=-1), u


class Doubled(User):
    def step(self, state, u):
        return (state, state), u


class Named(eqx.Module):
    """A state with names, long enough that it would not be printed on one line."""

    what_the_next_step_reads: jax.Array
    what_no_step_ever_forgets: jax.Array


class WithNames(User):
    def initial(self, batch):
        return Named(jnp.zeros((*batch, UNITS)), jnp.zeros((*batch, UNITS)))

    def step(self, state, u):
        return state, u


def says(error, expected, given, call):
    """`call` raises `error` with one line, which has both what is expected and what is given."""
    with pytest.raises(error) as raised:
        call()
    message = str(raised.value)
    assert "\n" not in message
    assert expected in message
    assert given in message.partition(expected)[2]


@pytest.mark.parametrize(("cell", "name"), [(GATED, "GRU"), (STACK, "LSTM"), (BOTH, "LSTM")])
def test_wrong_input_size(cell, name):
    expected = f"{name} expects inputs of shape (..., 2)"
    says(ValueError, expected, "got (5, 4, 7)", lambda: ostinato.unroll(cell, jnp.ones((5, 4, 7))))


def test_integer_inputs():
    expected = "GRU expects floating-point inputs of shape (..., 2)"
    given = "got int64 of shape (5, 4, 2)"
    says(TypeError, expected, given, lambda: ostinato.unroll(GATED, XS.astype(int)))


def test_inputs_of_a_higher_precision():
    expected = "GRU has float32 parameters and expects inputs of that dtype"
    given = "got float64 of shape (5, 4, 2)"
    says(TypeError, expected, given, lambda: ostinato.unroll(to_float32(GATED), XS))


@pytest.mark.parametrize(("cell", "name"), [(GATED, "GRU"), (BOTH, "Bidirectional")])
def test_too_few_axes(cell, name):
    expected = f"{name} expects inputs of shape (T, *batch, inputs)"
    says(ValueError, expected, "got (5,)", lambda: ostinato.unroll(cell, jnp.ones(5)))


@pytest.mark.parametrize(
    ("error", "lengths", "expected", "given"),
    [
        (ValueError, [1, 2], "(4,)", "got (2,)"),
        (ValueError, 3, "(4,)", "got ()"),
        (TypeError, [1.0, 2.0, 3.0, 4.0], "integers of shape (4,)", "got float64"),
        (TypeError, [True, True, False, True], "integers of shape (4,)", "got bool"),
        (ValueError, [1, 2, 3, 6], "from 0 to T = 5", "got 6"),
        (ValueError, [1, -2, 3, 4], "from 0 to T = 5", "got -2"),
    ],
)
@pytest.mark.parametrize("cell", [GATED, BOTH])
def test_lengths(cell, error, lengths, expected, given):
    says(error, expected, given, lambda: ostinato.unroll(cell, XS, lengths=jnp.asarray(lengths)))


def test_state_of_another_cell():
    expected = "GRU expects a state float64(4, 3)"
    given = "got (float64(4, 3), float64(4, 3))"
    state = MEMORY.initial((BATCH,))
    says(ValueError, expected, given, lambda: ostinato.unroll(GATED, XS, state))


def test_state_of_another_batch():
    expected = "LSTM expects a state (float64(4, 3), float64(4, 3))"
    given = "got (float64(9, 3), float64(9, 3))"
    state = MEMORY.initial((9,))
    says(ValueError, expected, given, lambda: ostinato.unroll(MEMORY, XS, state))


def test_state_of_another_dtype():
    expected, given = "GRU expects a state float64(4, 3)", "got float32(4, 3)"
    state = to_float32(GATED.initial((BATCH,)))
    says(ValueError, expected, given, lambda: ostinato.unroll(GATED, XS, state))


def test_state_with_names():
    cell = WithNames()
    state = cell.initial((9,))
    says(ValueError, "float64(4, 3)", "float64(9, 3)", lambda: ostinato.unroll(cell, XS, state))


@pytest.mark.parametrize("memory", ["half", 0, -1, 2.5, None, True])
def test_memory(memory):
    expected = "memory must be 'all', 'sqrt' or a number of steps"
    says(ValueError, expected, f"got {memory!r}", lambda: ostinato.unroll(GATED, XS, memory=memory))


@pytest.mark.parametrize("memory", ["sqrt", 2])
def test_taps_with_less_memory(memory):
    offsets = ostinato.taps(GATED, XS)
    says(
        ValueError,
        "taps need memory='all'",
        repr(memory),
        lambda: ostinato.unroll(GATED, XS, taps=offsets, memory=memory),
    )


def test_taps_of_other_names():
    offsets = ostinato.taps(zeros(Simple), XS)
    with pytest.raises((ValueError, KeyError)) as raised:
        ostinato.unroll(GATED, XS, taps=offsets)
    message = str(raised.value)
    assert "\n" not in message
    assert "taps" in message
    assert ".U" in message


def test_taps_of_another_shape():
    offsets = ostinato.taps(GATED, jnp.ones((STEPS + 1, BATCH, INPUTS)))
    says(ValueError, "(5, 4, 6)", "(6, 4, 6)", lambda: ostinato.unroll(GATED, XS, taps=offsets))


def test_taps_of_a_layer_without_a_step():
    expected, given = "taps must be those of taps(cell, xs): expected {'.R'", "got {}"
    says(ValueError, expected, given, lambda: ostinato.unroll(BOTH, XS, taps={}))


def test_bidirectional_with_the_state_of_one_direction():
    expected = "Bidirectional expects a state ((float64(4, 3), float64(4, 3)), float64(4, 3))"
    given = "got (float64(4, 3), float64(4, 3))"
    state = MEMORY.initial((BATCH,))
    says(ValueError, expected, given, lambda: ostinato.unroll(BOTH, XS, state))


def test_bidirectional_with_the_state_of_another_batch():
    expected, given = "GRU expects a state float64(4, 3)", "got float64(9, 3)"
    state = (MEMORY.initial((BATCH,)), GATED.initial((9,)))
    says(ValueError, expected, given, lambda: ostinato.unroll(BOTH, XS, state))


def test_a_step_that_changes_the_shape():
    expected = "User.step must keep the state's shape: expected float64(4, 3)"
    says(ValueError, expected, "got float64(4, 6)", lambda: ostinato.unroll(User(), XS))


def test_a_step_that_changes_the_structure():
    expected = "Doubled.step must return a state built like the one it got: expected float64(4, 3)"
    given = "got (float64(4, 3), float64(4, 3))"
    says(ValueError, expected, given, lambda: ostinato.unroll(Doubled(), XS))
