"""Reports of two runs of a few steps: their numbers, the page, and what a person is told."""

import dataclasses
import importlib
import json
import re
import shutil
from functools import partial
from html.parser import HTMLParser

import equinox as eqx
import jax
import numpy as np
import pytest

from ostinato import unroll
from ostinato.cells import Simple
from ostinato.lens import (
    gradient_by_lag,
    influence_by_lag,
    jacobian_by_lag,
    recurrent_matrices,
    saturation,
    spectral_radius,
)
from ostinato.lens.doctor.evidence import Finding
from ostinato.report import network_charts, run_page, training_charts, write_report
from ostinato.report.network_charts import activity, reading, slowest
from ostinato.report.page import Page, html
from ostinato.report.run_page import key_numbers, page_of
from ostinato.report.subject import course, subject
from ostinato.runs import Config, Saved, examine, open_run, train
from ostinato.runs.analysis.examination import gather
from ostinato.runs.folder.checkpoints import Checkpoint, Progress
from ostinato.runs.folder.events import Goal
from ostinato.tasks import Xor
from ostinato.wiring import Network, Readout

COMMAND = importlib.import_module("ostinato.cli.lens")
TEXT = 'the cat <script>alert("1")</script> sat & ran.\nthe rat ran to the cät.\n' * 12
FINDINGS = [
    Finding("rate <too> high", "The loss jumps.", "it rose 9 times", "ostinato train --rate 0.1"),
    Finding("short memory", "It ignores all but 3 inputs.", "lag 3 of 12", "--cell lstm"),
]


@pytest.fixture(scope="module")
def adding(tmp_path_factory):
    folder = tmp_path_factory.mktemp("adding") / "run"
    config = Config(task="adding", length=12, cell="lstm", units=8, batch=8, steps=20, lens=5)
    return subject(train(config, folder))


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    (folder / "text.txt").write_text(TEXT)
    sizes = {"units": 8, "batch": 4, "length": 10, "steps": 4}
    config = Config(file=str(folder / "text.txt"), split="80/10/10", cell="simple", **sizes)
    return subject(train(config, folder / "a <b>run"))


@pytest.fixture(scope="module")
def page(text, tmp_path_factory):
    """The page of the text run, and the folder of its pictures."""
    folder = tmp_path_factory.mktemp("out") / "new"
    return write_report(text.run, FINDINGS, folder).read_text(), folder


def with_events(of, *events):
    return dataclasses.replace(of, events=list(events))


def values(events, kind, key):
    return [event[key] for event in events if event["kind"] == kind]


def test_learning_is_in_the_metric(adding, text):
    (chart,) = training_charts.losses(adding)
    training, valid = chart.series
    assert training.x == values(adding.events, "train", "step")
    halves = np.array(values(adding.events, "train", "loss"))
    assert training.y == pytest.approx(2 * halves)
    assert valid.y == values(adding.events, "valid", "value")
    assert chart.levels == {"chance": 1 / 6, "solved": 0.001}
    (chart,) = training_charts.losses(text)
    nats = np.array(values(text.events, "train", "loss"))
    assert chart.series[0].y == pytest.approx(nats / np.log(2))
    (start,) = (event for event in text.events if event["kind"] == "start")
    assert chart.levels == start["baselines"]
    assert list(chart.levels) == ["chance", "bigram", "order 5"]


def test_an_accuracy_has_a_chart_of_its_own(adding):
    loss, valid = training_charts.losses(dataclasses.replace(adding, goal=Goal.of(Xor())))
    assert loss.series[0].y == pytest.approx(values(adding.events, "train", "loss"))
    assert valid.y_title.startswith("accuracy") and not loss.levels and "chance" in valid.levels
    assert loss.y_title == "loss (nats)"


def test_looks_while_learning(adding):
    (heat,) = training_charts.gradient_maps(adding)
    looks = [event for event in adding.events if event["kind"] == "lens"]
    assert heat.name == "gradient-state" and heat.log and heat.x == [5, 10, 15, 20]
    assert heat.y == looks[0]["lags"] and heat.title == "Gradient by lag: state"
    assert np.array(heat.values).T.tolist() == [look["gradient"][".cell"] for look in looks]
    (memory,) = training_charts.memory_over_training(adding)
    assert memory.series[0].y == [look["memory"][".cell"] for look in looks]
    assert memory.levels == {"largest lag measured": 11, "lag that the task needs": 6}


