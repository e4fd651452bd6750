"""One value at a time gives what a whole text, table or sequence gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato import Config, open_run, unroll
from ostinato.errors import BadInput
from ostinato.tasks import Adding, Arrays, Audio, Classify, Series
from untrained import untrained_run

SMALL = {"cell": "gru", "units": 5, "batch": 2}


@pytest.fixture(scope="module", autouse=True)
def single():
    """As a stream computes, so that it draws by the same numbers."""
    with jax.enable_x64(False):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("streams")


@pytest.fixture(scope="module")
def writer(folder):
    (folder / "book.txt").write_text('Ein Bär sagt "ja" \\ und?\t' * 40, encoding="utf-8")
    how = {**SMALL, "cell": "lstm", "layers": 2}
    return untrained_run(Config(file=str(folder / "book.txt"), length=9, **how), folder / "writer")


@pytest.fixture(scope="module")
def table(folder):
    rng, steps = np.random.default_rng(0), np.arange(120)
    values = np.stack([20 * np.sin(steps / 3) + rng.normal(size=120), rng.normal(size=120)], axis=1)
    values[5:9, 1] = np.nan
    rows = [",".join("" if np.isnan(x) else repr(float(x)) for x in row) for row in values]
    days = np.where(steps % 3 == 0, "mon", "tue")
    lines = ["sold,price,day", *(f"{row},{day}" for row, day in zip(rows, days, strict=True))]
    (folder / "sales.csv").write_text("\n".join(lines) + "\n")
    return folder / "sales.csv"


@pytest.fixture(scope="module")
def forecaster(folder, table):
    config = Config(
        file=str(table), target="sold", words="day", horizon=3, quantiles="0.1,0.5,0.9",
        conformal=True, split="60/30/10", missing="mask", length=10, **SMALL,
    )  # fmt: skip
    return untrained_run(config, folder / "forecaster")


@pytest.fixture(scope="module")
def labeller(folder):
    task = Classify(["it is good", "not good at all"] * 20, ["yes", "no"] * 20)
    return untrained_run(Config(pool="mean", **SMALL), folder / "labeller", task=task)


def rows_of(table):
    pandas = pytest.importorskip("pandas")
    return pandas.read_csv(table)


def test_a_text_is_continued_as_sample_does(writer):
    """The same seed draws the same characters, also with limits and from an empty prompt."""
    how = {"temperature": 0.9, "top_k": 9, "top_p": 0.95, "seed": 3}
    stream = writer.stream()
    stream.read("Ein B")
    assert stream.write(40, **how) == writer.sample("Ein B", 40, **how)
    assert stream.steps == 45
    assert writer.stream().write(20, seed=1) == writer.sample(length=20, seed=1)
    with pytest.raises(BadInput, match="stop must be a text to stop at; got an empty one"):
        stream.write(20, stop="")


def test_probabilities_are_those_of_the_network(writer):
    following = writer.stream().read("Ein Bär")
    known = writer.vocabulary
    logits, _ = unroll(writer.network(), jnp.asarray(known.encode("Ein Bär")))
    above = np.exp(np.asarray(logits, np.float64)[-1])
    expected = dict(
        zip(
            map(known.decode, np.arange(len(known))[:, None]),
            (above / above.sum()).tolist(),
            strict=True,
        )
    )
    assert following.probabilities == pytest.approx(expected, rel=1e-5)


def test_a_forecast_row_by_row_is_that_after_the_table(forecaster, table):
    """Words, gaps, quantiles and their calibration; rows as dictionaries and of pandas."""
    expected = forecaster.forecast(table)
    frame = rows_of(table)
    made = forecaster.stream().read(frame.to_dict("records"))
    assert made.columns == expected.columns == ["sold 0.1", "sold 0.5", "sold 0.9"]
    np.testing.assert_allclose(made.values, expected.values, rtol=1e-5)
    again = forecaster.stream().read(row for _, row in frame.iterrows())
    np.testing.assert_array_equal(again.values, made.values)
    nullable = frame.convert_dtypes()  # its missing values are NA
    again = forecaster.stream().read(row for _, row in nullable.iterrows())
    np.testing.assert_array_equal(again.values, made.values)
    again = forecaster.stream().step({"sold": 1, "price": 2, "day": nullable["price"][5]})
    assert again.rows() == forecaster.stream().step({"sold": 1, "price": 2, "day": None}).rows()


@pytest.fixture(scope="module")
def foreseeing(folder):
    """A run that reads the calendar, prices and holidays of the next three days, and its table."""
    pandas = pytest.importorskip("pandas")
    rng, days = np.random.default_rng(0), 100
    frame = pandas.DataFrame(
        {
            "date": pandas.date_range("2024-01-30", periods=days).astype(str),
            "sold": rng.normal(20, 5, days),
            "price": rng.normal(3, 1, days),
            "holiday": rng.choice(["yes", "no"], days),
        }
    )
    roles = {"targets": ["sold"], "known": "price,holiday", "words": "holiday"}
    task = Series(frame, horizon=3, calendar=True, **roles)
    return untrained_run(Config(length=5, **SMALL), folder / "foreseeing", task=task), frame


@pytest.fixture(scope="module")
def stream_of(writer, forecaster, foreseeing):
    """A stream of a run before its first step; what it is made of is made once."""
    runs = {"writer": writer, "forecaster": forecaster, "foreseeing": foreseeing[0]}
    streams = {name: run.stream() for name, run in runs.items()}
    return lambda name: streams[name].fork()


def ahead(frame, n):
    """Row n of a table, with what is known of the three after it."""
    later = {name: frame[name][n : n + 4].tolist() for name in ("price", "holiday")}
    return {**frame.iloc[n], **later}


def test_a_row_says_its_time_and_what_is_known_ahead(foreseeing):
    run, frame = foreseeing
    expected = run.forecast(frame[:97], future=frame[97:].drop(columns="sold"))
    rows = [ahead(frame, n) for n in range(97)]
    made = run.stream().read(rows)
    np.testing.assert_allclose(made.values, expected.values, rtol=1e-5)
    other = run.stream().read([*rows[:-1], {**rows[-1], "date": "2024-07-01"}])
    assert np.abs(other.values / made.values - 1).max() > 1e-4  # the calendar counts


def test_the_time_of_a_row_of_pandas_is_its_index(folder):
    pandas = pytest.importorskip("pandas")
    days = pandas.date_range("2024-01-30", periods=60)
    frame = pandas.DataFrame({"sold": np.random.default_rng(0).normal(20, 5, 60)}, index=days)
    task = Series(frame, targets=["sold"], calendar=True)
    run = untrained_run(Config(length=5, **SMALL), folder / "dated", task=task)
    stream = run.stream()
    for n in range(60):
        made = stream.step(frame.iloc[n])
    np.testing.assert_allclose(made.values, run.forecast(frame).values, rtol=1e-5)
    with pytest.raises(BadInput, match="the row has no 'date'"):  # 3 is no date
        stream.step(frame.reset_index(drop=True).iloc[3])


@pytest.mark.parametrize(
    "change, words",
    [
        ({"price": 3.0}, "'price' is known ahead, so it is a list of 4: of the row itself and of"),
        ({"price": [3.0] * 3}, "'price' is known ahead, so it is a list of 4"),
        ({"holiday": "yes!"}, "'holiday' is known ahead, so it is a list of 4"),
        ({"holiday": ["yes", 1, "no", "no"]}, "column 'holiday' must be a word, got 1"),
        ({"price": [3.0, "x", 3.0, 3.0]}, "column 'price' must be a number, got 'x'"),
        ({"date": "the first"}, "column 'date': 'the first' "),
        ({"date": None}, "column 'date'"),
        ({"date": 3.5}, "column 'date'"),
        (None, "a row is a dictionary of date, sold, price, holiday; got"),
    ],
)
def test_a_wrong_row_of_what_is_known_ahead(change, words, foreseeing, stream_of):
    _, frame = foreseeing
    row = [1, 2, 3] if change is None else {**ahead(frame, 0), **change}
    with pytest.raises(BadInput, match=words):
        stream_of("foreseeing").step(row)
    missing = ahead(frame, 0)
    del missing["date"]
    with pytest.raises(BadInput, match="the row has no 'date'"):
        stream_of("foreseeing").step(missing)


def test_many_sequences_side_by_side(forecaster, table):
    """Each goes its own way, and one that is given nothing waits."""
    frame = rows_of(table).to_dict("records")
    many, alone = forecaster.stream(sequences=2), forecaster.stream()
    many.step([frame[0], frame[50]])
    answers = many.step([frame[1], None])
    assert answers[1] is None
    answers = many.step([frame[2], frame[51]])
    np.testing.assert_allclose(answers[0].values, alone.read(frame[:3]).values, rtol=1e-5)
    alone.reset()
    np.testing.assert_allclose(answers[1].values, alone.read(frame[50:52]).values, rtol=1e-5)


def test_a_step_is_compiled_once(forecaster, table):
    """For many sequences; neither the values nor who waits make it compile again."""
    frame, compiled = rows_of(table).to_dict("records"), []
    jax.monitoring.register_event_duration_secs_listener(
        lambda name, *_, **__: compiled.append(name) if "backend_compile" in name else None
    )
    many = forecaster.stream(sequences=3)
    assert compiled
    compiled.clear()
    for n in range(5, 12):  # some numbers are missing
        many.step([frame[n], None if n % 2 else frame[n + 1], frame[n + 2]])
    many.reset()
    many.step([None, None, frame[0]])
    assert not compiled


def test_the_class_of_a_text_so_far(labeller):
    texts = ["it is good", "not good at all", "never seen"]
    for text, expected in zip(texts, labeller.classify(texts), strict=True):
        made = labeller.stream().read(text)
        assert made.label == expected.label
        assert made.probabilities == pytest.approx(expected.probabilities, rel=1e-5)


def test_rows_of_pandas_are_read_by_name_whatever_their_order(folder):
    """Rows of one frame share their index; a row of another frame may come at any step."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    run = untrained_run(
        Config(length=5, **SMALL), folder / "by name", Series(frame, targets=["a"], horizon=2)
    )
    turned = frame.assign(c="no number")[["b", "c", "a"]]
    rows = [[row for _, row in each.iterrows()] for each in (frame, turned)]
    expected = run.stream().read(frame.to_numpy().tolist()).values
    mixed = [rows[n // 3 % 2][n] for n in range(60)]
    for each in (*rows, mixed, [turned.iloc[n] for n in range(60)]):
        np.testing.assert_array_equal(run.stream().read(each).values, expected)
    stream = run.stream()
    stream.read(rows[0][:3])
    twice = frame.set_axis(["a", "a"], axis=1)
    for wrong in (frame[["a"]], turned.assign(b="no number"), frame.assign(b=np.nan), twice):
        for _, row in wrong[:3].iterrows():
            with pytest.raises(BadInput, match=r"no 'b'|column '[ab]' (must be|is missing)"):
                stream.step(row)
    with pytest.raises(BadInput, match="a row is the numbers a, b; got"):  # in no order
        stream.step({1, 2})
    with pytest.raises(BadInput, match="column 'b' must be a number, got a number of 401 digits"):
        stream.step([1, 10**400])
    with pytest.raises(BadInput, match="the number 1e\\+300 is too large"):
        stream.step([1e300, 1])


@pytest.mark.parametrize("targets", ["numbers", "classes"])
def test_labelled_sequences(targets, folder):
    rng = np.random.default_rng(0)
    xs = rng.normal(3, 2, size=(20, 9, 2))
    ys = xs.sum(2, keepdims=True) if targets == "numbers" else (xs[..., 0] > 3).astype(int)
    run = untrained_run(Config(**SMALL), folder / targets, task=Arrays(xs, ys, per_step=True))
    stream = run.stream()
    made = [stream.step(row) for row in xs[0]]
    if targets == "numbers":
        np.testing.assert_allclose(made, run.predict(xs[:1])[0], rtol=1e-5)
    else:
        (expected,) = run.classify(xs[:1])
        assert [x.label for x in made] == [x.label for x in expected]
        assert made[4].probabilities == pytest.approx(expected[4].probabilities, rel=1e-5)


def test_a_series_with_a_class_at_each_step(folder):
    values, labels = np.arange(60.0), np.where(np.arange(60) % 3, "up", "down")
    run = untrained_run(Config(length=9, **SMALL), folder / "steps", task=Series(values, ys=labels))
    stream = run.stream()
    assert {stream.step(x).label for x in values} <= {"up", "down"}
    assert set(stream.step([3.0]).probabilities) == {"up", "down"}


def test_symbols(folder):
    xs = np.random.default_rng(0).integers(0, 4, size=(20, 6))
    run = untrained_run(Config(**SMALL), folder / "symbols", task=Arrays(xs, xs[:, 0]))
    (expected,) = run.classify(xs[:1])
    assert run.stream().read(xs[0]).probabilities == pytest.approx(expected.probabilities, rel=1e-5)


def test_a_state_goes_out_and_in(writer, tmp_path):
    stream = writer.stream()
    stream.read("Ein B")
    other, kept = stream.fork(), stream.state
    assert list(kept) == ["0.0", "0.1", "1.0", "1.1"] and kept["0.0"].shape == (5,)
    stream.save(tmp_path / "now.safetensors")
    text = stream.write(30, seed=1)
    assert other.write(30, seed=1) == text and other.steps == 35
    again = writer.stream().restore(tmp_path / "now.safetensors")
    assert again.steps == 5 and again.write(30, seed=1) == text
    again.state = kept
    assert again.answer is None
    again.state = stream.state
    assert again.step("a").logits.tolist() == stream.step("a").logits.tolist()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_state_that_is_not_finite_is_refused(value, writer):
    stream = writer.stream()
    stream.read("Ein B")
    state, expected = stream.state, stream.fork().write(5, seed=1)
    state["1.0"][2] = value
    with pytest.raises(BadInput, match=r"^1\.0 of the state must be finite numbers, got \w+$"):
        stream.state = state
    assert stream.write(5, seed=1) == expected


def test_a_state_before_the_first_step(writer, tmp_path):
    writer.stream().save(tmp_path / "new")
    stream = writer.stream()
    stream.read("Ein")
    assert stream.restore(tmp_path / "new").answer is None and stream.steps == 0


@pytest.mark.parametrize(
    "do, words",
    [
        (lambda s: s.step("Ω"), "does not know the character 'Ω'"),
        (lambda s: s.step("Ei"), "a step takes one character, got 'Ei'; read takes a whole text"),
        (lambda s: s.step(""), "one character"),
        (lambda s: s.step(3), "must be of type str"),
        (lambda s: s.step(None), "must be of type str"),
        (lambda s: s.step(["E"]), "must be of type str"),
        (lambda s: s.read(3), "must be of type str"),
        (lambda s: s.step("E").sample(temperature=-1), "temperature must be at least 0"),
        (lambda s: s.step("E").sample(top_p=0), "top_p must be above 0"),
        (lambda s: s.step("E").sample(top_k=0), "top_k must be at least 1"),
        (lambda s: s.step("E").sample(seed=-1), "a seed is a whole number"),
        (lambda s: s.write(0), "must be at least 1"),
        (lambda s: s.restore("no such file"), "there is no file"),
        (lambda s: setattr(s, "state", {"0.0": [1]}), "a state is a dictionary of 0.0, 0.1"),
        (lambda s: setattr(s, "state", 3), "a state is a dictionary of 0.0, 0.1"),
        (lambda s: setattr(s, "state", dict.fromkeys(s.state, np.ones(4))), "must be float32"),
        (lambda s: setattr(s, "state", {n: [[1], [2, 3]] for n in s.state}), "must be float32"),
        (lambda s: setattr(s, "state", dict.fromkeys(s.state, np.full(5, 1e39))), "of float32"),
        (lambda s: s.save(""), "is a folder; name a file in it"),
        (lambda s: s.save("/"), "is a folder; name a file in it"),
    ],
)
def test_a_wrong_value_is_refused(do, words, stream_of):
    with pytest.raises(BadInput, match=words):
        do(stream_of("writer"))


@pytest.mark.parametrize(
    "row, words",
    [
        ({"sold": 1, "price": 2}, "the row has no 'day'; a row is a dictionary of sold, price"),
        ([1, 2], "a row is a dictionary of sold, price, day"),
        (3, "a row is a dictionary"),
        ("a", "a row is a dictionary"),
        ({"sold": "x", "price": 2, "day": "mon"}, "column 'sold' must be a number, got 'x'"),
        ({"sold": np.inf, "price": 2, "day": "mon"}, "'sold' is infinite"),
        ({"sold": 1e40, "price": 2, "day": "mon"}, "too large"),
        ({"sold": 1, "price": 2, "day": 3}, "column 'day' must be a word, got 3"),
        ({}, "the row has no 'sold'"),
    ],
)
def test_a_wrong_row_is_refused(row, words, stream_of):
    with pytest.raises(BadInput, match=words):
        stream_of("forecaster").step(row)


def test_a_wrong_number_of_sequences(writer):
    for count in (0, -1, 1.5, "2", True, 10**9):
        with pytest.raises(BadInput, match="sequences"):
            writer.stream(sequences=count)
    for values in ("ab", ["a"], [["a"]], {"a", "b"}, 3, None):
        with pytest.raises(BadInput, match="takes a list of as many values"):
            writer.stream(sequences=2).step(values)


def test_the_state_of_another_stream_is_refused(writer, labeller, tmp_path):
    labeller.stream().save(tmp_path / "other")
    with pytest.raises(BadInput, match="it is no state of this stream"):
        writer.stream().restore(tmp_path / "other")
    (tmp_path / "text").write_text("nothing of the kind, but long enough to be read as a header")
    with pytest.raises(BadInput, match="no state of this stream"):
        writer.stream().restore(tmp_path / "text")


def test_what_cannot_be_streamed_says_why_and_what_instead(folder):
    both = Config(bidirectional=True, length=5, **SMALL)
    run = untrained_run(both, folder / "both", task=Series(np.arange(60.0), ys=np.arange(60) % 2))
    with pytest.raises(BadInput, match=r"reads the whole sequence first, .*it can be evaluated"):
        run.stream()
    run = untrained_run(Config(**SMALL), folder / "adding", task=Adding(length=5))
    with pytest.raises(BadInput, match="cannot be streamed: a run of the task adding"):
        open_run(run.path).stream()


@pytest.mark.parametrize("residual", [False, True])
def test_an_effect_sample_by_sample_is_that_of_apply(residual, folder):
    waves = np.sin(np.arange(120) / 5)
    task = Audio(waves, waves**3, 8000, length=10, washout=2, residual=residual)
    config = Config(cell="gru", units=3, batch=2, steps=1)
    run = untrained_run(config, folder / f"effect-{residual}", task)
    xs = np.float32(waves[:, None, None])
    ys = unroll(run.network(), xs)[0] + residual * xs
    stream = run.stream()
    made = [stream.step(x) for x in waves]
    np.testing.assert_allclose(made, np.ravel(ys), rtol=1e-4, atol=1e-6)
