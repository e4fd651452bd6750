"""Newton and Gauss-Newton: the Hessian, its approximation, and their eigenvalues."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .claim import Falsehood, Finding, Theme
from .tools import gap, numbers

THEME = Theme()

INPUTS, UNITS, OUTPUTS, STEPS = 2, 3, 3, 4
READOUT = UNITS * OUTPUTS
SIZE = READOUT + UNITS * (UNITS + INPUTS + 1)


def outputs(theta: Any, xs: Any, units: int = UNITS, readouts: int = OUTPUTS) -> jax.Array:
    """`O = V tanh(W x + R h + b)` for all steps; theta holds V, R, W and b, in this order."""
    inputs = xs.shape[-1]
    cuts = np.cumsum([units * readouts, units * units, units * inputs])
    V, R, W, b = jnp.split(theta, cuts)
    V, R, W = V.reshape(readouts, units), R.reshape(units, units), W.reshape(units, inputs)
    h, values = jnp.zeros(units), []
    for x in xs:
        h = jnp.tanh(W @ x + R @ h + b)
        values.append(V @ h)
    return jnp.stack(values)


def cross_entropy(outputs: jax.Array, targets: Any) -> jax.Array:
    """Of a softmax, summed over time."""
    return -jnp.sum(targets * jax.nn.log_softmax(outputs))


@cache
def matrices(loss: Callable = cross_entropy, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The Hessian of a random network's loss, and its Gauss-Newton matrix Jᵀ H_L J.

    `loss(outputs, targets)`, both `(steps, outputs)`.
    """
    rng = np.random.default_rng(seed)
    xs, theta = rng.normal(size=(STEPS, INPUTS)), rng.normal(size=SIZE)
    targets = np.eye(OUTPUTS)[rng.integers(0, OUTPUTS, STEPS)]
    with jax.enable_x64(True):  # the cached value must not depend on the first caller
        hessian, gauss_newton = _both(loss, theta, xs, targets)
    return np.asarray(hessian), np.asarray(gauss_newton)


@partial(jax.jit, static_argnums=0)
def _both(loss: Callable, theta: Any, xs: Any, targets: Any) -> tuple[jax.Array, jax.Array]:
    hessian = jax.hessian(lambda theta: loss(outputs(theta, xs), targets))(theta)
    J = jax.jacfwd(outputs)(theta, xs)
    H_L = jax.hessian(lambda at: loss(at, targets))(outputs(theta, xs))
    return hessian, jnp.einsum("sip,sitj,tjq->pq", J, H_L, J)


