"""The page of an experiment: published numbers beside those obtained."""

import itertools
import statistics
from collections.abc import Mapping
from functools import partial
from typing import Any

from ..report.charts import Chart, Lines, Series
from ..report.page import Part, Section, Table, Words, tables_page
from .recipes import Charts, Recipe, Result, TableRow

NOTICE = (
    "Quick size: small networks, little data and few steps. It shows that everything runs; the "
    "numbers cannot be compared with the published ones."
)


def page_of(recipe: Recipe, results: list[Result]) -> str:
    """The page as HTML."""
    parts: list[Part] = [
        table_of(recipe, results),
        Words("What the runs showed", _words(recipe, results)),
        Section("Charts", recipe.charts(recipe, results)),
        Words("What differs here", _differences(recipe, results)),
        _runs(recipe, results),
    ]
    return tables_page(
        recipe.title,
        f"{recipe.source}. {recipe.shows}",
        [part for part in parts if part[1]],
        notice=NOTICE if any(result.quick for result in results) else "",
    )


def table_of(recipe: Recipe, results: list[Result]) -> Table:
    """A line per row: parameters and each column, published and obtained."""
    counted = any(row.parameters for row in recipe.rows) or any(r.parameters for r in results)
    header = [""] + (["parameters (published)", "here"] if counted else [])
    for column in recipe.columns:
        header += [f"{column} (published)", "obtained"]
    lines = []
    for row in recipe.rows:
        own = [result for result in results if result.row == row.name]
        line = [row.title + (f" ({len(own)} seeds)" if len(own) > 1 else "")]
        if counted:
            line.append("–" if row.parameters is None else f"{row.parameters:,}")
            line.append(f"{own[0].parameters:,}" if own and own[0].parameters else "–")
        for column in recipe.columns:
            line.append(_published(recipe, row, column))
            line.append(_obtained(recipe, own, column))
        lines.append(line)
    return Table("Published and obtained", header, lines, " ".join(verdict_of(recipe, results)))


def order_of(recipe: Recipe, results: list[Result]) -> tuple[list[str], list[str], int, int] | None:
    """The rows in published and in obtained order, and how many pairs agree of how many.

    Only rows that have both numbers are ranked; pairs with equal published numbers do not count.
    """
    if recipe.order is None:
        return None
    sign = -1 if recipe.higher_is_better else 1
    both: list[tuple[float, float, str]] = []
    for row in recipe.rows:
        published = row.published.get(recipe.order)
        values = values_of([r for r in results if r.row == row.name], recipe.order)
        if isinstance(published, int | float) and values:
            both.append((sign * published, sign * statistics.mean(values), row.title))
    pairs = [(a, b) for a, b in itertools.combinations(both, 2) if a[0] != b[0]]
    agree = sum((a[0] < b[0]) == (a[1] < b[1]) for a, b in pairs)
    if not pairs:
        return None
    first, second = ([x[2] for x in sorted(both, key=lambda x: x[at])] for at in (0, 1))
    return first, second, agree, len(pairs)


def values_of(results: list[Result], column: str) -> list[float]:
    """The numbers of a column that are there."""
    values = (result.numbers.get(column) for result in results)
    return [value for value in values if value is not None]


def curve_charts(charts: Mapping[str, Mapping[str, Any]]) -> Charts:
    """Draws a chart for each curve, by its name, with a line for every result that has the curve.

    Args:
        charts: of each chart its `title`, `caption`, `x_title` and `y_title`, and how it is drawn.
    """
    return partial(_curves, charts)  # not a nested function: recipes are sent to other machines


def _curves(
    charts: Mapping[str, Mapping[str, Any]], recipe: Recipe, results: list[Result]
) -> list[Chart]:
    drawn: list[Chart] = []
    for name, words in charts.items():
        series = [
            Series(
                recipe.named(result.row, result.seed),
                result.curves[name]["x"],
                result.curves[name]["y"],
                group=recipe.titled(result.row),
            )
            for result in results
            if name in result.curves and result.curves[name]["x"]
        ]
        if series:
            drawn.append(Lines(name=name.replace(" ", "-"), series=series, **words))
    return drawn


def learning_curves(y_title: str, log_y: bool = False) -> Charts:
    """Draws the validations of all runs, by step and by second of training."""
    words = {"caption": "A line per run.", "y_title": y_title, "log_y": log_y}
    by_step = {"title": "Validation by step", "x_title": "step", **words}
    by_time = {"title": "Validation by time", "x_title": "seconds of training", **words}
    return curve_charts({"validation": by_step, "by second": by_time})


def _published(recipe: Recipe, row: TableRow, column: str) -> str:
    value = row.published.get(column)
    if value is None:
        return "–"
    return value if isinstance(value, str) else _shown(value, recipe.digits)


def _obtained(recipe: Recipe, own: list[Result], column: str) -> str:
    values = values_of(own, column)
    if not values:
        return "–"
    mean = _shown(statistics.mean(values), recipe.digits)
    fewer = f" ({len(values)} of {len(own)})" if len(values) < len(own) else ""
    if len(values) == 1:
        return mean + fewer
    return f"{mean} ± {_shown(statistics.stdev(values), recipe.digits)}{fewer}"


def _shown(value: float, digits: int) -> str:
    """With so many digits after the point, or three significant ones if those do not fit."""
    fits = value == 0 or 10**-digits <= abs(value) < 1e5
    return f"{value:.{digits}f}" if fits else f"{value:.3g}"


def verdict_of(recipe: Recipe, results: list[Result]) -> list[str]:
    """Whether the rows are in the published order, in a sentence; nothing if that is no matter."""
    order = order_of(recipe, results)
    if order is None or any(result.quick for result in results):
        return []
    published, obtained, agree, pairs = order
    return [
        f"Order by {recipe.order}, best first. Published: {'; '.join(published)}. "
        f"Obtained: {'; '.join(obtained)}. {agree} of {pairs} pairs are in the published order."
    ]


def _words(recipe: Recipe, results: list[Result]) -> list[str]:
    return [f"{recipe.titled(r.row)}: {r.words}" for r in results if r.words]


def _differences(recipe: Recipe, results: list[Result]) -> list[str]:
    texts = sorted({result.corpus for result in results if result.corpus})
    words = [*recipe.differs, *(texts or [f"Data: {recipe.data}."])]
    changed = {(name, str(x)) for result in results for name, x in result.changes.items()}
    if changed:
        said = ", ".join(f"{name} = {value}" for name, value in sorted(changed))
        words.append(f"Changed for these runs: {said}.")
    return words


def _runs(recipe: Recipe, results: list[Result]) -> Table:
    header = ["", "seed", "steps", "minutes of training", "device", "settings"]
    lines = [
        [
            recipe.titled(result.row),
            str(result.seed),
            f"{result.steps:,}",
            f"{result.seconds / 60:.1f}",
            result.device,
            ", ".join(f"{k}={v}" for k, v in result.settings.items() if k not in ("split", "seed")),
        ]
        for result in results
        if result.steps
    ]
    return Table("Runs", header if lines else [], lines)
