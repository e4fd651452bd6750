"""The body of a scan as plain equations: no calls, nothing unused, constants apart.

constants only        -> done once, before the first step    `Body.prepare`
everything else       -> done at each step                   `Body.equations`
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

from .._step import _evaluate, _read

_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr"}
_CALLS |= {"custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "remat2": "jaxpr"}


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
            _evaluate(equation, env)
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
    jaxpr, given = _opened(closed), len(closed.consts)
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


def _opened(closed: ClosedJaxpr) -> Jaxpr:
    """The same without calls, those within calls included; constants are its first inputs."""
    avals = [aval_of(v) for v in closed.jaxpr.constvars]
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals]
    count = len(shapes)

    def run(*args):
        return _evaluated(closed.jaxpr, args[:count], args[count:])

    found = jax.make_jaxpr(run)(*shapes, *closed.in_avals)
    while any(e.primitive.name in _CALLS or e.primitive.name == "paired" for e in found.eqns):

        def again(*args, found=found):
            return _evaluated(found.jaxpr, found.consts, args)

        found = jax.make_jaxpr(again)(*found.in_avals)
    if found.consts:
        raise ValueError("the step of a scan must not hold arrays of its own")
    return found.jaxpr


def _evaluated(jaxpr: Jaxpr, consts, args) -> list:
    env = dict(zip(jaxpr.constvars, consts, strict=True))
    env |= dict(zip(jaxpr.invars, args, strict=True))
    for equation in jaxpr.eqns:
        name, params = equation.primitive.name, equation.params
        operands = [_read(env, var) for var in equation.invars]
        if name in _CALLS:
            inner = params[_CALLS[name]]
            values = _evaluated(inner.jaxpr, inner.consts, operands)
            env |= dict(zip(equation.outvars, values, strict=True))
        elif name == "paired":
            count = params["count"]
            values = params["forward"](operands[:count], operands[count:])
            env |= dict(zip(equation.outvars, values, strict=True))
        else:
            _evaluate(equation, env)
    return [_read(env, var) for var in jaxpr.outvars]
