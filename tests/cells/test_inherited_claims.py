"""What a class says about its equations holds for a subclass only with the same equations."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ostinato
from ostinato.cells import GRU, LSTM, LSTM1997, PeepholeLSTM, Simple
from ostinato.cells.initialisers import normal
from ostinato.cells.operator import Operator
from ostinato.errors import BadInput
from ostinato.through_time import bptt, online1997
from ostinato.wiring import Bidirectional, Dropout, Network, OneHot, Readout, Stack

KEY = jax.random.key(0)
XS = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


class OwnInputs(LSTM):
    def inputs(self, x):
        return super().inputs(2 * x)


class OwnInitial(LSTM):
    def initial(self, batch):
        h, c = super().initial(batch)
        return h + 1, c


class OwnStep(LSTM):
    def step(self, state, u):
        state, y = super().step(state, u)
        return state, 2 * y


class Decay:
    def step(self, state, u):
        (h, c), y = super().step(state, u)
        return (h, 0.5 * c), y


class Mixed(Decay, LSTM):
    pass


class Grandchild(OwnInputs):
    pass


class Same(LSTM):
    """Another name, another field, another constructor; the equations of an LSTM."""

    note: str = eqx.field(static=True, default="")

    def __init__(self, inputs, units, *, key, **options):
        super().__init__(inputs, units, key=key, **options)
        self.note = "mine"


class ClaimsAgain(OwnInputs):
    def operators(self):
        ((plain,),) = LSTM.operators(self)
        return [[plain._replace(W=2 * plain.W)]]


class Operators:
    """A mixin that says what the class is that it becomes part of."""

    def operators(self):
        return LSTM.operators(self)


class ByMixin(Operators, OwnInputs):
    pass


class BelowMixin(ByMixin):
    def initial(self, batch):
        return OwnInitial.initial(self, batch)


@pytest.mark.parametrize("kind", [OwnInputs, OwnInitial, OwnStep, Mixed, Grandchild, BelowMixin])
def test_changed_equations_are_no_operator(kind):
    cell = kind(3, 4, key=KEY)
    assert cell.operators() is None
    assert Stack([LSTM(3, 3, key=KEY), cell]).operators() is None
    assert Bidirectional(cell, LSTM(3, 4, key=KEY)).operators() is None
    assert Dropout(cell, 0.1, key=KEY, inference=True).operators() is None


@pytest.mark.parametrize("kind", [LSTM, Same, ClaimsAgain, ByMixin])
def test_the_same_equations_or_a_claim_of_its_own_are(kind):
    ((operator,),) = kind(3, 4, key=KEY).operators()
    assert isinstance(operator, Operator) and operator.kind == "lstm"


@pytest.mark.parametrize("kind", [OwnInputs, OwnInitial, OwnStep, Mixed, Grandchild])
def test_changed_equations_have_no_memory_rules(kind):
    assert LSTM.memory_cell and Same.memory_cell and not kind.memory_cell
    cell = Network(kind(3, 4, key=KEY), Readout(4, 1, key=KEY))
    with pytest.raises(BadInput, match=f"online1997 needs one of .*, got {kind.__name__}"):
        online1997(cell, squares, XS[:, None], np.zeros((5, 1, 1), np.float32))


def squares(y, target):
    return jnp.sum((y - target) ** 2)


class Gates(LSTM1997):
    """Changes what the step and the rules of its base class call."""

    def _gates(self, a):
        i, g, o = super()._gates(a)
        return [i, 2 * g, o]


def test_what_a_step_calls_counts_too():
    assert not Gates.memory_cell
    assert Gates(3, 4, key=KEY).named_gates() == {}


class WithSpare(LSTM1997):
    spare: jax.Array

    def __init__(self, inputs, units, *, key):
        super().__init__(inputs, units, key=key, truncated=True)
        self.spare = jnp.ones(4)


def test_online1997_gives_no_gradient_to_what_nothing_reads():
    cell, targets = WithSpare(3, 4, key=KEY), np.zeros((5, 1, 4), np.float32)
    ours, theirs = (method(cell, squares, XS[:, None], targets)[1] for method in (online1997, bptt))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), ours, theirs)
    assert not np.any(ours.spare)


class OtherInputsOnly(Simple):
    def inputs(self, x):
        return super().inputs(x**2)


class OtherStep(Simple):
    def step(self, state, u):
        h, y = super().step(0.5 * state, u)
        return h, y


def test_bounds_of_simple_cells_rest_on_the_step_alone():
    assert OtherInputsOnly.is_simple and not OtherStep.is_simple


def test_names_rest_on_the_step_alone():
    assert OwnInputs.gates == LSTM.gates and OwnInputs.blocks == LSTM.blocks
    assert not OwnStep.gates and not Mixed.gates
    assert OwnStep.blocks == {"W": ("gates (W)",)}
    assert PeepholeLSTM.gates and GRU.gates


class ScaledStack(Stack):
    def step(self, state, u):
        state, y = super().step(state, u)
        return state, 3 * y


class ScaledStart(Stack):
    def initial(self, batch):
        return jax.tree.map(lambda x: x + 1, super().initial(batch))


class ScaledRead(Network):
    def _read(self, h):
        return 3 * super()._read(h)


class SharedStart(Bidirectional):
    def initial(self, batch):
        return jax.tree.map(lambda x: x + 1, super().initial(batch))


class Summed(Bidirectional):
    def over_time(self, run, xs, state):
        ys, state = super().over_time(run, xs, state)
        return ys[..., :4] + ys[..., 4:], state


def layers():
    return [LSTM(3, 4, key=KEY), LSTM(4, 4, key=KEY)]


def test_a_stack_with_its_own_step_is_unrolled_by_that_step():
    plain, _ = ostinato.unroll(Stack(layers()), XS)
    scaled, _ = ostinato.unroll(ScaledStack(layers()), XS)
    np.testing.assert_allclose(scaled, 3 * plain, rtol=1e-5)


def test_a_layer_without_a_step_begins_with_its_own_initial():
    both = [LSTM(3, 4, key=KEY), LSTM(3, 4, key=KEY)]
    layer = SharedStart(*both)
    given, _ = ostinato.unroll(Bidirectional(*both), XS, layer.initial(()))
    np.testing.assert_allclose(ostinato.unroll(layer, XS)[0], given, rtol=1e-5)


@pytest.mark.parametrize("kind", [ScaledStack, ScaledStart])
def test_a_stack_of_other_equations_keeps_its_class_in_a_network_of_symbols(kind):
    """For long sequences the projected inputs of symbols are looked up, within the stack."""
    symbols = np.array([0, 1, 2, 2, 1, 0])
    network = Network(kind(layers()), None, OneHot(3))
    vectors, _ = ostinato.unroll(kind(layers()), np.eye(3, dtype=np.float32)[symbols])
    np.testing.assert_allclose(ostinato.unroll(network, symbols)[0], vectors, rtol=1e-5)


def test_wirings_of_other_equations_are_no_operators_and_have_no_parts():
    assert ScaledStart(layers()).operators() is None
    both = [LSTM(3, 4, key=KEY), LSTM(3, 4, key=KEY)]
    assert SharedStart(*both).operators() is None and Summed(*both).operators() is None
    network = ScaledRead(LSTM(3, 4, key=KEY), Readout(4, 1, key=KEY))
    assert network.parts().cell is network and network.parts().readout is None


class NoInputOption(LSTM):
    def __init__(self, inputs, units, *, key):
        super().__init__(inputs, units, key=key)


class OwnInputOption(LSTM):
    def __init__(self, inputs, units, *, key, input=normal(0.1)):
        super().__init__(inputs, units, key=key, input=input)


def test_a_constructor_says_itself_how_input_weights_start():
    assert Same.fan_in_input and PeepholeLSTM.fan_in_input
    assert not NoInputOption.fan_in_input and not OwnInputOption.fan_in_input


class Product(LSTM):
    """Reads half as many numbers as `W` has rows."""

    def inputs(self, x):
        return super().inputs(jnp.concatenate([x, x**2], axis=-1))


def test_rows_of_a_weight_are_no_input_size_where_inputs_makes_more():
    cell = Product(6, 4, key=KEY)
    with pytest.raises(BadInput, match="Product does not say how many numbers"):
        ostinato.export.trace(cell)
    assert ostinato.export.trace(cell, 3).inputs == 3
