"""Write docs/doctor.md: the doctor's rules, and its results on healthy and faulty runs.

With `--train` the runs are trained again, which takes about ten minutes; otherwise their evidence
is read from `tests/lens/evidence/`.
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

`ostinato lens RUN` says what is wrong with a run. Each finding comes with its evidence and a
command to try next; in Python, `ostinato.runs.examine(run)` returns the same findings. The doctor
examines the log, two consecutive batches and the network of the last checkpoint, and reports
nothing if nothing is wrong. Each rule is a function in a file `rules_for_….py` of
`src/ostinato/lens/doctor/`.

![What the doctor finds in a plain network that adds over a hundred steps](doctor.png)

## Faults it finds

"""


def main() -> None:
    if "--train" in sys.argv:
        record_all(CASES)
    rules = {
        case.name: [finding.name for finding in diagnose(case.recorded())]
        for case in HEALTHY + FAULTS
    }
    misses = sum(case.fault not in rules[case.name] for case in FAULTS)
    alarms = sum(bool(rules[case.name]) for case in HEALTHY)
    lines = [f"- **{_name(rule)}**: {_first_line(rule)}" for rule in RULES]
    table = [
        "| run | planted | found |",
        "| --- | --- | --- |",
        *(
            f"| {case.name} | {case.fault or '–'} | {', '.join(rules[case.name]) or '–'} |"
            for case in FAULTS + HEALTHY
        ),
    ]
    summary = (
        f"Of {len(FAULTS)} runs with one planted fault each, {misses} were missed; of "
        f"{len(HEALTHY)} healthy runs, {alarms} raised a false alarm. The effects of a fault are "
        "found with it: a network whose rate is too low, for example, is also at chance. The runs "
        "are defined in `tests/lens/doctor_cases.py`."
    )
    page = "\n".join([*lines, "", "## Results", "", summary, "", *table, ""])
    (ROOT / "docs" / "doctor.md").write_text(OPENING + page)
    print(summary, *table, sep="\n")


def _name(rule) -> str:
    return rule.__name__.replace("_", " ")


def _first_line(rule) -> str:
    words = inspect.getdoc(rule).splitlines()[0]
    return words[0].lower() + words[1:]


if __name__ == "__main__":
    main()
