"""How the columns of each value are distributed over programs.

Units are distributed: each program holds some columns of every value `(batch, units)`. A value
without an axis of units, one number per row of the batch, is replicated in all programs.

A value often holds several parts side by side, for example the pre-activations of an LSTM's gates,
and a step splits it there. Each program then holds its share of every part, so that a split moves
no data. The cuts between parts are found in the step itself, by propagating them through its
equations until nothing changes:

    split, slice, concatenate, pad   -> cuts move along with the columns
    elementwise                      -> all operands and the result have the same cuts
    v @ W, sums over units           -> no relation: they need all columns, which programs exchange
"""

import dataclasses
import itertools
from typing import Any

from jax.extend.core import JaxprEqn, Literal, Var

from ..backend import Unfit
from ._body import Body, aval_of

ELEMENTWISE = frozenset(
    (
        "abs acos acosh add add_any and asin asinh atan atan2 atanh cbrt ceil clamp "
        "convert_element_type copy cos cosh div eq erf exp exp2 expm1 floor ge gt integer_pow "
        "is_finite le log log1p log2 logistic lt max min mul ne neg not one_minus_square "
        "optimization_barrier or pow rem round rsqrt select_n sign sin sinh sqrt square sub tan "
        "tanh xor"
    ).split()
)
REDUCTIONS = frozenset(("reduce_sum", "reduce_max", "reduce_min"))
DTYPES = frozenset(
    (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64"
    ).split()
)
_CUTTING = frozenset(("split", "slice", "concatenate", "pad"))
_SHAPING = frozenset(("broadcast_in_dim", "reshape", "squeeze", "expand_dims"))


@dataclasses.dataclass(frozen=True)
class Layout:
    """The cuts `(0, …, units)` of every value that has units; other values have no entry."""

    batch: int
    cuts: dict[Var, tuple[int, ...]]

    def segments(self, var: Var) -> list[tuple[int, int]]:
        """The start and stop column of each part of a value."""
        return list(itertools.pairwise(self.cuts[var]))


def lay_out(body: Body, batch: int) -> Layout:
    """Find the cuts of all values, or raise `Unfit`."""
    weights = {e.invars[1] for e in body.equations if e.primitive.name == "dot_general"}
    if not weights:
        raise Unfit("the step has no product with a weight")
    cuts: dict[Any, set[int]] = {}
    for var in _variables(body):
        if (dtype := str(aval_of(var).dtype)) not in DTYPES:
            raise Unfit(f"a value is in {dtype}, which kernels do not know")
        if var not in weights and _has_units(var, batch, var in body.constants):
            cuts[var] = {0, _width(var)}
    for equation in body.equations:
        _check(equation, cuts, body)
    moved = True
    while moved:
        before = sum(map(len, cuts.values()))
        for equation in body.equations:
            _relate(equation, cuts)
        for old, new in zip(body.carry, body.new_carry, strict=True):
            if not isinstance(new, Literal):
                _share(cuts, [(old, 0), (new, 0)], _width(old))
        moved = sum(map(len, cuts.values())) > before
    return Layout(batch, {var: tuple(sorted(points)) for var, points in cuts.items()})


def _variables(body: Body) -> dict[Var, None]:
    variables = [*body.carry, *body.xs, *body.constants]
    for equation in body.equations:
        variables += equation.outvars
    return dict.fromkeys(variables)


def _width(var: Any) -> int:
    return var.aval.shape[-1] if var.aval.shape else 1


def _has_units(var: Any, batch: int, constant: bool) -> bool:
    """Whether the last axis is the units; constants over time may lack the batch axis."""
    shape = var.aval.shape
    if shape in ((), (batch, 1)) or (shape == (batch,) and not constant):
        return False
    if len(shape) == 2 and (shape[0] == batch or (constant and shape[0] == 1)):
        return True
    if len(shape) == 1 and constant:
        return True
    raise Unfit(f"a value of shape {shape} is neither (batch, units) nor (batch,)")


