"""The table of long time lags, from the rows that `time_lags.py` wrote.

    python benchmarks/time_lags_table.py benchmarks/time_lags.jsonl

One line for each task, length and learner. Of rows for the same seed the last counts. A `remark`,
which was added to a row by hand, says what was different about its run.
"""

import json
import sys
from pathlib import Path

from measure import publish, table
from time_lags import FIRST_ORDER_BATCH, FIRST_ORDER_NAMES, NAMES

HEADER = [
    "task",
    "T",
    "radius, input weights",
    "learner",
    "batches",
    "solved",
    "steps",
    "M gradient-equivalents",
    "s",
    "fewest wrong",
]
OLDER = {"radius": 1.1, "input_scale": 0.1}  # of rows that do not say


def by_seed(path: Path) -> dict[tuple, dict[int, dict]]:
    """For each task, length and learner the row of each seed, with what it says of that seed."""
    found: dict[tuple, dict] = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        row["settings"] = OLDER | row["settings"]
        for i, seed in enumerate(row["seeds"]):
            about = {"best": row["best"][i], "solved": row["solved"].get(str(seed))}
            about["used"] = row["used"][i]
            found.setdefault((row["task"], row["length"], row["learner"]), {})[seed] = row | about
    return found


def cells(task: str, length: int, learner: str, rows: list[dict]) -> list:
    """A line of the table."""
    wins = [row["solved"] for row in rows if row["solved"]]
    rates = sorted({row["rate"] for row in rows if row["rate"] is not None})
    longest = max(rows, key=lambda row: row["used"])
    settings = rows[0]["settings"]
    free = learner == "hf"
    return [
        task,
        length,
        f"{settings['radius']:g}, {settings['input_scale']:g}",
        learner + "".join(f", rate {rate:g}" for rate in rates),
        f"{settings['gradient']}, {settings['curvature']}" if free else FIRST_ORDER_BATCH,
        f"{len(wins)} of {len(rows)}",
        ", ".join(str(win["step"]) for win in wins) if free else "",
        ", ".join(f"{win['used'] / 1e6:.2f}" for win in wins) or f"({longest['used'] / 1e6:.1f})",
        ", ".join(f"{win['seconds']:.0f}" for win in wins) or f"({longest['seconds']:.0f})",
        ", ".join(f"{row['best']:.4f}" for row in rows),
    ]


def main() -> None:
    found = by_seed(Path(sys.argv[1]))
    order = ("hf", *FIRST_ORDER_NAMES)
    keys = sorted(found, key=lambda key: (NAMES.index(key[0]), -key[1], order.index(key[2])))
    lines = [cells(*key, [found[key][seed] for seed in sorted(found[key])]) for key in keys]
    every = [row for rows in found.values() for row in rows.values()]
    remarks = {
        f"{row['task']} over {row['length']} steps: {row['remark']}."
        for row in every
        if "remark" in row
    }
    publish(
        "Long time lags with a tanh network of 100 units",
        "Seeds run side by side or one by one, and the seconds are those of their run; in brackets "
        "where nothing was solved. For the rules see `benchmarks/time_lags.py`, for the rows "
        "`benchmarks/time_lags.jsonl`.\n\n"
        + table(HEADER, lines)
        + "".join(f"\n\n{remark}" for remark in sorted(remarks)),
        on=" and ".join(sorted({row["machine"] for row in every})),
    )


if __name__ == "__main__":
    main()
