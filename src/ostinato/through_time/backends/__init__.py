"""The backends that run the engine's scans, and the choice among them.

    scan          JAX's own scan: any cell, any device
    persistent    one GPU kernel for all of time; refuses what does not fit

A new backend is a subclass of `Backend` and one line in `BY_NAME`.
"""

from collections.abc import Callable
from typing import NamedTuple

from .backend import Backend as Backend
from .backend import Offer as Offer
from .backend import PlainScan
from .backend import Scan as Scan
from .backend import Unfit as Unfit
from .persistent import Persistent

SCAN = PlainScan()
# In the order in which they are tried where the user names none.
BY_NAME: dict[str, Backend] = {backend.name: backend for backend in (Persistent(), SCAN)}
BACKENDS = ("scan", *(name for name in BY_NAME if name != "scan"))


class Choice(NamedTuple):
    """The backend for the scans of one step.

    Attributes:
        backend: which.
        required: the user named it, so what it cannot do is an error; otherwise the plain scan
            takes over.
    """

    backend: Backend
    required: bool

    def run(self, scan: Scan) -> tuple:
        """The last carry and the stacked outputs."""
        offer = self.backend.offer(scan, self.required)
        if offer.run is None:
            self.refuse(offer.reason)
            offer = SCAN.offer(scan)
        assert offer.run is not None
        return offer.run()

    def refuse(self, reason: str) -> None:
        """Raise `Unfit` if the backend is required."""
        if self.required:
            raise Unfit(reason)


def choose(name: str | None, forward: Callable[[], Scan]) -> Choice:
    """The backend for all scans of a step, chosen before any of them is run.

    Args:
        name: the backend that the user named, or `None` for the first default that can run the
            forward scan.
        forward: makes that scan; called only where there is a choice.
    """
    if name is not None:
        return Choice(BY_NAME[name], required=True)
    for backend in BY_NAME.values():
        if backend.is_default():
            if backend is SCAN or backend.offer(forward(), required=False).run is not None:
                return Choice(backend, required=False)
    return Choice(SCAN, required=False)
