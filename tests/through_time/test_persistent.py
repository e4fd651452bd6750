"""Persistent kernels against the scan: programs simulated side by side, one kernel interpreted."""

import re
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.random import key

import ostinato
from everyday import some
from members import CELLS, WIRINGS
from ostinato.cells import GRU, LSTM, MLSTM, MRNN, PeepholeLSTM, Simple
from ostinato.testing.trees import like_normal
from ostinato.through_time.backends.backend import lean_scan
from ostinato.through_time.backends.persistent import (
    Fit,
    Persistent,
    Unfit,
    _fit,
    _kernel,
    _meeting,
    _plan,
    _program,
    _run,
    persistent_scan,
)
from ostinato.through_time.backends.persistent._memory import thirds
from ostinato.wiring import LayerNorm, Network, Readout

from .random_cells import loop
from .simulated import simulated_scan
from .threads import by_threads

BATCH, STEPS, UNITS = 5, 4, 40  # three programs of 16 units, the last one half empty
LARGER = {
    "lstm": lambda: LSTM(3, UNITS, key=key(0)),
    "mlstm": lambda: MLSTM(3, UNITS, key=key(0)),
    "mrnn": lambda: MRNN(3, UNITS, key=key(0), factor_inputs=2),
    "gru": lambda: GRU(3, UNITS, key=key(0)),
    "peephole": lambda: PeepholeLSTM(3, UNITS, key=key(0)),
    "layer norm": lambda: LayerNorm(LSTM(3, UNITS, key=key(0))),
}
H200 = jax.sharding.AbstractMesh(
    (), (), abstract_device=jax.sharding.AbstractDevice("NVIDIA H200", 132, "gpu")
)
BACKENDS = ("scan", "persistent")
RESETS = np.arange(STEPS * BATCH).reshape(STEPS, BATCH) % 3 == 0
ONE_PROGRAM = Fit(programs=1, rows=16, groups=1, warps=4)

# What a persistent kernel does not do, and why.
UNFIT = {
    "feedforward": "the step has no state",
    "neural turing machine": "neither (batch, units) nor (batch,)",
    "neural turing machine, feedforward, two heads": "neither (batch, units) nor (batch,)",
    "elman": "the step has no product with a weight",
    "reservoir": "neither (batch, units) nor (batch,)",
    "reservoir, mixed leaks": "neither (batch, units) nor (batch,)",
    "changes": "the step has no product with a weight",
    "liquid": "neither (batch, units) nor (batch,)",
    "expansion, quadratic": "neither (batch, units) nor (batch,)",
    "additive delay": "neither (batch, units) nor (batch,)",
    "additive delay, nonlinear": "neither (batch, units) nor (batch,)",
    "delay": "neither (batch, units) nor (batch,)",
    "zoneout": "a value is in key<fry>, which kernels do not know",
    "gated feedback, tanh": "cut into single columns",
    "gated feedback, lstm": "cut into single columns",
    "gated feedback, gru": "cut into single columns",
}
# Not all of their scans have a product with a weight, so they cannot all be asked for.
PARTLY = ("simple step", "hopfield", "mean over time", "all summaries")


@pytest.fixture
def by(monkeypatch):
    """Let kernels be run by something else, and see that they are."""
    calls, prepare_scan = [], _run.prepare_scan

    def run_by(scan):
        def counted(*args, **options):
            def run():
                calls.append(scan)
                with monkeypatch.context() as patch:  # `persistent_scan` is the kernels' own
                    patch.setattr(_run, "prepare_scan", prepare_scan)
                    return scan(*args, **options)

            return run

        monkeypatch.setattr(_run, "prepare_scan", counted)

    yield run_by
    assert calls, "nothing was run: another test has compiled the same, so take other sizes"


