"""Whatever goes wrong is one clear line, and with --json one JSON document."""

import errno
import io
import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import safetensors.numpy

from ostinato.cli import arguments, output
from ostinato.errors import BadInput
from ostinato.lens.doctor import Finding
from ostinato.runs import open_run

TEXT = "the cat sat on the mat.\nthe rat ran to the cat.\n" * 12


@pytest.fixture
def run(cat_run):
    return cat_run


@pytest.fixture
def damaged(run, tmp_path):
    """The run, with weights that are no numbers."""
    found = shutil.copytree(run, tmp_path / "damaged")
    for file in (found / "checkpoints").iterdir():
        with safetensors.safe_open(file, "numpy") as opened:
            notes = opened.metadata()
        del notes["sha256"]  # as in a file of an earlier version
        arrays = safetensors.numpy.load_file(file)
        floats = {name: x for name, x in arrays.items() if x.dtype.kind == "f"}
        wrong = {name: np.full_like(x, np.nan) for name, x in floats.items()}
        safetensors.numpy.save_file({**arrays, **wrong}, file, notes)
    return found


WRONG = [
    (["train", "--foo"], "no such option --foo"),
    (["train", "--unit", "3"], "no such option --unit (did you mean --units?)"),
    (["train", "--layers", "x"], "value for '--layers': it must be a whole number; got x; see"),
    (["train", "x.csv", "--horizon", "1.5"], "'--horizon': it must be a whole number; got 1.5;"),
    (["train", "--rate", "fast"], "'--rate': it must be a number; got fast; see ostinato train"),
    (["apply", "x", "--save", "a.npy", "--out", "b.npy"], "--save and --out are two names of one"),
    (["train", "--units", "x"], "must be a whole number, or one per layer like 150,130"),
    (["train", "--run", ""], "a path cannot be empty"),
    (["sample"], "; see ostinato sample --help"),
    (["sample", "nowhere"], "there is no run folder nowhere"),
    (["sample", "no\nwhere\x1b"], "there is no run folder no\\nwhere\\x1b"),
    (["sample", "\udcff"], "there is no run folder \\udcff"),
    (["evaluate", "nowhere", "--seed", str(2**63)], "--seed must be from 0 to 4294967295, got 9"),
    (["lens", "nowhere"], "there is no run folder nowhere"),
    (["verify", "nope"], "there is no claim nope; there are toy-net, hochreiter-bound, "),
    (["data", "get", "nope"], "there is no data set 'nope'; there are tinyshakespeare"),
    (["data", "nope"], "no such command 'nope'; see ostinato data --help"),
    (["trian"], "there is no verb 'trian'; did you mean train?"),
    (["predict"], "there is no verb 'predict'; use apply; see ostinato apply --help"),
    (["tune", "x.csv"], "there is no verb 'tune'; use contrast; see ostinato contrast --help"),
    (["Eval", "runs/a"], "there is no verb 'Eval'; use evaluate; see ostinato evaluate --help"),
    (["sample", "n" * 5000], "File name too long"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=lambda x: str(x)[:20])
def test_one_line_and_one_document(ostinato, arguments, words):
    code, out, err = ostinato(*arguments)
    assert code == 2 and not out
    assert err.startswith("ostinato: ") and err.count("\n") == 1
    shown = err.encode("utf-8", "backslashreplace").decode()
    assert words in shown and len(shown) < 3000
    code, out, again = ostinato(*arguments, "--json")
    found = json.loads(out)
    assert code == 2 and found["exit"] == 2 and set(found) == {"error", "exit"}
    assert again == err == f"ostinato: {found['error']}\n"


def test_a_run_that_diverges_is_a_document_too(ostinato, run):
    text = open_run(run).config.file
    rate = ("--rate", "1e9", "--clip", "off", "--steps", "4", "--units", "4", "--batch", "4")
    code, out, err = ostinato("train", text, *rate, "--json")
    assert code == 3 and json.loads(out)["exit"] == 3
    assert err == f"ostinato: {json.loads(out)['error']}\n"
    assert "smaller --rate (it was 1e+09)" in err and "Last good checkpoint" in err


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch, capsys, run):
    from ostinato import cli

    def broken(*_):
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr("ostinato.runs.analysis.playing.opening", broken)
    monkeypatch.setattr(sys, "argv", ["ostinato", "sample", str(run), "--json"])
    with pytest.raises(ZeroDivisionError):
        cli.main()
    assert json.loads(capsys.readouterr().out)["exit"] == 1


@pytest.mark.parametrize(
    "error", [MemoryError("Unable to allocate 9 GiB"), OSError(errno.EIO, "broken", "some/file")]
)
def test_the_machine_s_limits(ostinato, monkeypatch, run, error):
    def failing(*_):
        raise error

    monkeypatch.setattr("ostinato.runs.analysis.playing.opening", failing)
    code, _, err = ostinato("sample", run)
    assert code == 2 and err.count("\n") == 1
    assert "out of memory (Unable to allocate 9 GiB)" in err or "some/file: broken" in err


