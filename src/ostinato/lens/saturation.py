"""How saturated the units of a network are: gates open or shut for good, units that are dead."""

import math
from collections import Counter, defaultdict
from itertools import accumulate
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import JaxprEqn, Literal, Var
from jax.tree_util import keystr, tree_leaves_with_path

from ..cells import GRU, LSTM, LSTM1997, MLSTM, Cell, KrauseLSTM, PeepholeLSTM
from ..errors import BadInput
from ..through_time import can_step, sizes, starting_state
from ..through_time._check import check_structure
from ..through_time._step import Step, _evaluate, _read, take_apart
from ..wiring import GatedFeedback

# Up to where an activation is low, and from where it is high.
LIMITS = {"sigmoid": (0.05, 0.95), "tanh": (-0.95, 0.95), "relu": (0.0, np.inf)}

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


class Squashing(NamedTuple):
    """One squashing function of a step, over all times and sequences of a batch.

    High is above 0.95 (a ReLU is never high). Low is below 0.05 for σ, below -0.95 for tanh, and
    zero for a ReLU. What is high or low passes on little or no error.

    Attributes:
        kind: `"sigmoid"`, `"tanh"` or `"relu"`.
        mean: the mean activation.
        high, low: shares of the activations that are high, and low.
        always_high, always_low: shares of the units that are so at all times in all sequences: a
            gate open or shut for good, a dead ReLU.
        always: share of the units that are always high or low, now one and now the other included.
        unit_mean, unit_high, unit_low: `mean`, `high` and `low` of each unit, `(units,)`.
    """

    kind: str
    mean: float
    high: float
    low: float
    always_high: float
    always_low: float
    always: float
    unit_mean: np.ndarray
    unit_high: np.ndarray
    unit_low: np.ndarray


def saturation(cell: Any, xs: Any, state: Any = None) -> dict[str, Squashing]:
    """How often the units of every tanh, σ and ReLU within a step are at an end of their range.

    The step is traced and every such function found in it, whatever the cell and the wiring. One
    that the step cuts into blocks, as an LSTM does with its gates, is told apart by those cuts, and
    a block that nothing reads is left out. Not seen is what is hidden in a loop within the step.
    It costs one forward pass, and no memory for the steps.

    Args:
        cell: a cell, a network, or a layer for `unroll`.
        xs: the inputs, time first: `(T, *batch, inputs)`, or symbols `(T, *batch)`.
        state: the state before the first step.

    Returns:
        A `Squashing` by name. The name begins with the path of the cell whose parameters are
        squashed, and goes on with what the cell calls it, `.cell.forget gate`, or else with the
        function and a number, `.layers[0] tanh 0`.

    Example:
        >>> found = saturation(network, xs)
        >>> found[".cell.forget gate"].always_high  # the share of units that never forget
    """
    steps, batch = sizes(cell, xs)
    if steps * math.prod(batch) == 0:
        raise BadInput(f"saturation needs a step and a sequence, got T = {steps}, batch {batch}")
    if isinstance(cell, Cell):
        cell.check_inputs(xs)
    if state is not None and not can_step(cell):
        check_structure(cell, state, batch)
    found = {}
    for squashed, tally in _measure(cell, jax.tree.map(jnp.asarray, xs), state):
        for name, kind, start, stop in squashed:
            total, high, low = (np.asarray(x)[start:stop] for x in tally)
            found[name] = _summary(kind, total, high, low, steps * math.prod(batch))
    return found


def dead_units(cell: Any, xs: Any, state: Any = None) -> dict[str, np.ndarray]:
    """The ReLUs that are zero at all times in all sequences: no error ever reaches their weights.

    Args: those of `saturation`.

    Returns:
        For every ReLU of the step, by its name in `saturation`, the numbers of its dead units.

    Example:
        >>> dead_units(network, xs)
        {'.cell relu 0': array([3, 17])}
    """
    found = saturation(cell, xs, state)
    return {n: np.flatnonzero(s.unit_low == 1) for n, s in found.items() if s.kind == "relu"}


def _summary(kind: str, total, high, low, count: int) -> Squashing:
    """From each unit's sum of activations, and how often of `count` times it is high and low."""
    return Squashing(
        kind=kind,
        mean=float(np.mean(total / count)),
        high=float(np.mean(high / count)),
        low=float(np.mean(low / count)),
        always_high=float(np.mean(high == count)),
        always_low=float(np.mean(low == count)),
        always=float(np.mean(high + low == count)),
        unit_mean=total / count,
        unit_high=high / count,
        unit_low=low / count,
    )


