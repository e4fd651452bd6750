"""Checks of `inputs` and `step` on their own: what they return, and what it depends on."""

import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells.building import parameter_dtype
from ..through_time.check import describe, same_structure
from .case import BATCH, STEPS, Case, of_steps
from .explain import CellError, explain
from .parts import check_arrays
from .trees import apart, at, distance, is_float, row, scale


@of_steps
def inputs_keep_their_axes(case: Case) -> None:
    """`inputs` returns arrays with the leading axes of x, the same on every call."""
    us = eqx.filter_eval_shape(lambda cell, x: cell.inputs(x), case.cell, case.xs)
    if us is None:
        raise CellError("inputs returned None: return what step needs of the input")
    check_arrays(us, "inputs", (STEPS, BATCH))
    first, again = case.inputs_twice
    if distance(first, again) > 0:
        raise CellError(
            "inputs is not pure: called twice with the same input it gives different results; it "
            "must depend on x and the parameters alone"
        )
    _refuse_nan(first, "inputs returns", "for ordinary inputs")


@of_steps
def state_keeps_its_shape(case: Case) -> None:
    """`step` returns an output and a state with the structure, shapes and dtypes of the old one."""
    _check_step(case.cell, case.xs[0])


def _check_step(cell: Any, x: np.ndarray) -> None:
    u = eqx.filter_eval_shape(lambda cell, x: cell.inputs(x), cell, x)
    state = eqx.filter_eval_shape(lambda cell: cell.initial((BATCH,)), cell)
    result = eqx.filter_eval_shape(lambda cell, *given: cell.step(*given), cell, state, u)
    if result is None:
        raise CellError("step returned None: end it with return state, y")
    check_arrays(result, "step", ())
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise CellError(
            f"step must return a pair, the new state and the output: write return state, y; got "
            f"{describe(result)}"
        )
    new, y = result
    expected, got = describe(state), describe(new)
    swapped = "; the second of the pair would fit: if that is the state, write return state, y"
    hint = swapped if _shapes(y) == _shapes(state) else "; return what initial returns"
    if _shapes(new)[0] != _shapes(state)[0]:
        raise CellError(
            f"step must return a state built like the one it got, of the same tuples, lists and "
            f"keys: expected {expected}, got {got}{hint}"
        )
    if _shapes(new) != _shapes(state):
        raise CellError(f"step must keep the state's shape: expected {expected}, got {got}{hint}")
    if not jax.tree.leaves(y):
        raise CellError("step returned no output: write return state, y with an array y")
    check_arrays(y, "step", (BATCH,))
    like = parameter_dtype(cell)
    for old, after in zip(jax.tree.leaves(state), jax.tree.leaves(new), strict=True):
        if old.dtype != after.dtype:
            constant = f"step has a constant or a cast of {after.dtype}: use the state's dtype"
            raise CellError(
                f"initial returns {old.dtype} where step returns {after.dtype}: "
                + (
                    constant
                    if old.dtype == like
                    else "give the zeros of initial the dtype of a parameter"
                )
            )


def _shapes(tree: Any) -> tuple:
    return jax.tree.structure(tree), [x.shape for x in jax.tree.leaves(tree)]


@of_steps
def own_dtypes_are_kept(case: Case) -> None:
    """The same holds in the cell's own dtypes, and in float64 nothing is rounded to fewer bits."""
    with jax.enable_x64(case.wide):
        _check_step(case.own, case.own_inputs[0][0])
    _refuse_rounding(case)


def _refuse_rounding(case: Case) -> None:
    """Refuse `inputs` or `step` that round to fewer bits: no derivative could be checked."""
    state, x = case.start, case.xs[0]
    dynamic, static = eqx.partition(case.cell, eqx.is_array)

    def inputs(dynamic: Any, x: Any) -> Any:
        return eqx.combine(dynamic, static).inputs(x)

    def step(dynamic: Any, state: Any, u: Any) -> tuple[Any, Any]:
        return eqx.combine(dynamic, static).step(state, u)

    u = jax.eval_shape(inputs, dynamic, x)
    for name, traced in (
        ("inputs", jax.make_jaxpr(inputs)(dynamic, x)),
        ("step", jax.make_jaxpr(step)(dynamic, state, u)),
    ):
        if (dtype := _rounded_to(traced.jaxpr)) is not None:
            raise CellError(
                f"{name} rounds to {dtype} inside, even if all parameters are float64: use "
                "the dtype of its arguments; for products in a lower precision there is "
                "unroll(..., compute='bfloat16')"
            )


def _rounded_to(jaxpr: Any) -> Any:
    for equation in jaxpr.eqns:
        if equation.primitive.name == "convert_element_type":
            before, after = equation.invars[0].aval.dtype, equation.outvars[0].aval.dtype
            floating = all(jnp.issubdtype(d, jnp.floating) for d in (before, after))
            if floating and after.itemsize < before.itemsize:
                return after
        for inner in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda x: hasattr(x, "jaxpr")
        ):
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns") and (dtype := _rounded_to(inner)) is not None:
                return dtype
    return None


