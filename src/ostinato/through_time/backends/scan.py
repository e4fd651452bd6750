"""The plain scan: `jax.lax.scan`, but each value is stacked only once.

A step often returns the same value under two names (an LSTM's state before the step is also the
input of its product; the error at a pre-activation is also the cotangent of the projected input).
`lax.scan` would write both to memory; this writes one and returns it twice, and hands back an
input that is merely passed through without copying it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
from jax.extend.core import Literal, jaxpr_as_fun

from .backend import Backend, Offer, Scan


class PlainScan(Backend):
    """JAX's own scan, which runs anything anywhere."""

    name = "scan"

    def is_default(self) -> bool:
        return True

    def offer(self, scan: Scan, required: bool = True) -> Offer:
        run = partial(lean_scan, scan.body, scan.carry, scan.xs)
        return Offer(partial(run, reverse=scan.reverse, unroll=scan.unroll))


def lean_scan(
    body: Callable[[Any, Any], tuple[Any, Any]],
    carry: Any,
    xs: Any,
    *,
    reverse: bool = False,
    unroll: int = 1,
) -> tuple[Any, Any]:
    """`jax.lax.scan(body, carry, xs, reverse=reverse, unroll=unroll)`, stacking nothing twice."""
    carry_leaves, carry_tree = jax.tree.flatten(carry)
    x_leaves, _ = jax.tree.flatten(xs)
    one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), xs)
    closed, (_, y_shape) = jax.make_jaxpr(body, return_shape=True)(carry, one)

    count = len(carry_leaves)
    stacked = closed.jaxpr.outvars[count:]
    passed = {id(var): i for i, var in enumerate(closed.jaxpr.invars[count:])}
    kept: dict[int, int] = {}
    for position, var in enumerate(stacked):
        if isinstance(var, Literal) or (id(var) not in passed and id(var) not in kept):
            kept[id(var)] = position

    evaluate = jaxpr_as_fun(closed)

    def lean(carry: list, x: list) -> tuple[list, list]:
        out = evaluate(*carry, *x)
        return out[:count], [out[count + position] for position in kept.values()]

    carry_leaves, ys = jax.lax.scan(lean, carry_leaves, x_leaves, reverse=reverse, unroll=unroll)
    found = dict(zip(kept, ys, strict=True))
    full = [x_leaves[passed[id(v)]] if id(v) in passed else found[id(v)] for v in stacked]
    return (
        jax.tree.unflatten(carry_tree, carry_leaves),
        jax.tree.unflatten(jax.tree.structure(y_shape), full),
    )