def everything(cell, xs, state=None, **options):
    """Outputs, their change along a direction, and what comes back to the parameters from both.

    What comes back is a gradient and a Gauss-Newton product, added.
    """
    parameters, static = eqx.partition(cell, eqx.is_inexact_array)
    draw = np.random.default_rng(2).integers  # these numbers are the same in every dtype
    direction = jax.tree.map(lambda x: (draw(-8, 9, x.shape) / 8).astype(x.dtype), parameters)

    def all_of_it(parameters, xs):
        def outputs(parameters):
            found = ostinato.unroll(eqx.combine(parameters, static), xs, state, **options)
            return [x for x in jax.tree.leaves(found) if jnp.issubdtype(x.dtype, jnp.inexact)]

        found, push = jax.linearize(outputs, parameters)
        changes = push(direction)
        back = jax.linear_transpose(push, parameters)
        return found, changes, back([jnp.cos(x) + y for x, y in zip(found, changes, strict=True)])

    return jax.jit(all_of_it)(parameters, xs)


def assert_same(cell, xs, state=None, tolerance=1e-9, **options):
    expected = everything(cell, xs, state, **options)
    found = everything(cell, xs, state, backend="persistent", **options)
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [n for n in CELLS | WIRINGS if n not in (*UNFIT, *PARTLY)])
def test_every_member_by_two_programs(name, by):
    """Small nets: most of what the programs hold is filled up."""
    case = (CELLS | WIRINGS)[name]()
    by(partial(simulated_scan, programs=2, rows=16))
    assert_same(case.cell, case.xs, like_normal(0, case.start))


@pytest.mark.parametrize("name", UNFIT)
def test_what_cannot_be_done_is_said(name):
    def run():
        case = (CELLS | WIRINGS)[name]()
        return ostinato.unroll(case.cell, case.xs, backend="persistent")

    with pytest.raises(Unfit, match=re.escape(UNFIT[name])):
        eqx.filter_eval_shape(run)


def sequences(batch=BATCH):
    return jax.random.normal(key(1), (STEPS, batch, 3))


@pytest.mark.parametrize("name", some(LARGER, ["mlstm"]))
def test_larger_nets_by_three_programs(name, by):
    by(partial(simulated_scan, programs=3, rows=16))
    assert_same(LARGER[name](), sequences(), lengths=jnp.array([4, 2, 0, 3, 1]), reverse=True)


class Learned(LSTM):
    """An LSTM whose initial state is a parameter."""

    first: jax.Array

    def __init__(self, inputs, units, *, key):
        super().__init__(inputs, units, key=key)
        self.first = jnp.arange(units) / units

    def initial(self, batch):
        h = jnp.broadcast_to(self.first, (*batch, UNITS))
        return h, jnp.zeros_like(h)


@pytest.mark.slow
@pytest.mark.parametrize("reverse", [False, True])
def test_packed_sequences(reverse, by):
    by(partial(simulated_scan, programs=3, rows=16))
    options = {"resets": RESETS, "lengths": jnp.array([4, 2, 0, 3, 1]), "reverse": reverse}
    assert_same(GRU(3, UNITS, key=key(0)), sequences(), **options)


def test_restarts_from_an_initial_state_that_is_learned(by):
    """Kernels run it; only its gradient is left to the scan, if that may be."""
    by(partial(simulated_scan, programs=3, rows=16))
    cell, xs = Learned(3, UNITS, key=key(0)), sequences()
    expected, found = (ostinato.unroll(cell, xs, resets=RESETS, backend=b) for b in BACKENDS)
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)
    with pytest.raises(Unfit, match="a constant of the step that learns is not one row"):
        gradient(cell, xs, resets=RESETS, backend="persistent")


@pytest.mark.parametrize("name", some(LARGER, ["lstm"]))
def test_products_in_parts(name, by, monkeypatch):
    """Four programs: each makes half of a sum, for half of the columns."""
    found, summands = set(), _plan.Plan.summands

    def noted(plan, equation):
        found.add(summands(plan, equation))
        return summands(plan, equation)

    monkeypatch.setattr(_plan, "MEETING", 0)
    monkeypatch.setattr(_plan.Plan, "summands", noted)
    by(partial(simulated_scan, programs=4, rows=32))
    assert_same(LARGER[name](), sequences())
    assert found == ({1} if name == "mrnn" else {1, 2})  # whose products are all square


