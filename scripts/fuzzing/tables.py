"""Tables: the generator knows what every cell means; the file is read exactly so, or refused.

A table has numbers, and perhaps ids, labels and times. Its meaning is drawn first, then the way in
which it is written: CSV with any separator and decimal mark, Parquet, `.npy` or `.npz`. Some ways
cannot mean anything, and must be refused: a row without an id, a header line in the middle, times
out of order.
"""

import csv
import dataclasses
import io
import random
import unicodedata
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from .outcomes import ACCEPTED, Case, Failed, Refused, attempt, check

MISSING = ("", "", "NA", "nan", "NULL", "None", "?", "#N/A")
NO_NUMBERS = (
    "1_000", "0x10", "inf", "-Infinity", "1e400", "--", "1 234", "5%", "12:30", "abc", "1.2.3",
)  # fmt: skip
TIMES = ("date", "time", "timestamp", "Date Time", "ds", "year")
NAMES = ("x", "y", "z", "Wert", "größe", "T1", "E1", "Z-3", "T 2", "inf1", "a%", "1st")
LEAST_ROWS = 3  # of a series that is to be learned: one for each part
CODES = ("1", "01", "1.0", "2")
WORDS = ("cat", "dog", "Dog", "fish-2", "été", "N", "5a", "x y")


@dataclasses.dataclass
class Meant:
    """A table as it is meant.

    Attributes:
        numbers: the columns of numbers, `None` where one is missing.
        ids: which series each row belongs to; `None` for one series.
        labels: the label of each row, `None` where it is missing.
        written: the cells of ids, labels and times as text, by column.
        dates: when each row was, if a column of dates says so.
        refuse: why it has no meaning, if it has none.
    """

    numbers: dict[str, list[Decimal | None]]
    ids: list[str] | None = None
    labels: list[Any] | None = None
    written: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    dates: list[Any] | None = None
    refuse: str = ""

    @property
    def rows(self) -> int:
        return len(next(iter(self.numbers.values())))

    def groups(self) -> list[list[int]]:
        """The rows of each series, in order of first appearance."""
        rows_of: dict[Any, list[int]] = {}
        for row in range(self.rows):
            rows_of.setdefault(None if self.ids is None else self.ids[row], []).append(row)
        return [*rows_of.values()]

    @property
    def task(self) -> str:
        """The task that learns it: `arrays` if it has labels for several series, else `series`."""
        return "series" if self.ids is None or self.labels is None else "arrays"

    def times_twice(self) -> bool:
        """Whether two rows of a series have the same date."""
        dates = self.dates or []
        return bool(dates) and any(
            len({dates[n] for n in rows}) < len(rows) for rows in self.groups()
        )

    def series(self, least: int) -> list[list[int]]:
        """The rows of each series that the task `series` reads.

        They are sorted by their dates if no date is there twice. Series of fewer rows than the
        least are left out unless all are.
        """
        groups, dates = self.groups(), self.dates
        if dates is not None and not self.times_twice():
            groups = [sorted(rows, key=dates.__getitem__) for rows in groups]
        return [rows for rows in groups if len(rows) >= least] or groups

    def constant(self) -> bool:
        """Whether every series has one label at most."""
        labels = self.labels or []
        return all(len({labels[n] for n in rows} - {None}) < 2 for rows in self.groups())


def tables(case: Case) -> str:
    """Draw a table, write it, read it, and compare."""
    kind = case.chance.choices(("csv", "parquet", "npy", "npz", "texts"), (12, 4, 2, 2, 2))[0]
    if kind == "npz":
        return _arrays(case)
    if kind == "texts":
        return _texts(case)
    return _table(case, kind)


