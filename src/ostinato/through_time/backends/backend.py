"""What a backend is: a way to run a scan, which says what it can do.

The plain one is `jax.lax.scan`, but each value is stacked only once.

A step often returns the same value under two names (an LSTM's state before the step is also the
input of its product; the error at a pre-activation is also the cotangent of the projected input).
`lax.scan` would write both to memory; this writes one and returns it twice, and hands back an
input that is merely passed through without copying it.
"""

import abc
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
from jax.extend.core import Literal, jaxpr_as_fun

from ...errors import BadInput
from ..mesh_axes import at_one_time, varying_along, varying_axes


class Unfit(BadInput):
    """A backend that was asked for cannot run a scan; the message says why."""


class Scan(NamedTuple):
    """A scan to be run: `jax.lax.scan(body, carry, xs, reverse=reverse, unroll=unroll)`.

    Attributes:
        body, carry, xs, reverse, unroll: as for `jax.lax.scan`.
        on_failure: what to do if a launch fails while it runs, `"scan"` or `"nan"`; see `unroll`.
    """

    body: Callable[[Any, Any], tuple[Any, Any]]
    carry: Any
    xs: Any
    reverse: bool
    unroll: int
    on_failure: str


class Offer(NamedTuple):
    """A backend's answer to a scan: how to run it, or the reason why not.

    Attributes:
        run: runs the scan and returns the last carry and the stacked outputs; `None` if refused.
        reason: why the scan is refused, in words that complete "refused because".
    """

    run: Callable[[], tuple[Any, Any]] | None
    reason: str = ""


class Backend(abc.ABC):
    """A way to run the engine's scans. One object per backend, in the list `backends.BY_NAME`.

    Attributes:
        name: what `unroll(..., backend=name)` calls it.
        splits_batch: whether the rows of a batch are computed apart from each other, so that
            nothing can be summed over them inside the scan.
    """

    name: str
    splits_batch: bool = False

    @abc.abstractmethod
    def is_default(self) -> bool:
        """Whether it is tried first on this machine, if the user names no backend."""

    @abc.abstractmethod
    def offer(self, scan: Scan, required: bool) -> Offer:
        """How to run a scan, or why not.

        Args:
            scan: what to run. It is only traced here.
            required: the user named this backend; otherwise it also refuses where it is slower.
        """


class PlainScan(Backend):
    """JAX's own scan, which runs anything anywhere."""

    name = "scan"

    def is_default(self) -> bool:
        return True

    def offer(self, scan: Scan, required: bool = True) -> Offer:
        run = partial(lean_scan, scan.body, scan.carry, scan.xs)
        return Offer(partial(run, reverse=scan.reverse, unroll=scan.unroll))


def steps_at_once(xs: Any, unroll: int = 1) -> int:
    """How many steps an iteration of a compiled loop over `xs` has: where there are two, both.

    XLA 0.10 makes wrong code on a CPU for loops of two steps over two sequences with lengths.
    """
    return 2 if len(jax.tree.leaves(xs)[0]) == 2 else unroll


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
    closed, (_, y_shape) = jax.make_jaxpr(body, return_shape=True)(carry, at_one_time(xs))

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
        state = [
            varying_along(varying_axes(old), new) for old, new in zip(carry, out, strict=False)
        ]
        return state, [out[count + position] for position in kept.values()]

    at_once = steps_at_once(x_leaves, unroll)
    carry_leaves, ys = jax.lax.scan(lean, carry_leaves, x_leaves, reverse=reverse, unroll=at_once)
    values = dict(zip(kept, ys, strict=True))
    full = [x_leaves[passed[id(v)]] if id(v) in passed else values[id(v)] for v in stacked]
    return (
        jax.tree.unflatten(carry_tree, carry_leaves),
        jax.tree.unflatten(jax.tree.structure(y_shape), full),
    )