def test_a_cell_of_ones_own(by):
    class Mine(ostinato.Cell):
        R: jax.Array
        leak: jax.Array

        def initial(self, batch):
            return jnp.zeros((*batch, len(self.R)))

        def inputs(self, x):
            return jnp.sum(x, axis=-1, keepdims=True)

        def step(self, h, u):
            a = u + h @ self.R
            h = h + self.leak * jax.nn.softplus(a) / (1 + jnp.max(jnp.abs(a), -1, keepdims=True))
            return h, h**2

    by(partial(simulated_scan, programs=3, rows=16))
    one, two = jax.random.split(key(3))
    mine = Mine(0.2 * jax.random.normal(one, (UNITS, UNITS)), jax.random.uniform(two, (UNITS,)))
    assert_same(mine, sequences())


@pytest.mark.parametrize("kind", some([LSTM, Simple], [Simple]))
def test_in_bfloat16(kind, by):
    """Roundings come where the scan has them; sums are in another order."""
    by(partial(simulated_scan, programs=3, rows=16))
    cell = jax.tree.map(lambda x: x.astype(jnp.float32), kind(3, UNITS, key=key(0)))
    assert_same(cell, sequences().astype(jnp.float32), compute="bfloat16", tolerance=2e-2)


@pytest.mark.parametrize("name", some(["lstm", "layer norm"], []))
def test_the_kernel_of_one_program(name, by):
    """More sequences than one launch holds, and just as many as a weight has rows."""
    by(partial(persistent_scan, fitted=ONE_PROGRAM))
    lengths = jnp.arange(UNITS) % (STEPS + 1)
    assert_same(LARGER[name](), sequences(UNITS), lengths=lengths, reverse=True)


def gradient(cell, xs, **options):
    return jax.grad(lambda c: jnp.sum(jnp.sin(ostinato.unroll(c, xs, **options)[0])))(cell)


def kernels_by_threads(what, cell, xs, monkeypatch, by, **sizes):
    by(partial(persistent_scan, fitted=Fit(warps=4, **sizes)))
    by_threads(monkeypatch)
    cell = jax.tree.map(lambda x: x.astype(jnp.float32), cell)
    lengths = jnp.arange(xs.shape[1]) % (len(xs) + 1)
    run = partial(what, cell, xs.astype(jnp.float32), lengths=lengths)
    expected = run(backend="scan")
    with jax.disable_jit():
        found = run(backend="persistent")
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-5 * np.max(np.abs(a)))


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGER)
def test_programs_that_wait_for_each_other(name, monkeypatch, by):
    """Three programs in each of two groups, as threads that run the kernel itself."""
    sizes = {"programs": 3, "groups": 2, "rows": 16}
    kernels_by_threads(everything, LARGER[name](), sequences(20), monkeypatch, by, **sizes)


@pytest.mark.parametrize(
    ("programs", "rows"),
    [pytest.param(*sizes, marks=pytest.mark.slow) for sizes in ((2, 16), (4, 32))],
)
def test_a_few_programs_that_wait_for_each_other(programs, rows, monkeypatch, by):
    """Values, sums over units and parts of products are exchanged; with 32 rows parts of parts."""
    monkeypatch.setattr(_plan, "MEETING", 0)
    cell, sizes = LayerNorm(LSTM(3, 20, key=key(0))), {"programs": programs, "rows": rows}
    kernels_by_threads(gradient, cell, sequences(3)[:2], monkeypatch, by, groups=1, **sizes)


def test_a_program_that_never_starts(monkeypatch, by):
    """The other gives up waiting for it; the scan does the work, and a warning says so."""
    by(partial(persistent_scan, fitted=Fit(programs=2, rows=16, groups=1, warps=4)))
    by_threads(monkeypatch, absent=(1, 0))
    monkeypatch.setattr(_kernel, "run_kernel", partial(_kernel.run_kernel, longest=2))
    cell = jax.tree.map(lambda x: x.astype(jnp.float32), Simple(3, 20, key=key(0)))
    xs = sequences(3)[:2].astype(jnp.float32)
    with jax.disable_jit(), pytest.warns(RuntimeWarning, match="gave up waiting"):
        found, _ = ostinato.unroll(cell, xs, backend="persistent")
    np.testing.assert_allclose(found, ostinato.unroll(cell, xs)[0], rtol=1e-6)


