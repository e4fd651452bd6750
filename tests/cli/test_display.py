"""What a person sees without a terminal, and who goes away while looking."""

import io
import math
import os
import subprocess
import sys

import pytest
from rich.console import Console

from ostinato.cli.display import _Panel, display, shown_loss
from ostinato.runs import open_run

START = {
    "kind": "start", "step": 0, "steps": 20, "log_every": 5, "task": "text", "parameters": 9,
    "metric": "bits per character", "loss_factor": 1 / math.log(2),
    "baselines": {"chance": 4.5}, "device": "cpu",
}  # fmt: skip
STEP = {"kind": "train", "loss": 1.386294, "norm": 0.5, "clipped": 0.0, "rate": 0.01}
END = {"kind": "end", "reason": "interrupted", "metric": "bits per character", "best": None}


def shown(events, capsys, tmp_path) -> list[str]:
    with display(tmp_path, quiet=False) as hear:
        for event in events:
            hear(event)
    return capsys.readouterr().out.splitlines()


def train(step, **more):
    return {**STEP, "step": step, "took": 0.1, "symbols": 100, **more}


def test_training_is_told_at_regular_steps_and_at_the_last(capsys, tmp_path):
    steps = [train(step) for step in (5, 7, 10, 14, 15, 18, 20)]
    lines = shown([START, *steps, {**END, "step": 20}], capsys, tmp_path)
    told = [int(line.split()[1]) for line in lines if " of 20 " in line]
    assert told == [5, 10, 15, 20]
    assert all("2.000 bits per character" in line for line in lines if " of 20 " in line)


def test_the_step_at_which_it_was_stopped_is_told_too(capsys, tmp_path):
    steps = [train(5), train(7), train(8, remark="damping was raised")]
    lines = shown([START, *steps, {**END, "step": 8}], capsys, tmp_path)
    told = [int(line.split()[1]) for line in lines if " of 20 " in line]
    assert told == [5, 8]
    assert [line for line in lines if "damping was raised" in line] == [
        "step      8  damping was raised"
    ]


def test_a_step_too_quick_for_the_clock_has_no_speed(capsys, tmp_path):
    steps = [train(5), train(20, took=0.0)]
    lines = shown([START, *steps, {**END, "step": 20}], capsys, tmp_path)
    told = [line for line in lines if " of 20 " in line]
    assert "  1,000 symbols/s  gradient 0.5" in told[0]
    assert "symbols/s" not in told[1] and "  gradient 0.5" in told[1]


def test_a_validation_shows_all_metrics(capsys, tmp_path):
    metrics = {"bits per character": 2.0, "perplexity": 4.0, "F1": None}
    valid = {"kind": "valid", "step": 5, "value": 2.0, "metrics": metrics}
    lines = shown([START, valid, {**END, "step": 5}], capsys, tmp_path)
    words = "validation: 2 bits per character (chance 4.5), 4 perplexity"
    assert f"step      5  {words}" in lines
    panel = _Panel()
    panel.hear(START)
    panel.hear(valid)
    console = Console(file=io.StringIO(), width=100)
    console.print(panel.render())
    assert words.partition(": ")[2] in console.file.getvalue()


def test_what_was_done_to_the_data_is_said_first(capsys, tmp_path):
    noted = {**START, "notes": ["3 rows were sorted by 'date'", "1 gap was masked"]}
    lines = shown([noted, {**END, "step": 0}], capsys, tmp_path)
    assert lines[:2] == ["data: 3 rows were sorted by 'date'", "data: 1 gap was masked"]
    assert lines[2].startswith("training: text")
    panel = _Panel()
    panel.hear(noted)
    console = Console(file=io.StringIO(), width=100)
    console.print(panel.render())
    assert "1 gap was masked" in console.file.getvalue()


@pytest.mark.slow
def test_a_training_run_tells_no_other_steps(ostinato, tmp_path):
    (tmp_path / "text").write_text("the cat sat on the mat. " * 30)
    sizes = ("--units", "4", "--batch", "4", "--length", "5", "--steps", "210")
    code, out, err = ostinato("train", "text", *sizes, "--checkpoint-every", "7")
    assert code == 0, err
    told = [int(line.split()[1]) for line in out.splitlines() if " of 210 " in line]
    assert told == list(range(2, 211, 2))


@pytest.mark.parametrize(
    "loss, metric, factor, words",
    [
        (1.386294, "bits per byte", 1 / math.log(2), "2.000 bits per byte"),
        (0.05, "mean squared error", 2.0, "0.1 mean squared error"),
        (1.5, "nats per step", 1.0, "1.5 nats per step"),
        (0.6931, "accuracy", None, "loss 0.6931"),
        (None, "bits per byte", 1.0, "loss not finite"),
    ],
)
def test_a_loss_has_the_unit_of_the_metric(loss, metric, factor, words):
    assert shown_loss(loss, metric, factor) == words


@pytest.mark.slow
def test_a_reader_that_leaves_does_not_stop_the_run(tmp_path):
    (tmp_path / "text").write_text("the cat sat on the mat. " * 30)
    sizes = ["--units", "4", "--batch", "4", "--length", "5", "--steps", "40"]
    command = [sys.executable, "-m", "ostinato", "train", "text", *sizes, "--run", "run"]
    reading, writing = os.pipe()
    with subprocess.Popen(command, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE) as process:
        os.close(writing)
        assert os.read(reading, 1)
        os.close(reading)
        err = process.stderr.read()
    assert process.returncode == 0 and not err, err
    run = open_run(tmp_path / "run")
    assert run.steps()[-1] == 40 and run.events()[-1]["reason"] == "done"


@pytest.mark.parametrize(
    "memory, words",
    [
        ({".cell": 4}, "the gradient reaches 4 of 9 steps back"),
        ({".cell.layers[0]": None, ".cell.layers[1]": 3}, "the gradient reaches 3 of 9 steps back"),
        ({".cell": None}, "the gradient is not finite"),
        ({}, "there is no state for a gradient to go back through"),
    ],
)
def test_what_was_not_measured_is_not_0(memory, words, capsys, tmp_path):
    look = {"kind": "lens", "step": 5, "memory": memory, "lags": [0, 9], "saturated": {}}
    assert f"lens: {words}" in "\n".join(shown([START, look, {**END, "step": 5}], capsys, tmp_path))
