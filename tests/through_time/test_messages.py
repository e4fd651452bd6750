"""What `unroll` says when it is used wrongly: one line with what it expected and what it got."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

import ostinato
from ostinato.cells import GRU, LSTM, Cell, Simple
from ostinato.errors import BadInput
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
NARROW = to_float32(GATED)
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


class Still(User):
    """The state and the output are ones at every step."""

    def step(self, state, u):
        return state, jnp.ones_like(u)


STILL = Still()


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
    says(BadInput, expected, "got (5, 4, 7)", lambda: ostinato.unroll(cell, jnp.ones((5, 4, 7))))


def test_integer_inputs():
    expected = "GRU expects floating-point inputs of shape (..., 2)"
    given = "got int64 of shape (5, 4, 2)"
    says(BadInput, expected, given, lambda: ostinato.unroll(GATED, XS.astype(int)))


def test_inputs_of_a_higher_precision():
    expected = "GRU has float32 parameters and expects inputs of that dtype"
    given = "got float64 of shape (5, 4, 2)"
    says(BadInput, expected, given, lambda: ostinato.unroll(to_float32(GATED), XS))


@pytest.mark.parametrize(("cell", "name"), [(GATED, "GRU"), (BOTH, "Bidirectional")])
def test_too_few_axes(cell, name):
    expected = f"{name} expects inputs of shape (T, *batch, inputs)"
    says(BadInput, expected, "got (5,)", lambda: ostinato.unroll(cell, jnp.ones(5)))


@pytest.mark.parametrize(
    ("error", "lengths", "expected", "given"),
    [
        (BadInput, [1, 2], "(4,)", "got (2,)"),
        (BadInput, 3, "(4,)", "got ()"),
        (BadInput, [1.0, 2.0, 3.0, 4.0], "integers of shape (4,)", "got float64"),
        (BadInput, [True, True, False, True], "integers of shape (4,)", "got bool"),
        (BadInput, [1, 2, 3, 6], "from 0 to T = 5", "got 6"),
        (BadInput, [1, -2, 3, 4], "from 0 to T = 5", "got -2"),
    ],
)
@pytest.mark.parametrize("cell", [GATED, BOTH])
def test_lengths(cell, error, lengths, expected, given):
    says(error, expected, given, lambda: ostinato.unroll(cell, XS, lengths=jnp.asarray(lengths)))


@pytest.mark.parametrize(
    ("error", "lengths", "expected", "given"),
    [
        (BadInput, np.array([1, 2, 3, 2**32 + 3]), "from 0 to T = 5", "got 4294967299"),
        (BadInput, np.array([1, 2, 3, 2**63 + 1], np.uint64), "from 0 to T", f"got {2**63 + 1}"),
        (BadInput, [1, 2, 3, 2**70], "from 0 to T = 5", f"got {2**70}"),
        (BadInput, [1, 2, 3, -(2**40)], "from 0 to T = 5", f"got {-(2**40)}"),
        (BadInput, [[1, 2], [3]], "(4,)", "got [[1, 2], [3]]"),
        (BadInput, [[1, 2], [3, 4]], "(4,)", "got (2, 2)"),
        (BadInput, [1, 2, 3, None], "integers of shape (4,)", "got None"),
        (BadInput, [1, 2, 3, True], "integers of shape (4,)", "got True"),
        (BadInput, [1, 2, 3, 4.0], "integers of shape (4,)", "got 4.0"),
        (BadInput, [1, 2, 3, "4"], "integers of shape (4,)", "got '4'"),
        (BadInput, np.array([1, 2, 3, np.nan]), "integers of shape (4,)", "got float64"),
        (BadInput, np.array([1, 2, 3, None]), "integers of shape (4,)", "got None"),
    ],
)
@pytest.mark.parametrize("wide", [True, False])
def test_lengths_before_they_are_an_array(wide, error, lengths, expected, given):
    """In a process of 32 bits 2^32 + 3 would wrap to 3, and be a length like any other."""
    with jax.enable_x64(wide):
        xs = jnp.ones((STEPS, BATCH, INPUTS), jnp.float32)
        says(error, expected, given, lambda: ostinato.unroll(NARROW, xs, lengths=lengths))


@pytest.mark.parametrize(
    "lengths",
    [
        [1, 2, 3, 5],
        (np.int8(1), 2, np.uint64(3), 5),
        np.array([1, 2, 3, 5], np.uint64),
        np.array([1, 2, 3, 5], object),
        [jnp.asarray(1), 2, 3, 5],
    ],
)
def test_lengths_of_any_kind_of_integer(lengths):
    found = ostinato.unroll(STILL, XS, lengths=lengths)[0]
    assert found.tolist() == ostinato.unroll(STILL, XS, lengths=jnp.array([1, 2, 3, 5]))[0].tolist()
    assert found[..., 0].sum(0).tolist() == [1, 2, 3, 5]


def test_state_of_another_cell():
    expected = "GRU expects a state float64(4, 3)"
    given = "got (float64(4, 3), float64(4, 3))"
    state = MEMORY.initial((BATCH,))
    says(BadInput, expected, given, lambda: ostinato.unroll(GATED, XS, state))


def test_state_of_another_batch():
    expected = "LSTM expects a state (float64(4, 3), float64(4, 3))"
    given = "got (float64(9, 3), float64(9, 3))"
    state = MEMORY.initial((9,))
    says(BadInput, expected, given, lambda: ostinato.unroll(MEMORY, XS, state))


def test_state_of_another_dtype():
    expected, given = "GRU expects a state float64(4, 3)", "got float32(4, 3)"
    state = to_float32(GATED.initial((BATCH,)))
    says(BadInput, expected, given, lambda: ostinato.unroll(GATED, XS, state))


def test_state_with_names():
    cell = WithNames()
    state = cell.initial((9,))
    says(BadInput, "float64(4, 3)", "float64(9, 3)", lambda: ostinato.unroll(cell, XS, state))


@pytest.mark.parametrize(
    "memory", ["half", 0, -1, 2.5, None, True, np.int8(0), np.True_, np.array([2, 3]), 2.0, b"all"]
)
def test_memory(memory):
    expected = "memory must be 'all', 'sqrt' or a number of steps"
    says(BadInput, expected, f"got {memory!r}", lambda: ostinato.unroll(GATED, XS, memory=memory))


@pytest.mark.parametrize("memory", [np.int64(2), 2**80])
def test_memory_of_any_kind_of_integer(memory):
    found = ostinato.unroll(STILL, XS, memory=memory)[0]
    assert found.tolist() == ostinato.unroll(STILL, XS)[0].tolist()


@pytest.mark.parametrize("compute", ["int8", "bool", "complex64", "bfloat", 3, ["float32"], {}])
def test_compute(compute):
    expected = "compute must be a floating dtype such as 'bfloat16', 'float16' or 'float32'"
    call = partial(ostinato.unroll, GATED, XS, compute=compute)
    says(BadInput, expected, f"got {compute!r}", call)


def test_compute_in_64_bits():
    with jax.enable_x64(False):
        xs = jnp.ones((STEPS, BATCH, INPUTS))
        call = partial(ostinato.unroll, NARROW, xs, compute="float64")
        says(BadInput, "compute='float64' needs jax_enable_x64", "off", call)


@pytest.mark.parametrize("reverse", ["no", 2, None, np.array([True])])
def test_reverse(reverse):
    call = partial(ostinato.unroll, GATED, XS, reverse=reverse)
    says(BadInput, "reverse must be True or False", f"got {reverse!r}", call)


@pytest.mark.parametrize("memory", ["sqrt", 2])
def test_taps_with_less_memory(memory):
    offsets = ostinato.taps(GATED, XS)
    says(
        BadInput,
        "taps need memory='all'",
        repr(memory),
        lambda: ostinato.unroll(GATED, XS, taps=offsets, memory=memory),
    )


def test_taps_of_other_names():
    offsets = ostinato.taps(zeros(Simple), XS)
    with pytest.raises((BadInput, KeyError)) as raised:
        ostinato.unroll(GATED, XS, taps=offsets)
    message = str(raised.value)
    assert "\n" not in message
    assert "taps" in message
    assert ".U" in message


def test_taps_of_another_shape():
    offsets = ostinato.taps(GATED, jnp.ones((STEPS + 1, BATCH, INPUTS)))
    says(BadInput, "(5, 4, 6)", "(6, 4, 6)", lambda: ostinato.unroll(GATED, XS, taps=offsets))


def test_taps_of_another_dtype():
    offsets = to_float32(ostinato.taps(GATED, XS))
    expected, given = "'.R': 'float64(5, 4, 6)'", "'.R': 'float32(5, 4, 6)'"
    says(BadInput, expected, given, lambda: ostinato.unroll(GATED, XS, taps=offsets))


def test_taps_of_a_layer_without_a_step():
    expected, given = "taps must be those of taps(cell, xs): expected {'.R'", "got {}"
    says(BadInput, expected, given, lambda: ostinato.unroll(BOTH, XS, taps={}))


def test_bidirectional_with_the_state_of_one_direction():
    expected = "Bidirectional expects a state ((float64(4, 3), float64(4, 3)), float64(4, 3))"
    given = "got (float64(4, 3), float64(4, 3))"
    state = MEMORY.initial((BATCH,))
    says(BadInput, expected, given, lambda: ostinato.unroll(BOTH, XS, state))


def test_bidirectional_with_the_state_of_another_batch():
    expected, given = "GRU expects a state float64(4, 3)", "got float64(9, 3)"
    state = (MEMORY.initial((BATCH,)), GATED.initial((9,)))
    says(BadInput, expected, given, lambda: ostinato.unroll(BOTH, XS, state))


def test_a_step_that_changes_the_shape():
    expected = "User.step must keep the state's shape: expected float64(4, 3)"
    says(BadInput, expected, "got float64(4, 6)", lambda: ostinato.unroll(User(), XS))


def test_a_step_that_changes_the_structure():
    expected = "Doubled.step must return a state built like the one it got: expected float64(4, 3)"
    given = "got (float64(4, 3), float64(4, 3))"
    says(BadInput, expected, given, lambda: ostinato.unroll(Doubled(), XS))


class OfEquinox(Cell):
    """What the message advises."""

    gru: eqx.nn.GRUCell

    def initial(self, batch):
        return jnp.zeros((*batch, 4))

    def inputs(self, x):
        return x

    def step(self, state, x):
        h = jax.vmap(self.gru)(x, state)
        return h, h


def test_the_cell_of_another_library_is_told_how_to_become_one():
    gru, xs = eqx.nn.GRUCell(3, 4, key=key(0)), jnp.ones((5, 2, 3))
    words = "got GRUCell of equinox: write a subclass of ostinato.Cell .* by jax.vmap over a batch"
    for method in (ostinato.unroll, ostinato.taps):
        with pytest.raises(BadInput, match=words):
            method(gru, xs)
    ys, _ = ostinato.unroll(OfEquinox(gru), xs)
    assert ys.shape == (5, 2, 4)
    module = type("GRU", (), {"__module__": "torch.nn.modules.rnn"})()
    with pytest.raises(BadInput, match="got GRU of torch: import it by ostinato"):
        ostinato.unroll(module, xs)
    with pytest.raises(BadInput, match="got the class Simple: make one of its objects"):
        ostinato.unroll(Simple, xs)


@pytest.mark.parametrize("resets", [np.eye(5, 2, dtype=int), [[0, 1]] * 5])
def test_resets_of_zeros_and_ones_are_told_how_to_become_booleans(resets):
    cell, xs = Simple(3, 4, key=key(0)), jnp.ones((5, 2, 3))
    with pytest.raises(BadInput, match=r"got int64: give np.asarray\(resets\).astype\(bool\)"):
        ostinato.unroll(cell, xs, resets=resets)
    ostinato.unroll(cell, xs, resets=np.asarray(resets).astype(bool))
