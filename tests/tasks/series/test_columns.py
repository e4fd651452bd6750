"""The columns of a series: words, constants, what is known ahead, and what a network reads."""

import json

import jax
import numpy as np
import pandas
import pytest

from ostinato.cells import GRU
from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.runs import Config, evaluate, train
from ostinato.settings import settings_of
from ostinato.tasks import TASKS, Series
from ostinato.tasks.applying import ApplyOptions
from ostinato.tasks.series import naive_forecasts
from ostinato.tasks.series.continuing import closed_loop, forecast_after, forecasts_at_each
from ostinato.tasks.series.from_files import FORECASTING, task_name_for
from ostinato.wiring import Network, Readout, outputs_of
from untrained import untrained_run

HORIZON = 3
ROLES = {"known": ["price", "sale"], "static": ["size", "region"], "words": ["weather"]}
ASKED = {"targets": ["sold"], "sequence": "store", "horizon": HORIZON, "split": "70/15/15", **ROLES}


def shops(lengths=(60, 40, 50), ahead=5, seed=0):
    """Some stores of different lengths, whose last rows have only what is known ahead."""
    random, frames = np.random.default_rng(seed), []
    for n, length in enumerate(lengths):
        rows = length + ahead
        frame = {
            "store": f"store {'ABCDEFG'[n]}",
            "size": 10.0 * (n + 1),
            "region": ["north", "south"][n % 2],
            "price": random.normal(5, 2, rows),
            "sale": random.choice(["yes", "no"], rows),
            "weather": random.choice(["sun", "rain", "snow"], rows),
            "visitors": random.normal(100, 9, rows),
            "sold": random.normal(20, 4, rows),
        }
        frame = pandas.DataFrame(frame)
        frame.loc[length:, ["weather", "visitors", "sold"]] = None
        frames.append(frame)
    return pandas.concat(frames, ignore_index=True)


def by_hand(frame, train=None):
    """What a network reads of each store, with pandas alone: all rows that have a target."""
    stores = dict([*frame.groupby("store", sort=False)])
    lengths = {name: int(rows["sold"].notna().sum()) for name, rows in stores.items()}
    if train is None:
        train = pandas.concat([rows[: int(0.7 * lengths[n])] for n, rows in stores.items()])
    numbers = ["size", "price", "visitors", "sold"]
    kinds = {name: sorted(train[name].dropna().unique()) for name in ("weather", "sale", "region")}
    read = {}
    for store, rows in stores.items():
        now = ((rows[numbers] - train[numbers].mean()) / train[numbers].std(ddof=0)).copy()
        for name, some in kinds.items():
            for kind in some:
                now[f"{name} {kind}"] = (rows[name] == kind).astype(float)
        later = [name for name in now if name.split(" ")[0] in ("price", "sale")]
        shifted = [now[later].shift(-k) for k in range(1, HORIZON + 1)]
        read[store] = pandas.concat([now, *shifted], axis=1).to_numpy()[: lengths[store]]
    return read, train


def network_for(task, units=4):
    keys = jax.random.split(jax.random.key(1))
    return Network(GRU(task.inputs, units, key=keys[0]), Readout(units, task.outputs, key=keys[1]))


def test_a_network_reads_what_pandas_makes_of_the_table():
    frame = shops()
    task = Series(frame, **ASKED)
    read, train = by_hand(frame)
    assert task.series_names == ("store A", "store B", "store C")
    assert [len(x) for x in task.series] == [60, 40, 50] and task.inputs == 4 + 7 + HORIZON * 3
    assert task.names == ["size", "price", "visitors", "sold"] and task.targets == [3]
    cuts = {"train": (0, 42, 28, 35), "valid": (42, 51, 34, 42), "test": (51, 60, 40, 50)}
    for number, (store, every) in enumerate(read.items()):
        x, future = task.series[number], task.rows.future[number]
        np.testing.assert_allclose(task.columns(x, future), every, rtol=1e-5, atol=1e-6)
        assert every.shape[1] == task.inputs and store == task.series_names[number]
    stream, place = task.parts["train"], 0
    for number, (every, end) in enumerate(zip(read.values(), cuts["train"][1:], strict=True)):
        steps = slice(place, place + end - HORIZON)
        place += end - HORIZON
        np.testing.assert_allclose(
            stream.inputs[steps], every[: end - HORIZON], rtol=1e-5, atol=1e-6
        )
        sold = task.series[number][:, 3]
        mean, deviation = train["sold"].mean(), train["sold"].std(ddof=0)
        expected = [(sold[k : k + end - HORIZON] - mean) / deviation for k in (1, 2, 3)]
        np.testing.assert_allclose(
            stream.targets[steps], np.stack(expected, 1), rtol=1e-4, atol=1e-5
        )
    assert place == stream.steps


