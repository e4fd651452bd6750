"""What the parts of a network are called: words in place of paths.

.cell.layers[0].cell.forget gate   ->  layer 1, forget gate
.cell.R[1] of an LSTM              ->  forget gate
.cell.R of an LSTM                 ->  gates (R)
.cell.R of a simple cell           ->  units (R)
.cell.R[1] of an unknown cell      ->  R, block 2
"""

import re

from ..cells import Model
from ..names import plain_name
from ._squashed import cells_within


def weight_name(path: str, network: Model) -> str:
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
    names, number = cell.blocks.get(weight, ()), int(block or 0)
    if len(names) == 1:
        words = names[0]
    elif number < len(names):
        words = names[number] if block else f"gates ({weight})"
    else:
        return plain_name(path)
    where = plain_name(owner)
    return f"{where}, {words}" if where else words
