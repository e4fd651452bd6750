"""What a report of a run shows: the charts in their order, and the numbers that matter most."""

from ..lens.doctor.finding import Finding
from .activity import reading
from .charts import Chart
from .of_log import gradient_maps, losses, memory_over_training, steps_taken
from .of_network import (
    gates,
    gradient_now,
    gradient_profiles,
    spectrum,
    three_ways,
    units_over_time,
)
from .page import Page, Section
from .subject import Subject


def page_of(subject: Subject, findings: list[Finding]) -> Page:
    """The page of a run, everything on it measured.

    Example:
        >>> page_of(subject(open_run("runs/text-mlstm-1")), findings).sections[0].heading
        'Learning'
    """
    config = subject.run.config
    trouble = subject.of_kind("trouble")
    with subject.run.precision():
        return Page(
            title=subject.run.path.resolve().name,
            subtitle=f"{config.task}, learned by {config.cell} cells with {config.learner}",
            notice=trouble[-1]["words"] if trouble else "",
            numbers=key_numbers(subject),
            findings=findings,
            sections=sections_of(subject),
            reading=reading(subject),
            config=config,
        )


def sections_of(subject: Subject) -> list[Section]:
    """All charts of a run."""
    gradient = gradient_now(subject)
    maps: list[Chart] = gradient_maps(subject) or [gradient_profiles(subject, gradient)]
    inside = [*gates(subject), *spectrum(subject)]
    if subject.symbols is None:
        inside.append(units_over_time(subject))
    return [
        Section("Learning", losses(subject)),
        Section("Where the gradient goes", maps),
        Section("Memory", [three_ways(subject, gradient), *memory_over_training(subject)]),
        Section("Inside the network", inside),
        Section("Steps", steps_taken(subject)),
    ]


def key_numbers(subject: Subject) -> dict[str, str]:
    """The numbers that matter most, in words."""
    task, start = subject.task, subject.start
    valid = [e for e in subject.of_kind("valid") if e["value"] is not None]
    found = {}
    if "parameters" in start:
        found["parameters"] = f"{start['parameters']:,}"
    found["steps"] = f"{_steps(subject)}"
    if valid:
        pick = max if task.higher_is_better else min
        best = pick(valid, key=lambda event: event["value"])
        found[f"best validation, {task.metric}"] = f"{best['value']:.4g} at step {best['step']:,}"
    else:
        found["best validation"] = "none yet"
    found["chance"] = f"{task.chance:.4g}"
    return found


def _steps(subject: Subject) -> str:
    """How many, and how it ended."""
    done = max((event["step"] for event in subject.events), default=0)
    ends = [e for e in subject.events if e["kind"] in ("start", "resume", "end", "trouble")]
    last = ends[-1] if ends else {"kind": "start"}
    words = {"trouble": "diverged", "end": last.get("reason", "")}.get(last["kind"], "unfinished")
    return f"{done:,} of {subject.run.config.steps:,}, {words}"
