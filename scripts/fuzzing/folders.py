"""Run folders: a ready run is copied, harmed, and then read, sampled, evaluated or resumed."""

from collections.abc import Callable
from pathlib import Path

from .command_line import ran
from .harm import harm
from .outcomes import ACCEPTED, REFUSED, Case, Failed, Refused, attempt, check
from .ready import RUNS, content, copied, differing


def folders(case: Case) -> str:
    """Harm a run, do something with it, and see that nothing is lost."""
    chance = case.chance
    name = chance.choice([*RUNS, "text", "text"])
    run = case.folder / copied(case, name)
    words = [harm(case, run) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
    use = chance.choices([*USES], [weight for weight, _ in USES.values()])[0]
    case.what = f"{use} {name} with {'; '.join(words)}"[:600]
    return USES[use][1](case, run)


def _read(use: Callable) -> Callable[[Case, Path], str]:
    """Something that only reads: every byte stays as it was."""

    def judged(case: Case, run: Path) -> str:
        from ostinato.runs import open_run

        before = content(run)
        try:
            attempt(lambda: use(open_run(run)))
            outcome = ACCEPTED
        except Refused:
            outcome = REFUSED
        lost = differing(before, content(run))
        check(not lost, f"{outcome}, and changed {lost[:1]}")
        return outcome

    return judged


def _command(*words: str, as_json: bool = False) -> Callable[[Case, Path], str]:
    def judged(case: Case, run: Path) -> str:
        return ran(case, [words[0], run.name, *words[1:]], as_json)

    return judged


def resumed(case: Case, run: Path) -> str:
    """Go on with a run: refused with every byte still there, or with a log that only grew."""
    from ostinato.files import is_leftover
    from ostinato.runs import Diverged, open_run, train

    before, log = content(run), run / "events.jsonl"
    said = log.read_bytes() if log.is_file() and not log.is_symlink() else None
    try:
        attempt(lambda: train(open_run(run).config, run, resume=True), also=(Diverged,))
    except Refused as error:
        if not isinstance(error.__context__, Diverged):
            lost = differing(before, content(run))
            check(not lost, f"resume refused, and changed {lost[:1]}: {error}")
            return REFUSED
    if said is not None:
        check(log.read_bytes().startswith(said), "a resume changed what the log had already")
    left = [
        x.name
        for x in run.rglob("*")
        if x.name == ".lock" or (is_leftover(x.name) and not x.is_symlink())
    ]
    if left:
        raise Failed(f"a resume left {left[0]}")
    return ACCEPTED


def _examined(run):
    from ostinato.runs import examine

    return examine(run)


# What is done with a run, and how often.
USES: dict[str, tuple[int, Callable[[Case, Path], str]]] = {
    "open": (4, _read(lambda run: run)),
    "network of": (6, _read(lambda run: run.network())),
    "last network of": (3, _read(lambda run: run.network("last"))),
    "events of": (4, _read(lambda run: run.events())),
    "task of": (3, _read(lambda run: run.task())),
    "examine": (1, _read(_examined)),
    "sample": (5, _command("sample", "--length", "20")),
    "sample as JSON": (2, _command("sample", "--length", "20", "--json", as_json=True)),
    "evaluate": (2, _command("evaluate", "--samples", "0")),
    "evaluate as JSON": (4, _command("evaluate", "--samples", "20", "--json", as_json=True)),
    "resume": (3, resumed),
}
