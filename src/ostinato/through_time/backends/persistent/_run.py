"""Runs a scan as a persistent kernel, with the plain scan as fallback.

To JAX the kernel is one primitive. The scan that it replaces takes over for whatever the kernel
cannot do: its derivatives (only second derivatives need them, the engine's rule does not), `vmap`
of a kernel whose programs wait for each other, devices other than a GPU, arrays that lie on several
of them, and failed launches.
"""

import dataclasses
import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir

from ...mesh_axes import varying_axes
from ..backend import Backend, Offer, Scan, Unfit, lean_scan
from ._body import Body, aval_of, take_body
from ._fit import Fit, fit, measured_gpu, multiprocessors, pays
from ._layout import Layout, lay_out
from ._plan import Plan, make_plan
from ._sums_ahead import sums_ahead


@dataclasses.dataclass(frozen=True)
class Traced:
    """The traced body of a scan.

    Attributes:
        jaxpr: as JAX traced it: `(constants, carry, x) -> (carry, y)`.
        body, layout: the same in the form that a kernel needs.
        kept: the outputs to store, without duplicates and without those that are inputs.
    """

    jaxpr: Jaxpr
    body: Body
    layout: Layout
    kept: tuple


@dataclasses.dataclass(frozen=True, eq=False)
class Call:
    """The static parameters of a scan run as a kernel.

    Attributes:
        traced, fit: the step, and the sizes of its kernel.
        reverse: run from the last step to the first.
        unroll: steps per iteration of the plain scan, if it takes over.
        interpret: interpret the kernel as plain operations, on any device.
        on_failure: what to do if a launch fails, `"scan"` or `"nan"`.
        forced: use the kernel even where the scan would be chosen.
        mapped: for each enclosing `vmap`, the mapped axes of the operands.
    """

    traced: Traced
    fit: Fit
    reverse: bool
    unroll: int
    interpret: bool
    on_failure: str
    forced: bool
    mapped: tuple[tuple, ...] = ()

    def under_maps(self, function):
        """The function inside all enclosing `vmap`s."""
        for axes in self.mapped:
            function = jax.vmap(function, in_axes=axes)
        return function


def persistent_scan(body, carry, xs, **options):
    """Run a scan as a persistent kernel; the arguments are those of `prepare_scan`."""
    return prepare_scan(body, carry, xs, **options)()


def prepare_scan(
    body,
    carry,
    xs,
    *,
    reverse: bool,
    unroll: int = 1,
    forced: bool = True,
    on_failure: str = "scan",
    fitted: Fit | None = None,
) -> Callable[[], tuple[Any, Any]]:
    """A function that runs `jax.lax.scan(body, carry, xs, reverse=reverse)` as a kernel.

    Args:
        body, carry, xs, reverse: as for `jax.lax.scan`.
        unroll: steps per iteration of the plain scan, if it takes over.
        forced: use the kernel even if the scan is faster.
        on_failure: what to do if a launch fails: `"scan"` repeats the work with the plain scan;
            `"nan"` returns the kernel's results, which are NaN from the failed step on.
        fitted: sizes of a kernel to interpret on any device, for tests.

    Raises:
        Unfit: the scan cannot run as a kernel; the message says why.
    """
    if varying_axes((carry, xs)):
        raise Unfit("a kernel has no mesh axes, which jax.shard_map(check_vma=False) does without")
    leaves, carry_tree = jax.tree.flatten(carry)
    inputs = jax.tree.leaves(xs)
    one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), xs)
    closed, (_, y_shape) = jax.make_jaxpr(body, return_shape=True)(carry, one)
    closed, inputs = sums_ahead(closed, len(leaves), inputs)
    traced = trace(closed, len(leaves))
    if fitted is None:
        if (cores := multiprocessors()) == 0:
            raise Unfit(f"persistent kernels run on a GPU, and this is {jax.default_backend()}")
        sizes = fit(traced.body, traced.layout, cores)
        if not forced and not pays(sizes, traced.layout):
            raise Unfit("the scan is faster")
    else:
        sizes = fitted
    call = Call(traced, sizes, reverse, unroll, fitted is not None, on_failure, forced)

    def run():
        out = _persistent_p.bind(*closed.consts, *leaves, *inputs, call=call)
        return (
            jax.tree.unflatten(carry_tree, out[: len(leaves)]),
            jax.tree.unflatten(jax.tree.structure(y_shape), out[len(leaves) :]),
        )

    return run


