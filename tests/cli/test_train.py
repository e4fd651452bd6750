"""`ostinato train` as a person meets it: what it shows, and one clear line for what is wrong."""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from ostinato.runs import open_run

TEXT = "the cat sat on the mat.\nthe rat ran to the cat.\n" * 12
SMALL = ("--units", "4", "--batch", "4", "--length", "10", "--steps", "4")


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "cat.txt"
    path.write_text(TEXT)
    return path


def test_from_a_file_to_a_sample(ostinato, text):
    code, out, err = ostinato("train", text, *SMALL, "--lens", "2")
    assert code == 0 and not err
    assert out.count("lens: the gradient reaches") == 2 and "of 9 steps back" in out
    for part in ("chance", "bigram", "order 5", "bits per character", "symbols/s", "clipped"):
        assert part in out
    assert "generate text with: ostinato sample runs/text-mlstm-1" in out
    assert ostinato("sample", "runs/text-mlstm-1", "--length", "5")[0] == 0
    code, out, _ = ostinato("train", text, *SMALL, "--json")
    assert code == 0
    assert json.loads(out)["run"] == "runs/text-mlstm-2" and json.loads(out)["reason"] == "done"


@pytest.mark.slow
def test_hessian_free(ostinato):
    settings = ("--cell", "simple", "--units", "16", "--incoming", "5", "--spectral-radius", "1.1")
    sizes = ("--length", "6", "--batch", "64", "--curvature-batch", "32", "--input-scale", "0.1")
    code, out, err = ostinato(
        "train", "--task", "adding", "--learner", "hf", *settings, *sizes, "--steps", "12"
    )
    assert code == 0 and not err
    lines = [line for line in out.splitlines() if line.startswith("step") and "CG" in line]
    assert len(lines) == 12 and all(part in lines[0] for part in ("λ 0.01", "μ 0.003", "ρ "))
    assert any(reason in lines[0] for reason in ("(progress)", "(limit)"))
    code, out, _ = ostinato("evaluate", "runs/adding-simple-1", "--json")
    assert code == 0 and json.loads(out)["value"] < 0.1


@pytest.mark.slow
def test_tensorboard(ostinato, text, tmp_path):
    assert ostinato("train", text, *SMALL, "--tensorboard", "--run", "tb")[0] == 0
    assert list((tmp_path / "tb" / "tensorboard").glob("events*"))
    second = ("--cell", "simple", "--learner", "saddle-free", "--krylov", "3")
    assert ostinato("train", text, *SMALL, *second, "--tensorboard", "--run", "tb2")[0] == 0
    assert list((tmp_path / "tb2" / "tensorboard").glob("events*"))


def test_a_budget_and_a_task(ostinato):
    code, out, _ = ostinato(
        "train", "--task", "adding", "--length", 6, "--budget", 300, "--steps", 2, "--batch", 16,
        "--json",
    )  # fmt: skip
    assert code == 0 and json.loads(out)["metric"] == "mean squared error"


def one_line(found, *parts):
    code, out, err = found
    assert code == 2 and not out, (code, out, err)
    assert err.startswith("ostinato: ") and err.count("\n") == 1 and "Traceback" not in err
    for part in parts:
        assert part in err


def test_bad_files(ostinato, tmp_path):
    def file(name, content: bytes):
        (tmp_path / name).write_bytes(content)
        return name

    one_line(ostinato("train", "nowhere.txt"), "there is no file", "nowhere.txt")
    one_line(ostinato("train", tmp_path), "has no text files")
    one_line(ostinato("train", file("empty.txt", b"")), "empty.txt is empty")
    one_line(ostinato("train", file("one.txt", b"a")), "one.txt", "too few to learn from")
    one_line(ostinato("train", file("same.txt", b"a" * 99)), "nothing to learn")
    # As many symbols as the text of the other tests, with which they share what is compiled.
    latin, binary = (TEXT.replace("m", other).encode("latin-1") for other in "é\0")
    one_line(ostinato("train", file("latin.txt", latin)), "0xe9", "latin-1")
    one_line(ostinato("train", file("binary", binary)), "--level bytes")
    one_line(ostinato("train", "latin.txt", "--encoding", "klingon"), "no encoding 'klingon'")
    one_line(ostinato("train", "latin.txt", "--encoding", "base64"), "no encoding 'base64'")
    assert ostinato("train", "latin.txt", "--encoding", "latin-1", *SMALL, "--json")[0] == 0
    assert ostinato("train", "binary", "--level", "bytes", *SMALL, "--json")[0] == 0


