"""Learn to turn one sequence of symbols into another."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ...data import Batch
from ...data.padding import Shares, padded_columns
from ...data.splits import checked_parts, divided
from ...data.tokens import END, UNKNOWN, Tokens
from ...data.vocabulary import checked_texts
from ...data.word_vectors import StartVectors
from ...decoding import beam_answers
from ...errors import BadInput
from ...settings import setting
from ...wiring.attention import ATTENTION
from ..abilities import PassageTask, PicturedTask, StartedTask
from ..applying import ApplyOptions
from ..batches import hashed, random
from ..finite import NOBODY, Finite
from ..framing import Written
from ..losses import CrossEntropy, SmoothedCrossEntropy
from ..metrics import Accuracy, Bits, ExactMatch, Metric
from ..pictures import Picture
from ..text.ngrams import unigram_bits
from ..text.passages import PairPassage
from .write_answers import PairCode

SIZES, STEPS = 8, 8  # at most so many padded sizes, which differ by at least so many symbols
SHOWN, DRAWN = 4, 3  # answers in a preview, pictures in a report
OWN = 1  # place in the random numbers of the seed; 0 is the order


@dataclasses.dataclass(frozen=True)
class PairSettings:
    """Settings of every task that turns a sequence into another."""

    attention: str | None = setting(
        "additive", "how the decoder looks at the source", among=(*ATTENTION, "none")
    )
    reverse: bool = setting(False, "read the source backwards")
    tied: bool = setting(False, "the readout is the embedding of the decoder")
    smoothing: float = setting(0.0, "label smoothing: weight of all symbols alike", min=0, below=1)
    sampling: float = setting(
        0.0, "scheduled sampling: how often the decoder reads its own answer", min=0, max=1
    )
    sampling_steps: int = setting(0, "steps over which scheduled sampling grows to that", min=0)


@dataclasses.dataclass(frozen=True)
class _BitsBeside(Bits):
    """Bits of a task whose loss is another one."""

    loss_factor = None


class Pairs(Finite, PassageTask, StartedTask, PicturedTask):
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

    Settings = PairSettings
    name = "pairs"
    symbolic = True
    unit, filled, spare_anywhere = "pairs", True, True

    def __init__(
        self,
        parts: Mapping[str, tuple[Sequence[np.ndarray], Sequence[np.ndarray]]],
        source: Tokens,
        target: Tokens,
        *,
        embedding: int = 128,
        start: Sequence[StartVectors | None] = (None, None),
        fixed: bool = False,
        exact: bool = False,
        longest: tuple[int, int] | None = None,
        references: Mapping[str, Sequence[Sequence[str]]] | None = None,
        where: str = "the pairs",
        **given: Any,
    ):
        """
        Args:
            parts: sources and targets of `"train"`, `"valid"` and `"test"`, symbols without ends.
            source, target: the vocabularies.
            embedding: size of the embeddings, unless the network's settings say otherwise.
            start: word vectors that the embeddings of source and target start from, which decide
                the size of both.
            fixed: whether such an embedding is not learned.
            exact: whether the first metric is how many answers are right as a whole.
            longest: symbols of the longest source and target, ends included; by default those of
                the parts. A subclass that generates its training pairs (`training_pairs`) gives it,
                and no part `"train"`.
            references: the right targets of each source of held-out parts as texts, with whatever
                the vocabulary does not know; by default the symbols decoded. The first of them is
                the target.
            where: where the pairs are from, for messages.
            given: `seed` of order and sampling, and settings by name; see `PairSettings`.
        """
        super().__init__(**given)
        checked_parts(parts, "the pairs")
        attention, smoothing = self.settings.attention, self.settings.smoothing
        self.sources, self.targets = source, target
        self.where, reverse = where, self.settings.reverse
        self.parts = {name: _ended(*pairs, reverse) for name, pairs in parts.items()}
        if longest is None and not self.parts["train"][0]:
            raise BadInput(f"{where}: there is no pair to learn from")
        self._references = references or {}
        self.inputs, self.outputs = len(source), len(target)
        both = [pairs for part in self.parts.values() for pairs in zip(*part, strict=True)]
        one, two = longest or (max(len(pair[side]) for pair in both) for side in (0, 1))
        self.longest, self.length = (one, two), two
        self.code = PairCode(source, target, self.longest, reverse)
        loss = SmoothedCrossEntropy(smoothing=smoothing) if smoothing else CrossEntropy()
        bits: Metric = (_BitsBeside if smoothing else Bits)("symbol")
        whole = ExactMatch(UNKNOWN)
        first, second = (whole, bits) if exact else (bits, whole)
        self.model = {
            "kind": "encoder-decoder",
            "attention": None if attention == "none" else attention,
            "tied": self.settings.tied,
            "embedding": embedding,
        }
        self.start = start
        sizes = {one.vectors.shape[1]: one.path for one in start if one is not None}
        if len(sizes) > 1:
            raise BadInput(
                "the vectors of source and target must be of the same size: "
                + ", ".join(f"{path} has {size} numbers" for size, path in sizes.items())
            )
        if sizes:
            self.model["embedding"] = next(iter(sizes))
        for name, given_ones in zip(("fixed", "fixed_target"), start, strict=True):
            self.model |= {name: True} if fixed and given_ones is not None else {}
        chance = 0.0 if exact else unigram_bits(np.concatenate(self.parts["train"][1]))
        self.framing = Written(loss, (first, second, Accuracy(UNKNOWN)), chance)

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
        sources, targets = checked_texts(sources, "sources"), checked_texts(targets, "targets")
        if len(sources) != len(targets):
            raise BadInput(f"there are {len(sources)} sources and {len(targets)} targets")
        cuts = divided(len(sources), split)
        source, target = (Tokens.of(texts[cuts["train"]], level) for texts in (sources, targets))
        parts = {
            name: (source.encode_all(sources[here]), target.encode_all(targets[here]))
            for name, here in cuts.items()
        }
        references = {name: [[x] for x in targets[cuts[name]]] for name in ("valid", "test")}
        return cls(parts, source, target, references=references, **options)

    @property
    def source(self) -> str:
        return f"{self.where} are"

    def starting(self, network: Any) -> Any:
        source, target = self.start
        if source is not None:
            reads = network.encoder.encoding.starting_from(source)
            network = eqx.tree_at(lambda x: x.encoder.encoding, network, reads)
        if target is not None:
            writes = network.embedding.starting_from(target)
            network = eqx.tree_at(lambda x: x.embedding, network, writes)
        return network

    # Batches

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        batch = self.padded(*self.training_pairs(index, size, length))
        return batch._replace(inputs=batch.inputs._replace(own=self._own(index, batch)))

    def training_pairs(
        self, index: int, size: int, length: int | None
    ) -> tuple[tuple[Sequence[np.ndarray], Sequence[np.ndarray]], np.ndarray]:
        """Pairs with ends, and which of them are in training batch number `index`."""
        return self.parts["train"], self.chosen(index, size, length)

    def count(self, part: str) -> int:
        return len(self.parts[part][0])

    def fitting(self, length: int | None) -> np.ndarray:
        return short_enough(self.parts["train"][1], length)

    def sizes(self, part: str) -> np.ndarray:
        return self.sizes_of(self.parts[part])

    def sizes_of(self, pairs: tuple[Sequence[np.ndarray], Sequence[np.ndarray]]) -> np.ndarray:
        """Which of the padded sizes each pair needs, from 1 on."""
        return self._padding.of([[*map(len, side)] for side in pairs])

    @property
    def _padding(self) -> Shares:
        return Shares(self.longest, min(SIZES, -(-max(self.longest) // STEPS)))

    def together(self, part: str, which: np.ndarray) -> Batch:
        return self.padded(self.parts[part], which)

    def padded(
        self, pairs: tuple[Sequence[np.ndarray], Sequence[np.ndarray]], which: np.ndarray
    ) -> Batch:
        """Some pairs as a batch; a pair with the number -1 is empty and counts nothing."""
        sources, targets = ([side[n] for n in which if n != NOBODY] for side in pairs)
        steps = self._padding.steps(int(self.sizes_of((sources, targets)).max()))
        return Written.batch(*padded_columns(sources, steps[0], len(which)), targets, steps[1])

    def _own(self, index: int, batch: Batch) -> np.ndarray | None:
        """Where the decoder reads its own answers, or `None` for nowhere."""
        share, steps = self.settings.sampling, self.settings.sampling_steps
        if not share:
            return None
        grown = min(1.0, index / steps) if steps else 1.0
        drawn = random(self.seed, OWN, index).random(np.shape(batch.targets))
        own = drawn < share * grown
        own[0] = False  # there is no answer yet
        return own

    def references(self, part: str) -> list[str]:
        """The right targets of a part as texts, in the order of the part; of several the first."""
        return [some[0] for some in self.all_references(part)]

    def all_references(self, part: str) -> list[Sequence[str]]:
        """The same with all right targets of each source."""
        if part in self._references:
            return [*self._references[part]]
        return [[self.targets.decode(target)] for target in self.parts[part][1]]

    def passage(self, part: str) -> PairPassage:
        sources, targets = self.parts[part]
        if not sources:
            raise BadInput(f"{self.where}: the part {part} has no pairs to look at")
        texts = [self.code.source_text(x) for x in sources]
        return PairPassage(texts, sources, targets, self.targets)

    @classmethod
    def passage_of(cls, text: str, network: Any, how: ApplyOptions) -> PairPassage:
        """Lines `source<TAB>target`; where there is no target, what the network writes itself."""
        code = PairCode.of_run(how)
        lines = [line.split("\t") for line in text.splitlines() if line.strip()]
        if not lines:
            raise BadInput("there is no source; give at least one")
        sources = [code.read(line[0], f"line {n}") for n, line in enumerate(lines, 1)]
        alone = [symbols for line, symbols in zip(lines, sources, strict=True) if not line[1:]]
        own = code.written(network, alone, how)
        right = [
            np.array(code.target.encode(line[1])) if line[1:] else next(own)[0].symbols
            for line in lines
        ]
        ended = [np.append(x[x != END], END).astype(np.int32) for x in right]
        return PairPassage([line[0] for line in lines], sources, ended, code.target)

    # What is shown and kept

    def preview(self, network: Any, key: jax.Array) -> str | None:
        """Some validation pairs: source, target and the network's own answer."""
        part = "valid" if self.parts["valid"][0] else "train"
        pairs, references = self.parts[part], self.references(part)
        which = np.arange(min(SHOWN, len(pairs[0])))
        batch = self.padded(pairs, which)
        answers = beam_answers(
            network, batch.inputs.source, batch.inputs.lengths[0], width=1, max_symbols=self.length
        )
        lines = []
        for n in which:
            right, text = references[n], self.shown(self.code.source_text(pairs[0][n]))
            answer = self.targets.decode(answers.symbols[n, 0])
            lines += [text, f"  {'✓' if answer == right else '✗'} {answer}"]
            if answer != right:
                lines.append(f"  = {right}")
        return "\n".join(lines)

    def pictures(self, network: Any) -> list[Picture]:
        """Attention weights in some validation pairs, if the network has attention."""
        sources = (self.parts["valid"][0] or self.parts["train"][0])[:DRAWN]
        if network.attention is None:
            return []
        answers = [*self.code.written(network, sources, ApplyOptions(beam=1))]
        return self.code.where_it_looks(network, sources, answers)

    def shown(self, source: str) -> str:
        """A source as a preview shows it."""
        return source

    def artefacts(self) -> dict[str, Any]:
        return self.code.as_json()

    @classmethod
    def check_artefacts(cls, artefacts: Mapping[str, Any]) -> tuple[int | None, int | None]:
        code = PairCode.from_json(artefacts)
        return len(code.source), len(code.target)

    def fingerprint(self) -> str:
        return hashed([x for part in self.parts.values() for side in part for x in side])


def encoded(
    texts: Sequence[tuple[str, str]], source: Tokens, target: Tokens
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The symbols of all sources and of all targets, without ends."""
    return source.encode_all(one for one, _ in texts), target.encode_all(two for _, two in texts)


def short_enough(targets: Sequence[np.ndarray], length: int | None) -> np.ndarray:
    """The numbers of the targets that are not longer than a length, or of all if none is."""
    every = np.arange(len(targets))
    short = every if length is None else np.flatnonzero([len(x) <= length for x in targets])
    return short if len(short) else every


def _ended(
    sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], reverse: bool
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Both sides with ends, the sources backwards if wanted."""

    def ended(symbols: np.ndarray) -> np.ndarray:
        return np.append(symbols, END).astype(np.int32)

    return [ended(x[::-1] if reverse else x) for x in sources], [ended(x) for x in targets]
