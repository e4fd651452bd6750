"""`check_cell` compares what a cell says about its equations with its step."""

from typing import ClassVar

import jax
import pytest

from ostinato.cells import GRU, LSTM, LSTM1997, Simple
from ostinato.testing import Case, CellError
from ostinato.testing.claims import (
    memory_rules_are_the_step,
    operators_are_the_layer,
    simple_is_the_step,
)
from ostinato.wiring import Bidirectional, Stack

KEY = jax.random.key(0)
CLAIMS = (operators_are_the_layer, memory_rules_are_the_step, simple_is_the_step)


class Doubled(LSTM):
    memory_cell: ClassVar[bool] = True

    def inputs(self, x):
        return super().inputs(2 * x)

    def operators(self):
        return LSTM.operators(self)


class Late(LSTM):
    def initial(self, batch):
        return jax.tree.map(lambda x: x + 1, super().initial(batch))

    def operators(self):
        return LSTM.operators(self)


class Half(Simple):
    is_simple: ClassVar[bool] = True

    def step(self, state, u):
        h, y = super().step(0.5 * state, u)
        return h, y


WRONG = [
    (Doubled, operators_are_the_layer, "operators: other libraries"),
    (Doubled, memory_rules_are_the_step, "memory_cell: step and inputs are not"),
    (Late, operators_are_the_layer, "operators: other libraries"),
    (Half, simple_is_the_step, "is_simple: the next state is not"),
]


@pytest.mark.parametrize("kind, check, words", WRONG)
def test_a_wrong_claim_is_named(kind, check, words):
    with jax.enable_x64(True), pytest.raises(CellError, match=words):
        check(Case(kind(3, 4, key=KEY)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: LSTM1997(3, 4, key=KEY, variant="lipton"),
        lambda: Simple(3, 4, key=KEY, f="relu"),
        lambda: Stack([LSTM(3, 4, key=KEY), GRU(4, 4, key=KEY, reset="after")]),
        lambda: Bidirectional(GRU(3, 4, key=KEY), GRU(3, 4, key=KEY)),
    ],
)
def test_right_claims_pass(make):
    with jax.enable_x64(True):
        for check in CLAIMS:
            check(Case(make(), 3))
