"""Execute programs and add numbers: read a program character by character, write what it prints.

Source: Zaremba and Sutskever (2014), Learning to execute.
"""

import abc
import collections
import dataclasses
import itertools
import string
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from ...constructors import from_arguments
from ...data.generated import (
    STRATEGIES,
    Level,
    addition_pair,
    draw_many_terms,
    draw_program,
    longest_program,
)
from ...data.generated.numbers import MAX_DIGITS
from ...data.generated.programs import MAX, check_level
from ...data.lines import read_table_of_pairs
from ...data.splits import PARTS
from ...data.tokens import END, Tokens
from ...errors import BadInput
from ...settings import setting, shared
from ..abilities import AnsweringTask, OnFileTask
from ..applying import ApplyOptions
from ..batches import random
from ..checks import checked_seed
from .pairs import Pairs, PairSettings, encoded
from .write_answers import OPTIONS, PairCode, answers

HELD_OUT = 1000  # examples of validation and of test
TOGETHER = 8  # batches that are generated at once, so that each has pairs of similar lengths
MADE = {"train": 2, "valid": 3, "test": 4}  # places in the random numbers of the seed
EMBEDDING = 64
NEXT = ";"  # stands for the end of a line where a program must be one line

Draw = Callable[[Random], Level]  # draws the difficulty of an example
Texts = list[tuple[str, str]]  # programs with their outputs


@dataclasses.dataclass(frozen=True)
class ExecutionSettings(PairSettings):
    """Settings of every task that executes programs."""

    strategy: str = setting("combined", "how hard training examples are", among=tuple(STRATEGIES))
    growth: int = setting(
        500, "batches until the strategies naive and combined reach full difficulty", min=1
    )
    digits: int | None = setting(
        None, "digits of numbers: 3 to execute, 9 for addition", min=1, max=MAX_DIGITS
    )
    backwards: bool = setting(False, "write the answer from its last digit to its first")


class Execution(Pairs, AnsweringTask, OnFileTask):
    """Read a program; write what it prints.

    Training examples are generated without end, their difficulty by a curriculum strategy: see
    `data.generated.curriculum`. Validation and test are 1,000 examples each of the full difficulty.
    Which part an example belongs to is a hash of its text, so held-out ones never occur in
    training. The first metric is how many answers are right as a whole.

    The strategies `naive` and `combined` reach the full difficulty after `growth` batches; choose
    about half of the batches of the run.
    """

    Settings = ExecutionSettings
    apply_options = OPTIONS
    characters: str
    printed = string.digits

    def __init__(self, *, seed: int = 0, settings: Any = None, **given: Any):
        chosen = from_arguments(self.Settings, given, settings)
        self.level, longest = self.difficulty(chosen)
        reverse, backwards = chosen.reverse, chosen.backwards
        known = Tokens("characters", tuple(sorted(self.characters)))
        written = Tokens("characters", tuple(sorted(self.printed)), backwards)
        self._coded = _fast_encoder(known, reverse), _fast_encoder(written, backwards)
        self._group: tuple[Any, Any, np.ndarray] | None = None
        parts: dict[str, Any] = {"train": ([], [])}
        for part in ("valid", "test"):
            texts = self.drawn(random(checked_seed(seed), MADE[part]), part, HELD_OUT, self._full)
            parts[part] = encoded(texts, known, written)
        super().__init__(
            parts,
            known,
            written,
            longest=(longest[0] + 1, longest[1] + 1),
            exact=True,
            embedding=EMBEDDING,
            seed=seed,
            where=f"the programs of {self.name}",
            settings=chosen,
        )

    @abc.abstractmethod
    def difficulty(self, settings: Any) -> tuple[Level, tuple[int, int]]:
        """The full difficulty, and the characters of the longest program and of the longest answer.

        Args:
            settings: an instance of `Settings`.
        """

    @abc.abstractmethod
    def drawn(self, rng: np.random.Generator, part: str, count: int, level: Draw) -> Texts:
        """Random programs of a part with their outputs.

        Args:
            rng: the source of randomness.
            part: `"train"`, `"valid"` or `"test"`.
            count: how many.
            level: draws the difficulty of an example.
        """

    def _full(self, rng: Random) -> Level:
        return self.level

    def training_pairs(
        self, index: int, size: int, length: int | None
    ) -> tuple[tuple[Sequence[np.ndarray], Sequence[np.ndarray]], np.ndarray]:
        """New pairs, made `TOGETHER` batches at a time: pairs of similar lengths form a batch."""
        group, place = divmod(index, TOGETHER)
        if self._group is None or self._group[0] != (group, size, length):
            draw, step = random(self.seed, MADE["train"], group), group * TOGETHER

            def level(rng: Random) -> Level:
                # `naive` uses half of the steps that it is told to reach its target.
                draw = STRATEGIES[self.settings.strategy]
                return draw(rng, step, 2 * self.settings.growth, self.level)

            one, two = zip(*self.drawn(draw, "train", TOGETHER * size, level), strict=True)
            pairs = self._coded[0](one), self._coded[1](two)
            order = np.argsort(self.sizes_of(pairs), kind="stable")
            if length is not None:
                short = [n for n in order if len(pairs[1][n]) <= length]
                order = np.resize(short or order, len(order))
            batches = draw.permutation(order.reshape(TOGETHER, size))
            self._group = (group, size, length), pairs, batches
        _, pairs, batches = self._group
        return pairs, batches[place]

    def batch_shape(self, size: int) -> tuple[int, int]:
        return self.length, size

    def epochs(self, batches: int, size: int, length: int | None = None) -> float | None:
        return None

    def baselines(self) -> dict[str, float]:
        answers = collections.Counter(bytes(x) for x in self.parts["valid"][1])
        common = answers.most_common(1)[0][1] / answers.total()
        return {"chance": self.chance, "most frequent answer": common}

    def shown(self, source: str) -> str:
        return source.replace("\n", NEXT)

    @classmethod
    def on_file(cls, path: Path, settings: Any, artefacts: dict[str, Any]) -> Pairs:
        """A file of `program<TAB>output` lines, the lines of a program separated by `;`."""
        code = PairCode.from_json(artefacts)
        programs, printed = read_table_of_pairs(path)
        texts = [(_program(one), two) for one, (two,) in zip(programs, printed, strict=True)]
        for number, (one, two) in enumerate(texts, 1):
            where = f"{path}, line {number}"
            code.read(one, where, strict=True)
            if code.target.unknown(two):
                raise BadInput(f"{where}: {two!r:.40} is not a number to print")
        pairs = encoded(texts, code.source, code.target)
        given = {
            **shared(settings, PairSettings),
            "exact": True,
            "embedding": EMBEDDING,
            "where": str(path),
        }
        task = Pairs(dict.fromkeys(PARTS, pairs), code.source, code.target, **given)
        task.name = cls.name
        return task

    @classmethod
    def apply(cls, network: Any, how: ApplyOptions) -> Iterator[dict[str, Any]]:
        """What the network says that programs print: one program per line, `;` for its newlines."""
        return answers(network, how, read=_program, strict=True)


