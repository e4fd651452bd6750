"""`ostinato apply`: a trained run on new input."""

import json
import re

import pytest

from ostinato.runs import Config, train

WORDS = {"one": "un", "two": "deux", "three": "trois"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small translation that is learned well enough."""
    folder = tmp_path_factory.mktemp("translate")
    names = [*WORDS]
    sources = [f"{a} {b}" for a in names for b in names] * 8
    targets = [" ".join(WORDS[word] for word in line.split()) for line in sources]
    for name, lines in (("a.en", sources), ("a.fr", targets)):
        (folder / name).write_text("\n".join(lines) + "\n")
    config = Config(
        task="translate",
        source=str(folder / "a.en"),
        target=str(folder / "a.fr"),
        level="words",
        cell="gru",
        units=16,
        embedding=8,
        batch=24,
        steps=150,
        rate=0.02,
        validate_every=150,
    )
    return train(config, folder / "run").path


def given(monkeypatch, text):
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_lines_of_a_file_are_translated(run, ostinato, tmp_path):
    (tmp_path / "b.en").write_text("one two\n\nthree one\n")
    code, out, _ = ostinato("apply", run, "b.en")
    assert code == 0 and out == "un deux\n\ntrois un\n"


def test_standard_input_and_several_answers(run, ostinato, monkeypatch):
    given(monkeypatch, "two two\n")
    code, out, _ = ostinato("apply", run, "--n-best", 3, "--beam", 4)
    lines = out.splitlines()
    assert code == 0 and len(lines) == 4 and not lines[-1]
    scores = [float(line.split("\t")[0]) for line in lines[:3]]
    assert lines[0].split("\t")[1] == "deux deux" and scores == sorted(scores, reverse=True)


def test_a_refused_option_is_named_as_it_was_written(run, ostinato, tmp_path):
    (tmp_path / "b.en").write_text("one two\n")
    for option in ("--out", "--save"):
        code, _, err = ostinato("apply", run, "b.en", option, "b.fr")
        assert code == 2 and f"{option} means nothing for a run of the task translate" in err
        code, _, err = ostinato("apply", run, "b.en", option, "nowhere/b.fr")
        assert code == 2 and f"{option} must be a file in an existing folder" in err


def test_answers_drawn_at_random(run, ostinato, tmp_path):
    # Two blocks of lines, drawn with keys of their own.
    (tmp_path / "b.en").write_text("one two\n" * 70)
    asked = ("apply", run, "b.en", "--temperature", "3", "--n-best", "6", "--json")
    code, out, _ = ostinato(*asked, "--seed", "1")
    found = [tuple(a["text"] for a in json.loads(line)["answers"]) for line in out.splitlines()]
    assert code == 0 and len(found) == 70 and len(set(found)) > 60
    assert found[0] != found[64]
    assert ostinato(*asked, "--seed", "1")[1] == out != ostinato(*asked)[1]
    code, out, _ = ostinato("apply", run, "b.en", "--temperature", "0")
    assert code == 0 and set(out.splitlines()) == {"un deux"}
    code, _, err = ostinato("apply", run, "b.en", "--temperature", "-1")
    assert code == 2 and err == "ostinato: --temperature must be from 0 to 100, got -1.0\n"


def test_given_answers_are_scored_as_the_search_scores_them(run, ostinato, tmp_path, monkeypatch):
    given(monkeypatch, "two one\n")
    _, out, _ = ostinato("apply", run, "--json")
    best = json.loads(out)["answers"][0]
    (tmp_path / "b.en").write_text("two one\ntwo one\n")
    (tmp_path / "b.fr").write_text(best["text"] + "\ntrois trois\n")
    code, out, _ = ostinato("apply", run, "b.en", "--targets", "b.fr", "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and found[0]["score"] == pytest.approx(best["score"], abs=1e-4)
    assert found[1]["score"] < found[0]["score"]


def test_where_it_looked_is_drawn(run, ostinato, tmp_path, monkeypatch):
    given(monkeypatch, "one three\n")
    code, out, _ = ostinato("apply", run, "--pictures", "looks", "--json")
    assert code == 0 and (tmp_path / "looks" / "1.png").stat().st_size > 1000
    picture = json.loads(out)["picture"]
    assert picture["columns"] == ["one", "three", "⟨end⟩"]
    assert all(sum(row) == pytest.approx(1, abs=1e-5) for row in picture["values"])


def test_evaluate_gives_the_scores_of_what_is_written(run, ostinato):
    code, out, _ = ostinato("evaluate", run, "--json")
    metrics = json.loads(out)["metrics"]
    assert code == 0 and metrics["exact match"] == metrics["exact, beam of 5"] == 1
    assert any(name.startswith("BLEU (nrefs:1|case:mixed") for name in metrics)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("one\n" + "two " * 10_000 + "\n", [], "line 2 has 10,000 symbols"),
        ("one\n", ["--beam", 0], "--beam must be from 1 to 1000, got 0"),
        ("one\n", ["--beam", 10**6], "--beam must be from 1 to 1000, got 1000000"),
        ("one\n", ["--temperature", 1, "--beam", 3], "--beam means nothing with --temperature"),
        ("one\n", ["--seed", 1], "give --temperature too"),
        ("o\0e\n", [], "standard input, line 1: a zero byte"),
        ("one\n", ["--n-best", 9], "--n-best must be from 1 to the width of the beam"),
        ("one\n", ["--penalty", -1], "--penalty must be from 0"),
        ("one\n", ["--targets", "none.fr"], "none.fr"),
    ],
)
def test_bad_input_gets_one_line(run, ostinato, monkeypatch, text, options, words):
    given(monkeypatch, text)
    code, _, err = ostinato("apply", run, *options)
    assert code != 0 and words in err and len(err.splitlines()) == 1


def test_an_unknown_word_is_read_as_the_symbol_for_unknown_words(run, ostinato, monkeypatch):
    found = []
    for text in ("one four\n", "one five\n"):
        given(monkeypatch, text)
        code, out, _ = ostinato("apply", run, "--json")
        assert code == 0
        found.append(json.loads(out)["answers"])
    assert found[0] == found[1] and found[0][0]["text"]


def test_a_byte_order_mark_is_not_a_word(run, ostinato, monkeypatch):
    given(monkeypatch, "\ufefftwo two\n")
    assert ostinato("apply", run)[:2] == (0, "deux deux\n")


def test_closed_input_gets_one_line(run, ostinato, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    code, _, err = ostinato("apply", run)
    assert code == 2 and err == "ostinato: standard input is closed; give a file\n"


@pytest.mark.parametrize(
    ("targets", "options", "words"),
    [
        ("un\ndeux\n", [], "b.fr goes on after the end of the input, with 'deux'"),
        ("cinq\n", [], "b.fr, line 1: the model does not know the word 'cinq'"),
        ("un " * 10_000, [], "b.fr, line 1 has 10,000 symbols"),
        ("un\n", ["--pictures", "looks"], "--pictures means nothing with --targets"),
    ],
)
def test_bad_targets_get_one_line(run, ostinato, monkeypatch, tmp_path, targets, options, words):
    given(monkeypatch, "one\n")
    (tmp_path / "b.fr").write_text(targets)
    code, _, err = ostinato("apply", run, "--targets", "b.fr", *options)
    assert code == 2 and words in err and len(err.splitlines()) == 1


def test_a_run_of_another_task_says_so(ostinato, adding_run):
    code, _, err = ostinato("apply", adding_run, "x.txt")
    assert code != 0 and "a run of the task adding cannot be applied to new input" in err


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("a\nb\n", "x\n", "has 2 lines and"),
        ("a\n\nc\n", "x\ny\nz\n", "line 2 is empty"),
        ("", "x\n", "is empty"),
    ],
)
def test_files_that_do_not_belong_together(ostinato, tmp_path, source, target, words):
    (tmp_path / "a").write_text(source)
    (tmp_path / "b").write_text(target)
    code, _, err = ostinato("train", "--task", "translate", "--source", "a", "--target", "b")
    assert code != 0 and words in err and len(err.splitlines()) == 1


def test_a_source_needs_a_target(ostinato, tmp_path):
    (tmp_path / "a").write_text("x\n")
    code, _, err = ostinato("train", "--task", "translate", "--source", "a")
    assert code != 0 and "source needs target" in err


LISTS = {
    "moses": "0 ||| un deux ||| LM: 1 ||| -1.5\n0 ||| deux un ||| LM: 2 ||| -0.5\n"
    "1 ||| trois trois ||| ||| -2\n",
    "ours": "-1.5\tun deux\n-0.5\tdeux un\n\n-2\ttrois trois\n\n",
}


@pytest.mark.parametrize("form", LISTS)
@pytest.mark.parametrize("weight", [None, 0.0, 0.9])
def test_n_best_lists_are_rescored(run, form, weight, ostinato, tmp_path, monkeypatch):
    """By the log probabilities that --targets gives, averaged by hand."""
    (tmp_path / "list").write_text(LISTS[form])
    (tmp_path / "in").write_text("one two\none two\nthree three\n")
    (tmp_path / "targets").write_text("un deux\ndeux un\ntrois trois\n")
    _, out, _ = ostinato("apply", run, tmp_path / "in", "--targets", tmp_path / "targets", "--json")
    own = [json.loads(line)["score"] for line in out.splitlines()]
    (tmp_path / "in").write_text("one two\nthree three\n")
    options = [] if weight is None else ["--weight", weight]
    code, out, errors = ostinato(
        "apply", run, tmp_path / "in", "--rescore", tmp_path / "list", "--n-best", 2, "--json",
        *options,
    )  # fmt: skip
    assert code == 0, errors
    w = 0.5 if weight is None else weight
    expected = {"un deux": (1 - w) * -1.5 + w * own[0], "deux un": (1 - w) * -0.5 + w * own[1]}
    first, second = (json.loads(line) for line in out.splitlines())
    found = {answer["text"]: answer["score"] for answer in first["answers"]}
    assert found == pytest.approx(expected, rel=1e-5)
    assert first["text"] == max(expected, key=expected.get) == ("deux un" if w == 0 else "un deux")
    assert second["text"] == "trois trois" and len(second["answers"]) == 1


@pytest.mark.parametrize(
    "text, options, words",
    [
        ("0 ||| a ||| ||| -1\n2 ||| b ||| ||| -1\n", [], "line 2 is of source '2'; they are 0, 1"),
        ("1 ||| a ||| ||| -1\n", [], "line 1 is of source '1'"),
        ("0 ||| a ||| ||| high\n", [], "the score of a candidate must be a number, got 'high'"),
        ("0 ||| a\n", [], "neither source ||| text ||| … ||| score nor score<TAB>text"),
        ("un deux\n", [], "neither source ||| text ||| … ||| score nor score<TAB>text"),
        ("-1\ta\n\n\n-1\tb\n", [], "there is no candidate for source 1"),
        ("", [], "has no candidates"),
        ("-1\ta\n", [], "the input has 2 lines and .* candidates for 1"),
        ("-1\ta\n\n-1\tb\n", ["--weight", "2"], "--weight must be from 0 to 1, got 2.0"),
        ("-1\ta\n\n-1\tb\n", ["--beam", "2"], "--beam means nothing with --rescore"),
    ],
)
def test_wrong_n_best_lists(run, text, options, words, ostinato, tmp_path):
    (tmp_path / "list").write_text(text)
    (tmp_path / "in").write_text("one two\nthree three\n")
    code, _, errors = ostinato(
        "apply", run, tmp_path / "in", "--rescore", tmp_path / "list", *options
    )
    assert code == 2 and re.search(words.replace("|", "[|]"), errors), errors
    assert len(errors.splitlines()) == 1


def test_a_weight_is_of_lists(run, ostinato):
    code, _, errors = ostinato("apply", run, "--weight", "0.5")
    assert code == 2 and "--weight is of n-best lists; give --rescore too" in errors
