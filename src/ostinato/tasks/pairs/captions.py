"""Captions: learn to say in words what a picture shows."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ...cells import Model
from ...data import Batch
from ...data.artefact_checks import kept_picture, kept_whole
from ...data.generated import draw_shapes
from ...data.lines import in_columns
from ...data.padding import multiple_above
from ...data.pictures import checked_captioned, read_captioned, read_pictures
from ...data.splits import PARTS, checked_parts, divided_at_random, in_percent, shares
from ...data.tokens import END, UNKNOWN, Tokens
from ...errors import BadInput
from ...progress import each
from ...settings import setting
from ...wiring.attention import ATTENTION
from ...wiring.captioner import as_size
from ..abilities import AnsweringTask
from ..applying import ApplyOptions
from ..batches import hashed, random
from ..checks import checked_seed
from ..file_task import FileSettings, FileTask, Reading
from ..finite import NOBODY, Finite
from ..framing import Written
from ..losses import CrossEntropy
from ..metrics import Accuracy, Bits, ExactMatch, Metric
from ..pictures import moved, nearest
from ..scores import any_match, bleu, meteor
from ..scores.bleu import left_out_if_missing
from ..task import Artefacts
from .pairs import short_enough
from .write_answers import Answer, found_answers

COUNTS = {"train": 16_000, "valid": 500, "test": 1_000}
EMBEDDING = 64
ROOM = 4  # captions of a batch are padded to a multiple of so many symbols
SHOWN = 4
SPLIT, MADE, MOVED = 1, 2, 3  # places in the random numbers of the seed; 0 is the order

Part = tuple[np.ndarray, Sequence[str]]
TOGETHER = 64  # pictures that are captioned at once
LONGER = 8  # symbols that a caption may have more than the longest in training


class Captions(Finite, FileTask, AnsweringTask):
    """Look at a picture and write its caption, word by word.

    Symbol 0 ends a caption, and is what the decoder reads first. The network is a `Captioner`.
    Without a file, the pictures are coloured shapes (`data.generated.shapes`), and the first metric
    is how many captions are right as a whole. With a file it is the accuracy of the next word,
    given the right ones so far: on few pictures, bits per symbol rise while captions still improve.
    A word that is not in the training captions is learned as ⟨unknown⟩, one of the symbols of the
    bits per symbol; to write it is never right.

    A picture may have several captions, with tabs between. Training learns each of them; of
    held-out pictures the first one is the target, and what the network writes is compared with all.

    The baseline is retrieval: the caption of the training picture that is nearest by pixels.

    Shapes: inputs a `Pair` of symbols `(T, B)` and pictures `(height, B, width, channels)`, uint8;
    its lengths are the rows of the pictures. Targets `(T, B)`.

    Example:
        >>> images = np.zeros((20, 8, 8, 3), np.uint8)
        >>> task = Captions.of(images, ["a black square"] * 20)
        >>> batch = task.batch(0, size=4)
        >>> batch.inputs.source.shape, batch.targets[:, 0]
        ((8, 4, 8, 3), array([2, 3, 4, 0], dtype=int32))
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(FileSettings):
        file: str | None = setting(
            None, "an .npz file of images and captions (drawn shapes)", of_file=True
        )
        attention: str | None = setting(
            "additive", "how the decoder looks at the source", among=(*ATTENTION, "none")
        )
        tied: bool = setting(False, "the readout is the embedding of the decoder")
        min_count: int = setting(1, "how often a word must occur to be known", min=1)
        shift: int = setting(
            0, "move each training picture by up to so many pixels", min=0, max=1000
        )
        split: str = setting(
            "80/10/10",
            "percent for training, validation, test",
            read=shares,
            write=in_percent,
            of_file=True,
        )

    name = "caption"
    apply_options = ("beam", "n_best", "penalty", "temperature", "seed")
    unit, filled, plural = "pictures", True, True
    retrieves = True
    kind_of_model = "captioner"
    read_captioned = staticmethod(read_captioned)
    read_new = staticmethod(read_pictures)
    checked = staticmethod(checked_captioned)

    def __init__(
        self,
        parts: Mapping[str, Part],
        *,
        exact: bool = False,
        where: str = "the pictures",
        artefacts: Artefacts = None,
        **given: Any,
    ):
        """
        Args:
            parts: pictures `(N, height, width, channels)` and N captions of `"train"`, `"valid"`
                and `"test"`.
            exact: whether the first metric is how many captions are right as a whole.
            where: where the pictures are from, for messages.
            artefacts: of a trained model, whose vocabulary is used.
            given: `seed` of the order and the shifts, and settings by name: `attention`, `tied`,
                `min_count` and `shift`; see `Settings`.
        """
        super().__init__(source=where, **given)
        chosen, self.exact = self.settings, exact
        checked_parts(parts, "the pictures")
        self.images = {name: part[0] for name, part in parts.items()}
        self.references = {name: [in_columns(x) for x in part[1]] for name, part in parts.items()}
        self.captions = {name: [x[0] for x in some] for name, some in self.references.items()}
        self.captions["train"] = [x for some in self.references["train"] for x in some]
        self._picture_of = np.repeat(
            np.arange(len(self.images["train"])), [*map(len, self.references["train"])]
        )  # which picture each training caption belongs to
        if not self.captions["train"]:
            raise BadInput(f"{where}: there is no picture to learn from")
        picture = self.images["train"].shape[-3:]
        if artefacts is None:
            self.tokens = Tokens.of(self.captions["train"], "words", min_count=chosen.min_count)
        else:
            self.tokens = Tokens.from_json(artefacts["tokens"])
        self.symbols = {
            name: [np.array([*self.tokens.encode(text), END], np.int32) for text in texts]
            for name, texts in self.captions.items()
        }
        self.inputs, self.outputs = picture[2], len(self.tokens)
        self.length = max(len(x) for part in self.symbols.values() for x in part)
        both: list[Metric] = [Accuracy(UNKNOWN), ExactMatch(UNKNOWN)]
        metrics = (*both[:: -1 if exact else 1], Bits("symbol"))
        chance = 0.0 if exact else _most_frequent(self.symbols["train"])
        self.framing = Written(CrossEntropy(), metrics, chance)
        self.model = {
            "kind": self.kind_of_model,
            "picture": [*map(int, picture)],
            "attention": None if chosen.attention == "none" else chosen.attention,
            "tied": chosen.tied,
            "embedding": EMBEDDING,
        }
        self._retrieved: dict[str, list[str]] = {}

    @classmethod
    def of(
        cls,
        images: Any,
        captions: Sequence[str],
        *,
        split: tuple[float, float, float] = (0.8, 0.1, 0.1),
        seed: int = 0,
        where: str = "the pictures",
        **options: Any,
    ) -> "Captions":
        """The task of arrays in memory, divided into parts at random.

        Args:
            images: `(N, height, width, channels)`; see `data.pictures.checked_pictures`.
            captions: N of them.
            split: shares for training, validation and test.
            seed, where, options: see the class.
        """
        pictures, texts = cls.checked(images, captions, where)
        rng = random(checked_seed(seed), SPLIT)
        parts = {
            name: (pictures[which], [texts[n] for n in which])
            for name, which in divided_at_random(len(texts), split, cls.unit, rng).items()
        }
        return cls(parts, seed=seed, where=where, **options)

    @classmethod
    def read(cls, given: Reading) -> "Captions":
        """The task of a file, or of drawn shapes."""
        file, settings, seed, kept = given
        options = {**given.arguments, "exact": settings.file is None}
        if file is None:
            parts = {
                part: cls.drawn(random(seed, MADE, n), count, part, settings)
                for n, (part, count) in enumerate(COUNTS.items())
            }
            return cls(parts, where="the drawn shapes", **options)
        images, captions = cls.read_captioned(file)
        if kept is not None:
            check_size(images, kept, file)
        return cls.of(images, captions, split=shares(settings.split), where=file, **options)

    @staticmethod
    def drawn(rng: np.random.Generator, count: int, part: str, settings: Any) -> Part:
        """Pictures and captions of a part, where there is no file."""
        return draw_shapes(rng, count, part)

    def hold_out_all(self) -> None:
        first = np.unique(self._picture_of, return_index=True)[1]
        self._picture_of = np.arange(len(first))
        captions = [self.captions["train"][n] for n in first]
        symbols = [self.symbols["train"][n] for n in first]
        self.captions = dict.fromkeys(PARTS, captions)
        self.symbols = dict.fromkeys(PARTS, symbols)
        self.images = dict.fromkeys(PARTS, self.images["train"])
        self.references = dict.fromkeys(PARTS, self.references["train"])
        self.retrieves = False  # the training pictures need not exist any more

    # Batches

    def batch(self, index: int, size: int, length: int | None = None) -> Batch:
        which = self.chosen(index, size, length)
        longest = max(len(self.symbols["train"][n]) for n in which)
        batch = self.padded("train", which, min(self.length, multiple_above(longest, ROOM)))
        shift = self.settings.shift
        if not shift:
            return batch
        draw = random(self.seed, MOVED, index)
        places = draw.integers(-shift, shift + 1, (2, len(which)))
        pictures = self.moved(batch.inputs.source, *places)
        return batch._replace(inputs=batch.inputs._replace(source=pictures))

    @staticmethod
    def moved(pictures: np.ndarray, down: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The pictures of a batch, each moved; see `moved`."""
        return moved(pictures, down, right)

    def padded(self, part: str, which: np.ndarray, steps: int) -> Batch:
        """Some pictures of a part as a batch; number -1 is a picture that counts nothing."""
        shown = np.maximum(which, 0)
        shown = self._picture_of[shown] if part == "train" else shown
        pictures = np.moveaxis(self.images[part][shown], 0, 1)
        rows = np.full(len(which), len(pictures), np.int32)
        targets = [self.symbols[part][n] for n in which if n != NOBODY]
        return Written.batch(pictures, rows, targets, steps)

    def together(self, part: str, which: np.ndarray) -> Batch:
        return self.padded(part, which, self.length)

    def count(self, part: str) -> int:
        return len(self.symbols[part])

    def fitting(self, length: int | None) -> np.ndarray:
        return short_enough(self.symbols["train"], length)

    # What is measured

    def scores(self, network: Model, part: str) -> dict[str, Any]:
        """Exact match, METEOR and BLEU-1 to BLEU-4 with a beam of 5; BLEU-1 of retrieval."""
        right = self.references[part]
        if not right:
            return {}
        best = written(network, self.tokens, self.images[part], self.length, ApplyOptions())
        texts = [answers[0].text for answers in best]
        values = {"exact, beam of 5": any_match(texts, right), "METEOR": meteor(texts, right)}
        with left_out_if_missing():
            scores = [bleu(texts, right, order=order) for order in (1, 2, 3, 4)]
            values |= {f"BLEU-{n} ({x.signature})": x.value for n, x in enumerate(scores, 1)}
            if self.retrieves:
                values["BLEU-1, nearest picture"] = bleu(self.retrieved(part), right, order=1).value
        return values

    def retrieved(self, part: str) -> list[str]:
        """The caption of the nearest training picture, for each picture of a part."""
        if part not in self._retrieved:
            which = nearest(self.images[part], self.images["train"])
            self._retrieved[part] = [self.references["train"][n][0] for n in which]
        return self._retrieved[part]

    def yardsticks(self, part: str) -> dict[str, float]:
        right = self.references[part]
        if not self.exact or not right or not self.retrieves:
            return {}
        return {"nearest picture": any_match(self.retrieved(part), right)}

    # What is shown and kept

    def preview(self, network: Model, key: jax.Array) -> str | None:
        """Captions that the network writes for pictures of the validation part."""
        part = "valid" if self.captions["valid"] else "train"
        pictures = self.images[part][:SHOWN]
        right = [some[0] for some in self.references[part][:SHOWN]]
        lines = []
        captions = written(network, self.tokens, pictures, self.length, ApplyOptions(beam=1))
        for best, text in zip(captions, right, strict=True):
            good = best[0].text == text
            lines.append(f"{'✓' if good else '✗'} {best[0].text}" + ("" if good else f" = {text}"))
        return "\n".join(lines)

    @classmethod
    def verb(cls, artefacts: Mapping[str, Any]) -> str:
        return "caption"

    @classmethod
    def apply(cls, network: Model, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        """The captions of the pictures or clips in a file or an array."""
        pictures = cls.read_new(how.file_or_data(f"an .npy or .npz file of {cls.unit}"))
        check_size(pictures, how.artefacts, how.where)
        tokens = Tokens.from_json(how.artefacts["tokens"])
        captions = written(network, tokens, pictures, how.artefacts["longest"] + LONGER, how)
        for number, best in enumerate(captions):
            answers = [x.as_json() for x in best]
            yield {"number": number, "text": best[0].text, "answers": answers}

    def artefacts(self) -> dict[str, Any]:
        assert self.model is not None
        return {
            "tokens": self.tokens.as_json(),
            "picture": self.model["picture"],
            "longest": self.length,
        }

    @classmethod
    def check_artefacts(cls, artefacts: Mapping[str, Any]) -> tuple[int | None, int | None]:
        kept_whole(artefacts["longest"], "longest caption", min=0)
        kept_picture(artefacts["picture"])
        return None, len(Tokens.from_json(artefacts["tokens"]))

    def fingerprint(self) -> str:
        return hashed([*self.images.values(), *(x for y in self.symbols.values() for x in y)])


def _most_frequent(captions: Sequence[np.ndarray]) -> float:
    """The share of the most frequent symbol that can be right."""
    counts = np.bincount(np.concatenate(captions))
    return float(np.delete(counts, UNKNOWN).max() / counts.sum())


def check_size(pictures: np.ndarray, artefacts: Mapping[str, Any], where: str) -> None:
    """Refuse pictures, or frames of clips, of another size than in training."""
    known, size = artefacts["picture"], pictures.shape[-3:]
    if [*size] != known:
        what = "frames" if pictures.ndim == 5 else "pictures"
        raise BadInput(
            f"{where}: the {what} have {as_size(size)}; the model reads {as_size(known)}"
        )


def written(
    network: Any, tokens: Tokens, pictures: np.ndarray, max_symbols: int, how: ApplyOptions
) -> Iterator[list[Answer]]:
    """The best captions of each picture.

    Args:
        network: a trained `Captioner` or `VideoCaptioner`.
        tokens: its vocabulary.
        pictures: `(N, height, width, channels)`, or clips with an axis of frames.
        max_symbols: the largest number of symbols of a caption, with its end.
        how: the beam, and how many captions.
    """
    together = min(TOGETHER, len(pictures))
    blocks = [pictures[begin : begin + together] for begin in range(0, len(pictures), together)]
    for block in each(blocks, how.report, "describing the pictures", len(pictures), len):
        spare = together - len(block)
        padded = np.pad(block, ((0, spare), *[(0, 0)] * (block.ndim - 1)))
        lengths = np.full(together, padded.shape[1], np.int32)
        answers = found_answers(
            network, np.moveaxis(padded, 0, 1), lengths, max_symbols, tokens, how
        )
        yield from answers[: len(block)]
