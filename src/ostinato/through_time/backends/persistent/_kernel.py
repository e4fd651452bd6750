"""The kernel: programs that run all steps, each on its share of the units and of the batch.

    start      load weights and constants; `first` of stage 0; publish
    each step  load the next step's inputs
               for each stage: wait for the last exchange; `first`; publish; `rest`
               for the next step: `first` of stage 0; publish
               store this step's outputs
    end        store the carry

This overlaps loads and stores with waiting for the other programs.
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu

from ._body import aval_of
from ._meeting import LONGEST, empty, handed, signed, take_sums, take_values
from ._memory import Share, result, shaped, stored_weight
from ._plan import Plan
from ._program import NEUTRAL, SUMS, Program
from ._tiles import SMALLEST, Tile, chunks, in_full, power_of_two, turned

AT_ONCE = 32  # partial sums of a product that are read together


def run_kernel(
    plan: Plan,
    constants: dict,
    carry: list,
    xs: list,
    ys: Sequence,
    *,
    reverse: bool,
    interpret: bool = False,
    longest: int = LONGEST,
    warps: int = 4,
):
    """Run a plan over all times.

    Args:
        plan: the step, divided among programs.
        constants: values of the step's constants.
        carry, xs: as for a scan; time is the first axis of `xs`.
        ys: the variables of the step to return for all times.
        reverse: from the last time to the first.
        interpret: run it as plain operations on any device, each program on its own.
        longest: how often a program polls before it gives up waiting.
        warps: warps per program.

    Returns:
        The final carry, the outputs with time first, and whether the launch succeeded: `None`
        if no program waits for another, so that nothing can fail.
    """
    body = plan.body
    steps = len(xs[0]) if xs else None
    assert steps is not None, "a scan without inputs has no length"
    weights = {e.invars[1] for e in plan.products}
    fixed = [v for v in body.constants if v not in weights]
    read_xs = [v for v in body.xs if _is_read(v, plan)]
    given = dict(zip(body.xs, xs, strict=True))
    exchanged = _places(plan, steps)
    flags = [] if plan.alone else [jnp.zeros((plan.groups,), jnp.int32)]
    operands = [
        *(stored_weight(plan, e, constants[e.invars[1]]) for e in plan.products),
        *(shaped(plan, v, constants[v]) for v in fixed),
        *(shaped(plan, v, x) for v, x in zip(body.carry, carry, strict=True)),
        *(shaped(plan, v, given[v]) for v in read_xs),
    ]
    sizes = [len(plan.products), len(fixed), len(body.carry), len(read_xs)]
    shared = [*exchanged.values(), *flags]  # which all programs read and write
    results = [
        *(result(plan, v, steps) for v in ys),
        *(result(plan, v) for v in body.carry),
        *(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in shared),
    ]

    def kernel(*refs):
        every = iter(refs)
        loaded = [list(itertools.islice(every, size)) for size in sizes]
        list(itertools.islice(every, len(shared)))  # the same memory as the results
        stored = [list(itertools.islice(every, size)) for size in (len(ys), len(body.carry))]
        place = dict(zip(exchanged, every, strict=False))
        one = _Kernel(plan, steps, reverse, longest, place)
        one.run(loaded, stored, refs[-1] if flags else None, fixed, read_xs, ys)

    first, last = len(operands), len(results) - len(shared)
    call = pl.pallas_call(
        kernel,
        grid=(plan.programs, plan.groups),
        out_shape=results,
        input_output_aliases={first + i: last + i for i in range(len(shared))},
        interpret=interpret,
        compiler_params=None if interpret else plgpu.CompilerParams(num_warps=warps, num_stages=1),
        name="persistent",
    )
    outputs = iter(call(*operands, *shared))
    batch = plan.layout.batch
    out = [next(outputs).reshape(steps, batch, *aval_of(v).shape[1:]) for v in ys]
    final = [next(outputs).reshape(batch, *aval_of(v).shape[1:]) for v in body.carry]
    failed = list(outputs)[-1] if flags else None
    return final, out, None if failed is None else jnp.all(failed == 0)


def _places(plan: Plan, steps: int) -> dict[Any, jax.Array]:
    """The memory in which programs exchange values and sums, by variable or equation.

    `_meeting` says what it holds at first. There is one time more than steps, because the end of a
    step begins the next one.
    """
    if plan.alone:
        return {}
    rows = plan.groups * plan.rows
    arrays: dict[Any, jax.Array] = {}
    for stage in plan.stages:
        for var in stage.gathered:
            shape = steps + 1, rows, plan.stored(var)
            arrays[var] = empty(shape, aval_of(var).dtype)
        for equation in stage.totals:
            shape = 2, power_of_two(max(SMALLEST, plan.programs)), rows
            arrays[id(equation)] = jnp.zeros(shape, jnp.int32)
        for equation in stage.scattered:
            out: Any = equation.outvars[0]
            parts = 2, plan.summands(equation), rows, plan.stored(out)
            arrays[id(equation)] = jnp.zeros(parts, jnp.int32)
    return arrays


def _is_read(var: Any, plan: Plan) -> bool:
    used = [v for e in plan.body.equations for v in e.invars] + list(plan.body.jaxpr.outvars)
    return any(v is var for v in used)


class _Kernel:
    """One program of the kernel."""

    def __init__(self, plan: Plan, steps: int, reverse: bool, longest: int, place: dict):
        self.plan, self.steps, self.reverse, self.longest = plan, steps, reverse, longest
        self.place = place
        self.failed: Any = 0
        self.number, self.group = pl.program_id(0), pl.program_id(1)
        self.share = Share(plan, self.number, self.group)
        self.lines = self.share.lines

    def run(self, given, results, failure, fixed, xs, ys):
        """Run all steps."""
        plan, body = self.plan, self.plan.body
        (weights, constants, carry, inputs), (outputs, final) = given, results
        tiles = self._weights(dict(zip(map(id, plan.products), weights, strict=True)))
        program = Program(plan, self.number, lambda e, tile: tiles[id(e), tile])
        load, store = self.share.load, self.share.store
        known = {v: load(ref, v) for v, ref in zip(fixed, constants, strict=True)}
        source = dict(zip(xs, inputs, strict=True))

        def begin(values, t):
            """`first` of stage 0, and its exchange."""
            env = known | values
            program.run(plan.stages[0].first, env, {})
            self._hand_out(program, plan.stages[0], env, {}, t)
            return [program.kept(v, env) for v in plan.held]

        def at(t):
            """The inputs of a step."""
            index = jnp.minimum(t, self.steps - 1)
            index = self.steps - 1 - index if self.reverse else index
            return {v: load(source[v], v, (index,)) for v in xs}

        def step(t, state):
            t, (held, self.failed) = jnp.asarray(t, jnp.int32), state
            env = known | dict(zip(plan.held, held, strict=True))
            following = at(t + 1)
            exchanged: dict = {}
            for number, stage in enumerate(plan.stages):
                if number > 0:
                    self._take(program, plan.stages[number - 1], env, t, exchanged)
                    program.run(stage.first, env, exchanged)
                    if number < len(plan.stages) - 1:
                        self._hand_out(program, stage, env, exchanged, t)
                program.run(stage.rest, env, exchanged)
            new = {
                old: program.kept(v, env) for old, v in zip(body.carry, body.new_carry, strict=True)
            }
            held = begin(new | following, t + 1)
            index = self.steps - 1 - t if self.reverse else t
            for var, ref in zip(ys, outputs, strict=True):
                store(ref, var, program.kept(var, env), (index,))
            return held, self.failed

        first = {v: load(ref, v) for v, ref in zip(body.carry, carry, strict=True)}
        held = begin(first | at(jnp.int32(0)), jnp.int32(0))
        held, failed = jax.lax.fori_loop(0, self.steps, step, (held, jnp.int32(0)))
        for var, ref, value in zip(body.carry, final, held, strict=False):
            store(ref, var, value)
        if not plan.alone:
            plgpu.atomic_max(failure, (self.group,), failed)

    def _weights(self, refs: dict) -> dict:
        """All tiles of all weights, loaded once; transposed ones have their columns first."""
        weights = {}
        for equation in self.plan.products:
            for tile in itertools.chain(*self.plan.tiles(equation)):
                row, column = tile.at(self.number)
                rows, columns = pl.ds(row, tile.rows), pl.ds(column, tile.columns)
                ref = refs[id(equation)]
                places = [(i,) for i in range(3)] if in_full(equation) else [()]
                parts = [ref[(*place, rows, columns)] for place in places]
                parts = [x.T for x in parts] if turned(equation, tile) else parts
                weights[id(equation), tile] = parts if in_full(equation) else parts[0]
        return weights

    def _hand_out(self, program: Program, stage, env: dict, exchanged: dict, t) -> None:
        """Publish what the other programs need at the end of a stage."""
        if self.plan.alone:
            return
        for var in stage.gathered:
            for (_, share, at), tile in zip(
                self.plan.shares(var), program.handed_out(var, env), strict=True
            ):
                columns = pl.ds(at + self.number * share, share)
                self.place[var][t, self.lines, columns] = handed(tile)
        for equation in stage.totals:
            total = program.total(equation, env).astype(jnp.float32)
            self.place[id(equation)][t & 1, self.number, self.lines] = signed(total, t)
        for equation in stage.scattered:
            for tiles in self.plan.tiles(equation):
                number = tiles[0].block(self.number)[0]
                columns = pl.ds(tiles[0].at(self.number)[1], tiles[0].columns)
                part = signed(program.part(equation, tiles, env, exchanged), t)
                self.place[id(equation)][t & 1, number, self.lines, columns] = part

    def _take(self, program: Program, stage, env: dict, t, exchanged: dict) -> None:
        """Read what the programs published at the end of a stage."""
        for var in stage.gathered:
            if self.plan.alone:
                at = [at for _, _, at in self.plan.shares(var)]
                tiles = dict(zip(at, program.handed_out(var, env), strict=True))
                exchanged[var] = lambda rows, tiles=tiles: [tiles[tile.row] for tile in rows]
            else:
                exchanged[var] = self._pieces(var, t)
        if self.plan.alone:
            totals = [program.total(equation, env)[:, None] for equation in stage.totals]
        else:
            totals = self._totals(stage.totals, t)
        exchanged.update(zip(map(id, stage.totals), totals, strict=True))
        for equation in stage.scattered:
            exchanged[id(equation)] = self._added(equation, t)

    def _pieces(self, var, t) -> Callable:
        """The columns of a gathered value that match the rows of weight tiles, each read once."""
        known: dict = {}

        def pieces(tiles: list[Tile]) -> Iterator[jax.Array]:
            for several in self.plan.looks(tiles):
                new = [tile for tile in several if tile.place not in known]
                if new:
                    places = [pl.ds(tile.at(self.number)[0], tile.rows) for tile in new]
                    refs = [self.place[var].at[t, self.lines, place] for place in places]
                    values, self.failed = take_values(
                        refs, var.aval.dtype, self.failed, self.longest, likely=bool(known)
                    )
                    known.update(zip([tile.place for tile in new], values, strict=True))
                yield from (known[tile.place] for tile in several)

        return pieces

    def _totals(self, equations, t) -> list[jax.Array]:
        """Sums (or maxima, minima) over units, from the parts of all programs."""
        if not equations:
            return []
        places = [self.place[id(equation)] for equation in equations]
        shape = places[0].shape[1], self.plan.rows
        there = jax.lax.broadcasted_iota(jnp.int32, shape, 0) < self.plan.programs
        refs = [place.at[t & 1, :, self.lines] for place in places]
        sums, self.failed = take_sums(refs, t, self.failed, self.longest, there)
        totals = []
        for equation, every in zip(equations, sums, strict=True):
            name, dtype = equation.primitive.name, aval_of(equation.outvars[0]).dtype
            every = jnp.where(there, every, jnp.float32(NEUTRAL[name]))
            totals.append(SUMS[name](every, axis=0)[:, None].astype(dtype))
        return totals

    def _added(self, equation, t) -> list[jax.Array]:
        """A product from its partial sums, added in a fixed order."""
        out, found = equation.outvars[0], []
        for _, share, at in self.plan.shares(out):
            columns, total = pl.ds(at + self.number * share, share), jnp.float32(0)
            for start, size in chunks(self.plan.summands(equation), AT_ONCE):
                several = range(start, start + size)
                place = self.place[id(equation)]
                refs = [place.at[t & 1, number, self.lines, columns] for number in several]
                parts, self.failed = take_sums(refs, t, self.failed, self.longest)
                total = functools.reduce(jnp.add, parts, total)
            found.append(total.astype(out.aval.dtype))
        return found
