"""Strings and single characters from pen strokes: the tasks, and what is done with a network."""

import dataclasses
import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.cells import GRU
from ostinato.data import Batch, read_drawings
from ostinato.data.ink import drawn_ink
from ostinato.data.strokes import pen_steps, steps_of_drawings
from ostinato.errors import BadInput
from ostinato.lens.doctor.evidence import look_at_batches
from ostinato.runs import Config, open_run, train
from ostinato.runs.build import build_network
from ostinato.runs.loop.probe import looked_at
from ostinato.tasks import Characters, Handwriting, recognise
from ostinato.tasks.applying import ApplyOptions, outputs_on
from ostinato.tasks.handwriting.handwriting import ranked_words
from ostinato.tasks.handwriting.pen_strokes import inks
from ostinato.tasks.scores import edit_distance
from ostinato.testing import check_task
from ostinato.testing.check import TASK_CHECKS

SMALL = {"alphabet": "07X", "characters": 3, "writers": 4}


def small_network(task, **settings):
    return build_network(Config(task=task.name, units=4, bidirectional=True, **settings), task)


def test_passes_the_checks():
    assert len(check_task(Handwriting(**SMALL, seed=3))) == len(TASK_CHECKS)


def test_batches_are_strings():
    task = Handwriting(alphabet="07X", characters=5, writers=4)
    batch = task.batch(1, 64)
    assert batch.inputs.shape == (120, 64, 3) and batch.inputs.dtype == np.float32
    assert batch.targets.shape == batch.weights.shape == (5, 64)
    counts = batch.weights.sum(axis=0)
    assert set(counts) == {3, 4, 5}
    texts = task.texts(batch)
    assert [len(text) for text in texts] == counts.tolist()
    assert set("".join(texts)) == set("07X") and task.outputs == 4
    # Characters are separated by one step through the air; an X has another.
    lifts = np.round(batch.inputs[..., 2].sum(axis=0), 3)
    right = [len(text) - 1 + text.count("X") for text in texts]
    np.testing.assert_allclose(lifts, right, rtol=0.1)
    assert (batch.lengths > 2 * counts).all()


def test_writers_of_the_parts_are_disjoint():
    parts = inks("drawn", "07", 5, seed=0)
    assert [len(parts[p].points) for p in ("train", "valid", "test")] == [5, 50, 50]
    every = np.concatenate([parts[p].points for p in ("train", "valid", "test")])
    assert len(np.unique(every.reshape(len(every), -1), axis=0)) == 5 + 50 + 50
    more = inks("drawn", "07", 9, seed=0)  # the held-out writers do not depend on the others
    assert np.array_equal(parts["test"].points, more["test"].points)


@pytest.mark.parametrize("kind", [Handwriting, Characters])
def test_nothing_is_learned_from_held_out_writers(kind, monkeypatch):
    def others(*given):
        parts = inks(*given)
        for part in ("valid", "test"):
            parts[part] = dataclasses.replace(parts[part], points=-7 * parts[part].points)
        return parts

    one = kind(alphabet="07X", writers=4)
    monkeypatch.setattr("ostinato.tasks.handwriting.pen_strokes.inks", others)
    two = kind(alphabet="07X", writers=4)
    assert one.artefacts() == two.artefacts() and one.chance == two.chance
    for index in range(2):
        for x, y in zip(one.batch(index, 8)[:4], two.batch(index, 8)[:4], strict=True):
            np.testing.assert_array_equal(x, y)
    valid, other = (next(task.held_out("valid", 4)).inputs for task in (one, two))
    assert not np.array_equal(valid, other)


def test_lengths():
    task = Handwriting(**SMALL)
    assert task.length == 72 and len(task.batch(0, 2, length=6).inputs) == 6
    for attempt in (lambda: Handwriting(**SMALL, length=5), lambda: task.batch(0, 2, length=5)):
        with pytest.raises(BadInput, match="length of at least 6 steps, got 5"):
            attempt()


@pytest.mark.parametrize("kind", [Handwriting, Characters])
@pytest.mark.parametrize(
    "options, words",
    [
        ({"strokes": "printed"}, "strokes must be one of drawn, omniglot; got printed"),
        ({"alphabet": "0é"}, "the character 'é' cannot be drawn; there are 0123"),
        ({"alphabet": "0"}, "at least 2 different characters, got '0'"),
        ({"alphabet": "00"}, "at least 2 different characters"),
        ({"alphabet": ""}, "at least 2 different characters, got ''"),
        ({"writers": 0}, "writers must be at least 1, got 0"),
        ({"seed": -1}, "a seed is a whole number"),
    ],
)
def test_bad_settings_get_one_line(kind, options, words):
    with pytest.raises(BadInput, match=words) as found:
        kind(**options)
    assert "\n" not in str(found.value)