def _table(case: Case, kind: str) -> str:
    chance = case.chance
    meant = _meant(chance, kind)
    names = [*meant.written, *meant.numbers]
    chance.shuffle(names)
    path = case.folder / f"table.{kind if kind != 'csv' else chance.choice(('csv', 'tsv'))}"
    words, called = WRITERS[kind](chance, path, meant, names)
    task, settings = _settings(chance, meant, called, path)
    case.what = f"{words}, {task} of {settings}"[:500] + (
        f"; must be refused: {meant.refuse}" if meant.refuse else ""
    )
    kind_of = _kinds()[task]
    read = attempt(lambda: kind_of.from_settings(kind_of.Settings(**settings), 0))
    if meant.refuse:
        raise Failed(f"accepted, though it has no meaning: {meant.refuse}")
    _compare(read, meant, called, task)
    if kind != "npy" and words.startswith(f"{kind} with names") and chance.random() < 0.4:
        _read_again(chance, case, kind, meant, called, kind_of, settings, read, task)
    return ACCEPTED


def _kinds() -> dict[str, Any]:
    from ostinato.tasks import Arrays, Series

    return {"series": Series, "arrays": Arrays}


def _read_again(chance, case, kind, meant, called, kind_of, settings, read, task) -> None:
    """The same table with its columns in another order, read for the trained network."""
    names = [*meant.written, *meant.numbers]
    chance.shuffle(names)
    path = case.folder / f"again.{kind}"
    WRITERS[kind](chance, path, meant, names, plain=True)
    case.what += f"; and again as {names}"[:200]
    try:
        again = attempt(
            lambda: kind_of.on_file(path, kind_of.Settings(**settings), read.artefacts())
        )
    except Refused:
        return
    _compare(again, meant, called, task, least=1)


# What is meant


def _meant(chance: random.Random, kind: str) -> Meant:
    rows = chance.randint(8, 40)
    names = chance.sample(NAMES, chance.randint(1, 3))
    meant = Meant({name: _numbers(chance, rows) for name in names})
    if chance.random() < 0.6:
        _ids(chance, meant, kind)
    if kind != "npy" and chance.random() < 0.5:
        _labels(chance, meant)
    if kind != "npy" and chance.random() < 0.4:
        _times(chance, meant)
    return meant


def _numbers(chance: random.Random, rows: int) -> list[Decimal | None]:
    digits, most = chance.choice(((0, 2000), (0, 99), (3, 9), (3, 5000), (2, 90_000), (6, 1)))
    column: list[Decimal | None] = [
        Decimal(chance.randint(-most * 10**digits, most * 10**digits)).scaleb(-digits)
        for _ in range(rows)
    ]
    if chance.random() < 0.1:
        for _ in range(chance.randint(1, 3)):
            column[chance.randrange(rows)] = None
    return column


def _ids(chance: random.Random, meant: Meant, kind: str) -> None:
    """Rows of several series, in blocks or mixed, with ids that are easily taken for others."""
    count = chance.randint(1, 5)
    style = chance.choice(
        ("dates", "large", "small", "words", "fractions", "codes", "alike", "gap")
    )
    if kind == "npy" and style in ("words", "codes", "alike"):
        style = "dates"
    known = {
        "dates": [str(20240101 + n) for n in range(count)],
        "large": [str(2**53 + n) for n in range(count)],
        "small": [str(n) for n in range(count)],
        "words": chance.sample(("a", "A", "b;c", "d,e", "f\tg", "h i", "ß", "7x"), count),
        "fractions": [repr(0.1 * (n + 1)) for n in range(count)],
        "codes": ["1", "01", "001", "1.0", "10"][:count],  # five different things
        "alike": [str(n + 1) for n in range(count)],
        "gap": [str(n) for n in range(count)],
    }[style]
    which = sorted(chance.randrange(count) for _ in range(meant.rows))
    if chance.random() < 0.5:
        chance.shuffle(which)
    meant.ids = [known[n] for n in which]
    cells = [*meant.ids]
    if style == "alike":  # the same thing, written in several ways
        cells = [chance.choice((c, c, f"{c}.0", f"0{c}", f"+{c}")) for c in cells]
        if chance.random() < 0.3:
            forms = [unicodedata.normalize(form, "café") for form in ("NFC", "NFD")]
            meant.ids = ["café"] * len(cells)
            cells = [chance.choice(forms) for _ in cells]
    if style == "gap":
        cells[chance.randrange(len(cells))] = chance.choice(MISSING) if kind != "npy" else "nan"
        meant.refuse = "a row without an id"
    meant.written["id"] = cells


