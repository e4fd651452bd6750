"""What the doctor is shown of a run folder."""

import json
import shutil

import jax
import numpy as np
import pytest

from ostinato.cells import Feedforward
from ostinato.lens import gradient_by_lag, saturation
from ostinato.runs import Config, Diverged, evaluate_network, examine, open_run, train
from ostinato.runs.analysis.examination import gather
from ostinato.runs.build import build_network, build_task
from ostinato.runs.loop.probe import Lens
from ostinato.wiring import Network, Readout
from sound_cells import SRU


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config = Config(task="adding", length=8, cell="gru", units=4, batch=16, steps=12, clip="0.5")
    return train(config, tmp_path_factory.mktemp("runs") / "adding")


@pytest.fixture(scope="module")
def evidence(run):
    return gather(run)


def test_history_is_that_of_the_events(run, evidence):
    history = evidence.history
    logged = [event for event in run.events() if event["kind"] == "train"]
    assert history.steps == [event["step"] for event in logged]
    assert history.losses == [event["loss"] for event in logged]
    assert history.moved == [event["moved"] for event in logged]
    assert [value for _, value in history.validations][-1] == pytest.approx(
        evaluate_network(run.network("last"), run.task()), rel=1e-5
    )
    assert history.trouble is None


def test_moved_is_the_share_of_the_weights(run):
    """With plain SGD and the gradient clipped, a step has the length rate × clip."""
    config = Config(
        task="adding", length=4, cell="simple", units=4, learner="sgd", schedule="constant",
        rate=0.1, clip="0.001", steps=1,
    )  # fmt: skip
    task = build_task(config)
    network = build_network(config, task)
    size = np.sqrt(sum(float((x**2).sum()) for x in (network.cell.W, network.cell.R)))
    size = np.hypot(size, float(np.linalg.norm(network.readout.V)))
    events: list[dict] = []
    train(config, run.path.parent / "one-step", listener=events.append)
    (found,) = [event["moved"] for event in events if event["kind"] == "train"]
    assert found == pytest.approx(0.1 * 0.001 / size, rel=1e-3)


@pytest.mark.slow
def test_baselines_are_those_of_the_start(tmp_path):
    (tmp_path / "text").write_text("the cat sat on the mat. " * 40)
    config = Config(file=str(tmp_path / "text"), length=5, cell="simple", units=2, steps=1)
    text = train(config, tmp_path / "run")
    goal, start = gather(text).goal, text.events()[0]
    assert {**goal.baselines, "chance": goal.chance} == start["baselines"]
    assert goal.loss_factor == pytest.approx(1 / np.log(2))


def test_entries_without_what_the_doctor_needs_are_no_history(run):
    path = shutil.copytree(run.path, run.path.parent / "holes") / "events.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    trained = [line for line in lines if line["kind"] == "train"]
    del trained[0]["moved"]
    trained[1]["rate"] = "fast"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = gather(open_run(path.parent)).history
    assert found.steps == [line["step"] for line in trained[2:]]


def test_network_is_measured_by_the_lens(run, evidence):
    found = evidence.network
    network, task = run.network("last"), run.task()
    batch = task.batch(0, 16)
    errors = gradient_by_lag(network, batch.inputs, lambda o: task.loss.at(o, batch.targets[-1]))
    assert found.gradient.keys() == errors.keys()
    for name, profile in errors.items():
        np.testing.assert_allclose(found.gradient[name], profile, rtol=1e-5)
    gates = saturation(network, batch.inputs)
    assert {name: gate["high"] for name, gate in found.gates.items()} == {
        name: gate.high for name, gate in gates.items()
    }
    assert 0 <= found.memory <= 7


def test_settings_are_the_unusual_ones(evidence):
    assert evidence.settings == {
        "task": "adding", "length": 8, "cell": "gru", "units": 4, "batch": 16, "steps": 12,
        "clip": "0.5",
    }  # fmt: skip


def test_a_run_that_exploded_before_its_first_checkpoint(tmp_path):
    config = Config(
        task="adding", length=8, cell="simple", units=4, learner="sgd", rate=1e4, clip="off",
        steps=20,
    )  # fmt: skip
    with pytest.raises(Diverged):
        train(config, tmp_path / "run")
    evidence = gather(open_run(tmp_path / "run"))
    assert evidence.network is None and evidence.history.trouble
    assert evidence.history.norms[0] > 0
    assert "rate too high" in [finding.name for finding in examine(open_run(tmp_path / "run"))]


def test_a_task_and_a_network_of_ones_own(tmp_path):
    config = Config(task="adding", length=6, cell="simple", units=3, steps=2)
    task = build_task(Config(task="multiplication", length=6))
    network = build_network(Config(cell="gru", units=5), task)
    run = train(config, tmp_path / "run", task=task, network=network)
    assert isinstance(run.network(like=network), type(network))
    found = gather(run, task, network)
    assert found.goal.chance == task.chance and ".cell.update gate" in found.network.gates


def test_a_look_at_a_cell_without_a_recurrent_product(run):
    """An SRU remembers by its elementwise recurrence; a cell without a state has no memory."""
    task = run.task()
    lens, batch = Lens(task.loss), task.batch(0, 4)
    weights = 0.5 * jax.random.normal(jax.random.key(0), (2, 12))
    readout = Readout(4, 1, key=jax.random.key(1))
    seen = lens.look(Network(SRU(W=weights), readout), batch, None)
    assert seen["memory"] == {".cell": 7} and min(seen["gradient"][".cell"]) > 0
    assert (
        lens.look(Network(Feedforward(2, 4, key=jax.random.key(2)), readout), batch, None)["memory"]
        == {}
    )
    broken = lens.look(Network(SRU(W=np.nan * weights), readout), batch, None)
    assert broken["memory"] == {".cell": None}
