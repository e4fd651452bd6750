"""Captions of films: moving shapes, batches, files."""

import numpy as np
import pytest

from ostinato.data.generated.moving import DIRECTIONS, MovingClips, draw_scenes, shape_sprites
from ostinato.data.splits import part_of
from ostinato.errors import BadInput
from ostinato.tasks import VideoCaptions

RANDOM = np.random.default_rng(9)
CLIPS = RANDOM.integers(0, 256, (20, 4, 5, 5)).astype(np.uint8)
WORDS = ["it goes up", "it goes down"] * 10


def centres(clip: np.ndarray) -> np.ndarray:
    """The centre of what is bright in each frame, `(frames, 2)`."""
    weight = clip[..., 0] / clip.sum(axis=(1, 2, 3))[:, None, None]
    places = np.arange(clip.shape[1])
    return np.stack([(weight.sum(2) * places).sum(1), (weight.sum(1) * places).sum(1)], -1)


def test_shapes_go_where_their_caption_says():
    clips, captions = draw_scenes(np.random.default_rng(3), 200, "train", frames=6, pixels=16)
    assert {part_of(caption) for caption in captions} == {"train"}
    alone = [n for n, caption in enumerate(captions) if " and " not in caption]
    assert 10 < len(alone) < 100
    for n in alone:
        way = (centres(clips[n])[-1] - centres(clips[n])[0]).round(6)
        assert tuple(np.sign(way)) == DIRECTIONS[captions[n].split()[-1]]
        assert abs(way).max() > 3
    assert len(set(captions)) > 60 and len(clips) == 200


def test_moving_things_go_straight_and_turn_back_at_the_edges():
    sprites = np.full((1, 3, 3), 200, np.uint8)
    clips = MovingClips(np.random.default_rng(0), sprites, 50, frames=40, pixels=63, things=1)
    films = clips[:]
    assert (films.sum(axis=(2, 3, 4)) == 9 * 200).all()
    np.testing.assert_array_equal(clips[np.array([7, 3])], films[[7, 3]])
    steps = np.abs(np.diff([centres(film) for film in films], axis=1))
    # A tenth of the 60 pixels of room, to whole pixels; less where it turns back.
    assert np.linalg.norm(steps, axis=-1).max() <= 6 + np.sqrt(2)
    assert np.median(np.linalg.norm(steps, axis=-1)) == pytest.approx(6, abs=0.5)
    more = {"frames": 3, "pixels": 16, "things": 2}
    two = MovingClips(np.random.default_rng(0), shape_sprites(7), 50, **more)
    assert two[:].shape == two.shape == (50, 3, 16, 16, 1) and two[:].max() == 255


def test_a_batch_has_frames_and_captions_and_all_frames_are_moved_alike():
    task = VideoCaptions.of(CLIPS, WORDS)
    moved = VideoCaptions.of(CLIPS, WORDS, shift=2)
    for index in range(3):
        one, two = task.batch(index, 6), moved.batch(index, 6)
        assert one.inputs.source.shape == (4, 6, 5, 5, 1)
        np.testing.assert_array_equal(one.targets, two.targets)
        for n in range(6):
            film, other = one.inputs.source[:, n, ..., 0], two.inputs.source[:, n, ..., 0]
            ways = [(y, x) for y in range(-2, 3) for x in range(-2, 3)]
            padded = np.pad(film, ((0, 0), (2, 2), (2, 2)), "edge")
            cut = [padded[:, 2 - y : 7 - y, 2 - x : 7 - x] for y, x in ways]
            assert any((x == other).all() for x in cut)
    text = task.tokens.decode(task.batch(0, 6).targets[:-1, 0])
    assert text in WORDS


def test_without_a_file_whole_captions_are_counted():
    settings = VideoCaptions.Settings(frames=3, pixels=8)
    task = VideoCaptions.from_settings(settings, 0)
    assert task.metric.name == "exact match"
    assert task.images["valid"].shape == (500, 3, 8, 8, 1)
    assert task.model["kind"] == "video-captioner" and task.model["picture"] == [8, 8, 1]


@pytest.mark.parametrize(
    ("clips", "captions", "words"),
    [
        (CLIPS, WORDS[:3], "x: there are 20 clips and 3 captions"),
        (CLIPS[0], WORDS, "x: clips must be"),
        (CLIPS, [*WORDS[:-1], " "], "x: caption 19 is empty"),
    ],
)
def test_bad_clips_and_captions_are_refused(clips, captions, words):
    with pytest.raises(BadInput, match=words) as error:
        VideoCaptions.of(clips, captions, where="x")
    assert "\n" not in str(error.value)
