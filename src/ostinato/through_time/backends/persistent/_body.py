"""The body of a scan as plain equations: no calls, nothing unused, constants apart.

constants only        -> done once, before the first step    `Body.prepare`
everything else       -> done at each step                   `Body.equations`
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

from ...step import CALLS, evaluate, inline, read

# Nothing is differentiated any more, so that what has a derivative of its own is opened too.
OPENED = (*CALLS, "custom_jvp_call", "custom_vjp_call", "paired")


@dataclasses.dataclass(frozen=True)
class Body:
    """`(given, carry, x) -> (carry, y)` as equations.

    Attributes:
        jaxpr: all of it.
        given, carried: how many arrays do not change with time, and how many are carried.
        prologue: equations on constants alone.
        equations: those that are done at each step.
        constants: the variables that equations read and that do not change with time.
    """

    jaxpr: Jaxpr
    given: int
    carried: int
    prologue: list[JaxprEqn]
    equations: list[JaxprEqn]
    constants: list[Var]

    def prepare(self, given: Sequence) -> dict[Var, Any]:
        """The values of the constants."""
        env: dict[Any, Any] = dict(zip(self.jaxpr.invars[: self.given], given, strict=True))
        for equation in self.prologue:
            evaluate(equation, env)
        return {var: env[var] for var in self.constants}

    @property
    def carry(self) -> list[Var]:
        return self.jaxpr.invars[self.given : self.given + self.carried]

    @property
    def xs(self) -> list[Var]:
        return self.jaxpr.invars[self.given + self.carried :]

    @property
    def new_carry(self) -> list:
        return self.jaxpr.outvars[: self.carried]

    @property
    def ys(self) -> list:
        return self.jaxpr.outvars[self.carried :]


def aval_of(var: Any) -> Any:
    """Shape and dtype of a variable, which JAX's own types do not promise."""
    return var.aval


def take_body(closed: ClosedJaxpr, carried: int) -> Body:
    """The body of a scan, given as `jax.make_jaxpr` makes it."""
    jaxpr, given = flat(closed), len(closed.consts)
    needed = {var for var in jaxpr.outvars if not isinstance(var, Literal)}
    used: list[JaxprEqn] = []
    for equation in reversed(jaxpr.eqns):
        if needed.intersection(equation.outvars):
            used.append(equation)
            needed.update(v for v in equation.invars if not isinstance(v, Literal))
    changing = set(jaxpr.invars[given:])
    prologue: list[JaxprEqn] = []
    equations: list[JaxprEqn] = []
    for equation in reversed(used):
        moves = any(v in changing for v in equation.invars if not isinstance(v, Literal))
        # To spread a constant over the batch is left to the step, where it costs no memory.
        if moves or equation.primitive.name == "broadcast_in_dim":
            changing.update(equation.outvars)
            equations.append(equation)
        else:
            prologue.append(equation)
    read = [v for e in equations for v in e.invars] + list(jaxpr.outvars)
    constants = dict.fromkeys(v for v in read if not isinstance(v, Literal) and v not in changing)
    return Body(jaxpr, given, carried, prologue, equations, list(constants))


def flat(closed: ClosedJaxpr) -> Jaxpr:
    """The same without calls, and nothing done twice; constants are its first inputs."""
    return _once(_opened(closed))


def _opened(closed: ClosedJaxpr) -> Jaxpr:
    """The same without calls, those within calls included; constants are its first inputs."""
    avals = [aval_of(v) for v in closed.jaxpr.constvars]
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals]
    count = len(shapes)

    def run(*args):
        return inline(closed.jaxpr, args[:count], args[count:], OPENED)

    traced = jax.make_jaxpr(run)(*shapes, *closed.in_avals)
    while any(e.primitive.name in OPENED for e in traced.eqns):

        def again(*args, traced=traced):
            return inline(traced.jaxpr, traced.consts, args, OPENED)

        traced = jax.make_jaxpr(again)(*traced.in_avals)
    if traced.consts:
        raise ValueError("the step of a scan must not hold arrays of its own")
    return traced.jaxpr


def _once(jaxpr: Jaxpr) -> Jaxpr:
    """The same without what is done twice, so that it is also stored only once."""

    def run(*args):
        env: dict[Any, Any] = dict(zip(jaxpr.invars, args, strict=True))
        done: dict[Any, list] = {}
        for equation in jaxpr.eqns:
            operands = [
                (v.val, aval_of(v).dtype) if isinstance(v, Literal) else id(env[v])
                for v in equation.invars
            ]
            params = {
                k: x for k, x in equation.params.items() if k not in ("new_dtype", "sharding")
            }
            made = [str(aval_of(v)) for v in equation.outvars]
            what = equation.primitive.name, str(params), str(operands), str(made)
            if what in done:
                env.update(zip(equation.outvars, done[what], strict=True))
            else:
                evaluate(equation, env)
                done[what] = [env[v] for v in equation.outvars]
        return [read(env, var) for var in jaxpr.outvars]

    avals = [aval_of(v) for v in jaxpr.invars]
    return jax.make_jaxpr(run)(*(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals)).jaxpr