@pytest.mark.slow
def test_values_in_several_looks(monkeypatch, by):
    """A small first one, and then others, in each of which some numbers may still be missing."""
    monkeypatch.setattr(_plan, "FIRST", 256)
    monkeypatch.setattr(_plan, "LOOKED", 512)
    sizes = {"programs": 4, "rows": 16, "groups": 1}
    kernels_by_threads(gradient, GRU(3, 60, key=key(0)), sequences(3)[:2], monkeypatch, by, **sizes)


@pytest.mark.parametrize(
    ("make", "programs", "bad"),
    [
        (lambda: Simple(3, 20, key=key(0)), 2, None),
        (lambda: Simple(3, 20, key=key(0)), 2, 0),
        pytest.param(LARGER["layer norm"], 3, 1, marks=pytest.mark.slow),
    ],
    ids=["none", "forwards", "backwards"],
)
def test_a_launch_that_fails_leaves_nan(make, programs, bad, monkeypatch, by):
    """If nobody is to wait for it: forwards in the loss, backwards in the gradient."""
    by(partial(persistent_scan, fitted=Fit(programs=programs, rows=16, groups=1, warps=4)))
    kernel, launches = _kernel.run_kernel, iter(range(2))

    def run_kernel(*given, **options):
        failing = next(launches) == bad
        by_threads(monkeypatch, absent=(1, 0) if failing else None)
        return kernel(*given, **options, **({"longest": 2} if failing else {}))

    monkeypatch.setattr(_kernel, "run_kernel", run_kernel)
    cell = jax.tree.map(lambda x: x.astype(jnp.float32), make())
    xs = sequences(3)[:2].astype(jnp.float32)

    def loss(cell):
        ys, _ = ostinato.unroll(cell, xs, backend="persistent", on_failure="nan")
        return jnp.sum(ys**2)

    with jax.disable_jit():
        value, found = jax.value_and_grad(loss)(cell)
    assert np.isnan(value) == (bad == 0)
    assert all(np.isnan(x).any() == (bad is not None) for x in jax.tree.leaves(found))


def test_a_launch_that_fails_in_a_compiled_function(monkeypatch, by):
    """The warning comes though nobody uses the final state, and at every call."""

    def fails(plan, constants, carry, xs, ys, **_):
        out = [jnp.zeros((len(xs[0]), *v.aval.shape), v.aval.dtype) for v in ys]
        return carry, out, jnp.isnan(jnp.sum(xs[0]))

    by(partial(persistent_scan, fitted=Fit(programs=2, rows=16, groups=1, warps=4)))
    monkeypatch.setattr(_kernel, "run_kernel", fails)
    cell, xs = Simple(3, 20, key=key(0)), sequences(3)
    run = jax.jit(lambda xs: ostinato.unroll(cell, xs, backend="persistent")[0])
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="gave up waiting"):
            found = run(xs).block_until_ready()
    np.testing.assert_allclose(found, ostinato.unroll(cell, xs)[0], rtol=1e-9)


def test_full_float32(by):
    """Products of thirds in bfloat16 are as good as those in float32."""
    x = jax.random.normal(key(0), (100,), jnp.float32)
    assert sum(third.astype(jnp.float32) for third in reversed(thirds(x))).tolist() == x.tolist()
    by(partial(persistent_scan, fitted=ONE_PROGRAM))
    exact, xs = Simple(3, UNITS + 1, key=key(0)), sequences()
    cell = jax.tree.map(lambda x: x.astype(jnp.float32), exact)
    expected = jax.tree.leaves(everything(exact, xs))

    def off(backend):
        with jax.default_matmul_precision("highest"):
            found = everything(cell, xs.astype(jnp.float32), backend=backend)
        pairs = zip(jax.tree.leaves(found), expected, strict=True)
        return max(float(jnp.max(jnp.abs(a - b))) for a, b in pairs)

    assert off("persistent") < 2 * off("scan")


