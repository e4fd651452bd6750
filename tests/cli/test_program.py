"""`ostinato program run | list | show`."""

import json
import re
import warnings
from pathlib import Path

import pytest

from ostinato.cli import program as verb
from ostinato.symbolic import State, compile_program, parse
from ostinato.symbolic.compiler import _figure
from ostinato.symbolic.language import EXAMPLES

ENDLESS = "again: inc x\ngoto again\n"


def test_both_traces_side_by_side(ostinato):
    code, out, err = ostinato("program", "run", "addition", "--inputs", "a=3", "b=4")
    assert code == 0 and not err
    assert "a  sum  b   ┃ a  sum  b" in out and "│ 40   │ halted " in out
    assert "(2 more)" in out and out.endswith("16 units, 40 steps; the traces agree\n")
    (last,) = [line for line in out.splitlines() if "halted" in line]
    assert last.count("0    7  0") == 2


def test_json_is_the_whole_answer(ostinato):
    code, out, _ = ostinato("program", "run", "gcd", "--inputs", "a=12", "b=18", "--json")
    found = json.loads(out)
    assert code == 0 and found["agree"] and found["variables"]["gcd"] == 6
    assert found["inputs"] == {"a": 12, "b": 18}
    assert len(found["first"]) == 20 and len(found["last"]) == 10 and found["between"] > 100
    assert found["last"][-1]["network"] == found["variables"] == found["last"][-1]["interpreter"]
    assert found["last"][-1]["line"] is None and found["last"][-1]["step"] == found["steps"]


