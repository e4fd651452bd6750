"""Series of one's own, and tasks from files."""

import json
import warnings

import jax
import numpy as np
import pytest

from ostinato.cells import LSTM
from ostinato.errors import BadInput
from ostinato.settings import make
from ostinato.tasks import Arrays, Series
from ostinato.tasks.series.from_files import task_name_for
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
    "a list of rows": ((VALUES[:5].T.tolist(),), {}, "may be the rows of one series or several"),
    "rows of different lengths": (
        ([VALUES, [[1.0], [1.0, 2.0]]],),
        {},
        "series 1 must be an array",
    ),
    "a flag for a column": ((VALUES,), {"targets": [True]}, "there is no column True"),
    "a name twice": ((VALUES,), {"names": ["a", "b", "a"]}, "two columns are called 'a'"),
    "ys of words and numbers": (
        ([VALUES, VALUES], [LABELS, LABELS.astype(str)]),
        {},
        "the targets of series 1 are <U21, of series 0 int64",
    ),
    "no series": (([],), {}, "must be"),
    "widths": (([VALUES, VALUES[:, :2]],), {}, "series 1 has 2 columns, series 0 3"),
    "too short": ((VALUES[:20],), {}, "20 steps, too few for the part valid with a share of 5%"),
    "horizon too far": ((VALUES,), {"horizon": 20}, "and a horizon of 20"),
    "two steps": ((VALUES[:2],), {}, "cannot be divided"),
    "horizon 0": ((VALUES,), {"horizon": 0}, "horizon must be at least 1, got 0"),
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
    "missing how": ((VALUES,), {"missing": "drop"}, "missing must be one of"),
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
    with pytest.raises(BadInput, match="line 32, column 'b' is missing; fill it in, or train"):
        series(tmp_path / "x.csv")
    task = series(tmp_path / "x.csv", missing="mask")
    assert task.inputs == 3 and (task.parts["train"].there == (TIME[:53] != 29)).all()


def test_how_to_mask_gaps_is_said_as_it_is_typed_there(tmp_path):
    """For a file as an option of the shell, for data in memory as an argument of Python."""
    gaps = np.where(TIME % 7 == 3, np.nan, 1.0 * TIME)
    ids = np.array(["", *"ab" * 7])
    (tmp_path / "x.csv").write_text("\n".join(["v", *(f"{x}" for x in gaps[:20])]))
    labelled = written(tmp_path, labelled_rows({4: ["1", "", "1"]}), "labels.csv")
    with_gaps = np.tile(gaps[:9], (15, 1))[:, :, None]
    np.savez(tmp_path / "x.npz", x=with_gaps, y=np.arange(15) % 2)
    np.savez(tmp_path / "y.npz", x=np.nan_to_num(with_gaps), y=ids)
    shell, python = "fill it in, or train with --missing mask", 'or train with missing="mask"'
    cases = [
        (shell, lambda: series(tmp_path / "x.csv")),
        (shell, lambda: arrays(labelled, sequence="id", target="label", kind="classification")),
        (shell, lambda: arrays(tmp_path / "x.npz")),
        (shell, lambda: arrays(tmp_path / "y.npz")),
        (python, lambda: Series(gaps)),
        (python, lambda: Arrays(with_gaps, np.arange(15) % 2)),
        (python, lambda: Arrays(np.nan_to_num(with_gaps), ids)),
    ]
    for words, use in cases:
        with pytest.raises(BadInput) as error:
            use()
        assert str(error.value).endswith(words)


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


# Ids, gaps and times


def written(folder, text, name="x.csv"):
    (folder / name).write_text(text)
    return folder / name


def test_ids_of_an_array_are_told_apart_in_full(tmp_path):
    ids = np.repeat([20240101, 20240102, 20240103], 40)
    for dtype, step in ((float, 0), (np.int64, 2**60)):
        rows = np.stack([ids + step, np.arange(120) % 7], axis=1).astype(dtype)
        np.save(tmp_path / "x.npy", rows)
        assert [len(x) for x in series(tmp_path / "x.npy", sequence="1").series] == [40] * 3
    rows = np.stack([np.where(ids == 20240102, np.nan, 1.0), ids], axis=1)
    np.save(tmp_path / "x.npy", rows)
    with pytest.raises(BadInput, match=r"lines 41, 42, 43, 44 and 45 \(and 35 more\), column '1'"):
        series(tmp_path / "x.npy", sequence="1")


def labelled_rows(change):
    """Four sequences of three rows with a label each; `change` maps a row to other cells."""
    rows = [[f"{n // 3}", "ab"[n // 6], f"{n % 3}"] for n in range(12)]
    for at, cells in change.items():
        rows[at] = cells
    return "\n".join(["id,label,v", *map(",".join, rows)])


GAPS = {
    "no id": ({4: ["", "a", "1"]}, "line 6, column 'id': it does not say to which sequence"),
    "NA as id": ({4: ["NA", "a", "1"], 7: [" ", "b", "1"]}, "lines 6 and 9, column 'id': it does"),
    "one number in two ways": (
        {4: ["1.0", "a", "1"]},
        "lines 5 and 6, column 'id': '1' and '1.0' are the same number; write the ids",
    ),
    "a leading zero": ({4: ["01", "a", "1"]}, "'1' and '01' are the same number"),
    "a leading zero among words": (
        {4: ["01", "a", "1"], 9: ["x", "b", "1"]},
        "lines 5 and 6, column 'id': '1' and '01' are the same text or number; write the ids",
    ),
    "an accent in two ways": (
        {0: ["caf\u00e9", "a", "1"], 1: ["cafe\u0301", "a", "1"]},
        "lines 2 and 3, column 'id': .* are the same text or number",
    ),
    "a large number in two ways": (
        {3: ["9007199254740992", "a", "1"], 4: ["9007199254740992.0", "a", "1"]},
        "lines 5 and 6, column 'id': .* are the same number",
    ),
    "one label in two ways": (
        {n: [f"{n // 3}", ("1" if n < 6 else "2") if n % 5 else "01", "1"] for n in range(12)},
        "lines 2 and 3, column 'label': the labels '01' and '1' are the same number; write one cl",
    ),
    "a label is missing": (
        {4: ["1", "", "1"]},
        "line 6: the target is missing, but other rows of the sequence have one; fill it in on all",
    ),
    "a number among labels": (
        {4: ["1", "7", "1"]},
        "line 2, column 'label': 'a' is not a number, but others there are; mend it, or say kind=c",
    ),
}


@pytest.mark.parametrize("case", GAPS)
def test_rows_without_an_id_or_a_label_are_refused(case, tmp_path):
    change, words = GAPS[case]
    path = written(tmp_path, labelled_rows(change))
    kind = "classification" if case == "one label in two ways" else None
    with pytest.raises(BadInput, match=words) as found:
        arrays(path, sequence="id", target="label", kind=kind, missing="mask", split="50/25/25")
    assert "x.csv" in str(found.value) and "\n" not in str(found.value)


def test_a_sequence_without_any_label_has_none(tmp_path):
    rows = {n: ["0", "", f"{n}"] for n in range(3)}
    path = written(tmp_path, labelled_rows(rows))
    task = arrays(path, sequence="id", target="label", missing="mask", split="100/0/0")
    assert not task.per_step and task.data.there.tolist() == [False, True, True, True]
    # Labels that change within a sequence are of its steps, and may have gaps.
    path = written(tmp_path, labelled_rows({0: ["0", "", "0"], 1: ["0", "b", "1"]}))
    task = arrays(path, sequence="id", target="label", missing="mask", split="100/0/0")
    assert task.per_step and task.data.there.sum() == 11


def test_an_infinite_target_makes_no_classes(tmp_path):
    path = written(tmp_path, "id,v,w\n0,1.5,5\n1,inf,6\n")
    with pytest.raises(BadInput, match="line 3, column 'v': 'inf' is not a number, but others the"):
        arrays(path, sequence="id", target="v")
    path = written(tmp_path, "id;v;w\n0;1,234;5\n1;999;6\n")
    with pytest.raises(BadInput, match="lines 2 and 3, column 'v': '1,234' beside '999' may be"):
        arrays(path, sequence="id", target="v")


def timed(times, header="date"):
    rows = [f"{when},{n % 5}" for n, when in enumerate(times)]
    return "\n".join([f"{header},v", *rows])


DAYS = [f"2020-01-{n:02}" for n in range(1, 31)]
ORDER = {
    "one twice": (
        timed([*DAYS[:9], *DAYS[8:]]),
        "lines 10 and 11, column 'date': '2020-01-09' comes",
    ),
    "numbers": (
        timed([*range(20), 18, 21], "Time"),
        "lines 21 and 22, column 'Time': '18' comes aft",
    ),
    "slashes, both ways": (timed(["1/1/2020", "1/1/2020"]), "'1/1/2020' comes after '1/1/2020'"),
    "two stores": (
        timed([day for day in DAYS for _ in "ab"]),
        "one for each time, or name with sequence the column that says to which series",
    ),
    "a date and its weekday": (
        "date,day,v\n2020-01-01,Wednesday,1\n2020-01-01,Wednesday,1\n",
        "lines 2 and 3, column 'date'",
    ),
    "a date and an hour": (
        "date,hour,v\n" + "".join(f"2020-01-01,{h},1\n" for h in (0, 1, 2, 2)),
        "lines 4 and 5, column 'date': '2020-01-01 2' comes after '2020-01-01 2'",
    ),
}


@pytest.mark.parametrize("case", ORDER)
def test_times_that_do_not_increase_are_refused(case, tmp_path):
    text, words = ORDER[case]
    path = written(tmp_path, text)
    with pytest.raises(BadInput, match=words) as found:
        series(path, columns="v")
    assert "\n" not in str(found.value) and "time must increase" in str(found.value)


@pytest.mark.parametrize(
    "times",
    {
        "descending": [f"{year}-{day[5:]}" for year in (2021, 2020) for day in DAYS[::-1]],
        "points": [f"{n}.1.{year}" for year in (2020, 2021) for n in (31, *range(1, 31))],
        "zones": [f"2020-01-{n:02}T0{9 - k}:00+0{k}:00" for n in range(1, 31) for k in (1, 2)],
        "months": [f"20{n}-{m:02}" for n in range(25, 20, -1) for m in range(1, 13)],
    }.items(),
    ids=lambda pair: pair[0],
)
def test_rows_are_sorted_by_their_dates(times, tmp_path):
    rows = sorted(times[1], key=lambda x: [int(n) for n in x.split(".")][::-1] if "." in x else x)
    given = timed(times[1]).splitlines()
    task = series(written(tmp_path, "\n".join(given)), columns="v", split="80/10/10")
    value = dict(line.split(",") for line in given)
    assert task.series[0].ravel().tolist() == [float(value[when]) for when in rows]
    assert any("rows were sorted by" in note for note in task.notes)


IN_ORDER = {
    "days": timed(f"20{n}-{day[5:]}" for n in (20, 21, 22) for day in DAYS),
    "day first": timed([f"{n}.{m}.2020" for m in (1, 2) for n in range(1, 29)]),
    "month first": timed([f"{m}/{n}/2020 8:00" for m in (1, 2) for n in range(1, 29)]).replace(
        " 8", " 08"
    ),
    "unreadable": timed([f"day {n}" for n in range(60)]),
    "months of the year": timed([n % 12 for n in range(60)], "month"),
    "a date and its month": "month,date,dow,v\n"
    + "".join(f"{m},2020-{m:02}-01,x,1\n{m},2020-{m:02}-02,y,2\n" for m in range(1, 13))
    + "".join(f"{m},2021-{m:02}-01,x,1\n{m},2021-{m:02}-02,y,2\n" for m in range(1, 13)),
    "a time of day in numbers": "year,month,day,time,v\n"
    + "".join(f"2020,{m},{d},{t},1\n" for m in (1, 2) for d in range(1, 20) for t in (800, 2000)),
    "seconds and the hour": "hour,time,v\n"
    + "".join(f"{n // 4 % 24},{n * 900},{n % 5}\n" for n in range(200)),
    "gaps": timed(["" if n == 7 else n for n in range(60)], "time"),
    "a date and a clock": "date,time,v\n"
    + "".join(f"{day},{h:02}:00:00,{h}\n" for day in DAYS for h in range(0, 24, 6)),
    "a year and the name of a month": "year,month,v\n"
    + "".join(f"{year},{word},1\n{year},{word}x,2\n" for year in range(40) for word in "ab"),
}


@pytest.mark.parametrize("case", IN_ORDER)
def test_times_that_may_increase_are_taken(case, tmp_path):
    assert series(written(tmp_path, IN_ORDER[case]), columns="v").names == ["v"]


def test_times_increase_within_each_series(tmp_path):
    rows = [f"{s},{day},{n % 5}" for s in "ab" for n, day in enumerate(DAYS)]
    path = written(tmp_path, "\n".join(["store,date,v", *rows]))
    assert len(series(path, columns="v", sequence="store", split="80/10/10").series) == 2
    with pytest.raises(BadInput, match="'2020-01-01' comes after '2020-01-30'; time must increase"):
        series(path, columns="v")
    path = written(tmp_path, labelled_rows({4: ["1", "a", "0"]}).replace("v", "time"))
    with pytest.raises(BadInput, match="lines 5 and 6, column 'time': '0' comes after '0'"):
        arrays(path, sequence="id", target="label")
    # The time that is to be learned need not increase.
    given = {"sequence": "id", "target": "time", "kind": "regression", "ignore": "label"}
    rows = path.read_text().replace("\n", ",5\n").replace("time,5", "time,w") + ",5"
    assert arrays(written(tmp_path, rows), **given).per_step


def test_times_of_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    days = arrow.array([*range(40), 38], arrow.date32())
    for kind in (arrow.timestamp("ns"), arrow.timestamp("s", "Europe/Berlin"), arrow.date32()):
        columns = {"date": days.cast(kind), "v": np.arange(41) % 5}
        pyarrow.parquet.write_table(arrow.table(columns), tmp_path / "x.parquet")
        with pytest.raises(BadInput, match="lines 40 and 41, column 'date'"):
            series(tmp_path / "x.parquet", columns="v")


def test_series_that_are_too_short_for_a_part_are_counted():
    short, long = VALUES[:25], VALUES
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        Series([short, long, short], horizon=3)
    words = [str(one.message) for one in found]
    assert len(words) == 2 and all("2 of 3 series do not count in the part" in x for x in words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Series([long, long], horizon=3)
        Series(short, split=(1, 0, 0))