@pytest.mark.parametrize("given", ["frame", "csv"])
def test_nothing_is_fitted_to_validation_or_test(tmp_path, given):
    """Other values and new words there change neither a batch nor what the run keeps."""

    def made(frame):
        if given == "frame":
            return Series(frame, **ASKED)
        frame.to_csv(tmp_path / "shops.csv", index=False)
        words = {name: ",".join(names) for name, names in ROLES.items()}
        asked = {name: x for name, x in ASKED.items() if name != "targets"} | words
        file = str(tmp_path / "shops.csv")
        return Series.from_settings(Series.Settings(file=file, target="sold", **asked), 0)

    frame = shops()
    other, begin = frame.copy(), 0
    for length in (60, 40, 50):
        rows = slice(begin + int(0.7 * length), begin + length + 5 - 1)  # a slice of loc
        for name in ("price", "visitors", "sold"):
            other.loc[rows, name] = other.loc[rows, name] * 3 + 1
        other.loc[rows, "weather"] = "hail"
        other.loc[rows, "sale"] = "perhaps"
        begin += length + 5
    one, two = made(frame), made(other)
    assert json.dumps(one.artefacts()) == json.dumps(two.artefacts())
    for x, y in zip(one.parts["train"], two.parts["train"], strict=True):
        np.testing.assert_array_equal(x, y)
    for x, y in zip(one.batch(3, 4).arrays, two.batch(3, 4).arrays, strict=True):
        np.testing.assert_array_equal(x, y)
    assert not np.array_equal(one.parts["valid"].inputs, two.parts["valid"].inputs)
    assert not one.notes and "hail" in two.notes[0] and "perhaps" in two.notes[1]


def test_what_is_known_ahead_is_of_use(tmp_path):
    """A target that is the price of the same day cannot be forecast without the price."""
    random = np.random.default_rng(0)
    price, other = random.normal(size=(2, 400))
    frame = pandas.DataFrame({"price": price, "other": other, "sold": 3 * price + 7})
    config = Config(cell="gru", units=4, batch=4, steps=100, learner="adam", rate=0.05, length=20)
    errors = {}
    for name, known in {"with": ["price"], "without": ["other"]}.items():
        task = Series(frame, targets=["sold"], known=known, split="80/10/10", length=20)
        run = train(config, tmp_path / name, task=task)
        errors[name] = evaluate(run, "valid", task=task)["mean squared error"]
    assert errors["with"] < 0.3 * errors["without"]


def test_forecasts_are_a_loop_over_the_step():
    """Past the horizon: read the table again with each forecast in it, scaled by hand."""
    frame = shops()
    task = Series(frame, **ASKED, quantiles=(0.3, 0.5))
    network = network_for(task)
    made = forecast_after(network, task, 4)
    assert made.targets == ("sold",) and made.levels == (None,) and made.sequence == "store"
    _, train = by_hand(frame)
    mean, deviation = train["sold"].mean(), train["sold"].std(ddof=0)
    for number, (store, rows) in enumerate(frame.groupby("store", sort=False)):
        rows = rows.reset_index(drop=True)
        end = len(rows) - 5
        for name in ("weather", "visitors"):  # which stay at their last value
            rows.loc[end:, name] = rows.loc[end - 1, name]
        last = rows.iloc[[-1] * HORIZON]  # as are prices after the last one
        rows = pandas.concat([rows, last], ignore_index=True)
        for k in range(4):
            read = by_hand(rows, train)[0][store]
            outputs = run(network, read)[-1].reshape(HORIZON, 2)
            value = np.sort(outputs, axis=1)[0, 1] * deviation + mean
            np.testing.assert_allclose(made.values[number, k, 0, 0], value, rtol=1e-4)
            rows.loc[end + k, "sold"] = value
    assert "weather, visitors" not in made.notes[0] and "visitors, weather" in made.notes[0]
    assert "past the horizon of 3 steps there is one path" in made.notes[1]


