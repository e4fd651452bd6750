"""Exported programs and pages read one series, in the order of its times, or refuse the table."""

import datetime
import functools
import json
import subprocess

import numpy as np
import pytest

from compare import same_numbers
from ostinato import Config
from ostinato.data.dates import EITHER, FORMS, ORDERS
from ostinato.export.run_export import export_run
from ostinato.export.times import PATTERNS
from untrained import untrained_run

from .test_run_export import compiled, in_node

DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=n) for n in range(90)]
QUARTERS = [(1950 + n // 4, n % 4 + 1) for n in range(90)]


def months(form):
    return [datetime.date(1990 + n // 12, n % 12 + 1, 1).strftime(form) for n in range(90)]


def hours(form):
    first = datetime.datetime(2024, 1, 1)
    return [(first + datetime.timedelta(hours=n)).strftime(form) for n in range(90)]


# Times in each way to write them, in order; columns and their cells.
WAYS = {
    "2024-01-31": [f"{x}" for x in DAYS],
    "with a clock": hours("%Y-%m-%d %H:%M"),
    "with a zone": [f"{x}+02:00" for x in hours("%Y-%m-%dT%H:%M:%S.5")],
    "in the afternoon": hours("%Y/%m/%d, %I:%M %p"),
    "with a weekday": [x.strftime("%a, %d %b %Y") for x in DAYS],
    "20240131": [x.strftime("%Y%m%d") for x in DAYS],
    "2024-01": months("%Y-%m"),
    "01/2024": months("%m/%Y"),
    "2024-W05": [x.strftime("%G-W%V-%u") for x in DAYS],
    "2024-Q1": [f"{y}-Q{q}" for y, q in QUARTERS],
    "Q1 2024": [f"Q{q} {y}" for y, q in QUARTERS],
    "31 Jan 2024": [x.strftime("%d. %B %Y") for x in DAYS],
    "Jan 31, 2024": [x.strftime("%b %d, %Y") for x in DAYS],
    "Jan 2024": months("%b %Y"),
    "2024 Jan": months("%Y %B"),
    "day/month/year": [x.strftime("%d.%m.%y") for x in DAYS],
    "month/day/year": [x.strftime("%m/%d/%Y") for x in DAYS],
    "seconds": [str(1_700_000_000 + 3600 * n) for n in range(90)],
    "years": [str(1900 + n) for n in range(90)],
}
COARSE = {"seconds": {"time": "day"}, "years": {"time": "day"}, "20240131": {"time": "day"}}


def table(times, series=None, sold=None):
    sold = np.round(np.sin(np.arange(len(times))), 3) if sold is None else sold
    series = ["a"] * len(times) if series is None else series
    lines = ["day;shop;sold"]  # a comma may be in a date
    return "\n".join([*lines, *map(";".join, zip(times, series, map(str, sold), strict=True))])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The run, the program and the page of a way to write times, made when asked for."""
    folder = tmp_path_factory.mktemp("times")

    @functools.cache
    def make(way):
        name = f"way{[*WAYS].index(way)}"
        path, times = folder / f"{name}.csv", WAYS[way]
        both = table([x for x in times for _ in "ab"], ["a", "b"] * len(times))
        path.write_text(both)
        config = Config(
            task="series", file=str(path), sequence="shop", target="sold", cell="gru",
            units=2, length=5, batch=2, **COARSE.get(way, {}),
        )  # fmt: skip
        run = untrained_run(config, folder / f"run of {name}")
        export_run(run, "c", folder / name)
        (page,) = export_run(run, "html", folder / f"{name}_page")
        return run, compiled(folder, name), page

    return make


def ran(program, text):
    return subprocess.run([program], input=text, capture_output=True, text=True, check=False)


def wrong_tables(times):
    """Tables that must be refused, and words of the refusal."""
    order = "does not come after that of the row before; sort the rows by time"
    swapped = [*times[:4], times[5], times[4], *times[6:20]]
    return [
        (table(swapped), f"ow 6, day: {times[4]} {order}"),
        (table([*times[:5], times[4], *times[5:20]]), f"ow 6, day: {times[4]} {order}"),
        (table([*times[:5], "nonsense", *times[6:20]]), "ow 6, day: nonsense is no time like"),
        (table([*times[:5], "", *times[6:20]]), "ow 6, day: the time is missing"),
        (table([x for x in times[:9] for _ in "ab"], ["a", "b"] * 9), "ow 2, shop: b is another"),
        (table(times[:9], ["a"] * 8 + [""]), "ow 9, shop: it does not say to which series"),
    ]


def test_every_way_to_write_a_date_is_there():
    assert {*PATTERNS} == {"", *ORDERS, *FORMS} - {EITHER}
    assert {*PATTERNS} - {""} <= {*WAYS}


@pytest.mark.parametrize("way", WAYS)
def test_a_program_reads_one_series_in_order(way, made):
    run, program, _ = made(way)
    times = WAYS[way]
    sold = np.sin(range(90))
    rows = [{"day": x, "shop": "a", "sold": y} for x, y in zip(times, sold, strict=False)]
    told = ran(program, table(times, sold=sold))
    assert told.returncode == 0, told.stderr
    expected = [row["sold"] for row in run.forecast(rows).rows()]
    same_numbers([[float(told.stdout.split(",")[-1])]], [expected])
    without = "\n".join(line.split(";")[2] for line in table(times[:30]).split("\n"))
    assert ran(program, without).returncode == 0  # one series, in order
    for text, words in wrong_tables(times):
        told = ran(program, text)
        assert told.returncode == 2 and words in told.stderr, (words, told.stderr)
        assert told.stderr.count("\n") == 1 and not told.stdout


@pytest.mark.parametrize("way", WAYS)
def test_a_page_reads_one_series_in_order(way, made):
    page, times = made(way)[2], WAYS[way]
    wrong = wrong_tables(times)
    said = in_node(
        page,
        f"""
        return {json.dumps([table(times), *(text for text, _ in wrong)])}.map((words) => {{
          find("table").value = words;
          show();
          return find("wrong").textContent;
        }});
        """,
    )
    assert said[0] == ""
    for words, (_, expected) in zip(said[1:], wrong, strict=True):
        assert expected in words and words.endswith(".")


def test_a_year_that_is_read_as_a_number_may_not_go_back(tmp_path):
    """Nor may another sequence of labels begin without an empty line."""
    lines = [f"{1900 + n},{n % 3},{'ab'[n % 2]},{'pq'[n // 30]}" for n in range(60)]
    path = tmp_path / "years.csv"
    path.write_text("\n".join(["year,x,label,group", *lines]))
    config = Config(
        task="series", file=str(path), target="label", kind="classification", sequence="group",
        cell="gru", units=2, length=5, batch=2,
    )  # fmt: skip
    export_run(untrained_run(config, tmp_path / "run"), "c", tmp_path / "net")
    program = compiled(tmp_path, "net")
    head = "year,x,group\n"
    assert ran(program, f"{head}1950,1,p\n1951,1,p\n").returncode == 0
    assert ran(program, f"{head}1950,1,p\n1951,1,p\n\n1940,1,q\n").returncode == 0
    told = ran(program, f"{head}1950,1,p\n1949,1,p\n")
    assert told.returncode == 2 and "row 2, year: 1949 does not come after" in told.stderr
    told = ran(program, f"{head}1950,1,p\n1951,1,q\n")
    assert told.returncode == 2 and "row 2, group: q is another series than p" in told.stderr
