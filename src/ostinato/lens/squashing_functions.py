"""Finds every tanh, sigmoid and ReLU in a cell's step, the cell it belongs to, and its name.

A cell marks nothing: its step is traced, and the squashing functions are read off the traced
equations. An LSTM, for example, applies one sigmoid to all its pre-activations and splits the
result:

    equation                       blocks      kind       name
    σ(a) ── split into four ──┬──> i           sigmoid    input gate
                              ├──> f           sigmoid    forget gate
                              ├──> (unused)
                              └──> o           sigmoid    output gate
    tanh(a_g)  ──────────────────> g           tanh       block input
    tanh(c)  ────────────────────> tanh(c)     tanh       memory

Three questions are answered one after the other:

    which blocks?     `squashed_blocks`: the results of squashing functions, split as the step does
    whose are they?   `_owner_of`: follow the operand back to the nearest parameters
    what name?        `names_of`: by order, if the kinds are those of `Cell.gates`

A squashing function inside a `scan` or `cond` within the step is not found.
"""

from collections import Counter, defaultdict
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.extend.core import JaxprEqn, Literal, Var
from jax.tree_util import keystr, tree_leaves_with_path

from ..cells import Cell, Model
from ..through_time.step import Step, called

FUNCTIONS = {"tanh": "tanh", "logistic": "sigmoid"}  # by what JAX calls them


class Block(NamedTuple):
    """What a squashing function returns, or one of the parts into which the step splits it.

    Attributes:
        var: its variable in the traced step.
        kind: `"tanh"`, `"sigmoid"` or `"relu"`.
        owner: the path of the cell that it belongs to.
    """

    var: Var
    kind: str
    owner: str


class _Source(NamedTuple):
    """Something that a squashed value is computed from; the largest one decides the owner."""

    is_parameter: bool
    depth: int  # of the cell within the network
    owner: str


class _Owners(NamedTuple):
    """The path of the cell that each floating-point variable belongs to.

    Attributes:
        constant: parameters, and what is computed from parameters alone.
        varying: states and inputs, which belong to no cell in particular (`""`), and every value
            that was squashed earlier in the step.
    """

    constant: dict[Any, str]
    varying: dict[Any, str]


def squashed_blocks(cells: dict[str, Any], parameters: Any, traced: Step) -> list[Block]:
    """Every block that the step squashes, in the order of computation.

    Args:
        cells: the cells by path, from `cells_within`.
        parameters: the parameters that the step was traced with.
        traced: the step.
    """
    made_by = _made_by(traced.jaxpr.eqns)
    owners = _first_owners(cells, parameters, traced)
    blocks = []
    for equation in traced.remainder:
        kind = _kind(equation, made_by)
        if kind is None:
            continue
        owner = _owner_of(equation, owners, made_by)
        if owner is None:
            continue
        (result,) = equation.outvars
        owners.varying[result] = owner
        blocks += [Block(var, kind, owner) for var in _split_as_used(result, traced)]
    return blocks


