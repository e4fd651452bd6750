"""A network that reads both ways as the modules of `torch.nn` that it is, written as source."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..cells import Model
from ..errors import BadInput
from ..wiring.stepping import plain
from ..wiring.torch_weights import to_torch
from .torch import source


def modules(network: Model, about: str = "") -> tuple[str, dict[str, Any]]:
    """A network without a step as the source of a module, and its numbers by name.

    Args:
        network: a table of symbols, if it reads symbols, layers that `torch.nn` has, and a dense
            readout, if it has one.
        about: where the network is from, in a line.
    """
    encoding, cell, readout = plain(network).parts()
    if cell is None:
        raise BadInput(f"torch.nn has no module for {type(network).__name__}")
    try:
        body = to_torch(cell)
    except BadInput as error:
        reason = str(error).partition("; ")[0]
        raise BadInput(
            f"the network reads both ways, and {reason}; a GRU needs --reset after; --to onnx "
            "writes any of them"
        ) from None
    numbers = {f"cell.{key}": x.numpy() for key, x in body.state_dict().items()}
    lines, x, y = [f"self.cell = torch.nn.{body!r}"], "xs", "ys"
    width = body.hidden_size * (2 if body.bidirectional else 1)
    inputs, outputs, symbols = body.input_size, width, None
    if encoding is not None:
        inputs, symbols, x = 1, encoding.symbols, "self.table(xs)"
        table = np.asarray(encoding(jnp.arange(symbols), jnp.float32))
        numbers["table.weight"] = table
        lines.append(f"self.table = torch.nn.Embedding({table.shape[0]}, {table.shape[1]})")
    if readout is not None:
        V, b = _dense(readout, width)
        outputs, y = len(b), "self.readout(ys)"
        numbers |= {"readout.weight": V, "readout.bias": b}
        lines.append(f"self.readout = torch.nn.Linear({width}, {outputs})")
    words = {
        "SIZES": f"{inputs}, {outputs}, {symbols}",
        "MODULES": "\n        ".join(lines),
        "X": x,
        "Y": y,
    }
    return source(BODY, about, words), numbers


def _dense(readout: Any, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The weights of a readout, by what it makes of unit vectors; refuses what is not linear."""
    b = np.asarray(readout(jnp.zeros(width, jnp.float32)))
    V = np.asarray(readout(jnp.eye(width, dtype=jnp.float32))) - b
    h = np.random.default_rng(0).normal(size=width).astype(np.float32)
    if not np.allclose(h @ V + b, readout(jnp.asarray(h)), rtol=1e-4, atol=1e-5):
        raise BadInput(f"torch.nn has no readout like {type(readout).__name__}")
    return np.ascontiguousarray(V.T), b


BODY = '''\
    """`ys, state = net(xs)`, with time first and then batch; it reads both ways."""

    inputs, outputs, symbols = @SIZES@

    def __init__(self):
        super().__init__()
        @MODULES@

    def forward(self, xs, state=None):
        ys, state = self.cell(@X@, state)
        return @Y@, state
'''
