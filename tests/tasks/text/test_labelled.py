"""Texts with labels as people have them: tables, lists of labels, a folder for each label."""

import csv
import json

import numpy as np
import pytest

from ostinato.errors import BadInput
from ostinato.runs import Config
from ostinato.runs.build import build_network, build_task
from ostinato.tasks import Classify

TEXTS = ["it is fine", "it is not, so fine", 'fine "fine"', "not good\nnot fine"] * 10
LABELS = ["good", "bad", "good", "bad"] * 10
MARK = {"text": "review", "label": "mood"}


def write_csv(path, texts=TEXTS, labels=LABELS):
    with open(path, "w", newline="") as file:
        rows = [[n, *row] for n, row in enumerate(zip(texts, labels, strict=True))]
        csv.writer(file).writerows([["n", "review", "mood"], *rows])
    return str(path)


def write_json(path, texts=TEXTS, labels=LABELS):
    rows = zip(texts, labels, strict=True)
    path.write_text("".join(f"{json.dumps({'review': x, 'mood': y})}\n" for x, y in rows))
    return str(path)


def made(file, **given):
    return build_task(Config(file=file, **MARK, **given))


def test_columns_of_a_table_mean_classification(tmp_path):
    one = made(write_csv(tmp_path / "a.csv"))
    two = made(write_json(tmp_path / "a.jsonl"))
    kept = Classify(TEXTS, LABELS)
    assert one.name == two.name == "classify" and one.texts == two.texts == TEXTS
    assert one.fingerprint() == two.fingerprint() == kept.fingerprint()
    (note,) = one.notes
    assert note == "8 of 8 held-out texts are in the training part too, word for word"


def test_several_labels_are_lists_or_have_a_separator(tmp_path):
    sets = [["new", "big"], ["new"], [], ["old"]] * 10
    lists = made(write_json(tmp_path / "a.jsonl", labels=sets))
    joined = ["|".join(some) for some in sets]
    marked = made(write_csv(tmp_path / "a.csv", labels=joined), separator="|")
    commas = made(
        write_csv(tmp_path / "b.csv", labels=[x.replace("|", ",") for x in joined]),
        kind="multilabel",
    )
    names = ("big", "new", "old")
    for task in (lists, marked, commas, Classify(TEXTS, sets)):
        assert task.answers.kind == "multilabel" and task.answers.classes == names
        assert task.data.targets.tolist() == [[x in some for x in names] for some in sets]
        again = Classify(TEXTS, sets, artefacts=json.loads(json.dumps(task.artefacts())))
        assert again.answers.kind == "multilabel"


def test_labels_and_texts_in_memory():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"review": TEXTS, "mood": LABELS})
    kept = Classify(TEXTS, LABELS).fingerprint()
    assert Classify(frame["review"], frame["mood"]).fingerprint() == kept
    for labels, words in (
        ([["a"], "b"], "labels of text 1 must be a list of texts, got 'b'"),
        ([["a"], [3]], "labels of text 1 must be a list of texts, got 3"),
        (None, "labels must be a list of texts, got None"),
        (frame, "labels must be a list of texts"),
    ):
        with pytest.raises(BadInput, match=words):
            Classify(["one", "two"], labels)
    with pytest.raises(BadInput, match="several for each text; leave out kind"):
        Classify(TEXTS, [["a"]] * 40, kind="classification")


def test_a_folder_for_each_label(tmp_path):
    for n, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True)):
        (tmp_path / "moods" / label).mkdir(parents=True, exist_ok=True)
        (tmp_path / "moods" / label / f"{n:02}.{['txt', 'md'][n % 2]}").write_text(text)
    (tmp_path / "moods" / "readme.pdf").write_text("no")
    task = build_task(Config(task="classify", file=str(tmp_path / "moods")))
    order = np.argsort(LABELS, kind="stable")
    assert task.texts == [TEXTS[n] for n in order]
    assert task.notes[:2] == ("40 files of 2 folders are read", "1 other file there is left out")
    assert [task.answers.classes[n] for n in task.data.targets] == sorted(LABELS)


