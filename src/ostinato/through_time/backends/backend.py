"""What a backend is: a way to run a scan, which says what it can do."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import BadInput


class Unfit(BadInput):
    """A backend that was asked for cannot run a scan; the message says why."""


class Scan(NamedTuple):
    """A scan to be run: `jax.lax.scan(body, carry, xs, reverse=reverse, unroll=unroll)`.

    Attributes:
        body, carry, xs, reverse, unroll: as for `jax.lax.scan`.
        on_failure: what to do if a launch fails while it runs, `"scan"` or `"nan"`; see `unroll`.
    """

    body: Callable[[Any, Any], tuple[Any, Any]]
    carry: Any
    xs: Any
    reverse: bool
    unroll: int
    on_failure: str


class Offer(NamedTuple):
    """A backend's answer to a scan: how to run it, or the reason why not.

    Attributes:
        run: runs the scan and returns the last carry and the stacked outputs; `None` if refused.
        reason: why the scan is refused, in words that complete "refused because".
    """

    run: Callable[[], tuple[Any, Any]] | None
    reason: str = ""


class Backend(abc.ABC):
    """A way to run the engine's scans. One object per backend, in the list `backends.BY_NAME`.

    Attributes:
        name: what `unroll(..., backend=name)` calls it.
        splits_batch: whether the rows of a batch are computed apart from each other, so that
            nothing can be summed over them inside the scan.
    """

    name: str
    splits_batch: bool = False

    @abc.abstractmethod
    def is_default(self) -> bool:
        """Whether it is tried first on this machine, if the user names no backend."""

    @abc.abstractmethod
    def offer(self, scan: Scan, required: bool) -> Offer:
        """How to run a scan, or why not.

        Args:
            scan: what to run. It is only traced here.
            required: the user named this backend; otherwise it also refuses where it is slower.
        """
