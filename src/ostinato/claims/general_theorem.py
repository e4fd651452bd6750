"""The general theorem on backpropagation through time."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..cells import GRU, Cell, PeepholeLSTM, Simple
from ..through_time import bptt, general_bptt
from ._claim import Claim, Falsehood, Finding
from ._nets import drawn, gap, numbers

INPUTS, UNITS, STEPS, BATCH = 2, 3, 3, 2
CELLS: tuple[type[Cell], ...] = (Simple, GRU, PeepholeLSTM)
SIZE = 1e-5  # of a finite difference


def squared(y: jax.Array, target: jax.Array) -> jax.Array:
    return 0.5 * jnp.sum((y - target) ** 2)


def losses() -> list[Callable]:
    """L_t, another one at each step."""
    kinds: tuple[Callable, ...] = (squared, lambda y, target: jnp.sum(jnp.cos(y * target)))
    return [lambda y, target, t=t: (1 + t) * kinds[t % 2](y, target) for t in range(STEPS)]


def last_alone(cells: Any, given: Any, *arguments: Any) -> Any:
    """The theorem with `Γ_k = Γ_{k+1} ∂z_{k+1}/∂z_k`: losses before the last step are left out."""
    each = given if isinstance(given, list) else [given] * STEPS
    nothing: list[Callable] = [lambda y, target: 0 * jnp.sum(y)] * (STEPS - 1)
    return general_bptt(cells, [*nothing, each[-1]], *arguments)


class Reference(NamedTuple):
    """What the theorem is compared with, for one kind of cell.

    Attributes:
        cells: one random cell for each step.
        constant: the engine's gradient, with the first cell at all steps.
        varying: the gradient by reverse mode of a loop over all cells and losses.
        along: a direction in the parameters of all cells.
        slope: how the loss of the loop changes along it, by finite differences.
    """

    cells: list
    constant: Any
    varying: Any
    along: list
    slope: float


def data() -> tuple[jax.Array, jax.Array]:
    return numbers(1, STEPS, BATCH, INPUTS), numbers(2, STEPS, BATCH, UNITS)


@cache
def reference(kind: type[Cell]) -> Reference:
    xs, targets = data()
    cells = [drawn(kind, INPUTS, UNITS, seed=seed) for seed in range(STEPS)]
    along = [drawn(kind, INPUTS, UNITS, seed=seed + STEPS) for seed in range(STEPS)]

    @jax.jit
    @jax.value_and_grad
    def loop(cells: list) -> jax.Array:
        state, total = cells[0].initial((BATCH,)), jnp.zeros(())
        for cell, loss, x, target in zip(cells, losses(), xs, targets, strict=True):
            state, y = cell.step(state, cell.inputs(x))
            total += loss(y, target)
        return total

    def moved(by: float) -> jax.Array:
        return loop(jax.tree.map(lambda w, v: w + by * v, cells, along))[0]

    slope = float(moved(SIZE) - moved(-SIZE)) / (2 * SIZE)
    constant = eqx.filter_jit(bptt)(cells[0], squared, xs, targets)[1]
    return Reference(cells, constant, loop(cells)[1], along, slope)


def check(theorem: Callable = general_bptt) -> Finding:
    """Compare the theorem with the engine, with reverse mode and with finite differences.

    With parameters that are constant and with those of another random cell at each step.
    """
    constant, varying, difference = [], [], []
    run = eqx.filter_jit(theorem)
    for kind in CELLS:
        known = reference(kind)
        constant.append(gap(run(known.cells[0], squared, *data())[1], known.constant))
        found = run(known.cells, losses(), *data())[1]
        varying.append(gap(found, known.varying))
        products = jax.tree.map(lambda g, v: jnp.sum(g * v), found, known.along)
        difference.append(gap(sum(jax.tree.leaves(products)), known.slope))
    error = max(*constant, *varying)
    return Finding(
        "holds" if error < 1e-12 and max(difference) < 1e-6 else "false",
        f"on a random simple cell, GRU and LSTM with peepholes over {STEPS} steps it differs "
        f"from backpropagation through time by {max(constant):.0g}; with other parameters and "
        f"another loss at each step, from reverse mode by {max(varying):.0g} and from "
        f"finite differences by {max(difference):.0g}.",
        {
            "relative error": error,
            "constant parameters": max(constant),
            "parameters that vary with time": max(varying),
            "against finite differences": max(difference),
        },
    )


CLAIM = Claim(
    "general-theorem",
    "Γ_T = ∇L_T, Γ_k = ∇L_k + Γ_{k+1} ∂z_{k+1}/∂z_k and ∂L/∂θ = Σ ⟨Γ_k, ∂⁺z_k/∂θ⟩ give the "
    "gradient of any recurrent net, also with parameters Θ_t and losses L_t that vary with time.",
    "Delgado del Cerro (2021), chapter 3, eq. 3.2-3.4",
    "holds",
    check,
    Falsehood("Γ_k without ∇L_k", {"theorem": last_alone}, "false"),
)
