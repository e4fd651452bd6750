"""Sample from a run: a whole text, or symbol by symbol with the alternatives of each."""

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from ... import decoding
from ...cells import Model
from ...data import Vocabulary
from ...decoding import Drawn, play
from ...decoding.text import as_text, checked_stop, opening, until
from ...errors import BadInput
from ...settings import checked_kind
from ...tasks.checks import checked_seed
from ..folder.run import RunFolder, checked_run


def sample(
    run: RunFolder,
    prompt: str = "",
    length: int = 1000,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    stop: str | None = None,
) -> str:
    """A text that the network of a run writes after a prompt, which is not part of it.

    Args:
        run: a run on a text; see `open_run`.
        prompt: text to continue; if empty, a newline.
        length: how many characters (or bytes) to generate.
        temperature: lower is more conservative; 0 takes the most probable symbol.
        top_k: sample from this many most probable symbols.
        top_p: sample from the most probable symbols that sum to this.
        seed: random seed.
        stop: stop before this text.

    Example:
        >>> len(sample(open_run("runs/text-mlstm-1"), "The ", 20, temperature=0.8))
        20
    """
    checked_run(run)
    checked_stop(stop)
    with run.precision():
        vocabulary, start = beginning(run, prompt)
        pieces = decoding.sample(
            run.network(),
            start,
            length,
            key=jax.random.key(checked_seed(seed)),
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
        )
        return "".join(until(as_text(pieces, vocabulary), stop))


def beginning(run: RunFolder, prompt: str) -> tuple[Vocabulary, np.ndarray]:
    """The vocabulary of a run on a text, and the symbols of a prompt."""
    checked_kind("prompt", prompt, str, "a text")
    vocabulary = run.vocabulary
    if vocabulary is None:
        raise BadInput(f"{run.path} was trained on the task {run.config.task}; sample needs a text")
    return vocabulary, np.asarray(vocabulary.encode(prompt) if prompt else opening(vocabulary))


def play_run(
    run: RunFolder,
    prompt: str,
    count: int,
    *,
    seed: int = 0,
    network: Model | None = None,
    **how: Any,
) -> Iterator[dict[str, Any]]:
    """Sample from a run on a text, symbol by symbol as it is made.

    Args:
        run: the run.
        prompt: text to continue; if empty, a newline.
        count: how many symbols.
        seed: random seed.
        network: that of the run, if it is at hand.
        how: `temperature`, `top_k`, `top_p` and `alternatives`; see `decoding.play`.

    Returns:
        An iterator of dictionaries: the `piece` of text, its `probability`, and `alternatives`,
        pairs of text and probability. A character of several bytes comes with its last byte.

    Example:
        >>> drawn = [*play_run(open_run("runs/text-mlstm-1"), "The ", 20, seed=1, top_k=3)]
        >>> len(drawn), len("".join(one["piece"] for one in drawn))
        (20, 20)
    """
    checked_run(run)
    with run.precision():
        vocabulary, start = beginning(run, prompt)
        network = run.network() if network is None else network
        drawn = play(network, start, count, key=jax.random.key(checked_seed(seed)), **how)
    return _as_pieces(run, drawn, vocabulary)


def _as_pieces(
    run: RunFolder, drawn: Iterator[Drawn], vocabulary: Vocabulary
) -> Iterator[dict[str, Any]]:
    held: list[Drawn] = []

    def symbols() -> Iterator[np.ndarray]:
        while True:
            with run.precision():  # not while the caller has its turn
                one = next(drawn, None)
            if one is None:
                return
            held.append(one)
            yield np.array([one.symbol])

    def spelled(symbol: int) -> str:
        text = vocabulary.decode([symbol])
        return text if text != "\ufffd" else f"\\x{vocabulary.points[symbol]:02x}"

    for piece in as_text(symbols(), vocabulary):
        if held:  # otherwise it is what was left of an incomplete character
            one = held.pop()
            others = [[spelled(n), p] for n, p in one.alternatives]
            yield {"piece": piece, "probability": one.probability, "alternatives": others}
