"""The order of a step: what each program does on its own, and when programs meet.

A product `v @ W` and a sum over units need what other programs hold. So the equations of a step
fall into stages: those of one stage need no more than what was exchanged before it, and between two
stages all programs meet once, whatever number of values they exchange.

    stage 0    equations without a product before them; their results are handed out
    stage 1    products of what was handed out at the end of stage 0, and what follows from them
    ...

An LSTM has two stages and one meeting a step, `h`; a multiplicative LSTM meets twice, for `h` and
for `m`; a layer norm adds a meeting, for the sums of mean and variance.

Within a stage the equations come first on which an exchange depends. What else there is to do is
done while the others are waited for. The beginning of stage 0 is done at the end of the step
before.
"""

import dataclasses
from typing import Any

import jax.numpy as jnp
from jax.extend.core import JaxprEqn, Literal, Var

from ._body import Body
from ._layout import REDUCTIONS, Layout
from ._tiles import SMALLEST, Bundle, Tile, chunks, in_full, power_of_two

FIRST = 1 << 12  # numbers of a gathered value that a program looks at, often again and again
LOOKED = 1 << 14  # numbers that it looks at thereafter at once, when most are there
MEETING = 1 << 16  # bytes that a program could read in the time that a meeting takes
SUMMED = 1 << 13  # numbers of a product's part that a program makes at once


@dataclasses.dataclass(frozen=True)
class Stage:
    """Part of a step between two meetings.

    Attributes:
        first: the equations before its exchange.
        rest: the other ones.
        gathered: values of which every program needs all columns.
        totals: equations that sum over the units.
        scattered: products of which programs make parts of the sum.
    """

    first: list[JaxprEqn]
    rest: list[JaxprEqn]
    gathered: list[Var]
    totals: list[JaxprEqn]
    scattered: list[JaxprEqn]


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

    def bundles(self, equation: JaxprEqn) -> list[Bundle]:
        """The parts of a product's result, put together where one product can make several."""
        out: Any = equation.outvars[0]
        equal: list[tuple[int, int, int]] = []  # parts, share, at
        for _, share, at in self.shares(out):
            if equal and equal[-1][1] == share:
                equal[-1] = equal[-1][0] + 1, *equal[-1][1:]
            else:
                equal.append((1, share, at))
        return [
            Bundle(parts, share, at + start * share * self.programs)
            for several, share, at in equal
            for start, parts in chunks(several, several)
        ]

    def pieces(self, var: Var) -> list[tuple[int, int]]:
        """A gathered value in pieces that are read one after the other: `(start, size)`.

        A program on its own has each part as a whole.
        """
        if self.alone:
            return [(at, share) for _, share, at in self.shares(var)]
        return [
            (at + start, size)
            for _, share, at in self.shares(var)
            for start, size in self._looked_at(at, share * self.programs)
        ]

    def _looked_at(self, at: int, width: int) -> list[tuple[int, int]]:
        """A part of a gathered value in pieces; the first one of a large value is small."""
        few, most = FIRST // self.rows, LOOKED // self.rows
        if at > 0 or width <= 2 * few:
            return chunks(width, most)
        return [(0, few), *((few + start, size) for start, size in chunks(width - few, most))]

    def summands(self, equation: JaxprEqn) -> int:
        """Of how many parts, each made by other programs, a product is the sum.

        One: every program gathers all of the value, and makes its own columns of the result. As
        many as programs: each makes a part for all columns, of its own columns of the value, and
        only the parts are exchanged. In between both are, and much less of both; but programs meet
        twice. Where the value is wider than the result it pays to have more than one.
        """
        v: Any = equation.invars[0]
        out: Any = equation.outvars[0]
        wide, narrow = self.stored(v), self.stored(out)
        if self.alone or in_full(equation) or wide < 2 * narrow:
            return 1
        if self.rows == SMALLEST:
            return self.programs
        size = jnp.dtype(v.aval.dtype).itemsize

        def cost(parts: int) -> int:
            """Bytes that a program reads and writes, with those for a second meeting."""
            gathered = self.rows * wide * size // parts
            made = 8 * self.rows * narrow * parts // self.programs
            return gathered if parts == 1 else gathered + made + MEETING

        several = [n for n in (2, 4, 8, 16) if self.programs % n == 0 and n < self.programs]
        return min([1, *several], key=cost)

    def tiles(self, equation: JaxprEqn) -> list[list[Tile]]:
        """A program's tiles of a weight, a list for each piece of what it makes.

        Where it makes its own columns there is a piece for each bundle, else pieces of its block's
        columns; a tile for each piece of the value.
        """
        v: Any = equation.invars[0]
        out: Any = equation.outvars[0]
        across = self.programs // self.summands(equation)
        if across == self.programs:
            return [
                [Tile(row, n, 0, b.at, b.width, b.width, across) for row, n in self.pieces(v)]
                for b in self.bundles(equation)
            ]
        most, width = max(SMALLEST, SUMMED // self.rows), self.stored(out) // across
        rows = [
            (at + start, n, share * across)
            for _, share, at in self.shares(v)
            for start, n in self._looked_at(at, share * across)
        ]
        return [
            [Tile(*piece, start, n, width, across) for piece in rows]
            for start, n in chunks(width, most)
        ]

    def looks(self, tiles: list[Tile]) -> list[list[Tile]]:
        """Tiles in groups whose rows, the columns of a gathered value, are looked at together."""
        found: list[list[Tile]] = [[]]
        most = FIRST if self.rows * sum(tile.rows for tile in tiles) > 2 * FIRST else LOOKED
        for tile in tiles:
            if found[-1] and self.rows * sum(t.rows for t in (*found[-1], tile)) > most:
                found.append([])
                most = LOOKED
            found[-1].append(tile)
        return found

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
            parts = plan.summands(equation)
            if parts < programs or plan.alone:
                gathered.setdefault(operand, stage)
                stage += 1
            if parts > 1:
                summed.append((equation, stage))
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
