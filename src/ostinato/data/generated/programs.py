"""Short programs in a small part of Python, and what they print.

A program is a chain of operations, each on the result of the one before and on new numbers; the
last result is printed:

    sum, difference     (a+b)  (a-b)
    product             (a*k)  (k*a)                     with a small k
    assignment          v=a, and then (v+b) or (v-b)
    loop                v=a, then for x in range(k):v+=b or v-=b, and then v
    choice              (a if b<c else d), (a if b>c else d)

The dials are the *nesting*, the number of operations, and the *length*, the number of digits:
numbers are uniform from 1 to 10^length, small ones from 1 to 4 length. A program is evaluated in
one pass from left to right with constant memory.

Source: Zaremba and Sutskever (2014), Learning to execute, section 3. Their generator has a further
operation, which changes nothing; it is left out.

The curriculum strategies of Zaremba and Sutskever say how hard the next example is. The difficulty
is a `Level`: the nesting of a program and the length of its numbers. The target is
the level that is to be learned in the end.

    baseline    always the target
    naive       length 1 and nesting 1 at first; the length rises to its target, then the nesting
                rises by one and the length starts again from 1
    mix         length and nesting uniform between 1 and the target
    combined    naive or mix, with equal probability

Zaremba and Sutskever raise the naive level when the validation error stops falling. Here it depends
on the step alone, so that a batch remains a function of its number: all levels but the last share
the first half of the training equally.
"""

import string
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from ...errors import BadInput
from ...settings import shown
from ..splits import draw_in

VARIABLES = [letter for letter in string.ascii_lowercase if letter != "x"]  # x counts in loops
SMALL = 4  # small numbers go up to this times the length


class Level(NamedTuple):
    """How hard an example is."""

    nesting: int
    length: int


Strategy = Callable[[Random, int, int, Level], Level]


def baseline(rng: Random, step: int, steps: int, target: Level) -> Level:
    """The target at every step.

    Example:
        >>> baseline(Random(0), 0, 100, Level(2, 3))
        Level(nesting=2, length=3)
    """
    return target