def run(network, read):
    """The outputs at each step; zeros after them, which do not matter, make one shape of all."""
    inputs = np.zeros((80, 1, read.shape[1]), np.float32)
    inputs[: len(read), 0] = read
    outputs, _ = outputs_of(network, Batch(inputs, None, np.ones(inputs.shape[:2])))
    return np.asarray(outputs)[: len(read), 0]


def test_a_forecast_within_the_horizon_is_made_at_once():
    frame = shops()
    task = Series(frame, **ASKED, quantiles=(0.1, 0.9))
    network = network_for(task)
    made, read = forecast_after(network, task), by_hand(frame)[0]
    factor, shift = task.scaler.factor[3], task.scaler.shift[3]
    for number, every in enumerate(read.values()):
        expected = np.sort(run(network, every)[-1].reshape(HORIZON, 2)) * factor + shift
        np.testing.assert_allclose(made.values[number, :, 0], expected, rtol=1e-4)
    fewer = forecast_after(network, task, 2)
    np.testing.assert_array_equal(fewer.values, made.values[:, :2])
    assert fewer.levels == (0.1, 0.9)
    x, future = task.series[0], task.rows.future[0]
    np.testing.assert_allclose(forecasts_at_each(network, task, x, future)[-1], made.values[0])
    assert closed_loop(network, task, x, 2, future).shape == (2, 4)


def test_a_file_of_other_series_is_forecast_in_one_table(tmp_path):
    """New stores and words, a store that is missing, one that is shorter than the horizon."""
    asked = {"target": "sold", "sequence": "store", "horizon": HORIZON, "split": "70/15/15"}
    words = {name: ",".join(names) for name, names in ROLES.items()}
    settings = Series.Settings(**asked, **words)
    task = Series(shops(), **ASKED)
    other = shops((2, 30), seed=7).replace({"store A": "store Z", "north": "west"})
    other.to_csv(tmp_path / "new.csv", index=False)
    network = network_for(task)
    how = ApplyOptions(tmp_path / "new.csv", settings, json.loads(json.dumps(task.artefacts())))
    first, second = Series.apply(network, how)
    assert [first["series"], second["series"]] == ["store Z", "store B"]
    text = f"{first['text']}\n{second['text']}".split("\n")
    assert text[0] == "store,step,sold" and text[1].startswith("store Z,1,")
    assert len(text) == 1 + 2 * HORIZON and text[-1].startswith("store B,3,")
    assert "'west'" in first["notes"][0] and "notes" not in second
    alone = Series(other[other["store"] == "store B"], **ASKED, artefacts=task.artefacts())
    made = forecast_after(network, alone)
    np.testing.assert_allclose(second["forecast"], made.values[0, :, :, 0], rtol=1e-5)
    frame = made.to_pandas()
    assert [*frame.columns] == ["store", "step", "sold"] and len(frame) == HORIZON
    assert frame.to_dict("records") == made.rows()
    with pytest.raises(BadInput, match="too few for the part train"):
        Series.on_file(_short(tmp_path, other), settings, dict(how.artefacts))


def _short(folder, frame):
    frame[frame["store"] == "store Z"].to_csv(folder / "short.csv", index=False)
    return folder / "short.csv"


