"""How long a bracket is remembered, on networks for which it is known."""

import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import Cell
from ostinato.data import Vocabulary
from ostinato.errors import BadInput
from ostinato.experiments.time_lag import Ratios, bracket_ratios

VOCABULARY = Vocabulary.of_text("[]Thabc ")


class Clock(Cell):
    """Gives ']' a log-odds of 2 for `limit` steps after the last '[', and of 0 otherwise."""

    limit: int
    outputs: int = len(VOCABULARY)
    scale: float = 2.0

    @property
    def input_axes(self):
        return 0

    def initial(self, batch):
        return jnp.full(batch, 10_000)

    def inputs(self, x):
        return x

    def step(self, state, u):
        opening, closing = (int(VOCABULARY.encode(c)[0]) for c in "[]")
        state = jnp.where(u == opening, 0, state + 1)
        logits = jnp.zeros((*state.shape, self.outputs))
        return state, logits.at[..., closing].set(jnp.where(state < self.limit, self.scale, 0.0))


def test_a_network_that_counts_remembers_as_long_as_it_counts():
    found = bracket_ratios(Clock(limit=60), VOCABULARY, steps=100, trials=3)
    assert found.context.shape == found.control.shape == (3, 10)
    np.testing.assert_allclose(found.context[:, :6], 2 / np.log(10), rtol=1e-6)
    np.testing.assert_allclose(found.control, 0, atol=1e-12)
    assert found.remembered() == 60


def test_a_network_that_never_forgets_remembers_all_steps():
    assert bracket_ratios(Clock(limit=1000), VOCABULARY, steps=50, trials=2).remembered() == 50


def test_a_network_without_memory_remembers_nothing():
    assert bracket_ratios(Clock(limit=0), VOCABULARY, steps=50, trials=2).remembered() == 0


def test_a_difference_within_its_error_is_not_memory():
    random = np.random.default_rng(0).normal(size=(2, 10, 20))
    assert Ratios(random[0] + 5, random[1], 10).remembered() == 200
    assert Ratios(random[0], random[1], 10).remembered() < 100


def test_only_letters_and_spaces_are_written():
    """A written '[' would start the clock anew, and the ratio would never fall."""
    found = bracket_ratios(Clock(limit=10, scale=50.0), VOCABULARY, steps=50, trials=4, seed=1)
    assert found.remembered() == 10


def test_a_text_without_brackets_is_refused():
    with pytest.raises(BadInput, match=r"the text has no '\['"):
        bracket_ratios(Clock(limit=1), Vocabulary.of_text("Th"), steps=10)