def test_a_curriculum_gives_holes(adding):
    def look(step, lags, gradient):
        memory = {".cell": lags[-1]}
        return {"kind": "lens", "step": step, "lags": lags, "gradient": {".cell": gradient}} | {
            "memory": memory
        }

    looks = look(1, [0, 2], [1.0, 0.01]), look(2, [0, 1, 2, 4], [1.0, 0.5, None, 0.1])
    (heat,) = training_charts.gradient_maps(with_events(adding, *looks))
    assert heat.y == [0, 1, 2, 4]
    early, late = zip(*heat.values, strict=True)
    assert early[:3] == pytest.approx((1.0, 0.1, 0.01)) and early[3] is None
    assert late == (1.0, 0.5, None, 0.1)


def test_steps(adding):
    norm, clipped, rate = training_charts.steps_taken(adding)
    assert norm.series[0].y == pytest.approx(values(adding.events, "train", "norm"))
    assert norm.levels == {"clipped above": 1.0}
    assert clipped.series[0].y == values(adding.events, "train", "clipped")
    assert rate.series[0].y == values(adding.events, "train", "rate")


def test_a_learner_that_uses_the_curvature(adding):
    step = {"kind": "train", "loss": 0.1, "norm": 1.0, "largest_norm": 1.0, "clipped": 0.0}
    curved = {"damping": 0.01, "structural": 0.0, "rate": 1.0, "reason": "progress"}
    first = {**step, **curved, "step": 1, "ratio": None}
    second = {**step, **curved, "step": 2, "ratio": 0.7, "loss": None}
    found = with_events(adding, first, second)
    norm, damping, ratio = training_charts.steps_taken(found)
    assert len(norm.series) == 1 and not norm.levels
    assert [(one.name[0], one.y) for one in damping.series] == [("λ", [0.01, 0.01])]
    assert [one.y for one in ratio.series] == [[None, 0.7], [1.0, 1.0]]
    assert training_charts.losses(found)[0].series[0].y == [0.2, None]


def test_three_ways(adding):
    gradient = network_charts.gradient_now(adding)
    network, xs, at = adding.network, adding.batch.inputs, adding.at
    targets = adding.batch.targets[at]
    errors = gradient_by_lag(network, xs, lambda o: adding.task.loss.at(o, targets), at=at)
    assert gradient[".cell"] == pytest.approx(np.asarray(errors[".cell"]))
    (chart,) = network_charts.three_ways(adding, gradient)
    found = {one.name: np.array(one.y) for one in chart.series}
    lags, moved = influence_by_lag(network, xs, at=at)
    probed = jacobian_by_lag(network, xs, at=at, probes=1, key=jax.random.key(0))
    expected = {"gradient": gradient[".cell"], "Jacobian": probed, "perturbation": moved}
    assert found.keys() == expected.keys()
    for name, curve in expected.items():
        assert found[name] == pytest.approx(np.asarray(curve) / np.max(curve))
    assert chart.series[2].x == lags.tolist() and chart.levels == {"1% of the peak": 0.01}


