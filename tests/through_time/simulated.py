"""The programs of a persistent kernel, all at once on any device: meetings are collectives.

A kernel's programs run side by side and wait for each other, which nothing but a GPU can do. Here
the same shares of a step are batched over an axis of programs; what is handed out is gathered along
it. So the sharing out is tested as it is, and only the memory that a kernel uses is not.
"""

import jax
import jax.numpy as jnp

from ostinato.through_time.backends.persistent._memory import stored_weight
from ostinato.through_time.backends.persistent._plan import make_plan
from ostinato.through_time.backends.persistent._program import Program
from ostinato.through_time.backends.persistent._run import trace
from ostinato.through_time.backends.persistent._sums_ahead import sums_ahead
from ostinato.through_time.backends.persistent._tiles import turned


def simulated_scan(body, carry, xs, *, programs: int, rows: int, reverse: bool, **_):
    """As `persistent_scan`, by one group of programs."""
    leaves, carry_tree = jax.tree.flatten(carry)
    inputs = jax.tree.leaves(xs)
    one_x = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), xs)
    closed, (_, y_shape) = jax.make_jaxpr(body, return_shape=True)(carry, one_x)
    closed, inputs = sums_ahead(closed, len(leaves), inputs)
    traced = trace(closed, len(leaves))
    plan = make_plan(traced.body, traced.layout, programs, rows)
    assert plan.groups == 1
    body, cuts = plan.body, plan.layout.cuts  # of the step from here on
    constants = body.prepare(closed.consts)
    weights = [stored_weight(plan, e, constants[e.invars[1]]) for e in plan.products]
    products = {e.invars[1] for e in plan.products}

    def dealt(var, value, constant=False):
        """The shares of all programs, on a first axis."""
        value = _stored(plan, var, value, constant)
        if var not in cuts:
            value = value[..., 0, 0] if not var.aval.shape else value
            return jnp.broadcast_to(value, (programs, *value.shape))
        parts = (
            jax.lax.slice_in_dim(value, at, at + programs * n, axis=-1)
            for _, n, at in plan.shares(var)
        )
        return [jnp.moveaxis(x.reshape(*x.shape[:-1], programs, -1), -2, 0) for x in parts]

    def one(number, known, carry, xs):
        def weight(equation, tile):
            (j,) = [j for j, e in enumerate(plan.products) if e is equation]
            found = _slice(weights[j], tile.at(number), (tile.rows, tile.columns))
            return found.T if turned(equation, tile) else found

        program = Program(plan, number, weight)

        def step(carry, x):
            env = dict(zip(fixed, known, strict=True)) | dict(zip(body.carry, carry, strict=True))
            env |= dict(zip(body.xs, x, strict=True))
            exchanged = {}
            for stage in plan.stages:
                program.run(stage.first, env, exchanged)
                for var in stage.gathered:
                    tiles = program.handed_out(var, env)
                    every = [jax.lax.all_gather(x, "programs", axis=1, tiled=True) for x in tiles]
                    whole = jnp.concatenate(every, axis=1)
                    exchanged[var] = lambda tiles, whole=whole: [
                        _slice(whole, (0, t.at(number)[0]), (rows, t.rows)) for t in tiles
                    ]
                for equation in stage.totals:
                    name = equation.primitive.name
                    every = jax.lax.all_gather(program.total(equation, env), "programs")
                    exchanged[id(equation)] = getattr(jnp, name.split("_")[1])(every, 0)[:, None]
                for equation in stage.scattered:
                    out = equation.outvars[0]
                    own = jnp.zeros((rows, plan.stored(out)))
                    for tiles in plan.tiles(equation):
                        part = program.part(equation, tiles, env, exchanged).astype(own.dtype)
                        at = tiles[0].at(number)[1]
                        own = jax.lax.dynamic_update_slice_in_dim(own, part, at, axis=1)
                    every = jax.lax.psum(own, "programs").astype(out.aval.dtype)
                    exchanged[id(equation)] = [
                        jax.lax.dynamic_slice_in_dim(every, at + number * share, share, axis=1)
                        for _, share, at in plan.shares(out)
                    ]
                program.run(stage.rest, env, exchanged)
            new = [program.kept(v, env) for v in body.new_carry]
            return new, [program.kept(v, env) for v in traced.kept]

        return jax.lax.scan(step, carry, xs, reverse=reverse)

    def gathered(var, value):
        if var not in cuts:
            return _unstored(plan, var, value[0])
        every = [jnp.moveaxis(x, 0, -2) for x in value]
        every = [x.reshape(*x.shape[:-2], -1) for x in every]
        return _unstored(plan, var, jnp.concatenate(every, axis=-1))

    fixed = [v for v in body.constants if v not in products]
    known = [dealt(v, constants[v], True) for v in fixed]
    start = [dealt(v, x) for v, x in zip(body.carry, leaves, strict=True)]
    dealt_xs = [dealt(v, x) for v, x in zip(body.xs, inputs, strict=True)]
    every = jax.vmap(one, axis_name="programs")
    final, found = every(jnp.arange(programs), known, start, dealt_xs)
    final = [gathered(v, x) for v, x in zip(body.carry, final, strict=True)]
    value = dict(zip(body.xs, inputs, strict=True))
    value |= {v: gathered(v, x) for v, x in zip(traced.kept, found, strict=True)}
    ys = [value[v] for v in body.ys]
    y_tree = jax.tree.structure(y_shape)
    return jax.tree.unflatten(carry_tree, final), jax.tree.unflatten(y_tree, ys)


