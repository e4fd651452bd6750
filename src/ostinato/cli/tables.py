"""Tables on the terminal."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ..report.page import Table

WIDE = 120  # characters, for all columns of a table


def show_table(console: Console, table: Table, left_out: tuple[str, ...] = ()) -> None:
    """Print a table of a page, with its caption below it.

    Args:
        console: where to.
        table: of a page.
        left_out: columns that a narrow terminal does not show.
    """
    kept = [i for i, x in enumerate(table.columns) if console.width >= WIDE or x not in left_out]
    console.print(Text(table.heading, style="bold"))
    found = RichTable(box=SIMPLE_HEAD, pad_edge=False)
    for i in kept:
        found.add_column(table.columns[i], justify="right" if i else "left", overflow="fold")
    for row in table.rows:
        found.add_row(*(Text(row[i]) for i in kept))
    console.print(found)
    if table.caption:
        console.print(Text(table.caption, style="dim"))
    console.print()
