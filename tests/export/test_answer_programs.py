"""A run that gives labels or numbers becomes a program that prints what the library answers."""

import functools
import json
import subprocess

import numpy as np
import pytest

from compare import same_numbers
from ostinato import Config
from ostinato.errors import BadInput
from ostinato.export.run_export import export_run
from ostinato.tasks import Adding, Arrays, Classify, Series
from untrained import untrained_run

from .test_run_export import compiled, in_browser, in_node

RNG = np.random.default_rng(0)
ROWS = np.where(RNG.random((60, 2)) < 0.1, np.nan, RNG.normal(size=(60, 2)))
TEXTS = ["ein Bär sagt ja", "nein sagt er", "ja ja", "a */ b"] * 6


def of_series():
    labels = np.array(["auf\tab", 'zu "spät" ä'])[(np.nansum(ROWS, 1) > 0).astype(int)]
    return Series(ROWS, ys=labels, names=["a */ b", "b\\"], missing="mask", length=9)


def of_numbers():
    return Arrays(RNG.normal(size=(20, 7, 3)), 100 + 5 * RNG.normal(size=(20, 2)))


def of_symbols():
    return Arrays(RNG.integers(0, 6, (20, 7)), RNG.integers(0, 3, 20))


def of_words():
    return Classify(TEXTS, ["ja", "nein", "ja", "nein"] * 6, length=3)


def of_letters():
    labels = [["ja", "kurz"], ["nein"], ["kurz"], []] * 6
    return Classify(TEXTS, labels, level="characters", kind="multilabel")


def table(rows):
    return "\n".join(",".join("" if np.isnan(x) else repr(float(x)) for x in row) for row in rows)


# Each task, what its program reads, and as many streams as there are answers.
CASES = {
    "series": (
        of_series,
        'other,"a */ b",b\\\n' + "\n".join(f"7,{x}" for x in table(ROWS).split()),
    ),
    "numbers": (of_numbers, table(RNG.normal(size=(5, 3)))),
    "symbols": (of_symbols, "1 2 5 0\n\n3 3\n"),
    "words": (of_words, "\ufeffnein ein Bär\nunbekannt  ja\n"),
    "letters": (of_letters, "ein Bär\nΩ a b"),
}


def answered(run, name, text):
    """What streams of the run say, a line each as the program prints them."""
    lines, stream = [x for x in text.lstrip("\ufeff").splitlines() if x], run.stream()
    if name == "series":
        return [stream.step(row) for row in ROWS]
    if name == "numbers":
        return [stream.step([float(x) for x in line.split(",")]) for line in lines]
    if name == "symbols":
        return [run.stream().read([int(x) for x in line.split()]) for line in lines]
    return run.classify(lines)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The run of a case, and its program, made when it is asked for."""
    folder = tmp_path_factory.mktemp("answers")

    @functools.cache
    def make(name):
        config = Config(cell="gru", units=4, batch=2)
        run = untrained_run(config, folder / f"run of {name}", CASES[name][0]())
        export_run(run, "c", folder / name)
        return run, compiled(folder, name)

    return make


@pytest.mark.parametrize("name", CASES)
def test_a_program_prints_the_answers_of_the_run(name, made):
    (run, program), text = made(name), CASES[name][1]
    ran = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    lines, expected = ran.stdout.split("\n")[:-1], answered(run, name, text)
    if name == "numbers":
        told = [[float(x) for x in line.split(",")] for line in lines]
        same_numbers(told, expected)
        return
    heads, *rows = (line.split("\t") for line in lines)
    labels = [*expected[0].probabilities]
    assert heads == ["answer", *(" ".join(str(x).split()) for x in labels)]
    assert [row[0] for row in rows] == [" ".join(str(x.label).split()) for x in expected]
    shares = [[float(x) for x in row[1:]] for row in rows]
    np.testing.assert_allclose(shares, [[*x.probabilities.values()] for x in expected], rtol=1e-5)


@pytest.mark.parametrize("where", [in_node, in_browser])
@pytest.mark.parametrize("name", CASES)
def test_a_page_shows_the_answers_of_the_run(where, name, made, tmp_path):
    run, text = made(name)[0], CASES[name][1]
    (page,) = export_run(run, "html", tmp_path / "page")
    heads, cells, said = where(
        page,
        f"""
        const texts = (path) => [...document.querySelectorAll(path)].map((x) => x.textContent);
        const paste = (words) => {{ find("table").value = words; show(); }};
        paste({json.dumps(text)});
        const told = [texts("#out th"), texts("#out td")];
        paste("");
        return [...told, find("wrong").textContent];
        """,
    )
    expected = answered(run, name, text)
    rows = [cells[n + 1 : n + len(heads)] for n in range(0, len(cells), len(heads))]
    assert len(rows) == len(expected) and said in (
        "There is nothing to read.",
        "The table needs at least one row.",
        "The table needs a line of names and at least one row.",
    )
    if name == "numbers":
        same_numbers(np.array(rows, float), expected)
        return
    assert heads[1:] == ["answer", *map(str, expected[0].probabilities)]
    assert [row[0] for row in rows] == [str(one.label) for one in expected]
    shares = [[float(x) for x in row[1:]] for row in rows]
    np.testing.assert_allclose(shares, [[*x.probabilities.values()] for x in expected], atol=6e-5)


@pytest.mark.parametrize(
    "name, text, words",
    [
        ("series", "", "the table is empty"),
        ("series", "a */ b\n1\n", "no column b\\"),
        ("series", "a */ b,b\\\n1,x\n", "row 1, b\\: x is no number"),
        ("numbers", "1,2\n", "row 1: a row has 3 cells, got 2"),
        ("numbers", "1,2,\n", "row 1, number 3: a value is missing"),
        ("symbols", "1 6\n", "line 1: 6 is no symbol from 0 to 5"),
        ("symbols", "1 -1\n", "line 1: -1 is no symbol"),
    ],
)
def test_a_wrong_line_is_refused(name, text, words, made):
    _, program = made(name)
    ran = subprocess.run([program], input=text, capture_output=True, text=True, check=False)
    assert ran.returncode == 2 and words in ran.stderr and ran.stderr.count("\n") == 1


def test_what_means_nothing_leaves_as_numbers(tmp_path):
    """A task without an interface: the network in any form that does not need one."""
    run = untrained_run(Config(cell="gru", units=2, batch=2), tmp_path / "adding", Adding(length=5))
    (header,) = export_run(run, "c", tmp_path / "sum")
    assert "its task does not say what they mean" in header.read_text()
    assert "#define SUM_INPUTS 2" in header.read_text()
    for to in ("onnx", "torch"):
        assert len(export_run(run, to, tmp_path / "sum")) == 2
    with pytest.raises(BadInput, match="for which there is no page; export it to c, onnx or torch"):
        export_run(run, "html", tmp_path / "page")
    with pytest.raises(BadInput, match="does not say what a step of its network means"):
        run.stream()