class Execute(Execution):
    """Execute short programs of sums, products, variables, loops and choices.

    The dials are `nesting`, the number of operations, and `digits`, the length of the numbers; for
    the programs see `data.generated.programs`.

    Shapes: those of `Pairs`.

    Example:
        >>> task = Execute(nesting=2, digits=2, strategy="mix")
        >>> batch = task.batch(0, size=4)
        >>> source, target = batch.inputs.source[:, 0], batch.targets[:, 0]
        >>> print(task.sources.decode(source))
        o=7
        for x in range(2):o-=(9+3)
        print(o)
        >>> task.targets.decode(target)
        '-17'
    """

    @dataclasses.dataclass(frozen=True)
    class Settings(ExecutionSettings):
        nesting: int = setting(2, "execute: operations of a program", min=1, max=MAX.nesting)

    name = "execute"
    characters = "\n ()*+-:<=>" + string.digits + string.ascii_lowercase
    printed = "-" + string.digits

    def difficulty(self, settings: Any) -> tuple[Level, tuple[int, int]]:
        level = check_level(Level(settings.nesting, settings.digits or 3))
        return level, longest_program(level)

    def drawn(self, rng: np.random.Generator, part: str, count: int, level: Draw) -> Texts:
        draw = Random(int(rng.integers(2**63)))
        programs = [draw_program(draw, level(draw), part) for _ in range(count)]
        return [(str(program), program.output()) for program in programs]


class Addition(Execution):
    """Add two numbers: `print(123456789+987654321)`.

    Both numbers of a held-out example have `digits` digits. In training the strategy draws the
    digits of each number, so with `mix` and `combined` shorter numbers are learned too.

    Shapes: those of `Pairs`.

    Example:
        >>> task = Addition(digits=3)
        >>> batch = next(task.held_out("test", 4))
        >>> source, target = batch.inputs.source[:, 0], batch.targets[:, 0]
        >>> task.sources.decode(source), task.targets.decode(target)
        ('print(350+768)', '1118')
    """

    name = "addition"
    characters = "()+inprt" + string.digits
    solved = 0.99

    def difficulty(self, settings: Any) -> tuple[Level, tuple[int, int]]:
        digits = settings.digits or 9
        return Level(1, digits), (len("print(+)") + 2 * digits, digits + 1)

    def drawn(self, rng: np.random.Generator, part: str, count: int, level: Draw) -> Texts:
        draw = Random(int(rng.integers(2**63)))
        digits = np.array([level(draw).length for _ in range(2 * count)]).reshape(count, 2)
        terms = draw_many_terms(rng, digits, part)
        return [addition_pair(one, other) for one, other in terms.tolist()]


def _fast_encoder(tokens: Tokens, reverse: bool) -> Callable[[Sequence[str]], list[np.ndarray]]:
    """Encodes many ASCII texts at once, with ends: training must not wait for its examples."""
    symbols = np.full(128, END, np.int32)
    for character in tokens.tokens:
        symbols[ord(character)] = tokens.encode(character)[0]

    def encode(texts: Sequence[str]) -> list[np.ndarray]:
        texts = [text[::-1] for text in texts] if reverse else texts
        joined = symbols[np.frombuffer(("\0".join(texts) + "\0").encode(), np.uint8)]
        stops = itertools.accumulate((len(text) + 1 for text in texts), initial=0)
        return [joined[begin:end] for begin, end in itertools.pairwise(stops)]

    return encode


def _program(line: str) -> str:
    return line.replace(NEXT, "\n")
