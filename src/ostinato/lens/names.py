"""What the parts of a network are called: words in place of paths.

.cell.layers[0].cell.forget gate   ->  layer 1, forget gate
.cell.R[1] of an LSTM              ->  forget gate
.cell.R of an LSTM                 ->  gates (R)
.cell.R of a simple cell           ->  units (R)
.cell.R[1] of an unknown cell      ->  R, block 2
"""

import re
from typing import Any

from ..cells import GRU, LSTM, LSTM1997, MLSTM, MRNN, KrauseLSTM, Leaky, PeepholeLSTM, Simple
from ..names import plain_name
from ..wiring import NeuralTuringMachine
from ._squashed import cells_within

_FOUR = ("input gate", "forget gate", "block input", "output gate")
# The blocks that stand side by side in R; those of a GRU are two or three, by its `reset`.
_BLOCKS: dict[type, tuple[str, ...]] = {
    LSTM: _FOUR,
    PeepholeLSTM: _FOUR,
    KrauseLSTM: _FOUR,
    MLSTM: _FOUR,
    LSTM1997: ("input gate", "block input", "output gate"),
    GRU: ("update gate", "reset gate", "candidate"),
}
_WEIGHTS: dict[tuple[type, str], str] = {
    (Simple, "R"): "units (R)",
    (Leaky, "R"): "units (R)",
    (MRNN, "R"): "units (R)",
    (LSTM, "W"): "gates (W)",
    (NeuralTuringMachine, "P"): "heads (P)",
    (GRU, "U"): "candidate (U)",
    (MLSTM, "Rm"): "factor m (Rm)",
    (MRNN, "Rm"): "factor m (Rm)",
}


def weight_name(path: str, network: Any) -> str:
    """What a recurrent weight of a network, or a block of one, acts on.

    Args:
        path: as in `recurrent_matrices`.
        network: the network in which it is.

    Example:
        >>> weight_name(".cell.R[1]", network), weight_name(".cell.R", network)
        ('forget gate', 'gates (R)')
    """
    cells = cells_within(network)
    # The innermost cell, since a sparse weight is a module with arrays of its own: `.R.blocks`.
    owner = max((one for one in cells if path.startswith(f"{one}.")), key=len, default=None)
    parts = owner is not None and re.match(r"\.(\w+)(?:\[(\d+)\])?", path[len(owner) :])
    if owner is None or not parts:
        return plain_name(path)
    cell, (weight, block) = cells[owner], parts.groups()
    known = _BLOCKS.get(type(cell), ()) if weight == "R" else ()
    named = [kind for kind in type(cell).__mro__ if (kind, weight) in _WEIGHTS]
    if known:
        words = known[int(block)] if block else "gates (R)"
    elif named:
        words = _WEIGHTS[named[0], weight]
    else:
        return plain_name(path)
    where = plain_name(owner)
    return f"{where}, {words}" if where else words
