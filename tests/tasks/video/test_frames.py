"""Films: what is read and asked, how errors are measured, files, and what a run draws."""

import json

import jax
import numpy as np
import pytest

from ostinato import Config, train
from ostinato.data.pictures import checked_clips, read_clips
from ostinato.errors import BadInput
from ostinato.report.network_charts import weights
from ostinato.runs.analysis.evaluation import measured
from ostinato.tasks import Video
from ostinato.tasks.applying import ApplyOptions, outputs_on
from ostinato.wiring import outputs_of
from untrained import untrained_run

from ..members import write_data

RANDOM = np.random.default_rng(8)
CLIPS = RANDOM.integers(0, 256, (20, 7, 4, 5, 3)).astype(np.uint8)


def test_the_frames_are_asked_backwards_and_then_the_next_ones():
    task = Video.of(CLIPS, frames=4, ahead=2)
    batch = task.batch(3, size=5)
    source = batch.inputs.source
    assert source.shape == (4, 5, 4, 5, 3) and source.dtype == np.uint8
    assert (task.length, task.inputs, task.outputs) == (6, 60, 60)
    whole = np.concatenate([task.parts[part] for part in ("train", "valid", "test")])
    for n in range(5):
        (at,) = np.flatnonzero((whole[:, :4] == source[:, n]).all(axis=(1, 2, 3, 4)))
        film = whole[at].reshape(6, -1) / 255
        right = np.concatenate([film[3::-1], film[4:]])
        np.testing.assert_allclose(batch.targets[:, n], right, rtol=1e-6)
    ahead = Video.of(CLIPS, frames=4, ahead=2, learn="predict").batch(3, size=5)
    again = Video.of(CLIPS, frames=4, learn="reconstruct").batch(3, size=5)
    np.testing.assert_array_equal(ahead.targets, batch.targets[4:])
    np.testing.assert_array_equal(again.targets, batch.targets[:4])


def test_longer_clips_are_cut_and_no_clip_is_in_two_parts():
    ramp = np.broadcast_to(np.arange(20)[:, None, None, None], (20, 7, 2, 2)) / 20
    task = Video.of(ramp, frames=2, ahead=1)
    assert {part: len(clips) for part, clips in task.parts.items()} == {
        "train": 32, "valid": 4, "test": 4
    }  # fmt: skip
    seen = [{int(clip.max()) for clip in clips} for clips in task.parts.values()]
    assert sum(map(len, seen)) == len(set().union(*seen)) == 20


@pytest.mark.parametrize("learn", ["both", "predict", "reconstruct"])
def test_metrics_and_yardsticks_are_those_of_numpy(learn):
    task = Video.of(CLIPS, frames=3, ahead=4, learn=learn, split=(0.2, 0.6, 0.2))
    network = train_nothing(task)
    (batch,) = task.held_out("valid", 100)
    p = 1 / (1 + np.exp(-np.asarray(outputs_on(network, batch.arrays), float)))
    x = np.asarray(batch.targets, float)
    error = np.sum((p - x) ** 2, axis=2).mean(axis=1)
    nats = -np.sum(x * np.log(p) + (1 - x) * np.log(1 - p), axis=2).mean(axis=1)
    parts = {"predicted": slice(task.again, None), "reconstructed": slice(0, task.again)}
    right = {}
    for what, steps in parts.items():
        if len(error[steps]):
            right[f"squared error per {what} frame"] = error[steps].mean()
            right[f"nats per {what} frame"] = nats[steps].mean()
    found = measured(network, task.held_out("valid", 5), task.metrics)
    assert [metric.name for metric in task.metrics] == [*right]
    np.testing.assert_allclose(found, [*right.values()], rtol=1e-5)
    films = task.parts["valid"].reshape(12, -1, 60) / 255
    if learn == "reconstruct":
        assert task.yardsticks("valid") == {} and task.scores(network, "valid") == {}
        return
    again = np.sum((films[:, 3:] - films[:, 2:3]) ** 2, axis=2)
    assert task.baselines()["the last frame again"] == pytest.approx(again.mean(), rel=1e-6)
    scores = task.scores(network, "valid")
    assert [*scores.values()] == pytest.approx(
        [y for k in (0, 1) for y in (error[task.again + k], again[:, k].mean())], rel=1e-5
    )
    assert [*scores][2:] == ["squared error 2 ahead", "squared error 2 ahead, the last frame again"]


def train_nothing(task):
    from ostinato.runs.build import build_network

    return build_network(Config(cell="gru", units=3, steps=1), task, 3)


