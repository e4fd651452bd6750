"""Models of ONNX: one step with its state for a batch, operators where there are such, metadata."""

import json
import re
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest

import ostinato
from ostinato import Config
from ostinato.cells import GRU, LSTM, PeepholeLSTM, Simple
from ostinato.export import to_onnx
from ostinato.export.run_export import export_run
from ostinato.tasks import Series
from ostinato.wiring import Bidirectional, Dropout, Stack
from untrained import untrained_run

from .members import EVERY, session
from .test_conformance import single

STEPS, BATCH = 12, 3
KINDS = {"tensor(float)": np.float32, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}
ONE, TWO, THREE = jax.random.split(jax.random.key(1), 3)


def inputs_of(case):
    rng = np.random.default_rng(0)
    if case.cell.input_axes == 0:
        return rng.integers(0, 5, (STEPS, BATCH))
    return rng.normal(size=(STEPS, BATCH, case.xs.shape[-1])).astype(np.float32)


def expected(network, xs):
    with jax.enable_x64(False):
        ys, state = ostinato.unroll(eqx.nn.inference_mode(network), jnp.asarray(xs))
        return np.asarray(ys), [np.asarray(x) for x in jax.tree.leaves(state)]


def stepped(model, xs):
    """Outputs and final state, step by step from the state in the metadata."""
    known = {one.key: one.value for one in onnx.load_from_string(model).metadata_props}
    run = session(model)
    *before, _ = run.get_inputs()
    assert [one.name for one in before] == [f"state_{n}" for n in range(len(before))]
    start = [
        np.array(x, KINDS[one.type])
        for x, one in zip(json.loads(known["start"]), before, strict=True)
    ]
    state, ys = [np.stack([x] * BATCH) for x in start], []
    for x in xs:
        given = {one.name: x for one, x in zip(before, state, strict=True)}
        *state, y = run.run(None, {**given, "x": x})
        ys.append(y)
    return np.array(ys), state


@pytest.mark.parametrize("step", [False, True])
def test_the_documented_order_is_that_of_the_file(step):
    """That of the guide's table, of the docstring, and of the values that a session returns."""
    run = session(to_onnx(LSTM(3, 4, key=ONE), step=step))
    found = [[one.name for one in side] for side in (run.get_inputs(), run.get_outputs())]
    guide = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
    name = "sales-step.onnx" if step else "sales.onnx"
    (row,) = re.findall(rf"(?m)^\| `{re.escape(name)}` \|(.+)\|(.+)\|$", guide)
    whole = " ".join(to_onnx.__doc__.split())
    said = re.findall(r"A (?:sequence|step) has the inputs? (.+?) outputs are (.+?)\.", whole)[step]
    for words in (row, said):
        told = [re.findall(r"`(x|y|(?:next_)?state_0)`", side) for side in words]
        assert told == [[name for name in side if not name.endswith("_1")] for side in found]


@pytest.mark.parametrize("name", EVERY)
def test_a_batch_step_by_step_and_as_a_sequence(name):
    """The conformance suite compares the sequence with the library over ten thousand steps."""
    case = EVERY[name]()
    xs, network = inputs_of(case), single(case.cell)
    size = None if network.input_axes == 0 else xs.shape[-1]
    *final, outputs = session(to_onnx(network, size)).run(None, {"x": xs})
    if network.can_step:
        ys, state = stepped(to_onnx(network, size, step=True), xs)
    else:
        ys, state = expected(network, xs)
    np.testing.assert_allclose(outputs, ys, atol=1e-5 * np.abs(ys).max())
    for one, other in zip(final, state, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5 * max(np.abs(other).max(), 1))


def nodes(network):
    return [x for x in onnx.load_from_string(to_onnx(network)).graph.node if x.op_type.isupper()]


def test_cells_that_onnx_has_are_its_operators():
    both = Bidirectional(GRU(3, 4, key=ONE), GRU(3, 4, key=TWO))
    noisy = Dropout(PeepholeLSTM(8, 5, key=THREE), 0.5, key=ONE)
    found = nodes(Stack([both, noisy, Simple(5, 2, key=ONE, f="relu")]))
    assert [node.op_type for node in found] == ["GRU", "LSTM", "RNN"]
    ways = [a.s for node in found for a in node.attribute if a.name == "direction"]
    assert ways == [b"bidirectional", b"forward", b"forward"]
    assert len(found[1].input) == 8  # the last are the peepholes


def test_a_step_of_its_own_is_not_an_operator():
    class Other(LSTM):
        def step(self, state, u):
            return super().step(state, 2 * u)

    assert Other(3, 4, key=ONE).operators() is None and not nodes(Other(3, 4, key=ONE))


def test_a_run_with_what_its_numbers_mean(tmp_path):
    book = tmp_path / "book.txt"
    book.write_text("Ein Bär sagt ja. " * 40, encoding="utf-8")
    config = Config(file=str(book), cell="lstm", units=6, length=9, batch=2)
    run = untrained_run(config, tmp_path / "run")
    written = export_run(run, "onnx", tmp_path / "bear")
    assert [path.name for path in written] == ["bear.onnx", "bear-step.onnx"]
    for path in written:
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        known = {one.key: one.value for one in model.metadata_props}
        interface = json.loads(known["interface"])
        assert interface["kind"] == "text" and "ä" in interface["about"]["characters"]


def test_the_metadata_have_the_scaling(tmp_path):
    """With them alone a forecast is made as the run makes it."""
    waves = 50 + 9 * np.sin(np.arange(200) / 3)
    config = Config(cell="gru", units=4, batch=2)
    run = untrained_run(config, tmp_path / "run", task=Series(waves, names=["sold"], length=20))
    _, step = export_run(run, "onnx", tmp_path / "sales")
    known = session(step.read_bytes()).get_modelmeta().custom_metadata_map
    about = json.loads(known["interface"])["about"]
    rows = (waves[:, None, None] - about["shift"][0]) / about["factor"][0]
    ys, _ = stepped(step.read_bytes(), np.repeat(rows.astype(np.float32), BATCH, axis=1))
    made = ys[-1, 0] * about["target_factor"] + about["target_shift"]
    np.testing.assert_allclose(made, run.forecast(waves).values.ravel(), rtol=1e-5)
    assert about["columns"] == ["sold"] and abs(about["shift"][0] - 50) < 5