def test_arrays_have_roles_too():
    frame = shops((60,))[["price", "size", "visitors", "sold"]]
    named = {"names": [*frame.columns], "targets": ["sold"], "split": "70/15/15"}
    task = Series(frame.to_numpy(), known=["price"], static=["size"], horizon=2, **named)
    other = Series(
        frame, targets=["sold"], known="price", static="size", horizon=2, split="70/15/15"
    )
    assert task.fingerprint() == other.fingerprint() and len(task.rows.future[0]) == 5
    assert task.series_names == (0,) and task.inputs == 4 + 2


def test_words_for_what_goes_with_each_step():
    frame = shops(ahead=0).drop(columns="store")
    frame["sold"] = np.where(frame["sold"] > 20, "much", "little")
    asked = {"words": ["region", "sale", "weather"], "kind": "classification"}
    task = Series(frame, targets=["sold"], **asked)
    assert task.inputs == 3 + 2 + 2 + 3 and task.answers.classes == ("little", "much")
    with pytest.raises(BadInput, match="known is of forecasts; leave it out with kind class"):
        Series(frame, targets=["sold"], known=["price"], **asked)


def test_words_may_have_learned_vectors(tmp_path):
    """Those of a column are the same at its own step and at all steps that are known ahead."""
    frame = shops()
    task = Series(frame, **ASKED)
    names = [f"{name} {kind}" for name, kinds in task.columns.words.items() for kind in kinds]
    assert names[:5] == ["weather rain", "weather snow", "weather sun", "sale no", "sale yes"]
    run = untrained_run(Config(cell="gru", units=4, embedding=3), tmp_path / "run", task)
    network = run.network()
    E = [np.asarray(x, float) for x in network.encoding.E]
    assert [x.shape for x in E] == [(3, 3), (2, 3), (2, 3)]
    x = task.columns(task.series[0], task.rows.future[0]).astype(float)
    numbers, ahead = x[:, :4], x[:, 11:].reshape(len(x), HORIZON, 3)
    words = [x[:, 4:7] @ E[0], x[:, 7:9] @ E[1], *(ahead[:, k, 1:] @ E[1] for k in range(3))]
    expected = np.concatenate([numbers, ahead[:, :, 0], *words, x[:, 9:11] @ E[2]], axis=1)
    made = np.asarray(network.encoding(x, np.float64), float)
    np.testing.assert_allclose(np.sort(made), np.sort(expected), rtol=1e-5, atol=1e-5)
    strange = frame.assign(weather="hail")
    forecast = run.forecast(strange)
    assert forecast.values.shape == (3, HORIZON, 1, 1) and "'hail'" in forecast.notes[0]
    with pytest.raises(BadInput, match="the task series reads vectors, so it takes no embedding"):
        task = Series(frame[["price", "sold"]].dropna())
        train(Config(units=4, embedding=3), tmp_path / "no", task=task)


def test_a_sequence_column_and_a_horizon_mean_a_forecast():
    assert task_name_for("a.csv", "store", ["horizon"]) == "series"
    assert task_name_for("a.csv", "store", ["kind", "length"]) == "arrays"
    assert Config(file="a.csv", sequence="store", target="sold", horizon=7).task.name == "series"
    assert Config(file="a.csv", sequence="store", target="sold").task.name == "arrays"
    own = (
        settings_of(TASKS["series"].Settings).keys() - settings_of(TASKS["arrays"].Settings).keys()
    )
    assert {*FORECASTING} == own


ONE = shops((60,)).drop(columns="store")


