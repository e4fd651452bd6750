"""`ostinato lens --measure` beside the same numbers in plain NumPy."""

import itertools
import json
from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

from ostinato.cli import app
from ostinato.errors import BadInput
from ostinato.report import run_page
from ostinato.report.measures import MEASURES, measure
from ostinato.report.subject import subject
from ostinato.runs import Config
from untrained import untrained_run

SETTINGS = {"task": "adding", "length": 12, "batch": 4, "steps": 2, "precision": "float64"}


def about(folder, **settings):
    return subject(untrained_run(Config(**SETTINGS, **settings), folder))


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """A simple network of a single unit, so that Jacobians are numbers."""
    return about(tmp_path_factory.mktemp("one") / "run", cell="simple", units=1)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return about(tmp_path_factory.mktemp("few") / "run", cell="simple", units=3)


@pytest.fixture(scope="module")
def lstm(tmp_path_factory):
    return about(tmp_path_factory.mktemp("lstm") / "run", cell="lstm", units=4)


def weights(about):
    cell = about.network.parts().cell
    return (np.asarray(x, float) for x in (cell.W, cell.R, cell.b))


def states(about):
    """Inputs and all states of a simple network, `(T, B, ...)`."""
    (W, R, b), xs = weights(about), np.asarray(about.batch.inputs, float)
    h, found = np.zeros((xs.shape[1], len(R))), []
    for x in xs:
        h = np.tanh(x @ W + h @ R + b)
        found.append(h)
    return np.array(found)


def numbers(about, name):
    return measure(about, [name])[name].numbers


def test_lyapunov_exponent_of_one_unit(one):
    _, R, _ = weights(one)
    growth = np.log(np.abs(R[0, 0] * (1 - states(one)[..., 0] ** 2)))
    exponents = growth[len(growth) // 4 :].mean(axis=0)
    found = numbers(one, "lyapunov")
    np.testing.assert_allclose(found["mean"], exponents.mean(), rtol=1e-9)
    np.testing.assert_allclose(found["highest"], exponents.max(), rtol=1e-9)
    assert found["steps"] == len(growth) and found["sequences"] == growth.shape[1]


def test_fixed_points_of_one_unit_are_the_roots(one):
    _, R, b = (x.item(0) if x.ndim < 2 or x.size == 1 else x for x in weights(one))
    grid = np.linspace(-1, 1, 200_001)
    gap = np.tanh(R * grid + b) - grid
    roots = grid[:-1][np.sign(gap[:-1]) != np.sign(gap[1:])]
    found = numbers(one, "fixed-points")["points"]
    assert len(found) == len(roots) >= 1 and all(point["residual"] < 1e-9 for point in found)
    slopes = sorted(abs(R * (1 - np.tanh(R * root + b) ** 2)) for root in roots)
    np.testing.assert_allclose([p["largest_eigenvalue"] for p in found], slopes, atol=1e-4)
    assert [point["stable"] for point in found] == [slope < 1 for slope in slopes]


def test_echo_state_of_one_unit(one):
    _, R, _ = weights(one)
    slopes = np.abs(R[0, 0] * (1 - states(one)[..., 0] ** 2))
    found = numbers(one, "echo-state")
    np.testing.assert_allclose(found["radius"], slopes[:: max(1, len(slopes) // 10), 0].mean())
    np.testing.assert_allclose(found["exponent"], numbers(one, "lyapunov")["mean"])
    assert len(found["distance"]) == len(slopes)


def test_paths_are_all_products_of_weights_and_slopes(few):
    (_, R, _), h = weights(few), states(few)[:, 0]
    (found,) = numbers(few, "paths").values()
    k, t = found["from_step"], found["to_step"]
    arcs = [(1 - h[s] ** 2)[:, None] * R for s in range(k, t)]
    jacobian = np.linalg.multi_dot(arcs)
    j, i = np.unravel_index(np.argmax(np.abs(jacobian)), jacobian.shape)
    assert (found["from_unit"], found["to_unit"]) == (j, i)
    np.testing.assert_allclose(found["derivative"], jacobian[j, i], rtol=1e-9)
    between = itertools.product(range(3), repeat=t - k - 1)
    every = {
        (j, *m, i): np.prod([a[step] for a, step in zip(arcs, pairwise((j, *m, i)), strict=True)])
        for m in between
    }
    assert found["paths"] == len(every) == 3 ** (t - k - 1)
    best = max(every, key=lambda units: abs(every[units]))
    assert tuple(found["strongest"][0]["units"]) == best
    np.testing.assert_allclose(found["strongest"][0]["product"], every[best], rtol=1e-9)


def test_conditions_of_an_lstm(lstm):
    (W, R, b), xs = weights(lstm), np.asarray(lstm.batch.inputs, float)
    h = c = np.zeros((xs.shape[1], 4))
    gates = []
    for x in xs:
        i, f, g, o = np.split(x @ W + h @ R + b, 4, axis=-1)
        i, f, o = (1 / (1 + np.exp(-a)) for a in (i, f, o))
        c = f * c + i * np.tanh(g)
        h = o * np.tanh(c)
        gates.append((i, f))
    i, f = np.moveaxis(np.array(gates[1:]), 1, 0)
    (found,) = numbers(lstm, "conditions").values()
    off = found["input gate and forget gate off"]
    np.testing.assert_allclose([off["i"], off["f"]], [i.max(), f.max()], rtol=1e-9)
    assert off["holds"] == (max(i.max(), f.max()) < 0.05)
    norms = [np.linalg.norm(x, 2) for x in np.split(R, 4, axis=1)[:3]]
    weights_found = found["small weights"]
    np.testing.assert_allclose([weights_found[f"‖R_{n}‖"] for n in "ifg"], norms, rtol=1e-9)


def test_the_command_prints_tables_and_puts_them_on_the_page(few, tmp_path, monkeypatch):
    monkeypatch.setattr(run_page, "write_picture", lambda *_: None)  # of other charts
    names = "fixed-points,echo-state,paths"
    options = ["lens", str(few.run.path), "--measure", names, "--out", str(tmp_path)]
    shown = CliRunner().invoke(app, options, catch_exceptions=False)
    assert shown.exit_code == 0
    page = (tmp_path / "report.html").read_text()
    for words in ("Fixed points", "Echo state property", "Paths through the cell"):
        assert words in shown.stdout and words in page
    document = CliRunner().invoke(app, [*options, "--json"], catch_exceptions=False)
    told = json.loads(document.stdout)["measures"]
    assert list(told) == names.split(",") and told["paths"] == numbers(few, "paths")


def test_refuses(one, lstm, tmp_path):
    with pytest.raises(BadInput, match=f"no measure 'chaos'; there are {', '.join(MEASURES)}"):
        measure(one, ["chaos"])
    with pytest.raises(BadInput, match="paths are those of simple cells; this network has LSTM"):
        measure(lstm, ["paths"])
    with pytest.raises(
        BadInput, match=r"conditions are those of the LSTM .* this network has Simp"
    ):
        measure(one, ["conditions"])
    with pytest.raises(BadInput, match="--measure is names separated by commas"):
        CliRunner().invoke(app, ["lens", "x", "--measure", ","], catch_exceptions=False)
