"""Tables on the terminal."""

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ..report.page import Table


def show_table(console: Console, table: Table) -> None:
    """Print a table of a page, with its caption below it."""
    found = RichTable(title=table.heading, title_justify="left")
    for place, name in enumerate(table.columns):
        found.add_column(name, justify="right" if place else "left")
    for row in table.rows:
        found.add_row(*map(Text, row))
    console.print(found)
    if table.caption:
        console.print(Text(table.caption, style="dim"))
    console.print()
