"""The README's commands and code run, as after a plain `pip install .`."""

import contextlib
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PLAIN = ROOT / "tests" / "plain"
COMMANDS = re.findall(r"(?m)^    python3 (scripts/.+)$", README)


def environment(plain):
    """The environment of a process, in which the packages of extras may be out of sight."""
    before = os.environ.get("PYTHONPATH")
    paths = [str(PLAIN)] * plain + [before] * bool(before)
    return {**os.environ, "JAX_ENABLE_X64": "0", "PYTHONPATH": os.pathsep.join(paths)}


def run(command, *more, cwd, plain=True):
    # The tests' own Python lies in a virtual environment, which the scripts then use.
    return subprocess.run(
        [sys.executable, str(ROOT / command[0]), *command[1:], *more],
        cwd=cwd,
        env=environment(plain),
        capture_output=True,
        text=True,
        check=False,
    )


def test_there_are_two_commands():
    assert COMMANDS == ["scripts/demo.py", "scripts/test.py"]


def test_a_command_gets_the_signals_of_its_script():
    """It takes the place of the script's process, so that Ctrl-C and `kill` save a run."""
    shown = "import os; print(os.getpid())"
    code = f"import os, environment; environment.become([{sys.executable!r}, '-c', {shown!r}])"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT / "scripts", stdout=subprocess.PIPE, text=True
    )
    assert process.communicate()[0] == f"{process.pid}\n"


