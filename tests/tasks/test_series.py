"""Series of one's own, and tasks from files."""

import json

import jax
import numpy as np
import pytest

from ostinato.cells import LSTM
from ostinato.errors import BadInput
from ostinato.settings import make
from ostinato.tasks import Arrays, Series, task_name_for
from ostinato.wiring import Network, Readout

T = 400
TIME = np.arange(T)
VALUES = np.stack([np.sin(TIME / 7) * 3 + 20, TIME % 5, np.cos(TIME / 11) * 100], axis=1)
LABELS = (VALUES[:, 0] > 20).astype(int)


def raw(task, scaled, columns):
    """Scaled values in the units of the data."""
    shift, factor = (np.array(x)[columns] for x in (task.scaler.shift, task.scaler.factor))
    return scaled * factor + shift


def test_the_next_values_are_the_targets():
    task = Series(VALUES, targets=[0, 2], horizon=3, length=20)
    batch = task.batch(4, 2)
    assert batch.inputs.shape == (20, 2, 3) and batch.targets.shape == (20, 2, 6)
    now = raw(task, batch.inputs, [0, 1, 2])
    later = batch.targets.reshape(20, 2, 3, 2)
    for k in range(3):
        found = raw(task, later[: 20 - k - 1, :, k], [0, 2])
        np.testing.assert_allclose(found, now[k + 1 :, :, [0, 2]], atol=1e-3)
    assert task.batch_shape(100) == (20, 17)


def test_parts_follow_in_time_and_do_not_overlap():
    task = Series(TIME.astype(float), horizon=2, scale=False)
    for part, low, high in (("train", 0, 360), ("valid", 360, 380), ("test", 380, 400)):
        stream = task.parts[part]
        assert stream.inputs.min() == low and stream.targets.max() == high - 1
        assert len(stream.there) == high - low - 2


@pytest.mark.parametrize("size", [1, 3, 8])
def test_held_out_has_every_step_once(size):
    task = Series(TIME.astype(float), scale=False, length=7, split=(0.6, 0.2, 0.2))
    seen = [b.inputs[..., 0][b.weights > 0] for b in task.held_out("valid", size)]
    assert sorted(np.concatenate(seen)) == list(range(240, 319))
    first = [batch.first for batch in task.held_out("valid", size)]
    assert first[0] and not any(first[1:])


def test_carried_windows_go_on():
    task = Series(TIME.astype(float), scale=False, length=10)
    one, two = task.batch(0, 4), task.batch(1, 4)
    assert one.first and not two.first
    assert np.array_equal(one.targets[-1], two.inputs[0])
    free = Series(TIME.astype(float), scale=False, length=10, carry=False)
    assert free.batch(1, 4).first and not np.array_equal(free.batch(0, 4), free.batch(1, 4))
    assert task.epochs(8, 4) == 1 and free.epochs(359, 4) == pytest.approx(40)


def test_scaling_is_fitted_on_the_training_part():
    task = Series(VALUES)
    np.testing.assert_allclose(task.scaler.shift, VALUES[:360].mean(0))
    np.testing.assert_allclose(task.scaler.factor, VALUES[:360].std(0))
    later = VALUES[1:360]
    assert task.chance == pytest.approx(later.var(0).mean(), rel=1e-6)
    assert Series(VALUES, targets=[1]).metric.loss_factor == pytest.approx(
        2 * VALUES[:360, 1].var()
    )
    assert Series(VALUES).metric.loss_factor is None


def test_persistence_repeats_the_last_value():
    task = Series(VALUES, targets=["temperature"], names=["temperature", "n", "sun"], horizon=2)
    valid = VALUES[360:380, 0]
    errors = [valid[1:-1] - valid[:-2], valid[2:] - valid[:-2]]
    assert task.baselines()["persistence"] == pytest.approx(np.mean(np.square(errors)), rel=1e-4)
    gaps = VALUES[:, 0].copy()
    gaps[[100, 365]] = np.nan
    masked = Series(gaps, missing="mask")
    known = np.where(TIME == 365, VALUES[364, 0], VALUES[:, 0])[360:379]
    there = np.arange(361, 380) != 365
    expected = np.mean((VALUES[361:380, 0] - known)[there] ** 2)
    assert masked.baselines()["persistence"] == pytest.approx(expected, rel=1e-3)
    assert masked.inputs == 2 and masked.outputs == 1