def test_bad_settings(ostinato, text, tmp_path):
    one_line(ostinato("train", text, "--units", "0"), "units must be at least 1, got 0")
    for wrong in ("0", "-1"):
        found = ostinato("train", text, "--log-every", wrong)
        one_line(found, f"log_every must be at least 1, got {wrong}")
    one_line(
        ostinato("train", text, "--log-every", "abc"), "'--log-every'", "it must be a whole number"
    )
    one_line(ostinato("train", text, "--cell", "ltsm"), "no cell 'ltsm'")
    one_line(ostinato("train", text, "--learner", "adm"), "no learner 'adm'; did you mean adam?")
    one_line(ostinato("train", text, "--schedule", "zigzag"), "no schedule 'zigzag'")
    one_line(ostinato("train", text, "--gradient", "none"), "no gradient 'none'")
    one_line(ostinato("train", text, "--gradient", "lstm1997"), "--cell one of lstm, lstm1997")
    hf = ("train", "--task", "adding", "--cell", "simple", "--learner", "hf")
    one_line(
        ostinato(*hf, "--rate", "0.1"),
        "rate is a setting of the learners sgd,",
        "the learner is hf",
    )
    one_line(
        ostinato("train", text, "--chunk", "5"),
        "a setting of the learners hf, saddle-free",
    )
    one_line(ostinato(*hf, "--curvature-batch", "30"), "must divide the batch of 1000", "got 30")
    one_line(ostinato(*hf, "--chunk", "30", "--steps", "1"), "cannot be done 30 at a time")
    one_line(ostinato(*hf, "--damping", "rubber"), "structural, tikhonov, line-search; got rubber")
    one_line(ostinato(*hf, "--incoming", "200"), "cell simple cannot be built", "at least 200 rows")
    one_line(ostinato(*hf, "--devices", "99"), "devices here, got --devices 99")
    one_line(ostinato("train", "--task", "chess"), "no task 'chess'")
    one_line(ostinato("train", "--task", "adding", "--length", "1"), "adding")
    one_line(ostinato("train", "--resume"), "--resume needs --run")
    assert not (tmp_path / "runs").exists(), "nothing is made before all is well"


def test_settings_of_what_was_not_chosen(ostinato, text):
    lstm = ("train", text, "--cell", "lstm")
    one_line(ostinato(*lstm, "--reset", "after"), "setting of the cell gru; the cell is lstm")
    one_line(ostinato(*lstm, "--nesting", "3"), "setting of the task execute; the task is text")
    one_line(ostinato(*lstm, "--alpha", "0"), "setting of the cells jordan, leaky; the cell is")
    one_line(
        ostinato("train", text, "--task", "xor"), "file is a setting of the tasks text, series, "
    )
    one_line(ostinato(*lstm, "--recurrent", "ortho"), "recurrent: there is no initialiser 'ortho'")
    one_line(ostinato(*lstm, "--units", "4,x"), "one per layer like 150,130,110; got 4,x")


TOML = """
[task]
name = "adding"
length = 6

[network]
units = [5, 4]

[cell]
name = "gru"
reset = "after"

[learner]
name = "sgd"
rate = 0.1

[training]
batch = 8
steps = 2
"""


