"""What changes with the step of a run: the learning rate, and the length of the sequences.

Schedules of the rate are a factor between 0 and 1 for every step:

    constant       1
    step           halved after every quarter of the run
    exponential    decays exponentially to 1 % at the end
    linear         decays linearly to 0 at the end
    cosine         decays to 0 at the end along half a cosine
    plateau        halved after two consecutive validations without improvement
    line-search    chosen in every step by a backtracking line search, for large batches

The first five depend only on the step. Source: Galvan (2015), section 1.5, for all but `step` and
`cosine`.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from ..errors import BadInput

SCHEDULES = ("constant", "step", "exponential", "linear", "cosine", "plateau", "line-search")
STAGES = 5  # of a curriculum from short to long sequences


def factor(name: str, steps: int, warmup: int = 0) -> Callable[[jax.Array], jax.Array]:
    """The factor of a schedule as a function of the step, with a linear warmup from zero.

    Example:
        >>> float(factor("linear", 100)(50))
        0.5
    """
    if name not in SCHEDULES:
        raise BadInput(f"there is no schedule {name!r}; there are {', '.join(SCHEDULES)}")
    if warmup < 0 or steps < 1:
        raise BadInput(
            f"a schedule needs at least 1 step and a warmup of at least 0, got {steps} and {warmup}"
        )
    import optax  # late, because only training needs it

    quarters = {max(1, steps * k // 4): 0.5 for k in (1, 2, 3)}
    follow = {
        "step": optax.piecewise_constant_schedule(1.0, quarters),
        "exponential": optax.exponential_decay(1.0, steps, 0.01),
        "linear": optax.linear_schedule(1.0, 0.0, steps),
        "cosine": optax.cosine_decay_schedule(1.0, steps),
    }.get(name, optax.constant_schedule(1.0))

    def at(step: jax.Array) -> jax.Array:
        rise = jnp.minimum(1.0, (step + 1) / warmup) if warmup else 1.0
        return follow(step) * rise

    return at


def length_at(step: int, steps: int, first: int, last: int) -> int:
    """The length of sequences: five stages in the first half of the run, then the full length.

    The lengths grow geometrically from `first` to `last`. There are only five stages because every
    new length is a new compilation.

    Example:
        >>> [length_at(s, 100, 10, 160) for s in (0, 10, 20, 30, 40, 50)]
        [10, 20, 40, 80, 160, 160]
    """
    if not 1 <= first <= last:
        raise BadInput(f"lengths must rise from 1 or more, got {first} to {last}")
    stage = min(STAGES - 1, 2 * STAGES * step // max(1, steps))
    return round(first * (last / first) ** (stage / (STAGES - 1)))
