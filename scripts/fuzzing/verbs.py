"""The verbs that read a run or a small file: with odd values for every option, and odd files."""

from .command_line import drawn_option, ran
from .everyday import harmed
from .outcomes import Case
from .ready import RUNS, copied, fox, made
from .values import path, text, word

MEASURES = ("fixed-points", "lyapunov", "echo-state", "paths", "conditions")
EXAMPLES = ("addition", "gcd", "prime", "nonsense")
FORECASTERS = ("series", "quantiles", "known")


def verbs(case: Case) -> str:
    """Draw a verb with what it reads and a few options, run it, and judge it."""
    chance = case.chance
    fox(case.scratch)
    (case.folder / "fox.txt").write_bytes(fox(case.scratch).read_bytes())
    verb = chance.choices([*BASES], [often for often, _ in BASES.values()])[0]
    words = [verb, *BASES[verb][1](case)]
    for _ in range(chance.choice((0, 1, 1, 2))):
        words += drawn_option(case, verb)
    case.what = "ostinato " + " ".join(map(repr, words))
    return ran(case, words, False)


def _run(case: Case) -> list[str]:
    """A run, or something else in its place."""
    chance = case.chance
    if chance.random() < 0.15:
        return [path(chance, case.folder)]
    return [str(copied(case, chance.choice([*RUNS])))]


def _read(case: Case) -> list[str]:
    chance = case.chance
    return [*_run(case), *([text(chance).replace("\0", "")] if chance.random() < 0.7 else [])]


def _compared(case: Case) -> list[str]:
    return [*_run(case), *_run(case)]


def _measured(case: Case) -> list[str]:
    chance = case.chance
    names = [chance.choice((*MEASURES, word(chance))) for _ in range(chance.choice((1, 1, 2)))]
    return [*_run(case), f"--measure={','.join(names)}"]


def _program(case: Case) -> list[str]:
    chance = case.chance
    name = chance.choice((*EXAMPLES, path(chance, case.folder), "fox.txt"))
    values = [f"{chance.choice('abx')}={word(chance)}" for _ in range(chance.choice((0, 1, 2)))]
    return [chance.choice(("run", "run", "show")), name, *values]


def _scored(case: Case) -> list[str]:
    chance = case.chance
    return [chance.choice(("fox.txt", path(chance, case.folder))) for _ in range(2)]


def _forecast(case: Case) -> list[str]:
    """A forecast whose future is a table that somebody has damaged, or anything else."""
    chance = case.chance
    run = copied(case, chance.choice(FORECASTERS))
    table = made("table.csv", case.scratch).read_bytes()
    (case.folder / "table.csv").write_bytes(table)
    future = path(chance, case.folder)
    if chance.random() < 0.7:
        future = "future.csv"
        (case.folder / future).write_bytes(harmed(chance, "y\n" + "1.5\n2.5\n" * 3)[1])
    return [str(run), "table.csv", f"--future={future}"]


# The verbs, how often each comes, and what it is given first.
BASES = {
    "lens": (1, _measured),
    "plan": (3, _run),
    "program": (4, _program),
    "inside": (4, _read),
    "compare": (1, _compared),
    "score": (4, _scored),
    "sample": (4, _run),
    "apply": (6, _forecast),
}
