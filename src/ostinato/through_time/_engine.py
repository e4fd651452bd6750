"""The engine: the three scans of a step through time.

For a step with products `a_j = v_j @ R_j + u_j`, and everything else elementwise:

Forward    scan the step; keep for each time the state before it, every `v_j` and every `a_j`.
Tangent    within the scan the values `a_j` are known, so a step costs only `dv_j @ R_j` and the
           elementwise tangents. `v_j @ dR_j` for all times is one product, made before the scan; on
           a CPU it is made in the step instead, as `[dv_j, v_j] @ [R_j; dR_j]`, which is faster.
Cotangent  the reverse scan yields the error `e_j` at every pre-activation and costs one product
           `e_j @ R_jᵀ` a step; then `dR_j = Σ_t v_jᵀ e_j` is one product over all times.

Small constants used elementwise (peepholes, gains) accumulate within the reverse scan.

With a lower precision for the products, `v_j` and `a_j` are kept in it too.

These three are one derivative rule, for every transform: `jax.custom_jvp` holds it and `paired`
joins tangent and cotangent, so `grad`, `jvp`, `linearize` and `linear_transpose` are all fast.
Second derivatives differentiate the scans as the plain code that they are, and are exact.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero, zero_from_primal

from .backends import SCAN, Choice, Scan, choose
from .linear_map import paired
from .mesh_axes import zeros_of
from .step import Step


class Inputs(NamedTuple):
    """What a run through time depends on: lists of arrays.

    The same tuple holds their tangents and cotangents, with `None` where there is none.

    Attributes:
        weights: the weight of each product.
        small: the other constants of a step.
        state: the state before the first step.
        us: what each step receives; time first.
        taps: offsets added to each product's value, time first, or an empty list. Their gradient
            is the error at the pre-activation.
    """

    weights: list
    small: list
    state: list
    us: list
    taps: list


class Engine:
    """The three scans of the rule, for one step.

    Attributes:
        step: the step `(state, u) -> (state, y)`, taken apart.
        reverse: from the last time to the first.
        compute: dtype of the products' operands, or `None` to leave them as they are.
        unroll: steps per iteration of the compiled loop.
        watch: whether the values of all products follow the outputs.
        on_failure: what to do if a kernel launch fails; see `unroll`.
        choice: the backend of all three scans; see `choose`.
    """

    def __init__(
        self,
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
        self.step, self.reverse, self.compute, self.unroll = step, reverse, compute, unroll
        self.watch, self.on_failure = watch, on_failure
        self.choice: Choice = choose(backend, lambda: self._forward_scan(inputs, save=True))

    def forward(self, inputs: Inputs, save: bool):
        """The final state, the outputs, and what the derivatives need."""
        state, (ys, saved) = self.choice.run(self._forward_scan(inputs, save))
        return state, ys, saved

    def _forward_scan(self, inputs: Inputs, save: bool) -> Scan:
        weights = self._cast(inputs.weights)

        def body(state, x):
            u, offsets = x
            vs, values = [None] * len(weights), [None] * len(weights)

            def product(j, v, weight, addend):
                value = self.step.taps[j].value(v, weight, self.compute)
                value = _add(_add(value, addend), offsets[j] if offsets else None)
                vs[j], values[j] = v, value
                return value

            new, y = self._step(weights, inputs.small, state, u, product)
            lean = _round(self.compute)
            return new, (y, (state, lean(vs), lean(values)) if save else None)

        return self._scan(body, inputs.state, (inputs.us, inputs.taps))

    def tangent(self, inputs: Inputs, saved, changes: Inputs):
        """Changes of the final state and of the outputs; `None` where they are not float."""
        states, vs, values = saved
        weights = self._cast(inputs.weights)
        offsets = list(changes.taps) or [None for _ in weights]
        joined = self._is_plain_on_cpu()
        if not joined:
            of_weights = [
                None if change is None else tap.spread(v, change, self.compute)
                for tap, v, change in zip(self.step.taps, vs, changes.weights, strict=True)
            ]
            offsets = [_add(*pair) for pair in zip(of_weights, offsets, strict=True)]
        d_state = [
            _or_zeros(change, x) if is_float(x) else None
            for x, change in zip(inputs.state, changes.state, strict=True)
        ]

        def body(d_state, x):
            state, u, value, d_u, d_offsets = x
            moving = where_given((changes.small, d_state, d_u))
            varied, step = self._known(
                weights,
                (inputs.small, state, u),
                moving,
                value,
                d_weights=changes.weights if joined else None,
            )
            # Every product gets a tangent, if only of zeros: else its rule for a known value would
            # still stand when this is differentiated again, and take the value for a constant.
            zeros = self._zero_offsets()
            d_offsets = [
                _or_zeros(d, zero).astype(zero.dtype)
                for d, zero in zip(d_offsets, zeros, strict=True)
            ]
            changed = (changes.small, d_state, d_u)
            return jax.jvp(step, (varied, zeros), (changed, d_offsets))[1]

        xs = (states, inputs.us, values, changes.us, offsets)
        return self.choice.run(self._scan(body, d_state, xs))

    def _is_plain_on_cpu(self) -> bool:
        """Whether this is a plain scan on a CPU, in the precision of its arrays.

        Then `v @ dR` is part of each step's product, and `Rᵀ` is copied once before a scan.
        """
        on_cpu = jax.default_backend() == "cpu" and self.choice.backend.name == "scan"
        return self.compute is None and on_cpu

    def cotangent(self, inputs: Inputs, saved, moving: Inputs, cotangents) -> Inputs:
        """Cotangents of the moving inputs, for those of the float outputs (`None` where zero)."""
        states, vs, values = saved
        weights = self._cast(inputs.weights)
        like = [x if is_float(x) else None for x in inputs.state]
        count = len(jax.tree.leaves(like))
        given = iter(cotangents[:count])
        c_state = [None if x is None else _or_zeros(next(given), x) for x in like]
        choice, rows = self._rows_of_totals(inputs, moving.small)
        turned = None
        if self._is_plain_on_cpu():
            turned = [tap.turned(w) for tap, w in zip(self.step.taps, weights, strict=True)]

        def small():
            """The small constants, one copy per row of the batch if their cotangents need it."""
            return [
                jnp.broadcast_to(x, (rows, *x.shape[1:])) if rows and move else x
                for x, move in zip(inputs.small, moving.small, strict=True)
            ]

        totals = [
            jnp.zeros_like(x) if move else None
            for x, move in zip(small(), moving.small, strict=True)
        ]
        always = [x is not None for x in like]

        def body(carry, x):
            c_state, totals = carry
            state, u, value, c_y = x
            moves = (moving.small, always, moving.us)
            pull = self._pull(weights, (small(), state, u), moves, value, c_y, turned)
            (c_small, c_state, c_u), errors = pull(c_state)
            totals = jax.tree.map(jnp.add, totals, c_small)
            lean = _round(self.compute)
            kept = (lean(c_u), lean(errors), errors if any(moving.taps) else [])
            return (c_state, totals), kept

        xs = (states, inputs.us, values, list(cotangents[count:]))
        scan = self._scan(body, (c_state, totals), xs, against=True)
        (c_state, totals), (c_us, lean, errors) = choice.run(scan)
        if rows:
            totals = jax.tree.map(lambda x: jnp.sum(x, axis=0, keepdims=True), totals)
        c_us = [
            None if c is None else c.astype(u.dtype) for c, u in zip(c_us, inputs.us, strict=True)
        ]
        c_weights = [
            tap.gather(v, error, self.compute) if move else None
            for tap, v, error, move in zip(self.step.taps, vs, lean, moving.weights, strict=True)
        ]
        c_state = [c if move else None for c, move in zip(c_state, moving.state, strict=True)]
        c_taps = [e if move else None for e, move in zip(errors, moving.taps, strict=False)]
        return Inputs(c_weights, totals, c_state, c_us, c_taps)

    def _pull(self, weights, constants, moving, value, c_y, turned):
        """The cotangents of a step as a function of that of its new state."""
        varied, step = self._known(weights, constants, moving, value, turned=turned)
        (_, y), pull = jax.vjp(step, varied, self._zero_offsets())
        given = iter(c_y)
        c_y = [None if out is None else _or_zeros(next(given), out) for out in y]
        return lambda c_state: pull((c_state, c_y))

    def _rows_of_totals(self, inputs: Inputs, moving: list) -> tuple[Choice, int]:
        """The backend of the cotangent scan, and how many rows the totals in it have.

        A total is the cotangent of a small constant, summed over time. A backend that computes the
        rows of a batch apart needs a total per row, summed afterwards; the constant itself must
        then be one row `(1, units)`. In all other cases the totals have the constants' own shapes,
        and the number of rows is 0.
        """
        if not self.choice.backend.splits_batch or not any(moving):
            return self.choice, 0
        if all(x.ndim == 2 and len(x) == 1 for x, m in zip(inputs.small, moving, strict=True) if m):
            return self.choice, inputs.state[0].shape[0]
        self.choice.refuse("a constant of the step that learns is not one row of numbers")
        return Choice(SCAN, required=False), 0

    def slopes(self, inputs: Inputs) -> list:
        """See `slopes_through_time`."""
        _, _, (states, _, values) = self.forward(inputs, save=True)
        weights = self._cast(inputs.weights)

        def at(state, u, value):
            constants = (inputs.small, state, u)
            still, step = self._known(
                weights, constants, jax.tree.map(lambda _: False, constants), value
            )
            new, pull = jax.vjp(lambda offsets: step(still, offsets)[0], self._zero_offsets())
            zeros = [jnp.zeros_like(x) for x in jax.tree.leaves(new)]
            tree = jax.tree.structure(new)
            total = self._zero_offsets()
            for i, x in enumerate(zeros):
                for unit in (1, 1j) if jnp.iscomplexobj(x) else (1,):
                    ones = jax.tree.unflatten(tree, [*zeros[:i], x + unit, *zeros[i + 1 :]])
                    total = [a + b**2 for a, b in zip(total, pull(ones)[0], strict=True)]
            return [jnp.sqrt(x) for x in total]

        return jax.vmap(at)(states, inputs.us, values)

    def _known(self, weights, constants, moving, values, d_weights=None, turned=None):
        """The step for differentiation: each product's value is known from the forward scan.

        Args:
            weights: of the products.
            constants: `(small constants, state, u)` of the step.
            moving: which of these are differentiated, booleans in the same structure.
            values: the value of each product at this time.
            d_weights: tangents of the weights, to be joined to each product's tangent, or `None`.
            turned: the weights transposed, for the cotangents of the products, or `None`.

        Returns:
            The constants that move (`None` for the others), and a function
            `step(moving constants, offsets) -> (new state, outputs)`. Its value costs no product;
            its derivative costs one product for each `v @ R`.
        """
        varied, fixed = eqx.partition(constants, moving)
        d_weights = d_weights or [None for _ in weights]
        turned = turned or [None for _ in weights]

        def step(varied, offsets):
            small, state, u = eqx.combine(varied, fixed)

            def product(j, v, weight, addend):
                known = values[j].astype(self.step.taps[j].shape.dtype)
                given = known, offsets[j], d_weights[j], turned[j]
                return self._known_product(j, v, weight, addend, *given)

            new, y = self._step(weights, small, state, u, product)
            return _floats(new), _floats(y)

        return varied, step

    def _known_product(self, j, v, weight, addend, value, offset, d_weight, turned):
        """A product whose value is known: only its derivative costs anything.

        value     the known one
        tangent   dv @ R (+ v @ dR if `d_weight` is given) + d addend + d offset
        """
        tap, compute = self.step.taps[j], self.compute

        @jax.custom_jvp
        def known(v, weight, addend, value, offset, d_weight, turned):
            return value

        def derivative(primals, tangents):
            v, weight, _, value, _, d_weight, turned = primals
            if d_weight is not None:
                change = tap.change(v, tangents[0], weight, d_weight)
                return value, _add(_add(change, tangents[2]), tangents[4])

            def back(residuals, cotangents):
                if turned is None:
                    return [tap.back(cotangents[0], residuals[0], compute)]
                return [tap.back_turned(cotangents[0], residuals[1])]

            (change,) = paired(
                lambda residuals, arguments: [tap.value(arguments[0], residuals[0], compute)],
                back,
                [weight] if turned is None else [weight, turned],
                [tangents[0]],
            )
            return value, self._rounding_errors(_add(_add(change, tangents[2]), tangents[4]))

        known.defjvp(derivative)
        return known(v, weight, addend, value, offset, d_weight, turned)

    def _rounding_errors(self, change):
        """`change`; the error that comes back through it is rounded to `compute`.

        The barrier makes the rounded error a value of its own, which the product and the stack
        of errors both read, instead of a computation that the compiler repeats for each.
        """
        if self.compute is None:
            return change

        def pull(_, errors):
            rounded = jax.lax.optimization_barrier(errors[0].astype(self.compute))
            return [rounded.astype(errors[0].dtype)]

        return paired(lambda _, changes: list(changes), pull, [], [change])[0]

    def _step(self, weights, small, state, u, product) -> tuple[list, list]:
        values = [None] * len(weights)

        def noted(j, *operands):
            values[j] = product(j, *operands)
            return values[j]

        new, y = self.step.run(weights, small, (state, u), noted)
        return jax.tree.leaves(new), jax.tree.leaves(y) + (values if self.watch else [])

    def _zero_offsets(self) -> list:
        return [zeros_of(tap.shape) for tap in self.step.taps]

    def _cast(self, weights):
        return weights if self.compute is None else [w.astype(self.compute) for w in weights]

    def _scan(self, body, carry, xs, against: bool = False) -> Scan:
        """A scan in the direction of the run, or against it."""
        return Scan(body, carry, xs, self.reverse != against, self.unroll, self.on_failure)


def _round(dtype):
    """Cast the real arrays of a list, the same only once, so that it is also stacked only once."""
    done: dict[int, jax.Array] = {}

    def cast(x):
        if dtype is None or not jnp.issubdtype(x.dtype, jnp.floating):
            return x
        return done.setdefault(id(x), x.astype(dtype))

    return lambda arrays: jax.tree.map(cast, arrays)


def is_float(x) -> bool:
    return jnp.issubdtype(x.dtype, jnp.inexact)


def _floats(leaves: list) -> list:
    return [x if is_float(x) else None for x in leaves]


def where_given(tree):
    return jax.tree.map(lambda x: x is not None, tree, is_leaf=lambda x: x is None)


def _or_zeros(x, like):
    return jnp.zeros_like(like) if x is None else x


def _add(x, y):
    if x is None or y is None:
        return y if x is None else x
    return x + y


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

        moved = [jax.typeof(x) for x in jax.tree.leaves((state, ys)) if is_float(x)]
        flat = iter(paired(push, pull, residuals, arguments, moved))
        out = jax.tree.map(lambda x, zero: next(flat) if is_float(x) else zero, (state, ys), still)
        return (state, ys), out

    run.defjvp(differentiate, symbolic_zeros=True)
    return run(inputs)


def slopes_through_time(step: Step, inputs: Inputs, *, reverse: bool, compute, unroll: int):
    """For each product and time, how much its value moves the state of that step alone.

    Element p of a value has the slope `√Σ_s (Σ_i ∂s_i / ∂a_p)²`, over the arrays s of the new
    state and their units i; where the step is elementwise, one unit only depends on `a_p`. The real
    and the imaginary part of a complex array count as two. What goes by way of another product is
    left out. For `h = tanh(a)` it is `1 - h²`.
    """
    engine = Engine(step, inputs, reverse=reverse, compute=compute, unroll=unroll)
    return engine.slopes(inputs)


def _is_symbolic_zero(x) -> bool:
    return isinstance(x, SymbolicZero)


def _tangent_or_none(change, x):
    return None if _is_symbolic_zero(change) or not is_float(x) else change