@eqx.filter_jit
def _measure(cell: Any, xs: Any, state: Any) -> list[tuple[list, tuple]]:
    """What `_through_time` finds in a cell, or in each of the cells of a layer."""
    measured: list[tuple[list, tuple]] = []
    places = {id(part): path for path, part in _cells(cell).items()}

    def runner(backwards: bool):
        def run(part, xs, state=None, *, reverse=False):
            turned = backwards != reverse
            if not can_step(part):
                return part.over_time(runner(turned), xs, state)
            path, own = places.get(id(part)), ""
            if path is None:  # a wrapper that the network itself has put around a cell
                path, own = places.get(id(getattr(part, "cell", None)), ""), ".cell"
            ys, state, found, tally = _through_time(part, xs, state, turned)
            named = [((path + name.removeprefix(own)).strip(), *rest) for name, *rest in found]
            measured.append((named, tally))
            return ys, state

        return run

    runner(False)(cell, xs, state)
    return measured


def _through_time(cell: Cell, xs: Any, state: Any, reverse: bool) -> tuple:
    """Outputs; final state; what is squashed, a list of name, kind, and where its units are; and
    for the units of all that the sum of activations, and how often each is high and low.
    """
    state, (_, batch) = starting_state(cell, xs, state), sizes(cell, xs)
    parameters, static = eqx.partition(cell, eqx.is_array)

    def step(parameters, state, x):
        cell = eqx.combine(parameters, static)
        return cell.step(state, cell.inputs(x))

    one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), xs)
    traced = take_apart(step, parameters, state, one)
    jaxpr, count = traced.jaxpr, traced.parameter_count
    known = dict(zip(jaxpr.constvars, traced.consts, strict=True))
    known |= dict(zip(jaxpr.invars[:count], jax.tree.leaves(parameters), strict=True))
    for equation in traced.prologue:
        _evaluate(equation, known)

    def rows(y):
        """`(sequences, units)`; what is the same for all sequences is repeated."""
        own = y.shape[: len(batch)] == batch
        y = y if own else jnp.broadcast_to(y, (*batch, *y.shape))
        return y.reshape(math.prod(batch), -1)

    squashed = _squashed(_cells(cell), parameters, traced)
    units = [jax.eval_shape(rows, var.aval).shape[1] for var, _, _ in squashed]
    kinds = [kind for _, kind, _ in squashed]
    low, high = np.repeat(np.array([LIMITS[kind] for kind in kinds]).reshape(-1, 2), units, 0).T

    def body(carry, x):
        state, tally = carry
        leaves = jax.tree.leaves((state, x))
        env = known | dict(zip(jaxpr.invars[count:], leaves, strict=True))
        for equation in traced.remainder:
            _evaluate(equation, env)
        out = [_read(env, var) for var in jaxpr.outvars]
        new, y = jax.tree.unflatten(traced.out_tree, out)
        a = jnp.concatenate([nothing, *(rows(env[var]) for var, _, _ in squashed)], axis=1)
        more = (a, a > high.astype(a.dtype), a <= low.astype(a.dtype))
        tally = tuple(total + each.sum(0) for total, each in zip(tally, more, strict=True))
        return (new, tally), y

    nothing = jnp.zeros((math.prod(batch), 0), jnp.float32)
    start = tuple(jnp.zeros(sum(units), dtype) for dtype in (jnp.result_type(float), int, int))
    (state, tally), ys = jax.lax.scan(body, (state, start), xs, reverse=reverse)
    ends = [*accumulate(units, initial=0)]
    names = _names(_cells(cell), squashed)
    return ys, state, [*zip(names, kinds, ends, ends[1:], strict=False)], tally


def _squashed(cells: dict, parameters: Any, traced: Step) -> list[tuple[Var, str, str]]:
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


def _names(cells: dict, squashed: list[tuple[Var, str, str]]) -> list[str]:
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


def _cells(root: Any, path: str = "") -> dict[str, Any]:
    """A cell or layer, and all cells within it, by their paths."""
    found = {path: root}
    inner = tree_leaves_with_path(root, is_leaf=lambda x: isinstance(x, Cell) and x is not root)
    for keys, child in inner:
        if isinstance(child, Cell):
            found |= _cells(child, path + keystr(keys))
    return found


def _owner(path: str, cells: dict[str, Any]) -> str:
    """The path of the cell that a parameter belongs to."""
    return max((p for p in cells if path.startswith(p) and path[len(p)] in ".["), key=len)


def _is_in(var: Any, known: dict) -> bool:
    return not isinstance(var, Literal) and var in known
