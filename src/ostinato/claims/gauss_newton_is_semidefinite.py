"""The eigenvalues of the Gauss-Newton matrix and of the Hessian."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._second_order import loss_of, matrices

NETS = 5


def squared(found: jax.Array, targets: Any) -> jax.Array:
    return 0.5 * jnp.sum((found - targets) ** 2)


def logistic(found: jax.Array, targets: Any) -> jax.Array:
    """Cross-entropy of one sigmoid per output."""
    return jnp.sum(jax.nn.softplus(found) - targets * found)


def bounded(found: jax.Array, targets: Any) -> jax.Array:
    """Welsch's loss, which is not convex: beyond a distance of one it bends down."""
    return jnp.sum(1 - jnp.exp(-0.5 * (found - targets) ** 2))


CONVEX = (loss_of, squared, logistic)


def check(losses: tuple[Callable, ...] = CONVEX) -> Finding:
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


CLAIM = Claim(
    "gauss-newton-is-semidefinite",
    "With a convex loss the Gauss-Newton matrix has no negative eigenvalue, which the Hessian of "
    "a network may have.",
    "Krause (2015), section 3.3.2, eq. 3.18",
    "holds",
    check,
    Falsehood("a loss that is not convex, Welsch's", {"losses": (bounded,)}, "false"),
)
