"""Evaluating the equations of a traced function one by one.

`env` is a dictionary from variables to values.
"""

from collections.abc import Sequence

from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal

CALLS = ("jit", "pjit", "closed_call", "core_call")
# The parameter that holds the called function; of all but `CALLS` the derivative is another's.
BODIES = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "checkpoint": "jaxpr",
    "remat2": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
}


def called(equation: JaxprEqn) -> ClosedJaxpr | None:
    """The function that an equation calls, whatever its derivative; `None` if it is no call."""
    name = equation.primitive.name
    body = equation.params[BODIES[name]] if name in BODIES else None
    return ClosedJaxpr(body, ()) if isinstance(body, Jaxpr) else body


def inline(jaxpr: Jaxpr, consts, args, calls: Sequence[str] = CALLS) -> list:
    """The outputs of a jaxpr, with every nested call of these names expanded in place."""
    env = dict(zip(jaxpr.constvars, consts, strict=True))
    env |= dict(zip(jaxpr.invars, args, strict=True))
    for equation in jaxpr.eqns:
        name, params = equation.primitive.name, equation.params
        if name in calls:
            operands = [read(env, v) for v in equation.invars]
            if name == "paired":
                count = params["count"]
                values = params["forward"](operands[:count], operands[count:])
            else:
                inner = params["jaxpr" if "jaxpr" in params else "call_jaxpr"]
                values = inline(inner.jaxpr, inner.consts, operands, calls)
            env |= dict(zip(equation.outvars, values, strict=True))
        else:
            evaluate(equation, env)
    return [read(env, var) for var in jaxpr.outvars]


def evaluate(equation: JaxprEqn, env: dict) -> None:
    """Compute an equation from the values in `env`, and add its results there."""
    params = equation.primitive.get_bind_params(equation.params)
    out = equation.primitive.bind(*(read(env, var) for var in equation.invars), **params)
    env.update(
        zip(equation.outvars, out if equation.primitive.multiple_results else [out], strict=True)
    )


def read(env: dict, var):
    """The value of a variable, or of a literal."""
    return var.val if isinstance(var, Literal) else env[var]
