"""Learn to turn one sequence of symbols into another."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ..data import Batch
from ..data.kept import kept_whole
from ..data.splits import checked_shares
from ..data.tokens import END, UNKNOWN, Tokens
from ..decoding import beam_answers
from ..errors import BadInput
from ..settings import setting
from ..wiring import ATTENTION, Pair
from .answering import where_it_looks, written
from .applying import Applying
from .losses import CrossEntropy, SmoothedCrossEntropy
from .metrics import Accuracy, Bits, ExactMatch, Metric
from .pictures import Picture
from .task import Task, checked_part, checked_seed, hashed, random

SIZES, STEPS = 8, 8  # at most so many padded sizes, which differ by at least so many symbols
SHOWN, DRAWN = 4, 3  # answers in a preview, pictures in a report
ORDER, OWN = 0, 1  # places in the random numbers of the seed


@dataclasses.dataclass(frozen=True)
class PairSettings:
    """Settings of every task that turns a sequence into another."""

    attention: str | None = setting(
        "additive", "how the decoder looks at the source", among=(*ATTENTION, "none")
    )
    reverse: bool = setting(False, "read the source backwards")
    tied: bool = setting(False, "the readout is the embedding of the decoder")
    smoothing: float = setting(
        0.0, "label smoothing: weight of all symbols alike", least=0, below=1
    )
    sampling: float = setting(
        0.0, "scheduled sampling: how often the decoder reads its own answer", least=0, most=1
    )
    sampling_steps: int = setting(0, "steps over which scheduled sampling grows to that", least=0)


@dataclasses.dataclass(frozen=True)
class _BitsBeside(Bits):
    """Bits of a task whose loss is another one."""

    loss_factor = None


class Pairs(Task):
    """Read a source and write its target: translation, and whatever can be put that way.

    Symbol 0 ends both, and is what the decoder reads first. The network is an `EncoderDecoder`.
    A batch has pairs of similar lengths, padded to one of at most eight sizes; every epoch takes
    the pairs in another order.

    A token that the target vocabulary does not know is learned as the symbol ⟨unknown⟩. Bits per
    symbol are over the network's symbols, of which it is one; an answer with it is never right.

    Shapes: inputs a `Pair` of symbols, targets `(T, B)`.

    Example:
        >>> task = Pairs.of_texts(["one two", "two"] * 20, ["eins zwei", "zwei"] * 20)
        >>> batch = task.batch(0, size=4)
        >>> batch.inputs.source.shape[1], batch.targets.shape[1]
        (4, 4)
    """

    name = "pairs"
    apply_options = ("beam", "n_best", "penalty", "temperature", "seed", "targets", "pictures")
    symbolic = True

    def __init__(
        self,
        parts: Mapping[str, tuple[Sequence[np.ndarray], Sequence[np.ndarray]]],
        source: Tokens,
        target: Tokens,
        *,
        attention: str | None = "additive",
        reverse: bool = False,
        tied: bool = False,
        smoothing: float = 0.0,
        sampling: float = 0.0,
        sampling_steps: int = 0,
        embedding: int = 128,
        exact: bool = False,
        longest: tuple[int, int] | None = None,
        references: Mapping[str, Sequence[str]] | None = None,
        seed: int = 0,
        where: str = "the pairs",
    ):
        """
        Args:
            parts: sources and targets of `"train"`, `"valid"` and `"test"`, symbols without ends.
            source, target: the vocabularies.
            attention, reverse, tied, smoothing, sampling, sampling_steps: see `PairSettings`.
            embedding: size of the embeddings, unless the network's settings say otherwise.
            exact: whether the first metric is how many answers are right as a whole.
            longest: symbols of the longest source and target, ends included; by default those of
                the parts. A subclass that generates its training pairs (`training_pairs`) gives it,
                and no part `"train"`.
            references: the targets of held-out parts as texts, with whatever the vocabulary does
                not know; by default the symbols decoded.
            seed: random seed of order and sampling.
            where: where the pairs are from, for messages.
        """
        self.sources, self.targets = source, target
        self.seed, self.where, self.reverse = checked_seed(seed), where, reverse
        self.parts = {name: _ended(*pairs, reverse) for name, pairs in parts.items()}
        if longest is None and not self.parts["train"][0]:
            raise BadInput(f"{where}: there is no pair to learn from")
        self._references = references or {}
        self.inputs, self.outputs = len(source), len(target)
        both = [pairs for part in self.parts.values() for pairs in zip(*part, strict=True)]
        self.longest = longest or tuple(max(len(pair[side]) for pair in both) for side in (0, 1))
        self.length = self.longest[1]
        self.sizes = min(SIZES, -(-max(self.longest) // STEPS))
        self.sampling, self.sampling_steps = sampling, sampling_steps
        self.loss = SmoothedCrossEntropy(smoothing=smoothing) if smoothing else CrossEntropy()
        bits: Metric = (_BitsBeside if smoothing else Bits)("symbol")
        whole = ExactMatch(UNKNOWN)
        first, second = (whole, bits) if exact else (bits, whole)
        self.metrics = (first, second, Accuracy(UNKNOWN))
        self.model = {
            "kind": "encoder-decoder",
            "attention": None if attention in (None, "none") else attention,
            "tied": tied,
            "embedding": embedding,
        }
        self.chance = 0.0 if exact else _entropy(self.parts["train"][1], self.outputs)
        self._epoch: tuple[Any, list[np.ndarray]] | None = None

    @classmethod
    def of_texts(
        cls,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        level: str = "words",
        split: tuple[float, float, float] = (0.8, 0.1, 0.1),
        **options: Any,
    ) -> "Pairs":
        """The task of texts in memory, the parts following one another."""
        if len(sources) != len(targets):
            raise BadInput(f"there are {len(sources)} sources and {len(targets)} targets")
        count = len(sources)
        cuts = np.round(np.cumsum([0, *checked_shares(split)]) * count).astype(int)
        train = slice(cuts[0], cuts[1])
        known = [Tokens.of(texts[train], level) for texts in (sources, targets)]
        parts = {}
        for n, name in enumerate(("train", "valid", "test")):
            here = slice(cuts[n], cuts[n + 1])
            coded = [
                [np.array(tokens.encode(text), np.int32) for text in texts[here]]
                for tokens, texts in zip(known, (sources, targets), strict=True)
            ]
            parts[name] = (coded[0], coded[1])
        held_out = {"valid": slice(cuts[1], cuts[2]), "test": slice(cuts[2], cuts[3])}
        references = {name: targets[here] for name, here in held_out.items()}
        return cls(parts, *known, references=references, **options)

    @property
    def source(self) -> str:
        return f"{self.where} are"

    # Batches

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        found = self.padded(*self.training_pairs(index, size, length))
        return found._replace(inputs=found.inputs._replace(own=self._own(index, found)))

    def training_pairs(
        self, index: int, size: int, length: int | None
    ) -> tuple[tuple[Sequence[np.ndarray], Sequence[np.ndarray]], np.ndarray]:
        """Pairs with ends, and which of them are in training batch number `index`."""
        return self.parts["train"], self._order(index, size, length)

    def _order(self, index: int, size: int, length: int | None) -> np.ndarray:
        """The pairs of training batch number `index`, by their numbers."""
        sources, targets = self.parts["train"]
        which = np.arange(len(sources))
        if length is not None:
            short = np.flatnonzero([len(target) <= length for target in targets])
            which = short if len(short) else which
        size = min(size, len(which))
        epoch, place = divmod(index, len(which) // size)
        name = (epoch, size, length)
        if self._epoch is None or self._epoch[0] != name:
            draw = random(self.seed, ORDER, epoch)
            mixed = draw.permutation(which)
            mixed = mixed[np.argsort(self._sizes(self.parts["train"])[mixed], kind="stable")]
            # What does not fill a batch is left out, each time somewhere else.
            spare = len(mixed) % size
            begin = int(draw.integers(0, spare + 1))
            batches = mixed[begin : begin + len(mixed) - spare].reshape(-1, size)
            self._epoch = name, [*draw.permutation(batches)]
        return self._epoch[1][place]

    def _sizes(self, pairs: tuple[Sequence[np.ndarray], Sequence[np.ndarray]]) -> np.ndarray:
        """Which of the padded sizes each pair needs, from 1 on."""
        shares = [
            np.array([len(x) for x in side]) / most
            for side, most in zip(pairs, self.longest, strict=True)
        ]
        return np.ceil(self.sizes * np.maximum(*shares) - 1e-9).astype(int)

    def padded(
        self, pairs: tuple[Sequence[np.ndarray], Sequence[np.ndarray]], which: np.ndarray
    ) -> Batch:
        """Some pairs as a batch; a pair with the number -1 is empty and counts nothing."""
        real = which[which >= 0]
        chosen = [[side[n] for n in real] for side in pairs]
        size = int(self._sizes((chosen[0], chosen[1])).max())
        steps = [-(-most * size // self.sizes) for most in self.longest]
        count = len(which)
        source, target = (np.full((n, count), END, np.int32) for n in steps)
        lengths = np.ones((2, count), np.int32)
        for column, (one, two) in enumerate(zip(*chosen, strict=True)):
            source[: len(one), column], target[: len(two), column] = one, two
            lengths[:, column] = len(one), len(two)
        weights = np.arange(steps[1])[:, None] < lengths[1]
        weights[:, len(real) :] = False
        read = np.concatenate([np.full((1, count), END, np.int32), target[:-1]])
        inputs = Pair(read, source, lengths[:1])
        return Batch(inputs, target, weights.astype(np.float32), lengths=lengths[1])

    def _own(self, index: int, batch: Batch) -> np.ndarray | None:
        """Where the decoder reads its own answers, or `None` for nowhere."""
        if not self.sampling:
            return None
        grown = min(1.0, index / self.sampling_steps) if self.sampling_steps else 1.0
        found = random(self.seed, OWN, index).random(np.shape(batch.targets))
        own = found < self.sampling * grown
        own[0] = False  # there is no answer yet
        return own

    def held_out(self, part: str, size: int) -> Iterator[Batch]:
        pairs = self.parts[checked_part(part)]
        order = np.argsort(self._sizes(pairs), kind="stable") if pairs[0] else np.zeros(0, int)
        size = max(1, min(size, len(order)))
        for begin in range(0, len(order), size):
            which = order[begin : begin + size]
            yield self.padded(pairs, np.pad(which, (0, size - len(which)), constant_values=-1))

    def batch_shape(self, size: int) -> tuple[int, int]:
        return self.length, min(size, len(self.parts["train"][0]))

    def epochs(self, batches: int, size: int, length: int | None = None) -> float | None:
        count = len(self.parts["train"][0])
        return batches / (count // min(size, count))

    def references(self, part: str) -> list[str]:
        """The right targets of a part as texts, in the order of the part."""
        if part in self._references:
            return [*self._references[part]]
        return [self.targets.decode(target) for target in self.parts[part][1]]

    # What is shown and kept

    def preview(self, network: Any, key: jax.Array) -> str | None:
        """Some validation pairs: source, target and the network's own answer."""
        part = "valid" if self.parts["valid"][0] else "train"
        pairs, references = self.parts[part], self.references(part)
        which = np.arange(min(SHOWN, len(pairs[0])))
        batch = self.padded(pairs, which)
        found = beam_answers(
            network, batch.inputs.source, batch.inputs.lengths[0], width=1, most=self.length
        )
        lines = []
        for n in which:
            one, right = pairs[0][n], references[n]
            text = self.shown(self.sources.decode(one[-2::-1] if self.reverse else one))
            answer = self.targets.decode(found.symbols[n, 0])
            lines += [text, f"  {'✓' if answer == right else '✗'} {answer}"]
            if answer != right:
                lines.append(f"  = {right}")
        return "\n".join(lines)

    def pictures(self, network: Any) -> list[Picture]:
        """Attention weights in some validation pairs, if the network has attention."""
        sources = (self.parts["valid"][0] or self.parts["train"][0])[:DRAWN]
        if getattr(network, "attention", None) is None:
            return []
        found = [*written(network, sources, self.targets, Applying(beam=1), self.longest)]
        return where_it_looks(network, sources, found, self.sources, self.targets)

    def shown(self, source: str) -> str:
        """A source as a preview shows it."""
        return source

    def artefacts(self) -> dict[str, Any]:
        return {
            "source": self.sources.as_json(),
            "target": self.targets.as_json(),
            "longest": list(self.longest),
        }

    @classmethod
    def check_artefacts(cls, found: Mapping[str, Any]) -> tuple[int | None, int | None]:
        source, target = (Tokens.from_json(found[side]) for side in ("source", "target"))
        if not isinstance(found["longest"], list) or len(found["longest"]) != 2:
            raise ValueError("its longest sequences are not two numbers")
        for longest in found["longest"]:
            kept_whole(longest, "longest sequence", least=0)
        return len(source), len(target)

    def fingerprint(self) -> str:
        return hashed([x for part in self.parts.values() for side in part for x in side])


def _ended(
    sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], reverse: bool
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Both sides with ends, the sources backwards if wanted."""

    def ended(symbols: np.ndarray) -> np.ndarray:
        return np.append(symbols, END).astype(np.int32)

    return [ended(x[::-1] if reverse else x) for x in sources], [ended(x) for x in targets]


def _entropy(targets: Sequence[np.ndarray], symbols: int) -> float:
    """Bits per symbol of the frequencies of the target symbols."""
    counts = np.bincount(np.concatenate(targets), minlength=symbols)
    shares = counts[counts > 0] / counts.sum()
    return float(-np.sum(shares * np.log2(shares)))