def test_the_first_command_shows_something(tmp_path):
    """A short run of it; the whole is the next test."""
    few = ("--steps", "2", "--units", "8", "--batch", "4", "--length", "10")
    found = run(shlex.split(COMMANDS[0]), *few, cwd=tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
    for part in ("to beat: chance", "bigram", "order 5", "validation:", "best validation"):
        assert part in found.stdout
    assert (tmp_path / "runs" / "text-mlstm-1" / "config.json").is_file()


@pytest.mark.slow
def test_the_first_command_beats_a_bigram_by_far(tmp_path):
    found = run(shlex.split(COMMANDS[0]), cwd=tmp_path)
    (best, bigram) = re.search(
        r"best validation ([\d.]+) .* bigram ([\d.]+)", found.stdout
    ).groups()
    assert float(best) < float(bigram) - 1


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["own_cell.py"])
    with jax.enable_x64(False):
        runpy.run_path(str(ROOT / "examples" / "own_cell.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert "checks passed" in shown and "steps back" in shown
    assert (tmp_path / "gradient_by_lag.png").stat().st_size > 10_000


def test_the_second_command_finds_the_tests(tmp_path):
    """Here it only collects; running them all is what runs this test."""
    found = run(
        shlex.split(COMMANDS[1]),
        "--collect-only",
        "-n",
        "0",
        "tests/test_house.py",
        cwd=tmp_path,
        plain=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "test_house.py" in found.stdout


@pytest.mark.parametrize(
    ("page", "plain"),
    [
        ("README.md", True),
        pytest.param("docs/training.md", True, marks=pytest.mark.slow),
        pytest.param("docs/sequences.md", False, marks=pytest.mark.slow),  # it has scores
    ],
)
def test_the_code_runs(page, plain, tmp_path):
    codes = re.findall(r"```python\n(.+?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    # What reads `runs/stores` needs the commands before it, and is run with them.
    codes = [code for code in codes if "runs/stores" not in code]
    files = [code for code in codes if code.startswith("# mine.py")]  # for a command of the page
    alone = "import sys\nfor code in sys.argv[1:]: exec(code, {'__name__': '__main__'})"
    commands = [["-c", alone, *(code for code in codes if code not in files)]]
    for code in files:
        (tmp_path / "mine.py").write_text(code)
        small = ["--task", "xor", "--steps", "1", "--batch", "2", "--json"]
        own = ["--cell", "mine.py:Slow", "--keep", "0.5"]
        commands.append(["-m", "ostinato", "train", *own, *small])
    for command in commands:
        found = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env=environment(plain=plain),
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, found.stderr


def from_table_to_forecast():
    """The commands of the README from a table to a forecast, and the lines of Python after them."""
    section = README.partition("Tables as people have them")[2].partition("Texts with labels")[0]
    (block,) = re.findall(r"```bash\n(.+?)```", section, flags=re.DOTALL)
    (code,) = re.findall(r"```python\n(.+?)```", section, flags=re.DOTALL)
    commands = [shlex.split(x, comments=True) for x in block.replace("\\\n", "").splitlines()]
    made, trained, lens = commands[:3]
    assert made[1:] == ["data", "make", "stores"] and (trained[1], lens[1]) == ("train", "lens")
    assert len([line for line in code.splitlines() if line]) <= 5
    return commands, code


def forecast_of(code):
    """What the Python of the README prints: the rows of the forecast, and the metrics."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})  # here, because the tests compute in float64
    *lines, metrics = printed.getvalue().strip().split("\n")
    header, *rows = [x.split(",") for x in lines if not x.startswith("#")]
    for row in rows:
        low, middle, high = map(float, row[-3:])
        assert low <= middle <= high
    return header, rows, metrics


INTERVALS = "--quantiles 0.1,0.5,0.9 --conformal --split 80/10/10 --units 16 --steps 200"
TABLES = {  # the options of each, its series, how many rows the forecast has, and when it begins
    "stores.csv": ("", 3, 21, "2024-01-03"),
    "sunspots.csv": (
        f"--target SUNACTIVITY --time YEAR --horizon 12 {INTERVALS}",
        1,
        12,
        "2009",
    ),
    "santafe_laser.npy": (f"--horizon 10 {INTERVALS}", 1, 10, "1"),
}


@pytest.mark.slow
@pytest.mark.data(*(f"timeseries/{name}" for name in TABLES if name != "stores.csv"))
@pytest.mark.parametrize("name", TABLES)
def test_two_commands_and_five_lines_from_a_table_to_a_picture(name, ostinato, tmp_path):
    options, series, count, first = TABLES[name]
    (made, trained, lens, *_), code = from_table_to_forecast()
    if options:
        shutil.copy(Path(os.environ["OSTINATO_DATA"]) / "timeseries" / name, tmp_path)
        trained = ["ostinato", "train", name, *options.split(), "--run", "runs/stores"]
    else:
        assert ostinato(*made[1:])[0] == 0
    for command in (trained, lens):
        status, printed, errors = ostinato(*command[1:])
        assert status == 0, errors
    assert "report: runs/stores/report.html" in printed
    pictures = [*(tmp_path / "runs/stores/report").glob("forecast-*.png")]
    assert len(pictures) == series and all(x.stat().st_size > 10_000 for x in pictures)
    header, rows, metrics = forecast_of(code.replace("stores.csv", name))
    assert len(header[-3:]) == 3 and len(rows) == count and first in rows[0]
    assert "'coverage of the calibrated 0.8 interval'" in metrics


def test_two_commands_lead_to_a_page_a_program_and_an_effect(ostinato, tmp_path, monkeypatch):
    """As they stand, with the files that `data make` writes, and networks that hardly learn."""
    section = README.partition("## Take it with you")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```bash\n(.+?)```", section, flags=re.DOTALL)
    flows = [flow.splitlines() for flow in block.strip().split("\n\n")]
    assert [len(flow) for flow in flows] == [3, 3, 3]
    monkeypatch.chdir(tmp_path)
    small = ["--steps", "2", "--units", "3", "--batch", "2", "--length", "20"]
    for flow in flows:
        for line in flow:
            command, *after = [shlex.split(part, comments=True) for part in line.split("&&")]
            washout = ["--washout", "5"] if "audio" in command else []
            more = [*small, *washout] if command[1] == "train" else []
            code, _, errors = ostinato(*command[1:], *more)
            assert code == 0, (line, errors)
            if after and shutil.which("cc"):
                ran = subprocess.run(
                    line.partition("&&")[2].partition("#")[0],
                    shell=True,
                    capture_output=True,
                    text=True,
                    check=True,
                )
                assert ran.stdout.startswith("step,sales") and ran.stdout.count("\n") == 8
    assert "<script>" in (tmp_path / "writer.html").read_text()
    assert (tmp_path / "driven.wav").read_bytes()[:4] == b"RIFF"