def test_several_series_start_anew():
    task = Series([VALUES[:100], VALUES[100:]], length=10)
    resets = np.concatenate([b.resets[:, 0] for b in task.evaluated("valid")])
    assert np.flatnonzero(resets).tolist() == [0, 4]  # 5 and 15 steps, less the last of each
    assert task.batch(0, 4).resets.dtype == bool
    assert Series(VALUES).batch(0, 4).resets is None
    assert len(task.parts["train"].there) == 90 + 270 - 2


def test_what_goes_with_each_step():
    classes = Series(VALUES[:, 1:], LABELS, length=20)
    assert classes.outputs == 2 and classes.metric.name == "accuracy"
    assert classes.chance == pytest.approx(max(LABELS[:360].mean(), 1 - LABELS[:360].mean()))
    stream = classes.parts["valid"]
    assert np.array_equal(stream.targets, LABELS[360:380]) and stream.targets.dtype == np.int32
    numbers = Series(VALUES[:, 1:], VALUES[:, 0])
    found = numbers.parts["test"].targets[:, 0] * numbers.answers.scaler.factor[0]
    np.testing.assert_allclose(found + numbers.answers.scaler.shift[0], VALUES[380:, 0], rtol=1e-5)
    assert numbers.baselines() == {"chance": numbers.chance}


def test_preview_draws_the_forecast():
    task = Series(VALUES, targets=[0], names=["temperature", "n", "sun"], length=15)
    keys = jax.random.split(jax.random.key(0))
    network = Network(LSTM(3, 4, key=keys[0]), Readout(4, 1, key=keys[1]))
    first, actual, forecast = task.preview(network, keys[0]).split("\n")
    assert first.startswith("temperature, 1 step ahead, from ")
    assert len(actual) == len(forecast) == 10 + 15
    assert Series(VALUES, LABELS).preview(network, keys[0]) is None


WRONG = {
    "four axes": ((np.zeros((2, 2, 2, 2)),), {}, r"is \(T, columns\)"),
    "no axis": ((np.float64(3),), {}, r"is \(T, columns\)"),
    "text": ((np.array(["a", "b"]),), {}, "must be"),
    "complex": ((np.zeros((9, 2), complex),), {}, "must be"),
    "nothing": ((np.zeros((0, 2)),), {}, "must be"),
    "no series": (([],), {}, "must be"),
    "widths": (([VALUES, VALUES[:, :2]],), {}, "series 1 has 2 columns, series 0 3"),
    "too short": ((VALUES[:20],), {}, "20 steps, too few for the part valid with a share of 5%"),
    "horizon too far": ((VALUES,), {"horizon": 20}, "and a horizon of 20"),
    "two steps": ((VALUES[:2],), {}, "cannot be divided"),
    "horizon 0": ((VALUES,), {"horizon": 0}, "steps of horizon must be"),
    "no such column": ((VALUES,), {"targets": [3]}, "there is no column 3; there are 1, 2, 3"),
    "no such name": ((VALUES,), {"targets": ["x"]}, "there is no column 'x'"),
    "no target": ((VALUES,), {"targets": []}, "targets is empty"),
    "too few names": ((VALUES,), {"names": ["a"]}, "3 columns need 3 names, got 1"),
    "missing": ((np.where(TIME == 7, np.nan, 1.0),), {}, "step 7, column '1' is missing; fill"),
    "infinite": ((np.where(TIME == 7, np.inf, 1.0),), {"missing": "mask"}, "step 7.*is infinite"),
    "ys too short": ((VALUES, LABELS[1:]), {}, "has 400 steps, its targets have shape"),
    "ys and horizon": ((VALUES, LABELS), {"horizon": 2}, "season are of forecasts; leave them out"),
    "ys of floats": ((VALUES, LABELS * 1.0), {}, "say kind="),
    "ys of two axes": ((VALUES, LABELS[:, None].repeat(2, 1)), {}, "one label per step"),
    "ys of one series": (([VALUES, VALUES], [LABELS]), {}, "for each of 2 series, got 1"),
    "length": ((VALUES,), {"length": 0}, "at least 1, got 0"),
    "split": ((VALUES,), {"split": (0.5, 0.6, 0)}, "add up to 1"),
    "missing how": ((VALUES,), {"missing": 3}, "missing must be one of"),
}


@pytest.mark.parametrize("case", WRONG)
def test_refuses(case):
    arguments, options, words = WRONG[case]
    with pytest.raises(BadInput, match=words) as found:
        Series(*arguments, **options)
    assert "\n" not in str(found.value)


# From files


@pytest.fixture
def weather(tmp_path):
    rows = [f"2020-{t},{a:.4f},{n},{b:.4f}" for t, (a, n, b) in enumerate(VALUES)]
    path = tmp_path / "weather.csv"
    path.write_text("\n".join(["day,temperature,n,sun", *rows]))
    return path


@pytest.fixture
def walks(tmp_path):
    """Twelve walks of different lengths, with a label per walk and one per step."""
    rows = ["walk,who,x,y,turn"]
    for walk in range(12):
        for step in range(4 + walk % 3):
            rows.append(f"w{walk},{'anna' if walk % 2 else 'ben'},{step},{walk * 0.5},{step % 2}")
    path = tmp_path / "walks.csv"
    path.write_text("\n".join(rows))
    return path


def series(path, **given):
    return Series.from_settings(make(Series.Settings, {"file": str(path), **given}), seed=3)


def arrays(path, **given):
    return Arrays.from_settings(make(Arrays.Settings, {"file": str(path), **given}), seed=3)


def test_a_csv_is_forecast(weather):
    task = series(weather, target="sun", ignore="day", horizon=2, length=10)
    assert (task.inputs, task.outputs, task.length) == (3, 2, 10)
    assert task.names == ["temperature", "n", "sun"] and task.targets == [2]
    assert task.source == f"{weather} is"
    again = Series.on_file(
        weather,
        make(Series.Settings, {"target": "sun", "ignore": "day", "horizon": 2}),
        json.loads(json.dumps(task.artefacts())),
    )
    assert again.scaler == task.scaler and len(again.parts["valid"].there) == T - 2
    assert again.chance == task.chance


def test_a_run_finds_its_file_from_any_folder(weather, monkeypatch):
    monkeypatch.chdir(weather.parent)
    for kind in (Series, Arrays):
        assert kind.Settings(file="weather.csv").file == str(weather)
        with pytest.raises(BadInput, match="file must be a path, got ''"):
            kind.Settings(file="")


def test_a_csv_with_a_label_per_row(weather, tmp_path):
    task = series(weather, target="n", kind="classification", columns="temperature,sun")
    assert (task.inputs, task.outputs) == (2, 5) and task.metric.name == "accuracy"
    task = series(weather, target="temperature,sun", kind="regression", columns="n")
    assert (task.inputs, task.outputs) == (1, 2)


def test_a_csv_of_labelled_sequences(walks):
    task = arrays(walks, target="who", sequence="walk", ignore="turn")
    assert not task.per_step and task.answers.classes == ("anna", "ben")
    assert task.inputs == 2 and sorted(task.data.lengths) == sorted([4, 5, 6] * 4)
    task = arrays(walks, target="turn", sequence="walk", ignore="who", kind="classification")
    assert task.per_step and task.outputs == 2
    assert (task.batch(0, 4).targets == task.batch(0, 4).weights * (TIME[:6, None] % 2)).all()
    several = series(walks, target="x", sequence="walk", ignore="who", split="100/0/0")
    assert several.batch(0, 2).resets is not None