def trace(closed: ClosedJaxpr, carried: int) -> Traced:
    """Prepare the body of a scan for a kernel, or raise `Unfit`."""
    if not carried:
        raise Unfit("the step has no state")
    body = take_body(closed, carried)
    for var in (*body.carry, *body.new_carry, *body.ys):
        if isinstance(var, Literal) or not var.aval.shape:
            raise Unfit("a state or an output is a single number")
    layout = lay_out(body, aval_of(body.carry[0]).shape[0])
    inputs = set(body.xs)
    kept = tuple(dict.fromkeys(v for v in body.ys if v not in inputs))
    return Traced(closed.jaxpr, body, layout, kept)


class KernelParts(NamedTuple):
    """What a scan that runs as a kernel has to do.

    Attributes:
        steps: of the scan.
        products: at each step, for all sequences and units.
        share: of the operations of a step that the busiest program does, with the rows that it
            fills up.
        exchanges: how often programs wait for each other at each step.
        read: bytes that a program reads of what others hand out, at each step.
        looks: how often the host looks whether a launch has failed, for all steps.
        stacked: the arrays of all steps that are read and written.
    """

    steps: int
    products: list[JaxprEqn]
    share: float
    exchanges: int
    read: int
    looks: int
    stacked: list[Any]


def kernel_of(equation: JaxprEqn) -> KernelParts:
    """What an equation of a scan that runs as a kernel has to do."""
    call: Call = equation.params["call"]
    traced, sizes = call.traced, call.fit
    _, carry, xs = _parts(call, equation.invars)
    plan = make_plan(traced.body, traced.layout, sizes.programs, sizes.rows)
    rows = traced.layout.batch
    launches = -(-rows // sizes.batch)
    return KernelParts(
        xs[0].aval.shape[0],
        plan.products,
        launches * sizes.rows / (rows * sizes.programs),
        launches * (len(plan.stages) - 1),
        launches * plan.read,
        int(call.on_failure == "scan" and not plan.alone),
        [*xs, *equation.outvars[len(carry) :]],
    )


def _parts(call: Call, operands) -> tuple[list, list, list]:
    first = call.traced.body.given
    second = first + call.traced.body.carried
    return list(operands[:first]), list(operands[first:second]), list(operands[second:])


def _plain(*operands, call: Call, unroll: int = 1):
    """The plain scan that the kernel replaces."""
    return call.under_maps(functools.partial(_one_plain, call=call, unroll=unroll))(*operands)


def _one_plain(*operands, call: Call, unroll: int):
    constants, carry, xs = _parts(call, operands)
    step = jaxpr_as_fun(ClosedJaxpr(call.traced.jaxpr, constants))

    def body(carry, x):
        out = step(*carry, *x)
        return out[: len(carry)], out[len(carry) :]

    carry, ys = lean_scan(body, carry, xs, reverse=call.reverse, unroll=unroll)
    return [*carry, *ys]


def _by_kernel(*operands, call: Call):
    """Run the kernel; under `vmap`, only if its programs do not wait for each other."""
    if call.mapped and call.fit.programs > 1:
        return _plain(*operands, call=call, unroll=call.unroll)
    return call.under_maps(functools.partial(_one_kernel, call=call))(*operands)


def _one_kernel(*operands, call: Call):
    """Run the kernel once, in several launches if the batch is too large for one."""
    from . import _kernel  # its compiler is not available on every platform

    traced, sizes = call.traced, call.fit
    constants, carry, xs = _parts(call, operands)
    body = traced.body
    known = body.prepare(constants)
    results, fine = [], []
    for start in range(0, traced.layout.batch, sizes.batch):
        stop = min(start + sizes.batch, traced.layout.batch)
        layout = Layout(stop - start, traced.layout.cuts)
        plan = make_plan(body, layout, sizes.programs, sizes.rows)
        part = _rows(plan, known, start, stop, traced.layout.batch)
        final, kept, well = _kernel.run_kernel(
            plan,
            part,
            [x[start:stop] for x in carry],
            [x[:, start:stop] for x in xs],
            traced.kept,
            reverse=call.reverse,
            interpret=call.interpret,
            warps=sizes.warps,
        )
        results.append((final, kept))
        fine += [] if well is None else [well]
    final, kept = (
        [jnp.concatenate(x, axis) if len(x) > 1 else x[0] for x in zip(*parts, strict=True)]
        for axis, parts in enumerate(zip(*results, strict=True))
    )
    if fine and call.on_failure == "scan":
        final, kept = jax.lax.cond(
            functools.reduce(jnp.logical_and, fine),
            lambda: (final, kept),
            lambda: _stored(_failed(*operands, call=call), call),
        )
    value = dict(zip(body.xs, xs, strict=True)) | dict(zip(traced.kept, kept, strict=True))
    return [*final, *(value[v] for v in body.ys)]


def _rows(plan: Plan, known: dict, start: int, stop: int, batch: int) -> dict[Any, jax.Array]:
    """The constants for some rows of the batch; weights and most others have no batch axis."""
    weights = {e.invars[1] for e in plan.products}
    return {
        v: x[start:stop] if v not in weights and x.ndim == 2 and len(x) == batch else x
        for v, x in known.items()
    }


def _stored(out: list, call: Call) -> tuple[list, list]:
    """The final carry of a scan and the outputs to store, as a kernel returns them."""
    body = call.traced.body
    value = dict(zip(body.ys, out[body.carried :], strict=True))
    return out[: body.carried], [value[v] for v in call.traced.kept]


def _failed(*operands, call: Call) -> list:
    """The plain scan, with a warning.

    The warning is a pure callback that returns 0, which is added to all results so that it runs. An
    effect instead would make every call of the compiled function take a slow path through Python.
    """
    zero = jax.pure_callback(_warned, jax.ShapeDtypeStruct((), jnp.int32))
    return [x + zero.astype(x.dtype) for x in _plain(*operands, call=call)]


def _warned() -> np.ndarray:
    warnings.warn(
        "a persistent kernel gave up waiting for its programs; the scan was used instead",
        RuntimeWarning,
        stacklevel=2,
    )
    return np.zeros((), np.int32)


def _shapes(*avals, call: Call):
    structs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals]
    shapes = jax.eval_shape(functools.partial(_plain, call=call), *structs)
    return [jax.core.ShapedArray(x.shape, x.dtype) for x in shapes]


