"""Recurrent cells, one equation per file.

`Cell` is the interface that all of them implement; `initialisers` has the initial weights.
"""

from . import initialisers as initialisers
from ._activations import activation as activation
from ._activations import slope as slope
from ._cell import Cell as Cell
from .additive_delay import AdditiveDelay as AdditiveDelay
from .delay import Delay as Delay
from .elman import Elman as Elman
from .feedforward import Feedforward as Feedforward
from .gru import GRU as GRU
from .hopfield import Hopfield as Hopfield
from .jordan import Jordan as Jordan
from .krause import MLSTM as MLSTM
from .krause import KrauseLSTM as KrauseLSTM
from .leaky import Leaky as Leaky
from .lstm import LSTM as LSTM
from .lstm import PeepholeLSTM as PeepholeLSTM
from .lstm1997 import LSTM1997 as LSTM1997
from .multiplicative import MRNN as MRNN
from .simple import Simple as Simple

# The cells by their names on the command line; call one as `CELLS[name](inputs, units, key=key)`.
CELLS: dict[str, type[Cell]] = {
    "simple": Simple,
    "elman": Elman,
    "jordan": Jordan,
    "lstm": LSTM,
    "peephole": PeepholeLSTM,
    "lstm1997": LSTM1997,
    "krause": KrauseLSTM,
    "mlstm": MLSTM,
    "mrnn": MRNN,
    "gru": GRU,
    "leaky": Leaky,
    "delay": Delay,
    "additive-delay": AdditiveDelay,
    "hopfield": Hopfield,
    "feedforward": Feedforward,
}
