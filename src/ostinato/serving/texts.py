"""Routes of a network that writes texts: generate, score, and what may come next."""

import secrets
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
from starlette.requests import Request

from ..decoding.text import checked_stop
from ..errors import BadInput
from ..runs.streaming.codecs import StepCodec
from ..runs.streaming.readers import CharacterReader
from .batcher import Job
from .requests import Drawing, Endpoint, Following, Generate, Scored
from .stepped import Session, Sessions, Stepped
from .turns import Turns, Writing, event, streamed


class Texts(Stepped):
    """
    Args:
        turns, codec, sessions: see `Stepped`.
        text: the characters, or bytes.
    """

    def __init__(
        self, turns: Turns, codec: StepCodec, sessions: Sessions, text: CharacterReader
    ) -> None:
        super().__init__(turns, codec, sessions)
        self.text = text

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint("POST", "/generate", "Continue a text", self.generate, Generate),
            Endpoint("POST", "/score", "How probable a text is", self.score, Scored),
            Endpoint("POST", "/probabilities", "What may come next", self.following, Following),
            *super().endpoints(),
        ]

    def symbols(self, text: str) -> list[int]:
        return self.text.vocabulary.encode(text).tolist()

    def job(
        self,
        prompt: str,
        length: int,
        how: Drawing,
        stops: list[str],
        session: Session | None = None,
    ) -> Job:
        """A job that writes a text after a prompt."""
        values, state = self.symbols(prompt), None
        if session is not None:
            values, state = [*session.pending, *values], session.state
        if not values and state is not None:
            raise BadInput("the session has read everything that was written; give a prompt")
        return Job(
            values or self.symbols(self.text.opening),
            draws=length,
            temperature=1.0 if how.temperature is None else float(how.temperature),
            top_k=how.top_k,
            top_p=None if how.top_p == 1 else how.top_p,
            seed=secrets.randbits(32) if how.seed is None else how.seed,
            stops=tuple(tuple(self.symbols(stop)) for stop in stops if self._can_write(stop)),
            state=state,
            keep=session is not None,
        )

    def _can_write(self, text: str) -> bool:
        """Whether a text has only known characters; one that has others never comes."""
        try:
            return bool(self.symbols(text))
        except BadInput:
            return False

    async def generate(self, request: Request, chosen: Generate, more: Any) -> Any:
        session = None if chosen.session is None else self.sessions.find(chosen.session)
        stop = checked_stop(chosen.stop)
        stops = [] if stop is None else [stop]
        job = self.job(chosen.prompt, chosen.length, chosen, stops, session)
        writing = Writing(self.text, stops)
        if not chosen.stream:
            with self.using(session, job), self.turns.submitted([job]):
                await self.turns.finish(request, job)
            return {"text": writing.whole(job), **_about(job)}

        async def events() -> AsyncIterator[bytes]:
            with self.using(session, job), self.turns.submitted([job]):
                async for piece in self.turns.pieces(job, writing):
                    yield event({"text": piece})
            yield event(_about(job))

        return await streamed(events())

    async def score(self, request: Request, chosen: Scored, more: Any) -> Any:
        values = self.symbols(chosen.text)
        if len(values) < 2:
            raise BadInput("a score is of at least two characters, of which the first is given")
        job = Job(values, scored=True)
        with self.turns.submitted([job]):
            await self.turns.finish(request, job)
        bits, count = -sum(job.logs) / float(np.log(2)), len(job.logs)
        each = {"logs": job.logs} if chosen.each else {}
        return {"bits": bits, "bits_per_symbol": bits / count, "count": count, **each}

    async def following(self, request: Request, chosen: Following, more: Any) -> Any:
        session = None if chosen.session is None else self.sessions.find(chosen.session)
        values = self.symbols(chosen.text)
        if session is None and not values:
            values = self.symbols(self.text.opening)
        answer = await self.read(request, values, session)
        return {"probabilities": answer.as_json(chosen.top)}


def _about(job: Job) -> dict[str, Any]:
    return {"ended": job.ended, "length": job.drawn, "seed": job.seed}
