"""What a task can show of a network as a picture, in plain numbers."""

from typing import Any, NamedTuple


class Picture(NamedTuple):
    """A table of numbers from 0 to 1 with named rows and columns: where a network looks.

    Attributes:
        title: what it shows, in a few words.
        columns, rows: their names, left to right and top to bottom.
        values: `values[row][column]`.
    """

    title: str
    columns: list[str]
    rows: list[str]
    values: list[list[float]]

    def as_json(self) -> dict[str, Any]:
        return self._asdict()