def test_without_omniglot_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("OSTINATO_DATA", str(tmp_path))
    monkeypatch.setenv("OSTINATO_CACHE", str(tmp_path))
    with pytest.raises(BadInput, match="`ostinato data get omniglot`"):
        Handwriting(strokes="omniglot")


def test_a_model_knows_its_characters():
    settings = Handwriting.Settings(**SMALL)
    task = Handwriting.from_settings(settings, 0, Handwriting(**SMALL).artefacts())
    assert task.labels == "07X"
    with pytest.raises(BadInput, match="knows the characters 07Y, the data have 07X"):
        Handwriting.from_settings(settings, 0, {"characters": "07Y"})


def test_recognises_drawings_as_it_does_batches():
    """The steps of a drawing are those of the same string in a batch."""
    task = Handwriting(**SMALL)
    network = small_network(task)
    ink = drawn_ink(0, 1, "07X")
    strings = np.array([[0, 2], [1, 1]])
    points, up = ink.write(np.random.default_rng(0), strings, np.array([2, 1]), 0.0)
    drawings = [
        np.split(row[:size], np.flatnonzero(lifted[:size]))
        for row, lifted, size in zip(points, up, (80, 40), strict=True)
    ]
    for one, other in zip(steps_of_drawings(drawings), pen_steps(points, up), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    best = recognise(network, drawings, task.labels, width=8, count=3)
    assert [len(each) for each in best] == [3, 3]
    for (text, score), (_, other) in zip(best[0], best[0][1:], strict=False):
        assert set(text) <= set("07X") and other <= score < 0
    ((text, score),) = recognise(network, drawings, task.labels)[0]
    assert set(text) <= set("07X") and score is None
    assert recognise(network, [], task.labels) == []
    with pytest.raises(BadInput, match="for 2 characters has 3 outputs, this one has 4"):
        recognise(network, drawings, "07")
    with pytest.raises(BadInput, match="drawing 0 must be a list of at least one stroke"):
        recognise(network, [[]], task.labels)


def test_single_characters_are_recognised_as_in_batches(tmp_path):
    task = Characters(alphabet="07X", writers=4)
    network = small_network(task)
    points, up = drawn_ink(0, 1, "07X").write(
        np.random.default_rng(0), np.array([[0], [1], [2]]), np.array([1, 1, 1]), 0.0
    )
    drawings = [
        [stroke.tolist() for stroke in np.split(row, np.flatnonzero(lifted[:-1]) + 1)]
        for row, lifted in zip(points, up, strict=True)
    ]
    lines = [json.dumps({"strokes": drawing}) for drawing in drawings]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    inputs, lengths = steps_of_drawings(read_drawings(tmp_path / "a.jsonl"))
    batch = Batch(inputs, None, np.ones(inputs.shape[:2]), lengths)
    outputs = outputs_on(network, batch.arrays)
    labels = np.argmax(outputs, axis=-1)[lengths - 1, np.arange(3)]
    found = Characters.apply(
        network, ApplyOptions(tmp_path / "a.jsonl", artefacts=task.artefacts())
    )
    assert [answer["text"] for answer in found] == [task.labels[n] for n in labels]


def test_preview_shows_what_is_right_and_what_is_read():
    task = Handwriting(**SMALL)
    shown = task.preview(small_network(task), jax.random.key(0)).split("\n")
    right = task.texts(next(task.held_out("valid", 4)))
    assert [line.split(" read as ")[0] for line in shown] == right


@pytest.mark.slow
def test_learns_to_read(tmp_path):
    """Three characters by four writers, after a minute: held-out writers, and a file of strings."""
    settings = {**SMALL, "cell": "lstm", "units": 24, "bidirectional": True, "batch": 32}
    config = Config(task="handwriting", **settings, steps=400, rate=0.01, lens=200)
    train(config, tmp_path / "run")
    run = open_run(tmp_path / "run")
    assert run.events()[-1]["best"] < 0.2
    symbols = np.random.default_rng(1).integers(3, size=(20, 3))
    ink = drawn_ink(9, 20, "07X")
    points, up = ink.write(np.random.default_rng(2), symbols, np.full(20, 3), 0.0)
    strings = [np.split(row, np.flatnonzero(lifts)) for row, lifts in zip(points, up, strict=True)]
    lines = [json.dumps({"strokes": [x.tolist() for x in string]}) for string in strings]
    (tmp_path / "strings.jsonl").write_text("\n".join(lines))
    drawings = read_drawings(tmp_path / "strings.jsonl")
    right = ["".join("07X"[symbol] for symbol in row) for row in symbols]
    for width in (1, 8):
        found = recognise(run.network(), drawings, run.task().labels, width=width)
        texts = [best[0][0] for best in found]
        assert sum(map(edit_distance, texts, right)) < 0.2 * 60


@pytest.mark.parametrize(
    "task", [Handwriting(**SMALL), Characters(writers=4)], ids=lambda x: x.name
)
def test_the_lens_looks_at_the_end_of_the_longest(task):
    batch = task.batch(0, 6)
    _, few, _, at = looked_at(GRU(3, 4, key=jax.random.key(0)), batch, 4)
    assert few.steps == at + 1 == max(batch.lengths[:4])
    assert at + 1 in few.lengths
    kept = [
        n
        for n in range(4)
        if any(np.array_equal(batch.inputs[: at + 1, n], x) for x in np.moveaxis(few.inputs, 1, 0))
    ]
    assert np.array_equal(few.inputs, batch.inputs[: at + 1, kept])


def test_the_doctor_counts_steps_and_not_labels():
    task = Handwriting(**SMALL)
    seen = look_at_batches(task, task.batch(0, 6), task.batch(1, 6), 6)
    assert seen.shape == seen.asked == (72, 6) and not seen.across


# Words of a list


def test_strings_are_words_of_the_list(tmp_path):
    (tmp_path / "words.txt").write_text("TEA\nTEXT\nAT\n")
    task = Handwriting(words=str(tmp_path / "words.txt"), writers=5, seed=1)
    texts = task.texts(task.batch(0, 64))
    assert {*texts} == {"TEA", "TEXT", "AT"} and task.max_characters == 4
    assert [metric.name for metric in task.metrics] == ["label error rate", "word accuracy"]
    assert task.artefacts()["words"] == ["TEA", "TEXT", "AT"]
    other = Handwriting(words="common", writers=5, seed=1)
    assert other.fingerprint() != task.fingerprint()
    assert max(map(len, other.words)) == 6 and {*"".join(other.words)} < {*other.labels}
    Handwriting.check_artefacts(task.artefacts())
    for words in ([], ["tea"], "TEA", [1]):
        with pytest.raises(ValueError, match="its words"):
            Handwriting.check_artefacts({**task.artefacts(), "words": words})


def test_the_most_probable_word_of_the_list():
    """Against the sum over all paths, for three steps and two characters."""
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(3, 2, 3))
    lengths = np.array([3, 2])
    shares = np.exp(outputs) / np.exp(outputs).sum(-1, keepdims=True)
    words = ["A", "B", "AB", "BA", "AA"]
    ranked = ranked_words(jnp.asarray(outputs), lengths, words, "AB")
    for n, length in enumerate(lengths):
        sums = dict.fromkeys(words, 0.0)
        for path in itertools.product(range(3), repeat=int(length)):
            merged = [x for x, _ in itertools.groupby(path) if x]
            word = "".join("AB"[x - 1] for x in merged)
            if word in sums:
                sums[word] += np.prod(shares[np.arange(length), n, list(path)])
        found = {word: np.exp(score) for word, score in ranked[n]}
        assert found == pytest.approx(sums, abs=1e-12)
        assert ranked[n][0][0] == max(sums, key=sums.get)


@pytest.mark.parametrize(
    "text, words",
    [
        ("TEA\n", "has one word; there is nothing to tell apart"),
        ("TEA\nTEA\n", "line 2: give every word once and alone, got 'TEA'"),
        ("TEA\nA CUP\n", "line 2: give every word once and alone, got 'A CUP'"),
        ("TEA\ntea\n", "the word 'tea' has 'a', which is none of the characters"),
        ("TEA\n\nACT\n", "line 2 is empty"),
    ],
)
def test_wrong_lists_of_words(tmp_path, text, words):
    (tmp_path / "words.txt").write_text(text)
    with pytest.raises(BadInput, match=words):
        Handwriting(words=str(tmp_path / "words.txt"), writers=5)
