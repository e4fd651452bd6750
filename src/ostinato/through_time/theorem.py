"""The general theorem on backpropagation through time, with nothing constant in time."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..errors import BadInput


class ByTheorem(NamedTuple):
    """What the theorem gives; where an array is not of floats, gradients have `None`.

    Attributes:
        value: L, the sum of all losses.
        gradients: `∂L/∂Θ_t` for t = 1 … T.
        gammas: `Γ_t` for t = 0 … T, of which `Γ_0` is the gradient for `z_0`.
        states: `z_t` for t = 0 … T.
    """

    value: jax.Array
    gradients: list
    gammas: list
    states: list


def gradients_by_theorem(
    functions: Sequence[Callable], parameters: Sequence, losses: Sequence[Callable], first: Any
) -> ByTheorem:
    """Gradients of `L = Σ_t L_t(z_t)`, where `z_t = f_t(z_{t-1}, Θ_t)`.

    `Γ_T = ∇L_T(z_T)`, `Γ_k = ∇L_k(z_k) + Γ_{k+1} ∂z_{k+1}/∂z_k`, and for a component θ of `Θ_k`
    alone `∂L/∂θ = ⟨Γ_k, ∂⁺z_k/∂θ⟩`. A parameter that is part of several `Θ_k` has the sum of
    these.

    Source: Delgado del Cerro (2021), chapter 3, equations 3.1 to 3.4 (3.3 prints `L_t(z_k)` for
    `L_k(z_k)`).

    Args:
        functions: `f_t(z, Θ)` for t = 1 … T. They may differ, and so may the sizes of what they
            return.
        parameters: `Θ_t` for t = 1 … T, pytrees of arrays.
        losses: `L_t(z)` for t = 1 … T, each a number.
        first: `z_0`, a pytree of arrays.

    Example:
        >>> functions = [lambda z, w: jnp.tanh(w @ z)] * 2
        >>> weights = [jnp.ones((3, 2)), jnp.ones((4, 3))]
        >>> losses = [jnp.sum, lambda z: jnp.sum(z**2)]
        >>> found = gradients_by_theorem(functions, weights, losses, jnp.ones(2))
        >>> [gradient.shape for gradient in found.gradients]
        [(3, 2), (4, 3)]
    """
    counts = {"functions": len(functions), "parameters": len(parameters), "losses": len(losses)}
    if len(set(counts.values())) != 1:
        raise BadInput(f"functions, parameters and losses must be as many, got {counts}")
    states = [first]
    for f, theta in zip(functions, parameters, strict=True):
        states.append(f(states[-1], theta))
    found = [eqx.filter_value_and_grad(loss)(z) for loss, z in zip(losses, states[1:], strict=True)]
    value = jnp.asarray(sum(value for value, _ in found))
    gamma = jax.tree.map(jnp.zeros_like, _floats(states[-1]))
    gradients, gammas = [], []
    for k in range(len(functions), 0, -1):
        gamma = jax.tree.map(jnp.add, found[k - 1][1], gamma)
        gammas.append(gamma)
        gamma, gradient = _pull(functions[k - 1], states[k - 1], parameters[k - 1], gamma)
        gradients.append(gradient)
    return ByTheorem(value, gradients[::-1], [*gammas, gamma][::-1], states)


def _pull(f: Callable, z: Any, theta: Any, gamma: Any) -> tuple[Any, Any]:
    """`Γ ∂f/∂z` and `Γ ∂f/∂Θ`, each with the other held fixed."""
    moving, fixed = eqx.partition((z, theta), eqx.is_inexact_array)
    _, pull = jax.vjp(lambda moving: _floats(f(*eqx.combine(moving, fixed))), moving)
    return pull(gamma)[0]


def _floats(tree: Any) -> Any:
    return eqx.filter(tree, eqx.is_inexact_array)