def _labels(chance: random.Random, meant: Meant) -> None:
    """A label for each row; perhaps one for each series, and some missing."""
    style = chance.choice(("words", "words", "numbers", "codes"))
    count = chance.randint(2, 4)
    known: list[Any] = {
        "words": chance.sample(WORDS, count),
        "numbers": [*range(count)],
        "codes": chance.sample(CODES, count),  # different things
    }[style]
    labels = [chance.choice(known) for _ in range(meant.rows)]
    if chance.random() < 0.6:
        for rows in meant.groups():
            for row in rows:
                labels[row] = labels[rows[0]]
    cells = [str(x) for x in labels]
    if chance.random() < 0.15:
        for _ in range(chance.randint(1, 3)):
            row = chance.randrange(meant.rows)
            labels[row], cells[row] = None, chance.choice(MISSING)
    meant.labels, meant.written["label"] = labels, cells


def _times(chance: random.Random, meant: Meant) -> None:
    """Times that increase in each series, or do not; `series` sorts rows by dates."""
    from datetime import datetime, timedelta

    name, style = chance.choice(TIMES), chance.choice(("date", "clock", "number"))
    begin = datetime(1990, 1, 1) + timedelta(days=chance.randrange(12_000))
    pace = timedelta(days=1) if style == "date" else timedelta(minutes=chance.choice((1, 10, 60)))
    cells, dates = [""] * meant.rows, [begin] * meant.rows
    spoilt = chance.random() < 0.25
    for rows in meant.groups():
        order = [*range(len(rows))]
        if spoilt and len(order) > 1:
            one = chance.randrange(len(order) - 1)
            order[one] = order[one + 1] + chance.choice((0, 1)) * len(order)
            if style == "number" or meant.task == "arrays":
                meant.refuse = meant.refuse or "times that do not increase"
        for row, n in zip(rows, order, strict=True):
            dates[row] = when = begin + n * pace
            cells[row] = {
                "date": f"{when:%Y-%m-%d}",
                "clock": f"{when:%Y-%m-%d %H:%M:%S}",
                "number": str(1000 + 7 * n),
            }[style]
    meant.written[name] = cells
    meant.dates = None if style == "number" else dates
    if meant.times_twice():
        meant.refuse = meant.refuse or "a time that is there twice"


# How it is written


