"""Weights from `torch.nn.RNN`, `torch.nn.LSTM` and `torch.nn.GRU`, and back."""

import functools
import itertools
import re
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Cell, Layer
from ..cells.operator import BLOCKS, Operator
from ..errors import BadInput, needing
from .operators import network_of, operators_of
from .stack import Bidirectional

_NAME = re.compile(r"(weight|bias)_(?:ih|hh)_l(0|[1-9][0-9]*)(_reverse)?")
# Torch's blocks in the order of `Operator`; the exchange of two is its own inverse.
_ORDER = {"rnn": (0,), "lstm": (0, 1, 2, 3), "gru": (1, 0, 2)}


def from_torch(
    weights: Any, kind: str | None = None, *, f: str | None = None
) -> Cell | Bidirectional:
    """The network of a `torch.nn.RNN`, `nn.LSTM` or `nn.GRU`, or of its state dict.

    With `A, B, p, q` for `weight_ih, weight_hh, bias_ih, bias_hh` of one layer and direction,
    whose rows torch keeps in the order i, f, g, o (LSTM) and r, z, n (GRU):

    - `Simple` and `LSTM`: `W = Aᵀ`, `R = Bᵀ`, `b = p + q`;
    - `GRU` with `reset="after"`: `W = [-A_z, A_r, A_n]ᵀ`, `R = [-B_z, B_r]ᵀ`, `U = B_nᵀ`,
      `b = [-(p_z + q_z), p_r + q_r, p_n]`, `d = q_n`. The signs change because torch calls
      `1 - z` what is called z here, and `1 - σ(v) = σ(-v)`.

    A network without biases (`bias=False`) gets biases of zero. The weights keep their dtype
    (float64 needs JAX's x64 mode). The map is linear and may be differentiated: gradients with
    respect to `weights` have torch's names and shapes.

    Time comes first here whatever `batch_first` says, and dropout is left out. `proj_size` is not
    supported.

    Args:
        weights: a module of torch, or arrays by torch's names: `weight_ih_l0`
            `(blocks * units, inputs)`, `weight_hh_l0` `(blocks * units, units)`, `bias_ih_l0` and
            `bias_hh_l0` `(blocks * units,)`; `_l1` and so on for further layers, whose inputs are
            the outputs of the layer below; with `_reverse` at the end for the backward direction.
            There are 1, 4 or 3 blocks, by `kind`.
        kind: `"rnn"`, `"lstm"` or `"gru"`; a module says so itself.
        f: the nonlinearity of an `"rnn"`: `"tanh"`, unless the module says otherwise, or `"relu"`.

    Returns:
        A cell for one layer, `Bidirectional` for one layer of two directions, a `Stack` of them
        for several layers. The leaves of the state are ordered as in torch's `h_n`, by layer and
        then by direction, with h and c of an LSTM next to each other.

    Example:
        >>> theirs = torch.nn.LSTM(3, 16, num_layers=2, bidirectional=True)
        >>> ys, states = ostinato.unroll(from_torch(theirs), xs)
    """
    if hasattr(weights, "state_dict"):
        weights, kind, f = _of_module(weights, kind, f)
    f = f or "tanh"
    if kind not in BLOCKS:
        raise BadInput(f"kind must be 'rnn', 'lstm' or 'gru', got {kind!r}")
    if f != "tanh" and (kind, f) != ("rnn", "relu"):
        allowed = "'tanh' or 'relu'" if kind == "rnn" else "'tanh'"
        raise BadInput(f"f must be {allowed} for kind {kind!r}, got {f!r}")
    layers, ends = _names(weights)
    arrays = {name: jnp.array(value) for name, value in weights.items()}
    _check(arrays, kind, len(ends))
    return network_of(
        [[_operator(arrays, f"l{layer}{end}", kind, f) for end in ends] for layer in range(layers)]
    )


def _of_module(module: Any, kind: str | None, f: str | None) -> tuple[dict[str, Any], str, str]:
    """State dict, kind and nonlinearity of a module of torch, which need not be installed."""
    own, _, slope = str(getattr(module, "mode", "")).lower().partition("_")
    if own not in BLOCKS:
        name = type(module).__name__
        raise BadInput(f"expected a torch.nn.RNN, nn.LSTM or nn.GRU, got {name}")
    if kind not in (None, own) or f not in (None, slope or "tanh"):
        raise BadInput(f"a module knows its kind, {module.mode}; got kind={kind!r} and f={f!r}")
    weights = {name: value.detach().cpu().numpy() for name, value in module.state_dict().items()}
    return weights, own, slope or "tanh"


def _operator(arrays: dict[str, jax.Array], where: str, kind: str, f: str) -> Operator:
    """One layer in one direction."""
    A, B = arrays[f"weight_ih_{where}"], arrays[f"weight_hh_{where}"]
    p, q = (arrays.get(f"bias_{of}_{where}", np.zeros(len(A), A.dtype)) for of in ("ih", "hh"))
    W, R, b, d = _in_order((A, B, p, q), _ORDER[kind])
    return Operator(kind, W, R, b, d, f=f)