def test_the_caption_explains_the_curves_that_are_drawn(adding):
    """And no others: a network may have no gradient by state, a batch a single sequence."""
    gradient = network_charts.gradient_now(adding)
    batch = adding.batch
    single = dataclasses.replace(adding, batch=batch.take(np.arange(1)))
    high = lambda key, shape, dtype: 30 * jax.numpy.eye(3)  # noqa: E731
    one, two = jax.random.split(jax.random.key(0))
    cell = Simple(2, 3, key=one, recurrent=high)
    wild = dataclasses.replace(adding, network=Network(cell, Readout(3, 1, key=two)))
    for of, by_state in ((adding, gradient), (adding, {}), (single, gradient), (wild, gradient)):
        (chart,) = network_charts.three_ways(of, by_state)
        names = [one.name for one in chart.series if not one.dashed]
        explained, _, rest = chart.caption.partition(" Fallen to 1% at lag: ")
        assert [name for name in network_charts.WAYS if f"{name}, " in explained] == names
        assert "three" not in chart.title + chart.caption
        assert len(re.findall(r"(?:;|^) ?(gradient|Jacobian|perturbation) ", rest)) == len(names)
        drawn = [one.name for one in chart.series if one.dashed]
        left_out = rest.count("is too high to be drawn")
        assert len(drawn) + left_out == (2 if of is wild else 0)
    assert left_out == 2
    (norm, *_) = training_charts.steps_taken(adding)
    assert len(norm.series) == 1 and "of each step" in norm.caption
    events = [e | {"largest_norm": 9.0} if e["kind"] == "train" else e for e in adding.events]
    (norm, *_) = training_charts.steps_taken(with_events(adding, *events))
    assert len(norm.series) == 2 and "mean and maximum" in norm.caption


def test_the_bounds_of_a_simple_cell(adding):
    one, two = jax.random.split(jax.random.key(0))
    cell = Simple(2, 3, key=one, recurrent=lambda key, shape, dtype: 0.3 * jax.numpy.eye(3))
    simple = dataclasses.replace(adding, network=Network(cell, Readout(3, 1, key=two)))
    (chart,) = network_charts.three_ways(simple, network_charts.gradient_now(simple))
    gradient, jacobian, _, hochreiter, singular = (np.array(one.y) for one in chart.series)
    lags = np.arange(12)
    assert hochreiter == pytest.approx(0.9**lags) and singular == pytest.approx(0.3**lags)
    assert np.all(gradient <= singular * 1.001) and np.all(jacobian[:-1] <= singular * 1.001)


def test_without_looks_there_is_a_profile_now(text):
    assert (
        training_charts.gradient_maps(text) == []
        and training_charts.memory_over_training(text) == []
    )
    gradient = network_charts.gradient_now(text)
    (chart,) = network_charts.gradient_profiles(text, gradient)
    assert chart.series[0].y == pytest.approx(gradient[".cell"]) and "--lens N" in chart.caption


def test_gates_and_spectrum(adding):
    (bars,) = network_charts.gates(adding)
    units = saturation(adding.network, adding.batch.inputs)
    assert bars.bars[:2] == ["input gate", "forget gate"]
    low, between, high = map(np.array, bars.parts.values())
    assert low.tolist() == [one.low for one in units.values()]
    assert high.tolist() == [one.high for one in units.values()]
    assert low + between + high == pytest.approx(1)
    (plane,) = network_charts.spectrum(adding)
    matrix = recurrent_matrices(adding.network)[".cell.R[0]"]
    name, points = next(iter(plane.points.items()))
    assert "R[" not in str(plane.points.keys())
    assert max(map(abs, points)) == pytest.approx(spectral_radius(matrix))
    assert name.startswith(f"input gate: radius {spectral_radius(matrix):.3g}, σ ")


def test_activity(adding, text):
    heat = network_charts.units_over_time(adding)
    xs = adding.batch.inputs[:, 0]
    state = adding.network.cell.initial(())
    for t, x in enumerate(xs):
        state, h = adding.network.cell.step(state, adding.network.cell.inputs(x))
        assert [row[t] for row in heat.values] == pytest.approx(np.asarray(h))
    assert reading(adding) is None
    found = reading(text)
    part = text.run.vocabulary.decode(text.symbols)
    assert "".join(found.pieces) == part and len(found.values) == len(part)
    logits = text.network.readout(found.values)
    ys = unroll(text.network, text.symbols.astype(np.int32))[0]
    assert np.asarray(logits) == pytest.approx(np.asarray(ys))
    assert activity(text.network, text.batch.inputs).shape == (*text.batch.inputs.shape, 8)


def test_the_slowest_unit_is_one_that_moves():
    t = np.arange(200)
    still, slow, fast = 1e-6 * t, np.sin(t / 20), np.sin(3 * t)
    assert slowest(np.stack([fast, still, slow, still], axis=1)) == 2


