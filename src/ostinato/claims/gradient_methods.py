"""Ways to the gradient, and what they cost: BPTT, RTRL, truncation, fewer kept states."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import GRU, Cell, PeepholeLSTM, Simple
from ..errors import BadInput
from ..through_time import bptt, general_bptt, rtrl, truncated_bptt, unroll
from .claim import Falsehood, Finding, Theme
from .gauss_newton import squared
from .tools import drawn, gap, multiplications, numbers

THEME = Theme()

INPUTS, UNITS, STEPS, BATCH = 2, 3, 3, 2
CELLS: tuple[type[Cell], ...] = (Simple, GRU, PeepholeLSTM)
SIZE = 1e-5  # of a finite difference


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


def data(steps: int = STEPS) -> tuple[jax.Array, jax.Array]:
    """Inputs and targets."""
    return numbers(1, steps, BATCH, INPUTS), numbers(2, steps, BATCH, UNITS)


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


@THEME.claim(
    "Γ_T = ∇L_T, Γ_k = ∇L_k + Γ_{k+1} ∂z_{k+1}/∂z_k and ∂L/∂θ = Σ ⟨Γ_k, ∂⁺z_k/∂θ⟩ give the "
    "gradient of any recurrent net, also with parameters Θ_t and losses L_t that vary with time.",
    "Delgado del Cerro (2021), chapter 3, eq. 3.2-3.4",
    "holds",
    Falsehood("Γ_k without ∇L_k", {"theorem": last_alone}, "false"),
)
def general_theorem(theorem: Callable = general_bptt) -> Finding:
    """Compare the theorem with the engine, with reverse mode and with finite differences.

    With parameters that are constant and with those of another random cell at each step.
    """
    constant, varying, difference = [], [], []
    run = eqx.filter_jit(theorem)
    for kind in CELLS:
        known = reference(kind)
        constant.append(gap(run(known.cells[0], squared, *data())[1], known.constant))
        gradient = run(known.cells, losses(), *data())[1]
        varying.append(gap(gradient, known.varying))
        products = jax.tree.map(lambda g, v: jnp.sum(g * v), gradient, known.along)
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


@THEME.claim(
    "Real-time recurrent learning, which carries the derivatives of the state forwards in time, "
    "gives the exact gradient, that of backpropagation through time.",
    "Williams and Zipser (1989), A learning algorithm for continually running fully recurrent "
    "neural networks",
    "holds",
    Falsehood(
        "derivatives of the state that are not carried to the next step",
        {"method": partial(truncated_bptt, window=1)},
        "false",
    ),
)
def rtrl_equals_bptt(method: Callable = rtrl) -> Finding:
    """Compare forward-mode with reverse-mode gradients."""
    cell, steps = drawn(GRU, INPUTS, UNITS), 8
    error = gap(*(eqx.filter_jit(f)(cell, squared, *data(steps))[1] for f in (method, bptt)))
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"on a random GRU over {steps} steps the two gradients differ by {error:.0g}.",
        {"relative error": error},
    )


APART = 12  # steps from the input to the loss, both included


@THEME.claim(
    "Truncated backpropagation through time gives up dependencies longer than its window.",
    "Lipton et al. (2015), section 3.2",
    "holds",
    Falsehood("a window that reaches from the input to the loss", {"window": APART}, "false"),
)
def truncation_horizon(window: int = APART // 2) -> Finding:
    """The gradient of the input weights, where all inputs but the first and all losses but the
    last are zero."""
    cell = drawn(Simple, 2, 4)
    xs = numbers(1, APART, 2) * (jnp.arange(APART) == 0)[:, None]
    counts = (jnp.arange(APART) == APART - 1).astype(xs.dtype)

    def loss(y: jax.Array, count: jax.Array) -> jax.Array:
        return count * jnp.sum(y)

    def seen(window: int) -> float:
        method = eqx.filter_jit(partial(truncated_bptt, window=window))
        _, gradient, _ = method(cell, loss, xs, counts)
        return float(np.linalg.norm(gradient.W))

    short, whole = seen(window), seen(APART)
    return Finding(
        "holds" if short == 0 and whole > 0 else "false",
        f"for an input {APART - 1} steps before the loss, the gradient is {short:g} in windows of "
        f"{window} steps, and {whole:.2g} in one window of {APART} steps.",
        {"truncated": short, "whole": whole},
    )


WIDTH, LENGTHS = 8, (1024, 4096, 16384)


def random_cell() -> Simple:
    return drawn(Simple, WIDTH, WIDTH)


def squared_state(R: jax.Array, xs: jax.Array, memory: str | int = "all") -> jax.Array:
    """The sum of the squares of the last state."""
    return jnp.sum(
        unroll(eqx.tree_at(lambda cell: cell.R, random_cell(), R), xs, memory=memory)[1] ** 2
    )


def gradient_of(memory: str | int) -> Callable:
    return jax.grad(lambda R, xs: squared_state(R, xs, memory))


@cache
def stored(steps: int, memory: str | int) -> float:
    """What the compiled gradient keeps beside its arguments and results, in states."""
    with jax.enable_x64(True):  # the cached value must not depend on the first caller
        R, xs = random_cell().R, jax.ShapeDtypeStruct((steps, WIDTH), float)
        compiled = jax.jit(gradient_of(memory)).lower(R, xs).compile()
    analysis = compiled.memory_analysis()
    if analysis is None:
        raise BadInput("this device does not say how much memory a compiled program needs; use cpu")
    return analysis.temp_size_in_bytes / R[0].nbytes


def exponent(states: list[float]) -> float:
    """The power of T by which they grow, by least squares."""
    return float(np.polyfit(np.log(LENGTHS), np.log(states), 1)[0])


@THEME.claim(
    "Keeping the states of every √T-th step and recomputing the others takes memory O(√T) instead "
    "of O(T), and doubles the computation of the forward pass.",
    "Krause (2015), section 3.3.5.1",
    "holds",
    Falsehood("the states of every 8th step, whatever T is", {"memory": 8}, "false"),
)
def sqrt_memory(memory: str | int = "sqrt") -> Finding:
    """The memory of the compiled gradient by the number of steps, and its products with a matrix.

    `memory` is that of `unroll`: "sqrt", "all", or the steps between the states that are kept.
    """
    states = {name: [stored(steps, name) for steps in LENGTHS] for name in ("all", memory)}
    power, power_all = (exponent(states[name]) for name in (memory, "all"))

    steps = 64
    R, xs = random_cell().R, numbers(1, steps, WIDTH)
    forward = multiplications(squared_state, R, xs)
    products = {name: multiplications(gradient_of(name), R, xs) for name in states}
    extra = (products[memory] - products["all"]) / forward
    error = gap(*(jax.jit(gradient_of(name))(R, xs) for name in ("all", memory)))
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
        f"{states[memory][0]:.0f} to {states[memory][-1]:.0f} states; over {steps} "
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


def recover(kind: Any, inputs: float = 1.0, orthogonal: bool = False) -> np.ndarray:
    """The error after 0, 1, 2, … steps `h_{t-1} = R⁻¹ (atanh h_t - u_t)`, at most 2."""
    rng, units, steps = np.random.default_rng(0), 30, 60
    R = rng.normal(size=(units, units)) / np.sqrt(units)
    R = (np.linalg.qr(R)[0] if orthogonal else R).astype(kind)
    us = (inputs * rng.normal(size=(steps, units))).astype(kind)
    hs = [np.zeros(units, kind)]
    for u in us:
        hs.append(np.tanh(R @ hs[-1] + u))
    most = 1 - np.finfo(kind).epsneg
    h, errors = hs[-1], [float(np.finfo(kind).eps)]
    for t in reversed(range(steps)):
        h = np.linalg.solve(R, np.arctanh(np.clip(h, -most, most)) - us[t])
        errors.append(min(float(np.abs(h - hs[t]).max()), 2.0))
    return np.array(errors)


@THEME.claim(
    "Recovering h_{t-1} from h_t and the input, to save memory, loses precision exponentially.",
    "Krause (2015), section 3.3.5.1",
    "holds when a step shrinks the state in some direction",
    Falsehood(
        "an orthogonal matrix and small inputs in place of random weights",
        {"orthogonal": True},
        "false",
    ),
)
def backwards_in_time(linear: float = 0.01, orthogonal: bool = False) -> Finding:
    """Run tanh nets forwards and recover their states backwards, in two precisions.

    One net has random weights and inputs of size one; the other an orthogonal matrix and inputs of
    the size `linear`, so that its steps neither shrink nor stretch the state. With `orthogonal` the
    first net is like the second.
    """
    inputs = linear if orthogonal else 1.0
    single, double = (recover(kind, inputs, orthogonal) for kind in (np.float32, np.float64))
    lost = [int(np.argmax(errors > 0.1)) for errors in (single, double)]
    growth = float((double[lost[1]] / double[0]) ** (1 / max(lost[1], 1)))
    gentle = recover(np.float64, linear, orthogonal=True)

    def draw(axes: Any) -> None:
        axes.semilogy(single, label="random weights, float32")
        axes.semilogy(double, label="random weights, float64")
        axes.semilogy(gentle, label="orthogonal and nearly linear, float64")
        axes.set(xlabel="steps back", ylabel="error of the recovered state")
        axes.legend()

    verdict = "holds when a step shrinks the state in some direction"
    if not all(lost):
        verdict = "false"
    elif gentle[-1] > 1e-3:
        verdict = "holds"
    return Finding(
        verdict,
        f"in a network with random weights the error grows by a factor of {growth:.0f} per step "
        f"back, and exceeds 0.1 after {lost[0]} steps in float32 and {lost[1]} in float64; in an "
        f"orthogonal, nearly linear network it is {gentle[-1]:.0g} after {len(gentle) - 1} steps.",
        {
            "growth per step": growth,
            "steps in float32": lost[0],
            "steps in float64": lost[1],
            "error of the orthogonal net": float(gentle[-1]),
        },
        draw,
    )