def test_settings_from_a_file(ostinato, tmp_path):
    (tmp_path / "settings.toml").write_text(TOML)
    given = ("--config", "settings.toml", "--rate", "0.2", "--run", "r", "--json")
    assert ostinato("train", *given)[0] == 0
    config = open_run("r").config
    assert config.units == (5, 4) and config.layers == 2 and config.cell.settings.reset == "after"
    assert config.rate == 0.2 and config.steps == 2, "the command line wins"
    assert [len(cell.U) for cell in open_run("r").network().cell.layers] == [5, 4]
    more = ostinato("train", *given, "--resume", "--steps", "3")
    assert more[0] == 0 and open_run("r").config.steps == 3
    one_line(ostinato("train", *given[:2], "--resume", "--run", "r"), "started with rate = 0.2")
    one_line(ostinato("train", *given[:2], "--cell", "lstm"), "a setting of the cell gru; the")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[[[", "wrong.toml is not a TOML file: "),
        ("units = 3", "wrong.toml: 'units' is not a section; there are task, cell, network"),
        ("cell = 'lstm'", "wrong.toml: cell must be a section with settings, got 'lstm'"),
        ("[nets]", "wrong.toml: 'nets' is not a section"),
        ("[network]\nunit = 3", "wrong.toml: [network] has 'unit', which is not a setting (did"),
        ("[network]\nname = 'x'", "wrong.toml: [network] has no name"),
        ("[network]\nunits = [3, 0]", "wrong.toml: [network] units must be at least 1, got 0"),
        ("[cell]\nname = 'ltsm'", "wrong.toml: there is no cell 'ltsm'"),
        ("[cell]\nname = 3", "wrong.toml: cell must be of type str, got 3"),
        ("[cell]\nreset = 'after'", "wrong.toml: [cell] has 'reset', which is not a setting of ml"),
        ("[cell]\nname = 'none.py:X'", "none.py: No such file or directory"),
        ("[first]\nrate = 1", "wrong.toml: [first] needs the name of a learner"),
        ("[training]\nsteps = 1.5", "wrong.toml: [training] steps must be of type int, got 1.5"),
        ("[training]\nseed = 2020-01-01", "wrong.toml: [training] seed must be of type int, got"),
        ("[task]\ncarry = 'no'", "wrong.toml: [task] carry must be of type bool, got 'no'"),
        ("[learner]\nrate = nan", "wrong.toml: [learner] rate must be a number that float32 holds"),
    ],
)
def test_a_file_with_wrong_settings(ostinato, tmp_path, content, words):
    (tmp_path / "wrong.toml").write_text(content)
    one_line(ostinato("train", "--config", "wrong.toml"), words)
    assert not (tmp_path / "runs").exists()


def test_files_that_are_no_settings(ostinato, tmp_path):
    (tmp_path / "latin.toml").write_bytes(b'[cell]\nname = "\xe9"')
    one_line(ostinato("train", "--config", "latin.toml"), "latin.toml is not a TOML file: it")
    one_line(ostinato("train", "--config", "none.toml"), "none.toml: No such file or directory")
    one_line(ostinato("train", "--config", tmp_path), "it is not a regular file")


@pytest.mark.parametrize(
    "options",
    [
        ("--bidirectional", "--units", "5,4"),
        pytest.param(("--feedback", "--layers", "2", "--units", "4"), marks=pytest.mark.slow),
        pytest.param(("--feedback", "--layers", "2", "--budget", "600"), marks=pytest.mark.slow),
        pytest.param(("--bidirectional", "--budget", "600", "--skip"), marks=pytest.mark.slow),
        pytest.param(
            ("--recurrent", "spectral-radius:1.1,incoming:2", "--units", "4"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_wirings_from_the_command_line(ostinato, options):
    small = ("--task", "temporal-order", "--length", "12", "--batch", "4", "--steps", "2")
    code, _, err = ostinato("train", *small, "--cell", "simple", *options, "--run", "r", "--json")
    assert code == 0, err
    code, out, err = ostinato("evaluate", "r", "--json")
    assert code == 0 and 0 <= json.loads(out)["value"] <= 1, err


def test_help_has_a_panel_for_each_part(ostinato, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    code, out, _ = ostinato("train", "--help", "all")
    assert code == 0
    for panel in ("Task", "Task: series", "Network", "Cell", "Cell: gru", "Learner", "Training"):
        assert f"─ {panel} ─" in out
    for option in ("--reset", "--forget", "--alpha", "--recurrent", "--feedback", "--krylov"):
        assert option in out


def test_runs_that_are_taken_half_there_or_another_s(ostinato, text, tmp_path):
    assert ostinato("train", text, *SMALL, "--run", "a", "--json")[0] == 0
    one_line(ostinato("train", text, *SMALL, "--run", "a"), "a is already a run", "--resume")
    one_line(ostinato("train", "--resume", "--run", "a", "--units", "9"), "started with units = 4")
    one_line(ostinato("train", "--resume", "--run", "b"), "no run folder b")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    one_line(ostinato("train", text, "--run", "mine"), "is not an empty folder")
    shutil.copytree("a", "newer")
    (tmp_path / "newer" / "model.json").write_text('{"format": 99}')
    for verb in (["sample"], ["evaluate"], ["train", "--resume", "--run"]):
        one_line(ostinato(*verb, "newer"), "newer version of Ostinato")
    (tmp_path / "other.txt").write_text("Ökonomie")
    one_line(ostinato("evaluate", "a", "other.txt"), "does not know the character 'Ö'")
    code, out, _ = ostinato("train", "--resume", "--run", "a", "--steps", "6", "--json")
    assert code == 0 and json.loads(out)["step"] == 6


def test_ctrl_c_says_how_to_go_on(text, tmp_path):
    command = [sys.executable, "-m", "ostinato", "train", text, *SMALL[:-1], "100000"]
    command += ["--run", "my run", "--checkpoint-every", "1000"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            if line.startswith("step"):
                break
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 128 + signal.SIGINT
    assert "continue with: ostinato train --resume --run 'my run'" in rest
    assert open_run(tmp_path / "my run").steps()


@pytest.mark.slow
def test_a_file_of_a_gigabyte(ostinato, tmp_path):
    piece = (TEXT * 200).encode()
    with open(tmp_path / "big.txt", "wb") as file:
        for _ in range(2**30 // len(piece)):
            file.write(piece)
    code, out, _ = ostinato("train", "big.txt", *SMALL, "--split", "99/0.01/0.99", "--json")
    assert code == 0 and json.loads(out)["reason"] == "done"
