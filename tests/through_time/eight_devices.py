"""Runs cells on eight devices of a CPU; `test_sharded.py` starts it and reads the JSON it prints.

By the name of each case, how far apart `jax.shard_map` and one device are: derivatives taken within
it, and around it. By the kind of mesh, how often the compiled gradient has each operation that
exchanges numbers.
"""

import collections
import json
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import ostinato
from ostinato.cells import GRU, LSTM, Elman
from ostinato.wiring import Bidirectional, Stack

jax.config.update("jax_enable_x64", True)
KEYS = jax.random.split(jax.random.key(0), 8)
XS = jax.random.normal(KEYS[0], (5, 16, 3))
LENGTHS = jnp.arange(16) % 6
RESETS = jax.random.bernoulli(KEYS[1], 0.3, (5, 16))
lstm = LSTM(3, 4, key=KEYS[2])
pair = Stack([Elman(3, 4, key=KEYS[3]), GRU(4, 2, key=KEYS[4])])
both = Bidirectional(Elman(3, 4, key=KEYS[5]), Elman(3, 4, key=KEYS[6]))


def unrolled(**options):
    def loss(cell, xs, lengths, resets):
        packed = {"lengths": lengths, "resets": resets} if options.get("packed") else {}
        how = {name: x for name, x in options.items() if name != "packed"}
        ys, _ = ostinato.unroll(cell, xs, **packed, **how)
        return jnp.sum(jnp.sin(ys))

    return loss


def gradient(loss):
    return lambda cell, *data: jax.grad(loss)(cell, *data)


def tangent(loss):
    return lambda cell, *data: jax.jvp(lambda c: loss(c, *data), (cell,), (cell,))[1]


def second(loss):
    def product(cell, *data):
        return jax.jvp(lambda c: jax.grad(loss)(c, *data), (cell,), (cell,))[1]

    return product


def in_shard_map(derivative, loss, inside):
    """The derivative of the sum over devices, taken within `jax.shard_map` or around it."""
    mesh = jax.make_mesh((8,), ("devices",), axis_types=(AxisType.Auto,))
    specs = {"in_specs": (P(), P(None, "devices"), P("devices"), P(None, "devices"))}

    def total(*arguments):
        return jax.lax.psum(loss(*arguments), "devices")

    if inside:
        return jax.shard_map(derivative(total), mesh=mesh, **specs, out_specs=P())
    return derivative(jax.shard_map(total, mesh=mesh, **specs, out_specs=P()))


CASES = {
    "gradient": (gradient, lstm, {}),
    "tangent": (tangent, lstm, {}),
    "second derivative": (second, lstm, {}),
    "lengths and resets": (gradient, lstm, {"packed": True}),
    "chunks of time": (gradient, lstm, {"memory": 2}),
    "lower precision": (gradient, lstm, {"compute": "float32"}),
    "backwards": (gradient, lstm, {"reverse": True}),
    "a stack": (second, pair, {}),
    "both directions": (gradient, both, {"packed": True}),
}


def distance(name, inside):
    derivative, cell, options = CASES[name]
    loss = unrolled(**options)
    data = XS, LENGTHS, RESETS
    alone = jax.tree.leaves(jax.jit(derivative(loss))(cell, *data))
    shared = jax.tree.leaves(jax.jit(in_shard_map(derivative, loss, inside))(cell, *data))
    return max(float(np.max(np.abs(a - b))) for a, b in zip(alone, shared, strict=True))


def exchanges(kind):
    mesh = jax.make_mesh((8,), ("devices",), axis_types=(kind,))
    xs = jax.device_put(XS, NamedSharding(mesh, P(None, "devices")))
    cell = eqx.filter_shard(lstm, NamedSharding(mesh, P()))
    loss = unrolled()
    compiled = jax.jit(jax.grad(lambda cell, xs: loss(cell, xs, None, None)))
    text = compiled.lower(cell, xs).compile().as_text()
    names = "all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter"
    return collections.Counter(re.findall(rf" ({names})(?:-start)?\(", text))


if __name__ == "__main__":
    inside = {name: distance(name, inside=True) for name in CASES}
    around = {name: distance(name, inside=False) for name in ("gradient", "tangent")}
    kinds = AxisType.Auto, AxisType.Explicit
    print(json.dumps([inside, around, {kind.name: exchanges(kind) for kind in kinds}]))
