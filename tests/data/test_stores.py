"""The table of stores: what its description promises, and how it is read."""

import csv
import hashlib
import io
from datetime import date

import numpy as np

from ostinato.data import read_table
from ostinato.data.arrange import arrange
from ostinato.data.generated.stores import AHEAD, STORES, store_table
from ostinato.data.times import timeline_of


def test_it_is_always_the_same():
    assert hashlib.sha256(store_table().encode()).hexdigest().startswith("8e49facde3ff0f34")
    assert store_table(1) != store_table()


def test_it_is_as_it_is_described():
    rows = [*csv.DictReader(io.StringIO(store_table()))]
    assert {row["store"] for row in rows} == {*STORES}
    for name, (size, _) in STORES.items():
        own = [row for row in rows if row["store"] == name]
        days = [date.fromisoformat(row["date"]).toordinal() for row in own]
        assert {row["size"] for row in own} == {str(size)}
        assert 5 < (np.diff(days) > 1).sum() < 40 and min(np.diff(days)) == 1
        future = own[-AHEAD:]
        assert days[-1] - days[-AHEAD] == AHEAD - 1
        assert all(row["price"] and row["promotion"] for row in own)
        assert not any(row["sales"] or row["weather"] for row in future)
        assert 0.01 < np.mean([row["sales"] == "" for row in own[:-AHEAD]]) < 0.06
        assert 0.01 < np.mean([row["weather"] == "" for row in own[:-AHEAD]]) < 0.06
    assert {row["weather"] for row in rows} == {"", "sun", "cloud", "rain", "snow"}


def test_it_is_read_with_its_dates(tmp_path):
    (tmp_path / "stores.csv").write_text(store_table())
    table = read_table(tmp_path / "stores.csv", ("store",))
    names = table.texts["store"]
    groups = [np.flatnonzero(names == name) for name in STORES]
    found = arrange(table, groups, timeline_of(table, groups), gaps="mask", constant=["store"])
    assert found.timeline.frequency.words == "1 day"
    for rows in found.groups:
        stamps = found.timeline.stamps[rows]
        assert (np.diff(stamps) == np.timedelta64(1, "D")).all()
        assert len({*found.table.texts["store"][rows]}) == 1