def test_what_was_done_to_labels_and_texts_is_said(tmp_path):
    labels = ["Good ", "bad", "good", "bad"] * 10
    texts = ["it\u200b is fine", *TEXTS[1:]]
    notes = made(write_csv(tmp_path / "a.csv", texts, labels)).notes
    assert notes[:3] == (
        "spaces around 10 labels were left out",
        "the labels Good and good differ in case alone, and are two labels",
        "1 text with invisible characters is read as written",
    )
    with pytest.raises(BadInput, match="look the same; write one class in one way"):
        made(write_csv(tmp_path / "a.csv", labels=["caf\u00e9", "cafe\u0301"] * 20))
    path = tmp_path / "latin.csv"
    path.write_bytes(b"review,mood\n" + "très bon,oui\npas bon,non\n".encode("latin-1") * 10)
    assert made(str(path), encoding="latin-1").texts[0] == "très bon"


@pytest.mark.parametrize("level", ["words", "characters"])
def test_nothing_is_learned_from_held_out_rows(tmp_path, level):
    """Other words in all rows of validation and test change no bit of what is learned from."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["aa", "bb", "cc", "dd"], 5)) for _ in range(60)]
    labels = [*rng.choice(["x", "y"], 60)]
    one = made(write_csv(tmp_path / "a.csv", texts, labels), level=level)
    for part in ("valid", "test"):
        for n in one.parts[part]:
            texts[n] = " ".join(rng.choice(["zz", "qq", "aa"], 5))
    two = made(write_csv(tmp_path / "a.csv", texts, labels), level=level)
    assert one.artefacts() == two.artefacts() and one.chance == two.chance
    for index in range(5):
        for x, y in zip(one.batch(index, 8), two.batch(index, 8), strict=True):
            assert np.array_equal(x, y) if x is not None else y is None
    assert not np.array_equal(one.data.inputs, two.data.inputs)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"text": "review"}, "give both --text and --label"),
        (
            {"text": "review", "label": "stars"},
            "has no column 'stars'; it has 'n', 'review', 'mood'",
        ),
        ({"text": "review", "label": "review"}, "the column 'review' is named twice"),
        ({**MARK, "separator": "|", "kind": "classification"}, "separator divides several labels"),
        ({**MARK, "separator": ""}, "separator divides several labels"),
        ({**MARK, "encoding": "utf-99"}, "there is no encoding 'utf-99'"),
        ({**MARK, "encoding": "utf-16"}, "is not utf-16 text"),
    ],
)
def test_wrong_columns_are_refused(tmp_path, given, words):
    file = write_csv(tmp_path / "a.csv")
    with pytest.raises(BadInput, match=words) as caught:
        build_task(Config(file=file, **given))
    assert "\n" not in str(caught.value)


def test_columns_the_other_way_round_are_refused(tmp_path):
    file = write_csv(tmp_path / "a.csv", texts=["good", "bad"] * 20, labels=[*map(str, range(40))])
    with pytest.raises(BadInput, match="40 different labels and 2 different texts; name with"):
        made(file)


def test_a_preview_has_a_line_for_each_text(tmp_path):
    task = made(write_csv(tmp_path / "a.csv", [f"one {n}\n\ntwo\n" for n in range(40)]))
    network = build_network(Config(units=2, cell="gru"), task)
    lines = task.preview(network, None).split("\n")
    assert len(lines) == 3 and all(line.endswith(" two") for line in lines)


def test_wrong_folders_are_refused(tmp_path):
    with pytest.raises(BadInput, match="has no folders; texts lie in a folder for each label"):
        build_task(Config(task="classify", file=str(tmp_path)))
    (tmp_path / "good").mkdir()
    with pytest.raises(BadInput, match="good has no text files; they are called"):
        build_task(Config(task="classify", file=str(tmp_path)))
    with pytest.raises(BadInput, match="is a folder; leave out --text and --label"):
        build_task(Config(file=str(tmp_path), **MARK))
    (tmp_path / "good" / "a.txt").write_bytes(b"\xff")
    with pytest.raises(BadInput, match=r"a\.txt, line 1: not UTF-8"):
        build_task(Config(task="classify", file=str(tmp_path)))
