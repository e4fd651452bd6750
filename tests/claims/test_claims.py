"""Every claim reproduces, and for each there is a change that leads to another verdict."""

import json
import re
from pathlib import Path

import jax
import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from ostinato.cells import LSTM
from ostinato.claims import CLAIMS, Claim, Finding, hessian_product_costs_twice, verify
from ostinato.cli.verify import verify as verb
from ostinato.errors import BadInput
from ostinato.through_time import truncated_bptt

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"


def short_window(*arguments):
    return truncated_bptt(*arguments, window=4)


# What to give to a claim's `check` so that it comes to this other verdict.
CHANGES = {
    "toy-net": ({"above": 0.95}, "false"),
    "hochreiter-bound": ({"factor": 0.1}, "false"),
    "singular-value-bound": ({"factor": 0.5}, "false"),
    "eigenvalue-equals-singular-value": ({"matrix": ((0.5, 0.1), (0.1, 0.4))}, "holds"),
    "weights-leave-the-product": ({"units": 1}, "holds"),
    "sigmoid-weights": ({"below": 4.1}, "false"),
    "squashing-becomes-a-step": ({"slope": 10.0}, "false"),
    "relu-paths": ({"f": "tanh"}, "false"),
    "relu-paths-bound": ({"signed": False}, "holds"),
    "poor-solutions": ({"threshold": 0.5}, "false"),
    "spectral-radius-is-necessary": ({"weight": -2.0}, "holds"),
    "spectral-radius-is-sufficient": ({"weights": ((0.5, 0.1), (0.0, 0.4))}, "holds"),
    "spectral-radius-bounds-gradient": ({"weights": ((0.5, 0.1), (0.0, 0.4))}, "holds"),
    "local-stability": ({"of_weights": True}, "false"),
    "echo-state-by-singular-value": ({"singular": 1.5}, "false"),
    "constant-error-flow": ({"truncated": False}, "false"),
    "forget-gate-flow": ({"kind": LSTM}, "false"),
    "lstm-equations-are-inexact": ({"transposed": False}, "holds"),
    "lstm-error-recursion": ({"units": 1}, "holds"),
    "lstm-error-product": ({"output_gate": 0.0}, "holds"),
    "forget-gates-govern": ({"norm": 0.001}, "holds"),
    "general-theorem": ({"other": short_window}, "false"),
    "rtrl-equals-bptt": ({"method": short_window}, "false"),
    "truncation-horizon": ({"window": 12}, "false"),
    "sqrt-memory": ({"memory": "all"}, "false"),
    "backwards-in-time": ({"linear": 1.0}, "holds"),
    "softmax-hessian": ({"printed": np.diag}, "false"),
    "gauss-newton-of-linear-outputs": ({"parameters": 12}, "false"),
    "gauss-newton-is-semidefinite": ({"swapped": True}, "false"),
    "r-forward-costs-two-passes": ({"symbols": 4000}, "false"),
    "reversed-damping-rule": ({"printed": (3 / 2, 2 / 3)}, "holds"),
    "structural-damping": ({"where": "H_out"}, "holds"),
    "leak-sets-the-speed": ({"stays": False}, "holds"),
    "leaky-integrator-as-printed": ({"weight": 0.5}, "holds"),
    "newton-step-as-printed": ({"start": 0.0}, "holds"),
    "gauss-newton-as-printed": ({"scale": 0.0, "squash": lambda a: a}, "holds"),
    "output-reads-the-preactivation": ({"reads": "phi"}, "holds"),
    "r-forward-of-gates": ({"with_slope": True}, "holds"),
    "stray-forget-gate": ({"stray": False}, "holds"),
    "old-memory-in-the-jacobian": ({"old": False}, "holds"),
    "xor-ceiling": ({"free": 3}, "false"),
    "hopfield-capacity": ({"rule": "pseudo-inverse", "sizes": (100, 200)}, "false"),
}


@pytest.fixture(scope="module")
def results():
    return {result.claim.name: result for result in verify()}


