"""`ostinato contrast` and `ostinato compare`."""

import json
import os

import pytest

from ostinato.cli.arguments import changes

SMALL = ["--tasks", "adding", "--set", "length=5", "--set", "batch=4", "--steps", "3"]
SMALL += ["--budget", "40", "--trials", "1", "--out", "found"]


@pytest.mark.slow
def test_a_table_a_page_and_again_with_resume(ostinato, tmp_path):
    code, out, err = ostinato("contrast", "--cells", "simple", "--seeds", "1", *SMALL)
    assert code == 0, err
    assert "simple, trial 1: " in err and "simple, seed 1: " in err and " 1: " not in out
    assert "mean squared error" in out and "page: found/result.html" in out
    code, out, err = ostinato("contrast", "--out", "found", "--resume", "--json")
    found = json.loads(out)
    assert code == 0 and not err and found["folder"] == "found"
    (row,) = found["groups"][0]["rows"]
    assert row["entry"] == "simple" and len(row["values"]) == 1
    assert found["groups"][0]["comparisons"] == []
    again = ("contrast", "--out", "found", "--resume")
    code, out, err = ostinato(*again, "--seeds", "3")
    assert code == 2 and not out and err.count("\n") == 1
    assert "started with seeds = [1], so it cannot continue with [1, 2, 3]" in err
    code, out, _ = ostinato("runs", "found", "--json")
    assert code == 0 and len(json.loads(out)) == 2
    code, out, err = ostinato("compare", "found/trials/simple/1", "found/seeds/simple/1")
    assert code == 0, err
    assert "seed" in out and "page: comparison.html" in out
    assert (tmp_path / "comparison.html").stat().st_size > 1_000_000
    code, out, _ = ostinato("compare", "found/seeds/simple/1", "--html", "one.html", "--json")
    assert code == 0 and json.loads(out)["page"] == "one.html"


WRONG = [
    (["--cells", "lstn"], "there is no cell 'lstn'"),
    (["--cells", "lstm", "--set", "lenth=5"], "(did you mean length?)"),
    (["--cells", "lstm", "--set", "length"], "--set is name=value"),
    (["--cells", ","], "--cells is names separated by commas; got ','"),
    (["--set", "length=5", "--set", "length=6"], "--set length is given twice"),
    (["--budget", "3"], "more than the budget of 3"),
    (["--seeds", "1", "--test"], "it needs at least two; there is one"),
    (["--seeds", "0"], "seeds is a whole number from 1 on, got 0"),
    (["--set", "units=5", "--budget", "3"], "give either units or a budget"),
    (["--resume"], "--resume needs --out"),
    (["--resume", "--out", "nowhere"], "there is no folder nowhere"),
    (["--resume", "--out", "."], "is not a contrast: it has no contrast.json"),
    (["--out", "."], "is not an empty folder"),
    (["SPEC.toml", "--seeds", "2"], "put --seeds into it"),
    (["none.toml"], "cannot read none.toml"),
    (["none.txt"], "none.txt"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=lambda x: " ".join(x)[:30])
def test_mistakes_are_one_line(ostinato, tmp_path, arguments, words):
    (tmp_path / "SPEC.toml").write_text("seeds = 2\n")
    data = [] if any("." in word for word in arguments) else ["--tasks", "adding"]
    data = [] if "--resume" in arguments else data
    code, out, err = ostinato("contrast", *arguments, *data)
    assert code == 2 and not out and err.count("\n") == 1
    assert err.startswith("ostinato: ") and words in err


def test_what_is_not_a_run_cannot_be_compared(ostinato, tmp_path):
    for arguments, words in {
        ("nowhere",): "there is no run folder nowhere",
        (".",): "is not a run folder: it has no config.json",
    }.items():
        code, out, err = ostinato("compare", *arguments)
        assert code == 2 and not out and words in err


def test_a_comparison_replaces_only_pages(ostinato, adding_run, tmp_path):
    (tmp_path / "sales.csv").write_text("sold\n1\n")
    os.mkfifo(tmp_path / "pipe")
    for name in ("sales.csv", "pipe"):
        code, out, err = ostinato("compare", adding_run, "--html", name)
        assert code == 2 and not out and f"{name}, which is not a page of Ostinato" in err
    assert (tmp_path / "sales.csv").read_text() == "sold\n1\n"
    for _ in range(2):
        code, _, err = ostinato("compare", adding_run, "--html", "page.html")
        assert code == 0, err


def test_values_of_settings_are_those_of_toml():
    given = ["length=7", "clip=2", "rate=1e-2", "bidirectional=true", "units=[3,4]", "cell=gru"]
    assert changes(given) == {
        "length": 7,
        "clip": "2",
        "rate": 0.01,
        "bidirectional": True,
        "units": [3, 4],
        "cell": "gru",
    }