def _check(equation: JaxprEqn, cuts: dict, body: Body) -> None:
    """Raise `Unfit` for an equation that a program cannot compute on its share."""
    name, params = equation.primitive.name, equation.params
    first = equation.invars[0] if equation.invars else None
    if name in _CUTTING:
        for part, whole, _ in pieces(equation):
            if any(isinstance(v, Literal) or v not in cuts for v in (part, whole)):
                raise Unfit("a value is cut into single columns")
    if name in ELEMENTWISE or name in _CUTTING:
        if all(axis == aval_of(equation.outvars[0]).ndim - 1 for axis in _cut_axes(equation)):
            return
    elif name == "dot_general":
        (left, right), (left_batch, _) = params["dimension_numbers"]
        weight = equation.invars[1]
        if equation.outvars[0] not in cuts:
            raise Unfit("a product has a single column")
        if first in cuts and weight in body.constants and aval_of(weight).ndim == 2:
            if (tuple(left), len(right), tuple(left_batch)) == ((1,), 1, ()):
                return
    elif name in REDUCTIONS:
        summed = [aval_of(first).shape[axis] for axis in params["axes"]]
        if tuple(params["axes"]) == (1,) or set(summed) == {1}:
            return
    elif name in _SHAPING:
        out = equation.outvars[0]
        same = first is None or isinstance(first, Literal) or first not in cuts
        if same or (out in cuts and _width(first) == _width(out)):
            return
    raise Unfit(f"the step does something that is not elementwise: {name}")


def _cut_axes(equation: JaxprEqn) -> list[int]:
    """The axes that an equation splits or joins; -1 for a stride or interior padding."""
    name, params = equation.primitive.name, equation.params
    if name == "split":
        return [params["axis"]]
    if name == "concatenate":
        return [params["dimension"]]
    if name == "slice":
        if params["strides"] is not None and any(s != 1 for s in params["strides"]):
            return [-1]
        shape = aval_of(equation.invars[0]).shape
        whole = zip(params["start_indices"], params["limit_indices"], shape, strict=True)
        return [i for i, (start, stop, size) in enumerate(whole) if (start, stop) != (0, size)]
    if name == "pad":
        if any(inner for _, _, inner in params["padding_config"]):
            return [-1]
        return [i for i, (low, high, _) in enumerate(params["padding_config"]) if low or high]
    return []


def pieces(equation: JaxprEqn) -> list[tuple[Any, Any, int]]:
    """For an equation that splits or joins: each part, its whole, and its first column there."""
    name, params = equation.primitive.name, equation.params
    if name == "split":
        starts = itertools.accumulate((int(n) for n in params["sizes"]), initial=0)
        return [
            (part, equation.invars[0], at)
            for part, at in zip(equation.outvars, starts, strict=False)
        ]
    if name == "slice":
        return [(equation.outvars[0], equation.invars[0], params["start_indices"][-1])]
    if name == "concatenate":
        starts = itertools.accumulate((_width(v) for v in equation.invars), initial=0)
        return [
            (part, equation.outvars[0], at)
            for part, at in zip(equation.invars, starts, strict=False)
        ]
    return [(equation.invars[0], equation.outvars[0], params["padding_config"][-1][0])]


def _relate(equation: JaxprEqn, cuts: dict) -> None:
    """Propagate cuts between the operands and the results of an equation."""
    name = equation.primitive.name
    if name in _CUTTING:
        for part, whole, at in pieces(equation):
            cuts[whole] |= {at, at + _width(part)}
            _share(cuts, [(part, 0), (whole, at)], _width(part))
    elif name in ELEMENTWISE or name in _SHAPING:
        values = [v for v in (*equation.invars, *equation.outvars) if not isinstance(v, Literal)]
        _share(cuts, [(v, 0) for v in values if v in cuts], _width(equation.outvars[0]))


def _share(cuts: dict, places: list[tuple[Any, int]], width: int) -> None:
    """Give several values the same cuts in the columns that they share."""
    places = [(v, at) for v, at in places if not isinstance(v, Literal) and v in cuts]
    inner = {c - at for v, at in places for c in cuts[v] if 0 <= c - at <= width}
    for var, at in places:
        cuts[var] |= {c + at for c in inner}
