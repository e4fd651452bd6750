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

import itertools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu

from ._body import aval_of
from ._meeting import LONGEST, arrive, read, wait
from ._plan import Plan, power_of_two
from ._program import NEUTRAL, SUMS, Program
from ._stored import stored, stored_weight, unstored


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
        interpret: run it as plain operations on any device, with one program.
        longest: how often a program looks at the counter before it gives up.
        warps: of a program.

    Returns:
        The final carry, the outputs with time first, and whether all went well.
    """
    body, cuts = plan.body, plan.layout.cuts
    steps = len(xs[0]) if xs else None
    assert steps is not None, "a scan without inputs has no length"
    weights = {e.invars[1] for e in plan.products}
    fixed = [v for v in body.constants if v not in weights]
    read_xs = [v for v in body.xs if _is_read(v, plan)]
    given = dict(zip(body.xs, xs, strict=True))
    operands = [
        *(stored_weight(plan, e, constants[e.invars[1]]) for e in plan.products),
        *(stored(plan, v, constants[v], constant=True) for v in fixed),
        *(stored(plan, v, x) for v, x in zip(body.carry, carry, strict=True)),
        *(stored(plan, v, given[v]) for v in read_xs),
        jnp.zeros((plan.groups,), jnp.int32),
        jnp.zeros((plan.groups,), jnp.int32),
    ]
    rows = plan.groups * plan.rows

    def shape(var, *lead):
        columns = plan.stored(var) if var in cuts else 1
        return jax.ShapeDtypeStruct((*lead, rows, columns), var.aval.dtype)

    gathered = [v for stage in plan.stages for v in stage.gathered]
    totals = [e for stage in plan.stages for e in stage.totals]
    sums = (2, power_of_two(plan.programs), rows)
    results = [
        *(shape(v, steps) for v in ys),
        *(shape(v) for v in body.carry),
        *(shape(v, 2) for v in gathered),
        *(jax.ShapeDtypeStruct(sums, aval_of(e.outvars[0]).dtype) for e in totals),
        jax.ShapeDtypeStruct((plan.groups,), jnp.int32),
        jax.ShapeDtypeStruct((plan.groups,), jnp.int32),
    ]
    sizes = [len(plan.products), len(fixed), len(body.carry), len(read_xs), 2]
    sizes += [len(ys), len(body.carry), len(gathered), len(totals), 2]

    def kernel(*refs):
        parts = iter(refs)
        taken = [list(itertools.islice(parts, size)) for size in sizes]
        one = _Kernel(plan, steps, reverse, longest, interpret)
        one.run(*taken[:4], *taken[5:], fixed=fixed, xs=read_xs, ys=ys)

    call = pl.pallas_call(
        kernel,
        grid=(plan.programs, plan.groups),
        out_shape=results,
        input_output_aliases={len(operands) - 2 + i: len(results) - 2 + i for i in (0, 1)},
        interpret=interpret,
        compiler_params=None if interpret else plgpu.CompilerParams(num_warps=warps, num_stages=1),
        name="persistent",
    )
    found = iter(call(*operands))
    out = [unstored(plan, v, next(found)) for v in ys]
    final = [unstored(plan, v, next(found)) for v in body.carry]
    *_, failed = found
    return final, out, jnp.all(failed == 0)


def _is_read(var: Any, plan: Plan) -> bool:
    used = [v for e in plan.body.equations for v in e.invars] + list(plan.body.jaxpr.outvars)
    return any(v is var for v in used)


class _Kernel:
    """What one program does."""

    def __init__(self, plan: Plan, steps: int, reverse: bool, longest: int, interpret: bool):
        self.plan, self.steps, self.reverse, self.longest = plan, steps, reverse, longest
        self.alone = interpret or plan.programs == 1
        self.interpret = interpret
        self.number, self.group = pl.program_id(0), pl.program_id(1)
        self.lines = pl.ds(self.group * plan.rows, plan.rows)

    def run(
        self,
        weights,
        constants,
        carry,
        inputs,
        outputs,
        final,
        places,
        sums,
        flags,
        *,
        fixed,
        xs,
        ys,
    ):
        plan, body = self.plan, self.plan.body
        counter, failure = flags
        gathered = [v for stage in plan.stages for v in stage.gathered]
        totals = [e for stage in plan.stages for e in stage.totals]
        place = dict(zip(gathered, places, strict=True)) | dict(
            zip(map(id, totals), sums, strict=True)
        )
        tiles = self._weights(dict(zip(map(id, plan.products), weights, strict=True)))
        program = Program(plan, self.number, lambda e, *where: tiles[id(e), *where])
        known = {
            v: self._load(ref, v, (), constant=True)
            for v, ref in zip(fixed, constants, strict=True)
        }
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
            return {v: self._load(source[v], v, (index,)) for v in xs}

        def step(t, state):
            held, failed = state
            env = known | dict(zip(plan.held, held, strict=True))
            following = at(t + 1)
            exchanged: dict = {}
            for number, stage in enumerate(plan.stages):
                if number > 0:
                    count = plan.programs * (t * plan.meetings + number)
                    failed = self._wait(counter, count, failed)
                    self._take(plan.stages[number - 1], place, t & 1, exchanged)
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
                self._store(ref, var, (index,), program.kept(var, env))
            return held, failed

        first = {v: self._load(ref, v, ()) for v, ref in zip(body.carry, carry, strict=True)}
        held = begin(first | at(0), 0)
        held, failed = jax.lax.fori_loop(0, self.steps, step, (held, jnp.int32(0)))
        for var, ref, value in zip(body.carry, final, held, strict=False):
            self._store(ref, var, (), value)
        if not self.alone:
            plgpu.atomic_max(failure, (self.group,), failed)

    def _weights(self, refs: dict) -> dict:
        """All tiles of all weights, loaded once."""
        plan, found = self.plan, {}
        for equation in plan.products:
            v: Any = equation.invars[0]
            out: Any = equation.outvars[0]
            for bundle in plan.bundles(out):
                columns = pl.ds(bundle.at + self.number * bundle.width, bundle.width)
                for start, size in plan.pieces(v):
                    tile = refs[id(equation)][pl.ds(start, size), columns]
                    found[id(equation), bundle, start, size] = tile
        return found

    def _hand_out(self, program: Program, stage, env: dict, place: dict, slot) -> None:
        for var in stage.gathered:
            for (_, share, at), tile in zip(
                self.plan.shares(var), program.handed_out(var, env), strict=True
            ):
                place[var][slot, self.lines, pl.ds(at + self.number * share, share)] = tile
        for equation in stage.totals:
            place[id(equation)][slot, self.number, self.lines] = program.total(equation, env)

    def _take(self, stage, place: dict, slot, exchanged: dict) -> None:
        plan = self.plan
        for var in stage.gathered:
            exchanged[var] = lambda start, size, ref=place[var]: self._read(
                ref.at[slot, self.lines, pl.ds(start, size)]
            )
        for equation in stage.totals:
            name = equation.primitive.name
            several = self._read(place[id(equation)].at[slot, :, self.lines])
            number = jax.lax.broadcasted_iota(jnp.int32, several.shape, 0)
            none = jnp.asarray(NEUTRAL[name], several.dtype)
            several = jnp.where(number < plan.programs, several, none)
            exchanged[id(equation)] = SUMS[name](several, axis=0)[:, None]

    def _read(self, ref):
        return ref[...] if self.interpret else read(ref)

    def _arrive(self, counter) -> None:
        if self.alone:
            if not self.interpret:
                plgpu.debug_barrier()
        else:
            arrive(counter, self.group)

    def _wait(self, counter, count, failed):
        return failed if self.alone else wait(counter, self.group, count, failed, self.longest)

    def _load(self, ref, var, lead: tuple, constant: bool = False):
        """A value from memory, as tiles."""
        if not var.aval.shape:
            return ref[(*lead, 0, 0)]
        lines = pl.ds(0, 1) if constant and ref.shape[-2] == 1 else self.lines
        if var not in self.plan.layout.cuts:
            return ref[(*lead, lines, pl.ds(0, 1))]
        return [
            ref[(*lead, lines, pl.ds(at + self.number * share, share))]
            for _, share, at in self.plan.shares(var)
        ]

    def _store(self, ref, var, lead: tuple, value) -> None:
        if var not in self.plan.layout.cuts:
            ref[(*lead, self.lines, pl.ds(0, 1))] = value
            return
        for (_, share, at), tile in zip(self.plan.shares(var), value, strict=True):
            ref[(*lead, self.lines, pl.ds(at + self.number * share, share))] = tile
