"""Every command of the README does what it shows after a plain `pip install .`, in a small size."""

import io
import re
import runpy
import shlex
import sys
import warnings
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from ostinato.contrast import Spec, contrast
from test_readme import forecast_of, from_table_to_forecast

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
SMALL = ["--steps", "1", "--units", "4"]


@pytest.fixture
def plain(monkeypatch):
    """The packages of all extras, which cannot be imported during the test."""
    monkeypatch.setattr(PathFinder, "find_spec", PathFinder.find_spec)  # so that it is restored
    hidden = runpy.run_path(str(ROOT / "tests" / "plain" / "sitecustomize.py"))["EXTRAS"]
    for name in [name for name in sys.modules if name.partition(".")[0] in hidden]:
        monkeypatch.delitem(sys.modules, name)
    warnings.filterwarnings("always", message=".* pip install")  # not once for all commands
    return hidden


def shown():
    """The lines of the README's shell examples, without their comments."""
    blocks = re.findall(r"```bash\n(.+?)```", README, flags=re.DOTALL)
    # What leaves Ostinato is run by tests/test_readme.py; a command may go on in the next line.
    whole = [block.replace("\\\n", " ") for block in blocks if "ostinato export" not in block]
    lines = [line for block in whole for line in block.splitlines() if line.strip()]
    return [shlex.split(line, comments=True) for line in lines]


def test_the_commands_of_the_readme(tmp_path, ostinato, plain, monkeypatch):
    lines, (table, forecast) = shown(), from_table_to_forecast()
    assert len(lines) == 22 and all(words in lines for words in table)
    for words in lines:
        if words[0] == "pip":
            continue
        if words[0] == "echo":  # echo WORDS | ostinato ...
            given = io.BytesIO(f"{words[1]}\n".encode())
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given))
            words = words[words.index("|") + 1 :]
        assert words[0] == "ostinato"
        code, out, err = ostinato(*words[1:], *(SMALL if words[1] == "train" else []))
        if words[1] == "studio":  # the README names its extra in the line before
            hint = ": pip install '.[studio]' in the source folder\n"
            assert code == 2 and err.endswith(hint), err
        elif words[1] == "lens":
            assert code == 0 and "report: " in out, err
            assert err.count("\n") == 2 == err.count("pip install '.[plot]'"), err
        else:
            assert code == 0, (words, err)
            assert all(line.startswith("data: ") for line in err.splitlines()), (words, err)
        if words in table and words[1] not in ("train", "lens"):
            assert max(map(len, out.splitlines())) <= 80, (words, out)
    pages = [tmp_path / "runs" / name / "report.html" for name in ("series-mlstm-1", "adding")]
    for page in pages:
        assert "pip install &#x27;.[plot]&#x27; in the source folder" in page.read_text()
        assert 'class="plot"' not in page.read_text()
    (tmp_path / "few.tsv").write_text("forty-two\tquarante-deux\n")
    code, out, err = ostinato("evaluate", "runs/numbers", "few.tsv", "--json")
    assert code == 0 and '"exact, beam of 5"' in out, err
    assert err == (
        "ostinato: warning: left out: BLEU needs sacrebleu: pip install '.[translate]' "
        "in the source folder\n"
    )
    code, out, err = ostinato("compare", "runs/text-mlstm-1", "runs/adding")
    assert code == 0 and "page: comparison.html" in out and err.count("\n") == 1, err
    header, rows, metrics = forecast_of(forecast)
    assert header == ["store", "date", "sales 0.1", "sales 0.5", "sales 0.9"]
    assert len(rows) == 3 * 7 and rows[0][:2] == ["market", "2024-01-03"]
    assert "'coverage of the calibrated 0.8 interval'" in metrics


def test_a_contrast_tunes(tmp_path, plain):
    settings = {"length": 5, "units": 2, "batch": 2, "steps": 2}
    given = {"cells": ["simple"], "tasks": ["adding"], "trials": 2, "seeds": 1}
    with pytest.warns(
        UserWarning,
        match=r"no chart is on this page: .* pip install '\.\[plot\]' in the source folder",
    ):
        result = contrast(Spec.from_dict({**given, "settings": settings}), tmp_path / "one")
    assert len(result.groups[0].rows[0].values) == 1
    assert (tmp_path / "one" / "result.html").is_file()