@pytest.mark.parametrize("name", CLAIMS)
def test_reproduces(results, name):
    result = results[name]
    assert result.reproduces, f"{result.finding.verdict}: {result.finding.evidence}"
    assert re.search(r"\d", result.finding.evidence) and result.finding.evidence.endswith(".")
    assert result.finding.numbers and all(np.isfinite([*result.finding.numbers.values()]))


def test_names_say_where_a_claim_is():
    source = Path(__file__).parents[2] / "src" / "ostinato" / "claims"
    files = {path.stem.replace("_", "-") for path in source.glob("[a-z]*.py")}
    assert files == set(CLAIMS)
    assert len({claim.text for claim in CLAIMS.values()}) == len(CLAIMS)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_noticed(name):
    changes, verdict = CHANGES[name]
    assert CLAIMS[name].check(**changes).verdict == verdict != CLAIMS[name].expected


def test_a_cost_of_twice_is_noticed(monkeypatch):
    """No size of a net makes it twice; so the count itself is changed."""
    monkeypatch.setattr(hessian_product_costs_twice, "costs", lambda *_: [10.0, 5.0])
    assert hessian_product_costs_twice.check().verdict == "holds"


def test_float64_whatever_jax_is_set_to():
    with jax.enable_x64(False):
        for result in verify(["general-theorem", "softmax-hessian"]):
            assert result.reproduces and result.finding.numbers["relative error"] < 1e-12


@pytest.mark.parametrize("name", CLAIMS)
def test_figures_can_be_drawn(results, name, tmp_path):
    draw = results[name].finding.figure
    if draw is not None:
        from matplotlib.figure import Figure

        figure = Figure()
        axes = figure.add_subplot()
        draw(axes)
        figure.savefig(tmp_path / "figure.png")
        assert axes.get_xlabel() and axes.get_ylabel()


def test_the_page_has_every_claim():
    page = PAGE.read_text(encoding="utf-8")
    for claim in CLAIMS.values():
        verdict = claim.expected.replace("|", "\\|")
        assert f"| [{claim.name}](#{claim.name}) | {verdict} |" in page
        assert f"> {claim.text}\n\nSource: {claim.source}." in page
    readme = (PAGE.parents[1] / "README.md").read_text(encoding="utf-8")
    assert f"`ostinato verify`: {len(CLAIMS)} statements" in readme
    pictures = re.findall(r"\((claims/.+\.png)\)", page)
    assert pictures and all((PAGE.parent / picture).is_file() for picture in pictures)


@pytest.mark.parametrize("verdict", ["true", "holds if it rains", ""])
def test_a_verdict_has_its_form(verdict):
    with pytest.raises(ValueError, match="a verdict must be"):
        Finding(verdict, "1.", {})


def test_an_unknown_name():
    with pytest.raises(BadInput, match="there is no claim toynet; did you mean toy-net"):
        verify(["toynet"])


app = typer.Typer()
app.command()(verb)


def test_the_verb_prints_json():
    found = CliRunner().invoke(app, ["toy-net", "xor-ceiling", "--json"], catch_exceptions=False)
    assert found.exit_code == 0
    toy, xor = json.loads(found.stdout)
    assert toy["name"] == "toy-net" and xor["verdict"] == "holds" and xor["reproduces"]
    assert "66.7%" in xor["evidence"] and xor["source"].startswith("Lipton")


def test_the_verb_prints_a_table():
    found = CliRunner().invoke(app, ["toy-net"], catch_exceptions=False)
    assert found.exit_code == 0
    for part in ("toy-net", "linear", "1 of 1 as known"):
        assert part in found.stdout


def test_another_verdict_is_exit_code_1(monkeypatch):
    wrong = Claim("xor-ceiling", "Text.", "Lipton", "false", CLAIMS["xor-ceiling"].check)
    monkeypatch.setitem(CLAIMS, "xor-ceiling", wrong)
    found = CliRunner().invoke(app, ["xor-ceiling"], catch_exceptions=False)
    assert found.exit_code == 1 and "0 of 1 as known" in found.stdout
    found = CliRunner().invoke(app, ["xor-ceiling", "--json"], catch_exceptions=False)
    assert found.exit_code == 1 and json.loads(found.stdout)[0]["reproduces"] is False
