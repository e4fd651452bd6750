"""Dialogue: learn to answer a turn, given the turns before it."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...data.lines import given_lines
from ...data.splits import divided_at_random, draw_in, shares
from ...data.text_table import JSON, read_text_table, suffix_of, texts_in
from ...errors import BadInput
from ...files import checked_path
from ...settings import setting, shown
from ..applying import ApplyOptions
from ..batches import random
from .text_pairs import PairedTexts, Part, TextPairs, TextPairSettings, of_files
from .write_answers import PairCode

BETWEEN = " ␞ "  # one word, or three characters, between two turns
COUNTS = {"train": 4_000, "valid": 300, "test": 300}
SPEAKERS = ("second", "every")
TEXTS = ("content", "text", "value")  # what the text of a turn is called in JSON
MADE = 2  # place in the random numbers of the seed
NAMES = "ann ben cleo dan eve finn gus hana ida jon kim leo mia noa otto pia".split()
THINGS = "apples books cats dancing eggs films games hats ink jazz kites lemons maps nuts".split()
GREETINGS = ("hello , i am {name}", "hi , my name is {name}", "good morning , {name} here")


class Dialogue(TextPairs):
    """Read the turns of a dialogue so far, and write the next one.

    A file has a turn per line, and an empty line between dialogues; or a dialogue per line of JSON,
    `{"turns": ["hello", "hi"]}` (see `dialogues_in`). What is learned are the second, fourth, …
    turn, which answer the first, third, …; or every turn but the first. The source of an answer are
    all turns before it, or the last of them and `history` more. Dialogues are held out as a whole.
    Without a file, they are generated: a name and a liking are asked for later.

    `apply` reads a turn per line and answers it, and both become history; an empty line begins
    another dialogue. Once the history is longer than any in training, its oldest turns are left
    out.

    Source: Lipton et al. (2015), section 6: "encoding prompts and generating responses, while
    retaining the entirety of conversation history as contextual information".

    Shapes: those of `Pairs`.
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(TextPairSettings):
        file: str | None = of_files(
            None, "dialogues: a turn per line, an empty line between them; or lines of JSON"
        )
        dialogue: str = of_files("turns", "column of the turns of a dialogue, in lines of JSON")
        history: int | None = setting(
            None, "how many turns are read before the one that is answered (all)", min=0
        )
        speaker: str = of_files(
            "second", "whose turns are learned: second (the 2nd, 4th, …) or every", among=SPEAKERS
        )
        paths = ("file", "vectors", "target_vectors")

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
        dialogues, notes = dialogues_in(settings.file, settings.dialogue)
        # Dialogues are held out at random, the same ones whatever the seed of the run.
        cuts = divided_at_random(
            len(dialogues), shares(settings.split), "dialogues", np.random.default_rng(0)
        )
        parts = {
            part: turns_answered([dialogues[n] for n in which], settings)
            for part, which in cuts.items()
        }
        return PairedTexts(parts, settings.file, "subwords", False, notes)

    @classmethod
    def on_file(cls, path: Path, settings: Any, artefacts: dict[str, Any]) -> "Dialogue":
        part = turns_answered(dialogues_in(path, settings.dialogue)[0], settings)
        return cls.of_held_out(part, str(path), settings, artefacts, settings.file is None)

    def shown(self, source: str) -> str:
        """The last turns of a source, one per line."""
        return "\n".join(source.split(BETWEEN)[-3:])

    @classmethod
    def apply(cls, network: Any, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        """Answers turn by turn."""
        code, turns = PairCode.of_run(how), list[str]()
        for number, line in enumerate(how.lines(), 1):
            if not line.strip():
                turns = []
                yield {"source": "", "text": "", "turn": 0}
                continue
            turns.append(line.strip())
            text = source_of(turns, how.settings.history)
            while BETWEEN in text and len(code.source.encode(text)) >= code.longest[0]:
                text = text.partition(BETWEEN)[2]
            (best,) = code.written(network, [code.read(text, f"line {number}")], how)
            yield {
                "source": line.strip(),
                "text": best[0].text,
                "turn": len(turns),
                "answers": [x.as_json() for x in best],
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
    return [
        (source_of(turns[:n], settings.history), [turns[n]])
        for turns in dialogues
        for n in range(1, len(turns), every)
    ]


def dialogues_in(path: str | Path, column: str) -> tuple[list[list[str]], tuple[str, ...]]:
    """The dialogues of a file, by its suffix, and what was done to read them, in sentences.

    In JSON a turn is a text, or an object whose text is its `content`, `text` or `value`, as chats
    are kept; one whose `role` is `system` is no turn.

    Args:
        path: lines of JSON (`.jsonl`, `.json`), or turns as `read_dialogues` reads them.
        column: that has the turns, in JSON.

    Example:
        >>> _ = Path("chat.jsonl").write_text('{"chat": ["hello", {"content": "hi "}]}\\n')
        >>> dialogues_in("chat.jsonl", "chat")
        ([['hello', 'hi']], ('left out are spaces around turns: 1',))
    """
    if suffix_of(path) not in JSON:
        return read_dialogues(path), ()
    (cells,), places, notes = read_text_table(path, [column])
    dialogues, system = [], 0
    for cell, place in zip(cells, places, strict=True):
        if not isinstance(cell, list):
            raise BadInput(f"{path}, {place}: {column} must be a list of turns, got {shown(cell)}")
        chat = [x for x in cell if not (isinstance(x, dict) and x.get("role") == "system")]
        system += len(cell) - len(chat)
        texts = [_text_of(x) if isinstance(x, dict) else x for x in chat]
        texts_in(texts, [place] * len(texts), path, "a turn")
        if len(texts) < 2:
            raise BadInput(f"{path}, {place}: a dialogue needs at least 2 turns, got {len(texts)}")
        dialogues.append(texts)
    spaced = sum(x != x.strip() for turns in dialogues for x in turns)
    for count, what in ((system, "turns of the system:"), (spaced, "spaces around turns:")):
        notes += (f"left out are {what} {count:,}",) if count else ()
    return [[x.strip() for x in turns] for turns in dialogues], notes


def _text_of(turn: dict[str, Any]) -> Any:
    """The text of a turn that is an object; the object itself if it has none."""
    return next((turn[key] for key in TEXTS if key in turn), turn)


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
    kept = [turns for turns in dialogues if turns]
    if not kept:
        raise BadInput(f"{path} has no dialogues; give a turn per line")
    return kept


QUESTIONS = {
    "what is my name": "your name is {name}",
    "who am i": "you are {name}",
    "what do i like": "you like {thing}",
    "do you know what i like": "yes , you like {thing}",
    "how are you": "i am well , {name}",
    "what should we talk about": "let us talk about {thing}",
}


def draw_dialogues(rng: np.random.Generator, count: int, part: str) -> list[list[str]]:
    """Dialogues of six or eight turns; those of the second speaker follow from what was said.

    The combinations of name and thing of `"train"`, `"valid"` and `"test"` are disjoint.

    Example:
        >>> turns = draw_dialogues(np.random.default_rng(0), 1, "train")[0]
        >>> turns[:2]
        ['hello , i am ida', 'hello ida']
    """
    return [_dialogue(rng, part) for _ in range(count)]


def _dialogue(rng: np.random.Generator, part: str) -> list[str]:
    def one(words: Sequence[str]) -> str:
        return words[int(rng.integers(len(words)))]  # `choice` would make an array each time

    both = draw_in(part, lambda: f"{one(NAMES)} {one(THINGS)}")
    name, thing = both.split()
    turns = [one(GREETINGS), "hello {name}", "i like {thing}", "{thing} , how nice"]
    for question in rng.choice([*QUESTIONS], rng.integers(1, 3), replace=False):
        turns += [str(question), QUESTIONS[str(question)]]
    return [turn.format(name=name, thing=thing) for turn in turns]
