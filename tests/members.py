"""Every cell and wiring, for the conformance suite: what is listed here is tested."""

import equinox as eqx
import jax
from jax.random import key

from ostinato.cells import (
    GRU,
    LSTM,
    LSTM1997,
    MLSTM,
    MRNN,
    AdditiveDelay,
    Delay,
    Elman,
    Feedforward,
    Hopfield,
    Jordan,
    KrauseLSTM,
    Leaky,
    PeepholeLSTM,
    Simple,
)
from ostinato.reservoir import Expansion, Liquid, Reservoir
from ostinato.testing import Case
from ostinato.wiring import (
    Bidirectional,
    Changes,
    Dropout,
    Embedding,
    GatedFeedback,
    LayerNorm,
    Network,
    NeuralTuringMachine,
    OneHot,
    Pool,
    Readout,
    Stack,
    WeightNoise,
    WordEmbedding,
    Zoneout,
)
from ostinato.wiring.pool import POOLS

ONE, TWO, THREE = jax.random.split(key(7), 3)


def hopfield(bits):
    """A Hopfield network with random weights; it starts with weights of zero."""
    cell = Hopfield(bits, bits, key=ONE)
    return eqx.tree_at(lambda cell: cell.R, cell, jax.random.normal(ONE, cell.R.shape))


CELLS = {
    "feedforward": lambda: Case(Feedforward(3, 4, key=ONE)),
    "simple tanh": lambda: Case(Simple(3, 4, key=ONE)),
    "simple sigmoid": lambda: Case(Simple(3, 4, key=ONE, f="sigmoid")),
    "simple relu": lambda: Case(Simple(3, 4, key=ONE, f="relu")),
    "simple identity": lambda: Case(Simple(3, 4, key=ONE, f="identity")),
    "simple step": lambda: Case(Simple(3, 4, key=ONE, f="step")),
    "elman": lambda: Case(Elman(3, 4, key=ONE)),
    "elman, full context": lambda: Case(Elman(3, 4, key=ONE, context="full")),
    "jordan": lambda: Case(Jordan(3, 4, key=ONE, outputs=2)),
    "lstm": lambda: Case(LSTM(3, 4, key=ONE)),
    "peephole lstm": lambda: Case(PeepholeLSTM(3, 4, key=ONE)),
    "lstm 1997": lambda: Case(LSTM1997(3, 4, key=ONE)),
    "lstm 1997, krause": lambda: Case(LSTM1997(3, 4, key=ONE, variant="krause")),
    "krause lstm": lambda: Case(KrauseLSTM(3, 4, key=ONE)),
    "mlstm": lambda: Case(MLSTM(3, 4, key=ONE)),
    "mrnn": lambda: Case(MRNN(3, 4, key=ONE, factor_inputs=2)),
    "gru": lambda: Case(GRU(3, 4, key=ONE)),
    "gru, reset after": lambda: Case(GRU(3, 4, key=ONE, reset="after")),
    "leaky": lambda: Case(Leaky(3, 4, key=ONE)),
    "additive delay": lambda: Case(
        AdditiveDelay(
            3, 4, key=ONE, state_delays=(0, 2), output_delays=(1, 3), input_delays=(0, 1), dt=0.5
        )
    ),
    "additive delay, nonlinear": lambda: Case(
        AdditiveDelay(3, 4, key=ONE, dt=0.5, state_function="tanh", output_function="sigmoid")
    ),
    "reservoir": lambda: Case(Reservoir(3, 7, key=ONE, connectivity=0.5, leak=0.3)),
    "reservoir, mixed leaks": lambda: Case(Reservoir(3, 7, key=ONE, leak=0.9, slowest=0.1)),
    "liquid": lambda: Case(Liquid(3, 7, key=ONE, connectivity=0.5)),
    "delay": lambda: Case(Delay(3, 4, key=ONE, delay=2, dt=0.5)),
    "hopfield": lambda: Case(hopfield(4)),
}

WIRINGS = {
    "stack": lambda: Case(Stack([LSTM(3, 4, key=ONE), GRU(4, 2, key=TWO)])),
    "stack, skip": lambda: Case(Stack.of(MRNN, 3, [4, 2], key=ONE, skip=True), 3),
    "all summaries": lambda: Case(Stack([Simple(3, 2, key=ONE), Pool(2, POOLS)])),
    "changes": lambda: Case(Stack([Changes([0.5, 1.0, 2.0]), Simple(6, 2, key=ONE)])),
    "mean over time": lambda: Case(Stack([Simple(3, 2, key=ONE), Pool(2)])),
    "expansion, quadratic": lambda: Case(Expansion(Reservoir(3, 4, key=ONE))),
    "expansion, fourier": lambda: Case(Expansion(Simple(3, 4, key=ONE), "fourier", key=TWO)),
    "bidirectional": lambda: Case(Bidirectional(LSTM(3, 4, key=ONE), Simple(3, 2, key=TWO)), 3),
    "stack of bidirectional": lambda: Case(
        Stack([Bidirectional(GRU(3, 2, key=ONE), GRU(3, 2, key=TWO)), LSTM(4, 2, key=THREE)]), 3
    ),
    "gated feedback, tanh": lambda: Case(GatedFeedback.of(Simple, 3, [4, 2], key=ONE), 3),
    "gated feedback, lstm": lambda: Case(GatedFeedback.of(LSTM, 3, [4, 2], key=ONE), 3),
    "gated feedback, gru": lambda: Case(GatedFeedback.of(GRU, 3, [4, 2], key=ONE), 3),
    "zoneout": lambda: Case(Zoneout(LSTM(3, 4, key=ONE), 0.3, key=TWO), noisy=True),
    "zoneout, inference": lambda: Case(Zoneout(LSTM(3, 4, key=ONE), 0.3, key=TWO, inference=True)),
    "dropout": lambda: Case(Dropout(GRU(3, 4, key=ONE), 0.3, recurrent=0.3, key=TWO), noisy=True),
    "weight noise": lambda: Case(WeightNoise(GRU(3, 4, key=ONE), 0.1, key=TWO)),
    "layer norm": lambda: Case(LayerNorm(LSTM(3, 4, key=ONE))),
    "layer norm, mlstm": lambda: Case(LayerNorm(MLSTM(3, 4, key=ONE))),
    "neural turing machine": lambda: Case(
        NeuralTuringMachine.of(LSTM, 3, 3, rows=4, columns=2, key=ONE)
    ),
    "neural turing machine, feedforward, two heads": lambda: Case(
        NeuralTuringMachine.of(Feedforward, 3, 4, rows=5, columns=2, heads=2, shift=2, key=ONE)
    ),
    "network, raw": lambda: Case(Network(LSTM(3, 4, key=ONE), Readout(4, 2, key=TWO)), 3),
    "network, one-hot": lambda: Case(
        Network(MLSTM(5, 4, key=ONE), Readout(4, 5, key=TWO, bias=False), OneHot(5)), 5
    ),
    "network, jordan": lambda: Case(Network(Jordan(5, 4, key=ONE, outputs=5), None, OneHot(5)), 5),
    "network, embedding": lambda: Case(
        Network(
            Stack.of(LSTM, 3, [4, 4], key=ONE),
            Readout(4, 5, key=TWO),
            Embedding(5, 3, key=THREE),
        ),
        5,
    ),
    "network, words": lambda: Case(
        Network(
            GRU(6, 4, key=ONE),
            Readout(4, 5, key=TWO),
            WordEmbedding(8, [(1, 3, 0), (5, 3, 0)], 2, key=THREE),
        ),
        8,
    ),
}
