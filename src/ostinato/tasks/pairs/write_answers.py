"""What a trained encoder-decoder writes, in texts."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...data import Batch
from ...data.artefact_checks import kept_whole
from ...data.lines import read_lines
from ...data.padding import multiple_above, padded_columns
from ...data.tokens import END, Tokens
from ...decoding import beam_answers, sampled_answers
from ...errors import BadInput
from ...progress import each
from ...through_time import unroll
from ...weights import own_precision
from ...wiring import EncoderDecoder, outputs_of
from ..applying import ApplyOptions
from ..framing import Written
from ..pictures import Picture

OPTIONS = ("beam", "n_best", "penalty", "temperature", "seed", "targets", "pictures")
TOGETHER = 64  # sources that are answered at once
ROOM = 16  # steps by which padded sources grow, so that there are few compilations
LONGER = 4  # how many times longer than in training a source may be
ALWAYS = 200  # symbols that are never too many


class Answer(NamedTuple):
    """One answer: its text, the natural logarithm of its probability, whether it came to an end."""

    text: str
    score: float
    ended: bool
    symbols: np.ndarray

    def as_json(self) -> dict[str, Any]:
        return {"text": self.text, "score": self.score, "ended": self.ended}


@dataclasses.dataclass(frozen=True)
class PairCode:
    """How an encoder-decoder reads sources and writes answers.

    Attributes:
        source, target: the vocabularies.
        longest: symbols of the longest source and target in training, ends included.
        reverse: whether sources are read backwards.
    """

    source: Tokens
    target: Tokens
    longest: tuple[int, int]
    reverse: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "source": self.source.as_json(),
            "target": self.target.as_json(),
            "longest": list(self.longest),
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any], reverse: bool = False) -> "PairCode":
        """The inverse of `as_json`, with validation."""
        source, target = (Tokens.from_json(kept[side]) for side in ("source", "target"))
        longest = kept["longest"]
        if not isinstance(longest, list) or len(longest) != 2:
            raise BadInput("its longest sequences are not two numbers")
        one, two = (kept_whole(x, "longest sequence", min=0) for x in longest)
        return cls(source, target, (one, two), reverse)

    @classmethod
    def of_run(cls, how: ApplyOptions) -> "PairCode":
        """That of the run that is applied."""
        return cls.from_json(how.artefacts, how.settings.reverse)

    def read(self, text: str, where: str, strict: bool = False) -> np.ndarray:
        """The symbols of a source with its end; raises for what the network cannot read.

        Args:
            text: the source.
            where: where it is from, for messages.
            strict: whether to refuse an unknown word or character, instead of reading the symbol
                for unknown in its place.
        """
        symbols = _encoded(text, where, self.source, self.longest[0], strict)
        return np.array([*(symbols[::-1] if self.reverse else symbols), END], np.int32)

    def read_target(self, text: str, where: str, strict: bool = False) -> list[int]:
        """The symbols of a target without an end; see `read`."""
        return _encoded(text, where, self.target, self.longest[1], strict)

    def source_text(self, symbols: np.ndarray) -> str:
        """The text of a source with its end: the inverse of `read`."""
        return self.source.decode(symbols[-2::-1] if self.reverse else symbols)

    def written(
        self, network: EncoderDecoder, sources: Sequence[np.ndarray], how: ApplyOptions
    ) -> Iterator[list[Answer]]:
        """The best answers to some sources with ends, in their order."""
        one, two = self.longest
        for begin in range(0, len(sources), TOGETHER):
            block = sources[begin : begin + TOGETHER]
            padded, lengths = _padded(block)
            # An answer may be as much longer than its source as in training, and then some.
            max_symbols = max(-(-len(padded) * max(two, 1) // max(one, 1)) + ROOM, two)
            answers = found_answers(network, padded, lengths, max_symbols, self.target, how)
            yield from answers[: len(block)]

    def where_it_looks(
        self,
        network: EncoderDecoder,
        sources: Sequence[np.ndarray],
        answers: Sequence[list[Answer]],
    ) -> list[Picture]:
        """The attention weights of the best answers, `(target, source)`, each as a picture."""
        if not sources:
            return []
        if network.attention is None:
            raise BadInput("the network has no attention, so there is no picture of it")
        batch = paired(sources, [best[0].symbols for best in answers])
        weights = np.asarray(_looks(eqx.nn.inference_mode(network), batch.arrays), float)
        pictures = []
        for n, (read, best) in enumerate(zip(sources, answers, strict=True)):
            rows = self.target.pieces(best[0].symbols)
            shares = weights[: len(rows), n, : len(read)]
            pictures.append(Picture(best[0].text, self.source.pieces(read), rows, shares.tolist()))
        return pictures


def _encoded(text: str, where: str, tokens: Tokens, longest: int, strict: bool) -> list[int]:
    """The symbols of a text without an end; raises if there are too many, or one is unknown."""
    if strict and (unknown := tokens.unknown(text)):
        kind = "word" if tokens.level == "words" else "character"
        raise BadInput(
            f"{where}: the model does not know the {kind} {unknown[0]!r:.40}; it knows the "
            f"{len(tokens.tokens)} {kind}s of its training text"
        )
    symbols = tokens.encode(text)
    limit = max(ALWAYS, LONGER * longest)
    if len(symbols) > limit:
        raise BadInput(
            f"{where} has {len(symbols):,} symbols; the longest in training had {longest - 1:,}, "
            f"and at most {limit:,} can be read"
        )
    return symbols


def answers(
    network: EncoderDecoder,
    how: ApplyOptions,
    read: Callable[[str], str] = str,
    *,
    strict: bool = False,
) -> Iterator[dict[str, Any]]:
    """Answers to the lines of a file or of standard input; see `Task.apply`.

    Args:
        network: a trained `EncoderDecoder`.
        how: what to read, and how to answer.
        read: from a line to the source that is meant.
        strict: whether to refuse unknown words and characters; see `PairCode.read`.
    """
    code = PairCode.of_run(how)
    lines = enumerate((line.strip() for line in how.lines()), 1)
    given = None if how.targets is None else iter(read_lines(how.targets))
    blocks = iter(lambda: list(itertools.islice(lines, TOGETHER)), [])
    for block in each(blocks, how.report, "answering the lines", how.line_count, len):
        sources = [
            code.read(read(line), f"line {number}", strict) for number, line in block if line
        ]
        if given is not None:
            yield from _scored(network, block, sources, given, code, how)
            continue
        every = [*code.written(network, sources, how)]
        seen = iter(code.where_it_looks(network, sources, every) if how.pictures else ())
        left = iter(every)
        for _, line in block:
            # An empty line stays empty, so that lines keep their numbers.
            best = next(left) if line else [Answer("", 0.0, True, np.zeros(0, int))]
            answer: dict[str, Any] = {"source": line, "text": best[0].text}
            answer["answers"] = [x.as_json() for x in best]
            if how.pictures and line:
                answer["picture"] = next(seen).as_json()
            yield answer
    if given is not None and (more := next(given, None)) is not None:
        raise BadInput(f"{how.targets} goes on after the end of the input, with {more!r:.40}")


def found_answers(
    network: EncoderDecoder,
    source: Any,
    lengths: Any,
    max_symbols: int,
    tokens: Tokens,
    how: ApplyOptions,
) -> list[list[Answer]]:
    """Answers of at most `max_symbols` symbols to each source, searched or drawn as `how` says."""
    with own_precision(network):
        if how.temperature is None:
            written = beam_answers(
                network,
                source,
                lengths,
                width=how.beam,
                max_symbols=max_symbols,
                count=how.n_best,
                penalty=how.penalty,
            )
        else:
            written = sampled_answers(
                network,
                source,
                lengths,
                key=how.next_key(),
                max_symbols=max_symbols,
                count=how.n_best,
                temperature=how.temperature,
            )
    return [
        [
            Answer(tokens.decode(symbols[:size]), float(score), bool(ended), symbols[:size])
            for symbols, size, score, ended in zip(*every, strict=True)
        ]
        for every in zip(*written, strict=True)
    ]


@eqx.filter_jit
def _looks(network: EncoderDecoder, batch: Batch) -> jax.Array | None:
    return network.looks(unroll, batch)


def _padded(sources: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Sources as `(S, B)`, B always the same, and their lengths."""
    room = multiple_above(max(map(len, sources)), ROOM)
    return padded_columns(sources, room, TOGETHER if len(sources) > 1 else 1)


