"""The plan of a run on other devices, beside what was measured."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from everyday import some
from ostinato.errors import BadInput
from ostinato.runs import Config
from ostinato.runs.build import build_learner, build_task, precision
from ostinato.runs.loop.step import compiled_step
from ostinato.runs.network.budget import network_shapes
from ostinato.runs.operations import parts_of
from ostinato.runs.plan import MACHINES, plan, seconds_of
from plan_cases import CHECKED, FITTED, Case, parts_of_case
from untrained import drawn

H200, CORE = MACHINES["h200"], MACHINES["core"]
# More than a fifth off, as docs/scaling.md says, and how far: sums over units within a scan, which
# the plan does not count; one sequence at a time; sums over a large batch.
MISSED = {
    Case("lstm", 128, 512, "bf16", "persistent", 5.28): 0.21,
    Case("layer-normed", 16, 512, "bf16", "scan", 11.61): -0.29,
    Case("layer-normed", 64, 1024, "bf16", "scan", 20.06): -0.28,
    Case("peephole", 64, 1024, "bf16", "scan", 21.52): -0.27,
    Case("lstm", 1, 1024, "bf16", "scan", 3.51, 256): -0.28,
    Case("mlstm", 1, 1024, "TF32", "scan", 5.69, 256): -0.24,
}
DAILY = [
    case
    for case in CHECKED
    if case[:3] in {("lstm", 128, 512), ("lstm", 64, 1024), ("lstm", 16, 256), ("gru", 64, 1024)}
]


def off(case):
    """By which share the plan of a case is too long."""
    return 1e3 * seconds_of(parts_of_case(case, H200), H200)[0] / case.milliseconds - 1


@pytest.mark.parametrize("case", some(CHECKED, DAILY), ids=str)
def test_gradients_on_a_gpu_that_were_not_fitted(case):
    expected = MISSED.get(case, 0)
    assert off(case) == pytest.approx(expected, abs=0.01 if expected else 0.2)


@pytest.mark.slow
@pytest.mark.parametrize("case", FITTED, ids=str)
def test_gradients_on_a_gpu_to_which_constants_were_fitted(case):
    assert abs(off(case)) <= 0.15


# Training steps of character models on an H200, none of which was fitted but the first, which gave
# the constant `host`: settings and milliseconds.
LSTM = {"cell": "lstm", "precision": "float32"}
MLSTM = {"cell": "mlstm", "units": 1024, "length": 256, "batch": 64, "precision": "bfloat16"}
STEPS = [
    ({**LSTM, "units": 64, "length": 32, "batch": 32}, 0.79),
    ({**LSTM, "units": 128, "length": 50, "batch": 32}, 0.952),
    ({**LSTM, "units": 512, "length": 100, "batch": 64}, 1.217),  # by a kernel
    ({**LSTM, "units": 1024, "length": 128, "batch": 64}, 4.21),  # which has none
    ({**MLSTM, "backend": "scan"}, 9.49),
    ({**MLSTM, "backend": "persistent"}, 6.17),
]


@pytest.mark.parametrize(("settings", "milliseconds"), STEPS)
def test_training_steps_on_a_gpu(settings, milliseconds):
    (planned,) = plan(Config(**settings), H200, [1])
    assert planned.reduction == 0
    assert 1e3 * planned.computing == pytest.approx(milliseconds, rel=0.2)
    assert (planned.bound == "host") == (settings["units"] < 256)


# The same on cores, 32 sequences each: milliseconds by processes. Those of one gave flops and tick,
# those of 2 and 8 apart and wait; start, delay and link are those of reductions alone.
ON_CORES = [
    (64, 32, {1: 3.22, 2: 7.97, 4: 15.7, 8: 20.36, 16: 27.89}),
    (128, 50, {1: 11.46, 2: 19.87, 4: 23.98, 8: 35.65, 16: 46.21}),
]


@pytest.mark.parametrize(("units", "length", "measured"), ON_CORES)
def test_training_steps_on_cores(units, length, measured):
    config = Config(**LSTM, units=units, length=length, batch=32)
    for found in plan(config, CORE, [*measured], grow=True):
        assert 1e3 * found.seconds == pytest.approx(measured[found.devices], rel=0.2), found


@cache
def seconds(machine=CORE, devices=1, **settings):
    config = Config(**{"task": "adding", "length": 20, "units": 16} | settings)
    (found,) = plan(config, machine, [devices])
    return found


def test_a_plan_adds_up():
    config = Config(task="adding", length=20, units=16, batch=64)
    one, eight = plan(config, CORE._replace(apart=0.0), [1, 8])
    assert one.reduction == 0 < eight.reduction and eight.computing < one.computing
    assert eight.memory < one.memory and one.fits and eight.batch == one.batch == 64
    (grown,) = plan(config, H200, [8], grow=True)
    assert grown.batch == 512 and grown.memory > eight.memory
    assert not next(plan(config, H200._replace(memory=10), [1])).fits


def test_the_operations_of_a_step_are_counted():
    """A simple tanh network: forward, back, and the gradient of each of its weights."""
    shapes = [jax.ShapeDtypeStruct(s, jnp.float32) for s in ((16, 16), (20, 64, 16))]

    def loss(r, xs):
        step = lambda h, x: (h := jnp.tanh(h @ r + x), h)  # noqa: E731
        return jnp.sum(jax.lax.scan(step, xs[0], xs)[1])

    parts = parts_of(jax.grad(loss), *shapes)
    assert sum(part.operations for part in parts) == 20 * 3 * 2 * 64 * 16 * 16


def test_a_learner_says_what_its_step_takes():
    adam = seconds(batch=64)
    hf = [seconds(batch=64, learner="hf", iterations=n).computing for n in (10, 20)]
    curved = seconds(batch=16).computing  # a quarter of the batch
    assert hf[1] - hf[0] == pytest.approx(10 * curved)
    assert hf[0] == pytest.approx(adam.computing * (1 + 7 / 3) + 12 * curved)
    saddle = seconds(batch=64, learner="saddle-free", krylov=10).computing
    assert saddle == pytest.approx(adam.computing * 4 / 3 + 20 * curved)
    many = [seconds(devices=2, batch=64, learner="hf", iterations=n).reduction for n in (10, 20)]
    assert many[1] - many[0] == pytest.approx(10 * seconds(devices=2, batch=64).reduction)


def test_memory_and_chunks_take_time():
    times = [seconds(batch=64, memory=memory).computing for memory in ("all", "sqrt")]
    assert 1.2 < times[1] / times[0] < 1.8  # all but the last product of a step is done again
    hf = {"batch": 64, "learner": "hf", "curvature_batch": 64}
    whole, chunks = (seconds(H200, **hf, chunk=chunk).computing for chunk in (None, 16))
    assert 3 < chunks / whole < 4.2


@pytest.mark.parametrize(
    ("settings", "off"),
    [
        ({"cell": "lstm", "units": 64, "length": 50, "batch": 32}, 0.25),
        ({"cell": "lstm", "units": 64, "length": 49, "batch": 32, "memory": "sqrt"}, 0.25),
        ({"cell": "mlstm", "units": 64, "length": 50, "batch": 32, "learner": "hf"}, 0.3),
    ],
)
def test_memory_is_about_what_the_compiler_needs(settings, off):
    config = Config(**settings)
    with precision(config), jax.enable_x64(False):
        task = build_task(config)
        network, learner = drawn(network_shapes(config, task)), build_learner(config, task)
        batch = task.batch(0, config.batch_size).arrays
        start = eqx.filter_eval_shape(learner.start, network, batch)
        initial = eqx.filter_eval_shape(learner.initial, network)
        arrays = eqx.filter(network, eqx.is_array), initial, start, batch, 0
        step = compiled_step(network, learner, 0)
        needs = step.lower(*arrays).compile().memory_analysis()
    sizes = needs.argument_size_in_bytes, needs.output_size_in_bytes, needs.temp_size_in_bytes
    (planned,) = plan(config, CORE, [1])
    assert planned.memory == pytest.approx(sum(sizes), rel=off)


@pytest.mark.parametrize("learner", ["es", "optax:lion", "heavy-ball"])
def test_a_learner_that_says_nothing_is_traced(learner):
    adam, other = (seconds(batch=64, rate=0.1, learner=name) for name in ("adam", learner))
    assert other.computing >= 0.99 * adam.computing


def test_what_a_kernel_reads():
    """All of h; then, of the errors, its 16 columns of the sum of each of 32 programs."""
    parts = parts_of_case(Case("lstm", 16, 512, "bf16", "persistent", 3.34), H200)
    assert [part.read for part in parts if part.exchanges] == [16 * 512 * 2, 32 * 16 * 16 * 4]
    full = parts_of_case(Case("lstm", 16, 256, "float32", "persistent", 7.02), H200)
    assert [part.read for part in full if part.exchanges] == [16 * 256 * 4, 16 * 1024 * 4]


def test_a_kernel_reads_what_its_programs_hand_out_and_is_looked_at():
    """The second only where the scan takes over at once if it fails."""
    machine = H200._replace(host=0)
    adam, hf = {"cell": "lstm", "batch": 64}, {"learner": "hf", "iterations": 1}
    for more, looks in ((adam, 0), (adam | hf, 2 * (1 + 3 + 7 / 3))):
        usual = seconds(machine, **more, units=256).computing
        unlooked = seconds(machine._replace(look=0), **more, units=256).computing
        slow = seconds(machine._replace(reading=machine.reading / 2), **more, units=256).computing
        assert usual - unlooked == pytest.approx(looks * machine.look)
        assert slow > usual


@pytest.mark.parametrize(
    ("settings", "counts"),
    [
        ({"batch": 32}, [1, 2, 4, 8, 16]),
        ({"batch": 12, "learner": "hf", "curvature_batch": 6}, [1, 2]),
        ({"batch": 64, "gradient": "rtrl"}, [1]),
    ],
)
def test_the_usual_devices_are_those_that_can_share_the_batch(settings, counts):
    config = Config(task="adding", cell="simple", length=5, units=4, **settings)
    assert [planned.devices for planned in plan(config, CORE, None)] == counts


def test_devices_that_cannot_share_a_batch():
    for settings, words in (
        ({"batch": 64}, "3 devices cannot share a batch of 64 sequences equally"),
        ({"batch": 63, "gradient": "rtrl"}, "with --gradient rtrl"),
        ({"batch": 63, "learner": "rls"}, "with the learner rls"),
        ({"batch": 63, "learner": "hf", "curvature_batch": 7}, "a curvature batch of 7 sequences"),
    ):
        with pytest.raises(BadInput, match=words):
            [*plan(Config(**{"task": "adding", "cell": "simple"} | settings), H200, [3])]


def test_the_command(ostinato, tmp_path):
    (tmp_path / "s.toml").write_text('[task]\nname = "adding"\n[training]\nbatch = 64\n')
    code, out, err = ostinato("plan", "s.toml", "--devices", "1,8")
    assert (code, err) == (0, "") and out.count("█") > 20 and "░" in out
    for words, message in (
        (("--devices", "0"), "--devices must be numbers from 1 to 1,000,000"),
        (("--devices", "x"), "--devices must be numbers from 1 to 1,000,000"),
        (("--machine", "cray"), "there is no machine 'cray'; there are h200, core"),
        (("--constant", "speed=1"), "there is no such constant"),
        (("--constant", "link=fast"), "give a number, as in link=5e10"),
        (("--constant", "link=0"), "give a number from 1e-30 to 1e+30"),
        (("--constant", "flops=1e-300"), "give a number from 1e-30 to 1e+30"),
        (("--constant", "delay=-1"), "give a number from 0 to 1e+30"),
        (("--constant", "wait=nan"), "give a number from 0 to 1e+30"),
    ):
        code, out, err = ostinato("plan", "s.toml", *words)
        assert code == 2 and message in err and err.count("\n") == 1
