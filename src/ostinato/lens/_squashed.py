"""What a step squashes: every tanh, σ and ReLU within it, whose it is, and what it is called.

A cell need not mark anything. Its step is traced and taken apart, and in what it computes anew at
each step all squashing functions are found:

    the function          -> an equation `tanh` or `logistic`, a `max` with zero, or a call that
                             returns one, as `jax.nn.relu` does
    the blocks            -> where the value is only cut, as an LSTM does with its gates, its parts
    the cell              -> the one whose parameters are in what is squashed
    the name              -> what that cell calls it, or else the function and a number

What is hidden in a `scan` or `cond` within the step is not seen.
"""

from collections import Counter, defaultdict
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.core import JaxprEqn, Literal, Var
from jax.tree_util import keystr, tree_leaves_with_path

from ..cells import GRU, LSTM, LSTM1997, MLSTM, Cell, KrauseLSTM, PeepholeLSTM
from ..through_time.step import Step
from ..wiring import GatedFeedback

# What a cell squashes, in the order in which its step does.
_I, _F, _O = ("sigmoid", "input gate"), ("sigmoid", "forget gate"), ("sigmoid", "output gate")
_G, _MEMORY = ("tanh", "block input"), ("tanh", "memory")
_KNOWN: dict[type, list[tuple[str, str]]] = {
    LSTM: [_I, _F, _O, _G, _MEMORY],
    PeepholeLSTM: [_I, _F, _G, _O, _MEMORY],
    LSTM1997: [_I, ("sigmoid", "block input"), _O, _MEMORY],
    KrauseLSTM: [_I, _F, _O, ("tanh", "output")],
    MLSTM: [_I, _F, _O, ("tanh", "output")],
    GRU: [("sigmoid", "update gate"), ("sigmoid", "reset gate"), ("tanh", "candidate")],
}


def squashed_blocks(cells: dict, parameters: Any, traced: Step) -> list[tuple[Var, str, str]]:
    """Every block that is squashed at each step: its variable, its kind, the path of its cell."""
    jaxpr = traced.jaxpr
    users: dict[Any, list[JaxprEqn]] = defaultdict(list)
    made_by: dict[Any, JaxprEqn] = {}
    for equation in jaxpr.eqns:
        made_by |= dict.fromkeys(equation.outvars, equation)
        for var in equation.invars:
            if not isinstance(var, Literal):
                users[var].append(equation)
    leaving = {var for var in jaxpr.outvars if not isinstance(var, Literal)}
    paths = [keystr(path) for path, _ in tree_leaves_with_path(parameters)]
    # The cells that own what is float: parameters and what is made of them alone, in `fixed`, and
    # what was squashed before; states and inputs are no cell's.
    variables: list[Any] = jaxpr.invars
    floats = [var for var in variables if jnp.issubdtype(var.aval.dtype, jnp.inexact)]
    given = dict(zip(variables, paths, strict=False))
    fixed: dict[Any, str] = {var: _owner(given[var], cells) for var in floats if var in given}
    before = {var: "" for var in floats if var not in given}
    for equation in traced.prologue:
        made_of = [fixed[v] for v in equation.invars if _is_in(v, fixed)]
        if made_of:
            fixed |= dict.fromkeys(equation.outvars, made_of[0])
    found = []
    for equation in traced.remainder:
        kind = _kind(equation, made_by)
        owner = None if kind is None else _squashed_in(equation, fixed, before, made_by)
        if kind is None or owner is None:
            continue
        (y,) = equation.outvars
        before[y] = owner
        blocks = [y]
        if y not in leaving and all(e.primitive.name in ("split", "slice") for e in users[y]):
            blocks = [v for e in users[y] for v in e.outvars if v in leaving or users[v]]
        found += [(block, kind, owner) for block in blocks]
    return found


def _kind(equation: JaxprEqn, made_by: dict) -> str | None:
    """The squashing function that an equation is, if any."""
    name = equation.primitive.name
    if name in ("tanh", "logistic"):
        return "tanh" if name == "tanh" else "sigmoid"
    if name == "max":
        return "relu" if any(_is_zero(var, made_by) for var in equation.invars) else None
    if name in ("custom_jvp_call", "custom_vjp_call", "jit", "pjit") and len(equation.outvars) == 1:
        # `jax.nn.relu` has a derivative of its own, so it is a call: what does it return?
        inner = equation.params["call_jaxpr" if "call_jaxpr" in equation.params else "jaxpr"].jaxpr
        made_within = {var: e for e in inner.eqns for var in e.outvars}
        last = inner.outvars[0]
        return _kind(made_within[last], made_within) if _is_in(last, made_within) else None
    return None


def _is_zero(var: Any, made_by: dict) -> bool:
    """Whether it is the constant 0, or an array of it."""
    if isinstance(var, Literal):
        return not np.any(var.val)
    if var in made_by and made_by[var].primitive.name == "broadcast_in_dim":
        return _is_zero(made_by[var].invars[0], made_by)
    return False


def _squashed_in(equation: JaxprEqn, fixed: dict, before: dict, made_by: dict) -> str | None:
    """The path of the cell whose parameters are in what is squashed.

    The search goes back from the squashing function and ends at products with a weight, at
    parameters, and at what was squashed before. Of several cells it is the innermost one with a
    parameter there, since a wrapper may have some too; without any, the innermost one that was
    squashed before. Where nothing float is found, as in the drawing of noise, there is none.
    """
    queue, found = list(equation.invars), []
    for var in queue:  # which grows on the way
        if _is_in(var, fixed) or _is_in(var, before):
            path = fixed[var] if var in fixed else before[var]
            found.append((var in fixed, path.count(".") + path.count("["), path))
        elif _is_in(var, made_by):
            maker = made_by[var]
            weights = [v for v in maker.invars if _is_in(v, fixed)]
            more = weights if weights and maker.primitive.name == "dot_general" else maker.invars
            queue += [v for v in more if v not in queue]
    return max(found, key=lambda one: one[:2])[-1] if found else None


def names_of(cells: dict, squashed: list[tuple[Var, str, str]]) -> list[str]:
    """What a cell calls its gates, where that is known, else function and number."""
    names, counts = [], Counter[Any]()
    for _, kind, owner in squashed:
        cell = cells[owner]
        known = _KNOWN.get(type(cell), [])
        if isinstance(cell, GatedFeedback):
            layers = range(len(cell.layers))
            known = [("sigmoid", f"gate {i} to {j}") for j in layers for i in layers]
        if [k for k, _ in known] == [k for _, k, other in squashed if other == owner]:
            names.append(f"{owner}.{known[counts[owner]][1]}")
        else:
            names.append(f"{owner} {kind} {counts[owner, kind]}")
        counts.update([owner, (owner, kind)])
    return names


def cells_within(root: Any, path: str = "") -> dict[str, Any]:
    """A cell or layer, and all cells within it, by their paths."""
    found = {path: root}
    inner = tree_leaves_with_path(root, is_leaf=lambda x: isinstance(x, Cell) and x is not root)
    for keys, child in inner:
        if isinstance(child, Cell):
            found |= cells_within(child, path + keystr(keys))
    return found


def _owner(path: str, cells: dict[str, Any]) -> str:
    """The path of the cell that a parameter belongs to."""
    return max((p for p in cells if path.startswith(p) and path[len(p)] in ".["), key=len)


def _is_in(var: Any, known: dict) -> bool:
    return not isinstance(var, Literal) and var in known
