"""How programs meet: a counter in global memory, which all of a group count up and then watch.

    arrive    all stores of this program, then one more on the counter
    wait      until the counter says that all have arrived, but not for ever

The counter only grows, so that no one can miss a meeting. What was handed out is read past the
first level of cache, which does not see what others store. A wait that lasts too long, as when a
program of the group was never started, ends in failure: the flag is set, and no later wait waits.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.pallas import triton as plgpu

LONGEST = 1 << 22  # looks at the counter; one takes about a microsecond


def arrive(counter: Any, group: Any) -> None:
    """Say that this program has stored what it hands out."""
    plgpu.debug_barrier()
    plgpu.atomic_add(counter, (group,), jnp.int32(1))


def wait(counter: Any, group: Any, count: Any, failed: Any, longest: int) -> jax.Array:
    """Wait until so many have arrived; returns 1 if it, or a wait before, has failed, else 0."""

    def waiting(state):
        seen, looks, most = state
        return jnp.logical_and(seen < count, looks < most)

    def look(state):
        _, looks, most = state
        return plgpu.load(counter.at[group], volatile=True), looks + 1, most

    most = longest * (1 - failed)
    seen, *_ = jax.lax.while_loop(waiting, look, (jnp.int32(0), jnp.int32(0), most))
    plgpu.debug_barrier()
    return jnp.maximum(failed, (seen < count).astype(jnp.int32))


def read(ref: Any) -> jax.Array:
    """What another program has handed out."""
    return plgpu.load(ref, volatile=True)
