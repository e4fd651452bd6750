"""What a report of a run shows: the charts in their order, and the numbers that matter most."""

from ..lens.doctor.finding import Finding
from .activity import reading
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
from .subject import Course, Subject


def page_of(course: Course, findings: list[Finding]) -> Page:
    """The page of a run, everything on it measured; of a mere course, what its log says.

    Example:
        >>> page_of(subject(open_run("runs/text-mlstm-1")), findings).sections[0].heading
        'Learning'
    """
    config = course.run.config
    trouble = course.of_kind("trouble")
    with course.run.precision():
        return Page(
            title=course.run.path.resolve().name,
            subtitle=f"{config.task}, learned by {config.cell} cells with {config.learner}",
            notice=trouble[-1]["words"] if trouble else "",
            numbers=key_numbers(course),
            findings=findings,
            sections=sections_of(course),
            reading=reading(course) if isinstance(course, Subject) else None,
            config=config,
        )


def sections_of(course: Course) -> list[Section]:
    """All charts of a run."""
    maps, memory, inside = gradient_maps(course), memory_over_training(course), []
    if isinstance(course, Subject):
        gradient = gradient_now(course)
        maps = maps or [gradient_profiles(course, gradient)]
        memory = [three_ways(course, gradient), *memory]
        inside = [*gates(course), *spectrum(course)]
        if course.symbols is None:
            inside.append(units_over_time(course))
    sections = [
        Section("Learning", losses(course)),
        Section("Where the gradient goes", maps),
        Section("Memory", memory),
        Section("Inside the network", inside),
        Section("Steps", steps_taken(course)),
    ]
    return [section for section in sections if section.charts]


def key_numbers(course: Course) -> dict[str, str]:
    """The numbers that matter most, in words."""
    task, start = course.task, course.start
    valid = [e for e in course.of_kind("valid") if e["value"] is not None]
    found = {}
    if "parameters" in start:
        found["parameters"] = f"{start['parameters']:,}"
    found["steps"] = f"{_steps(course)}"
    if valid:
        pick = max if task.higher_is_better else min
        best = pick(valid, key=lambda event: event["value"])
        found[f"best validation, {task.metric}"] = f"{best['value']:.4g} at step {best['step']:,}"
    else:
        found["best validation"] = "none yet"
    found["chance"] = f"{task.chance:.4g}"
    return found


def _steps(course: Course) -> str:
    """How many, and how it ended."""
    done = max((event["step"] for event in course.events), default=0)
    ends = [e for e in course.events if e["kind"] in ("start", "resume", "end", "trouble")]
    last = ends[-1] if ends else {"kind": "start"}
    words = {"trouble": "diverged", "end": last.get("reason", "")}.get(last["kind"], "unfinished")
    return f"{done:,} of {course.run.config.steps:,}, {words}"