@pytest.mark.slow
def test_memory_and_other_transforms(by):
    """What a kernel cannot do is done by the scan: second derivatives, batches of networks."""
    by(partial(persistent_scan, fitted=ONE_PROGRAM))
    cell = Network(Simple(3, 4, key=key(0)), Readout(4, 2, key=key(1)))
    assert_same(cell, sequences(), memory="sqrt")
    xs = sequences()

    def loss(cell, backend):
        return jnp.sum(ostinato.unroll(cell, xs, backend=backend)[0] ** 2)

    def curvature(cell, backend):
        return jax.jvp(lambda c: jax.grad(loss)(c, backend), (cell,), (cell,))[1]

    several = jax.tree.map(lambda x: jnp.stack([x, 2 * x]), cell)
    for function in (curvature, lambda c, b: jax.vmap(lambda c: jax.grad(loss)(c, b))(several)):
        expected, found = (function(cell, b) for b in ("scan", "persistent"))
        for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("memory", [_fit.SHARED_MEMORY, 36 * 1024])
@pytest.mark.parametrize("name", some(LARGER, ["layer norm"]))
def test_the_kernels_can_be_compiled_for_a_gpu(name, memory, monkeypatch):
    """As far as can be seen without one: they are made of what its compiler knows.

    With much memory a program has all units, with little of it programs share them.
    """
    monkeypatch.setattr(_run, "multiprocessors", lambda: 132)
    monkeypatch.setattr(_fit, "SHARED_MEMORY", memory)
    monkeypatch.setattr(_run, "_failed", _run._plain)  # its warning needs a real GPU
    cell = jax.tree.map(lambda x: x.astype(jnp.float32), LARGER[name]())
    xs = jax.ShapeDtypeStruct((STEPS, 20, 3), jnp.float32)

    def run(cell, xs):
        options = {"backend": "persistent", "compute": "bfloat16"}
        return jax.grad(lambda cell: jnp.sum(ostinato.unroll(cell, xs, **options)[0]))(cell)

    with jax.sharding.use_abstract_mesh(H200):
        words = jax.jit(run).trace(cell, xs).lower(lowering_platforms=("cuda",)).as_text()
    assert words.count("triton_kernel_call") + words.count("xla.gpu.triton") >= 2


def test_kernels_are_used_where_arrays_are_whole(monkeypatch):
    """On a machine with several GPUs: on one of them, and within `jax.shard_map`."""
    monkeypatch.setattr(_run, "measured_gpu", lambda: True)
    monkeypatch.setattr(_run, "multiprocessors", lambda: 132)
    monkeypatch.setattr(_run, "_failed", _run._plain)
    cell = jax.tree.map(lambda x: x.astype(jnp.float32), LSTM(3, UNITS, key=key(0)))
    kinds = (jax.sharding.AxisType.Auto,)
    mesh = jax.sharding.AbstractMesh(
        (8,), ("devices",), kinds, abstract_device=H200.abstract_device
    )
    rows = jax.sharding.PartitionSpec(None, "devices")
    same = jax.sharding.PartitionSpec()

    def kernels(run, sharding=None):
        xs = jax.ShapeDtypeStruct((STEPS, 24, 3), jnp.float32, sharding=sharding)
        with jax.sharding.use_abstract_mesh(H200):
            words = jax.jit(run).trace(cell, xs).lower(lowering_platforms=("cuda",)).as_text()
        return words.count("triton_kernel_call") + words.count("xla.gpu.triton")

    def run(cell, xs, backend=None):
        return ostinato.unroll(cell, xs, backend=backend)[0]

    def split(cell, xs):
        how = {"mesh": mesh, "in_specs": (same, rows), "out_specs": rows, "check_vma": False}
        return jax.shard_map(run, **how)(cell, xs)

    among = jax.sharding.NamedSharding(mesh, rows)
    assert kernels(run) > 0 and kernels(split, among) > 0
    assert kernels(run, among) == 0 < kernels(partial(run, backend="persistent"), among)


@pytest.fixture
def offers(monkeypatch):
    """As on a GPU of the measured kind: what the kernels say to every scan, in order."""
    monkeypatch.setattr(_run, "measured_gpu", lambda: True)
    monkeypatch.setattr(_run, "multiprocessors", lambda: 132)
    found, offer = [], Persistent.offer

    def noted(self, scan, required):
        found.append(offer(self, scan, required))
        return found[-1]

    monkeypatch.setattr(Persistent, "offer", noted)
    return found


