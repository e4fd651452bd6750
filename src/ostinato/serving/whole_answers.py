"""Routes of what is answered as a whole: a label, tags, a translation, a forecast."""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from starlette.requests import Request

from ..data.rows import is_rows
from ..errors import BadInput
from ..runs import Run
from ..settings import NoSettings, shown
from ..tasks.series.forecast import Forecast
from .gathering import ALONE, SIZES, Gatherer
from .requests import Endpoint, Searched, Steps, listed
from .turns import LOOKING
from .worker import Full


class Use(NamedTuple):
    """How the run of a verb is asked; see `Task.verb`.

    Attributes:
        help: what the route does.
        field, about: the list of inputs in a body, and a line about it.
        answers: what the list of answers is called.
        plain: an answer as JSON.
        options: what else a body has.
        read: an input as the run takes it.
    """

    help: str
    field: str
    about: str
    answers: str
    plain: Callable[[Any], Any]
    options: type = NoSettings
    read: Callable[[Any], Any] = lambda given: given


def _text(given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise BadInput(f"each of them must be a text, and not an empty one; got {shown(given)}")
    return given


def _sequence(given: Any) -> Any:
    """A text, or an array."""
    if isinstance(given, str):
        return _text(given)
    try:
        array = np.array(given)
    except ValueError:
        array = np.zeros(0)
    if array.ndim not in (1, 2) or not array.size or array.dtype.kind not in "iuf":
        raise BadInput(f"a sequence must be a list of numbers, or of rows; got {shown(given)}")
    return array


def _words(given: Any) -> list[str]:
    if not isinstance(given, list) or not given or not all(isinstance(x, str) for x in given):
        raise BadInput(f"a sentence is a list of words, got {shown(given)}")
    return given


def _classes(answer: Any) -> Any:
    """The class of a sequence, or those of its steps."""
    return [x.as_json() for x in answer] if isinstance(answer, list) else answer.as_json()


USES = {
    "classify": Use(
        "The label of each text or sequence", "texts", "texts, or sequences of numbers", "labels",
        _classes, read=_sequence,
    ),
    "predict": Use(
        "The numbers of each sequence", "sequences", "sequences of numbers", "values",
        np.ndarray.tolist, read=_sequence,
    ),
    "tag": Use("The tag of each word", "sentences", "lists of words", "tags", list, read=_words),
    "translate": Use(
        "The translation of each line", "lines", "texts", "lines", str, Searched, read=_text
    ),
    "forecast": Use(
        "What comes after the last row", "rows", "the rows so far, each numbers or an object",
        "forecast", Forecast.rows, Steps,
    ),
}  # fmt: skip


class WholeAnswers:
    """The route of a verb, each of whose answers is about a whole input.

    Args:
        run: answers by the method of its verb.
        verb: one of `USES`.
        limits: those of the server.
    """

    def __init__(self, run: Run, verb: str, limits: Any) -> None:
        self.run, self.verb, self.use, self.limits = run, verb, USES[verb], limits
        # A forecast is of a table, which has several series of its own.
        sizes = ALONE if verb == "forecast" else SIZES
        self.gatherer = Gatherer(self._answers, limits.waiting, sizes)

    def endpoints(self) -> list[Endpoint]:
        use, lists = self.use, {self.use.field: f"a list of {self.use.about}"}
        call = self.forecast if self.verb == "forecast" else self.each
        return [Endpoint("POST", f"/{self.verb}", use.help, call, use.options, lists)]

    async def each(self, request: Request, chosen: Any, more: Any) -> Any:
        """An answer for each input, from one batch with those of other clients."""
        given = listed(more, self.use.field, self.limits.length)
        inputs = [self.use.read(one) for one in given]
        longest = max(map(len, inputs))
        if longest > self.limits.length:
            raise BadInput(f"an input has at most {self.limits.length} parts, got {longest}")
        answers = await self._asked(request, inputs, chosen)
        return {self.use.answers: [self.use.plain(answer) for answer in answers]}

    async def forecast(self, request: Request, chosen: Any, more: Any) -> Any:
        """What comes after the last row of each series of a table."""
        table = _table(listed(more, "rows", self.limits.length))
        (made,) = await self._asked(request, [table], chosen)
        return {"forecast": made.rows(), **({"notes": made.notes} if made.notes else {})}

    async def _asked(self, request: Request, inputs: list[Any], chosen: Any) -> list[Any]:
        options = {name: x for name, x in dataclasses.asdict(chosen).items() if x is not None}
        answers = asyncio.wrap_future(self.gatherer.ask(inputs, **options))
        deadline = time.monotonic() + self.limits.seconds
        try:
            while not answers.done():
                if time.monotonic() > self.gatherer.closing or await request.is_disconnected():
                    raise Full
                if time.monotonic() > deadline:
                    raise TimeoutError
                await asyncio.wait([answers], timeout=LOOKING)
            return answers.result()
        finally:
            answers.cancel()  # if nobody waits for it any more

    def _answers(self, inputs: list[Any], **options: Any) -> list[Any]:
        """In the thread of the gatherer: what the run answers."""
        if self.verb == "forecast":
            return [self.run.forecast(one, **options) for one in inputs]
        return list(getattr(self.run, self.verb)(inputs, **options))


def _table(rows: list[Any]) -> Any:
    """Rows as what a run forecasts from: objects, or an array."""
    if is_rows(rows):
        return rows
    with contextlib.suppress(TypeError, ValueError):
        array = np.array(rows, float)
        if array.ndim < 3:
            return array
    raise BadInput(f"each row must be numbers, or each an object; got {shown(rows)}")
