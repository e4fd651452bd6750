"""One label for each text."""

import json

import numpy as np
import pytest

from ostinato.data.generated.texts import reviews
from ostinato.errors import BadInput
from ostinato.runs import Config, evaluate_network, train
from ostinato.runs.build import build_network
from ostinato.tasks import Classify
from ostinato.tasks.applying import ApplyOptions
from ostinato.tasks.text.classification import LabelCode
from ostinato.wiring import Pool

TEXTS = ["it is fine", "it is not fine", "fine fine", "not good not fine"] * 20
LABELS = ["good", "bad", "good", "bad"] * 20


def write(folder, text, name="moods.tsv"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(folder / name)


def test_words_and_characters_of_the_training_part_are_known():
    split = {"train": range(60), "valid": range(60, 70), "test": range(70, 80)}
    task = Classify([*TEXTS[:70], *["never seen"] * 10], LABELS, split=split)
    assert task.words.known[0] == "fine" and "seen" not in task.words.known
    (test,) = task.held_out("test", 20)
    assert not test.inputs.any() and test.lengths.tolist() == [2] * 10
    letters = Classify(TEXTS, LABELS, level="characters")
    assert letters.length == len("not good not fine") and " " in letters.words.known
    assert Classify(TEXTS, LABELS, level="characters", length=5).length == 5
    assert task.model["embedding"] > 0 == letters.model["embedding"]


def test_naive_bayes_is_the_baseline():
    task = Classify(TEXTS, LABELS)
    assert task.baselines() == {"chance": task.chance, "naive Bayes": 1.0}
    texts, labels = reviews(1000, np.random.default_rng(0))
    assert Classify(texts, labels).baselines()["naive Bayes"] < 0.65  # the order of words matters


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classify")
    rows = "".join(f"{a}\t{b}\n" for a, b in zip(LABELS, TEXTS, strict=True))
    path = write(folder, rows)
    settings = {"task": "classify", "file": path, "units": 8, "embedding": 4, "pool": "mean"}
    config = Config(**settings, cell="gru", batch=64, steps=40, rate=0.05, validate_every=40)
    return train(config, folder / "run")


def test_a_run_learns_labels_from_the_mean_of_its_states(trained):
    task, network = trained.task(), trained.network()
    assert isinstance(network.cell.layers[-1], Pool)
    assert evaluate_network(network, task, "test") == 1
    assert task.preview(network, None).splitlines()[0].split(":")[0] in ("good", "bad")
    code = LabelCode.from_json(trained.artefacts)
    texts, outputs = zip(*code.apply(network, ["it is not fine\n", "fine"]), strict=True)
    assert texts == ("it is not fine", "fine")
    assert code.answers.in_words(np.stack(outputs)) == ["bad", "good"]
    with pytest.raises(BadInput, match="line 2 is empty"):
        list(code.apply(network, ["fine", " "]))


def test_other_texts_are_read_with_the_words_of_the_model(trained, tmp_path):
    task, settings = trained.task(), trained.config.task.settings
    kept = json.loads(json.dumps(task.artefacts()))
    path = write(tmp_path, "bad\tzebras are not fine\n")
    other = Classify.on_file(path, settings, kept)
    (batch,) = other.held_out("test", 4)
    assert batch.inputs[:, 0].tolist() == [0, 0, *task.words.encode(["not", "fine"])]
    with pytest.raises(BadInput, match=r"the label 'ugly' is not one of bad, good"):
        Classify.on_file(write(tmp_path, "ugly\tit is\n"), settings, kept)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty; give a file of lines label<TAB>text"),
        ("good\tfine\n\nbad\tno\n", "line 2: an empty line"),
        ("good\tfine\nbad no\n", "line 2: no tab"),
        ("good\tfine\n\tno\n", "line 2: the label is empty"),
        ("good\tfine\nbad\t \n", "line 2: the text is empty"),
        (
            b"good\tfine\nbad\t\xff\n",
            "line 2: not UTF-8, byte 0xff; give its --encoding, for example latin-1",
        ),
        ("good\tfine\n" * 20, "at least 2 classes, got 1"),
        ("Label\tText\ngood\tfine\nbad\tno\n", "line 1: 'Label' and 'Text' read like the names"),
        ("it is fine\tgood\nno\tbad\nso so\tgood\n" * 3, "3 different labels and 2 different text"),
        (
            "mood\tphrase\n" + "good\tit is fine\nbad\tnot fine\n" * 9,
            "line 1: 'mood' and 'phrase' read like the names of columns, because no other line",
        ),
    ],
)
def test_bad_files_are_refused(text, words, tmp_path):
    settings = Classify.Settings(file=write(tmp_path, text))
    with pytest.raises(BadInput, match=words) as found:
        Classify.from_settings(settings, 0)
    assert "moods.tsv" in str(found.value) and "\n" not in str(found.value)


def test_a_rare_label_in_the_first_line_is_no_header(tmp_path):
    rows = "ugly\tnot fine at all\n" + "good\tit is fine\nbad\tnot fine\n" * 9
    task = Classify.from_settings(Classify.Settings(file=write(tmp_path, rows)), 0)
    assert task.answers.classes == ("bad", "good", "ugly")


def test_bad_arguments_are_refused():
    with pytest.raises(BadInput, match="there are 2 texts and 1 labels"):
        Classify(["a", "b"], ["x"])
    with pytest.raises(BadInput, match="text 1 is empty"):
        Classify(["a", " "], ["x", "y"])
    for length in (2.5, 0, -1, True):
        with pytest.raises(BadInput, match=r"length must be (of type int|at least 1), got"):
            Classify(TEXTS, LABELS, length=length)
    with pytest.raises(BadInput, match="level must be one of words, characters; got word"):
        Classify(TEXTS, LABELS, level="word")
    config = Config(task="classify", cell="jordan", pool="mean")
    with pytest.raises(BadInput, match="is the answer; leave out --pool"):
        build_network(config, Classify(TEXTS, LABELS))


def test_a_file_with_labels_is_read_without_them(trained, tmp_path):
    """What `apply` is given may be the very file that a run learned from."""
    network, settings = trained.network(), trained.task().settings

    def answers(content):
        how = ApplyOptions(write(tmp_path, content), settings, dict(trained.artefacts))
        return [(one["source"], one.get("notes")) for one in Classify.apply(network, how)]

    note = ["each line begins with a label, which was not read as text"]
    assert answers("good\tit is fine\nbad\tnot good\n") == [
        ("it is fine", note),
        ("not good", None),
    ]
    others = "good\tit is fine\nother\tnot good\n"
    assert answers(others) == [(line, None) for line in others.splitlines()]