@pytest.mark.parametrize(
    "change, asked, words",
    [
        ({}, {"known": ["prize"]}, "the table has no column 'prize'; it has size, region, price"),
        ({}, {"known": ["sold"]}, "column 'sold' is a target; it cannot be known ahead"),
        ({}, {"static": ["sold"]}, "column 'sold' is a target; it cannot be static"),
        (
            {},
            {"static": ["size"], "known": ["size"]},
            "'size' cannot be both known ahead and static",
        ),
        (
            {},
            {"static": ["price", "region"], "known": ["sale"]},
            r"the table, row 1, column 'price' is .* after .* leave it out",
        ),
        ({}, {"words": ["sold"]}, "column 'sold' is a target; it cannot be of words"),
        ({}, {"words": " ,"}, "names of columns must read like a,b; got ' ,'"),
        ({}, {"words": ["sale", "sale"]}, "the column 'sale' is named twice"),
        ({}, {"known": [3]}, "known must be names of columns, got"),
        ({}, {"known": ["a,b"]}, "the column 'a,b' has a comma; rename it"),
        ({}, {"ignore": ["sale"]}, "column 'sale' is left out by ignore; it cannot have a role"),
        ({}, {"targets": [7]}, "targets must be names of columns"),
        ({}, {"targets": []}, "targets is empty; name a column to predict"),
        ({}, {"targets": ["none"]}, "the table has no column 'none'; it has size"),
        ({}, {"names": ["a"]}, "a table has its own names and targets; leave out ys and names"),
        ({}, {"sequence": "region", "static": ["size"], "words": ["weather", "region"]}, None),
        ({"price": None}, {}, "the table, row 3, column 'price' is missing"),
        ({"weather": None}, {}, "the table, row 3, column 'weather' is missing"),
        ({"weather": None}, {"missing": "mask"}, None),
        ({"price": np.inf}, {}, "column 'price': 'inf' is not a number"),
        ({"sold": np.inf}, {}, "'inf' is not a number; mend it, because numbers are forecast"),
    ],
)
def test_refuses(change, asked, words):
    frame = ONE.astype({"sale": object, "weather": object})
    for name, value in change.items():
        frame.loc[3, name] = value
    given = {**ASKED, "sequence": None, **asked}
    if words is None:
        assert Series(frame, **given).batch(0, 2).inputs.ndim == 3
        return
    with pytest.raises(BadInput, match=words) as error:
        Series(frame, **given)
    assert "\n" not in str(error.value)


def test_refuses_arrays_with_columns_of_a_table_and_too_short_a_future():
    values = np.random.default_rng(0).normal(size=(60, 2))
    for name in ("sequence", "columns", "ignore", "words"):
        with pytest.raises(BadInput, match=f"{name} names columns of a table; leave it out for"):
            Series(values, **{name: "1"})
    for given in ("x.csv", [shops(), shops()]):
        with pytest.raises(BadInput, match="a series is arrays or one table, got"):
            Series(given, targets=["sold"])
    with pytest.raises(BadInput, match="there is no column '3'; there are 1, 2"):
        Series(values, known=["3"])
    with pytest.raises(BadInput, match="all columns are known ahead or static"):
        Series(values, known=["1", "2"])
    values[58:, 0] = np.nan
    task = Series(values, known=["2"], horizon=3, split=(0.8, 0.1, 0.1))
    with pytest.raises(
        BadInput, match=r"the next 3 values of 2 are needed, .* 2 rows after the last"
    ):
        forecast_after(network_for(task), task)
    with pytest.raises(BadInput, match="no row has a value of sold"):
        Series(shops().assign(sold=np.nan), **ASKED)
    frame = shops()
    frame.loc[frame["store"] == "store B", "sold"] = np.nan
    task = Series(frame, **ASKED)
    assert task.series_names == ("store A", "store C")
    assert task.notes == ("left out are series with fewer than 3 rows of sold: 'store B'",)
    kept = task.artefacts()
    for name, wrong in {"words": [], "known": ["x"], "horizon": -1, "static": 3}.items():
        with pytest.raises(ValueError, match="its "):
            Series.check_artefacts({**kept, "roles": {**kept["roles"], name: wrong}})
    assert Series.check_artefacts(kept) == (task.inputs, task.outputs)


# Dates


def dated(lengths=(60, 50), ahead=5):
    """The shops with a row per day, the stores beginning on different days."""
    frame, begins = shops(lengths, ahead), ("2024-01-30", "2024-03-01")
    days = [
        pandas.Series(pandas.date_range(begin, periods=length + ahead))
        for begin, length in zip(begins, lengths, strict=True)
    ]
    return frame.assign(day=pandas.concat(days, ignore_index=True))


AHEAD = ["store", "day", "price", "sale"]  # what is known ahead, of which series and when


