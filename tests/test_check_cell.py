"""`check_cell` on a user's own cell: it accepts a right one, and says what is wrong with others."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import LSTM, Cell, Jordan
from ostinato.cells.building import input_size
from ostinato.testing import Case, CellError, check_cell
from ostinato.testing.check import CHECKS, STAGES
from ostinato.testing.derivatives import derivative_is_right
from planted_faults import FAULTS, Mine, parameter
from planted_faults._numbers import scaled
from planted_faults._purity import NoiseByPlace
from sound_cells import SLSTM, SOUND, Counter, NoProjection

# Not every day: sound cells that are like another one in what is checked.
ALIKE = {
    "Counter",
    "IntegerProduct",
    "NearKinks",
    "Relu",
    "LearnedInitial",
    "Mine",
    "NoProjection",
    "SLSTM",
    "SLSTMFromMinusInfinity",
    "SeveralOutputs",
    "ScanInside",
    "Symbols",
    "Unitary",
    "Clipped",
    "CondInside",
    "DelayLine",
    "DictState",
    "DropoutByKey",
    "EquinoxInside",
    "FixedLoopInside",
    "Flag",
    "Float16",
    "MaxPooled",
    "Normalised",
    "NumPyConstant",
    "PlainExponentialGate",
    "Prints",
    "SafeWhere",
    "ScalarOutput",
    "SLSTMFromOne",
    "TiedWeights",
    "Wrapper",
}


def line(cell, *arguments, **options):
    """The one line that `check_cell` gives."""
    with pytest.raises(CellError) as raised:
        check_cell(cell, *arguments, **options)
    message = str(raised.value)
    assert "\n" not in message  # the one fault, and nothing that follows from it
    return message


def test_there_are_enough_cases():
    assert len(FAULTS) >= 50
    assert len(SOUND) >= 20


@pytest.mark.parametrize(
    "cell",
    [pytest.param(c, marks=[pytest.mark.slow] if c.__name__ in ALIKE else []) for c in SOUND],
)
def test_a_sound_cell_passes(cell):
    assert check_cell(cell()) == [check.__name__ for check in CHECKS]


@pytest.mark.filterwarnings("ignore:A JAX array is being set as static")
@pytest.mark.parametrize(
    "cell",
    # A third of them is enough for every day.
    [pytest.param(c, marks=[pytest.mark.slow] if n % 3 else []) for n, c in enumerate(FAULTS)],
)
def test_a_fault_is_named(cell):
    message = line(cell())
    assert message.startswith(f"{cell.__name__}: ")
    for words in FAULTS[cell]:
        assert words in message
    if not message.startswith(f"{cell.__name__}: it is not a Cell"):
        assert any(method in message for method in ("step", "inputs", "initial", "__init__", "."))


def test_a_class_is_not_a_cell():
    assert "Mine: check_cell takes a cell, not its class" in line(Mine)


class TwoFaults(Mine):
    """A wrong derivative, and a parameter that nothing reads."""

    unused: jax.Array = parameter(3, 4)

    def step(self, state, u):
        h = jnp.tanh(u + scaled(self.gain, state @ self.R))
        return h, h


def test_all_faults_are_reported():
    with pytest.raises(CellError) as raised:
        check_cell(TwoFaults())
    wrong, unused = str(raised.value).split("\n")
    assert "TwoFaults: step: the derivative with respect to parameter .gain is wrong" in wrong
    assert "TwoFaults: the loss never reaches the parameter .unused" in unused


class OnlyWhenLarge(Mine):
    """A wrong derivative at states that it does not reach by itself."""

    def step(self, state, u):
        h, y = super().step(state, u)
        return h, y + jnp.where(state > 5, jax.lax.stop_gradient(state), 0.0)


def test_a_cell_is_judged_at_the_given_state():
    message = line(OnlyWhenLarge(), state=np.full(4, 6.0))
    assert "OnlyWhenLarge: step: the derivative with respect to state" in message
    with jax.enable_x64(True):
        derivative_is_right(Case(OnlyWhenLarge()))


def test_a_given_state_must_fit():
    message = line(Mine(), state=np.zeros((2, 4)))
    assert "expected float64(4,), got float64(2, 4)" in message


@pytest.mark.slow
def test_noise_by_place_in_the_batch_may_be_announced():
    check_cell(NoiseByPlace(), noisy=True)


def test_precision_of_the_process_is_kept():
    """In a process without 64-bit numbers a cell is judged by what it does there."""
    with jax.enable_x64(False):
        cell = WithDefaultConstant()
        check_cell(cell)
        assert not jax.config.read("jax_enable_x64")
    assert "step has a constant or a cast of float64" in line(cell)


class WithDefaultConstant(Mine):
    def step(self, state, u):
        h, y = super().step(state, u)
        return h * jnp.linspace(0.5, 0.9, 4), y


class NaNLater(Counter):
    """A derivative that is NaN from the tenth step on, at the root of zero."""

    def step(self, state, u):
        new, y = super().step(state, u)
        beyond = jnp.maximum(jnp.abs(y) - 2, 0.0)
        return new, y + jnp.sqrt(jnp.where(state[1][..., None] < 9, 1.0, beyond))


def test_nan_at_later_steps_is_named():
    """Comparisons with NaN would pass."""
    assert "is NaN from a state that it reaches" in line(NaNLater())


@pytest.mark.parametrize(
    "sizes", [(0, 4), (3, 0), (-1, 4), (3.5, 4), ("3", 4), (True, 4), (None, 4)]
)
def test_sizes_are_positive_whole_numbers(sizes):
    with pytest.raises(ValueError, match="whole numbers from 1 to 2³¹ - 1, got a weight matrix"):
        LSTM(*sizes, key=jax.random.key(0))


def test_sizes_of_outputs_too():
    with pytest.raises(ValueError, match="got a weight matrix of 0 rows and 4 columns"):
        Jordan(3, 4, outputs=0, key=jax.random.key(0))
    assert LSTM(np.int64(3), np.int32(4), key=jax.random.key(0)).W.shape == (3, 16)


class Broken(Mine):
    def step(self, state, u):
        raise RuntimeError("not written yet")


def test_input_size_shows_the_only_exception():
    with pytest.raises(RuntimeError, match="not written yet"):
        input_size(Broken())


def test_input_size_of_other_cells():
    assert input_size(SLSTM()) == 3
    with pytest.raises(ValueError, match=r"none of the sizes of its parameters, \[4, 5, 6\]"):
        input_size(NoProjection(W=jnp.ones((6, 5))))


class OneOutput(Cell):
    W: jax.Array = eqx.field(default_factory=lambda: jnp.ones(3))

    def initial(self, batch):
        return jnp.zeros(batch, self.W.dtype)

    def inputs(self, x):
        return x @ self.W

    def step(self, state, u):
        return state + u, state + u


def test_input_size_of_a_cell_with_one_number_as_output():
    assert input_size(OneOutput()) == 3


class InPlace(Mine):
    """Asks its state for what only JAX's arrays have."""

    def step(self, state, u):
        return super().step(state.at[..., 0].multiply(0.5), u)


