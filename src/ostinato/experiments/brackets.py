"""How long a character model remembers an open bracket (Krause, 2015, section 5.2.4).

After a context, the model writes text that it samples itself, but only letters and spaces. At every
step it still predicts all characters, so

    r_t = log₁₀ P(']') / P('[')

shows whether it knows that a bracket is open. The control is a context without a bracket, after
which r_t is what it is without that knowledge.
"""

import string
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..cells import Layer, Model
from ..data import Vocabulary
from ..errors import BadInput
from ..through_time import unroll

CONTEXT, CONTROL = "[[", "Th"
WRITTEN = string.ascii_letters + " "


class Ratios(NamedTuple):
    """r_t by trial and block of steps, `(trials, blocks)`, after the context and the control."""

    context: np.ndarray
    control: np.ndarray
    block: int

    def remembered(self) -> int:
        """Steps until r_t is no longer above the control's.

        The first block whose mean over trials is not above that of the control by two standard
        errors of their difference ends the memory.
        """
        difference = self.context.mean(0) - self.control.mean(0)
        spread = [x.var(0, ddof=1) / len(x) for x in (self.context, self.control)]
        lost = difference <= 2 * np.sqrt(sum(spread))
        return self.block * (int(np.argmax(lost)) if lost.any() else len(lost))


def bracket_ratios(
    network: Model,
    vocabulary: Vocabulary,
    *,
    steps: int = 1000,
    trials: int = 10,
    block: int = 10,
    seed: int = 0,
) -> Ratios:
    """r_t after the context and after the control, in means of `block` steps.

    All texts are sampled independently.

    Args:
        network: a character model that has a step.
        vocabulary: its characters, which must include brackets and the contexts.
        steps: how many characters to write.
        trials: how many texts per context.
        block: steps per mean; it must divide `steps`.
        seed: of the sampled texts.
    """
    known = {chr(point): place for place, point in enumerate(vocabulary.points)}
    for character in "[]" + CONTROL:
        if character not in known:
            raise BadInput(f"the text has no {character!r}, which the experiment needs")
    written = np.zeros(network.outputs, bool)
    written[[known[character] for character in WRITTEN if character in known]] = True
    layer = eqx.nn.inference_mode(network).as_layer()

    def after(context: str, key: jax.Array) -> np.ndarray:
        symbols = jnp.asarray(vocabulary.encode(context), jnp.int32)
        brackets = known["]"], known["["]
        keys = jax.random.split(key, trials)
        ratios = _written(layer, symbols, jnp.asarray(written), keys, *brackets, steps)
        return np.asarray(ratios).reshape(trials, -1, block).mean(-1)

    one, other = jax.random.split(jax.random.key(seed))
    return Ratios(after(CONTEXT, one), after(CONTROL, other), block)


@eqx.filter_jit
def _written(
    network: Layer,
    context: jax.Array,
    written: jax.Array,
    keys: jax.Array,
    closing: int,
    opening: int,
    steps: int,
) -> jax.Array:
    """r_t of each trial, `(trials, steps)`."""
    logits, state = unroll(network, context)

    def one(key: jax.Array) -> jax.Array:
        def step(carry: Any, number: jax.Array) -> Any:
            state, logits = carry
            ratio = (logits[closing] - logits[opening]) / jnp.log(10.0)
            symbol = jax.random.categorical(
                jax.random.fold_in(key, number), jnp.where(written, logits, -jnp.inf)
            )
            state, logits = network.step(state, network.inputs(symbol))
            return (state, logits), ratio

        return jax.lax.scan(step, (state, logits[-1]), jnp.arange(steps))[1]

    return jax.vmap(one)(keys)
