"""What it takes to keep only the states of every √T-th step."""

from collections.abc import Callable
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Simple
from ..errors import BadInput
from ..through_time import unroll
from ._claim import Claim, Falsehood, Finding
from ._count import multiplications
from ._nets import drawn, gap, numbers

UNITS, STEPS, LENGTHS = 8, 64, (1024, 4096, 16384)


def check(memory: str | int = "sqrt") -> Finding:
    """The memory of the compiled gradient by the number of steps, and its products with a matrix.

    `memory` is that of `unroll`: "sqrt", "all", or the steps between the states that are kept.
    """
    states = {name: [stored(steps, name) for steps in LENGTHS] for name in ("all", memory)}
    power, power_all = (exponent(states[name]) for name in (memory, "all"))

    R, xs = cell().R, numbers(1, STEPS, UNITS)
    forward = multiplications(run, R, xs)
    products = {name: multiplications(gradient(name), R, xs) for name in states}
    extra = (products[memory] - products["all"]) / forward
    error = gap(*(jax.jit(gradient(name))(R, xs) for name in ("all", memory)))
    small = abs(power - 0.5) < 0.1 and abs(power_all - 1) < 0.1

    def draw(axes: Any) -> None:
        for name, label in (("all", "all states"), (memory, "every √T-th state")):
            axes.loglog(LENGTHS, states[name], "o-", label=label)
        axes.set(xlabel="steps T", ylabel="memory, in states")
        axes.legend()

    return Finding(
        "holds" if small and abs(extra - 1) < 0.1 and error < 1e-12 else "false",
        f"from {LENGTHS[0]:,} to {LENGTHS[-1]:,} steps the memory of the compiled gradient grows "
        f"as T^{power:.2f} (T^{power_all:.2f} if all states are kept), from "
        f"{states[memory][0]:.0f} to {states[memory][-1]:.0f} states; over {STEPS} "
        f"steps it takes {extra:.2f} forward passes more, for the same gradient to {error:.0g}.",
        {
            "exponent": power,
            "exponent, all kept": power_all,
            "extra forward passes": extra,
            "relative error": error,
        }
        | {f"states, {steps} steps": x for steps, x in zip(LENGTHS, states[memory], strict=True)},
        draw,
    )


def cell() -> Simple:
    return drawn(Simple, UNITS, UNITS)


def run(R: jax.Array, xs: jax.Array, memory: str | int = "all") -> jax.Array:
    """A number made of the last state."""
    return jnp.sum(unroll(eqx.tree_at(lambda cell: cell.R, cell(), R), xs, memory=memory)[1] ** 2)


def gradient(memory: str | int) -> Callable:
    return jax.grad(lambda R, xs: run(R, xs, memory))


@cache
def stored(steps: int, memory: str | int) -> float:
    """What the compiled gradient keeps beside its arguments and results, in states."""
    with jax.enable_x64(True):  # the cached value must not depend on the first caller
        R, xs = cell().R, jax.ShapeDtypeStruct((steps, UNITS), float)
        compiled = jax.jit(gradient(memory)).lower(R, xs).compile()
    analysis = compiled.memory_analysis()
    if analysis is None:
        raise BadInput("this device does not say how much memory a compiled program needs; use cpu")
    return analysis.temp_size_in_bytes / R[0].nbytes


def exponent(states: list[float]) -> float:
    """The power of T by which they grow, by least squares."""
    return float(np.polyfit(np.log(LENGTHS), np.log(states), 1)[0])


CLAIM = Claim(
    "sqrt-memory",
    "Keeping the states of every √T-th step and recomputing the others takes memory O(√T) instead "
    "of O(T), and doubles the computation of the forward pass.",
    "Krause (2015), section 3.3.5.1",
    "holds",
    check,
    Falsehood("the states of every 8th step, whatever T is", {"memory": 8}, "false"),
)