def test_key_numbers(adding):
    found = key_numbers(adding)
    best = min(values(adding.events, "valid", "value"))
    assert found["steps"] == "20 of 20, done" and found["chance"] == "0.1667 mean squared error"
    assert found["best validation"].startswith(f"{best:.4g} mean squared error, at step")
    start = adding.start
    diverged = {"kind": "diverged", "step": 3, "words": "the loss became nan at step 3"}
    assert key_numbers(with_events(adding, start))["steps"] == "0 of 20, unfinished"
    found = key_numbers(with_events(adding, start, diverged))
    assert found["steps"] == "3 of 20, diverged" and found["best validation"] == "none yet"


class Parsed(HTMLParser):
    """The elements of a page: their attributes, what is in them, and whether they are closed."""

    VOID = ("meta", "link", "input", "img", "br")

    def __init__(self, page: str):
        super().__init__()
        self.open: list[tuple[str, str]] = []
        self.elements: list[tuple[str, dict]] = []
        self.content: dict[str, str] = {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append((tag, dict(attrs).get("id", tag)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open:
            place = self.open[-1][1]
            self.content[place] = self.content.get(place, "") + data


def test_page(text, page):
    words, folder = page
    parsed = Parsed(words)
    assert parsed.open == []
    for tag, attributes in parsed.elements:
        assert tag not in ("b", "img", "iframe") or (tag == "b" and not attributes)
        assert not attributes.keys() & {"src", "srcset", "onload", "onclick"}
        assert attributes.get("href", "data:,") == "data:,"
    assert "@import" not in parsed.content["style"] and "url(" not in parsed.content["style"]
    scripts = [attributes for tag, attributes in parsed.elements if tag == "script"]
    assert len(scripts) == 4, "what the text says is no script"
    assert "a &lt;b&gt;run" in words and "rate &lt;too&gt; high" in words
    told = re.sub(r"<[^>]*>", "", words)
    for finding in FINDINGS:
        assert finding.advice in told and finding.evidence in told
    assert '<span class="option">--rate</span> 0.1' in words, "no line ends within an option"
    activity = json.loads(parsed.content["activity"])
    assert "".join(activity["pieces"]) == text.run.vocabulary.decode(text.symbols)
    shown = np.array(activity["units"]).T
    assert shown == pytest.approx(reading(text).values, rel=6e-3)
    charts = json.loads(parsed.content["charts"])
    assert {a["data-chart"] for _, a in parsed.elements if "data-chart" in a} == charts.keys()
    files = {file.name for file in folder.iterdir()}
    assert files == {f"{name}.png" for name in charts} | {"report.html"}
    for name in charts:
        assert (folder / f"{name}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_what_was_done_to_the_data_is_said():
    page = Page("run", "adding", "", {}, [], [], [], None, Config(task="adding"))
    assert "the data" not in html(page)
    made = html(dataclasses.replace(page, notes=("3 <rows> were sorted", "1 gap was masked")))
    assert "<li>3 &lt;rows&gt; were sorted</li><li>1 gap was masked</li>" in made


@pytest.fixture
def undrawn(monkeypatch):
    """Pictures are empty files: `test_page` draws them."""
    monkeypatch.setattr(run_page, "write_picture", lambda chart, path: path.touch())


@pytest.fixture
def ostinato_lens(ostinato, undrawn, monkeypatch):
    """Run `ostinato lens` without the doctor: the exit code, standard output and error."""
    monkeypatch.setattr(COMMAND, "examine", lambda run, task, report, devices: [])
    return partial(ostinato, "lens")


def test_command(adding, ostinato_lens, tmp_path, monkeypatch):
    code, out, err = ostinato_lens(adding.run.path)
    assert code == 0 and not err
    assert out.startswith("No finding: nothing looks wrong.\n") and "report.html" in out
    words = (adding.run.path / "report.html").read_text()
    assert "No finding: nothing looks wrong." in words
    assert Parsed(words).content["activity"] == "null"
    assert (adding.run.path / "report" / "gradient-state.png").exists()
    monkeypatch.setattr(COMMAND, "examine", lambda run, task, report, devices: FINDINGS)
    code, out, err = ostinato_lens(without_checkpoints(adding.run.path, tmp_path))
    assert code == 0 and not err
    for finding in FINDINGS:
        assert all(part in out for part in finding)


@pytest.mark.slow
def test_another_text(text, ostinato_lens, tmp_path):
    (tmp_path / "other.txt").write_text("the cat ran to the rat " * 2)
    code, _, err = ostinato_lens(
        text.run.path, "--data", tmp_path / "other.txt", "--out", tmp_path / "new"
    )
    assert code == 0, err
    found = Parsed((tmp_path / "new" / "report.html").read_text())
    pieces = json.loads(found.content["activity"])["pieces"]
    assert "".join(pieces) == "the cat ran to the rat " * 2


def refused(ostinato_lens, *arguments) -> str:
    code, _, err = ostinato_lens(*arguments)
    assert code == 2 and err.startswith("ostinato: ") and err.count("\n") == 1, err
    return err


def test_refuses(adding, text, ostinato_lens, tmp_path):
    for name, words in (("strange", "the dög"), ("short", "t"), ("file", "")):
        (tmp_path / name).write_text(words)
    path = text.run.path
    assert "no run folder nowhere" in refused(ostinato_lens, "nowhere")
    err = refused(ostinato_lens, path, "--data", tmp_path / "strange")
    assert "the model does not know the character 'd'" in err
    assert "fewer than 2 symbols" in refused(ostinato_lens, path, "--data", tmp_path / "short")
    assert "there is no file" in refused(ostinato_lens, path, "--data", tmp_path / "gone")
    err = refused(ostinato_lens, adding.run.path, "--data", tmp_path / "short")
    assert "the task adding reads no files" in err
    err = refused(ostinato_lens, path, "--out", tmp_path / "file")
    assert "--out must be a folder" in err
    bare = without_checkpoints(path, tmp_path)
    (tmp_path / "other").write_text("the cat ran")
    err = refused(ostinato_lens, bare, "--data", tmp_path / "other")
    assert "has no checkpoint yet" in err


def without_checkpoints(path, folder):
    return shutil.copytree(path, folder / "bare", ignore=shutil.ignore_patterns("step-*"))


def test_without_a_checkpoint_there_is_the_log(adding, undrawn, tmp_path):
    run = open_run(without_checkpoints(adding.run.path, tmp_path))
    assert run.steps() == []
    found = Parsed(write_report(run, FINDINGS).read_text())
    shown = {"loss", "gradient-state", "memory", "norm", "clipped", "rate"}
    assert json.loads(found.content["charts"]).keys() == shown


def test_the_steps_in_which_trouble_came_are_shown(adding):
    step = {"loss": 1.0, "norm": 2.0, "largest_norm": 3.0, "rate": 0.1, "clipped": 0.0}
    numbers = {"loss": [8.0, None], "norm": [90.0, None], "rate": [0.1, 0.1]}
    more = {"clipped": [1.0, 1.0], "moved": [0.5, None], "words": "the loss became nan"}
    diverged = {"kind": "diverged", "step": 6, **numbers, **more}
    found = with_events(adding, {"kind": "train", "step": 5, **step}, diverged)
    (loss,) = training_charts.losses(found)
    assert loss.series[0].x == [5, 6, 7] and loss.series[0].y == [2.0, 16.0, None]
    mean, largest = training_charts.steps_taken(found)[0].series
    assert mean.y == [2.0, 90.0, None] and largest.y == [3.0, 90.0, None]


def damaged(events: list[dict]) -> dict[str, list]:
    """Logs that are not as a run writes them."""
    changed = {
        "a field is gone": [{k: v for k, v in e.items() if k != "loss"} for e in events],
        "numbers are words": [
            {k: v if k in ("kind", "step") else str(v) for k, v in e.items()} for e in events
        ],
        "all is null": [
            {k: v if k in ("kind", "step") else None for k, v in e.items()} for e in events
        ],
        "lists for numbers": [
            {k: v if k in ("kind", "step") else [v] for k, v in e.items()} for e in events
        ],
        "other lines": [3, None, "start", [], {}, {"kind": "train"}, {"kind": 3, "step": "x"}],
        "only the start": events[:1],
        "nothing": [],
    }
    unequal = {"loss": [1.0, 2.0], "norm": [1.0], "rate": [], "clipped": [0.0], "moved": None}
    diverged = {"kind": "diverged", "step": 7, "words": "the loss became nan", **unequal}
    changed["unequal lists"] = [*events, diverged]
    looks = [{**e, "lags": [0, 1]} if e["kind"] == "lens" else e for e in events]
    changed["looks that do not fit"] = looks
    several = [e for e in events if e["kind"] == "lens"]
    other = {**several[0], "gradient": {".other": several[0]["gradient"][".cell"]}}
    changed["looks at other weights"] = [*events, {**other, "memory": {}}]
    return changed


def test_damaged_logs(adding, undrawn, tmp_path):
    run = open_run(without_checkpoints(adding.run.path, tmp_path))
    whole = run.events()
    for name, events in damaged(whole).items():
        lines = [json.dumps(event) for event in events]
        (run.path / "events.jsonl").write_text("\n".join([*lines, "{torn"]) + "\n")
        assert isinstance(examine(run), list), name
        page = html(page_of(course(run), []))
        assert "Settings" in page, name
    (run.path / "events.jsonl").write_text(json.dumps({**whole[0], "task": "\ud800"}) + "\n")
    assert write_report(run, []).exists()


def test_everything_shown_is_of_the_best_network_and_says_its_step(adding, tmp_path):
    run = open_run(shutil.copytree(adding.run.path, tmp_path / "run"))
    zeros = jax.tree.map(jax.numpy.zeros_like, run.network())
    run.save(Checkpoint(zeros, (), ()), Progress(step=25, best=0.1, best_step=20))
    found = subject(run)
    assert found.step == 20 and eqx.tree_equal(found.whole, eqx.nn.inference_mode(run.network(20)))
    page = page_of(found, [])
    assert page.numbers["network shown"] == "step 20"
    captions = {chart.name: chart.caption for part in page.sections for chart in part.charts}
    for name in ("three-ways", "gates", "spectrum", "units"):
        assert "with the weights of step 20" in captions[name], name
    # The doctor looks at the last network, from which training would go on, and says so.
    assert gather(run).network.step == 25
    assert gather(run).weights == " (weights of step 25)"


def test_a_network_without_a_state_has_no_empty_charts(adding):
    """Neither a frame without a line nor a memory of 0 stands for what was not measured."""
    nothing = with_events(
        adding, {"kind": "lens", "step": 5, "lags": [0, 1], "gradient": {}, "memory": {}}
    )
    infinite = {"gradient": {".cell": [None, None]}, "memory": {".cell": None}}
    infinite = with_events(adding, {"kind": "lens", "step": 5, "lags": [0, 1], **infinite})
    for of in (nothing, infinite):
        assert (
            training_charts.gradient_maps(of) == []
            and training_charts.memory_over_training(of) == []
        )
    assert network_charts.gradient_profiles(adding, {}) == []
    assert network_charts.gradient_profiles(adding, {".cell": np.full(3, np.nan)}) == []
    (chart,) = network_charts.three_ways(adding, {})
    assert [one.name for one in chart.series] == ["Jacobian", "perturbation"]


def test_weights_that_are_not_finite(adding, ostinato, monkeypatch):
    spoiled = eqx.tree_at(
        lambda n: n.cell.R, adding.network, adding.network.cell.R.at[0].set(np.nan)
    )
    found = Saved(20, spoiled)
    monkeypatch.setattr(type(adding.run), "saved", lambda self, which, like=None: found)
    code, out, err = ostinato("lens", adding.run.path)
    assert code == 2 and not out and err.count("\n") == 1
    assert "step 20" in err and "not finite (cell.R)" in err


@pytest.mark.slow
def test_a_text_of_three_characters(ostinato, tmp_path):
    (tmp_path / "three").write_text("aba")
    sizes = ("--cell", "simple", "--units", "2", "--steps", "1", "--run", "run")
    assert ostinato("train", "three", *sizes)[0] == 0
    code, out, err = ostinato("lens", "run")
    assert code == 0 and not err and "a longer text" in out
    assert (tmp_path / "run" / "report.html").exists()