def test_drawn_clips_are_those_of_the_seed_and_digits_are_of_their_own_part(tmp_path, monkeypatch):
    small = {"frames": 3, "ahead": 2, "pixels": 14, "clips": 6}
    settings = Video.Settings(**small)
    one, same, other = (Video.from_settings(settings, seed) for seed in (0, 0, 1))
    assert one.fingerprint() == same.fingerprint() != other.fingerprint()
    assert {part: len(x) for part, x in one.parts.items()} == {
        "train": 6, "valid": 200, "test": 1000
    }  # fmt: skip
    write_data(tmp_path)
    monkeypatch.setenv("OSTINATO_DATA", str(tmp_path))
    digits = Video.from_settings(Video.Settings(**small, shows="digits", things=1), 0)
    # All pixels of a digit d of `write_data` are 25 d; it has 7 by 7 pixels here.
    for clip in digits.parts["train"][:]:
        values = np.unique(clip)
        assert len(values) <= 2 and values[-1] % 25 == 0
        assert all(np.sum(frame > 0) in (0, 49) for frame in clip)
    with pytest.raises(BadInput, match="digits need pixels of at least 14, got 13"):
        Video.from_settings(Video.Settings(**small | {"pixels": 13}, shows="digits"), 0)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A run on a file of films in which everything moves to the right by a pixel."""
    folder = tmp_path_factory.mktemp("video")
    np.save(folder / "a.npy", films(40))
    settings = {"task": "video", "file": str(folder / "a.npy"), "frames": 3, "ahead": 3}
    config = Config(**settings, cell="gru", units=8)
    return untrained_run(config, folder / "run")


def films(count: int, frames: int = 6) -> np.ndarray:
    start = RANDOM.integers(0, 6, count)
    places = (start[:, None] + np.arange(frames)) % 6
    return np.broadcast_to(np.eye(6, dtype=np.float32)[places][:, :, None], (count, frames, 4, 6))


def test_a_run_is_shown_and_applied(learned, tmp_path, ostinato):
    task, network = learned.task(), learned.network()
    lines = task.preview(network, jax.random.key(0)).splitlines()
    assert lines[0] == "true and drawn, 1, 2, 3 frames ahead:" and len(lines) == 5
    pictures = task.pictures(network)
    assert len(pictures) == 3
    chart = weights(pictures[0], "film").drawing()
    assert chart.x.ticks == ([2.5, 9.5, 16.5], ["1", "2", "3"])
    assert chart.y.ticks == ([1.5, 6.5, 11.5], ["read", "next", "drawn"])
    assert len(chart.cells[0].z) == 14 and chart.cells[0].z[0][6] is None

    clips = films(3, frames=5)
    np.save(tmp_path / "new.npy", clips)
    how = ApplyOptions(tmp_path / "new.npy", task.settings, task.artefacts(), steps=7)
    answers = [*task.apply(network, how)]
    assert [answer["number"] for answer in answers] == [0, 1, 2]
    frames = np.array(answers[1]["frames"], np.uint8)
    assert frames.shape == (7, 4, 6, 1)
    # The last frames are read; what is drawn are the outputs on them, after the reconstruction.
    batch = Video.of(clips[:, 2:], frames=3, learn="reconstruct", split=(1, 0, 0)).together(
        "train", np.arange(3)
    )
    ones = np.ones((10, 3, 1), np.float32)
    asked = batch._replace(inputs=batch.inputs._replace(target=ones)).arrays
    drawn = jax.nn.sigmoid(outputs_of(network, asked)[0])[3:, 1]
    np.testing.assert_allclose(frames.reshape(7, -1), 255 * drawn, atol=0.51)

    code, out, errors = ostinato("apply", learned.path, "new.npy", "--save", "next.npy")
    assert code == 0 and out == "saved in next.npy: 3 clips of 3 frames\n", errors
    saved = np.load(tmp_path / "next.npy")
    assert saved.dtype == np.uint8 and saved.shape == (3, 3, 4, 6, 1)
    np.testing.assert_array_equal(saved[1], frames[:3])
    code, out, _ = ostinato("apply", learned.path, "new.npy", "--json", "--pictures", "drawn")
    assert json.loads(out.splitlines()[2])["picture"]["rows"][0] == "read"
    assert len([*(tmp_path / "drawn").glob("*.png")]) == 3
    code, out, _ = ostinato("evaluate", learned.path, "new.npy", "--json")
    assert code != 0  # five frames are too few to be scored


def test_what_a_run_cannot_draw_is_refused(learned, tmp_path):
    task, network = learned.task(), learned.network()
    for wrong, words in (
        (np.zeros((2, 3, 6, 4), np.uint8), "frames have 6 × 4 pixels with 1 channel; the model"),
        (np.zeros((2, 2, 4, 6), np.uint8), "the clips have 2 frames; the model reads 3"),
        (np.zeros((4, 6), np.uint8), r"clips must be \(N, frames, height, width\) or .*\(4, 6\)"),
    ):
        np.save(tmp_path / "wrong.npy", wrong)
        how = ApplyOptions(tmp_path / "wrong.npy", task.settings, task.artefacts())
        with pytest.raises(BadInput, match=words) as error:
            next(task.apply(network, how))
        assert "\n" not in str(error.value)
    with pytest.raises(BadInput, match=r"give an .npy or .npz file of clips; it is not read"):
        next(task.apply(network, ApplyOptions(None, task.settings, task.artefacts())))


GOOD = np.zeros((30, 6, 3, 3), np.uint8)


@pytest.mark.parametrize(
    ("clips", "words"),
    [
        (GOOD[0], r"must be \(N, frames, height, width\) or .*, got shape \(6, 3, 3\)"),
        (GOOD[..., None, None], "got shape"),
        (GOOD[:0], r"got shape \(0, 6, 3, 3\)"),
        (GOOD[:, :0], r"got shape \(30, 0, 3, 3\)"),
        (np.zeros((30, 6, 3, 3, 2)), r"got shape \(30, 6, 3, 3, 2\)"),
        (GOOD.astype(np.int64), "frames must be uint8, or floats from 0 to 1, got int64"),
        (GOOD - 1.0, "floats of a frame must be from 0 to 1, got -1 in frame 0 at row 0"),
        (np.where(GOOD == 0, np.nan, 0), "got nan in frame 0"),
    ],
)
def test_bad_clips_are_refused(clips, words):
    with pytest.raises(BadInput, match=words) as error:
        checked_clips(clips, "x")
    assert "\n" not in str(error.value) and str(error.value).startswith("x: ")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"frames": 4, "ahead": 3}, "x: the clips have 6 frames; 7 are needed"),
        ({"frames": 7, "learn": "reconstruct"}, "x: the clips have 6 frames; 7 are needed"),
        ({"frames": 0}, "frames must be at least 1"),
        ({"ahead": -1}, "ahead must be at least 1"),
        ({"learn": "all"}, "learn must be one of both, predict, reconstruct"),
        ({"conditional": 3}, "conditional"),
        ({"pixels": 20}, "pixels"),
        ({"split": (0, 1, 0)}, "for training, is 0"),
    ],
)
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(BadInput, match=words) as error:
        Video.of(GOOD, where="x", **settings)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"embedding": 4}, "reads vectors, so it takes no embedding"),
        ({"pool": "mean"}, "answers at every step; leave out --pool"),
        ({"output_feedback": True}, "has a network of its own kind; leave out output_feedback"),
        ({"cell": "jordan"}, "needs a readout"),
        ({"gradient": "rtrl"}, "has a network of its own kind, which needs --gradient full"),
        ({"omega": 1.0}, "has a network of its own kind; leave out omega"),
        ({"curriculum": 3}, "the task video has a length of 5 steps: the frames that are drawn"),
    ],
)
def test_networks_that_a_film_has_no_use_for_are_refused(settings, words, tmp_path):
    config = Config(**{"cell": "gru", "units": 3, "steps": 1, "batch": 2} | settings)
    with pytest.raises(BadInput, match=words) as error:
        train(config, tmp_path / "run", task=Video.of(GOOD, frames=3, ahead=2))
    assert "\n" not in str(error.value)


def test_bad_files_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", images=GOOD)
    np.save(tmp_path / "few.npy", GOOD[:2])
    for name, words in (
        ("other.npz", "has no array clips; it has images"),
        ("few.npy", "2 clips cannot be divided into 3 parts"),
        ("gone.npy", "there is no file"),
        ("film.mp4", r"clips are read from \.npy and \.npz files, got .*film.mp4"),
    ):
        with pytest.raises(BadInput, match=words) as error:
            Video.from_settings(Video.Settings(file=str(tmp_path / name), frames=3, ahead=3), 0)
        assert "\n" not in str(error.value)
    np.save(tmp_path / "one.npy", GOOD[0])
    assert read_clips(tmp_path / "one.npy").shape == (1, 6, 3, 3, 1)