def test_your_own_file_and_a_picture(ostinato, tmp_path):
    (tmp_path / "mine.txt").write_text("inc x\n")
    code, out, _ = ostinato("program", "run", "mine.txt", "x=41", "--picture", "network.png")
    assert code == 0 and "picture: network.png" in out and "│ 1    │ halted      │ 42" in out
    assert (tmp_path / "network.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_replaces_only_an_earlier_one(ostinato, tmp_path):
    (tmp_path / "mine.txt").write_text("inc x\n")
    photo = tmp_path / "photo.png"
    photo.write_bytes(b"\x89PNG taken by somebody")
    for name in ("photo.png", "mine.txt"):
        code, _, err = ostinato("program", "run", "mine.txt", "--picture", name)
        refused = f"--picture would replace {name}, which is not a picture of Ostinato"
        assert code == 2 and err == f"ostinato: {refused}; give another file\n"
    assert photo.read_bytes() == b"\x89PNG taken by somebody"
    for _ in range(2):
        code, _, err = ostinato("program", "run", "mine.txt", "--picture", "network.png")
        assert code == 0 and not err


def test_a_narrow_terminal_loses_no_column(ostinato, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    code, out, _ = ostinato("program", "run", "prime", "n=2")
    assert code == 0 and "│ 0    │ 2: ifzero n │ 2  0" in out
    assert "step ┃ instruction" in out and out.count("d_kept  prime") == 2


@pytest.mark.parametrize("name", ["a", "a_variable_whose_name_is_longer_than_a_line"])
def test_names_in_a_picture_are_not_cut_off(name):
    drawn = _figure(compile_program(parse(f"inc {name}\ndec {name}\n")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn.canvas.draw()
    (axes,) = drawn.axes
    words = [*axes.get_xticklabels(), *axes.get_yticklabels(), drawn.texts[0]]
    for box in (text.get_window_extent() for text in words):
        assert box.x0 >= 0 and box.y0 >= 0
        assert box.x1 <= drawn.bbox.x1 and box.y1 <= drawn.bbox.y1


def test_float64_goes_beyond_float32(ostinato, tmp_path):
    (tmp_path / "mine.txt").write_text("inc x\ninc x\n")
    code, out, err = ostinato("program", "run", "mine.txt", "x=16777215")
    words = "x reaches 16777216 at step 1, and float32 counts no further without gaps"
    assert code == 2 and not out
    assert err == f"ostinato: mine.txt, line 2: {words}; run it in float64 (--float64)\n"
    code, out, _ = ostinato("program", "run", "mine.txt", "x=16777215", "--float64")
    assert code == 0 and "16777217" in out


WRONG = [
    (["nowhere.txt"], "there is no file nowhere.txt"),
    (["."], "is a folder"),
    (["additon"], "there is no file or example additon; did you mean addition?"),
    (["bad.txt"], "bad.txt, line 2, column 3: there is no instruction 'increase'; there are"),
    (["gcd", "--inputs", "c=1"], "gcd has no variable c; its variables are a, b, smaller, gcd"),
    (["gcd", "--inputs", "a=-1"], "an input is a whole number from 0 on; got 'a=-1'"),
    (["gcd", "--inputs", "a=1.5"], "an input is a whole number from 0 on; got 'a=1.5'"),
    (["gcd", "--inputs", "a"], "an input is written as variable=number, like a=3; got 'a'"),
    (["gcd", "a=1", "a=2"], "the input a is given twice"),
    (["gcd", "a=16777217"], "a = 16777217 is larger than 16777216, up to which float32 holds"),
    (["gcd", "a=" + 40 * "9"], "9999 is larger than 16777216, up to which float32 holds"),
    (["gcd", "--steps", "0"], "invalid value for '--steps'"),
    (["gcd", "--picture", "no/x.png"], "--picture must be a file in an existing folder, got no/x"),
    (["gcd", "--picture", "."], "--picture must be a file in an existing folder, got ."),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=lambda x: " ".join(x)[:30])
def test_mistakes_are_one_line(ostinato, tmp_path, arguments, words):
    (tmp_path / "bad.txt").write_text("inc x\n  increase x\n")
    code, out, err = ostinato("program", "run", *arguments)
    assert code == 2 and not out and err.count("\n") == 1
    assert err.startswith("ostinato: ") and words in err
    code, out, _ = ostinato("program", "run", *arguments, "--json")
    assert code == 2 and words in json.loads(out)["error"]


def test_an_endless_program_is_one_line_after_its_trace(ostinato, tmp_path):
    (tmp_path / "endless.txt").write_text(ENDLESS)
    code, out, err = ostinato("program", "run", "endless.txt", "--steps", "5000")
    assert code == 2 and "(4,971 more)" in out
    assert err == (
        "ostinato: endless.txt has not halted after 5000 steps of the network; give more --steps, "
        "or it may run forever\n"
    )
    code, out, _ = ostinato("program", "run", "endless.txt", "--steps", "5000", "--json")
    assert code == 2 and json.loads(out)["error"] in err


def test_a_difference_shows(ostinato, monkeypatch):
    """An interpreter that adds 2 where the program says 1."""
    from ostinato.symbolic import execution

    wrong = [State(0, (0,)), State(None, (2,))]
    monkeypatch.setattr(verb, "load_program", lambda _: parse("inc x"))
    monkeypatch.setattr(execution, "interpret", lambda *_: iter(wrong))
    code, out, _ = ostinato("program", "run", "addition")
    assert code == 1 and "THE TRACES DIFFER" in out
    code, out, _ = ostinato("program", "run", "addition", "--json")
    assert code == 1 and not json.loads(out)["agree"]


def test_the_examples_are_listed_and_shown(ostinato):
    code, out, _ = ostinato("program", "list")
    assert code == 0 and all(f"{name} " in out for name in EXAMPLES)
    assert [x["name"] for x in json.loads(ostinato("program", "list", "--json")[1])] == [*EXAMPLES]
    assert parse(ostinato("program", "show", "gcd")[1]).variables[-1] == "gcd"
    code, _, err = ostinato("program", "show", "nope")
    assert code == 2 and "there is no example nope; there are addition" in err


PAGE = Path(__file__).parents[2] / "docs" / "programs.md"
COMMANDS = re.findall(r"(?m)^    ostinato (.+)$", PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("verb", ["program", pytest.param("train", marks=pytest.mark.slow)])
def test_the_commands_of_the_page_run(ostinato, verb):
    found = [command for command in COMMANDS if command.startswith(verb)]
    assert len(found) >= 3
    for command in found:
        code, out, err = ostinato(*command.split())
        assert code == 0 and out, f"{command}: {err}"
