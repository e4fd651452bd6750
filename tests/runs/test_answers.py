"""What a run answers from Python: the same as on the command line, from memory as from a file."""

import json
import re
import warnings

import numpy as np
import pandas
import pytest

from ostinato.errors import BadInput
from ostinato.runs import Classified, Config
from ostinato.runs.analysis.answers import USES
from ostinato.tasks.target_codec import Classes, LabelSets
from untrained import KINDS, untrained, untrained_run, write_files

VERBS = {
    "text": "sample",
    "bytes": "sample",
    "series": "forecast",
    "quantiles": "forecast",
    "labels": "evaluate",
    "arrays": "classify",
    "classify": "classify",
    "translate": "translate",
    "tag": "tag",
    "caption": "caption",
    "video": "apply",
    "handwriting": "apply",
    "addition": "apply",
    "recall": "evaluate",
    "narma10": "evaluate",
    "adding": "evaluate",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def run_of(files, tmp_path_factory):
    """A run of a kind, made when it is first asked for."""
    made = {}

    def run(kind):
        if kind not in made:
            made[kind] = untrained(kind, files, tmp_path_factory.mktemp("runs") / kind)
        return made[kind]

    return run


def in_memory(path):
    """What a file holds, as a program would have it."""
    if path.suffix == ".csv":
        rows = [line.split(",")[:2] for line in path.read_text().splitlines()[1:]]
        return np.array(rows, float)
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".npz":
        arrays = np.load(path)
        return arrays["x" if "x" in arrays else "images"]
    if path.suffix == ".jsonl":
        return [json.loads(line)["strokes"] for line in path.read_text().splitlines()]
    return path.read_text().splitlines()


@pytest.mark.parametrize("kind", [kind for kind, (*_, given) in KINDS.items() if given])
def test_a_file_what_it_holds_and_the_command_line_give_the_same(kind, run_of, files, ostinato):
    run, file = run_of(kind), files / KINDS[kind][2]
    code, out, _ = ostinato("apply", run.path, file, "--json")
    printed = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and printed
    # Bit for bit: JSON keeps every digit of a number. Names of classes become texts there.
    for given in (file, str(file), in_memory(file)):
        assert json.loads(json.dumps(run.apply(given))) == printed


@pytest.mark.parametrize("kind", KINDS)
def test_another_method_says_what_the_run_does(kind, run_of):
    run, own = run_of(kind), VERBS[kind]
    words = re.escape(f"{run.path} is a run of {run.config.task}; {USES[own]}")
    for verb in set(USES) - {own, "apply", "evaluate"}:
        with pytest.raises(BadInput, match=f"^{words}$"):
            getattr(run, verb)(["x"])


def test_typed_answers(run_of, files):
    texts = run_of("classify").classify(["fine film", "dull film"])
    assert all(isinstance(one, Classified) and one.label in ("bad", "good") for one in texts)
    assert [*texts[0].probabilities] == ["bad", "good"]
    assert sum(texts[0].probabilities.values()) == pytest.approx(1)
    assert texts == run_of("classify").classify(np.array(["fine film", "dull film"]))
    assert texts == run_of("classify").classify(pandas.Series(["fine film", "dull film"], [7, 9]))
    arrays = np.load(files / "arrays.npz")["x"]
    (first, *others) = run_of("arrays").classify(arrays)
    assert first.label in (0, 1) and len(others) == 29
    assert run_of("arrays").classify(files / "arrays.npz")[0] == first
    one = run_of("tag").tag(["the", "dog"])
    assert [word for word, _ in one] == ["the", "dog"]
    assert run_of("tag").tag([["the", "dog"], ["#1"]])[0] == one
    assert run_of("tag").tag(files / "tags.conllu") == [one] * 12
    lines = run_of("translate").translate(["one three"], beam=2)
    assert lines == [x["text"] for x in run_of("translate").apply(["one three"], beam=2)]
    pictures = np.load(files / "pictures.npz")["images"]
    assert len(run_of("caption").caption(pictures[:2])) == 2
    assert len(run_of("caption").caption(pictures[0])) == 1
    assert len(run_of("text").sample("the ", 7)) == 7
    assert "bits per character" in run_of("text").evaluate("test")
    table = files / "table.csv"
    forecast = run_of("quantiles").forecast(table)
    (answer,) = run_of("quantiles").apply(in_memory(table))
    assert forecast.columns == answer["columns"] == ["x 0.1", "x 0.5", "x 0.9"]
    assert forecast.values.reshape(1, 3).tolist() == answer["forecast"]
    assert [*forecast.to_pandas().columns] == ["step", *forecast.columns]


def test_what_was_done_to_a_table_is_said(tmp_path):
    (tmp_path / "films.csv").write_text("said,mark\n" + "fine,good\n\ndull,bad\n" * 8)
    config = Config(file=str(tmp_path / "films.csv"), text="said", label="mark", units=2, batch=2)
    run = untrained_run(config, tmp_path / "run")
    with pytest.warns(UserWarning, match="^8 empty rows were left out$") as said:
        found = run.classify(tmp_path / "films.csv")
    assert len(said) == 1 and said[0].filename == __file__
    first, *others = run.apply(tmp_path / "films.csv")
    assert first["notes"] == ["8 empty rows were left out"] and len(found) == 1 + len(others) == 16
    assert not any("notes" in one for one in others)
    with warnings.catch_warnings(action="error"):
        assert run.classify(["fine", "dull"] * 8) == found


def test_probabilities_and_numbers_are_those_of_the_outputs(run_of):
    """By other formulas, in float64."""
    outputs = np.random.default_rng(0).normal(scale=3, size=(5, 3)).astype(np.float32)
    wide = outputs.astype(np.float64)
    codec = Classes(("a", "b", 3), 0.5)
    each = np.exp(wide) / np.exp(wide).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(codec.probabilities(outputs), each, rtol=1e-6)
    told = codec.told(outputs, n_best=2)
    assert [one["label"] for one in told] == [codec.classes[n] for n in outputs.argmax(1)]
    ranked = [[answer["score"] for answer in one["answers"]] for one in told]
    np.testing.assert_allclose(ranked, -np.sort(-each)[:, :2], rtol=1e-6)
    sets = LabelSets(("a", "b", "c"), 0.5)
    np.testing.assert_allclose(sets.probabilities(outputs), 1 / (1 + np.exp(-wide)), rtol=1e-6)
    for one in sets.told(outputs):
        likely = [name for name, p in one["probabilities"].items() if p > 0.5]
        assert one["label"] == ",".join(likely)


def test_several_labels_are_ranked_on_the_command_line(run_of, files, ostinato):
    code, out, _ = ostinato("apply", run_of("classify").path, files / "lines.txt", "--n-best", 7)
    rows = [line.split("\t") for line in out.splitlines() if line]
    assert code == 0 and sorted(row[1] for row in rows) == ["bad", "good"]
    assert float(rows[0][0]) >= float(rows[1][0])


WRONG = [
    ("classify", "classify", "fine film", "texts must be a list, or the Path of a file"),
    ("classify", "classify", None, "texts must be a list, or the Path of a file"),
    ("classify", "classify", 3, "the lines must be a list of texts, got 3"),
    ("classify", "classify", ["a", 3], "must be a list of texts, got 3 at place 1"),
    (
        "classify",
        "classify",
        pandas.DataFrame({"n": [1], "text": ["a"]}),
        "a table of 2 columns; g",
    ),
    ("classify", "classify", ["a", " "], "line 2 is empty"),
    ("arrays", "classify", "x.npz", "texts must be a list, or the Path"),
    ("arrays", "classify", np.zeros((2, 5, 3)), "the model reads 2 columns, these data have 3"),
    ("arrays", "classify", np.zeros((2, 5), int), "the model reads numbers, floats"),
    ("arrays", "classify", np.full((2, 5, 2), np.nan), "input 0 of sequence 0, step 0"),
    ("arrays", "classify", np.zeros(5), "xs must be"),
    ("arrays", "classify", [], "xs is an empty list"),
    ("arrays", "classify", ["a", "b"], "sequence 0 must be"),
    ("translate", "translate", "one", "lines must be a list, or the Path of a file"),
    ("translate", "translate", [["one"]], "the lines must be a list of texts"),
    ("translate", "translate", {"a": 1}, "the lines must be a list of texts"),
    ("tag", "tag", "the dog", "tokens must be a list, or the Path of a file"),
    ("tag", "tag", ["the dog"], "sentence 1 must be a list of words without spaces"),
    ("tag", "tag", [["the"], []], "sentence 2 has no words"),
    ("tag", "tag", [["the"], "dog"], "sentence 2 must be a list of texts"),
    ("tag", "tag", [["the", 3]], "sentence 1 must be a list of texts, got 3"),
    ("tag", "tag", [], "sentence 1 has no words"),
    ("tag", "tag", 3, "the lines must be a list of texts, got 3"),
    ("caption", "caption", np.zeros((2, 4, 4, 3), np.uint8), "the pictures have 4 × 4"),
    ("caption", "caption", [np.zeros((8, 8, 3)), np.zeros((4, 4, 3))], "their sizes differ"),
    ("caption", "caption", "x.txt", "pictures are read from .npy and .npz files"),
    ("caption", "caption", ["a"], "pictures must be"),
    ("series", "forecast", np.zeros((30, 3)), "2 names|columns"),
    ("series", "forecast", "nothing.csv", "there is no file"),
    ("series", "forecast", None, "standard input is not read"),
    ("series", "forecast", [["a", "b"]], "."),
    ("text", "sample", 3, "prompt must be a text; got 3"),
    ("text", "evaluate", "train", "the part must be valid or test"),
    ("text", "apply", ["x"], "cannot be applied|sample"),
    ("handwriting", "apply", [], "a list of at least one drawing"),
    ("handwriting", "apply", [[[0, 0]]], "drawing 0: stroke 0 must be"),
    ("video", "apply", np.zeros((2, 1, 5, 5), np.uint8), "the clips have 1 frames"),
    ("addition", "apply", "-", "standard input is not read"),
]


@pytest.mark.parametrize("kind, verb, given, words", WRONG)
def test_a_wrong_input_gets_one_line(kind, verb, given, words, run_of):
    with pytest.raises(BadInput, match=words) as error:
        getattr(run_of(kind), verb)(given)
    assert "\n" not in str(error.value)


def test_wrong_options_get_one_line(run_of):
    for kind, options, words in [
        ("classify", {"beam": 3}, "--beam means nothing for a run of the task classify"),
        ("classify", {"n_best": 0}, "--n-best must be from 1 to 1000"),
        ("classify", {"nothing": 1}, "--nothing means nothing"),
        ("translate", {"n_best": 9}, "--n-best must be from 1 to the width of the beam, 5"),
        ("arrays", {"n_best": "2"}, "--n-best must be of type int"),
    ]:
        with pytest.raises(BadInput, match=words):
            run_of(kind).apply(["x"], **options)
    with pytest.raises(BadInput, match="--steps must be from 1"):
        run_of("series").forecast(np.zeros((30, 2)), steps=0)
