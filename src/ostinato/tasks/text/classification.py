"""A label, or several, for each text: the task, and how a trained network labels other texts."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import equinox as eqx
import jax
import numpy as np

from ...cells import Model
from ...data import Batch
from ...data.generated.texts import reviews
from ...data.splits import PARTS, in_percent, shares
from ...data.vocabulary import checked_texts
from ...data.words import Words
from ...errors import BadInput, naming
from ...settings import setting
from ..abilities import PassageTask, StartedTask
from ..applying import ApplyOptions, with_notes
from ..batches import random
from ..file_task import FileTask, Reading
from ..given_answers import label_sets
from ..interface import Interface
from ..metrics import counted, values_of
from ..series.arrays import Arrays
from ..series.sequences import sequences
from ..start_vectors import VectorSettings, model_numbers, read_start
from ..task import Artefacts
from .labelled import LEVELS, LabelCode, read_labelled, seen_before, split
from .passages import LabelledPassage

KINDS = ("classification", "multilabel")
RARE = 2  # a word or character that occurs less often is unknown
EMBEDDING = 64  # of words; characters are one-hot vectors
REVIEWS = 3000
LANGUAGE = 4  # a place in the random numbers of the seed


class Classify(Arrays, PassageTask, StartedTask):
    """Read a text word by word or character by character; at its end, say its label.

    The answer comes from the last state, or with `--pool mean` from the mean of all states. A
    bidirectional network needs the mean: at the last step, what reads backwards has just begun.

    Words and characters that occur less than twice in the training part are unknown. For parts,
    batches and padding see `Arrays`. The baseline is naive Bayes on the words or characters of a
    text, whose order it does not know.

    With `kind="multilabel"` a text has any number of labels, in a list or joined by commas, each
    learned by a sigmoid of its own (Lipton et al., 2015, section 2.3); naive Bayes then decides
    about each label by itself.

    Shapes: inputs symbols `(T, B)`; targets `(T, B)`, or `(T, B, labels)` of 0 and 1, asked for at
    the last step of each text.

    Example:
        >>> texts = ["it is good", "not good"] * 20
        >>> task = Classify(texts, ["yes", "no"] * 20)
        >>> task.answers.classes, task.batch(0, 4).inputs.shape, task.words.known[0]
        (('no', 'yes'), (3, 4), 'good')
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(VectorSettings):
        file: str | None = setting(
            None,
            "a table with --text and --label, lines label<TAB>text, or a folder for each label "
            "(generated reviews)",
            of_file=True,
        )
        text: str | None = setting(None, "column of the texts in a table", of_file=True)
        label: str | None = setting(None, "column of their labels", of_file=True)
        separator: str | None = setting(
            None, "what divides several labels of a text, such as |", of_file=True
        )
        encoding: str = setting("utf-8", "character encoding of the file", of_file=True)
        kind: str | None = setting(
            None,
            "one label per text (classification), or several (multilabel); by --separator, or "
            "lists in JSON",
            among=KINDS,
        )
        level: str = setting("words", "symbols of a text: words or characters", among=LEVELS)
        length: int | None = setting(None, "words or characters that are read of a text", min=1)
        split: str = setting(
            "80/10/10", "percent for training, validation, test", read=shares, write=in_percent
        )
        paths = ("file", "vectors")

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.separator is not None and (not self.separator or self.kind == KINDS[0]):
                raise BadInput("separator divides several labels; give one, and kind multilabel")

    name = "classify"

    def __init__(
        self,
        texts: Sequence[str],
        labels: Sequence[Any],
        *,
        source: str = "the texts",
        artefacts: Artefacts = None,
        **given: Any,
    ):
        """
        Args:
            texts, labels: as many of each; several labels of a text are a list, or joined by
                commas with `kind="multilabel"`.
            source: where the texts are from, for messages.
            artefacts: of a trained model, whose words and labels are used.
            given: `seed` of all that is random, and settings by name: `kind`, `level`,
                `length`, `split`, `vectors` and `freeze_vectors`; see `Settings`.
        """
        texts = checked_texts(texts, "texts")
        lists = isinstance(labels, list | tuple) and any(
            isinstance(some, list | tuple) for some in labels
        )
        if lists:
            labels = [checked_texts(x, f"labels of text {n}") for n, x in enumerate(labels)]
        else:
            labels = checked_texts(labels, "labels", str | int | np.generic)
        if len(texts) != len(labels):
            raise BadInput(f"there are {len(texts)} texts and {len(labels)} labels")
        FileTask.__init__(self, source=source, **given)
        level, cut = self.settings.level, self.settings.length
        if artefacts is not None:
            level, cut = artefacts["level"], artefacts["length"]
        self.texts = texts
        symbols = [split(text, level, cut) for text in texts]
        for n, some in enumerate(symbols):
            if not some:
                raise BadInput(f"text {n} is empty")
        parts = self._divided(len(texts), shares(self.settings.split))
        known: dict[str, Any] = {}
        if artefacts is None:
            self.words = Words.of((x for n in parts["train"] for x in symbols[n]), RARE)
        else:
            self.words = Words.from_json(artefacts["words"])
            known["answers"] = artefacts["answers"]
        several = lists or (artefacts is not None and artefacts["answers"].get("several", False))
        kind, names = self.settings.kind or KINDS[several], None
        if lists and kind == KINDS[0]:
            raise BadInput(
                "lists of labels are several for each text; leave out kind, or join them"
            )
        if kind == KINDS[1]:
            targets, names = label_sets(labels, known["answers"]["classes"] if known else None)
        else:
            targets = np.array(labels, object)
        data = sequences(
            [self.words.encode(some) for some in symbols],
            targets,
            None,
            kind=kind,
            per_step=False,
            missing="refuse",
        )
        self._learn(data, parts, None, {"symbols": len(self.words), **known}, labels=names)
        self.code = LabelCode(level, cut, self.words, self.answers)
        self.start = read_start(self.settings.vectors, level, self.words.known, first=1)
        usual = EMBEDDING if level == "words" else 0
        self.model = {"kind": "network", **model_numbers(self.start, usual, self.settings)}

    def starting(self, network: Any) -> Any:
        if self.start is None:
            return network
        return eqx.tree_at(
            lambda x: x.encoding, network, network.encoding.starting_from(self.start)
        )

    @classmethod
    def on_file(cls, path: Path, settings: Any, artefacts: dict[str, Any]) -> Self:
        alone = dataclasses.replace(settings, vectors=None, freeze_vectors=False)
        return super().on_file(path, alone, artefacts)

    def baselines(self) -> dict[str, float]:
        """Chance, and naive Bayes with add-one smoothing."""
        baselines, valid = {"chance": self.chance}, self.parts["valid"]
        if len(valid):
            if self.answers.kind == "multilabel":
                marks = self.data.targets > 0
                with_label, without = self._bayes(marks), self._bayes(~marks)
                outputs = [with_label(n) - without(n) for n in valid]
            else:
                bayes = self._bayes(np.eye(self.outputs, dtype=bool)[self.data.targets])
                outputs = [bayes(n) for n in valid]
            batch = Batch(None, self.data.targets[None, valid], np.ones((1, len(valid))))
            metrics = (self.metric,)
            (value,) = values_of(metrics, [counted(metrics, np.array(outputs)[None], batch)])
            if value is not None:
                baselines["naive Bayes"] = value
        return baselines

    def _bayes(self, marks: np.ndarray) -> Callable[[int], np.ndarray]:
        """The log likelihood `(outputs,)` of a text, by its number, given each mark.

        It is from counts of the training texts; `marks` `(N, outputs)` says which have the mark.
        """
        counts = np.ones((self.outputs, self.inputs))
        for n in self.parts["train"]:
            for label in np.flatnonzero(marks[n]):
                np.add.at(counts[label], self._symbols_of(n), 1)
        scores = np.log(counts / counts.sum(1, keepdims=True))
        start = np.log(np.maximum(marks[self.parts["train"]].sum(0), 1e-9))
        return lambda n: start + scores[:, self._symbols_of(n)].sum(1)

    def _symbols_of(self, n: int) -> np.ndarray:
        return self.data.inputs[self.data.steps_of(np.array([n]))]

    def preview(self, network: Model, key: jax.Array) -> str | None:
        """Three texts of the validation part with the labels that the network gives them."""
        which = self.parts["valid"][:3]
        if not len(which):
            return None
        texts = [self.texts[n] for n in which]
        outputs = self.code.outputs_of(network, texts)
        said = self.answers.in_words(outputs)
        wanted = self.data.targets[which]
        marks = wanted if wanted.ndim == 2 else np.eye(self.outputs)[wanted]
        right = self.answers.in_words(marks)
        return "\n".join(
            f"{label or 'none'}{'' if label == true else ' (wrong)'}: {' '.join(text.split()):.100}"
            for label, true, text in zip(said, right, texts, strict=True)
        )

    def passage(self, part: str) -> LabelledPassage:
        which = self.parts[part]
        right = self.data.targets[which] if self.classes is not None else None
        return LabelledPassage(self.code, [self.texts[n] for n in which], right)

    @classmethod
    def passage_of(cls, text: str, network: Model, how: ApplyOptions) -> LabelledPassage:
        texts = [line for line in text.splitlines() if line.strip()]
        return LabelledPassage(LabelCode.from_json(how.artefacts), texts)

    @classmethod
    def interface(cls, settings: Any, artefacts: Mapping[str, Any]) -> Interface:
        return Interface(
            "answers", {name: artefacts[name] for name in ("words", "level", "length", "answers")}
        )

    @classmethod
    def apply(cls, network: Model, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        """The label of each line, as `label<TAB>text`; several are joined by commas.

        Of a table, the texts are in the column that the run learned from.
        """
        code = LabelCode.from_json(how.artefacts)
        how = how.of_column(how.settings.text, how.settings.encoding)
        how = _without_labels(how, code)
        every = code.apply(network, how.lines(), how.report, how.line_count)
        return with_notes((_answer(code, *one, how.n_best) for one in every), how.notes)

    def artefacts(self) -> dict[str, Any]:
        return self.code.as_json()

    @classmethod
    def check_artefacts(cls, artefacts: Mapping[str, Any]) -> tuple[int | None, int | None]:
        code = LabelCode.from_json(artefacts)
        return len(code.words), code.answers.outputs

    @classmethod
    def read(cls, given: Reading) -> "Classify":
        """The task of a file, or of generated reviews."""
        if given.file is None:
            texts, labels = reviews(REVIEWS, random(given.seed, LANGUAGE))
            return cls(texts, labels, source="the generated reviews", **given.arguments)
        read = read_labelled(given.file, given.settings, known=given.artefacts is not None)
        with naming(given.file):
            task = cls(read.texts, read.labels, source=given.file, **given.arguments)
        train, *others = ([task.texts[n] for n in task.parts[part]] for part in PARTS)
        held_out = [text for part in others for text in part]
        task.notes = (*read.notes, *seen_before(train, held_out, "held-out text"))
        return task


def _without_labels(how: ApplyOptions, code: LabelCode) -> ApplyOptions:
    """The texts of a file of which each line is `label<TAB>text` with labels of the run."""
    if how.in_memory or how.given is None or str(how.given) == "-":
        return how
    labels, separator = {*map(str, code.answers.classes or ())}, how.settings.separator or ","
    texts = []
    for line in how.lines():
        label, tab, text = line.rstrip("\r").partition("\t")
        parts = [label] if how.settings.kind != "multilabel" else label.split(separator)
        if not tab or not {part.strip() for part in parts} <= labels:
            return how
        texts.append(text)
    notes = (*how.notes, "each line begins with a label, which was not read as text")
    return dataclasses.replace(how, given=texts, notes=notes)


def _answer(code: LabelCode, text: str, outputs: np.ndarray, n_best: int) -> dict[str, Any]:
    """The label of a text, from the outputs of a network."""
    (answer,) = code.answers.told(outputs[None], n_best)
    shown = f"{answer['text']}\t{' '.join(text.splitlines())}"
    return {"source": text, **answer, "text": shown}
