"""Every claim reproduces, and every check refuses the falsehood that is planted in it."""

import dataclasses
import json
import re
from functools import cache
from pathlib import Path

import jax
import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from ostinato.claims import CLAIMS, THEMES, Claim, Falsehood, Finding, gradient_methods, verify
from ostinato.cli.verify import verify as verb
from ostinato.errors import BadInput
from ostinato.experiments import gradient_figures

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"


@pytest.fixture(scope="module")
def results():
    """All claims, where JAX is set to single precision: they are checked in double anyway."""
    with jax.enable_x64(False):
        return {result.claim.name: result for result in verify()}


@pytest.mark.parametrize("name", CLAIMS)
def test_reproduces(results, name):
    result = results[name]
    assert result.reproduces, f"{result.finding.verdict}: {result.finding.evidence}"
    assert re.search(r"\d", result.finding.evidence) and result.finding.evidence.endswith(".")
    assert result.finding.numbers and all(np.isfinite([*result.finding.numbers.values()]))


def test_no_claim_is_left_out_or_made_twice():
    source = Path(__file__).parents[2] / "src" / "ostinato" / "claims"
    themes = [path for path in source.glob("*.py") if "\nTHEME = " in path.read_text()]
    assert len(themes) == len(THEMES)
    assert sum(map(len, THEMES)) == len({claim.text for claim in CLAIMS.values()}) == len(CLAIMS)


@cache
def plant(name):
    return CLAIMS[name].plant()


@pytest.mark.parametrize("name", CLAIMS)
def test_a_planted_falsehood_is_refused(name):
    """The same check, on something false or on the correction of a false statement."""
    claim, planted = CLAIMS[name], plant(name)
    assert planted.finding.verdict != claim.expected, planted.finding.evidence
    assert planted.reproduces, f"{planted.finding.verdict}: {planted.finding.evidence}"


def test_a_falsehood_changes_the_verdict():
    """A claim cannot be made with one that does not, or that leaves a false statement false."""
    check = CLAIMS["xor-ceiling"].check
    for expected, verdict in (("holds", "holds"), ("false", "false"), ("false", "holds when x")):
        with pytest.raises(ValueError, match="must change the verdict"):
            Claim("name", "Text.", "Source", expected, check, Falsehood("what", {}, verdict))


# The number that decides a claim: where it is, and where the falsehood moves it.
DECIDED_BY = {
    "sqrt-memory": ("exponent", 0.49, 0.88),
    "hopfield-capacity": ("collapse at", 0.14, 0.20),
    "gauss-newton-is-semidefinite": ("smallest of Gauss-Newton", 0.0, -0.7),
    "constant-error-flow": ("off through c", 0.0, 1 - 0.99**100),
    "relu-paths-bound": ("off where all paths are enabled", 0.0, 1.1**5 - 1),
    "echo-state-by-singular-value": ("largest factor", 0.95, 1.75),
}


@pytest.mark.parametrize("name", DECIDED_BY)
def test_what_decides(results, name):
    number, right, wrong = DECIDED_BY[name]
    found = results[name].finding.numbers[number]
    planted = plant(name).finding.numbers[number]
    assert found == pytest.approx(right, abs=0.01) and planted == pytest.approx(wrong, abs=0.05)


def test_the_general_theorem_is_checked_on_several_cells_with_parameters_of_each_step():
    kinds = [known.cells for known in map(gradient_methods.reference, gradient_methods.CELLS)]
    assert len({type(cells[0]) for cells in kinds}) >= 3
    assert all(len(cells) > 1 and not (cells[0].R == cells[1].R).any() for cells in kinds)


def test_forget_gates_are_what_is_left_of_an_error(results):
    numbers = results["forget-gate-flow"].finding.numbers
    assert numbers["relative error"] < 1e-12
    assert numbers["left, bias 0"] < 1e-3 < numbers["left, bias 4"] < numbers["left, bias 8"] < 1


@pytest.mark.parametrize("name", ["general-theorem", "softmax-hessian"])
def test_float64_whatever_jax_is_set_to(results, name):
    result = results[name]
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
        planted = claim.falsehood
        assert f"Planted: {planted.planted}. Verdict then: {planted.verdict}." in page
    assert f"\n{len(CLAIMS)} statements from the literature" in page
    assert f"All {len(CLAIMS)} planted falsehoods" in page
    readme = (PAGE.parents[1] / "README.md").read_text(encoding="utf-8")
    assert f"`ostinato verify`: {len(CLAIMS)} statements" in readme
    pictures = re.findall(r"\((claims/.+\.png)\)", page)
    assert pictures and all((PAGE.parent / picture).is_file() for picture in pictures)


def test_sources_have_the_statement():
    """Where the documents say what is cited: these once named a place that does not."""
    assert "Lipton" not in CLAIMS["rtrl-equals-bptt"].source
    assert "1 / (r σ'max)" in CLAIMS["sigmoid-weights"].text  # 4 / r is missing in the source
    assert "feed-forward" not in CLAIMS["output-reads-the-preactivation"].text
    assert gradient_figures.FIGURES.source.startswith("Galvan (2015), sections 1.4 and 1.6")
    rooms = " ".join((PAGE.parent / "architecture.md").read_text(encoding="utf-8").split())
    assert "general theorem of Delgado del Cerro (2021), chapter 3" in rooms


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
    check = CLAIMS["xor-ceiling"].check
    wrong = Claim("xor-ceiling", "Text.", "Lipton", "false", check, Falsehood("no", {}, "holds"))
    monkeypatch.setitem(CLAIMS, "xor-ceiling", wrong)
    found = CliRunner().invoke(app, ["xor-ceiling"], catch_exceptions=False)
    assert found.exit_code == 1 and "0 of 1 as known" in found.stdout
    found = CliRunner().invoke(app, ["xor-ceiling", "--json"], catch_exceptions=False)
    assert found.exit_code == 1 and json.loads(found.stdout)[0]["reproduces"] is False


def test_the_verb_plants_falsehoods():
    arguments = ["xor-ceiling", "newton-step-as-printed", "--falsehoods"]
    found = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert found.exit_code == 0
    for part in ("planted: three free bits", "2 of 2 planted falsehoods refused"):
        assert part in found.stdout
    found = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    planted = [one["falsehood"] for one in json.loads(found.stdout)]
    assert [one["verdict"] for one in planted] == ["false", "holds"]
    assert all(one["refused"] for one in planted)


def test_a_falsehood_that_passes_is_exit_code_1(monkeypatch):
    """One that plants nothing."""
    claim = CLAIMS["xor-ceiling"]
    idle = dataclasses.replace(claim, falsehood=Falsehood("nothing", {}, "false"))
    monkeypatch.setitem(CLAIMS, "xor-ceiling", idle)
    found = CliRunner().invoke(app, ["xor-ceiling", "--falsehoods"], catch_exceptions=False)
    assert found.exit_code == 1 and "0 of 1 planted falsehoods refused" in found.stdout