@of_steps
def step_is_pure(case: Case) -> None:
    """The same state and input give the same result, compiled or not."""
    before = jax.tree.map(lambda x: x, case.cell)
    state = jax.tree.map(jnp.asarray, case.start)
    u, compiled = case.once(case.cell, state, case.xs[0])
    first = case.cell.step(state, u)
    case.first_step = (state, u, first)
    for other, how in ((case.cell.step(state, u), "called twice"), (compiled, "compiled")):
        if distance(first, other) > 1e-12 * scale(first):
            raise CellError(_impure(how))
    if not same_structure(case.cell, before):
        raise CellError(
            "step changes a list or dictionary in a field of the cell: return what changes as part "
            "of the state"
        )


def refuse_impurity(case: Case) -> None:
    """Refuse a step that gives another result by now than it did in `step_is_pure`."""
    if case.first_step is None:
        return
    state, u, first = case.first_step
    try:
        again = case.cell.step(state, u)
    except Exception:  # another check has its words for what the cell raises
        return
    if not same_structure(first, again) or distance(first, again) > 1e-12 * scale(first):
        raise CellError(_impure("called again later"))


def _impure(how: str) -> str:
    return (
        f"step is not pure: {how} with the same state and input it gives another result; it must "
        "depend on its arguments and parameters alone, so a count of steps belongs in the state"
    )


@of_steps
def values_are_finite(case: Case) -> None:
    """Starting at `initial`, ordinary inputs change the state and give no NaN or infinity."""
    state, still = case.start, True
    for t, x in enumerate(case.xs):
        new, y = jax.device_get(case.once(case.cell, state, x)[1])
        _refuse_nan(y, "step returns", f"in the output of step {t}")
        _refuse_nan(new, "step returns", f"in the state after step {t}", state)
        still = still and distance(new, state) == 0
        state = new
    if still and jax.tree.leaves(state):
        raise CellError(
            f"step returns the state that it got, {STEPS} steps long, so that nothing is "
            "remembered: return the new state; a cell without memory has the state ()"
        )


def _refuse_nan(tree: Any, returns: str, where: str, before: Any = None) -> None:
    """Refuse NaN and infinity, except an infinity that was there before."""
    leaves = jax.tree.leaves(tree)
    old = leaves if before is None else jax.tree.leaves(before)
    for x, was in zip(leaves, old, strict=True):
        if not is_float(x):
            continue
        x, was = np.asarray(x), np.asarray(was)
        kept = (x == was) if before is not None else np.zeros(x.shape, bool)
        wrong = x[~np.isfinite(x) & ~kept]
        if wrong.size:
            what = "NaN" if np.isnan(wrong).any() else "infinity"
            raise CellError(
                f"{returns} {what} {where}: look for a division by zero, a log or root of zero, "
                "or an exp that is too large"
            )


@of_steps
def inputs_see_one_time(case: Case) -> None:
    """`inputs` for all steps at once equals `inputs` for each step."""
    us, _ = case.inputs_twice
    for t in range(STEPS):
        if apart(at(us, t), case.once(case.cell, case.start, case.xs[t])[0]):
            raise CellError(
                f"inputs mixes times: step {t} of inputs(xs) is not inputs(xs[{t}]); it is called "
                "once for all steps and must treat leading axes alike"
            )


def batch_axes_are_kept_apart(case: Case) -> None:
    """Each sequence in a batch gives the same result alone; any number of batch axes works."""
    if not case.can_step:
        return _layer_keeps_batch_apart(case)
    whole = _both(case, case.state, case.xs[0], (BATCH,))
    rows = [(at(case.state, i), case.xs[0, i]) for i in range(BATCH)]
    alone = [_both(case, state, x, ()) for state, x in rows]
    # Batch axes (2, 3): each sequence of the batch next to its neighbours.
    state, x = jax.tree.map(_square, (case.state, case.xs[0]))
    square = _both(case, state, x, x.shape[:2])
    if case.noisy:
        return None
    for method, i in itertools.product(("inputs", "step"), range(BATCH)):
        one = at(whole[method], i)
        if apart(alone[i][method], one) or apart(at(square[method], (i, 0)), one):
            raise CellError(
                f"batch axes are mishandled: in {method} a sequence in a batch gives another "
                "result than alone; work on the last axis only"
            )
    return None


def _both(case: Case, state: Any, x: np.ndarray, batch: tuple[int, ...]) -> dict[str, Any]:
    """The results of `inputs` and `step` with these batch axes."""
    try:
        u, result = jax.device_get(case.once(case.cell, state, x))
    except Exception as error:
        raise CellError(
            f"{explain(error)}, for the batch axes {batch}: a batch has any number of axes, so "
            "work on the last axis only"
        ) from None
    return {"inputs": u, "step": result}


def _square(x: np.ndarray) -> np.ndarray:
    return np.stack([np.roll(x, shift, axis=0) for shift in range(3)], axis=1)


def _layer_keeps_batch_apart(case: Case) -> None:
    whole = case.unroll(case.xs, case.state)
    more = case.unroll(case.xs[:, None], jax.tree.map(lambda x: x[None], case.state))
    if case.noisy:
        return
    for i in range(BATCH):
        if apart(row(whole, i), case.unroll(case.xs[:, i], at(case.state, i))):
            raise CellError("batch axes are mishandled: a sequence in a batch differs from alone")
    if apart(row(more, 0), whole):
        raise CellError("batch axes are mishandled: two batch axes give another result than one")
