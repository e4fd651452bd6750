"""A neural Turing machine from the command line: trained, killed, resumed, evaluated, shown."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import safetensors.numpy

SETTINGS = {
    "task": "ntm-copy",
    "bits": 2,
    "max_items": 2,
    "cell": "lstm",
    "units": 4,
    "turing": "6x3",
    "heads": 2,
    "batch": 4,
    "steps": 12,
    "checkpoint_every": 2,
    "validate_every": 6,
}
WORDS = [
    word for name, value in SETTINGS.items() for word in (f"--{name.replace('_', '-')}", str(value))
]
KILLED = """
import os, signal, sys
from ostinato.runs import Config, train

def kill(event):
    if event["kind"] == "train" and event["step"] >= 7:
        os.kill(os.getpid(), signal.SIGKILL)

train(Config(**eval(sys.argv[1])), "killed", listener=kill)
"""


def arrays(folder):
    return safetensors.numpy.load_file(folder / "checkpoints" / "step-00000012.safetensors")


@pytest.mark.slow
def test_trains_is_killed_resumes_and_evaluates(ostinato, tmp_path):
    code, _, err = ostinato("train", *WORDS, "--run", "whole")
    assert code == 0, err
    found = subprocess.run(
        [sys.executable, "-c", KILLED, repr(SETTINGS)],
        cwd=tmp_path,
        env={**os.environ, "JAX_ENABLE_X64": "1"},
        check=False,
    )
    assert found.returncode == -signal.SIGKILL
    code, _, err = ostinato("train", "--resume", "--run", "killed")
    assert code == 0, err
    one, other = arrays(tmp_path / "whole"), arrays(tmp_path / "killed")
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)

    _, out, _ = ostinato("evaluate", "killed", "--json")
    found = json.loads(out)
    assert found["metric"] == "bits per sequence" and np.isfinite(found["value"])
    assert "share of wrong bits, 12 vectors" in found["metrics"]


@pytest.mark.slow
def test_the_report_shows_heads_and_memory(ostinato, tmp_path):
    ostinato("train", *WORDS, "--run", "run")
    code, _, err = ostinato("lens", "run")
    assert code == 0, err
    page = (tmp_path / "run" / "report.html").read_text()
    for title in ("Read head 2", "Write head 1", "Memory over time", "Memory after the sequence"):
        assert title in page


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--turing", "128"], "turing must be rows x columns of the memory, such as 128x20"),
        (["--turing", "0x4"], "turing must be rows x columns"),
        (["--heads", "2"], "heads is a setting of --turing"),
    ],
)
def test_bad_settings_get_one_line(ostinato, given, words):
    named = ("--task", "ntm-copy", "--cell", "lstm")  # so not by its recipe, which has a memory
    code, _, err = ostinato("train", *named, *given, "--run", "run")
    assert code != 0
    assert words in err and len(err.strip().splitlines()) == 1


def test_a_number_that_is_a_file_of_other_tasks(ostinato):
    code, _, err = ostinato("train", "--task", "ntm-recall", "--vectors", "0", "--run", "run")
    assert code == 2 and "vectors must be at least 1, got 0" in err


@pytest.mark.slow
def test_a_cell_without_state_trains_and_reports(ostinato):
    sizes = ("--length", 4, "--units", 3, "--batch", 4, "--steps", 2)
    code, _, err = ostinato("train", "--task", "xor", "--cell", "feedforward", *sizes, "--run", "r")
    assert code == 0, err
    code, _, err = ostinato("lens", "r")
    assert code == 0, err
