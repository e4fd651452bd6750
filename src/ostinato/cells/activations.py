"""Elementwise activation functions, by name."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..errors import BadInput
from ..settings import setting

Activation = Callable[[jax.Array], jax.Array]


def _step(x: jax.Array) -> jax.Array:
    """1 where x > 0, else 0. Its derivative is 0 wherever it exists."""
    return (x > 0).astype(x.dtype)


ACTIVATIONS: dict[str, Activation] = {
    "tanh": jnp.tanh,
    "sigmoid": jax.nn.sigmoid,
    "relu": jax.nn.relu,
    "identity": lambda x: x,
    "step": _step,
}


def activation(name: str) -> Activation:
    """The activation function called `name`; `BadInput` lists the valid names."""
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise BadInput(f"activation must be one of {', '.join(ACTIVATIONS)}, got {name!r}")
    return ACTIVATIONS[name]


def function_of(what: str, default: str = "tanh") -> Any:
    """The setting of an activation function."""
    names = tuple(ACTIVATIONS)
    return setting(default, f"activation of {what}: {', '.join(names)}", among=names)


def slope(function: Activation, a: jax.Array) -> jax.Array:
    """The derivative of an elementwise function at `a`."""
    return jax.jvp(function, (a,), (jnp.ones_like(a),))[1]