def _csv(
    chance: random.Random, path: Path, meant: Meant, names: list[str], plain: bool = False
) -> tuple[str, dict[str, str]]:
    """Write a CSV file: how, and what its columns are called."""
    delimiter, mark, thousands = chance.choice(",;\t"), ".", ""
    if delimiter != "," and chance.random() < 0.5 and len(names) > 1:
        mark = ","
    if chance.random() < 0.2 and not plain:
        thousands = "." if mark == "," else ","
        if mark == "," and not _sure(meant):  # or nothing tells 1.234 from a thousand
            thousands = ""
    header = chance.choices(
        ("names", "none", "twice", "late", "alike", "index"), (14, 2, 1, 1, 1, 1)
    )[0]
    header = "names" if plain else header
    columns = [
        [_cell(chance, x, mark, thousands) for x in meant.numbers[name]]
        if name in meant.numbers
        else meant.written[name]
        for name in names
    ]
    table = [list(row) for row in zip(*columns, strict=True)]
    called, first = dict(zip(names, names, strict=True)), list(names)
    if header == "none":
        called = {name: str(n) for n, name in enumerate(names, 1)}
        table_with = table
    elif header == "late":
        table_with = [table[0], first, *table[1:]]
    elif header == "twice":
        at = chance.randint(0, len(table))
        table_with = [first, *table[:at], first, *table[at:]]
    elif header == "alike":
        table_with = [[*first, first[0]], *([*row, row[0]] for row in table)]
    elif header == "index":
        table_with = [["", *first], *([str(n), *row] for n, row in enumerate(table))]
    else:
        table_with = [first, *table]
    if header == "none" and any(name in TIMES for name in names):
        meant.refuse = ""  # without its name nothing is known to be a time
    if header in ("twice", "late", "alike"):
        meant.refuse = meant.refuse or f"header: {header}"
    spoilt = ""
    if chance.random() < 0.05 and not plain:
        spoilt = ", a row of another width"
        row = chance.choice(table_with[1:])
        row.append("1") if chance.random() < 0.5 or len(row) == 1 else row.pop()
        meant.refuse = meant.refuse or "rows of different widths"
    elif chance.random() < 0.06 and not plain:
        wrong = chance.choice(NO_NUMBERS)
        spoilt = f", {wrong!r} among numbers"
        at = names.index(chance.choice([*meant.numbers])) + (header == "index")
        chance.choice(table_with[2:])[at] = wrong
        meant.refuse = meant.refuse or f"{wrong!r} among numbers"
    out = io.StringIO()
    quoting = chance.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    ending = chance.choice(("\n", "\r\n"))
    csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=ending).writerows(
        table_with
    )
    text = chance.choice(("", "", "\ufeff", "\n")) + out.getvalue()
    path.write_text(text, encoding="utf-8", newline="")
    words = f"csv with {header} {names}, {delimiter!r}, decimal {mark!r}, thousands {thousands!r}"
    return f"{words}{spoilt}", called


def _sure(meant: Meant) -> bool:
    """Whether a decimal mark in the table cannot be one of thousands."""
    every = [x for column in meant.numbers.values() for x in column if x is not None]
    return any(x != x.to_integral_value() and x.as_tuple().exponent != -3 for x in every)


def _cell(chance: random.Random, value: Decimal | None, mark: str, thousands: str) -> str:
    if value is None:
        return chance.choice(MISSING)
    text = f"{value:,f}" if thousands else f"{value:f}"
    return text.replace(",", "T").replace(".", mark).replace("T", thousands)


def _parquet(
    chance: random.Random, path: Path, meant: Meant, names: list[str], plain: bool = False
) -> tuple[str, dict[str, str]]:
    import pyarrow
    import pyarrow.parquet

    columns: dict[str, Any] = {}
    for name in names:
        if name in meant.numbers:
            column = meant.numbers[name]
            kind = chance.choice(("float64", "decimal", "int64"))
            whole = all(x is None or x == x.to_integral_value() for x in column)
            if kind == "decimal":
                columns[name] = pyarrow.array(column, pyarrow.decimal128(30, 6))
            elif kind == "int64" and whole:
                columns[name] = pyarrow.array([None if x is None else int(x) for x in column])
            else:
                columns[name] = pyarrow.array([None if x is None else float(x) for x in column])
            continue
        cells: list[Any] = [None if cell in MISSING else cell for cell in meant.written[name]]
        if all(cell is None or (cell.isdecimal() and str(int(cell)) == cell) for cell in cells):
            if name in TIMES or chance.random() < 0.7:
                cells = [None if cell is None else int(cell) for cell in cells]
        columns[name] = pyarrow.array(cells)
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return f"parquet with names {names}", dict(zip(names, names, strict=True))


def _npy(
    chance: random.Random, path: Path, meant: Meant, names: list[str], plain: bool = False
) -> tuple[str, dict[str, str]]:
    columns = []
    for name in names:
        if name in meant.numbers:
            columns.append([np.nan if x is None else float(x) for x in meant.numbers[name]])
        else:
            columns.append([float(cell) for cell in meant.written[name]])
    if meant.ids is not None:  # what a float cannot hold was lost before the file was written
        known = {cell: repr(float(cell)) for cell in meant.ids}
        meant.ids = [known[cell] for cell in meant.ids]
    array = np.array(columns).T
    if np.isfinite(array).all() and (array == np.round(array)).all() and chance.random() < 0.5:
        array = array.astype(np.int64)
    np.save(path, array)
    return f"npy of {names} in {array.dtype}", {name: str(n) for n, name in enumerate(names, 1)}


