"""The sums of a scan's body that are known before its first step."""

from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, Var

from ...step import evaluate, read
from ._body import aval_of, flat
from ._layout import REDUCTIONS


def sums_ahead(closed: ClosedJaxpr, carried: int, xs: list) -> tuple[ClosedJaxpr, list]:
    """The body of a scan with the known sums as further inputs, and its inputs with them.

    In the kernel of a derivative much of a step is known before the first one, such as the
    pre-activations of the forward pass. A sum over their units would be one more meeting of the
    programs at each step, so it is made for all times at once.

    Args:
        closed: the body, as `jax.make_jaxpr` makes it.
        carried: how many arrays are carried.
        xs: its inputs, time first.
    """
    jaxpr = flat(closed)
    given = len(closed.consts)
    carry = jaxpr.invars[given : given + carried]
    sums = _known_sums(jaxpr, carry)
    if not sums:
        return closed, xs

    def known(*x: Any) -> list:
        return _known(jaxpr, dict(zip(inputs, [*closed.consts, *x], strict=True)), sums)

    def step(before: Any, x: Any) -> list:
        env = dict(zip([*inputs, *sums], [*closed.consts, *x], strict=True))
        return _known(jaxpr, env | dict(zip(carry, before, strict=True)), jaxpr.outvars)

    inputs = [v for v in jaxpr.invars if v not in set(carry)]
    xs = [*xs, *jax.vmap(known)(*xs)]
    one = [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in xs]
    state = [jax.ShapeDtypeStruct(aval_of(v).shape, aval_of(v).dtype) for v in carry]
    return jax.make_jaxpr(step)(state, one), xs


def _known_sums(jaxpr: Jaxpr, carry: list[Var]) -> list[Var]:
    """The sums over units that do not depend on the carry."""
    unknown, inner = set(carry), []
    for equation in jaxpr.eqns:
        operand: Any = equation.invars[0] if equation.invars else None
        if any(v in unknown for v in equation.invars if not isinstance(v, Literal)):
            unknown.update(equation.outvars)
        elif equation.primitive.name in REDUCTIONS and aval_of(operand).ndim == 2:
            if tuple(equation.params["axes"]) == (1,) and aval_of(operand).shape[1] > 1:
                inner.append(equation.outvars[0])
    return inner


def _known(jaxpr: Jaxpr, env: dict[Any, Any], wanted: list) -> list:
    """The wanted variables, of what can be found from those that are known."""
    for equation in jaxpr.eqns:
        needed = [v for v in equation.invars if not isinstance(v, Literal)]
        if all(v in env for v in needed) and not all(v in env for v in equation.outvars):
            evaluate(equation, env)
    return [read(env, v) for v in wanted]
