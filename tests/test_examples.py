"""The examples run, and show what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def numbers(words, text):
    """The numbers in a line of the output."""
    found = re.search(words, text)
    assert found, text
    return [float(x) for x in found.groups()]


def own_arrays(text):
    accuracy, chance = numbers(r"test part: ([\d.]+), chance ([\d.]+)", text)
    assert accuracy > chance + 0.3
    error, persistence = numbers(r"squared error ([\d.]+), .*'persistence': ([\d.]+)", text)
    assert error < persistence / 2


def slstm(text):
    for cell in ("SLSTM", "LSTM"):
        accuracy, chance = numbers(rf"(?m)^{cell}: accuracy ([\d.]+), chance ([\d.]+)", text)
        assert accuracy > chance + 0.3


def own_task(text):
    accuracy, chance = numbers(r"accuracy ([\d.]+), chance ([\d.]+)", text)
    assert accuracy > chance + 0.2 and "check_task: 20 checks passed" in text


def own_loop(text):
    first, last = numbers(r"step 0: .* error ([\d.]+)(?s:.*)step 300: .* error ([\d.]+)", text)
    assert last < first / 50


def torch_weights(text):
    assert numbers(r"difference of the outputs: (\S+)", text)[0] < 1e-5


def variable_lengths(text):
    one, other = numbers(r"loss together ([\d.]+), one by one ([\d.]+)", text)
    assert abs(one - other) < 1e-4
    assert numbers(r"difference of the gradients: (\S+)", text)[0] < 1e-5


def forecast(text):
    error, coverage = numbers(r"^pinball loss: ([\d.]+)\ncoverage .*: ([\d.]+)", text)
    yardsticks = numbers(r"of persistence: ([\d.]+)\n.*of seasonal naive: ([\d.]+)", text)
    assert error < min(yardsticks) and 0.5 < coverage <= 1
    (years,) = re.findall(r"the years after: (.*)", text)
    assert len(years.split()) == 11


def log_to_wandb(text):
    assert re.search("logged: mean squared error, .*train/loss, .*valid/mean squared error", text)
    assert "files to sync: 1" in text


def log_to_mlflow(text):
    assert "parameters: cell, length, steps, task, units, validate_every" in text
    assert "metrics: test mean squared error, train loss, valid mean squared error" in text
    assert "files: checkpoints, config.json, events.jsonl, model.json" in text


SHOWN = (own_arrays, slstm, own_task, own_loop, torch_weights, variable_lengths, forecast)
SHOWN += (log_to_wandb, log_to_mlflow)


def test_every_example_is_tested():
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert names == {show.__name__ for show in SHOWN} | {"own_cell"}  # in test_readme.py


def run(folder, *arguments):
    found = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "JAX_ENABLE_X64": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


ALIKE = (
    "forecast",
    "log_to_mlflow",
    "log_to_wandb",
    "torch_weights",
    "own_arrays",
    "own_loop",
    "own_task",
    "slstm",
    "variable_lengths",
)  # they show what other tests do, too


@pytest.mark.parametrize(
    "show",
    [pytest.param(n, marks=[pytest.mark.slow] if n.__name__ in ALIKE else []) for n in SHOWN],
)
def test_runs(show, tmp_path):
    show(run(tmp_path, str(EXAMPLES / f"{show.__name__}.py")))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    "page, words",
    [
        ("data", "persistence"),
        ("your_own", "Mean: chance is"),
        ("from_python", "\nclassify\n"),
        ("streaming", "True\n['slow'] (1, 2, 1, 1) 50\n('state', (16,))\n1\n"),
    ],
)
def test_the_code_of_a_page_runs(page, words, tmp_path):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.+?)```", text, flags=re.DOTALL))
    assert words in run(tmp_path, "-c", code)
