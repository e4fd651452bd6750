"""Captions: batches, generated shapes, retrieval, files, and captions of other pictures."""

import json
import sys
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from ostinato.data.generated import draw_shapes, part_of
from ostinato.data.generated.shapes import COLOURS, RADII
from ostinato.data.pictures import checked_captioned, checked_pictures, read_pictures
from ostinato.errors import BadInput
from ostinato.runs import Config, train
from ostinato.tasks import Captions
from ostinato.tasks.applying import ApplyOptions
from ostinato.tasks.pictures import moved, nearest
from ostinato.tasks.scores import bleu

RANDOM = np.random.default_rng(0)


def coloured(count):
    """Pictures of one colour each, which their caption names."""
    which = RANDOM.integers(0, 3, count)
    images = RANDOM.integers(0, 40, (count, 6, 5, 3))
    images[np.arange(count), ..., which] += 200
    words = ["red", "the colour green", "blue all over it"]
    return images.astype(np.uint8), [words[n] for n in which]


def test_a_batch_has_each_picture_beside_its_caption():
    images, captions = coloured(50)
    task = Captions.of(images, captions, seed=1)
    batch = task.batch(0, 8)
    assert batch.inputs.source.shape == (6, 8, 5, 3) and batch.inputs.source.dtype == np.uint8
    assert batch.steps == 5 and set(batch.lengths.tolist()) == {2, 4, 5}
    known = {task.tokens.decode(x): n for n, x in enumerate(batch.targets.T)}
    for text, column in known.items():
        picture = batch.inputs.source[:, column]
        (place,) = (n for n, x in enumerate(task.images["train"]) if np.array_equal(x, picture))
        assert task.captions["train"][place] == text
    assert np.array_equal(batch.inputs.target[1:], batch.targets[:-1])
    assert not batch.inputs.target[0].any()
    assert batch.weights.sum() == batch.lengths.sum()


def test_an_epoch_has_every_picture_once_and_parts_do_not_overlap():
    images, captions = coloured(50)
    task = Captions.of(images, captions)
    assert {part: len(x) for part, x in task.captions.items()} == {
        "train": 40, "valid": 5, "test": 5
    }  # fmt: skip
    assert task.epochs(5, 8) == 1
    seen = [np.moveaxis(task.batch(n, 8).inputs.source, 1, 0) for n in range(5)]
    assert {x.tobytes() for x in np.concatenate(seen)} == {
        x.tobytes() for x in task.images["train"]
    }
    everything = {x.tobytes() for part in task.images.values() for x in part}
    assert len(everything) == 50


def test_held_out_batches_have_one_shape_and_count_every_caption_once():
    task = Captions.of(*coloured(70))
    batches = [*task.held_out("test", 4)]
    assert {x.inputs.source.shape for x in batches} == {(6, 4, 5, 3)}
    assert sum(x.counted.sum() for x in batches) == sum(map(len, task.symbols["test"]))


def test_words_of_the_training_captions_are_known():
    images, captions = coloured(50)
    task = Captions.of(images, [*captions[:-1], "once"], min_count=2, split=(1, 0, 0))
    assert "once" not in task.tokens.tokens and task.symbols["train"][-1].tolist() == [1, 0]
    known = Captions.of(images, captions, artefacts=json.loads(json.dumps(task.artefacts())))
    assert known.tokens == task.tokens


def test_nothing_is_learned_from_held_out_pictures():
    images, captions = coloured(50)
    one = Captions.of(images, captions, shift=1)
    held_out = {x.tobytes() for part in ("valid", "test") for x in one.images[part]}
    others, words = images.copy(), [*captions]
    for n, image in enumerate(images):
        if image.tobytes() in held_out:
            others[n], words[n] = 255 - image, "an unseen word"
    two = Captions.of(others, words, shift=1)
    assert {*two.captions["test"], *two.captions["valid"]} == {"an unseen word"}
    assert "unseen" not in two.tokens.tokens and one.artefacts() == two.artefacts()
    assert one.chance == two.chance and one.captions["train"] == two.captions["train"]
    for x, y in zip(*(jax.tree.leaves(task.batch(1, 8)) for task in (one, two)), strict=True):
        np.testing.assert_array_equal(x, y)


def test_pictures_are_moved():
    picture = RANDOM.integers(0, 256, (7, 2, 8, 3)).astype(np.uint8)
    found = moved(picture, np.array([2, -1]), np.array([0, 3]))
    assert np.array_equal(found[2:, 0], picture[:-2, 0])
    assert np.array_equal(found[:2, 0], picture[[0, 0], 0])
    assert np.array_equal(found[:-1, 1, 3:], picture[1:, 1, :-3])
    task = Captions.of(*coloured(50), shift=2)
    plain = Captions.of(*coloured(50))
    assert task.batch(3, 64).inputs.source.shape == plain.batch(3, 64).inputs.source.shape


