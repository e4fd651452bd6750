"""A linear map that carries its own transpose.

`paired(forward, backward, residuals, arguments)` evaluates
`forward(residuals, arguments)`, linear in `arguments`. When JAX needs the
transpose, it gets `backward(residuals, cotangents)` instead of one derived
mechanically, so that both directions can be shaped by hand:

    forward  : residuals, arguments  -> outputs
    backward : residuals, cotangents -> argument cotangents

All four are flat lists of arrays. `backward` receives `None` for an output
whose cotangent is known to be zero.

This is `jax.custom_derivatives.linear_call` with the two rules that it lacks:
`vmap` works, and so does differentiating with respect to the residuals (through
the plain code of `forward` or `backward`), which is what makes second
derivatives exact.

Example:
    >>> halve = lambda res, args: [args[0] / res[0]]
    >>> paired(halve, halve, [2.0], [jnp.float32(3.0)])
    [Array(1.5, dtype=float32)]
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, JaxprEqn, Primitive, mapped_aval, unmapped_aval
from jax.interpreters import ad, batching, mlir

Arrays = list[jax.Array]
Linear = Callable[[Sequence, Sequence], Arrays]

_paired_p = Primitive("paired")
_paired_p.multiple_results = True


def paired(
    forward: Linear,
    backward: Linear,
    residuals: Sequence,
    arguments: Sequence,
    outputs: Sequence | None = None,
) -> Arrays:
    """`forward(residuals, arguments)`, transposed by `backward`. See the module's docstring.

    `outputs` are the types of the outputs. If they are given, JAX need not trace `forward` whenever
    it asks for them.
    """
    operands = [*residuals, *arguments]
    known = None if outputs is None else (_types(map(jax.typeof, operands)), _types(outputs))
    return _paired_p.bind(
        *operands, forward=forward, backward=backward, count=len(residuals), known=known
    )


def forward_of(equation: JaxprEqn) -> ClosedJaxpr:
    """What an equation of `paired` computes, as an expression."""
    avals: list[Any] = [x.aval for x in equation.invars]
    return jax.make_jaxpr(lambda *operands: _call(*operands, **equation.params))(*avals)


def _types(avals: Iterable) -> tuple:
    """Types of arrays, none of them weak."""
    return tuple(aval.update(weak_type=False) for aval in avals)


def _call(*operands, forward, count, **_):
    return forward(operands[:count], operands[count:])


def _shapes(*avals, known, **params):
    """What is known holds for the shapes that it was given for; the engine may bind others."""
    if known is not None and known[0] == _types(avals):
        return list(known[1])
    outputs = jax.eval_shape(lambda *operands: _call(*operands, **params), *avals)
    return list(_types(map(jax.typeof, outputs)))


def _differentiate(operands, tangents, **params):
    count = params["count"]
    if all(type(tangent) is ad.Zero for tangent in tangents[:count]):
        arguments = [ad.instantiate_zeros(tangent) for tangent in tangents[count:]]
        return (
            _paired_p.bind(*operands, **params),
            _paired_p.bind(*operands[:count], *arguments, **params),
        )
    tangents = [ad.instantiate_zeros(tangent) for tangent in tangents]
    return jax.jvp(lambda *operands: _call(*operands, **params), tuple(operands), tuple(tangents))


def _transpose(cotangents, *operands, forward, backward, count, known):
    alive = [type(cotangent) is not ad.Zero for cotangent in cotangents]

    def pull(residuals, given):
        given = iter(given)
        return backward(residuals, [next(given) if keep else None for keep in alive])

    def push(residuals, arguments):
        outputs = forward(residuals, arguments)
        return [out for out, keep in zip(outputs, alive, strict=True) if keep]

    given = [cotangent for cotangent, keep in zip(cotangents, alive, strict=True) if keep]
    residuals, arguments = operands[:count], [x.aval for x in operands[count:]]
    return [None] * count + paired(pull, push, residuals, given, arguments)


def _batch(operands, axes, *, forward, backward, count, known):
    size = next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)
    # Arguments without the batch axis get one, so that the transpose has it for all of them.
    arguments = [
        jnp.broadcast_to(x, (size, *x.shape)) if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(operands[count:], axes[count:], strict=True)
    ]

    def over_batch(linear):
        def batched(residuals, given):
            # A `None` among the cotangents is an empty pytree: vmap passes it through.
            return jax.vmap(linear, in_axes=(tuple(axes[:count]), 0))(tuple(residuals), list(given))

        return batched

    types = [
        type_ if axis is None else mapped_aval(size, axis, type_)
        for type_, axis in zip(_types(map(jax.typeof, operands)), axes, strict=True)
    ]
    single = _shapes(*types, forward=forward, count=count, known=known)
    outputs = [unmapped_aval(size, 0, type_) for type_ in single]
    pair = over_batch(forward), over_batch(backward)
    return paired(*pair, operands[:count], arguments, outputs), [0] * len(outputs)


_paired_p.def_impl(_call)
_paired_p.def_abstract_eval(_shapes)
ad.primitive_jvps[_paired_p] = _differentiate
ad.primitive_transposes[_paired_p] = _transpose
batching.primitive_batchers[_paired_p] = _batch
mlir.register_lowering(_paired_p, mlir.lower_fun(_call, multiple_results=True))
