"""Messages about tables: the fault that a user can mend, and words that mend it."""

import numpy as np
import pytest

from ostinato.data import read_table
from ostinato.data.splits import shares
from ostinato.errors import BadInput
from ostinato.tasks import Series

STORES = "date,store,sales\n" + "".join(
    f"2024-01-{day:02},{store},{day}\n" for day in range(1, 29) for store in "ab"
)
TEXTS = "text,label\ngood day,good\nbad day,bad\nnice one,good\nawful,bad\n"
FRENCH = "jour,v\n31 janvier 2024,5\n1 février 2024,6\n2 févr. 2024,7\n"
FILES = {
    "a misspelt target": (STORES, {"target": "sale"}, "has no column 'sale'; it has date, store"),
    "texts with labels": (TEXTS, {}, "to learn labels of texts, give --text text --label label$"),
    "months in French": (FRENCH, {}, "write dates in numbers, such as 2024-01-31; or leave"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_cannot_be_learned_says_what_to_mend(case, tmp_path):
    content, settings, words = FILES[case]
    (tmp_path / "x.csv").write_text(content)
    with pytest.raises(BadInput, match=words):
        Series.from_settings(Series.Settings(file=str(tmp_path / "x.csv"), **settings), 0)


def test_a_table_that_was_read_has_targets_and_sequences(tmp_path):
    (tmp_path / "x.csv").write_text("u,v\n" + "".join(f"{n % 7},{n % 5}\n" for n in range(100)))
    (tmp_path / "stores.csv").write_text(STORES)
    task = Series(read_table(tmp_path / "x.csv"), targets=["v"])
    assert [task.names[n] for n in task.targets] == ["v"]
    assert task.outputs == 1
    with pytest.raises(BadInput, match="has no column 'w'"):
        Series(read_table(tmp_path / "x.csv"), targets=["w"])
    named = {"targets": ["sales"], "sequence": "store", "split": "80/10/10"}
    for table in (read_table(tmp_path / "stores.csv", some) for some in ((), ("store",))):
        task = Series(table, **named)
        assert task.series_names == ("a", "b")
        assert [x[:, 0].tolist() for x in task.series] == [[*range(1, 29)]] * 2


@pytest.mark.parametrize("steps, horizon, washout", [(60, 8, 0), (100, 1, 12), (40, 5, 3)])
def test_the_split_that_a_short_part_is_advised_works(steps, horizon, washout):
    values, given = np.arange(steps) % 7.0, {"horizon": horizon, "washout": washout}
    with pytest.raises(BadInput, match=r"too few for the part valid .*; the split ") as refused:
        Series(values, split="90/5/5", **given)
    advised = str(refused.value).partition("the split ")[2].split()[0]
    assert Series(values, split=advised, **given).length
    with pytest.raises(BadInput, match="give more steps, or a smaller horizon"):
        Series(values[:12], horizon=11)


def test_a_split_of_two_parts_is_told_the_third():
    with pytest.raises(BadInput, match=r"for training and validation alone give 80/20/0$"):
        shares("80/20")