def _differentiate(operands, tangents, *, call: Call):
    tangents = [ad.instantiate_zeros(tangent) for tangent in tangents]
    plain = functools.partial(_plain, call=call, unroll=call.unroll)
    return jax.jvp(plain, tuple(operands), tuple(tangents))


def _batch(operands, axes, *, call: Call):
    axes = tuple(axis if isinstance(axis, int) else None for axis in axes)
    call = dataclasses.replace(call, mapped=(*call.mapped, axes))
    out = _persistent_p.bind(*operands, call=call)
    return out, [0] * len(out)


def _elsewhere(*operands, call: Call):
    """On devices other than a GPU."""
    return _by_kernel(*operands, call=call) if call.interpret else _plain(*operands, call=call)


def _on_gpu(context: mlir.LoweringRuleContext, *operands: Any, call: Call) -> Any:
    """A kernel, unless the program may divide the arrays among several GPUs, as a scan can be.

    Within `jax.shard_map` each GPU has arrays of its own, so the program is one for a mesh.
    """
    several = getattr(context.module_context.axis_context, "num_devices", 1) > 1
    function = _plain if several and not call.forced else _by_kernel
    return mlir.lower_fun(function, multiple_results=True)(context, *operands, call=call)


_persistent_p = Primitive("persistent")
_persistent_p.multiple_results = True
_persistent_p.def_impl(_elsewhere)
_persistent_p.def_abstract_eval(_shapes)
ad.primitive_jvps[_persistent_p] = _differentiate
batching.primitive_batchers[_persistent_p] = _batch
mlir.register_lowering(_persistent_p, mlir.lower_fun(_elsewhere, multiple_results=True))
mlir.register_lowering(_persistent_p, _on_gpu, platform="cuda")


class Persistent(Backend):
    """One GPU kernel for all steps, whose programs share the units or the rows of the batch."""

    name = "persistent"
    splits_batch = True

    def is_default(self) -> bool:
        return measured_gpu()

    def offer(self, scan: Scan, required: bool) -> Offer:
        try:
            run = prepare_scan(
                scan.body,
                scan.carry,
                scan.xs,
                reverse=scan.reverse,
                unroll=scan.unroll,
                forced=required,
                on_failure=scan.on_failure,
            )
        except Unfit as reason:
            return Offer(None, str(reason))
        return Offer(run)
