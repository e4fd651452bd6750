"""The page of a search for cells: the best cell as a graph, and where it came from."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from ..errors import BadInput
from ..evolve import Entry, Graph, best_of, line_of, memory_kind, read_ancestry
from ..evolve.graph import STATE_NAMES
from ..evolve.search import read_plan
from ..files import write_whole
from .drawing import COLOURS
from .page import document

PAGE = "evolution.html"
WIDTH, HEIGHT, MARGIN = 900, 320, 40
COLUMN = 150  # pixels between two operations, one after the other
SIGNS = {
    "add": "+",
    "subtract": "−",
    "multiply": "×",
    "complement": "1 −",
    "sigmoid": "σ",
    "linear": "W x + R · + b",
}

_MAIN = """<section><h2>The best cell</h2><pre>{equations}</pre>{drawing}</section>
<section><h2>Ancestry</h2>
<p>Every cell that was trained to the end, by its number and score. Lines lead from parents to
children; the ancestors of the best cell are blue. {rejected} cells were rejected early.</p>
{tree}</section>
<section><h2>How the best cell came about</h2><div class="wide">
<table class="left"><tr><th>cell</th><th>from</th><th>change</th><th>score</th><th>memory</th>
<th>equations</th></tr>{steps}</table></div></section>
"""


def write_evolution(folder: Path) -> Path:
    """Write `evolution.html`, which needs no other file, into the folder of a search.

    Example:
        >>> from ostinato.evolve import Budget, Plan, evolve
        >>> small = Budget(rungs=1, steps=2, batch=4, units=4, seeds=1, rates=(0.01,))
        >>> _ = evolve(Plan(("adding:length=5",), budget=small), "search", evaluations=1)
        >>> write_evolution(Path("search"))
        PosixPath('search/evolution.html')
    """
    plan, entries = read_plan(folder), read_ancestry(folder)
    if not best_of(entries):
        raise BadInput(f"no cell of {folder} was trained to the end yet")
    (best,) = best_of(entries)
    line = line_of(entries, best)
    main = _MAIN.format(
        equations=escape(str(best.graph)),
        drawing=graph_svg(best.graph),
        rejected=sum(not entry.finished for entry in entries),
        tree=tree_svg(entries, line),
        steps="".join(_row(entry) for entry in line),
    )
    subtitle = (
        f"{len(entries)} cells tried on {', '.join(plan.tasks)} with seed {plan.seed}; the best is "
        f"cell {best.number} with a score of {best.score:.3f} (0 is chance, 1 solved at every "
        f"rung), its memory: {memory_kind(best.graph)}."
    )
    page = document("Evolution of a cell", subtitle, main=main, charts=[])
    path = folder / PAGE
    write_whole(path, page.encode())
    return path


def _row(entry: Entry) -> str:
    cells = (
        str(entry.number),
        ", ".join(map(str, entry.parents)) or "–",
        ", ".join(entry.changes) or "the start",
        f"{entry.score:.3f}",
        memory_kind(entry.graph),
    )
    words = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    return f"<tr>{words}<td><pre>{escape(str(entry.graph))}</pre></td></tr>"


def tree_svg(entries: Sequence[Entry], line: Sequence[Entry]) -> str:
    """The ancestry: a point per finished cell, and a line from each parent to each child."""
    shown = {entry.number: entry for entry in entries if entry.finished}
    marked = {entry.number for entry in line}

    def place(entry: Entry) -> tuple[float, float]:
        x = MARGIN + (WIDTH - 2 * MARGIN) * entry.number / max(len(entries) - 1, 1)
        return x, HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * entry.score

    parts = []
    for level in (0.0, 0.5, 1.0):
        y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * level
        parts.append(f'<text x="4" y="{y + 4:.0f}">{level}</text>')
        parts.append(f'<path class="line" d="M{MARGIN} {y:.0f}H{WIDTH - MARGIN}" opacity=".15"/>')
    for number, entry in shown.items():
        x, y = place(entry)
        for parent in entry.parents:
            px, py = place(shown[parent])
            style = 'class="line" stroke-width=".6"'
            if number in marked and parent in marked:
                style = f'fill="none" stroke="{COLOURS[0]}" stroke-width="2.5"'
            parts.append(f'<path {style} d="M{px:.1f} {py:.1f}L{x:.1f} {y:.1f}"/>')
    for number, entry in shown.items():
        x, y = place(entry)
        colour = COLOURS[0] if number in marked else COLOURS[1]
        words = f"cell {number}: {entry.score:.3f}, {' '.join(entry.changes)}\n{entry.graph}"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}">'
            f"<title>{escape(words)}</title></circle>"
        )
    return _svg(WIDTH, HEIGHT, "scores of cells and their parents", parts)


def graph_svg(graph: Graph) -> str:
    """A graph: states at the left, then each operation right of its operands."""
    depth = [0] * graph.size
    for value, node in graph.numbered():
        depth[value] = 1 + max(depth[operand] for operand in node.operands)
    columns: dict[int, list[int]] = {}
    for value in range(graph.size):
        columns.setdefault(depth[value], []).append(value)
    last = max(depth) + 1
    tall = max(max(len(column) for column in columns.values()), graph.states + 1)
    width, height = COLUMN * last + 120, 60 * tall + 20
    at: dict[int, tuple[float, float]] = {}
    for number, column in columns.items():
        for row, value in enumerate(column):
            at[value] = (60 + COLUMN * number, height * (row + 1) / (len(column) + 1))
    ends = [(f"{STATE_NAMES[s]}'", value) for s, value in enumerate(graph.updates)]
    ends.append(("y", graph.output))
    parts = []
    for value, node in graph.numbered():
        parts += [_edge(at[operand], at[value]) for operand in node.operands]
    for row, (name, value) in enumerate(ends):
        end = (60.0 + COLUMN * last, height * (row + 1) / (len(ends) + 1))
        parts += [_edge(at[value], end), _box(end, name, COLOURS[2])]
    for value, place in at.items():
        node_of = graph.node(value)
        if node_of is None:
            parts.append(_box(place, STATE_NAMES[value], COLOURS[2]))
        else:
            colour = COLOURS[1] if node_of.name == "linear" else COLOURS[0]
            parts.append(_box(place, SIGNS.get(node_of.name, node_of.name), colour))
    return _svg(width, height, "the graph of the best cell", parts)


def _edge(start: tuple[float, float], end: tuple[float, float]) -> str:
    """A line between two places; one along its row passes above the boxes that lie between."""
    (x, y), (to_x, to_y) = start, end
    bend, columns = (to_x - x) / 2, round((to_x - x) / COLUMN)
    lift = min(30 + 10 * columns, 85) if columns > 1 and y == to_y else 0
    path = f"M{x:.1f} {y:.1f}C{x + bend:.1f} {y - lift:.1f} {to_x - bend:.1f} {to_y - lift:.1f} "
    return f'<path class="line" d="{path}{to_x:.1f} {to_y:.1f}"/>'


def _box(place: tuple[float, float], words: str, colour: str) -> str:
    x, y = place
    wide = max(34, 8 * len(words) + 14)
    return (
        f'<rect x="{x - wide / 2:.1f}" y="{y - 15:.1f}" width="{wide}" height="30" rx="8" '
        f'fill="var(--ground)" stroke="{colour}" stroke-width="2"/>'
        f'<text x="{x:.1f}" y="{y + 5:.1f}" text-anchor="middle">{escape(words)}</text>'
    )


def _svg(width: int, height: float, label: str, parts: list[str]) -> str:
    return (
        f'<svg class="drawing" viewBox="0 0 {width} {height:.0f}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )
