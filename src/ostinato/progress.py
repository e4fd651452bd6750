"""Progress: how long work says how far it is.

Whatever may take long has an argument `report`, a function that it calls again and again, and that
does nothing unless the caller gives one. Only the command line shows what is reported
(`cli/progress.py`); nothing else prints.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Report = Callable[[float, float | None, str], None]
"""Called with how much is done, how much there is in all (`None` if that is not known, or if the
parts take so differently long that it says nothing), and what runs now, in words."""

Item = TypeVar("Item")


def silent(done: float, total: float | None, what: str) -> None:
    """The report that nobody hears."""


def each(
    items: Iterable[Item],
    report: Report,
    what: str,
    total: float | None = None,
    size: Callable[[Item], float] = lambda item: 1,
) -> Iterator[Item]:
    """The items, with a report before the first one and after each has been worked on.

    Args:
        items: what is worked on, one after the other.
        report: hears of it.
        what: what is done with them.
        total: the sum of their sizes, if it is known.
        size: how much an item counts.

    Example:
        >>> for word in each(["a", "b"], print, "reading", total=2):
        ...     pass
        0 2 reading
        1 2 reading
        2 2 reading
    """
    done: float = 0
    report(done, total, what)
    for item in items:
        yield item
        done += size(item)
        report(done, total, what)
