"""The kernel: a step, shared out among programs that stay for all of time.

    once          load weights and constants; do the beginning of stage 0, hand out, arrive
    each step     load the next step's inputs
                  for each meeting: the rest of the stage; wait; read; the stage that follows
                  the beginning of stage 0 of the next step: hand out, arrive
                  store this step's outputs
    at the end    store the carry

So that stores and loads of inputs fall into the time in which the others are waited for. What is
handed out alternates between two places: nobody can come to a place again before all have left it,
as there is a meeting in between.
"""

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu

from ._body import aval_of
from ._meeting import LONGEST, arrive, read, wait
from ._memory import Share, result, shaped
from ._plan import SUMMED, Plan, chunks, power_of_two
from ._program import NEUTRAL, SUMS, Program
from ._weights import stored_weight

# Full float32: three products in TF32, which the matrix units can do.
FULL = jax.lax.DotAlgorithmPreset.TF32_TF32_F32_X3


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
        plan: the step, shared out.
        constants: values of the step's constants.
        carry, xs: as for a scan; time is the first axis of `xs`.
        ys: the variables of the step to return for all times.
        reverse: from the last time to the first.
        interpret: run it as plain operations on any device, each program on its own.
        longest: how often a program looks at the counter before it gives up.
        warps: of a program.

    Returns:
        The final carry, the outputs with time first, and whether all went well: `None` where
        nobody waits for anyone, and nothing can go wrong.
    """
    body = plan.body
    steps = len(xs[0]) if xs else None
    assert steps is not None, "a scan without inputs has no length"
    weights = {e.invars[1] for e in plan.products}
    fixed = [v for v in body.constants if v not in weights]
    read_xs = [v for v in body.xs if _is_read(v, plan)]
    given = dict(zip(body.xs, xs, strict=True))
    gathered = [] if plan.alone else [v for stage in plan.stages for v in stage.gathered]
    totals = [] if plan.alone else [e for stage in plan.stages for e in stage.totals]
    scattered = [e for stage in plan.stages for e in stage.scattered]
    flags = [] if plan.alone else [jnp.zeros((plan.groups,), jnp.int32)] * 2
    operands = [
        *(stored_weight(plan, e, constants[e.invars[1]]) for e in plan.products),
        *(shaped(plan, v, constants[v]) for v in fixed),
        *(shaped(plan, v, x) for v, x in zip(body.carry, carry, strict=True)),
        *(shaped(plan, v, given[v]) for v in read_xs),
        *flags,
    ]
    rows = plan.groups * plan.rows

    sums = (2, power_of_two(plan.programs), rows)

    def parts(equation):
        v, out = equation.invars[0].aval, equation.outvars[0]
        wide = jnp.promote_types(jnp.float32, v.dtype)
        return jax.ShapeDtypeStruct((2, plan.programs, rows, plan.stored(out)), wide)

    results = [
        *(result(plan, v, steps) for v in ys),
        *(result(plan, v) for v in body.carry),
        *(jax.ShapeDtypeStruct((2, rows, plan.stored(v)), aval_of(v).dtype) for v in gathered),
        *(jax.ShapeDtypeStruct(sums, aval_of(e.outvars[0]).dtype) for e in totals),
        *(parts(e) for e in scattered),
        *(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in flags),
    ]
    first, last = len(operands) - len(flags), len(results) - len(flags)
    sizes = [len(plan.products), len(fixed), len(body.carry), len(read_xs), len(flags)]
    sizes += [len(ys), len(body.carry), len(gathered), len(totals), len(scattered), len(flags)]

    def kernel(*refs):
        every = iter(refs)
        taken = [list(itertools.islice(every, size)) for size in sizes]
        one = _Kernel(plan, steps, reverse, longest, None if interpret else FULL)
        place: dict[Any, Any] = dict(zip(gathered, taken[7], strict=True))
        for equations, found in ((totals, taken[8]), (scattered, taken[9])):
            place |= {id(e): ref for e, ref in zip(equations, found, strict=True)}
        one.run(taken[:4], taken[5:7], place, taken[10], fixed, read_xs, ys)

    call = pl.pallas_call(
        kernel,
        grid=(plan.programs, plan.groups),
        out_shape=results,
        input_output_aliases={first + i: last + i for i in range(len(flags))},
        interpret=interpret,
        compiler_params=None if interpret else plgpu.CompilerParams(num_warps=warps, num_stages=1),
        name="persistent",
    )
    found = iter(call(*operands))
    batch = plan.layout.batch
    out = [next(found).reshape(steps, batch, *aval_of(v).shape[1:]) for v in ys]
    final = [next(found).reshape(batch, *aval_of(v).shape[1:]) for v in body.carry]
    failed = list(found)[-1:]
    return final, out, jnp.all(failed[0] == 0) if failed else None


def _is_read(var: Any, plan: Plan) -> bool:
    used = [v for e in plan.body.equations for v in e.invars] + list(plan.body.jaxpr.outvars)
    return any(v is var for v in used)


class _Kernel:
    """What one program does."""

    def __init__(self, plan: Plan, steps: int, reverse: bool, longest: int, full: Any):
        self.plan, self.steps, self.reverse, self.longest = plan, steps, reverse, longest
        self.full = full
        self.number, self.group = pl.program_id(0), pl.program_id(1)
        self.share = Share(plan, self.number, self.group)
        self.lines = self.share.lines

    def run(self, given, results, place: dict, flags, fixed, xs, ys):
        """All times; `place` is where values, and equations that are sums, are exchanged."""
        plan, body = self.plan, self.plan.body
        (weights, constants, carry, inputs), (outputs, final) = given, results
        counter, failure = flags or (None, None)
        tiles = self._weights(dict(zip(map(id, plan.products), weights, strict=True)))
        program = Program(plan, self.number, lambda e, tile: tiles[id(e), tile], full=self.full)
        load, store = self.share.load, self.share.store
        known = {v: load(ref, v) for v, ref in zip(fixed, constants, strict=True)}
        source = dict(zip(xs, inputs, strict=True))

        def begin(values, t):
            """Stage 0 up to what it hands out."""
            env = known | values
            program.run(plan.stages[0].first, env, {})
            self._hand_out(program, plan.stages[0], env, place, t & 1)
            self._arrive(counter)
            return [program.kept(v, env) for v in plan.held]

        def at(t):
            """The inputs of a step."""
            index = jnp.minimum(t, self.steps - 1)
            index = self.steps - 1 - index if self.reverse else index
            return {v: load(source[v], v, (index,)) for v in xs}

        def step(t, state):
            t, (held, failed) = t.astype(jnp.int32), state
            env = known | dict(zip(plan.held, held, strict=True))
            following = at(t + 1)
            exchanged: dict = {}
            for number, stage in enumerate(plan.stages):
                if number > 0:
                    count = plan.programs * (t * plan.meetings + number)
                    failed = self._wait(counter, count, failed)
                    before = plan.stages[number - 1]
                    if plan.alone:
                        self._keep(program, before, env, exchanged)
                    else:
                        self._take(before, place, t & 1, exchanged)
                    program.run(stage.first, env, exchanged)
                    if number < len(plan.stages) - 1:
                        self._hand_out(program, stage, env, place, t & 1)
                        self._arrive(counter)
                program.run(stage.rest, env, exchanged)
            new = {
                old: program.kept(v, env) for old, v in zip(body.carry, body.new_carry, strict=True)
            }
            held = begin(new | following, t + 1)
            index = self.steps - 1 - t if self.reverse else t
            for var, ref in zip(ys, outputs, strict=True):
                store(ref, var, program.kept(var, env), (index,))
            return held, failed

        first = {v: load(ref, v) for v, ref in zip(body.carry, carry, strict=True)}
        held = begin(first | at(jnp.int32(0)), jnp.int32(0))
        held, failed = jax.lax.fori_loop(0, self.steps, step, (held, jnp.int32(0)))
        for var, ref, value in zip(body.carry, final, held, strict=False):
            store(ref, var, value)
        if not plan.alone:
            plgpu.atomic_max(failure, (self.group,), failed)

    def _weights(self, refs: dict) -> dict:
        """All tiles of all weights, loaded once."""
        found = {}
        for equation in self.plan.products:
            for tile in itertools.chain(*self.plan.tiles(equation)):
                rows = pl.ds(tile.row + self.number * tile.row_step, tile.rows)
                columns = pl.ds(tile.column + self.number * tile.column_step, tile.columns)
                found[id(equation), tile] = refs[id(equation)][rows, columns]
        return found

    def _keep(self, program: Program, stage, env: dict, exchanged: dict) -> None:
        """What a program on its own would exchange with itself."""
        for var in stage.gathered:
            at = [at for _, _, at in self.plan.shares(var)]
            tiles = dict(zip(at, program.handed_out(var, env), strict=True))
            exchanged[var] = lambda start, _, tiles=tiles: tiles[start]
        for equation in stage.totals:
            exchanged[id(equation)] = program.total(equation, env)[:, None]

    def _hand_out(self, program: Program, stage, env: dict, place: dict, slot) -> None:
        if self.plan.alone:
            return
        for var in stage.gathered:
            for (_, share, at), tile in zip(
                self.plan.shares(var), program.handed_out(var, env), strict=True
            ):
                place[var][slot, self.lines, pl.ds(at + self.number * share, share)] = tile
        for equation in stage.totals:
            place[id(equation)][slot, self.number, self.lines] = program.total(equation, env)
        for equation in stage.scattered:
            for tiles in self.plan.tiles(equation):
                columns = pl.ds(tiles[0].column, tiles[0].columns)
                part = program.part(equation, tiles, env)
                place[id(equation)][slot, self.number, self.lines, columns] = part

    def _take(self, stage, place: dict, slot, exchanged: dict) -> None:
        plan = self.plan
        for var in stage.gathered:
            exchanged[var] = lambda start, size, ref=place[var]: read(
                ref.at[slot, self.lines, pl.ds(start, size)]
            )
        for equation in stage.totals:
            name = equation.primitive.name
            several = read(place[id(equation)].at[slot, :, self.lines])
            number = jax.lax.broadcasted_iota(jnp.int32, several.shape, 0)
            none = jnp.asarray(NEUTRAL[name], several.dtype)
            several = jnp.where(number < plan.programs, several, none)
            exchanged[id(equation)] = SUMS[name](several, axis=0)[:, None]
        for equation in stage.scattered:
            out: Any = equation.outvars[0]
            exchanged[id(equation)] = [
                self._added(place[id(equation)], slot, at + self.number * share, share).astype(
                    out.aval.dtype
                )
                for _, share, at in plan.shares(out)
            ]

    def _added(self, ref, slot, column, share: int) -> jax.Array:
        """The programs' parts of some columns, added up in the order of the programs."""
        most = max(1, SUMMED // (self.plan.rows * share))
        return functools.reduce(
            jnp.add,
            [
                jnp.sum(read(ref.at[slot, pl.ds(start, size), self.lines, pl.ds(column, share)]), 0)
                for start, size in chunks(self.plan.programs, most)
            ],
        )

    def _arrive(self, counter) -> None:
        if not self.plan.alone:
            arrive(counter, self.group)

    def _wait(self, counter, count, failed):
        if self.plan.alone:
            return failed
        return wait(counter, self.group, count, failed, self.longest)