def test_npz_and_npy(tmp_path):
    xs, ys = VALUES.reshape(40, 10, 3), np.arange(40) % 3
    np.savez(tmp_path / "x.npz", x=xs, y=ys, lengths=np.arange(40) % 6 + 5)
    task = arrays(tmp_path / "x.npz")
    assert (task.inputs, task.outputs, task.varied) == (3, 3, True)
    again = Arrays.on_file(tmp_path / "x.npz", make(Arrays.Settings, {}), task.artefacts())
    assert len(again.parts["test"]) == 40 and again.scaler == task.scaler
    np.save(tmp_path / "x.npy", VALUES)
    assert series(tmp_path / "x.npy", target="2,3").targets == [1, 2]
    assert series(tmp_path / "x.npy", target="2", kind="classification").outputs == 5


def test_files_have_tasks():
    names = {"a.CSV": "series", "a.tsv": "series", "a.npy": "series", "a.parquet": "series"}
    names |= {"a.npz": "arrays", "a.txt": "text", "a": "text", "a.py": "text"}
    names |= {"a.conllu": "tag", "a.conllu.gz": "tag"}
    assert {name: task_name_for(name) for name in names} == names
    assert task_name_for("a.csv", "id") == "arrays"


WRONG_FILES = {
    "a date": (series, "weather", {"target": "sun"}, "line 2, column 'day': '2020-0' is not a num"),
    "no such target": (series, "weather", {"target": "rain", "ignore": "day"}, "no column 'rain'"),
    "no such ignored": (series, "weather", {"ignore": "days"}, "has no column 'days'; it has day"),
    "no such column": (series, "weather", {"columns": "n,x"}, "has no column 'x'"),
    "no columns": (series, "weather", {"columns": "n", "ignore": "n"}, "no column is left"),
    "a label of what": (series, "weather", {"kind": "regression"}, "kind regression needs target"),
    "a horizon of labels": (
        series,
        "weather",
        {"kind": "regression", "target": "n", "horizon": 3},
        "horizon is of forecasts",
    ),
    "a broken class": (
        series,
        "weather",
        {"kind": "classification", "target": "sun", "columns": "n"},
        "is a whole number",
    ),
    "no sequence": (arrays, "walks", {"target": "who"}, "need sequence and target"),
    "no target": (arrays, "walks", {"sequence": "walk"}, "need sequence and target"),
    "text among inputs": (arrays, "walks", {"sequence": "walk", "target": "turn"}, "column 'who'"),
    "unclear kind": (
        arrays,
        "walks",
        {"sequence": "walk", "target": "turn", "ignore": "who"},
        "say kind=",
    ),
    "two classes": (
        arrays,
        "walks",
        {"sequence": "walk", "target": "turn,who", "kind": "classification"},
        "one target",
    ),
    "no such sequence": (arrays, "walks", {"sequence": "id", "target": "who"}, "no column 'id'"),
}


@pytest.mark.parametrize("case", WRONG_FILES)
def test_files_refuse(case, weather, walks):
    make_task, file, given, words = WRONG_FILES[case]
    with pytest.raises(BadInput, match=words) as found:
        make_task({"weather": weather, "walks": walks}[file], **given)
    assert "\n" not in str(found.value)
    assert f"{file}.csv" in str(found.value) or "kind" in str(found.value)


def test_a_gap_in_a_file_has_its_line(tmp_path):
    rows = [f"{t},{'' if t == 30 else t % 7}" for t in range(60)]
    (tmp_path / "x.csv").write_text("\n".join(["a,b", *rows]))
    with pytest.raises(BadInput, match="line 32, column 'b' is missing; fill it in, or use"):
        series(tmp_path / "x.csv")
    task = series(tmp_path / "x.csv", missing="mask")
    assert task.inputs == 3 and (task.parts["train"].there == (TIME[:53] != 29)).all()


def test_files_of_the_other_task_are_sent_there(tmp_path):
    np.savez(tmp_path / "x.npz", x=VALUES, y=LABELS)
    np.save(tmp_path / "x.npy", VALUES)
    with pytest.raises(BadInput, match="use the task arrays"):
        series(tmp_path / "x.npz")
    with pytest.raises(BadInput, match="use the task series"):
        arrays(tmp_path / "x.npy")
    for task in (Series, Arrays):
        with pytest.raises(BadInput, match=f"the task {task.name} needs a file"):
            task.from_settings(task.Settings(), 0)
