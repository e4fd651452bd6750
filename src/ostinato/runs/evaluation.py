"""How good a trained network is: its task's metric, bits and perplexity, and its spelling."""

import re
from collections.abc import Collection, Iterable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..data import Batch
from ..errors import BadInput
from ..tasks import Bits, CrossEntropy, Metric, Task, streams
from ..through_time import can_step
from ..weights import trained as trained_part
from ..wiring import Network, outputs_of

RATE = 0.03


def evaluate(network: Network, task: Task, part: str = "valid", size: int = 32) -> float:
    """The task's metric on `"valid"` or `"test"`, with `size` sequences side by side.

    Example:
        >>> 0 < evaluate(network_of_symbols, text, "test") < 10
        True
    """
    (value,) = measured(network, task.held_out(part, size), (task.metric,))
    if value is None:
        raise BadInput(f"the {part} part of {task.name} is empty; there is nothing to score")
    return value


def measured(
    network: Network, batches: Iterable[Batch], metrics: tuple[Metric, ...]
) -> list[float | None]:
    """The metrics over all batches; `None` where nothing is counted.

    The state is carried from batch to batch and starts anew where `batch.first` says so. Noise is
    off. The compiled function is kept from call to call for networks of the same structure.
    """
    network = eqx.nn.inference_mode(network)
    state, counts = None, []
    for batch in batches:
        if batch.first:
            state = network.initial((batch.sequences,)) if can_step(network) else None
        found, state = _counts(network, state, batch.arrays, metrics)
        counts.append(found)  # without waiting for it here
    if not counts:
        return [None for _ in metrics]
    sums = jax.tree.map(lambda *x: sum(np.asarray(y, np.float64) for y in x), *counts)
    return [metric.value(found) for metric, found in zip(metrics, sums, strict=True)]


@eqx.filter_jit
def _counts(network: Any, state: Any, batch: Batch, metrics: tuple[Metric, ...]) -> Any:
    outputs, state = outputs_of(network, batch, state)
    return [metric.counts(outputs, batch) for metric in metrics], state


def perplexity(bits: float) -> float:
    """`2^bits`: among how many equally probable symbols the network is as unsure.

    Per symbol, as the bits are: for a network of characters this is the perplexity per character,
    which is not comparable with the usual one per word.
    """
    with np.errstate(over="ignore"):
        return float(np.exp2(bits))


def dynamic_evaluate(
    network: Network,
    symbols: np.ndarray,
    *,
    rate: float = RATE,
    window: int = 20,
    decay: float = 0.0,
) -> float:
    """Bits per symbol of a network that goes on learning from the text it has just predicted.

    The text is one stream in windows. Each is scored first, and then the weights take a step on
    its mean loss L, from which the next window is scored:

        θ ← θ - rate ∂L/∂θ + decay (θ₀ - θ)

    with θ₀ the trained weights. The state is carried on, the gradient ends at the window's
    beginning, and noise is off. With a rate of 0 this is static evaluation.

    Source: Krause et al. (2018), the form by gradient descent; Graves (2013).

    Args:
        network: reads symbols and gives a logit for each. It is not changed.
        symbols: the text, `(T,)`, whole numbers below the network's number of symbols.
        rate: the step size. What is best depends on network and text: try a third and three times.
        window: steps of a window.
        decay: share of the way back to the trained weights that each step goes, 0 to 1.

    Example:
        >>> dynamic_evaluate(network, task.parts["test"], rate=0.1)
    """
    if not 0 <= rate <= float(jnp.finfo(network.dtype).max):
        raise BadInput(f"the rate must be 0 or a positive number, got {rate}")
    symbols = np.asarray(symbols)
    if symbols.ndim != 1:
        raise BadInput(f"a text is symbols of shape (T,), got {symbols.shape}")
    if symbols.size:
        network.check_inputs(symbols)
    if window < 1:
        raise BadInput(f"the window must be at least 1, got {window}")
    if not 0 <= decay <= 1:
        raise BadInput(f"the decay must be from 0 to 1, got {decay}")
    trained = moving = eqx.nn.inference_mode(network)
    speed = jnp.asarray([rate, decay], network.dtype)
    state, totals, weight = network.initial((1,)), [], 0.0
    for batch in streams(symbols, 1, window):
        total, moving, state = _learn_window(trained, moving, state, batch.arrays, speed)
        totals.append(total)
        weight += float(batch.weights.sum())
    if not weight:
        raise BadInput(f"an evaluation needs at least 2 symbols, got {len(symbols)}")
    value = sum(float(total) for total in totals) / weight
    if not np.isfinite(perplexity(value)):
        raise BadInput(f"with a rate of {rate} the dynamic evaluation diverged; try a smaller one")
    return value


@eqx.filter_jit
def _learn_window(trained: Any, moving: Any, state: Any, window: Batch, speed: jax.Array) -> Any:
    rate, decay = speed
    parameters, rest = trained_part(moving)

    def loss(parameters: Any) -> Any:
        outputs, after = outputs_of(eqx.combine(parameters, rest), window, state)
        bits, _ = Bits().counts(outputs, window)
        return CrossEntropy()(outputs, window), (bits, after)

    gradient, (total, state) = jax.grad(loss, has_aux=True)(parameters)
    start = trained_part(trained)[0]
    parameters = jax.tree.map(
        lambda slope, now, first: now - rate * slope + decay * (first - now),
        gradient,
        parameters,
        start,
    )
    return total, eqx.combine(parameters, rest), state


_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def words_of(text: str) -> list[str]:
    """The words of a text: letters with apostrophes between them, in lower case.

    Example:
        >>> words_of("Don’t say 'tis 42 o'clock.")
        ["don't", 'say', 'tis', "o'clock"]
    """
    return _WORD.findall(text.replace("’", "'").lower())


def word_fail_rate(text: str, words: Collection[str]) -> float | None:
    """The share of a text's words that are not among `words`; `None` where it has no words.

    Source: Delgado del Cerro (2021) section 5.2.5.

    Example:
        >>> word_fail_rate("The cat szat.", {"the", "cat", "sat"})  # 1 of 3
    """
    found = words_of(text)
    return sum(word not in words for word in found) / len(found) if found else None
