"""The one derivative rule of a run through time, for every transform.

`jax.custom_jvp` holds the rule and `paired` joins the engine's tangent and cotangent, so `grad`,
`jvp`, `linearize` and `linear_transpose` are all fast. Second derivatives differentiate its scans
as the plain code that they are, and are exact.
"""

import jax
from jax.custom_derivatives import SymbolicZero, zero_from_primal

from ._engine import Engine, Inputs, is_float, where_given
from .paired import paired
from .step import Step


def run_through_time(
    step: Step,
    inputs: Inputs,
    *,
    reverse: bool,
    compute,
    unroll: int,
    watch: bool = False,
    backend: str | None = None,
    on_failure: str = "scan",
):
    """Run a step over all times.

    Args:
        step: the step `(state, u) -> (state, y)`, taken apart.
        inputs: see `Inputs`.
        reverse: from the last time to the first.
        compute: the dtype of the products' operands, or `None` to leave them as they are.
        unroll: steps per iteration of the compiled loop.
        watch: let the values of all products follow the outputs.
        backend: one of `BACKENDS`, or `None` for the fastest.
        on_failure: what to do if a kernel launch fails, `"scan"` or `"nan"`; see `unroll`.

    Returns:
        The final state, and the outputs with time first, as flat lists.
    """
    engine = Engine(
        step,
        inputs,
        reverse=reverse,
        compute=compute,
        unroll=unroll,
        watch=watch,
        backend=backend,
        on_failure=on_failure,
    )

    @jax.custom_jvp
    def run(inputs):
        state, ys, _ = engine.forward(inputs, save=False)
        return state, ys

    def differentiate(primals, tangents):
        (inputs,), (changes,) = primals, tangents
        state, ys, saved = engine.forward(inputs, save=True)
        changes = jax.tree.map(_tangent_or_none, changes, inputs, is_leaf=_is_symbolic_zero)
        arguments, argument_tree = jax.tree.flatten(changes)
        still = jax.tree.map(lambda x: zero_from_primal(x, symbolic_zeros=True), (state, ys))
        if not arguments:
            return (state, ys), still
        moving = where_given(changes)
        residuals, residual_tree = jax.tree.flatten((inputs, saved))

        def push(residuals, arguments):
            inputs, saved = jax.tree.unflatten(residual_tree, residuals)
            changes = jax.tree.unflatten(argument_tree, arguments)
            return jax.tree.leaves(engine.tangent(inputs, saved, changes))

        def pull(residuals, cotangents):
            inputs, saved = jax.tree.unflatten(residual_tree, residuals)
            return jax.tree.leaves(engine.cotangent(inputs, saved, moving, cotangents))

        moved = [x for x in jax.tree.leaves((state, ys)) if is_float(x)]
        found = iter(paired(push, pull, residuals, arguments, moved))
        out = jax.tree.map(lambda x, zero: next(found) if is_float(x) else zero, (state, ys), still)
        return (state, ys), out

    run.defjvp(differentiate, symbolic_zeros=True)
    return run(inputs)


def slopes_through_time(step: Step, inputs: Inputs, *, reverse: bool, compute, unroll: int):
    """For each product and time, how much its value moves the state of that step alone.

    Element p of a value has the slope `√Σ_s (Σ_i ∂s_i / ∂a_p)²`, over the arrays s of the new
    state and their units i; where the step is elementwise, one unit only depends on `a_p`. What
    goes by way of another product is left out. For `h = tanh(a)` it is `1 - h²`.
    """
    engine = Engine(step, inputs, reverse=reverse, compute=compute, unroll=unroll)
    return engine.slopes(inputs)


def _is_symbolic_zero(x) -> bool:
    return isinstance(x, SymbolicZero)


def _tangent_or_none(change, x):
    return None if _is_symbolic_zero(change) or not is_float(x) else change