def test_the_choice_on_a_gpu(offers):
    """Left to choose, the scan takes what a kernel would need several launches for."""
    for units, batch, refused in ((UNITS, 700, False), (200, 5, False), (200, 700, True)):
        offers.clear()
        cell = jax.tree.map(lambda x: x.astype(jnp.float32), LSTM(3, units, key=key(0)))
        ostinato.unroll(cell, sequences(batch).astype(jnp.float32), backend=None)
        reasons = [offer.reason for offer in offers]
        assert reasons == (["the scan is faster"] if refused else ["", ""])


def test_a_scan_that_a_kernel_cannot_run_is_left_to_the_plain_one(offers):
    """The gradient of a learned initial state; values and tangents are by kernels."""
    cell = jax.tree.map(lambda x: x.astype(jnp.float32), Learned(3, UNITS, key=key(0)))
    xs = sequences().astype(jnp.float32)
    found = gradient(cell, xs, resets=RESETS)
    assert offers and all(offer.run is not None for offer in offers)
    offers.clear()
    expected = gradient(cell, xs, resets=RESETS, backend="scan")
    assert not offers
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


class Mixed(ostinato.Cell):
    """A state that a float matrix reads, and another one with a matrix of its own."""

    R: jax.Array
    S: jax.Array
    dtype: str = eqx.field(static=True)
    other: str = eqx.field(static=True)

    def initial(self, batch):
        shape = (*batch, len(self.R))
        return jnp.zeros(shape, self.dtype), jnp.ones(shape, self.other)

    def inputs(self, x):
        return jnp.sum(x, axis=-1, keepdims=True)

    def step(self, state, u):
        h, n = state
        a = h @ self.R
        if self.S.size:
            a = a + (n @ self.S).real
        h = jnp.tanh(a + u).astype(self.dtype)
        return (h, jnp.where(h > 0, n, -n)), h


@pytest.mark.parametrize(
    ("dtype", "other", "weight", "words"),
    [
        ("float32", "int32", "int32", "a product is in int32, and kernels take float32"),
        ("float32", "int32", "float32", "a product is in int32 and float32"),
        ("float32", "float32", "int8", "a product is in float32 and int8"),
        ("bfloat16", "float32", None, "a product is in bfloat16 and float32"),
        ("float32", "complex64", None, "a value is in complex64, which kernels do not know"),
        ("float32", "float8_e4m3fn", None, "a value is in float8_e4m3fn, which kernels do not"),
    ],
)
def test_dtypes_that_kernels_do_not_take(dtype, other, weight, words, offers):
    """A GPU would run the scan, which is the loop of steps, and says why if it may not."""
    R = 0.2 * jax.random.normal(key(0), (UNITS, UNITS), jnp.float32)
    S = jnp.zeros(0) if weight is None else jnp.eye(UNITS, dtype=weight)
    cell, xs = Mixed(R, S, dtype, other), sequences().astype(jnp.float32)
    with jax.disable_jit():
        ys, _ = ostinato.unroll(cell, xs)
        expected, _ = loop(cell, xs)
    assert len(offers) == 1 and offers[0].reason.startswith(words)
    np.testing.assert_allclose(ys.astype(float), expected.astype(float), rtol=1e-5)
    with pytest.raises(Unfit, match=words):
        ostinato.unroll(cell, xs, backend="persistent")


def test_a_sum_of_integers_is_not_for_kernels(by, monkeypatch):
    monkeypatch.setattr(_run, "multiprocessors", lambda: 132)

    class Counting(Mixed):
        def step(self, state, u):
            h, n = state
            h = jnp.tanh(h @ self.R + u + jnp.max(n, axis=-1, keepdims=True))
            return (h, n), h

    by(persistent_scan)
    R = 0.2 * jax.random.normal(key(0), (UNITS, UNITS), jnp.float32)
    cell = Counting(R, jnp.zeros(0), "float32", "int32")
    with pytest.raises(Unfit, match="a sum over units is in int32"):
        ostinato.unroll(cell, sequences().astype(jnp.float32), backend="persistent")