@pytest.fixture(scope="module")
def run_of_days(tmp_path_factory):
    folder = tmp_path_factory.mktemp("days") / "run"
    return untrained_run(Config(cell="gru", units=3), folder, Series(dated(), **ASKED))


def test_the_future_may_be_a_table_of_its_own(run_of_days, tmp_path):
    """Forecasts are those of one table whose last rows lack targets."""
    whole, over = dated(), dated()["sold"].isna()
    past, ahead = whole[~over], whole.loc[over, AHEAD].sample(frac=1, random_state=0)
    for name, frame in {"past": past, "ahead": ahead, "whole": whole}.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    for steps in (None, 5):
        expected = run_of_days.forecast(whole, steps)
        made = run_of_days.forecast(past, steps, future=ahead)
        np.testing.assert_array_equal(made.values, expected.values)
        np.testing.assert_array_equal(made.stamps, expected.stamps)
        files = tmp_path / "past.csv", steps, tmp_path / "ahead.csv"
        np.testing.assert_allclose(run_of_days.forecast(*files).values, made.values, rtol=1e-6)
    (*_, note) = run_of_days.forecast(past, future=ahead.assign(weather="sun")).notes
    assert note == "of the future only store, day, price, sale are read, not weather"
    series = shops((60,))[["price", "size", "visitors", "sold"]]
    arrays, known = series.to_numpy(), {"known": ["1"], "targets": [3], "horizon": 2}
    run = untrained_run(Config(cell="gru", units=3), tmp_path / "run", Series(arrays, **known))
    for future in (arrays[60:], arrays[60:, :1]):
        made = run.forecast(arrays[:60], future=future)
        np.testing.assert_array_equal(made.values, run.forecast(arrays).values)
    with pytest.raises(BadInput, match=r"must be \(steps, 4\), or \(steps, 1\) of \['1'\], got"):
        run.forecast(arrays[:60], future=arrays[60:, :2])
    with pytest.raises(BadInput, match="there are 1 series, and the future of 2"):
        run.forecast(arrays[:60], future=[arrays[60:], arrays[60:]])


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda x: x[x["store"] != "store B"], "the future has no rows of series 'store B'; give"),
        (lambda x: x.assign(store="Z"), "has no rows of series 'store A', 'store B'"),
        (
            lambda x: pandas.concat([x, x.assign(store="Z")]),
            "the future goes on with series 'Z', which the table does not have",
        ),
        (
            lambda x: x[x.groupby("store").cumcount() != 1],
            "the future, column 'day': after 2024-03-30 comes 2024-04-01, not 2024-03-31 .store A.",
        ),
        (lambda x: x.assign(day=x["day"] - pandas.Timedelta("1D")), "not 2024-03-30 .store A"),
        (lambda x: x.drop(columns="price"), "the future has no column 'price'; it has store"),
        (lambda x: x.drop(columns="day"), "the future has no column 'day'"),
        (
            lambda x: x.assign(price="dear"),
            "the future, row 0, column 'price': 'dear' is not a nu",
        ),
        (lambda x: x.assign(sold=1.0), "column 'sold' is to be forecast; leave it out of the fut"),
        (lambda x: x.assign(price=np.nan), "row 0 of the future, column 'price' is missing"),
        (
            lambda x: x.groupby("store").head(2),
            "2 rows after the last of sold; give more as future",
        ),
        (lambda x: np.ones((5, 2)), "give the future in the same form as the series"),
    ],
)
def test_refuses_a_future(run_of_days, change, words):
    whole = dated()
    over = whole["sold"].isna()
    with pytest.raises(BadInput, match=words) as error:
        run_of_days.forecast(whole[~over], future=change(whole.loc[over, AHEAD]))
    assert "\n" not in str(error.value)


def waves(days):
    """The features of the calendar for rows that are a day apart, with pandas alone."""
    year = days.dt.day_of_year.sub(1) / (365 + days.dt.is_leap_year.astype(int))
    shares = {"weekday": days.dt.day_of_week / 7, "day of year": year}
    turns = [2 * np.pi * share.to_numpy(float) for share in shares.values()]
    return np.stack([wave(turn) for turn in turns for wave in (np.sin, np.cos)], axis=1)