def names_of(cells: dict[str, Any], blocks: list[Block]) -> list[str]:
    """The name of each block: `.layers[0].forget gate`, or `.layers[0] tanh 0` if unknown."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for block in blocks:
        kinds[block.owner].append(block.kind)
    names = {path: iter(_names_in_cell(cells[path], path, kinds[path])) for path in kinds}
    return [next(names[block.owner]) for block in blocks]


def cells_within(root: Model, path: str = "") -> dict[str, Any]:
    """A cell or layer, and all cells within it, by path."""
    cells = {path: root}
    inner = tree_leaves_with_path(root, is_leaf=lambda x: isinstance(x, Cell) and x is not root)
    for keys, child in inner:
        if isinstance(child, Cell):
            cells |= cells_within(child, path + keystr(keys))
    return cells


def _names_in_cell(cell: Cell, path: str, kinds: list[str]) -> list[str]:
    """The names of a cell's blocks, given their kinds in the order of computation.

    A wrapper that squashes more has other kinds than the cell says. Its blocks are numbered
    instead, because the order then proves nothing.
    """
    named = cell.named_gates()
    if list(named.values()) == kinds:
        return [f"{path}.{name}" for name in named]
    names, count = [], Counter[str]()
    for kind in kinds:
        names.append(f"{path} {kind} {count[kind]}")
        count[kind] += 1
    return names


def _kind(equation: JaxprEqn, made_by: dict[Any, JaxprEqn]) -> str | None:
    """The squashing function that an equation computes, or `None`."""
    name = equation.primitive.name
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    if name == "max":
        return "relu" if any(_is_zero(var, made_by) for var in equation.invars) else None
    function = called(equation)
    if function is not None and len(equation.outvars) == 1:
        # `jax.nn.relu` has its own derivative rule, so it is traced as a call: look inside.
        inner = function.jaxpr
        made_inside, result = _made_by(inner.eqns), inner.outvars[0]
        return _kind(made_inside[result], made_inside) if _is_in(result, made_inside) else None
    return None


def _is_zero(var: Any, made_by: dict[Any, JaxprEqn]) -> bool:
    """Whether a variable is the constant 0, or an array of zeros broadcast from it."""
    if isinstance(var, Literal):
        return not np.any(var.val)
    if var in made_by and made_by[var].primitive.name == "broadcast_in_dim":
        return _is_zero(made_by[var].invars[0], made_by)
    return False


def _split_as_used(result: Var, traced: Step) -> list[Var]:
    """The parts of a value, if the step only ever splits it; else the value itself.

    Parts that nothing reads are left out.
    """
    outputs = {var for var in traced.jaxpr.outvars if not isinstance(var, Literal)}
    readers = _readers(result, traced)
    if result in outputs or any(e.primitive.name not in ("split", "slice") for e in readers):
        return [result]
    parts: list[Any] = [part for equation in readers for part in equation.outvars]
    return [part for part in parts if part in outputs or _readers(part, traced)]


def _readers(var: Any, traced: Step) -> list[JaxprEqn]:
    """The equations that read a variable, once for each time they do."""
    return [e for e in traced.jaxpr.eqns for operand in e.invars if operand is var]


def _first_owners(cells: dict[str, Any], parameters: Any, traced: Step) -> _Owners:
    """The owners that are known before the first equation of the step proper."""
    variables: list[Any] = traced.jaxpr.invars
    paths = [keystr(path) for path, _ in tree_leaves_with_path(parameters)]
    path_of = dict(zip(variables, paths, strict=False))  # the parameters come first
    floats = [var for var in variables if jnp.issubdtype(var.aval.dtype, jnp.inexact)]
    constant = {var: _owner_of_path(path_of[var], cells) for var in floats if var in path_of}
    for equation in traced.prologue:
        operands = [constant[var] for var in equation.invars if _is_in(var, constant)]
        if operands:
            constant |= dict.fromkeys(equation.outvars, operands[0])
    return _Owners(constant, {var: "" for var in floats if var not in path_of})


def _owner_of(equation: JaxprEqn, owners: _Owners, made_by: dict[Any, JaxprEqn]) -> str | None:
    """The path of the cell whose value a squashing function is applied to.

    Going back from the operand, each branch ends at a parameter, at a product with a weight, or at
    a value that was squashed earlier. The innermost cell with a parameter there is the owner (a
    wrapper may have parameters too); without parameters, the innermost cell of a squashed value.
    It is `None` if no float is found, for example where noise is drawn.
    """
    queue, sources = list(equation.invars), []
    for var in queue:  # the queue grows during the search
        if _is_in(var, owners.constant):
            sources.append(_Source(True, _depth(owners.constant[var]), owners.constant[var]))
        elif _is_in(var, owners.varying):
            sources.append(_Source(False, _depth(owners.varying[var]), owners.varying[var]))
        elif _is_in(var, made_by):
            maker = made_by[var]
            weights = [v for v in maker.invars if _is_in(v, owners.constant)]
            is_product = maker.primitive.name == "dot_general"
            operands = weights if weights and is_product else maker.invars
            queue += [v for v in operands if v not in queue]
    return max(sources, key=lambda source: source[:2]).owner if sources else None


def _owner_of_path(path: str, cells: dict[str, Any]) -> str:
    """The path of the innermost cell that has the parameter at `path`."""
    return max((p for p in cells if path.startswith(p) and path[len(p)] in ".["), key=len)


def _depth(path: str) -> int:
    return path.count(".") + path.count("[")


def _made_by(equations: Any) -> dict[Any, JaxprEqn]:
    """The equation that computes each variable."""
    return {var: equation for equation in equations for var in equation.outvars}


def _is_in(var: Any, known: dict) -> bool:
    """Whether a variable is among the keys; a literal never is, and cannot be hashed."""
    return not isinstance(var, Literal) and var in known