def test_the_nearest_picture_is_found_by_pixels():
    among, some = (RANDOM.integers(0, 256, (n, 3, 3, 3)).astype(np.uint8) for n in (40, 9))
    apart = (among[None].astype(float) - some[:, None]) ** 2
    assert np.array_equal(nearest(some, among), apart.sum((2, 3, 4)).argmin(1))
    task = Captions.of(*coloured(60), exact=True)
    assert task.baselines() == {"chance": 0.0, "nearest picture": 1.0}


# Shapes


def test_shapes_of_the_parts_are_other_combinations():
    for part in ("train", "valid", "test"):
        _, captions = draw_shapes(np.random.default_rng(1), 300, part)
        assert {part_of(caption) for caption in captions} == {part}
        words = {word for caption in captions for word in caption.split()}
        assert {*COLOURS, *RADII, "circle", "square", "triangle", "cross", "above"} <= words
        assert {len(caption.split()) for caption in captions} == {4, 9, 10}


def test_shapes_are_drawn_as_their_captions_say():
    images, captions = draw_shapes(np.random.default_rng(2), 400)
    assert images.dtype == np.uint8 and images.shape == (400, 32, 32, 3)
    shades = np.array([*COLOURS.values()]) / np.linalg.norm([*COLOURS.values()], axis=1)[:, None]
    for image, caption in zip(images, captions, strict=True):
        bright = image.max(axis=-1) > 100
        unit = image / np.maximum(np.linalg.norm(image, axis=-1, keepdims=True), 1)
        colours = np.where(bright, (unit @ shades.T).argmax(-1), -1)
        words = caption.split()
        named = [word for word in words if word in COLOURS]
        assert {[*COLOURS][n] for n in np.unique(colours) if n >= 0} == set(named)
        if len(words) == 4:
            rows, columns = np.nonzero(bright)
            size = max(np.ptp(rows), np.ptp(columns)) + 1
            assert (size > 10) == (words[1] == "large")
        elif named[0] != named[1]:
            one, two = (
                np.mean(np.nonzero(colours == [*COLOURS].index(name)), axis=1) for name in named
            )
            assert (one < two)[0 if "above" in words else 1]