def test_the_calendar_is_read_ahead():
    frame = dated()
    task, plain = Series(frame, **ASKED, calendar=True), Series(frame, **ASKED)
    assert task.inputs == plain.inputs + 4 * (1 + HORIZON)
    names = ("weekday sin", "weekday cos", "day of year sin", "day of year cos")
    assert task.columns.calendar == names and task.names == plain.names
    for number, (_, rows) in enumerate(frame.groupby("store", sort=False)):
        x, future = task.series[number], task.future_of(number, 5)
        read, expected = task.columns(x, future), waves(rows["day"])
        np.testing.assert_allclose(read[:, 4:8], expected[: len(x)], atol=1e-6)
        # Numbers, calendar and words of the step itself, then of each step ahead what is known.
        for k in range(1, HORIZON + 1):
            place = 4 + 4 + 7 + (k - 1) * (1 + 4 + 2) + 1
            np.testing.assert_allclose(
                read[:, place : place + 4], expected[k : len(x) + k], atol=1e-6
            )
        last = rows["day"].iloc[-1] + pandas.to_timedelta(np.arange(1, HORIZON + 1), "D")
        np.testing.assert_allclose(future[5:, 4:8], waves(pandas.Series(last)), atol=1e-12)


def test_a_forecast_has_dates(tmp_path):
    frame = dated().sample(frac=1, random_state=0)
    task = Series(frame, **ASKED, calendar=True)
    assert [note.split(":")[0] for note in task.notes[:1]] == ["the time is 'day'"]
    network = network_for(task)
    made = forecast_after(network, task)
    table = made.to_pandas()
    assert [*table.columns] == ["store", "day", "sold"]
    begins = {"store A": "2024-03-30", "store B": "2024-04-20"}
    for store, rows in table.groupby("store"):
        expected = pandas.date_range(begins[store], periods=HORIZON)
        assert rows["day"].tolist() == expected.tolist()
    assert made.rows()[0]["day"] in begins.values()
    frame.to_csv(tmp_path / "x.csv", index=False)
    given = {name: ",".join(names) for name, names in ROLES.items()}
    settings = Series.Settings(
        target="sold", sequence="store", horizon=HORIZON, calendar=True, **given
    )
    kept = json.loads(json.dumps(task.artefacts()))
    answers = [*Series.apply(network, ApplyOptions(tmp_path / "x.csv", settings, kept))]
    assert answers[0]["times"] == [row["day"] for row in made.rows()[:HORIZON]]
    np.testing.assert_allclose(answers[1]["forecast"], made.values[1, :, :, 0], rtol=1e-5)
    past = Series(frame.dropna().drop(columns=["price", "sale"]), **{**ASKED, "known": None})
    far = forecast_after(network_for(past), past, 40)  # by the frequency, over the end of a month
    days = far.to_pandas().groupby("store")["day"]
    assert (days.max() - days.min() == pandas.Timedelta(days=39)).all()
    with pytest.raises(BadInput, match="give a table"):
        Series.on_data(np.zeros((20, 4)), settings, kept)
    with pytest.raises(ValueError, match="its "):
        Series.check_artefacts({**kept, "time": {**kept["time"], "zone": 3}})


def test_gaps_are_named_and_seen_to():
    frame = dated().drop(index=[20, 21, 80])
    kept = Series(frame, **ASKED)
    assert "2 gaps in time stayed" in kept.notes and [len(x) for x in kept.series] == [58, 49]
    masked = Series(frame, **ASKED, gaps="mask")
    assert [len(x) for x in masked.series] == [60, 50] and np.isnan(masked.series[0][20, 3])
    assert masked.series[0][20, 0] == 10 and len(masked.scaler.masked) == 3
    assert masked.parts["train"].there.sum() < len(masked.parts["train"].there)
    filled = Series(frame, **ASKED, gaps="fill")
    np.testing.assert_array_equal(filled.series[0][20:22], filled.series[0][[19, 19]])
    with pytest.raises(BadInput, match="rows are 1 day apart"):
        Series(frame, **ASKED, gaps="refuse")
    frame.loc[3, "day"] = frame.loc[2, "day"]
    for renamed in ("day", "Datum"):  # found by its name, or by its cells alone
        with pytest.raises(BadInput, match=f"'{renamed}'.*is there twice.*duplicates"):
            Series(frame.rename(columns={"day": renamed}).astype({renamed: str}), **ASKED)
    assert len(Series(frame, **ASKED, duplicates="last").series[0]) == 57
    with pytest.raises(BadInput, match="has no column of dates, which calendar needs"):
        Series(frame.drop(columns="day"), **ASKED, calendar=True)


