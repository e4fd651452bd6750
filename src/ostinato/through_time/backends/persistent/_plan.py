"""The order of a step: what each program computes on its own, and when programs exchange values.

A product `v @ W` and a sum over units need values that other programs hold. So the equations of a
step are sorted into stages. A stage uses only values exchanged before it, and at its end all
programs exchange whatever the next stage needs, all at once:

    stage 0    equations before any product         -> exchange the operands of products
    stage 1    the products, and what follows       -> exchange
    ...

An LSTM has two stages and one exchange per step, of `h`. A multiplicative LSTM has two exchanges,
of `h` and of `m`. Layer normalisation adds one, for the sums of mean and variance.

Within a stage, `first` is what the exchange depends on. `rest` is computed while the program waits
for the others. The `first` part of stage 0 runs at the end of the previous step.
"""

import dataclasses
from typing import Any

import jax.numpy as jnp
from jax.extend.core import JaxprEqn, Literal, Var

from ._body import Body
from ._layout import REDUCTIONS, Layout
from ._tiles import SMALLEST, Bundle, Tile, chunks, in_full, power_of_two

FIRST = 1 << 12  # numbers of a gathered value that a program polls first, often repeatedly
LOOKED = 1 << 14  # numbers that it polls at once after that, when most have arrived
MEETING = 1 << 16  # bytes that a program could read in the time that one exchange takes
SUMMED = 1 << 13  # numbers of a partial product that a program computes at once


