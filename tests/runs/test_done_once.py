"""What takes long in a command is done once: reading the data, the weights and the artefacts."""

import contextlib
import math

import pytest
import safetensors
from typer.testing import CliRunner

from ostinato.cli import app
from ostinato.data.scaling import Scaler
from ostinato.runs import Config, open_run, train
from ostinato.runs.folder.checkpoints import Checkpoint, Progress
from ostinato.runs.network import budget
from ostinato.tasks.series import forecast_scores
from ostinato.tasks.series.columns import Columns
from ostinato.tasks.series.series import Series
from untrained import untrained_run


@contextlib.contextmanager
def counted(*places):
    """How often each function, given as its owner and its name, is called meanwhile."""
    counts = [0] * len(places)
    with pytest.MonkeyPatch.context() as patch:
        for n, (owner, name) in enumerate(places):
            function = vars(owner)[name]
            bound = isinstance(function, classmethod)
            function = function.__func__ if bound else function

            def called(*given, _n=n, _function=function, **named):
                counts[_n] += 1
                return _function(*given, **named)

            patch.setattr(owner, name, classmethod(called) if bound else called)
        yield counts


def ran(*words):
    found = CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)
    assert found.exit_code == 0, found.output


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "sold.csv"
    rows = [f"{math.sin(n / 5):.4f},{n % 7}" for n in range(120)]
    path.write_text("\n".join(["sold,day", *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def forecaster(table, tmp_path_factory):
    """Its last checkpoint, of step 2, is not the best one, of step 1."""
    config = Config(file=str(table), target="sold", horizon=2, cell="gru", units=3, length=8)
    run = untrained_run(config, tmp_path_factory.mktemp("runs") / "forecaster")
    run.save(Checkpoint(run.network(), (), None), Progress(2, 1.0, 1, 1))
    return run.path


def test_apply(forecaster, table):
    places = [
        (Config, "from_json"),
        (Columns, "from_json"),
        (Scaler, "from_json"),
        (Series, "_part"),
        (safetensors, "safe_open"),
    ]
    with counted(*places) as counts:
        ran("apply", forecaster, table)
    configurations, columns, scalers, parts, weights = counts
    assert (configurations, columns, parts, weights) == (1, 1, 0, 1)
    assert scalers == 2  # of what goes in, and of what comes out


def test_evaluate(forecaster):
    with counted((forecast_scores, "outputs_through"), (safetensors, "safe_open")) as counts:
        ran("evaluate", forecaster, "--json")
    assert counts == [1, 1]


@pytest.mark.parametrize("options", [[], ["--measure", "lyapunov"]])
def test_lens(forecaster, tmp_path, options):
    with counted((Series, "read")) as counts:
        ran("lens", forecaster, "--out", tmp_path / "page", *options, "--json")
    assert counts == [1]


def test_lens_on_another_file(forecaster, table, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(table.read_text())
    with counted((Series, "read")) as counts:
        ran("lens", forecaster, "--data", other, "--out", tmp_path / "page", "--json")
    assert counts == [2]  # each of the two files


@pytest.mark.parametrize(("which", "step"), [("best", 1), ("last", 2)])
def test_the_weights_of_one_checkpoint(forecaster, which, step):
    run = open_run(forecaster)
    with counted((safetensors, "safe_open")) as counts:
        assert run.saved(which).step == step
    assert counts == [1]


def test_the_best_checkpoint_that_is_also_the_last(table, tmp_path):
    run = untrained_run(Config(file=str(table), units=3, length=8), tmp_path / "run")
    with counted((safetensors, "safe_open")) as counts:
        assert run.saved().step == 1
    assert counts == [1]


def test_the_shapes_of_a_network(table, tmp_path):
    budget._known.clear()
    with counted((budget, "make_network")) as counts:
        train(Config(file=str(table), units=3, length=8, steps=1), tmp_path / "run")
    assert counts[0] <= 3