@pytest.mark.parametrize("gaps", ["keep", "mask", "fill"])
def test_dates_leak_nothing(gaps):
    """Values after the training part change neither its rows nor what a run keeps."""
    frame = dated().drop(index=[10, 20, 21, 80])
    other = frame.copy()
    late = other.groupby("store").cumcount() >= 0.72 * other.groupby("store")["sold"].transform(
        "count"
    )
    other.loc[late, ["price", "visitors", "sold"]] *= 7
    other.loc[late, ["weather", "sale"]] = "fog"
    asked = {**ASKED, "gaps": gaps, "calendar": True}
    one, two = Series(frame, **asked), Series(other, **asked)
    assert json.dumps(one.artefacts()) == json.dumps(two.artefacts())
    for x, y in zip(one.parts["train"], two.parts["train"], strict=True):
        np.testing.assert_array_equal(x, y)
    assert not np.array_equal(one.parts["test"].inputs, two.parts["test"].inputs)


def test_rows_of_the_test_part_change_no_bit_of_a_run(tmp_path):
    """Embedded words, dates, filled gaps, stopping and calibration are those of earlier rows."""
    frame = dated().drop(index=[10, 20, 21, 80])
    other = frame.copy()
    stores = other.groupby("store")
    late = stores.cumcount() >= 0.87 * stores["sold"].transform("count")
    other.loc[late, ["price", "visitors", "sold"]] *= 7
    other.loc[late, ["weather", "sale"]] = "fog"
    asked = {**ASKED, "gaps": "fill", "calendar": True, "quantiles": (0.2, 0.8), "length": 8}
    config = Config(cell="gru", units=3, embedding=2, batch=2, steps=4, validate_every=2)
    runs = [
        train(config, tmp_path / name, task=Series(x, **asked, conformal=True))
        for name, x in (("one", frame), ("two", other))
    ]
    weights = [jax.tree.leaves(run.network("best")) for run in runs]
    for x, y in zip(*weights, strict=True):
        np.testing.assert_array_equal(x, y)
    assert runs[0].artefacts["conformal"] is not None
    assert json.dumps(runs[0].artefacts) == json.dumps(runs[1].artefacts)
    starts, valids = (
        [e for run in runs for e in run.events() if e["kind"] == kind]
        for kind in ("start", "valid")
    )
    assert starts[0]["baselines"] == starts[1]["baselines"]
    assert [e["value"] for e in valids[:2]] == [e["value"] for e in valids[2:]]
    assert runs[0].evaluate("test") != runs[1].evaluate("test")


def test_yardsticks_know_nothing_of_later_rows():
    """A naive forecast is of earlier values, and its interval of errors in the training part."""
    rows = np.random.default_rng(0).normal(size=200)
    asked = {"horizon": 3, "season": 7, "quantiles": (0.1, 0.5, 0.9), "split": "60/20/20"}
    one, later = Series(rows, **asked), rows.copy()
    later[170:] += 9
    two = Series(later, **asked)
    assert one.yardsticks("valid") == two.yardsticks("valid")
    assert one.yardsticks("test") != two.yardsticks("test")
    made = [naive_forecasts.naive(x[:, None], 3, 7) for x in (rows, later)]
    np.testing.assert_array_equal(made[0][:170], made[1][:170])
    assert json.dumps(one.artefacts()) == json.dumps(two.artefacts())