# Files and other pictures


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A short run on a file."""
    folder = tmp_path_factory.mktemp("captions")
    images, captions = coloured(60)
    np.savez(folder / "a.npz", images=images, captions=captions)
    settings = {"task": "caption", "file": str(folder / "a.npz"), "attention": "dot"}
    config = Config(**settings, cell="gru", units=12, embedding=8, batch=16, steps=60, rate=0.02)
    return train(config, folder / "run")


@pytest.mark.slow
def test_a_run_learns_is_applied_and_is_evaluated_on_another_file(learned, tmp_path, ostinato):
    task, network = learned.task(), learned.network()
    scores = task.scores(network, "test")
    assert scores["exact, beam of 5"] == 1
    # Every right answer is one chunk, however many words it has; its end is a step too, and a
    # batch is filled up with empty rows.
    steps = np.concatenate([x.weights.sum(axis=0) for x in task.held_out("test", 4)])
    words = steps[steps > 0] - 1
    assert scores["METEOR"] == pytest.approx(1 - 0.5 * (len(words) / words.sum()) ** 3, abs=1e-3)
    assert [round(x) for name, x in scores.items() if "BLEU-1" in name] == [100, 100]
    assert task.preview(network, None).startswith("✓ ")
    images, captions = coloured(5)
    np.save(tmp_path / "some.npy", images / 255)
    code, out, errors = ostinato("apply", learned.path, "some.npy")
    assert code == 0 and out.splitlines() == captions, errors
    np.save(tmp_path / "one.npy", images[0])
    code, out, _ = ostinato("apply", learned.path, "one.npy", "--n-best", "2", "--json")
    found = json.loads(out)
    assert found["number"] == 0 and found["text"] == captions[0] and len(found["answers"]) == 2
    np.savez(tmp_path / "b.npz", images=images, captions=captions)
    code, out, _ = ostinato("evaluate", learned.path, "b.npz", "--json")
    found = json.loads(out)["metrics"]
    assert found["exact match"] == 1 and not any("nearest" in name for name in found)

    def how(file):
        return ApplyOptions(file, artefacts=task.artefacts())

    for wrong, words in (
        (np.zeros((2, 6, 4, 3), np.uint8), "have 6 × 4 pixels with 3 channels; the model reads 6"),
        (np.zeros((2, 6, 5, 3), int), "must be uint8, or floats from 0 to 1, got int64"),
    ):
        np.save(tmp_path / "wrong.npy", wrong)
        with pytest.raises(BadInput, match=words) as error:
            next(task.apply(network, how(tmp_path / "wrong.npy")))
        assert "\n" not in str(error.value)
    with pytest.raises(BadInput, match=r"give an .npy or .npz file of pictures; it is not read"):
        next(task.apply(network, how(None)))
    for option in (["--targets", "b.npz"], ["--pictures", "looks"], ["--steps", 3]):
        code, _, err = ostinato("apply", learned.path, "b.npz", *option)
        assert code != 0 and err.count("\n") == 1
        assert f"{option[0]} means nothing for a run of the task caption; it takes --beam" in err


GOOD = np.zeros((3, 4, 4, 3), np.uint8)
NAN = np.where(np.arange(144).reshape(3, 4, 4, 3) == 100, np.nan, 0.5)


@pytest.mark.parametrize(
    ("images", "captions", "words"),
    [
        (GOOD, ["a", " ", "c"], "x: caption 1 is empty"),
        (GOOD, [b"a", b"\xff", b"c"], "x: caption 1 is not UTF-8 text"),
        (GOOD, ["a", "b"], "x: there are 3 pictures and 2 captions"),
        (GOOD, [1, 2, 3], r"x: captions must be texts of shape \(N,\), got int64"),
        (GOOD[:0], [], "x: there are no pictures"),
        (GOOD[0], ["a"], r"x: pictures must be \(N, height, width, 3\), got shape \(4, 4, 3\)"),
        (GOOD.astype(np.int32), ["a"] * 3, "x: pictures must be uint8, .* got int32"),
        (NAN, ["a"] * 3, "from 0 to 1, got nan in picture 2 at row 0, column 1"),
        (GOOD + 2.0, ["a"] * 3, "from 0 to 1, got 2 in picture 0"),
    ],
)
def test_bad_pictures_and_captions_are_refused(images, captions, words):
    with pytest.raises(BadInput, match=words) as error:
        checked_captioned(images, captions, "x")
    assert "\n" not in str(error.value)


def test_bad_files_are_refused(tmp_path):
    np.savez(tmp_path / "none.npz", images=GOOD)
    np.savez(tmp_path / "objects.npz", images=GOOD, captions=np.array(["a"] * 3, object))
    np.savez(tmp_path / "few.npz", images=GOOD[:2], captions=["a", "b"])
    (tmp_path / "text.npz").write_text("not an archive")
    for name, words in (
        ("none.npz", "has no array captions; it has images"),
        ("objects.npz", r"save them as text: np.array\(captions, str\)"),
        ("few.npz", "2 pictures cannot be divided into 3 parts"),
        ("text.npz", "is not a file of NumPy arrays"),
        ("gone.npz", "there is no file"),
    ):
        with pytest.raises(BadInput, match=words) as error:
            Captions.from_settings(Captions.Settings(file=str(tmp_path / name)), 0)
        assert "\n" not in str(error.value)
    with pytest.raises(BadInput, match=r"read from \.npy and \.npz files"):
        read_pictures("photo.jpg")


def test_floats_become_whole_numbers():
    assert checked_pictures(np.array([0, 0.5, 1]).reshape(1, 1, 1, 3)).ravel().tolist() == [
        0, 128, 255
    ]  # fmt: skip


def test_captions_are_scored_without_sacrebleu(monkeypatch):
    task = Captions.of(*coloured(50))
    answers = [[SimpleNamespace(text=words)] for words in task.captions["test"]]
    monkeypatch.setattr("ostinato.tasks.pairs.captions.written", lambda *_: answers)
    assert len(task.scores(None, "test")) == 7
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.warns(UserWarning, match=r"left out: BLEU needs sacrebleu: .*\[translate\]"):
        assert task.scores(None, "test").keys() == {"exact, beam of 5", "METEOR"}


def test_bleu_of_an_order_is_that_of_sacrebleu():
    import sacrebleu

    found, right = ["a small red cat", "the dog"], ["a red cat", "the small dog"]
    for order in (1, 2):
        metric = sacrebleu.BLEU(max_ngram_order=order)
        score = bleu(found, right, order=order)
        assert score.value == metric.corpus_score(found, [right]).score
        assert score.name == f"BLEU-{order}"
    with pytest.raises(BadInput, match="the order of BLEU must be at least 1, got 0"):
        bleu(found, right, order=0)


def test_several_captions_of_a_picture(monkeypatch):
    images, captions = coloured(50)
    several = np.array([[one, f"{one} again"] for one in captions])
    task, plain = Captions.of(images, several, seed=1), Captions.of(images, captions, seed=1)
    assert task.count("train") == 2 * plain.count("train")  # each caption is learned
    batch = task.batch(0, 8)
    for place, n in enumerate(task.chosen(0, 8)):
        text = task.captions["train"][n].removesuffix(" again")
        picture = np.flatnonzero([one == text for one in plain.captions["train"]])
        assert any(
            np.array_equal(batch.inputs.source[:, place], plain.images["train"][k]) for k in picture
        )
    assert task.captions["test"] == plain.captions["test"]
    for written in ([x[1] for x in task.references["test"]], plain.captions["test"]):
        answers = [[SimpleNamespace(text=words)] for words in written]
        monkeypatch.setattr("ostinato.tasks.pairs.captions.written", lambda *_, a=answers: a)
        assert task.scores(None, "test")["exact, beam of 5"] == 1
    task.hold_out_all()
    assert task.count("test") == len(task.images["test"]) == plain.count("train")
    assert task.captions["test"] == plain.captions["train"]