@dataclasses.dataclass(frozen=True)
class Stage:
    """The part of a step between two exchanges.

    Attributes:
        first: the equations that its exchange depends on.
        rest: its other equations.
        gathered: values of which every program needs all columns.
        totals: sums over the units, of which each program computes a part.
        scattered: products of which each program computes a partial sum.
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
        rows: rows of the batch per group of programs; groups exchange nothing.
        stages: the stages of a step; the last one ends without an exchange.
        held: values that one step hands to the next: the carry, and what was computed ahead.
    """

    body: Body
    layout: Layout
    programs: int
    rows: int
    stages: list[Stage]
    held: list[Var]

    def share(self, width: int) -> int:
        """How many of `width` columns each program holds: a power of two, at least 16."""
        return power_of_two(max(SMALLEST, -(-width // self.programs)))

    def shares(self, var: Var) -> list[tuple[int, int, int]]:
        """For each part of a value: its width, a program's share, and where it is stored."""
        pieces, at = [], 0
        for start, stop in self.layout.segments(var):
            share = self.share(stop - start)
            pieces.append((stop - start, share, at))
            at += share * self.programs
        return pieces

    def stored(self, var: Var) -> int:
        """The columns of a value in memory, each part padded to equal shares."""
        return sum(share * self.programs for _, share, _ in self.shares(var))

    def bundles(self, equation: JaxprEqn) -> list[Bundle]:
        """The parts of a product's result, merged where one product can compute several."""
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

        A program that runs alone holds each part as a whole.
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
        few, widest = FIRST // self.rows, LOOKED // self.rows
        if at > 0 or width <= 2 * few:
            return chunks(width, widest)
        return [(0, few), *((few + start, size) for start, size in chunks(width - few, widest))]

    def summands(self, equation: JaxprEqn) -> int:
        """Into how many partial sums, computed by different programs, a product is split.

            1          every program gathers the whole operand and computes its own columns
            programs   every program multiplies its own columns of the operand; the partial sums
                       of all columns are exchanged
            between    both, with much less of each, at the cost of a second exchange

        More than one pays off where the operand is wider than the result.
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
            """Bytes that a program reads and writes, including the cost of a second exchange."""
            gathered = self.rows * wide * size // parts
            made = 8 * self.rows * narrow * parts // self.programs
            return gathered if parts == 1 else gathered + made + MEETING

        several = [n for n in (2, 4, 8, 16) if self.programs % n == 0 and n < self.programs]
        return min([1, *several], key=cost)

    def tiles(self, equation: JaxprEqn) -> list[list[Tile]]:
        """A program's tiles of a weight: a list per piece of its result, a tile per piece of `v`.

        A program that computes its own columns has a piece of the result per bundle; otherwise the
        pieces divide the columns of its block.
        """
        v: Any = equation.invars[0]
        out: Any = equation.outvars[0]
        across = self.programs // self.summands(equation)
        if across == self.programs:
            return [
                [Tile(row, n, 0, b.at, b.width, b.width, across) for row, n in self.pieces(v)]
                for b in self.bundles(equation)
            ]
        widest, width = max(SMALLEST, SUMMED // self.rows), self.stored(out) // across
        rows = [
            (at + start, n, share * across)
            for _, share, at in self.shares(v)
            for start, n in self._looked_at(at, share * across)
        ]
        return [
            [Tile(*piece, start, n, width, across) for piece in rows]
            for start, n in chunks(width, widest)
        ]

    def looks(self, tiles: list[Tile]) -> list[list[Tile]]:
        """Tiles in groups whose rows, columns of a gathered value, are polled together."""
        groups: list[list[Tile]] = [[]]
        limit = FIRST if self.rows * sum(tile.rows for tile in tiles) > 2 * FIRST else LOOKED
        for tile in tiles:
            if groups[-1] and self.rows * sum(t.rows for t in (*groups[-1], tile)) > limit:
                groups.append([])
                limit = LOOKED
            groups[-1].append(tile)
        return groups

    @property
    def read(self) -> int:
        """Bytes that a program reads at each step of what the programs of its group hand out."""
        if self.alone:
            return 0
        size = 0
        var: Any
        for var in {v for stage in self.stages for v in stage.gathered}:
            products = [equation for equation in self.products if equation.invars[0] is var]
            rows = {tile.place for e in products for tiles in self.tiles(e) for tile in tiles}
            size += sum(count for _, count, *_ in rows) * jnp.dtype(var.aval.dtype).itemsize
        for equation in (e for stage in self.stages for e in stage.scattered):
            out: Any = equation.outvars[0]
            size += 4 * self.summands(equation) * self.stored(out) // self.programs
        totals = sum(len(stage.totals) for stage in self.stages)
        return self.rows * (size + 4 * self.programs * totals)

    @property
    def alone(self) -> bool:
        """Whether each program holds all units, so that nothing is exchanged."""
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
    exchanges = _find_exchanges(plan)
    for number in range(max(exchanges.stage_of.values()) + 1):
        plan.stages.append(_stage(body, exchanges, number))
    plan.held.extend(_held(body, plan.stages))
    return plan


@dataclasses.dataclass(frozen=True)
class _Exchanges:
    """When everything happens.

    Attributes:
        stage_of: the stage of each equation, by its `id`.
        gathered: values that are exchanged, with the stage at whose end that is.
        summed: equations whose partial sums are exchanged, with the stage at whose end that is.
    """

    stage_of: dict[int, int]
    gathered: dict[Var, int]
    summed: list[tuple[JaxprEqn, int]]


def _find_exchanges(plan: Plan) -> _Exchanges:
    """Go through a step once; each exchange starts a later stage for whatever depends on it."""
    body, exchanges = plan.body, _Exchanges({}, {}, [])
    known_at: dict[Any, int] = dict.fromkeys((*body.carry, *body.xs, *body.constants), 0)
    for equation in body.equations:
        operands = [v for v in equation.invars if not isinstance(v, Literal)]
        stage = max((known_at[v] for v in operands), default=0)
        operand: Any = equation.invars[0] if equation.invars else None
        if equation.primitive.name == "dot_general":
            parts = plan.summands(equation)
            if parts < plan.programs or plan.alone:
                exchanges.gathered.setdefault(operand, stage)
                stage += 1
            if parts > 1:
                exchanges.summed.append((equation, stage))
                stage += 1
        elif equation.primitive.name in REDUCTIONS and operand in plan.layout.cuts:
            exchanges.summed.append((equation, stage))
            stage += 1
        exchanges.stage_of[id(equation)] = stage
        known_at |= dict.fromkeys(equation.outvars, stage)
    return exchanges


def _stage(body: Body, exchanges: _Exchanges, number: int) -> Stage:
    """One stage: first what its exchange depends on, then the rest."""
    own = [e for e in body.equations if exchanges.stage_of[id(e)] == number]
    gathered = [v for v, stage in exchanges.gathered.items() if stage == number]
    sums = [e for e, stage in exchanges.summed if stage == number]
    needed = {*gathered, *(e.invars[0] for e in sums)}
    first = []
    for equation in reversed(own):
        if needed.intersection(equation.outvars):
            first.append(equation)
            needed.update(v for v in equation.invars if not isinstance(v, Literal))
    first.reverse()
    in_first = {id(e) for e in first}
    return Stage(
        first=first,
        rest=[e for e in own if id(e) not in in_first],
        gathered=gathered,
        totals=[e for e in sums if e.primitive.name != "dot_general"],
        scattered=[e for e in sums if e.primitive.name == "dot_general"],
    )


def _held(body: Body, stages: list[Stage]) -> list[Var]:
    """The carry, and those inputs and values computed ahead that are read later."""
    later = [e for stage in stages for e in stage.rest]
    later += [e for stage in stages[1:] for e in stage.first]
    read = {v for e in later for v in e.invars if not isinstance(v, Literal)}
    read |= {v for v in body.jaxpr.outvars if not isinstance(v, Literal)}
    ahead = [v for e in stages[0].first for v in e.outvars]
    return [*body.carry, *(v for v in (*body.xs, *ahead) if v in read)]