def quadratic() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`½ (θ - best)ᵀ B (θ - best)`, convex in five unknowns: B, best, and a point θ."""
    rng, size = np.random.default_rng(0), 5
    A = rng.normal(size=(size, size))
    return A @ A.T + np.eye(size), *rng.normal(size=(2, size))


@THEME.claim(
    "The Hessian of cross-entropy at the input of a softmax is diag(p) - p pᵀ.",
    "Krause (2015), eq. 3.23",
    "holds",
    Falsehood("diag(p) alone, without - p pᵀ", {"printed": np.diag}, "false"),
)
def softmax_hessian(printed: Callable = lambda p: np.diag(p) - np.outer(p, p)) -> Finding:
    """Compare the formula with automatic differentiation."""
    o = np.random.default_rng(0).normal(size=5)
    exact = jax.jit(jax.hessian(lambda o: jnp.log(jnp.sum(jnp.exp(o))) - o[0]))(o)
    formula = printed(np.exp(o) / np.exp(o).sum())
    error = gap(formula, exact)
    least, second = np.linalg.eigvalsh(formula)[:2]
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"for {len(o)} outputs they differ by {error:.0g}; the smallest eigenvalue is {least:.0g} "
        f"(for the vector of ones), the next {second:.2g}: the matrix is singular.",
        {"relative error": error, "smallest eigenvalue": float(least), "second": float(second)},
    )


@THEME.claim(
    "θ_{k+1} = α_k δ_k, with δ_k the minimum of the quadratic model at θ_k, is the update of "
    "Newton's method.",
    "Galvan (2015), section 2.2.2, eq. 2.14",
    "false",
    Falsehood("θ_k + α_k δ_k", {"keeps": 1.0}, "holds"),
)
def newton_step_as_printed(keeps: float = 0.0) -> Finding:
    """Minimise a convex quadratic by one full Newton step from `keeps` times the point."""
    B, best, theta = quadratic()

    def excess(keeps: float) -> float:
        away = keeps * theta - np.linalg.solve(B, B @ (theta - best)) - best
        return float(0.5 * away @ B @ away)

    printed, with_theta = excess(keeps), excess(1.0)
    return Finding(
        "holds" if printed < 1e-12 else "false",
        f"on a quadratic in {len(B)} unknowns it ends {printed:.2g} above the minimum, and "
        f"θ_k + α_k δ_k {with_theta:.0g} above it.",
        {"as printed": printed, "with θ_k": with_theta},
    )


@THEME.claim(
    "∇²f = Jᵀ ∇²L + Σ [∇L]_i ∇²F_i, whose first term is the Gauss-Newton matrix.",
    "Galvan (2015), section 2.2.2, eq. 2.16-2.17",
    "false",
    Falsehood("Jᵀ ∇²L J in place of Jᵀ ∇²L", {"twice": True}, "holds"),
)
def gauss_newton_as_printed(twice: bool = False) -> Finding:
    """Both sides of (2.16) for `f = L(F(θ))`, `F(θ) = tanh(A θ)`; `twice`: with `Jᵀ ∇²L J`.

    F has as many outputs as parameters, for otherwise the printed sum cannot even be formed.
    A is the identity and 0.7 times a random matrix.
    """
    size = 4
    A = jnp.eye(size) + 0.7 * numbers(0, size, size)
    theta, target = numbers(1, size), jax.nn.softmax(numbers(2, size))

    def F(theta: jax.Array) -> jax.Array:
        return jnp.tanh(A @ theta)

    def L(y: jax.Array) -> jax.Array:
        return cross_entropy(y, target)

    @jax.jit
    def sides(theta: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        J, y = jax.jacfwd(F)(theta), F(theta)
        rest = jnp.einsum("i,ijk->jk", jax.grad(L)(y), jax.jacfwd(jax.jacfwd(F))(theta))
        once, exact = J.T @ jax.hessian(L)(y), jax.hessian(lambda theta: L(F(theta)))(theta)
        return once + rest, once @ J + rest, exact

    *both_sides, exact = sides(theta)
    printed, both = (gap(side, exact) for side in both_sides)
    return Finding(
        "holds" if (both if twice else printed) < 1e-12 else "false",
        f"with {size} outputs of {size} parameters it differs from the Hessian by {printed:.2f} of "
        f"the largest entry, and Jᵀ ∇²L J in its place by {both:.0g}.",
        {"as printed": printed, "with both": both},
    )


@THEME.claim(
    "The Gauss-Newton matrix is the Hessian where the outputs are linear in the parameters.",
    "Galvan (2015), section 2.2.2, after eq. 2.17",
    "holds",
    Falsehood(
        "three recurrent weights, in which the outputs are not linear, among the parameters",
        {"parameters": READOUT + 3},
        "false",
    ),
)
def gauss_newton_of_linear_outputs(parameters: int = READOUT) -> Finding:
    """Compare the two in the first parameters of a net: those of its readout come first."""
    hessian, gauss_newton = matrices()
    some = np.s_[:parameters, :parameters]
    error, elsewhere = gap(gauss_newton[some], hessian[some]), gap(gauss_newton, hessian)
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"in the {parameters} weights of a linear readout the two differ by {error:.0g}, in all "
        f"{len(hessian)} parameters of the net by {elsewhere:.2g} of the largest entry.",
        {"relative difference": error, "in all parameters": elsewhere},
    )


NETS = 5


def squared(outputs: jax.Array, targets: Any) -> jax.Array:
    return 0.5 * jnp.sum((outputs - targets) ** 2)


def logistic(outputs: jax.Array, targets: Any) -> jax.Array:
    """Cross-entropy of one sigmoid per output."""
    return jnp.sum(jax.nn.softplus(outputs) - targets * outputs)


def bounded(outputs: jax.Array, targets: Any) -> jax.Array:
    """Welsch's loss, which is not convex: beyond a distance of one it bends down."""
    return jnp.sum(1 - jnp.exp(-0.5 * (outputs - targets) ** 2))


CONVEX = (cross_entropy, squared, logistic)


@THEME.claim(
    "With a convex loss the Gauss-Newton matrix has no negative eigenvalue, which the Hessian of "
    "a network may have.",
    "Krause (2015), section 3.3.2, eq. 3.18",
    "holds",
    Falsehood("a loss that is not convex, Welsch's", {"losses": (bounded,)}, "false"),
)
def gauss_newton_is_semidefinite(losses: tuple[Callable, ...] = CONVEX) -> Finding:
    """The smallest eigenvalues of both matrices for random networks and several losses."""
    spectra = [
        [np.linalg.eigvalsh(matrix) for matrix in matrices(loss, seed)]
        for loss in losses
        for seed in range(NETS)
    ]
    of_hessian, of_gauss_newton = (
        np.array([values[0] / np.abs(values).max() for values in both])
        for both in zip(*spectra, strict=True)
    )
    negative = int(np.sum(of_hessian < -1e-6))

    def draw(axes: Any) -> None:
        for values, style, label in zip(
            spectra[0], ("o", "."), ("Hessian", "Gauss-Newton"), strict=True
        ):
            axes.plot(values, style, label=label)
        axes.axhline(0, color="black", linewidth=0.5)
        axes.set(xlabel="eigenvalue number", ylabel="eigenvalue")
        axes.set_yscale("symlog", linthresh=1e-2)
        axes.legend()

    return Finding(
        "holds" if of_gauss_newton.min() > -1e-12 and negative else "false",
        f"with {len(losses)} losses in {NETS} random networks each, the smallest eigenvalue of the "
        f"Gauss-Newton matrix is at least {of_gauss_newton.min():.0g} of the largest, that of the "
        f"Hessian down to {of_hessian.min():.2g}, and negative in {negative} of {len(spectra)}.",
        {
            "smallest of Gauss-Newton": float(of_gauss_newton.min()),
            "smallest of Hessian": float(of_hessian.min()),
            "negative Hessians": negative,
        },
        draw,
    )