def _slice(array, start, sizes):
    """A piece of a matrix, a plain slice where its place is known."""
    if all(isinstance(x, int) for x in start):
        return jax.lax.slice(array, start, [x + n for x, n in zip(start, sizes, strict=True)])
    start = [jnp.int32(x) for x in start]
    return jax.lax.dynamic_slice(array, start, sizes, allow_negative_indices=False)


def _stored(plan, var, value: jax.Array, constant: bool = False) -> jax.Array:
    """A value `(..., batch, units)`, `(..., batch)` or a scalar, of the variable `var`.

    Returns:
        `(..., rows, columns)`; a constant that lacks the batch has one row.
    """
    ndim = len(var.aval.shape)
    lead = value.shape[: value.ndim - ndim]
    if ndim == 0:
        return value.reshape(*lead, 1, 1)
    if var not in plan.layout.cuts:
        return _more_rows(plan, value.reshape(*lead, -1, 1))
    value = value.reshape(*lead, -1, value.shape[-1])
    parts = []
    for (start, stop), (width, share, _) in zip(
        plan.layout.segments(var), plan.shares(var), strict=True
    ):
        parts.append(_padded(value[..., start:stop], -1, share * plan.programs - width))
    value = parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=-1)
    return value if constant and value.shape[-2] == 1 else _more_rows(plan, value)


def _unstored(plan, var, value: jax.Array) -> jax.Array:
    """The inverse of `_stored`."""
    shape = plan.layout.batch, *var.aval.shape[1:]
    lead = value.shape[:-2]
    value = value[..., : plan.layout.batch, :]
    if var not in plan.layout.cuts:
        return value.reshape(*lead, *shape)
    parts = [value[..., at : at + width] for width, _, at in plan.shares(var)]
    value = parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=-1)
    return value.reshape(*lead, *shape)


def _more_rows(plan, value: jax.Array) -> jax.Array:
    return _padded(value, -2, plan.groups * plan.rows - plan.layout.batch)


def _padded(value: jax.Array, axis: int, more: int) -> jax.Array:
    widths = [(0, 0, 0)] * value.ndim
    widths[axis] = (0, more, 0)
    return jax.lax.pad(value, jnp.zeros((), value.dtype), widths) if more else value
