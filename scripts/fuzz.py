"""Thousands of generated commands, files, folders and calls: none may end in a traceback.

    python scripts/fuzz.py --cases 10000 --seed 0
    python scripts/fuzz.py --area folders --only 137

Every case depends on seed, area and number alone, so a failure is run again with `--area` and
`--only`, which shows its whole traceback. A case is accepted, or refused with one line; anything
else is a failure: another exception, a message of several lines, output that is no JSON, a run
folder that a refused command left or changed, a wrong result, an abort, a hang of a minute, or more
than 8 GB. Failures are printed as they come, alike ones once; the table comes at the end, and the
exit code is 1 if there were any.
"""

import argparse
import collections
import os
import resource
import shlex
import sys
import tempfile
import time
from pathlib import Path

from fuzzing.watch import MEMORY, SCRIPTS, environment, watched

PROGRESS = 30.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=10_000, help="of all areas, or of --area")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--area", help="only this one")
    parser.add_argument("--only", type=int, help="only the case of this number; needs --area")
    parser.add_argument("--seconds", type=float, default=60.0, help="that a case may take")
    parser.add_argument("--out", type=Path, help="file for the table")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        scratch = Path(folder)
        (scratch / "ready").mkdir()
        if asked.only is not None:
            return _only(asked, scratch)
        from fuzzing.areas import AREAS

        if asked.area is not None and asked.area not in AREAS:
            parser.error(f"there is no area {asked.area}; there are {', '.join(AREAS)}")
        table, failures = _all(asked, scratch, AREAS)
    print("\n" + table)
    if asked.out is not None:
        asked.out.write_text(table)
    return int(failures > 0)


def _only(asked: argparse.Namespace, scratch: Path) -> int:
    """One case in this process, with its traceback."""
    os.environ |= environment(scratch)
    sys.path.insert(1, str(SCRIPTS.parent / "src"))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    from fuzzing.worker import one, prepare

    prepare()
    result = one(asked.area, asked.only, asked.seed, scratch, asked.seconds, shown=True)
    outcome, words, what = result
    print(f"{what}\n{outcome}{': ' if words else ''}{words}")
    return int(outcome not in ("accepted", "refused"))


def _all(asked: argparse.Namespace, scratch: Path, areas: dict) -> tuple[str, int]:
    """Run all cases; the table, and how many failed."""
    cases = _cases(asked, areas)
    counts: dict[str, collections.Counter] = {area: collections.Counter() for area, _ in cases}
    seconds: collections.Counter = collections.Counter()
    alike: collections.Counter = collections.Counter()
    first: dict[tuple[str, str], str] = {}
    started = shown = time.monotonic()
    for done, end in enumerate(watched(cases, asked.seed, scratch, asked.seconds), 1):
        area, number = end["ends"]
        outcome = end["outcome"]
        counts[area][outcome] += 1
        seconds[area] += end["seconds"]
        if outcome not in ("accepted", "refused"):
            kind = (area, f"{outcome}: {end['shape']}")
            alike[kind] += 1
            if kind not in first:
                first[kind] = _again(asked, area, number)
                print(f"FAILED {area} {number}: {outcome}: {end['words'][:300]}", flush=True)
                print(f"    {end['what'][:300]}\n    {first[kind]}", flush=True)
        if time.monotonic() - shown > PROGRESS:
            shown = time.monotonic()
            failed = sum(alike.values())
            words = f"{done} of {len(cases)} cases, in {area}; {failed} failed"
            print(f"{shown - started:5.0f} s: {words}", flush=True)
    for (area, kind), count in sorted(alike.items(), key=lambda item: -item[1]):
        print(f"{count} times in {area}: {kind}\n    {first[area, kind]}")
    return _table(counts, seconds), sum(alike.values())


def _cases(asked: argparse.Namespace, areas: dict) -> list[tuple[str, int]]:
    """Area and number of every case: each area has its share."""
    if asked.area is not None:
        return [(asked.area, number) for number in range(asked.cases)]
    total = sum(share for _, share in areas.values())
    cases = []
    for area, (_, share) in areas.items():
        cases += [(area, number) for number in range(max(1, asked.cases * share // total))]
    return cases


def _again(asked: argparse.Namespace, area: str, number: int) -> str:
    seed = f"--seed {asked.seed}"
    return f"python scripts/fuzz.py {seed} --area {shlex.quote(area)} --only {number}"


def _table(counts: dict[str, collections.Counter], seconds: collections.Counter) -> str:
    """The outcomes as Markdown."""
    lines = [
        "| area | cases | accepted | refused with one line | failures | seconds |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    sums: collections.Counter = collections.Counter()
    for area, outcomes in counts.items():
        row = _row(outcomes, seconds[area])
        sums.update(row)
        lines.append(f"| {area.replace('_', ' ')} | {' | '.join(f'{x:,}' for x in row.values())} |")
    lines.append(f"| **all** | {' | '.join(f'{x:,}' for x in sums.values())} |")
    return "\n".join(lines) + "\n"


def _row(outcomes: collections.Counter, seconds: float) -> dict[str, int]:
    total, good = sum(outcomes.values()), outcomes["accepted"] + outcomes["refused"]
    return {
        "cases": total,
        "accepted": outcomes["accepted"],
        "refused": outcomes["refused"],
        "failures": total - good,
        "seconds": round(seconds),
    }


if __name__ == "__main__":
    sys.exit(main())