def test_the_larger_of_a_number_and_nan_is_nan():
    """The compiler of kernels would take the number, so they are not told of these functions."""
    given = jnp.asarray([jnp.nan, -jnp.inf, -2.0, 0.5, 2.0, jnp.inf])
    x, y = (a.reshape(-1) for a in jnp.meshgrid(given, given))
    one = jnp.ones_like(x)
    for function, values in (
        (jax.lax.max, (x, y)),
        (jax.lax.min, (x, y)),
        (jax.lax.clamp, (-one, x, one)),
        (jax.lax.clamp, (y, x, one)),
    ):
        (equation,) = jax.make_jaxpr(function)(*values).eqns
        used = jax.make_jaxpr(partial(_program._bind, equation))(values).eqns
        assert not {e.primitive.name for e in used} & {"max", "min", "clamp"}
        np.testing.assert_array_equal(_program._bind(equation, values), function(*values))


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.float32])
def test_what_is_handed_out_shows_that_it_is_there(dtype):
    empty = _meeting.empty((3, 2), dtype)
    mark = jax.lax.bitcast_convert_type(empty[0, 0], dtype)
    assert len(np.unique(empty)) == 1 and jnp.isnan(mark)
    values = jnp.asarray([0.0, -0.0, 1.5, -2.25, jnp.nan, -jnp.nan, jnp.inf, -jnp.inf, 1e-7], dtype)
    values = jnp.append(values, mark)
    bits = _meeting.handed(values)
    assert bits.dtype == empty.dtype
    assert not np.intersect1d(bits, empty).size
    found = jax.lax.bitcast_convert_type(bits, dtype)
    np.testing.assert_array_equal(*(x.astype(jnp.float32) for x in (found, values)))


def test_sums_show_whose_turn_it_is():
    values = jnp.asarray([0.0, -1.1, jnp.inf, -jnp.inf, jnp.nan, 1e-30], jnp.float32)
    places = [0, 0]  # as they begin
    for t in range(9):
        bits = _meeting.signed(values, t)
        assert set((bits & 1).tolist()) == {_meeting.turn(t)} != {places[t & 1]}
        places[t & 1] = _meeting.turn(t)
        found = jax.lax.bitcast_convert_type(bits & -2, jnp.float32)
        np.testing.assert_allclose(found, values, rtol=2e-7)


def test_sizes():
    def sizes(units, batch, cores=132, dtype=jnp.bfloat16):
        found = []

        def scan(body, carry, xs, *, reverse, **_):
            one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), xs)
            closed = jax.make_jaxpr(body)(carry, one)
            traced = _run.trace(closed, len(jax.tree.leaves(carry)))
            found.append(_fit.fit(traced.body, traced.layout, cores))
            return partial(lean_scan, body, carry, xs, reverse=reverse)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_run, "prepare_scan", scan)
            cell = eqx.filter_eval_shape(LSTM, 3, units, key=key(0))
            xs = jax.ShapeDtypeStruct((2, batch, 3), jnp.float32)
            run = partial(ostinato.unroll, backend="persistent", compute=dtype)
            eqx.filter_eval_shape(lambda c, x: run(c, x), cell, xs)
        return found[0]

    assert sizes(512, 16) == Fit(programs=32, rows=16, groups=1, warps=4)
    assert sizes(1024, 128) == Fit(programs=64, rows=64, groups=2, warps=8)
    assert sizes(1024, 500).batch == 128
    with pytest.raises(Unfit, match="2048 units need 128 programs at once, and the device has 100"):
        sizes(2048, 16, cores=100)
    with pytest.raises(Unfit, match=r"a program needs 304 KB of shared memory, .* and has 227 KB"):
        sizes(2048, 15)
    with pytest.raises(Unfit, match="a product is in float64, and kernels take float32"):
        sizes(64, 16, dtype=jnp.float64)


def test_bad_backend():
    with pytest.raises(ValueError, match="backend must be 'scan' or 'persistent', got 'cuda'"):
        ostinato.unroll(LSTM(3, 4, key=key(0)), sequences(), backend="cuda")
    with pytest.raises(Unfit, match="persistent kernels run on a GPU, and this is cpu"):
        ostinato.unroll(LSTM(3, 4, key=key(0)), sequences(), backend="persistent")