def _scored(
    network: EncoderDecoder,
    block: list[tuple[int, str]],
    sources: Sequence[np.ndarray],
    given: Iterator[str],
    code: PairCode,
    how: ApplyOptions,
) -> Iterator[dict[str, Any]]:
    """The log probability of given answers."""
    texts = [*itertools.islice(given, len(block))]
    if len(texts) < len(block):
        raise BadInput(
            f"{how.targets} has no line {block[len(texts)][0]}, and the input goes on there"
        )
    if len(sources) < len(block):
        number = next(number for number, line in block if not line)
        raise BadInput(f"line {number} is empty; there is no source to score an answer for")
    coded = [
        # The probability of the symbol for unknown is not that of an unknown word.
        code.read_target(text, f"{how.targets}, line {number}", strict=True)
        for (number, _), text in zip(block, texts, strict=True)
    ]
    scores = log_probabilities(network, sources, coded)
    for (_, line), text, score in zip(block, texts, scores, strict=True):
        yield {"source": line, "target": text, "score": score, "text": f"{score:.4f}\t{text}"}


def log_probabilities(
    network: EncoderDecoder, sources: Sequence[np.ndarray], targets: Iterable[Sequence[int]]
) -> list[float]:
    """The natural logarithm of the probability of each target, without ends, given its source."""
    ended = [np.array([*target, END], np.int32) for target in targets]
    batch = paired(sources, ended)
    totals = _totals(eqx.nn.inference_mode(network), batch.arrays)
    return [float(x) for x in np.asarray(totals)[: len(ended)]]


def paired(sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> Batch:
    """Sources and targets with ends as a batch."""
    longest = max(map(len, targets))
    return Written.batch(*_padded(sources), targets, multiple_above(longest, ROOM))


@eqx.filter_jit
def _totals(network: EncoderDecoder, batch: Batch) -> jax.Array:
    outputs, _ = outputs_of(network, batch)
    logs = jax.nn.log_softmax(outputs)
    chosen = jnp.take_along_axis(logs, jnp.asarray(batch.targets)[..., None], axis=-1)[..., 0]
    return jnp.sum(chosen * batch.counted, axis=0)
