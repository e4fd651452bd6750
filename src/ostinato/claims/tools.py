"""What the checks of claims share: random networks, exact derivatives, counted multiplications.

Random numbers are from NumPy's generator, so they do not depend on JAX's version.
"""

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Jaxpr, Literal

from ..through_time.linear_map import forward_of
from ..through_time.step import called


class Nets(NamedTuple):
    """A batch of networks `a_{t+1} = R f(a_t) + u_t`, driven by random inputs.

    Attributes:
        R: recurrent weights `(nets, units, units)`.
        slopes: `f'(a_t)`, `(steps, nets, units)`.
    """

    R: np.ndarray
    slopes: np.ndarray

    def jacobians(self) -> Iterator[tuple[int, np.ndarray]]:
        """`(lag, ∂a_lag/∂a_0)` for lags from 1: the product of `lag` factors `R diag(f'(a_i))`."""
        J = np.eye(self.R.shape[-1])
        for lag, slope in enumerate(self.slopes, 1):
            J = self.R @ (slope[:, :, None] * J)
            yield lag, J


def run(R: np.ndarray, us: np.ndarray, f: Callable, derivative: Callable) -> Nets:
    """Networks with weights `R` and inputs `us` `(steps, nets, units)`, from `a_0 = us[0]`."""
    a, slopes = us[0], []
    for u in us[1:]:
        slopes.append(derivative(a))
        a = apply(R, f(a)) + u
    return Nets(R, np.stack(slopes))


def tanh_nets(count: int = 1000, units: int = 8, steps: int = 10, seed: int = 0) -> Nets:
    """Networks of tanh units, with weak to strong recurrent weights."""
    rng = np.random.default_rng(seed)
    gain = rng.uniform(0.2, 3.0, (count, 1, 1)) / np.sqrt(units)
    R = gain * rng.normal(size=(count, units, units))
    us = rng.normal(size=(steps + 1, count, units))
    return run(R, us, np.tanh, lambda a: 1 - np.tanh(a) ** 2)


def drawn(kind: Callable, *sizes: int, seed: int = 0, scale: float = 0.7, **options: Any) -> Any:
    """A cell whose parameters are all normally distributed, so that no bias is zero."""
    key = jax.random.key(0)
    shapes = eqx.filter_eval_shape(kind, *sizes, key=key, **options)
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda x: jnp.asarray(scale * rng.normal(size=x.shape)), shapes)


def numbers(seed: int, *shape: int) -> jax.Array:
    """Normally distributed numbers."""
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape))


def gap(obtained: Any, expected: Any) -> float:
    """The largest difference between two pytrees, relative to the largest entry of `expected`."""
    pairs = zip(jax.tree.leaves(obtained), jax.tree.leaves(expected), strict=True)
    arrays = [(np.asarray(a), np.asarray(b)) for a, b in pairs]
    difference = max(np.abs(a - b).max() for a, b in arrays)
    return float(difference / max(np.abs(b).max() for _, b in arrays))


def derivative(function: Callable, at: np.ndarray) -> np.ndarray:
    """The Jacobian of a NumPy function by complex steps, exact to rounding."""
    size = 1e-100
    columns = [np.imag(function(at + size * 1j * row)) / size for row in np.eye(at.size)]
    return np.stack(columns, axis=-1)


def logistic(a: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-a))


def apply(R: np.ndarray, h: np.ndarray) -> np.ndarray:
    """`R h` for a batch of networks, `(nets, units, units)` and `(nets, units)`."""
    return np.einsum("nij,nj->ni", R, h)


def multiplications(function: Callable, *arguments: Any) -> int:
    """The scalar multiplications in all matrix products that the result depends on.

    They are counted in the traced program, which is not run.
    """
    return _of(jax.make_jaxpr(function)(*arguments).jaxpr)


def _of(jaxpr: Jaxpr) -> int:
    needed = {atom for atom in jaxpr.outvars if not isinstance(atom, Literal)}
    total = 0
    for equation in reversed(jaxpr.eqns):
        if needed.intersection(equation.outvars):
            needed.update(atom for atom in equation.invars if not isinstance(atom, Literal))
            total += _of_equation(equation)
    return total


def _of_equation(equation: Any) -> int:
    name, parameters = equation.primitive.name, equation.params
    if name == "dot_general":
        (contracted, _), _ = parameters["dimension_numbers"]
        left, result = (var.aval.shape for var in (equation.invars[0], equation.outvars[0]))
        return prod(result) * prod(left[axis] for axis in contracted)
    if name == "paired":  # the engine's primitive
        return _of(forward_of(equation).jaxpr)
    if name == "scan":
        return parameters["length"] * _of(parameters["jaxpr"].jaxpr)
    function = called(equation)
    return 0 if function is None else _of(function.jaxpr)
