"""The order of a step: what each program does on its own, and when programs meet.

A product `v @ W` and a sum over units need what other programs hold. So the equations of a step
fall into stages: those of one stage need no more than what was exchanged before it, and between two
stages all programs meet once, whatever number of values they exchange.

    stage 0    equations without a product before them; their results are handed out
    stage 1    products of what was handed out at the end of stage 0, and what follows from them
    ...

An LSTM has two stages and one meeting a step, `h`; a multiplicative LSTM meets twice, for `h` and
for `m`; a layer norm adds two meetings, one for the mean and one for the variance.

Within a stage the equations come first on which an exchange depends. What else there is to do is
done while the others are waited for. The beginning of stage 0 is done at the end of the step
before.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import JaxprEqn, Literal, Var

from ._body import Body
from ._layout import REDUCTIONS, Layout

SMALLEST = 16  # rows and columns that the matrix units take at least
PIECE = 1 << 14  # numbers of a gathered value that a program reads at once
SUMMED = 1 << 13  # numbers of a scattered product that a program makes at once


@dataclasses.dataclass(frozen=True)
class Stage:
    """Part of a step between two meetings.

    Attributes:
        first: the equations before its exchange.
        rest: the other ones.
        gathered: values of which every program needs all columns.
        totals: equations that sum over the units.
        scattered: products of which every program makes a part of the sum, for all columns.
    """

    first: list[JaxprEqn]
    rest: list[JaxprEqn]
    gathered: list[Var]
    totals: list[JaxprEqn]
    scattered: list[JaxprEqn]


class Tile(NamedTuple):
    """A piece of a weight in memory: its first row and column for program 0, steps to the next."""

    row: int
    rows: int
    row_step: int
    column: int
    columns: int
    column_step: int


class Bundle(NamedTuple):
    """Parts of equal share that stand side by side, as many as a power of two.

    Attributes:
        parts, share: how many parts, and a program's columns of each.
        at: where the first one is stored.
    """

    parts: int
    share: int
    at: int

    @property
    def width(self) -> int:
        return self.parts * self.share


@dataclasses.dataclass(frozen=True)
class Plan:
    """A step shared out among programs.

    Attributes:
        body, layout: the step, and the cuts of its values.
        programs: how many share the units.
        rows: of the batch, for each group of programs; groups never meet.
        stages: of a step; the last one exchanges nothing.
        held: what a step knows at its beginning: the carry, and what was done ahead.
    """

    body: Body
    layout: Layout
    programs: int
    rows: int
    stages: list[Stage]
    held: list[Var]

    def share(self, width: int) -> int:
        """How many of so many columns a program holds: a power of two, 16 at least."""
        return power_of_two(max(SMALLEST, -(-width // self.programs)))

    def shares(self, var: Var) -> list[tuple[int, int, int]]:
        """For each part of a value: its width, a program's share, and where it is stored."""
        found, at = [], 0
        for start, stop in self.layout.segments(var):
            share = self.share(stop - start)
            found.append((stop - start, share, at))
            at += share * self.programs
        return found

    def stored(self, var: Var) -> int:
        """The columns of a value in memory, each part filled up to equal shares."""
        return sum(share * self.programs for _, share, _ in self.shares(var))

    def bundles(self, var: Var) -> list["Bundle"]:
        """The parts of a product's result, put together where one product can make several."""
        found: list[Bundle] = []
        for _, share, at in self.shares(var):
            last = found[-1] if found else None
            if last is not None and last.share == share:
                found[-1] = Bundle(last.parts + 1, share, last.at)
            else:
                found.append(Bundle(1, share, at))
        return [
            Bundle(parts, bundle.share, bundle.at + start * bundle.share * self.programs)
            for bundle in found
            for start, parts in chunks(bundle.parts, bundle.parts)
        ]

    def pieces(self, var: Var) -> list[tuple[int, int]]:
        """A gathered value in pieces that are read one after the other: `(start, size)`.

        A program on its own has each part as a whole.
        """
        if self.alone:
            return [(at, share) for _, share, at in self.shares(var)]
        most = max(SMALLEST, PIECE // self.rows)
        return [
            (at + start, size)
            for _, share, at in self.shares(var)
            for start, size in chunks(share * self.programs, most)
        ]

    def scatters(self, equation: JaxprEqn) -> bool:
        """Whether a product is the sum of the programs' own: few rows, and the fewer columns."""
        v: Any = equation.invars[0]
        out: Any = equation.outvars[0]
        few = self.rows == SMALLEST and not self.alone and not in_full(equation)
        return few and self.stored(v) >= 2 * self.stored(out)

    def tiles(self, equation: JaxprEqn) -> list[list[Tile]]:
        """A program's tiles of a weight, a list for each piece of what it makes.

        A gathered value's product has a piece for each bundle, and a tile for each piece of the
        value; a scattered one has pieces of all its columns, and a tile for each part of the value.
        """
        v: Any = equation.invars[0]
        out: Any = equation.outvars[0]
        if self.scatters(equation):
            most = max(SMALLEST, SUMMED // self.rows)
            return [
                [Tile(at, share, share, start, size, 0) for _, share, at in self.shares(v)]
                for start, size in chunks(self.stored(out), most)
            ]
        return [
            [Tile(start, size, 0, b.at, b.width, b.width) for start, size in self.pieces(v)]
            for b in self.bundles(out)
        ]

    @property
    def alone(self) -> bool:
        """Whether each program has all units, so that nothing is exchanged."""
        return self.programs == 1

    @property
    def groups(self) -> int:
        return -(-self.layout.batch // self.rows)

    @property
    def products(self) -> list[JaxprEqn]:
        return [e for e in self.body.equations if e.primitive.name == "dot_general"]


def make_plan(body: Body, layout: Layout, programs: int, rows: int) -> Plan:
    """Sort the equations of a step into stages."""
    plan = Plan(body, layout, programs, rows, [], [])
    of: dict[Any, int] = dict.fromkeys((*body.carry, *body.xs, *body.constants), 0)
    stage_of: dict[int, int] = {}
    gathered: dict[Var, int] = {}
    summed: list[tuple[JaxprEqn, int]] = []
    for equation in body.equations:
        stage = max((of[v] for v in equation.invars if not isinstance(v, Literal)), default=0)
        operand: Any = equation.invars[0] if equation.invars else None
        if equation.primitive.name == "dot_general":
            if plan.scatters(equation):
                summed.append((equation, stage))
            else:
                gathered.setdefault(operand, stage)
            stage += 1
        elif equation.primitive.name in REDUCTIONS and operand in layout.cuts:
            summed.append((equation, stage))
            stage += 1
        stage_of[id(equation)] = stage
        of |= dict.fromkeys(equation.outvars, stage)
    for number in range(max(stage_of.values()) + 1):
        own = [e for e in body.equations if stage_of[id(e)] == number]
        handed = [v for v, stage in gathered.items() if stage == number]
        sums = [e for e, stage in summed if stage == number]
        needed = {*handed, *(e.invars[0] for e in sums)}
        first = []
        for equation in reversed(own):
            if needed.intersection(equation.outvars):
                first.append(equation)
                needed.update(v for v in equation.invars if not isinstance(v, Literal))
        first.reverse()
        ahead = {id(e) for e in first}
        rest = [e for e in own if id(e) not in ahead]
        products = [e for e in sums if e.primitive.name == "dot_general"]
        totals = [e for e in sums if e.primitive.name != "dot_general"]
        plan.stages.append(Stage(first, rest, handed, totals, products))
    plan.held.extend(_held(body, plan.stages))
    return plan


def _held(body: Body, stages: list[Stage]) -> list[Var]:
    """The carry, and of the inputs and of what is done ahead that which is read later."""
    later = [e for stage in stages for e in stage.rest]
    later += [e for stage in stages[1:] for e in stage.first]
    read = {v for e in later for v in e.invars if not isinstance(v, Literal)}
    read |= {v for v in body.jaxpr.outvars if not isinstance(v, Literal)}
    ahead = [v for e in stages[0].first for v in e.outvars]
    return [*body.carry, *(v for v in (*body.xs, *ahead) if v in read)]


def in_full(equation: JaxprEqn) -> bool:
    """Whether a product is one in full float32, which no matrix unit does at once."""
    full = jax.lax.Precision.HIGHEST
    operand: Any = equation.invars[0]
    found = equation.params["precision"]
    return found in (full, (full, full)) and operand.aval.dtype == jnp.float32


def power_of_two(n: int) -> int:
    """The smallest that is not below n.

    Example:
        >>> power_of_two(12)
        16
    """
    return 1 << (n - 1).bit_length()


def chunks(width: int, most: int) -> list[tuple[int, int]]:
    """A width as powers of two of limited size, the largest first: `(start, size)`.

    Example:
        >>> chunks(176, 64)
        [(0, 64), (64, 64), (128, 32), (160, 16)]
    """
    found, at = [], 0
    while at < width:
        size = min(most, 1 << ((width - at).bit_length() - 1))
        found.append((at, size))
        at += size
    return found
