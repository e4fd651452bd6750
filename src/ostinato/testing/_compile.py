"""Fast compilation: the networks in a check are tiny, so compiling them takes most of the time."""

from collections.abc import Callable
from functools import cache
from typing import Any

import equinox as eqx
import jax

WITHOUT = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}


def quickly(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` compiled without optimisations; arguments that are not arrays are static."""
    compiled: Any = eqx.filter_jit  # its type lacks the options that it passes on to JAX
    return compiled(function, compiler_options=_options())


@cache
def _options() -> dict[str, Any]:
    """The options that this version of the compiler supports, on a CPU."""
    if jax.default_backend() != "cpu":
        return {}
    return {name: value for name, value in WITHOUT.items() if _is_known(name, value)}


def _is_known(name: str, value: Any) -> bool:
    try:
        jax.jit(lambda x: x, compiler_options={name: value})(0)
    except RuntimeError:
        return False
    return True
