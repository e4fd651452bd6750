"""Every recipe is complete, its networks have the published sizes, and its quick size runs."""

import dataclasses
import json
import re
import signal
from html import escape

import equinox as eqx
import jax
import numpy as np
import pytest

from everyday import some
from ostinato.errors import BadInput
from ostinato.experiments import RECIPES, Job, Result, collect, recipe, reproduce
from ostinato.experiments.page import order_of, page_of, table_of
from ostinato.experiments.trained import Trained
from ostinato.learning import Damping
from ostinato.runs import Diverged
from ostinato.runs.build import build_learner, build_network, build_task
from ostinato.runs.loop.signals import Interrupted
from ostinato.runs.network.parts import Sizes
from ostinato.tasks import TASKS
from ostinato.weights import count_parameters
from tasks.members import write_data

CHEAP = ("toy-net",)
ROWS = [
    (name, row.name)
    for name, found in RECIPES.items()
    if isinstance(found, Trained)
    for row in found.chosen(None)
]


@pytest.fixture(autouse=True)
def single_precision():
    with jax.enable_x64(False):
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_data(folder)
    return folder


def row_of(name, row):
    return next(x for x in RECIPES[name].rows if x.name == row)


@pytest.mark.parametrize("name", RECIPES)
def test_has_everything_that_its_page_needs(name):
    found = RECIPES[name]
    assert found.name == name and re.fullmatch("[a-z-]+", name)
    assert found.title and found.shows.endswith(".") and re.search(r"\((19|20)\d\d\)", found.source)
    assert found.columns and found.differs and all(x.endswith(".") for x in found.differs)
    names = [row.name for row in found.rows]
    assert len(set(names)) == len(names) and all(re.fullmatch("[a-z0-9-]+", x) for x in names)
    for row in found.rows:
        assert row.published.keys() <= set(found.columns), row.name
        assert not (row.reference and row.settings)
    assert found.order is None or found.order in found.columns


