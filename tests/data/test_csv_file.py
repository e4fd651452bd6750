"""CSV files: division by NumPy and by the module csv, and what is said of a column."""

import csv
import io
import random

import numpy as np
import pytest

from ostinato.data import csv_file, read_table
from ostinato.data.cells import Cells
from ostinato.errors import BadInput

CELLS = (
    *("", "NA", "nan", "?", "1", "-4.25", "+7", "1,5", "1.234", "1,234", "999", "12345", "1e5"),
    *("-1e-7", "0.1234567890123456", "-12345678901234567.8", "12345678901234567890", "x", "cat"),
    *("2020-01-02 10:00", "12:30", " 5 ", "1_000", "inf", "0x10", "٣", "−5", "true", "é", "a b"),
    *("-", ".", "1.", "-.5", "1.2.3", "--1", "1-2", "-0.0", "\u00a05", "n/a", "/1", "1/2"),
)


def _column(chance, rows):
    kind = chance.random()
    if kind < 0.3:
        return [repr(chance.gauss(0, 10 ** chance.randint(-3, 9))) for _ in range(rows)]
    if kind < 0.5:
        return [f"{chance.gauss(0, 9):.3f}".replace(".", chance.choice(".,")) for _ in range(rows)]
    if kind < 0.6:
        return [f"2020-{1 + n // 28 % 12:02}-{1 + n % 28:02}" for n in range(rows)]
    some = chance.sample(CELLS, chance.randint(1, 6))
    return [chance.choice(some) for _ in range(rows)]


def _file(chance):
    """A table with some cells and some places of the text replaced by anything."""
    rows, width = chance.choice((1, 3, 40)), chance.choice((1, 2, 4))
    columns = [_column(chance, rows) for _ in range(width)]
    for column in columns:
        if chance.random() < 0.3:
            column[chance.randrange(rows)] = chance.choice(CELLS)
    delimiter = chance.choice(",,;\t|")
    out = io.StringIO()
    quoting = chance.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    ending = chance.choice(("\n", "\n", "\r\n", "\r"))
    writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=ending)
    writer.writerow(chance.sample(("a", "b", "date", "größe", "T1"), width))
    writer.writerows(zip(*columns, strict=True))
    text = chance.choice(("", "\ufeff")) + out.getvalue()
    for _ in range(chance.choice((0, 0, 1, 2))):
        at = chance.randint(1, len(text))
        odd = chance.choice(("\n", "\n\n", '"', delimiter, "\r", "\0", "\r\n", "é", " "))
        text = text[:at] + odd + text[at:]
    return text.encode() + chance.choice((b"", b"", b"", b"\n", b"\xff"))


def _outcome(path):
    """All that a table says, or the words of its refusal."""
    try:
        table = read_table(path, ("a",))
    except BadInput as error:
        return str(error)
    numbers = {name: [repr(x) for x in column] for name, column in table.numbers.items()}
    texts = {name: column.tolist() for name, column in table.texts.items()}
    return table.names, table.lines.tolist(), numbers, texts, table.faults


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_numpy_divides_are_those_of_the_module_csv(seed, tmp_path, monkeypatch):
    chance, divided = random.Random(seed), csv_file._divided
    taken = 0
    for _ in range(150):
        (tmp_path / "x.csv").write_bytes(_file(chance))

        def counting(*arguments):
            nonlocal taken
            block = divided(*arguments)
            taken += block is not None
            return block

        monkeypatch.setattr(csv_file, "BYTES_TOGETHER", chance.choice((64, 300, 1 << 20)))
        monkeypatch.setattr(csv_file, "_divided", counting)
        read = _outcome(tmp_path / "x.csv")
        monkeypatch.setattr(csv_file, "_divided", lambda *arguments: None)
        assert read == _outcome(tmp_path / "x.csv")
    assert taken > 30


@pytest.mark.parametrize("marks", [b".", b".,"])
def test_plain_numbers_are_what_float_makes_of_them(marks):
    chance = random.Random(0)
    cells = list(CELLS)
    for _ in range(6000):
        digits = "".join(chance.choices("0123456789", k=chance.randint(0, 26)))
        at = chance.randint(0, len(digits))
        cells.append(
            chance.choice(("", "-", "+"))
            + digits[:at]
            + chance.choice(("", ".", ".", ",", ".."))
            + digits[at:]
        )
        cells.append(repr(chance.gauss(0, 10 ** chance.randint(-4, 12))))
        halfway = 2 * chance.randint(2**52, 2**53) + 1  # between two floats
        cells.append(f"{halfway // 2**4}.{halfway % 2**4 * 625:04}")
    plain = Cells.of_strings(cells).plain_numbers(marks)
    for cell, value, read in zip(cells, plain.values, plain.read, strict=True):
        if read:
            right = float(cell.replace(",", ".") if b"," in marks else cell)
            assert value == right and np.signbit(value) == np.signbit(right), cell
    assert plain.read.mean() > 0.4


def test_different_cells_and_their_numbers_make_the_column_again():
    chance = random.Random(0)
    for longest in (3, 20, 90):
        some = ["é" * chance.randint(0, 3) + "a" * chance.randint(0, longest) for _ in range(40)]
        cells = [chance.choice(some) for _ in range(900)]
        different, which = Cells.of_strings(cells).different()
        assert [different.strings()[n] for n in which] == cells
        assert longest > 64 or len(different) < 60


