"""Evaluating the equations of a traced function one by one.

`env` is a dictionary from variables to values.
"""

from collections.abc import Sequence

from jax.extend.core import Jaxpr, JaxprEqn, Literal

CALLS = ("jit", "pjit", "closed_call", "core_call")


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