@pytest.mark.parametrize(("name", "row"), ROWS)
@pytest.mark.parametrize("quick", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_row_builds_with_the_published_number_of_parameters(
    name, row, quick, data, tmp_path, monkeypatch
):
    """Shapes only: nothing is trained, and no array is made."""
    monkeypatch.setenv("OSTINATO_DATA", str(data))
    found, one = RECIPES[name], row_of(name, row)
    config = found.config(one, Job(tmp_path, quick), seed=0)
    if found.corpus is not None:
        symbols = found.corpus.symbols
        sizes = Sizes("text", symbols, symbols, True, TASKS["text"].readout_bias)
        task = TASKS["text"].of("some words " * 9)
    else:
        task = build_task(config)
        sizes = Sizes.of(task)
    count = count_parameters(eqx.filter_eval_shape(lambda: build_network(config, sizes)))
    build_learner(config, task)
    if one.parameters is not None and not quick:
        assert count == one.parameters
    budget = one.settings.get("budget")
    if budget and not quick:
        assert abs(count - budget) < 0.02 * budget


@pytest.mark.parametrize(("row", "epochs"), [("rnn-1", 50), ("lstm-1", 50), ("rnn-2", 30)])
def test_predictive_text_takes_the_steps_of_the_source(row, epochs, tmp_path):
    """Delgado del Cerro (2021), section 5.2.2: ⌊(m - n) / T⌋ batches per epoch, with table 5.1."""
    m, n, T = 2_703_202, 100, 128
    found = RECIPES["predictive-text"]
    config = found.config(row_of("predictive-text", row), Job(tmp_path), seed=0)
    assert (config.steps, config.length, config.batch) == (epochs * ((m - n) // T), n, T)
    assert f"{(m - n) // T:,} batches" in found.differs[0] and not config.carry


@pytest.mark.parametrize("name", ["krause-table", "krause-penn", "krause-wikipedia"])
def test_a_recipe_of_hessian_free_learning_says_how_damping_is_bounded(name):
    (words,) = (x for x in RECIPES[name].differs if x.startswith("The damping cannot fall below"))
    assert f"{Damping().min_scale:.0%} of its initial strength" in words
    assert f"above {Damping().max_scale:,.0f} times" in words


@pytest.mark.parametrize(
    "name", ["krause-table", "krause-penn", "krause-wikipedia", "predictive-text"]
)
def test_what_was_never_run_in_full_says_so_on_its_page(name):
    found = RECIPES[name]
    (words,) = (x for x in found.differs if x.startswith("Never run in full"))
    assert escape(words) in page_of(found, [made(found.rows[0].name, 0)])


def test_the_time_lag_says_that_the_published_figure_is_not_reached():
    found = RECIPES["time-lag"]
    assert any("Figure 5.1 is not reached" in x for x in found.differs)
    assert found.rows[0].published["steps the bracket is remembered"] == "at least 1000"


@pytest.mark.slow
def test_krauses_rows_have_his_initial_weights(tmp_path):
    found = RECIPES["krause-table"]
    for name, std in (("rnn", 0.1), ("stack", 0.05)):
        config = found.config(row_of("krause-table", name), Job(tmp_path), seed=0)
        sizes = Sizes("text", 70, 70, True, False)
        network = eqx.filter_jit(build_network)(config, sizes)
        matrices = [x for x in jax.tree.leaves(network) if eqx.is_array(x) and x.ndim == 2]
        for matrix in matrices:
            inside = matrix[matrix != 0]
            assert abs(float(inside.std()) - std) < 0.05 * std
            kept = inside.size / matrix.size
            assert abs(kept - 0.1) < 0.01 if matrix.shape == (400, 400) else kept == 1


class Scored:
    """A problem that needs no training: a cell is as good as it has linear maps."""

    def __init__(self, task, budget):
        self.budget = budget

    def run(self, graph):
        yield from [min(1.0, 0.1 * len(graph.linears))] * self.budget.rungs


def test_evolution_starts_from_the_cell_of_its_row(monkeypatch, tmp_path):
    monkeypatch.setattr("ostinato.evolve.search.Problem", Scored)
    found, job = RECIPES["cell-evolution"], Job(tmp_path, quick=True, changes={"evaluations": 5})
    results = {result.row: result for result in reproduce(found, job)}
    assert {row: result.numbers["first cell"] for row, result in results.items()} == {
        "simple": pytest.approx(0.1), "lstm": pytest.approx(0.4), "gru": pytest.approx(0.3)
    }  # fmt: skip
    for result in results.values():
        assert result.steps == 5 and result.curves["search"]["y"][-1] == result.numbers["best cell"]
    for change in ({"changes": {"units": 3}}, {"minutes": 1}):
        with pytest.raises(BadInput, match=r"takes (evaluations, population|no --minutes)"):
            reproduce(found, dataclasses.replace(job, folder=tmp_path / "b", **change))


@pytest.mark.parametrize("name", some(RECIPES, CHEAP))
def test_the_quick_size_runs_and_writes_a_page(name, data, tmp_path, monkeypatch):
    """On small data sets of random numbers, and on a text made of a few words."""
    monkeypatch.setenv("OSTINATO_DATA", str(data))
    found, corpus = RECIPES[name], None
    if found.trains and found.corpus is not None:
        words = np.random.default_rng(0).choice(
            "one two three, four [five] six. Then".split(), 40_000
        )
        corpus = tmp_path / "words.txt"
        corpus.write_text(" ".join(words))
    results = reproduce(found, Job(tmp_path, quick=True, corpus=corpus))
    assert {result.row for result in results} == {row.name for row in found.chosen(None)}
    columns = {column for result in results for column in result.numbers}
    assert columns <= set(found.columns)
    page = (tmp_path / "report.html").read_text()
    assert ("Quick size" in page) == found.trains
    for row in found.rows:
        assert row.title.split(",")[0] in page
    outside = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)=[\"']?https?://", outside)


def test_a_finished_result_is_not_obtained_again_and_an_unfinished_run_goes_on(
    tmp_path, monkeypatch
):
    found = RECIPES["temporal-xor"]
    job = Job(tmp_path, True, rows=["simple-2"], changes={"steps": 4, "units": 2})
    (first,) = reproduce(found, job)
    monkeypatch.setattr(
        "ostinato.experiments.trained.finish", lambda *_, **__: pytest.fail("trained again")
    )
    (again,) = reproduce(found, job)
    assert again == first and first.changes == {"steps": 4, "units": 2} and first.steps == 4
    monkeypatch.undo()
    (tmp_path / "results" / "simple-2-0.json").unlink()
    (opened,) = reproduce(found, job)  # the run folder is still there
    assert opened == first
    other = dataclasses.replace(job, changes={"steps": 4, "units": 3})
    with pytest.raises(BadInput, match=r"has other changes \(--set\): steps=4, units=2"):
        reproduce(found, other)
    (tmp_path / "results" / "simple-2-0.json").unlink()
    for steps in (3, 5):  # a run that is over keeps its steps, and its result says how many
        longer = dataclasses.replace(job, changes={"steps": steps, "units": 2})
        with pytest.raises(BadInput, match=f"was trained with steps = 4, not {steps}"):
            reproduce(found, longer)
    with pytest.raises(BadInput, match="was trained with units = 2, not 3"):
        reproduce(found, other)


def test_an_interrupted_run_is_saved_and_goes_on(tmp_path):
    found = RECIPES["temporal-xor"]

    asked = []

    def stop(row, seed, event):
        if event["kind"] == "train" and not asked:
            asked.append(event)
            signal.raise_signal(signal.SIGTERM)

    job = Job(tmp_path, True, rows=["simple-2"], changes={"steps": 40}, seeds=2, listener=stop)
    with pytest.raises(Interrupted) as end:
        reproduce(found, job)
    assert end.value.number == signal.SIGTERM
    assert "simple-2-0" in [path.name for path in (tmp_path / "runs").iterdir()]
    results = reproduce(found, dataclasses.replace(job, listener=None, seeds=1))
    assert [result.steps for result in results] == [40]


def test_a_run_that_diverges_does_not_stop_the_others(tmp_path):
    found = RECIPES["temporal-xor"]
    first, second = found.rows
    first = dataclasses.replace(first, quick={"rate": 1e30})
    with pytest.raises(Diverged, match="the loss rose to"):
        reproduce(
            dataclasses.replace(found, rows=(first, second)),
            Job(tmp_path, True, changes={"steps": 5}),
        )
    assert [result.row for result in collect(found, tmp_path)] == [second.name]


def made(row, seed, **numbers):
    return Result(row, seed, False, numbers, parameters=216_400, steps=7, device="cpu")


def test_results_of_two_machines_are_merged_by_copying_files(tmp_path):
    from ostinato.experiments.results import write_result

    found = RECIPES["krause-table"]
    (tmp_path / "results").mkdir()
    for seed, test in ((0, 2.0), (1, 2.2)):
        write_result(tmp_path, made("rnn", seed, train=1.9, val=2.1, test=test))
    write_result(tmp_path, made("mlstm", 0, train=1.6, val=1.8, test=1.9))
    results = collect(found, tmp_path)
    assert [(r.row, r.seed) for r in results] == [("rnn", 0), ("rnn", 1), ("mlstm", 0)]
    lines = {line[0]: line for line in table_of(found, results).rows}
    assert lines["RNN, structural (2 seeds)"][-2:] == ["1.99", "2.10 ± 0.14"]
    assert lines["LSTM, online"][-2:] == ["1.98", "–"]
    without = made("rnn", 2, train=1.9, val=2.1, test=None)
    fewer = {line[0]: line for line in table_of(found, [results[0], without]).rows}
    assert fewer["RNN, structural (2 seeds)"][-2:] == ["1.99", "2.00 (1 of 2)"]
    published, obtained, agree, pairs = order_of(found, results)
    assert published == obtained == ["mLSTM", "RNN, structural"] and (agree, pairs) == (1, 1)


def test_the_order_counts_pairs_that_disagree():
    found = RECIPES["krause-table"]
    results = [made("rnn", 0, test=1.5), made("mrnn", 0, test=1.6), made("mlstm", 0, test=1.7)]
    assert order_of(found, results)[2:] == (0, 3)


def test_what_is_not_a_result_is_refused(tmp_path):
    (tmp_path / "results").mkdir()
    with pytest.raises(BadInput, match="has no results of toy-net"):
        collect(RECIPES["toy-net"], tmp_path)
    path = tmp_path / "results" / "one-0.json"
    path.write_text("{}")
    with pytest.raises(BadInput, match="is not a result"):
        collect(RECIPES["toy-net"], tmp_path)
    path.write_text(json.dumps({**vars(made("other", 0))}))
    with pytest.raises(BadInput, match="'other', not a row"):
        collect(RECIPES["toy-net"], tmp_path)


DAMAGE = {
    "row": ["rnn"],
    "seed": "0",
    "quick": None,
    "numbers": {"test": "1.5"},
    "curves": {"validation": {"x": [1, 2], "y": [1]}},
    "words": 3,
    "changes": [],
    "parameters": "many",
    "seconds": None,
}


@pytest.mark.parametrize("field", [*DAMAGE, "nan"])
def test_a_damaged_result_is_refused_with_the_place(tmp_path, field):
    found = vars(made("rnn", 0, test=1.5))
    damage = {"numbers": {"test": float("nan")}} if field == "nan" else {field: DAMAGE[field]}
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "rnn-0.json").write_text(json.dumps({**found, **damage}))
    with pytest.raises(BadInput, match=f"rnn-0.json is not .*: see '{next(iter(damage))}'"):
        collect(RECIPES["krause-table"], tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_no_result_counts_twice_and_sizes_are_not_mixed(tmp_path):
    (tmp_path / "results").mkdir()
    one = vars(made("rnn", 0, test=1.5))
    (tmp_path / "results" / "rnn-0.json").write_text(json.dumps(one))
    other = tmp_path / "results" / "copy.json"
    other.write_text(json.dumps(one))
    with pytest.raises(BadInput, match="two results of rnn, seed 0"):
        collect(RECIPES["krause-table"], tmp_path)
    other.write_text(json.dumps({**one, "seed": 1, "quick": True}))
    with pytest.raises(BadInput, match="results of both sizes"):
        collect(RECIPES["krause-table"], tmp_path)


def test_names_are_checked(tmp_path):
    with pytest.raises(BadInput, match="did you mean krause-table"):
        recipe("krause-tables")
    with pytest.raises(BadInput, match="no row 'gru'; there are rnn,"):
        reproduce(RECIPES["krause-table"], Job(tmp_path, rows=["gru"]))