def test_advice_for_a_column_goes_by_all_of_its_rows(tmp_path):
    """However many rows are empty first, the faults and the dates of a column are the same."""
    said = set()
    for empty in (0, 1, 5000):
        rows = ["v,kind,when"] + ["1,,"] * empty
        rows += [f"{n},{'ab'[n % 2]},2024-01-{n + 1:02}" for n in range(20)]
        (tmp_path / "x.csv").write_text("\n".join(rows) + "\n")
        table = read_table(tmp_path / "x.csv")
        assert table.columns_of_words() == ["kind"]
        assert table.texts["when"][-1] == "2024-01-20" and len(table.texts["when"]) == empty + 20
        said.add(tuple(fault._replace(where="") for fault in table.faults.values()))
    assert len(said) == 1


def test_dates_after_many_numbers_are_kept_from_the_first_row(tmp_path):
    rows = ["v,when"] + ["1,2020"] * 3 + [f"1,2020-01-{n:02}" for n in range(1, 30)]
    (tmp_path / "x.csv").write_text("\n".join(rows) + "\n")
    whole = read_table(tmp_path / "x.csv").texts["when"].tolist()
    assert whole[:4] == ["2020", "2020", "2020", "2020-01-01"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_file, "BYTES_TOGETHER", 24)
        assert read_table(tmp_path / "x.csv").texts["when"].tolist() == whole


@pytest.mark.parametrize("header", ["T1,T2,T3", "E1,T10,x", "Z3,E-1,T 2", "T1,2,3", "eT5,Q,é"])
def test_names_of_a_letter_and_a_number_are_names(header, tmp_path):
    (tmp_path / "x.csv").write_text(f"{header}\n1,2,3\n4,5,6\n")
    table = read_table(tmp_path / "x.csv")
    assert table.names == header.split(",") and table.rows == 2 and not table.faults


@pytest.mark.parametrize("first", ["2020-01-01T10:00Z", "T10:00", "1e5x1", "−5", "1_000", "12:30"])
def test_values_are_no_names(first, tmp_path):
    (tmp_path / "x.csv").write_text(f"{first},5\n{first},6\n")
    with pytest.raises(BadInput, match="is not a number, and the line does not read like names"):
        read_table(tmp_path / "x.csv")


LATE = "".join(f"{n},{n + 1},{n + 2}\n" for n in range(40))
RAGGED = {  # a file, the line of the fault, its cells, and those of the first line
    "more in row 2": ("a,b,c\n1,2,3,4\n5,6,7\n", 2, 4, 3),
    "fewer in row 2": ("a,b,c\n1,2\n5,6,7\n", 2, 2, 3),
    "more than names": ("a,b,c\n1,2,3,4\n5,6,7,8\n", 2, 4, 3),
    "fewer than names": ("a,b\n1\n5\n", 2, 1, 2),
    "one name": ("a\n1,2\n5,6\n", 2, 2, 1),
    "a title": ("Sales\na,b,c\n1,2,3\n", 2, 3, 1),
    "more in a late row": (f"a,b,c\n{LATE}1,2,3,4\n", 42, 4, 3),
    "fewer in a late row": (f"a,b,c\n{LATE}1,2\n", 42, 2, 3),
    "more, no names": ("1,2,3\n1,2,3,4\n5,6,7\n", 2, 4, 3),
    "fewer in a late row, no names": (f"1,2,3\n{LATE}1,2\n", 42, 2, 3),
    "dates, no names": ("2024-01-01,1\n2024-01-02,4,5\n", 2, 3, 2),
    "dates and a late row, no names": ("2024-01-01,1\n" * 40 + "2024-01-02\n", 41, 1, 2),
    "words, no names": ("x,b,c\nx,1\nx,2,3\n", 2, 2, 3),
    "truths, no names": ("true,1\n2,3,4\n", 2, 3, 2),
    "a date twice, no names": ("2024-01-01,x,2024-01-01\n2024-01-02,x\n", 2, 2, 3),
    "semicolons": ("a;b;c\n1,5;2,5\n1,5;2,5;3\n", 2, 2, 3),
    "semicolons, no names": ("1,5;2,5\n1,5;2,5;3\n", 2, 3, 2),
    "commas that divide evenly": ("1,5;2,5;3\n1,5;2,5\n1,5;2,5;3\n", 2, 2, 3),
    "bars and decimal commas": ("1,5|2,5|2\n1,5|2,5\n", 2, 2, 3),
    "a delimiter at the end of a row": ("a,b,c\n1,2,3,\n4,5,6\n", 2, 4, 3),
    "a delimiter at the end of all rows": ("a,b,c\n1,2,3,\n4,5,6,\n", 2, 4, 3),
    "a delimiter at the end of the names": ("a,b,c,\n1,2,3\n4,5,6\n", 2, 3, 4),
    "tabs": ("a\tb\n1\t2\t3\n4\t5\n", 2, 3, 2),
    "tabs, no names": ("2024-01-01\t1\n2024-01-02\n", 2, 1, 2),
    "a thousand": ("a,b\n1,000,2\n3,4\n", 2, 3, 2),
    "quotes": ('a,b\n"1",2\n"3",4,5\n', 3, 3, 2),
    "blank lines": ("a,b\n\n1,2\n\n3\n", 5, 1, 2),
}


@pytest.mark.parametrize("ragged", RAGGED)
def test_a_line_of_another_width_is_named_and_nothing_else_is_blamed(ragged, tmp_path):
    text, line, cells, width = RAGGED[ragged]
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(BadInput) as error:
        read_table(tmp_path / "x.csv")
    assert str(error.value) == (
        f"{tmp_path / 'x.csv'}, line {line}: the number of cells is {cells}, in the first line "
        f"{width}; give every line the same number of cells"
    )


def test_a_comma_divides_lists_of_numbers_with_semicolons(tmp_path):
    (tmp_path / "x.csv").write_text("id,tags,v\n1,2;3,4\n2,5;6,7\n")
    table = read_table(tmp_path / "x.csv", ("tags",))
    assert table.names == ["id", "tags", "v"] and table.texts["tags"].tolist() == ["2;3", "5;6"]
