"""Write the result of a contrast: tables in words, and one HTML page."""

import json
from pathlib import Path

from ..files import write_whole
from ..report.page import Part, Section, Table, tables_page
from .curves import gradient_profiles, learning_curves, seed_points
from .result import EntryResult, Group, Result, mean
from .statistics import Comparison, seeds_needed

PAGE, NUMBERS = "result.html", "result.json"

BEST = "of the network with the best validation"


def write_result(result: Result, folder: Path) -> None:
    """Write `result.json` and `result.html`."""
    write_whole(folder / NUMBERS, json.dumps(result.as_json(), indent=1, allow_nan=False).encode())
    words = result_page(result, folder.resolve().name)
    write_whole(folder / PAGE, words.encode(errors="backslashreplace"))


def result_page(result: Result, title: str) -> str:
    """The result as one self-contained HTML document."""
    parts: list[Part] = []
    for group in result.groups:
        of = f": {group.task}" if len(result.groups) > 1 else ""
        parts.append(entries_table(group, f"Results{of}"))
        points = seed_points(
            {row.label: row.values for row in group.rows}, group.metric, group.task
        )
        if points:
            parts.append(Section(f"Seeds{of}", points))
        if group.comparisons:
            parts.append(comparisons_table(group, result, f"Comparisons{of}"))
        curves = learning_curves(
            group.courses,
            group.metric,
            higher_is_better=group.higher_is_better,
            levels=group.baselines,
            prefix=group.task,
        )
        parts.append(Section(f"Learning{of}", curves))
        if profiles := gradient_profiles(group.profiles, group.task, BEST):
            parts.append(Section(f"Memory{of}", profiles))
    spec = result.spec
    size = "as configured" if spec.budget is None else f"{spec.budget:,} parameters"
    numbers = {
        "entries": str(sum(len(group.rows) for group in result.groups)),
        "size of each": size,
        "seeds": str(len(spec.seeds)),
        "trials per entry": str(spec.trials),
    }
    tasks = ", ".join(group.task for group in result.groups)
    return tables_page(title, f"A contrast on {tasks}", parts, numbers)


def entries_table(group: Group, heading: str) -> Table:
    """The results of the entries of a task."""
    count = max(len(row.valid) for row in group.rows)
    caption = (
        f"{group.metric.capitalize()} on the {group.part} part, of the network with the best "
        f"validation: mean over {count} seed{'s' * (count > 1)}"
        + (
            " ± standard deviation, and 95 % confidence interval of the mean. "
            if count > 1
            else ". "
        )
        + ("Higher" if group.higher_is_better else "Lower")
        + " is better. Memory: the lag at which the gradient has fallen to 1 % of its peak. "
        "Gradient-equivalents and seconds are those of one run. Settings are those with the best "
        "validation among the trials."
    )
    columns = ["entry", "parameters", group.metric, "95 % interval", "best validation", "memory"]
    columns += ["gradient-equivalents", "seconds", "tuned"]
    return Table(heading, columns, [_entry(row) for row in group.rows], caption)


def comparisons_table(group: Group, result: Result, heading: str) -> Table:
    """The comparisons of the entries of a task."""
    seeds = len(result.spec.seeds)
    caption = (
        f"Difference of the means and its 95 % interval. p: paired t-test over {seeds} seeds, "
        "which assumes that the differences are independent and normal; corrected: for "
        f"{result.comparisons} comparison{'s' * (result.comparisons > 1)} (Holm). Sign flip: exact "
        f"permutation test, which assumes only symmetry and cannot go below "
        f"{2 / 2**seeds:.3g} with {seeds} seeds. An entry is called better only if both p-values, "
        "each corrected, are below 5 %. "
    )
    if seeds < (needed := seeds_needed(result.comparisons)):
        caption += f"That takes at least {needed} seeds; with {seeds} there is never a verdict. "
    elif result.detectable is not None:
        caption += (
            f"The t-test finds a difference of {result.detectable:.3g} standard deviations with a "
            "probability of 80 %; smaller ones are likely to be missed."
        )
    columns = ["entries", "difference", "95 % interval", "p", "corrected", "sign flip", ""]
    return Table(heading, columns, [_comparison(one, group) for one in group.comparisons], caption)


def _entry(row: EntryResult) -> list[str]:
    summary, valid = row.summary, [value for value in row.valid if value is not None]
    label = (
        f"{row.label} ({row.diverged} of {len(row.valid)} diverged)" if row.diverged else row.label
    )
    memory = [value for value in row.memory if value is not None]
    interval, spread = "–", ""
    if summary is not None and summary.low is not None and summary.high is not None:
        spread = f" ± {summary.sd:.2g}"
        interval = f"{summary.low:.4g} to {summary.high:.4g}"
    return [
        label,
        f"{row.parameters:,}",
        "–" if summary is None else f"{summary.mean:.4g}{spread}",
        interval,
        f"{mean(valid):.4g}" if valid else "–",
        f"{mean(memory):.3g}" if memory else "–",
        f"{row.gradients:,.0f}",
        f"{row.seconds:.1f}",
        ", ".join(f"{name} {value:.2g}" for name, value in row.tuned.items()) or "–",
    ]


def _comparison(one: Comparison, group: Group) -> list[str]:
    better = one.one if (one.difference > 0) == group.higher_is_better else one.other
    verdict = f"{better} is better" if one.different else "not significant"
    return [
        f"{one.one} – {one.other}",
        f"{one.difference:+.3g}",
        f"{one.low:.3g} to {one.high:.3g}",
        f"{one.p:.2g}",
        f"{one.adjusted:.2g}",
        f"{one.sign_flip:.2g}",
        verdict,
    ]