def test_weights_that_are_no_numbers(ostinato, damaged):
    for verb in (
        ["sample", damaged],
        ["sample", damaged, "--beam", "2"],
        ["evaluate", damaged],
        ["evaluate", damaged, "--samples", "0"],
        ["lens", damaged],
    ):
        code, out, err = ostinato(*verb, "--json")
        assert code == 2 and "not finite" in err and err.count("\n") == 1
        assert "not finite" in json.loads(out, parse_constant=pytest.fail)["error"]


def test_options_of_another_verb_are_not_advised(ostinato, run, tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"cat\xe9")
    (tmp_path / "binary").write_bytes(b"a\0t")
    for name, words in (("latin.txt", "byte 0xe9 at position 3"), ("binary", "holds zero bytes")):
        for verb in (["evaluate", run, name], ["lens", run, "--data", name]):
            code, _, err = ostinato(*verb)
            assert code == 2 and words in err and "--" not in err


def test_lens_as_json(ostinato, monkeypatch, run):
    finding = Finding("rate too high", "what is wrong", "the numbers", "what to try")
    monkeypatch.setattr("ostinato.cli.lens.examine", lambda *_, report, devices: [finding])

    def written(about, *_, report, measures):
        return about.run.path / "report.html"

    monkeypatch.setattr("ostinato.cli.lens.write_page", written)
    code, out, err = ostinato("lens", run, "--json")
    assert code == 0 and not err
    assert json.loads(out) == {
        "run": str(run),
        "findings": [finding._asdict()],
        "report": str(run / "report.html"),
    }


def test_folders_that_cannot_be_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "lost").symlink_to("nowhere")

    def refused(name):
        with pytest.raises(BadInput) as error:
            arguments.check_new_folder(arguments.path(name), "--run")
        return str(error.value)

    assert refused("file") == "--run must be a folder; file is a file"
    assert refused("file/run") == "--run file/run cannot be created: file is a file"
    assert "Too many levels of symbolic links" in refused("loop")
    assert "lost is a broken link" in refused("lost/run")
    assert "File name too long" in refused("n" * 300)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "cannot be written to: no permission" in refused("new")
    monkeypatch.undo()
    arguments.check_new_folder(tmp_path / "a" / "b", "--run")
    assert not (tmp_path / "a").exists()


def start(*arguments, variables=None, **options):
    command = [sys.executable, "-m", "ostinato", *map(str, arguments)]
    # As the runs of these tests.
    environment = {**os.environ, "JAX_ENABLE_X64": "1", **(variables or {})}
    return subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, **options)


def test_standard_output_that_takes_nothing():
    """Closed, full, gone, or of ASCII alone; each verb that writes goes the same way."""
    with open("/dev/full", "w") as full, start("data", "list", stdout=full) as found:
        err = found.stderr.read().decode()
    assert found.returncode == 2
    assert err == "ostinato: cannot write to standard output: No space left on device\n"

    command = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "ostinato", "data", "list"]
    found = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr.startswith("ostinato: standard output is closed")

    with start("data", "list", stdout=subprocess.PIPE) as found:
        found.stdout.close()
        assert found.stderr.read() == b""
    assert found.returncode == 141


def test_text_that_standard_output_cannot_encode(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    output.mend_streams()
    with output.writing():
        print("é")
        print("path \udcff")
    assert raw.getvalue() == b"\\xe9\npath \xff\n"


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_signal_while_jax_is_imported(tmp_path, options):
    """Here a package takes the place of JAX that says so, and then waits."""
    (tmp_path / "jax.py").write_text("import os, time\nos.write(2, b'here')\ntime.sleep(60)\n")
    paths = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    with start(
        "verify", *options, stdout=subprocess.PIPE, variables={"PYTHONPATH": paths}
    ) as found:
        assert found.stderr.read(4) == b"here"
        found.send_signal(signal.SIGINT)
        out, err = found.stdout.read(), found.stderr.read()
    assert found.returncode == -signal.SIGINT and err == b""
    if options:
        assert json.loads(out) == {"error": "interrupted by SIGINT", "exit": 130}


def test_resume_takes_the_run_s_own_file_from_anywhere(ostinato, tmp_path):
    (tmp_path / "book.txt").write_text(TEXT)
    small = ("--units", "4", "--batch", "4", "--length", "10", "--steps", "1")
    assert ostinato("train", "book.txt", *small, "--run", "r", "--json")[0] == 0
    again = ostinato("train", "./book.txt", "--resume", "--run", "r", "--steps", "2", "--json")
    assert again[0] == 0, again
    (tmp_path / "other.txt").write_text(TEXT[::-1])
    code, _, err = ostinato("train", "other.txt", "--resume", "--run", "r")
    assert code == 2 and "other.txt is not, or no longer, what r was trained on" in err


def test_what_cannot_fit_is_refused_before_a_folder_is_made(ostinato, tmp_path):
    for option in ("--units", "--batch", "--length"):
        code, _, err = ostinato("train", "--task", "adding", option, 10**9)
        assert code == 2 and "this needs at least" in err and "of memory" in err, err
    code, _, err = ostinato("train", "--task", "adding", "--budget", 10**15)
    assert code == 2 and "fewer --units, --layers or --budget" in err
    code, _, err = ostinato("train", "--task", "adding", "--learner", "es", "--units", 10**5)
    assert code == 2 and "or fewer --directions" in err, err
    assert list(tmp_path.iterdir()) == []
