"""Training progress: a live panel on a terminal, plain lines elsewhere."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ..lens.part_names import plain_name
from ..runs.folder.events import OPENING
from .output import let_go


@contextmanager
def display(run: Path, *, quiet: bool) -> Iterator[Callable[[dict], None]]:
    """A listener that shows the events of a training run.

    A live panel on a terminal, otherwise one line per event; nothing if `quiet`.
    """
    if quiet:
        yield lambda event: None
        return
    console = Console()
    if not console.is_terminal:
        yield _Lines(run).hear
        return
    panel = _Panel()
    with Live(console=console, get_renderable=panel.render, refresh_per_second=4) as live:
        yield panel.hear
        live.update(panel.render())
    for line in _ending(run, panel.start, panel.end, panel.valid):
        console.print(line, highlight=False, markup=False)


class _Lines:
    """Plain lines.

    Training is shown at regular steps and at the last one. Log entries in between are skipped,
    unless the run ends with one.
    """

    def __init__(self, run: Path):
        self.run = run
        self.start: dict = {}
        self.valid: dict = {}
        self.passed_over: dict = {}

    def hear(self, event: dict) -> None:
        kind = event["kind"]
        if kind in OPENING:
            self.start = event
            for note in event.get("notes", ()):
                _print(f"data: {note}")
            _print(_opening(event))
        elif kind == "train":
            last = event["step"] == self.start["steps"]
            if last or event["step"] % self.start.get("log_every", 1) == 0:
                self._train(event)
            else:
                self.passed_over = event
            if "remark" in event:
                _print(f"step {event['step']:>6}  {event['remark']}")
        elif kind == "lens":
            _print(f"step {event['step']:>6}  lens: {_seen(event)}")
        elif kind == "valid":
            self.valid = event
            _print(f"step {event['step']:>6}  validation: {_against(event, self.start)}")
            if "preview" in event:
                _print("  | " + event["preview"].replace("\n", "\n  | "))
        elif kind == "end":
            if self.passed_over.get("step") == event["step"]:
                self._train(self.passed_over)
            for line in _ending(self.run, self.start, event, self.valid):
                _print(line)

    def _train(self, event: dict) -> None:
        _print(f"step {event['step']:>6} of {self.start['steps']}  {_numbers(event, self.start)}")


class _Panel:
    """The live panel: progress, numbers, baselines, and the latest preview."""

    def __init__(self) -> None:
        self.start: dict = {}
        self.train: dict = {}
        self.lens: dict = {}
        self.valid: dict = {}
        self.end: dict = {}
        self.progress = Progress(
            TextColumn("step {task.completed:.0f} of {task.total:.0f}"),
            BarColumn(bar_width=None),
            TimeRemainingColumn(),
        )
        self.bar = self.progress.add_task("", total=1)

    def hear(self, event: dict) -> None:
        kind = event["kind"]
        if kind in OPENING:
            self.start = event
            self.progress.update(self.bar, total=event["steps"], completed=event["step"])
        elif kind in ("train", "lens", "valid", "end"):
            setattr(self, kind, event)
            self.progress.update(self.bar, completed=event["step"])

    def render(self) -> RenderableType:
        if not self.start:
            return Text("compiling …")
        rows = Table.grid(padding=(0, 2))
        for name, value in _rows(self.start, self.train, self.lens, self.valid):
            rows.add_row(Text(name, style="dim"), Text(value))
        parts: list[Any] = [self.progress, rows]
        if "preview" in self.valid:
            parts.append(Panel(Text(self.valid["preview"]), title=f"step {self.valid['step']}"))
        return Group(*parts)


def _rows(start: dict, train: dict, lens: dict, valid: dict) -> list[tuple[str, str]]:
    rows = [("data", note) for note in start.get("notes", ())]
    rows.append(("network", f"{start['parameters']:,} parameters, on {start['device']}"))
    if train:
        rows.append(("training", _numbers(train, start)))
        if "remark" in train:
            rows.append((f"step {train['step']}", train["remark"]))
    if lens:
        rows.append(("lens", _seen(lens)))
    if valid:
        rows.append(("validation", _against(valid, start)))
    else:
        rows.append(("to beat", _baselines(start)))
    return rows


def _opening(start: dict) -> str:
    word = f"resuming at step {start['step']}" if start["kind"] == "resume" else "training"
    return (
        f"{word}: {start['task']}, {start['parameters']:,} parameters, on {start['device']}; "
        f"to beat: {_baselines(start)}"
    )


def shown_loss(loss: float | None, metric: str, factor: float | None) -> str:
    """A training loss as text, with its unit.

    Args:
        loss: the value that is minimised; `None` if it is not finite.
        metric: the name of the task's metric.
        factor: metric = factor × loss; `None` if they measure different things.

    Example:
        >>> shown_loss(1.386, "bits per character", 1 / math.log(2))
        '2.000 bits per character'
        >>> shown_loss(0.6931, "accuracy", None)
        'loss 0.6931'
    """
    if loss is None:
        return "loss not finite"
    if factor is None:
        return f"loss {loss:.4g}"
    value = factor * loss
    return f"{value:.3f} {metric}" if metric.startswith("bits") else f"{value:.4g} {metric}"


def _numbers(event: dict, start: dict) -> str:
    words = shown_loss(event["loss"], start["metric"], start["loss_factor"])
    if event["took"] > 0:  # else a step was faster than the clock of the log tells
        words += f"  {event['symbols'] / event['took']:,.0f} symbols/s"
    if "ratio" in event:
        return f"{words}  gradient {event['norm']:.3g}  {_curvature(event)}"
    clipped = f"clipped {event['clipped']:.0%}"
    return f"{words}  gradient {event['norm']:.3g} ({clipped})  rate {event['rate']:.2g}"


def _curvature(event: dict) -> str:
    """A second-order step: damping, reduction ratio, iterations and why they stopped."""
    words = [f"λ {event['damping']:.2g}"]
    if event.get("structural"):
        words.append(f"μ {event['structural']:.2g}")
    words.append("ρ " + ("–" if event["ratio"] is None else f"{event['ratio']:.2f}"))
    if "reason" in event:
        words.append(f"CG {event['iterations']:.0f} ({event['reason']})")
    if "negative" in event:
        words.append(f"{event['negative']:.0f} negative, lowest {event['lowest']:.2g}")
    words.append(f"length {event['rate']:.2g}" if event["rate"] else "refused")
    return "  ".join(words)


def _seen(lens: dict) -> str:
    """How far back the gradient reaches, and the most saturated units."""
    lengths = [length for length in lens["memory"].values() if length is not None]
    words = f"the gradient reaches {max(lengths, default=0)} of {lens['lags'][-1]} steps back"
    if not lens["memory"]:
        words = "there is no state for a gradient to go back through"
    elif not lengths:
        words = "the gradient is not finite"
    name, share = max(lens["saturated"].items(), key=lambda pair: pair[1], default=("", 0.0))
    if share >= 0.01:
        words += f"; most saturated: {plain_name(name)} {share:.0%}"
    return words


def _against(valid: dict, start: dict) -> str:
    """All metrics of a validation; the first one with what it is to beat."""
    values = {name: x for name, x in valid["metrics"].items() if x is not None}
    others = [f"{x:.4g} {name}" for name, x in values.items() if name != start["metric"]]
    first = f"{valid['value']:.4g} {start['metric']} ({_baselines(start)})"
    return ", ".join([first, *others])


def _baselines(start: dict) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in start["baselines"].items())


def _ending(run: Path, start: dict, end: dict, valid: dict) -> list[str]:
    if not end:
        return []
    where = shlex.quote(str(run))
    lines = []
    if end["best"] is not None:
        lines.append(
            f"best validation {end['best']:.4g} {end['metric']} at step {end['best_step']} "
            f"({_baselines(start)})"
        )
    if end["reason"] == "interrupted":
        lines.append(f"stopped and saved; continue with: ostinato train --resume --run {where}")
        return lines
    if end["reason"] == "no gain":
        lines.append(f"stopped at step {end['step']}: validation no longer improved")
    if end["reason"] == "time":
        lines.append(f"stopped at step {end['step']}: the minutes are over")
    lines.append(f"saved in {run}")
    if start.get("vocabulary"):
        lines.append(f"generate text with: ostinato sample {where}")
    return lines


def _print(line: str) -> None:
    """Print a line. If the pipe is closed, discard all further output; the run continues."""
    try:
        print(line, flush=True, file=sys.stdout)
    except BrokenPipeError:
        let_go()