@jax.custom_jvp
def spike(v):
    return (v > 0).astype(v.dtype)


@spike.defjvp
def _(values, changes):
    ((v,), (change,)) = values, changes
    return spike(v), change / (1 + jnp.abs(v)) ** 2


class Spiking(Mine):
    def step(self, state, u):
        out = spike(state - 1)
        state = 0.9 * state + u + self.gain * (out @ self.R) - out
        return state, out


@jax.custom_vjp
def backwards_only(v):
    return (v > 0).astype(v.dtype)


backwards_only.defvjp(lambda v: (backwards_only(v), v), lambda v, slope: (slope / (1 + v**2),))


class BackwardsOnly(Mine):
    def step(self, state, u):
        h = 0.9 * state + u + self.gain * (backwards_only(state) @ self.R)
        return h, h


CALLS = []


class CountsCalls(Mine):
    """Another step from the sixth call on, after `step_is_pure` has called it three times."""

    def step(self, state, u):
        CALLS.append(1)
        return super().step(state, u if len(CALLS) < 6 else 2 * u)


def test_the_state_is_one_of_jax():
    assert check_cell(InPlace(), quick=True)


def test_a_surrogate_derivative_is_announced():
    assert "is wrong" in line(Spiking(), quick=True)
    passed = check_cell(Spiking(), surrogate=True)
    assert {*passed} == {check.__name__ for check in CHECKS} - {"derivative_is_right"}


def test_a_surrogate_for_reverse_mode_alone_is_told_to_be_one_for_both():
    assert "a custom_vjp has no forward mode" in line(BackwardsOnly(), surrogate=True)


def test_a_step_that_counts_its_calls_is_impure():
    CALLS.clear()
    assert "step is not pure: called again later" in line(CountsCalls())


def test_the_quick_level_has_everything_but_the_last_stage():
    passed = check_cell(Mine(), quick=True)
    assert passed == [check.__name__ for stage in STAGES[:-1] for check in stage]
    assert "derivative_is_right" in passed and "padding_changes_nothing" not in passed
