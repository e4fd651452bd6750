"""How the numbers of a column are written: with a decimal point, or with a decimal comma.

In a table that is divided by semicolons or tabs, `1,234` may be 1.234 or 1234, and so may `1.234`.
A number with one to three digits, a separator and three digits is *unsure*; `1,5`, `0,123` and
`1234,567` are sure, because a separator of thousands cannot stand there. Thousands separators are
never read. A column is read if only one way of reading fits:

    both separators in a column                 refused: `1.5` and `2,5`
    some sure cells                             the separator is that of decimals
    unsure commas only                          read if another column has a sure decimal comma and
                                                none a sure decimal point
    unsure points only                          read unless another column has a sure decimal comma
                                                and none a sure decimal point, or whole numbers
                                                below 1000 stand in between (`1.234` and `999`)
"""

import re
from collections.abc import Iterator, Mapping, Sequence

UNSURE = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", re.ASCII)
SMALL = re.compile(r"[+-]?\d{1,3}", re.ASCII)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
RIGHT = "write decimals with a point and thousands without a separator"

Place = tuple[int, str]  # a line and its cell


class Forms:
    """The first cell of each form in a column, with its line."""

    def __init__(self) -> None:
        self.sure: dict[str, Place] = {}
        self.unsure: dict[str, Place] = {}
        self.small: Place | None = None  # a whole number below 1000
        self.large = False  # whether a whole number above 999 has no separator

    def add(self, cells: Sequence[str], lines: Sequence[int], commas: bool) -> None:
        """More cells, all numbers or missing; `commas` says whether some may have a comma."""
        settled = "." in self.sure or (self.small and self.large and "." not in "".join(cells))
        if settled and not commas:
            return  # nothing here can say more
        for line, cell in zip(lines, map(str.strip, cells), strict=True):
            mark = "," if "," in cell else "." if "." in cell else ""
            if mark:
                places = self.unsure if UNSURE.fullmatch(cell) else self.sure
                places.setdefault(mark, (line, cell))
            elif SMALL.fullmatch(cell):
                self.small = self.small or (line, cell)
            elif WHOLE.fullmatch(cell):
                self.large = True


def conflicts(columns: Mapping[str, Forms]) -> Iterator[tuple[str, str, str]]:
    """The name of each column that cannot be read, the lines, and what is wrong there."""
    sure = {mark: {n for n, forms in columns.items() if mark in forms.sure} for mark in ".,"}
    for name, forms in columns.items():
        seen = [forms.sure.get(mark) or forms.unsure.get(mark) for mark in ".,"]
        if all(seen):
            (one, point), (two, comma) = seen  # type: ignore[misc]
            first, second = sorted(((one, point), (two, comma)))
            yield (
                name,
                f"lines {first[0]} and {second[0]}",
                f"{first[1]!r:.40} and {second[1]!r:.40} are written in two ways; {RIGHT}",
            )
        elif forms.unsure and not forms.sure and not forms.large:
            mark, place = next(iter(forms.unsure.items()))
            decimal_comma = bool(sure[","]) and not sure["."]
            decimal_point = bool(sure["."]) and not sure[","]
            if mark == "," and decimal_comma:
                continue
            if mark == "." and (decimal_point or (not decimal_comma and forms.small is None)):
                continue
            beside = forms.small or (0, "")
            where = f"lines {place[0]} and {beside[0]}" if forms.small else f"line {place[0]}"
            also = f" beside {beside[1]!r}" if forms.small else ""
            cell = place[1]
            either = f"{cell.replace(',', '.')} or {cell.replace(mark, '')}"
            yield name, where, f"{cell!r}{also} may be {either}; {RIGHT}"
