"""Dialogue: learn to answer a turn, given the turns before it."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...data.files import whole_path
from ...data.generated.dialogues import draw_dialogues
from ...data.lines import given_lines
from ...data.splits import divided_at_random, shares
from ...data.tokens import Tokens
from ...errors import BadInput
from ...files import checked_path
from ...settings import setting
from ..applying import ApplyOptions
from ..task import random
from .text_pairs import PairedTexts, Part, TextPairs, TextPairSettings, of_files
from .write_answers import coded_source, written

BETWEEN = " ␞ "  # one word, or three characters, between two turns
COUNTS = {"train": 4_000, "valid": 300, "test": 300}
SPEAKERS = ("second", "every")
MADE = 2  # place in the random numbers of the seed


class Dialogue(TextPairs):
    """Read the turns of a dialogue so far, and write the next one.

    A file has a turn per line, and an empty line between dialogues. What is learned are the second,
    fourth, … turn, which answer the first, third, …; or every turn but the first. The source of an
    answer are all turns before it, or the last of them and `history` more. Dialogues are held out
    as a whole. Without a file, they are generated: a name and a liking are asked for later.

    `apply` reads a turn per line and answers it, and both become history; an empty line begins
    another dialogue. Once the history is longer than any in training, its oldest turns are left
    out.

    Source: Lipton et al. (2015), section 6: "encoding prompts and generating responses, while
    retaining the entirety of conversation history as contextual information".

    Shapes: those of `Pairs`.
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(TextPairSettings):
        file: str | None = of_files(None, "dialogues: a turn per line, an empty line between them")
        history: int | None = setting(
            None, "how many turns are read before the one that is answered (all)", min=0
        )
        speaker: str = of_files(
            "second", "whose turns are learned: second (the 2nd, 4th, …) or every", among=SPEAKERS
        )

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.file is not None:
                object.__setattr__(self, "file", whole_path(self.file))

    name = "dialogue"
    apply_options = ("beam", "n_best", "penalty", "temperature", "seed")

    @classmethod
    def texts_of(cls, settings: Any, seed: int) -> PairedTexts:
        if settings.file is None:
            made = {
                part: draw_dialogues(random(seed, MADE, n), count, part)
                for n, (part, count) in enumerate(COUNTS.items())
            }
            parts = {part: turns_answered(some, settings) for part, some in made.items()}
            return PairedTexts(parts, "the generated dialogues", "words", True)
        dialogues = read_dialogues(settings.file)
        # Dialogues are held out at random, the same ones whatever the seed of the run.
        cuts = divided_at_random(
            len(dialogues), shares(settings.split), "dialogues", np.random.default_rng(0)
        )
        parts = {
            part: turns_answered([dialogues[n] for n in which], settings)
            for part, which in cuts.items()
        }
        return PairedTexts(parts, settings.file, "subwords", False)

    @classmethod
    def on_file(cls, path: Path, settings: Any, artefacts: dict[str, Any]) -> "Dialogue":
        part = turns_answered(read_dialogues(path), settings)
        return cls.of_held_out(part, str(path), settings, artefacts, settings.file is None)

    def shown(self, source: str) -> str:
        """The last turns of a source, one per line."""
        return "\n".join(source.split(BETWEEN)[-3:])

    @classmethod
    def apply(cls, network: Any, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        """Answers turn by turn."""
        source, target = (Tokens.from_json(how.artefacts[side]) for side in ("source", "target"))
        longest, turns = how.artefacts["longest"], list[str]()
        for number, line in enumerate(how.lines(), 1):
            if not line.strip():
                turns = []
                yield {"source": "", "text": "", "turn": 0}
                continue
            turns.append(line.strip())
            text = source_of(turns, how.settings.history)
            while BETWEEN in text and len(source.encode(text)) >= longest[0]:
                text = text.partition(BETWEEN)[2]
            coded = coded_source(
                text, f"line {number}", source, longest[0], how.settings.reverse, False
            )
            (best,) = written(network, [coded], target, how, longest)
            yield {
                "source": line.strip(),
                "text": best[0].text,
                "turn": len(turns),
                "answers": [{"text": a.text, "score": a.score, "ended": a.ended} for a in best],
            }
            turns.append(best[0].text)


def source_of(turns: Sequence[str], history: int | None) -> str:
    """What is read before an answer: the last turn, and so many before it.

    Example:
        >>> source_of(["hello", "hi", "who are you"], 1)
        'hi ␞ who are you'
    """
    return BETWEEN.join(turns if history is None else turns[-history - 1 :])


def turns_answered(dialogues: Sequence[Sequence[str]], settings: Any) -> Part:
    """The sources and the answers of dialogues; see `Dialogue`."""
    every = 2 if settings.speaker == "second" else 1
    pairs = [
        (source_of(turns[:n], settings.history), [turns[n]])
        for turns in dialogues
        for n in range(1, len(turns), every)
    ]
    return [source for source, _ in pairs], [answer for _, answer in pairs]


def read_dialogues(path: str | Path) -> list[list[str]]:
    """The dialogues of a file: a turn per line, and an empty line between two of them.

    Example:
        >>> _ = Path("talk.txt").write_text("hello\\nhi\\n\\nwho?\\nme\\nah\\n")
        >>> read_dialogues("talk.txt")
        [['hello', 'hi'], ['who?', 'me', 'ah']]
    """
    dialogues: list[list[str]] = [[]]
    for number, line in enumerate(given_lines(checked_path("path", path)), 1):
        if line.strip():
            dialogues[-1].append(line.strip())
            continue
        if len(dialogues[-1]) == 1:
            raise BadInput(f"{path}, line {number - 1}: a dialogue needs at least 2 turns, got 1")
        if dialogues[-1]:
            dialogues.append([])
    if len(dialogues[-1]) == 1:
        raise BadInput(f"{path}: the last dialogue needs at least 2 turns, got 1")
    found = [turns for turns in dialogues if turns]
    if not found:
        raise BadInput(f"{path} has no dialogues; give a turn per line")
    return found