@functools.partial(jax.jit, static_argnums=1)
def _in_order(rows: tuple[Any, ...], order: tuple[int, ...]) -> tuple[jax.Array, ...]:
    """Blocks of rows one behind the other in another order, and transposed if they are matrices."""
    blocks = (jnp.stack([jnp.split(x, len(order))[n] for n in order]) for x in rows)
    return tuple(x.swapaxes(1, -1) if x.ndim == 3 else x for x in blocks)


def to_torch(network: Layer) -> Any:
    """The `torch.nn.RNN`, `nn.LSTM` or `nn.GRU` of a network: the inverse of `from_torch`.

    Args:
        network: a cell, `Bidirectional` or a `Stack` of them, all layers of one kind and size:
            `Simple` with `tanh` or `relu`, `LSTM`, or `GRU` with `reset="after"`.

    Returns:
        A module of torch with the same weights; time comes first, as here.

    Example:
        >>> theirs = to_torch(ostinato.cells.LSTM(3, 16, key=jax.random.key(0)))
        >>> theirs
        LSTM(3, 16)
    """
    rows = operators_of(network)
    if rows is None:
        raise BadInput(
            f"torch.nn has no module for {type(network).__name__}; give the cell of a network, or "
            "write any step as source: ostinato export --to torch"
        )
    first = rows[0][0]
    layout = {(len(row), one.kind, one.units, one.f) for row in rows for one in row}
    others = {one.reset for row in rows for one in row if one.kind == "gru"} - {"after"}
    peeps = any(one.p is not None for row in rows for one in row)
    if len(layout) > 1 or others or peeps or first.f not in ("tanh", "relu"):
        what = "peepholes" if peeps else "GRU that resets before the product" if others else None
        what = what or ("layers that differ" if len(layout) > 1 else f"the function {first.f}")
        raise BadInput(f"torch.nn has no {what}; write it as source: ostinato export --to torch")
    with needing("to_torch", "torch", "torch"):
        import torch
    options = {"nonlinearity": first.f} if first.kind == "rnn" else {}
    both = len(rows[0]) == 2
    module = getattr(torch.nn, first.kind.upper())(
        first.W.shape[1], first.units, len(rows), bidirectional=both, **options
    )
    order = _ORDER[first.kind]
    weights = {}
    for layer, row in enumerate(rows):
        for one, end in zip(row, ("", "_reverse"), strict=False):
            parts = {
                "weight_ih": one.W.swapaxes(1, 2),
                "weight_hh": one.R.swapaxes(1, 2),
                "bias_ih": one.b,
                "bias_hh": one.d,
            }
            for name, blocks in parts.items():
                array = np.concatenate([np.asarray(blocks[n]) for n in order])
                weights[f"{name}_l{layer}{end}"] = torch.tensor(array)
    module.to(weights["weight_ih_l0"].dtype).load_state_dict(weights)
    return module


def _names(weights: Mapping[str, Any]) -> tuple[int, list[str]]:
    """The number of layers and how the names of each direction end, if no name is missing."""
    parts = []
    for name in weights:
        if name.startswith("weight_hr_"):
            raise BadInput(f"proj_size is not supported: expected no weight_hr, got {name!r}")
        match = _NAME.fullmatch(name)
        if match is None:
            raise BadInput(f"expected names like 'weight_ih_l0' or 'bias_hh_l1', got {name!r}")
        parts.append(match.groups())
    layers = 1 + max((int(layer) for _, layer, _ in parts), default=0)
    ends = ["", "_reverse"] if any(end for *_, end in parts) else [""]
    sorts = ["weight", "bias"] if any(sort == "bias" for sort, *_ in parts) else ["weight"]
    for layer, end, sort, of in itertools.product(range(layers), ends, sorts, ["ih", "hh"]):
        if (name := f"{sort}_{of}_l{layer}{end}") not in weights:
            raise BadInput(f"expected weights with {name!r}, got {', '.join(weights) or 'none'}")
    return layers, ends


def _check(arrays: dict[str, jax.Array], kind: str, directions: int) -> None:
    """Refuse shapes and dtypes that do not fit those of the first layer."""
    first, recurrent = arrays["weight_ih_l0"], arrays["weight_hh_l0"]
    inputs, units = (x.shape[-1] if x.ndim else 0 for x in (first, recurrent))
    rows = BLOCKS[kind] * units
    for name, array in arrays.items():
        below = inputs if name.startswith("weight_ih_l0") else directions * units
        columns = units if name.startswith("weight_hh") else below
        shape = (rows,) if name.startswith("bias") else (rows, columns)
        if array.shape != shape:
            raise BadInput(f"expected {name} of shape {shape} for {kind!r}, got {array.shape}")
        if array.dtype != first.dtype or not jnp.issubdtype(array.dtype, jnp.floating):
            raise BadInput(
                f"expected weights of one floating-point dtype, got {first.dtype} for "
                f"weight_ih_l0 and {array.dtype} for {name}"
            )
