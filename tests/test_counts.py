"""Parameter counts that the documents publish, to the last parameter.

The networks are built as shapes only, so that even the largest costs no memory.
"""

import equinox as eqx
import jax
import pytest

from ostinato import Network, Readout, count_parameters
from ostinato.cells import LSTM, MLSTM, MRNN, KrauseLSTM, Simple
from ostinato.wiring import Embedding, OneHot, Stack, Zoneout

KEY = jax.random.key(0)


def characters(symbols, make, units):
    """A network of document 004: symbols as unit vectors, and a readout without bias."""

    def build(key):
        cell = make(symbols, units, key=key)
        return Network(cell, Readout(units, symbols, key=key, bias=False), OneHot(symbols))

    return build


def stacked(key):
    """The stack of document 004 (4.4-4.6): only the input is a factor."""
    cell = Stack.of(MRNN, 70, [150, 130, 110], key=key, skip=True, factor_inputs=70)
    return Network(cell, Readout(390, 70, key=key, bias=False), OneHot(70))


def text(make, units):
    """A network of document 001, section 5: 98 symbols, learned vectors of 256."""

    def build(key):
        cell = make(256, units, key=key)
        return Network(cell, Readout(units, 98, key=key), Embedding(98, 256, key=key))

    return build


PUBLISHED = {
    # Document 004, table 4.5
    "004 RNN, structural damping": (characters(70, Simple, 400), 216_400),
    "004 RNN, line-search damping": (characters(70, Simple, 400), 216_400),
    "004 mRNN, structural damping": (characters(70, MRNN, 280), 215_880),
    "004 mRNN, line-search damping": (characters(70, MRNN, 280), 215_880),
    "004 LSTM, online": (characters(70, KrauseLSTM, 195), 220_350),
    "004 LSTM, Hessian-free": (characters(70, KrauseLSTM, 195), 220_350),
    "004 stacked mRNN": (stacked, 219_090),
    "004 mLSTM": (characters(70, MLSTM, 170), 215_900),
    # Document 004, the larger experiments
    "004 mLSTM 300": (characters(85, MLSTM, 300), 603_000),
    "004 mLSTM 800": (characters(85, MLSTM, 800), 3_608_000),
    "004 mLSTM 2000": (characters(99, MLSTM, 2000), 21_188_000),
    # Document 001, section 5
    "001 RNN 2048": (text(Simple, 2048), 4_946_530),
    "001 LSTM 2048": (text(LSTM, 2048), 19_108_450),
    "001 RNN 1024": (text(Simple, 1024), 1_437_282),
    "001 LSTM 1024": (text(LSTM, 1024), 5_372_514),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_network_has_the_published_number_of_parameters(name):
    build, count = PUBLISHED[name]
    assert count_parameters(eqx.filter_eval_shape(build, KEY)) == count


def test_arrays_count_like_their_shapes_and_a_seed_does_not_count():
    cell = LSTM(3, 4, key=KEY)
    assert count_parameters(cell) == 4 * (3 * 4 + 4 * 4 + 4)
    assert count_parameters(Zoneout(cell, 0.1, key=KEY)) == count_parameters(cell)
