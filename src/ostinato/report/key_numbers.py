"""The key numbers of a run, formatted with their units."""

from collections import Counter
from statistics import median

from ..runs.folder.events import Train, Valid, ending, logged_steps, opens
from .course import Course
from .subject import RunCourse


def key_numbers(course: RunCourse) -> dict[str, str]:
    """Parameters, steps, epochs, time, speed and best validation, as far as the log has them.

    Example:
        >>> from ostinato.report.subject import course
        >>> found = key_numbers(course(open_run("runs/text-mlstm-1")))
        >>> found["steps"]
        '4 of 4, done'
    """
    task, start = course.task, course.start
    from ..runs.build import steps_of

    most = steps_of(course.run.config, task)
    entries = [*course.events, *logged_steps(course.events)]
    done = min(most, max((entry["step"] for entry in entries), default=0))
    found = {}
    if "parameters" in start:
        found["parameters"] = f"{start['parameters']:,}"
    found["steps"] = f"{done:,} of {most:,}, {_ending(course)}"
    if (count := epochs(course, done)) is not None:
        found["epochs"] = f"{count:.3g}" if count < 1000 else f"{count:,.0f}"
    if seconds := total_seconds(course):
        found["time"] = in_words(seconds)
    if rate := speed(course):
        found["speed"] = f"{rate:,.0f} symbols per second"
    valid = [(e["value"], e["step"]) for e in course.of_form(Valid) if e["value"] is not None]
    if valid:
        pick = max if task.metric.higher_is_better else min
        value, step = pick(valid, key=lambda one: one[0])
        found["best validation"] = f"{value:.4g} {task.metric.name}, at step {step:,}"
    else:
        found["best validation"] = "none yet"
    found["chance"] = f"{task.chance:.4g} {task.metric.name}"
    for name, value in start.get("baselines", {}).items():
        if name not in ("chance", "bigram"):
            found[f"{name} baseline"] = f"{value:.4g} {task.metric.name}"
    return found


def epochs(course: RunCourse, steps: int) -> float | None:
    """How many epochs so many steps make; `None` if the training data are unlimited."""
    from ..learning.schedules import length_at

    task, config = course.task, course.run.config
    lengths = Counter({task.length: steps})
    if config.curriculum is not None:
        lengths = Counter(
            length_at(step, config.steps, config.curriculum, task.length) for step in range(steps)
        )
    size = config.batch_size
    found = [task.epochs(count, size, length) for length, count in lengths.items()]
    known = [count for count in found if count is not None]
    return sum(known) if len(known) == len(found) else None


def total_seconds(course: Course) -> float:
    """The total time of a run; each resume restarts the clock, so the parts are added up."""
    total = latest = 0.0
    for event in course.events:
        if opens(event):
            total, latest = total + latest, 0.0
        elif event["kind"] == "train" or event["kind"] == "end":
            latest = max(latest, event.get("seconds", 0.0))
    return total + latest


def speed(course: Course) -> float | None:
    """Symbols per second of training: the median over log entries.

    The median leaves out the compilation time in the first entry.
    """
    entries = [e for e in course.of_form(Train) if "symbols" in e and e.get("took", 0.0) > 0]
    return median(e["symbols"] / e["took"] for e in entries) if entries else None


def in_words(seconds: float) -> str:
    """A duration in its two largest units.

    Example:
        >>> in_words(7.25), in_words(190), in_words(7400)
        ('7.2 s', '3 min 10 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 59.95 else "1 min 0 s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60:,} h {minutes % 60} min"


def _ending(course: Course) -> str:
    found = ending(course.events)
    if found is None:
        return "unfinished"
    return found["reason"] if found["kind"] == "end" else "diverged"