def naive(rng: Random, step: int, steps: int, target: Level) -> Level:
    """From the easiest level to the target in the first half of the training.

    Example:
        >>> [tuple(naive(None, step, 100, Level(2, 3))) for step in (0, 10, 20, 30, 40, 50)]
        [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    """
    last = target.nesting * target.length - 1
    stage = min(last, 2 * last * step // max(1, steps))
    nesting, length = divmod(stage, target.length)
    return Level(nesting + 1, length + 1)


def mix(rng: Random, step: int, steps: int, target: Level) -> Level:
    """Nesting and length uniform from 1 to the target.

    Example:
        >>> mix(Random(0), 0, 100, Level(3, 5))
        Level(nesting=3, length=4)
    """
    return Level(*(1 + int(rng.random() * limit) for limit in target))


def combined(rng: Random, step: int, steps: int, target: Level) -> Level:
    """`naive` or `mix`, with equal probability.

    Example:
        >>> rng = Random(3)
        >>> [tuple(combined(rng, 20, 100, Level(3, 5))) for _ in range(4)]
        [(2, 1), (2, 4), (1, 1), (1, 2)]
    """
    return (naive if rng.random() < 0.5 else mix)(rng, step, steps, target)


STRATEGIES: dict[str, Strategy] = {x.__name__: x for x in (baseline, naive, mix, combined)}


def strategy(name: str) -> Strategy:
    """A strategy by name.

    Example:
        >>> strategy("mix") is mix
        True
    """
    if name not in STRATEGIES:
        raise BadInput(f"curriculum must be one of {', '.join(STRATEGIES)}; got {shown(name)}")
    return STRATEGIES[name]


MAX = Level(nesting=len(VARIABLES), length=12)


class Program(NamedTuple):
    """A program and what it prints.

    Example:
        >>> program = Program("j=8584\\nfor x in range(8):j+=920\\nprint(j)", "15944")
        >>> print(program)
        j=8584
        for x in range(8):j+=920
        print(j)
        >>> program.output()
        '15944'
    """

    text: str
    printed: str

    def __str__(self) -> str:
        return self.text

    def output(self) -> str:
        """What the program prints."""
        return self.printed


def draw_program(rng: Random, level: Level, part: str = "train") -> Program:
    """A random program of the part, which is decided by the program's text; see `part_of`.

    Args:
        rng: the source of randomness; for single numbers Python's own is faster than NumPy's.
        level: nesting and length.
        part: `"train"`, `"valid"` or `"test"`.

    Example:
        >>> program = draw_program(Random(2), Level(nesting=2, length=3))
        >>> print(program)
        print(((57 if 85>957 else 836)*8))
        >>> program.output()
        '6688'
    """
    level = check_level(level)
    return draw_in(part, lambda: _Writer(rng, level).program())


def check_level(level: Level) -> Level:
    """The level; raises unless there are programs of it."""
    level = Level(*level)
    for name, value, limit in zip(Level._fields, level, MAX, strict=True):
        if not 1 <= value <= limit:
            raise BadInput(f"the {name} of a program must be from 1 to {limit}, got {value}")
    return level


def longest_program(level: Level) -> tuple[int, int]:
    """The most characters that a program of the level, and what it prints, can have.

    Example:
        >>> longest_program(Level(nesting=2, length=3))
        (73, 7)
    """
    number, small = (len(str(limit)) for limit in (10**level.length, SMALL * level.length))
    operation = max(
        len("v=\nfor x in range():v+=\n") + len("v") + number + small,
        len("( if < else )") + 3 * number,
    )
    largest = 10**level.length
    for _ in range(level.nesting):  # a loop adds the result to a number, so many times
        largest = 10**level.length + SMALL * level.length * largest
    return len("print()") + number + level.nesting * operation, len(f"-{largest}")


class _Value(NamedTuple):
    """An expression and its value."""

    text: str
    value: int


class _Writer:
    """Writes one random program, and evaluates it on the way."""

    def __init__(self, rng: Random, level: Level):
        self.random, self.level = rng.random, level
        self.statements: list[str] = []
        self.unused = list(VARIABLES)

    def program(self) -> Program:
        operations = (self.pair, self.product, self.assignment, self.loop, self.choice)
        result = self.number()
        for _ in range(self.level.nesting):
            result = operations[self.below(len(operations))](result)
        return Program("\n".join([*self.statements, f"print({result.text})"]), str(result.value))

    def below(self, limit: int) -> int:
        """A whole number from 0 to `limit` - 1; faster than `Random.randrange`."""
        return int(self.random() * limit)

    def number(self) -> _Value:
        value = 1 + self.below(10**self.level.length)
        return _Value(str(value), value)

    def small(self) -> int:
        return 1 + self.below(SMALL * self.level.length)

    def operands(self, result: _Value, count: int) -> list[_Value]:
        """The result at a random place among new numbers."""
        operands = [self.number() for _ in range(count - 1)]
        operands.insert(self.below(count), result)
        return operands

    def sum(self, left: _Value, right: _Value) -> _Value:
        """The sum or the difference."""
        sign = "+-"[self.below(2)]
        value = left.value + right.value if sign == "+" else left.value - right.value
        return _Value(f"({left.text}{sign}{right.text})", value)

    def pair(self, result: _Value) -> _Value:
        return self.sum(*self.operands(result, 2))

    def product(self, result: _Value) -> _Value:
        small = self.small()
        words = (result.text, str(small)) if self.below(2) else (str(small), result.text)
        return _Value(f"({'*'.join(words)})", small * result.value)

    def assigned(self, value: _Value) -> _Value:
        """A new variable with a value."""
        name = self.unused.pop(self.below(len(self.unused)))
        self.statements.append(f"{name}={value.text}")
        return _Value(name, value.value)

    def assignment(self, result: _Value) -> _Value:
        value, other = self.operands(result, 2)
        return self.sum(self.assigned(value), other)

    def loop(self, result: _Value) -> _Value:
        first, change = self.operands(result, 2)
        variable = self.assigned(first)
        sign, times = "+-"[self.below(2)], self.small()
        name, added = variable.text, times * change.value
        self.statements.append(f"for x in range({times}):{name}{sign}={change.text}")
        return _Value(name, variable.value + (added if sign == "+" else -added))

    def choice(self, result: _Value) -> _Value:
        then, left, right, other = self.operands(result, 4)
        sign = "<>"[self.below(2)]
        holds = left.value < right.value if sign == "<" else left.value > right.value
        words = f"({then.text} if {left.text}{sign}{right.text} else {other.text})"
        return _Value(words, then.value if holds else other.value)
