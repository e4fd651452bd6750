"""Recurrent cells, one equation per file.

`Cell` is the contract that all of them keep, `Layer` and `Model` those of what is made of them;
`initialisers` has the initial weights.
"""

from typing import TYPE_CHECKING

from .._lazy import Members, attach

if TYPE_CHECKING:
    from . import initialisers as initialisers
    from .cell import Cell as Cell
    from .cell import Layer as Layer
    from .cell import Model as Model
    from .delay import AdditiveDelay as AdditiveDelay
    from .delay import Delay as Delay
    from .elman import Elman as Elman
    from .feedforward import Feedforward as Feedforward
    from .gru import GRU as GRU
    from .hopfield import Hopfield as Hopfield
    from .jordan import Jordan as Jordan
    from .krause import MLSTM as MLSTM
    from .krause import KrauseLSTM as KrauseLSTM
    from .lstm import LSTM as LSTM
    from .lstm import PeepholeLSTM as PeepholeLSTM
    from .lstm1997 import LSTM1997 as LSTM1997
    from .multiplicative import MRNN as MRNN
    from .simple import Leaky as Leaky
    from .simple import Simple as Simple

__getattr__, __dir__, __all__ = attach(__name__, "CELLS")

# The cells by their names on the command line; call one as `CELLS[name](inputs, units, key=key)`.
CELLS = Members(
    __name__,
    {
        "simple": "simple:Simple",
        "elman": "elman:Elman",
        "jordan": "jordan:Jordan",
        "lstm": "lstm:LSTM",
        "peephole": "lstm:PeepholeLSTM",
        "lstm1997": "lstm1997:LSTM1997",
        "krause": "krause:KrauseLSTM",
        "mlstm": "krause:MLSTM",
        "mrnn": "multiplicative:MRNN",
        "gru": "gru:GRU",
        "leaky": "simple:Leaky",
        "delay": "delay:Delay",
        "additive-delay": "delay:AdditiveDelay",
        "hopfield": "hopfield:Hopfield",
        "feedforward": "feedforward:Feedforward",
    },
)