WRITERS = {"csv": _csv, "parquet": _parquet, "npy": _npy}


# How it is read, and what must come of it


def _settings(
    chance: random.Random, meant: Meant, called: dict[str, str], path: Path
) -> tuple[str, dict[str, Any]]:
    """The task and the settings by which the table is read."""
    mask = chance.random() < 0.4
    settings: dict[str, Any] = {
        "file": str(path),
        "split": "100/0/0",
        "scale": chance.random() < 0.5,
        "missing": "mask" if mask else "refuse",
        "columns": ",".join(called[name] for name in meant.numbers),
    }
    if any(x is None for column in meant.numbers.values() for x in column) and not mask:
        meant.refuse = meant.refuse or "missing numbers"
    if meant.ids is not None:
        settings["sequence"] = called["id"]
    if meant.task == "series":
        return "series", settings
    settings |= {"target": called["label"], "kind": "classification"}
    labels, groups = meant.labels, meant.groups()
    holes = any(x is None for x in labels)
    if holes and not mask:
        meant.refuse = meant.refuse or "missing labels"
    partly = any(0 < sum(labels[n] is None for n in rows) < len(rows) for rows in groups)
    if holes and partly and meant.constant():
        meant.refuse = meant.refuse or "a series with a label on some of its rows"
    return "arrays", settings


def _compare(
    read: Any, meant: Meant, called: dict[str, str], task: str, least: int = LEAST_ROWS
) -> None:
    """Fail where a number, a series or a label is not what was meant.

    Args:
        read: the task.
        meant, called, task: what was written, and how it is read.
        least: the rows that a series needs.
    """
    groups = meant.groups()
    if task == "series":
        every, groups = groups, meant.series(least)
        told = any(note.startswith("left out are series") for note in read.notes)
        check(told == (len(groups) < len(every)), f"series left out, and these notes: {read.notes}")
    columns = [
        [np.nan if x is None else float(x) for x in column] for column in meant.numbers.values()
    ]
    right = [np.array(columns).T[rows] for rows in groups]
    check(read.names == [called[name] for name in meant.numbers], f"columns {read.names}")
    given = read.series if task == "series" else np.split(read.as_read.inputs, read.data.begins[1:])
    check(len(given) == len(right), f"{len(given)} series where {len(right)} were meant")
    for one, two in zip(given, right, strict=True):
        check(one.shape == two.shape, f"a series of {one.shape} where {two.shape} was meant")
        wrong = np.argwhere(~((one == two) | (np.isnan(one) & np.isnan(two))))
        for at in map(tuple, wrong[:1]):
            raise Failed(f"read {one[at]!r} where {two[at]!r} was meant")
    if task == "series":
        return
    labels = meant.labels
    assert labels is not None
    check(read.per_step != meant.constant(), f"labels per step: {read.per_step}")
    order = [n for rows in groups for n in (rows if read.per_step else rows[:1])]
    numbers, there = read.data.targets, read.data.there
    pairs: set[tuple[str | None, str | None]] = set()
    for n, number, known in zip(order, numbers, there, strict=True):
        label = str(read.answers.classes[number]) if known else None
        own = None if labels[n] is None else str(labels[n])
        alike = label == own or (own in CODES and label == str(int(float(own))))
        check(alike, f"read the label {label!r} where {own!r} was meant")
        pairs.add((label, own))
    check(len(pairs) == len({one for one, _ in pairs}), "two labels became one")


# Files of other kinds


