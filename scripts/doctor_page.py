"""Write docs/doctor.md: what the doctor knows, and how it does on healthy and on spoiled runs.

With `--train` the runs are made anew, which takes about ten minutes; else what was seen of them is
read from `tests/lens/evidence/`.
"""

import inspect
import subprocess
import sys

from environment import ROOT, python_with

try:
    from ostinato.lens.doctor import RULES, diagnose
except ImportError:
    sys.exit(subprocess.run([python_with("test"), *sys.argv], cwd=ROOT).returncode)

sys.path.insert(0, str(ROOT / "tests" / "lens"))
from doctor_cases import CASES, FAULTS, HEALTHY, record_all

OPENING = """# The doctor

<!-- Written by `python3 scripts/doctor_page.py`; change the rules, not this page. -->

`ostinato lens RUN` says what is wrong with a run, each finding with its evidence and a command to
try next; `ostinato.runs.examine(run)` gives the same to Python. The doctor looks at the log, at two
batches that follow each other, and at the network as it was last. It says nothing where nothing is
wrong. A rule is a function in `src/ostinato/lens/doctor/`.

## What it knows

"""


def main() -> None:
    if "--train" in sys.argv:
        record_all(CASES)
    found = {
        case.name: [finding.name for finding in diagnose(case.recorded())]
        for case in HEALTHY + FAULTS
    }
    misses = sum(case.fault not in found[case.name] for case in FAULTS)
    alarms = sum(bool(found[case.name]) for case in HEALTHY)
    lines = [f"- **{_name(rule)}**: {_first_line(rule)}" for rule in RULES]
    table = [
        "| run | planted | found |",
        "| --- | --- | --- |",
        *(
            f"| {case.name} | {case.fault or '–'} | {', '.join(found[case.name]) or '–'} |"
            for case in FAULTS + HEALTHY
        ),
    ]
    summary = (
        f"{len(FAULTS)} runs with one fault planted in each: {misses} not named. {len(HEALTHY)} "
        f"healthy runs: {alarms} with an alarm. What follows from a fault is found beside it: a "
        "network whose rate is too low is at chance too. The runs are those of "
        "`tests/lens/doctor_cases.py`."
    )
    page = "\n".join([*lines, "", "## How it does", "", summary, "", *table, ""])
    (ROOT / "docs" / "doctor.md").write_text(OPENING + page)
    print(summary, *table, sep="\n")


def _name(rule) -> str:
    return rule.__name__.replace("_", " ")


def _first_line(rule) -> str:
    words = inspect.getdoc(rule).splitlines()[0]
    return words[0].lower() + words[1:]


if __name__ == "__main__":
    main()
