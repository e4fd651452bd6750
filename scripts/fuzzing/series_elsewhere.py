"""Tables of several series with dates, given to a server and to an exported program.

The server must answer what the library answers, whatever the order of the rows. The program keeps
one state: it must answer the same, or refuse the table.
"""

import functools
import random
import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .outcomes import ACCEPTED, REFUSED, Case, Refused, attempt, check

Row = dict[str, Any]
SHOPS = ("north", "south", "east")
HEAD = "day,shop,sold"


def rows_of(chance: random.Random, shops: tuple[str, ...], days: int) -> list[Row]:
    """Rows of some shops, in the order of time."""
    first = np.datetime64("2023-12-20") + chance.randrange(40)
    return [
        {"day": str(first + n), "shop": shop, "sold": round(chance.gauss(5, 2), 3)}
        for n in range(days)
        for shop in shops
    ]


@functools.cache
def _made(scratch: Path) -> tuple[Any, Path | None, Any]:
    """A run on two shops, its program if there is a compiler, and a client of its server."""
    from starlette.testclient import TestClient

    from ostinato.export.run_export import export_run
    from ostinato.runs import Config, open_run, train
    from ostinato.serving.app import Service

    folder = scratch / "ready" / "shops"
    if not folder.exists():
        table, rows = scratch / "shops.csv", rows_of(random.Random(0), SHOPS[:2], 60)
        table.write_text(_text(rows))
        config = Config(
            task="series", file=str(table), sequence="shop", target="sold", horizon=2, cell="gru",
            units=3, length=8, batch=2, steps=2,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            train(config, folder)
    run = open_run(folder)
    program = None
    if shutil.which("cc"):
        program = scratch / "shops"
        if not program.exists():
            export_run(run, "c", program)
            subprocess.run(["cc", "shops.c", "-o", "shops", "-lm"], cwd=scratch, check=True)
    client = TestClient(Service(run).app())
    client.__enter__()  # its threads end with the process
    return run, program, client


def _text(rows: list[Row]) -> str:
    return "\n".join([HEAD, *(",".join(map(str, row.values())) for row in rows)]) + "\n"


def _harmed(chance: random.Random, rows: list[Row]) -> list[Row]:
    """The same rows in another order, or with one that is wrong."""
    n = chance.randrange(len(rows))
    kind = chance.choice(("none", "shuffled", "swapped", "twice", "day", "shop", "sold"))
    if kind == "shuffled":
        return chance.sample(rows, len(rows))
    if kind == "swapped":
        m = chance.randrange(len(rows))
        rows[n], rows[m] = rows[m], rows[n]
    elif kind == "twice":
        rows.insert(chance.randrange(len(rows)), rows[n])
    elif kind != "none":
        rows[n] = rows[n] | {kind: chance.choice(("", "nonsense", "31.12.2023", "-", "12"))}
    return rows


def _told(call: Any) -> Any:
    """What a call says; `None` if it refuses."""
    try:
        return attempt(call)
    except Refused:
        return None


def series_elsewhere(case: Case) -> str:
    """One table, read by the library, by its server and by its program."""
    chance = case.chance
    run, program, client = _made(case.scratch)
    shops = tuple(chance.sample(SHOPS, chance.choice((1, 1, 2, 3))))
    rows = _harmed(chance, rows_of(chance, shops, chance.randint(1, 12)))
    case.what = f"{len(rows)} rows of {', '.join(shops)}"
    path = case.folder / "rows.csv"
    path.write_text(_text(rows))
    made = _told(lambda: run.forecast(path).rows())
    steps = chance.choice(({}, {"steps": 2}))
    answer = client.post("/forecast", json={"rows": rows, **steps})
    check(answer.status_code in (200, 400), f"the server answers {answer.status_code}")
    check((made is not None) == (answer.status_code == 200), f"only one refuses: {answer.text}")
    if made is not None:
        served = answer.json()["forecast"]
        names = [[(row["shop"], row["day"]) for row in some] for some in (made, served)]
        check(names[0] == names[1], "the server answers other series or days")
        _check_same(made, [row["sold"] for row in served], "the server")
    if program is not None:
        ran = subprocess.run([program], input=_text(rows), capture_output=True, text=True)
        good = ran.returncode == 0 or (ran.returncode == 2 and ran.stderr.count("\n") == 1)
        check(good, f"the program ends with {ran.returncode}: {ran.stderr[:200]}")
        check(ran.returncode or len({row["shop"] for row in rows}) == 1, "series are merged")
        if not ran.returncode:
            check(made is not None, "the program answers what the library refuses")
            lines = ran.stdout.splitlines()[1:]
            _check_same(made, [float(line.split(",")[1]) for line in lines], "the program")
    return REFUSED if made is None else ACCEPTED


def _check_same(made: list[Row], values: list[float], who: str) -> None:
    expected = [row["sold"] for row in made]
    check(np.allclose(expected, values, rtol=1e-3, atol=1e-4), f"{who} forecasts other numbers")
