"""The curriculum strategies of Zaremba and Sutskever (2014): how hard the next example is.

The difficulty is a `Level`: the nesting of a program and the length of its numbers. The target is
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

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from ...errors import BadInput


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
    return Level(*(1 + int(rng.random() * most) for most in target))


def combined(rng: Random, step: int, steps: int, target: Level) -> Level:
    """`naive` or `mix`, with equal probability.

    Example:
        >>> rng = Random(3)
        >>> [tuple(combined(rng, 20, 100, Level(3, 5))) for _ in range(4)]
        [(2, 1), (2, 4), (1, 1), (1, 2)]
    """
    return (naive if rng.random() < 0.5 else mix)(rng, step, steps, target)


STRATEGIES: dict[str, Strategy] = {
    "baseline": baseline,
    "naive": naive,
    "mix": mix,
    "combined": combined,
}


def strategy(name: str) -> Strategy:
    """A strategy by name.

    Example:
        >>> strategy("mix") is mix
        True
    """
    if name not in STRATEGIES:
        raise BadInput(f"curriculum must be one of {', '.join(STRATEGIES)}; got {name!r:.40}")
    return STRATEGIES[name]