def _arrays(case: Case) -> str:
    """An `.npz` file of labelled sequences, in any dtype that can hold them."""
    from ostinato.tasks import Arrays

    chance = case.chance
    draw = np.random.default_rng(chance.getrandbits(32))
    count, steps = chance.randint(1, 12), chance.randint(1, 9)
    symbols = chance.random() < 0.3
    kinds = ("int64", "uint8", "int32") if symbols else ("float64", "float32", "float16", "int16")
    xs = draw.integers(0, 99, (count, steps) if symbols else (count, steps, chance.randint(1, 3)))
    xs = xs.astype(chance.choice(kinds))
    labels = chance.choice((["a", "b"], ["Ü", "x y", "3"], [0, 1, 2], [20240101, 20240102], [0, 1]))
    ys = np.array([chance.choice(labels) for _ in range(count)])
    right, refuse = [str(y) for y in ys.tolist()], ""
    if len(set(right)) < 2:
        refuse = "a single class"
    lengths = draw.integers(1, steps + 1, count)
    spoilt = chance.choice(("", "", "", "", "objects", "count", "length", "kind", "name", "nan"))
    arrays: dict[str, Any] = {"x": xs, "y": ys, "lengths": lengths}
    if spoilt == "objects":
        arrays["y"] = np.array([None, *ys[1:].tolist()], object)
    elif spoilt == "count":
        arrays["y"] = np.append(ys, ys[:1])
    elif spoilt == "length":
        arrays["lengths"] = lengths + steps * (draw.random(count) < 2 / count)
        spoilt = spoilt if (arrays["lengths"] > steps).any() else ""
    elif spoilt == "kind":
        arrays["lengths"] = lengths.astype(float)
    elif spoilt == "name":
        arrays["seq_lens"] = arrays.pop("lengths")
    elif spoilt == "nan" and xs.dtype.kind == "f":
        xs[0, 0, 0] = np.nan
    else:
        spoilt = ""
    refuse = refuse or spoilt
    path = case.folder / "arrays.npz"
    chance.choice((np.savez, np.savez_compressed))(path, **arrays)
    case.what = f"npz: {xs.dtype} {xs.shape}, labels {labels}, spoilt: {spoilt or 'not'}"
    settings = Arrays.Settings(
        file=str(path), split="100/0/0", kind=chance.choice((None, "classification"))
    )
    read = attempt(lambda: Arrays.from_settings(settings, 0))
    check(not refuse, f"accepted, though it has no meaning: {refuse}")
    valid = np.arange(steps) < lengths[:, None]
    own = xs[valid].astype(float)
    check(
        np.array_equal(read.as_read.inputs.reshape(own.shape), own), "other inputs than were meant"
    )
    check(np.array_equal(read.data.lengths, lengths), "other lengths than were meant")
    numbers, there = read.data.targets, read.data.there
    classes = [str(read.answers.classes[n]) for n in numbers]
    check(bool(there.all()) and classes == right, "other labels than were meant")
    return ACCEPTED


def _texts(case: Case) -> str:
    """Lines `label<TAB>text`, perhaps with a header line, or the other way round."""
    from ostinato.tasks import Classify

    chance = case.chance
    labels = chance.sample(("good", "bad", "1", "01", "So so", "x"), chance.randint(2, 3))
    rows = [(labels[n % len(labels)], f"text {n} of {chance.choice(WORDS)}") for n in range(24)]
    chance.shuffle(rows)
    header = chance.choice(((), (), ("label", "text"), ("Sentiment", "Review"), ("grp", "words")))
    turned = chance.random() < 0.2
    lines = [header, *rows] if header else rows
    lines = [pair[::-1] if turned else pair for pair in lines]
    spoilt = chance.random() < 0.1
    if spoilt:
        lines[chance.randrange(len(lines))] = (chance.choice(("", "no tab")),)
    path = case.folder / "texts.tsv"
    path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
    case.what = f"lines label<TAB>text, header {header}, turned {turned}, spoilt {spoilt}"
    settings = Classify.Settings(file=str(path), split="100/0/0")
    read = attempt(lambda: Classify.from_settings(settings, 0))
    check(not (header or turned or spoilt), "accepted, though a line is no label and text")
    check(read.texts == [text for _, text in rows], "other texts than were meant")
    numbers = read.data.targets
    answers = [read.answers.classes[n] for n in numbers]
    check(answers == [label for label, _ in rows], "other labels than were meant")
    return ACCEPTED
