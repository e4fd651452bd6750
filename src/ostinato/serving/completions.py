"""OpenAI's completions, so that clients made for them write text with a network of ours.

A token is a character, or a byte. See https://platform.openai.com/docs/api-reference/completions.
"""

import itertools
import secrets
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request

from ..decoding.text import Decoder
from ..errors import BadInput
from ..settings import shown
from .batcher import Job
from .requests import Completion, Endpoint
from .texts import Texts
from .turns import Writing, event, streamed

MAX_STOPS = 4
MAX_TEXTS = 100  # of one request


class NoModel(BadInput):
    """A model that is not served here."""


class Completions(Texts):
    """The routes of a text, and those below `/v1`.

    Args:
        turns, codec, sessions, text: see `Texts`.
        name: of the model.
    """

    def __init__(self, *given: Any, name: str) -> None:
        super().__init__(*given)
        self.name = name
        self.created = int(time.time())

    def endpoints(self) -> list[Endpoint]:
        texts = {"prompt": "a text, or a list of texts", "stop": "a text, or a list of texts"}
        return [
            *super().endpoints(),
            Endpoint(
                "POST", "/v1/completions", "OpenAI's completions", self.complete, Completion,
                texts, lenient=True,
            ),
            Endpoint("GET", "/v1/models", "OpenAI's list of models", self.models),
            Endpoint("GET", "/v1/models/{model}", "One of them", self.model),
        ]  # fmt: skip

    async def models(self, request: Request, chosen: Any, more: Any) -> Any:
        return {"object": "list", "data": [self._model()]}

    async def model(self, request: Request, chosen: Any, more: Any) -> Any:
        self._check(request.path_params["model"])
        return self._model()

    def _model(self) -> dict[str, Any]:
        name = self.name
        return {"id": name, "object": "model", "created": self.created, "owned_by": "ostinato"}

    def _check(self, name: str | None) -> None:
        if name is not None and name != self.name:
            raise NoModel(f"there is no model {shown(name)}; this is {self.name}")

    async def complete(self, request: Request, chosen: Completion, more: dict[str, Any]) -> Any:
        self._check(chosen.model)
        prompts, stops = _texts(more, "prompt"), _texts(more, "stop", empty=False)
        if len(stops) > MAX_STOPS:
            raise BadInput(f"stop must be at most {MAX_STOPS} texts, got {len(stops)}")
        count = chosen.n or 1
        if len(prompts or [""]) * count > MAX_TEXTS:
            raise BadInput(f"a request asks for at most {MAX_TEXTS} texts")
        texts = [prompt for prompt in prompts or [""] for _ in range(count)]
        jobs = [self.job(prompt, chosen.max_tokens or 16, chosen, stops) for prompt in texts]
        for n, job in enumerate(jobs):  # several texts from one seed must differ
            job.seed = (job.seed + n) % 2**32
        lengths = [len(job.values) for job in jobs]
        head = {
            "id": f"cmpl-{secrets.token_hex(12)}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": self.name,
        }
        if chosen.stream:
            return await streamed(self._events(jobs, texts, stops, chosen, head))
        choices = []
        with self.turns.submitted(jobs):
            for n, (job, prompt) in enumerate(zip(jobs, texts, strict=True)):
                await self.turns.finish(request, job)
                choices.append(self._choice(n, job, prompt, stops, chosen))
        used, made = sum(lengths), sum(job.drawn for job in jobs)
        usage = {"prompt_tokens": used, "completion_tokens": made, "total_tokens": used + made}
        return {**head, "choices": choices, "usage": usage}

    def _choice(
        self, n: int, job: Job, prompt: str, stops: list[str], chosen: Completion
    ) -> dict[str, Any]:
        written = Writing(self.text, stops).whole(job)
        logs = None
        if chosen.logprobs is not None:
            known, decoder = self.text.vocabulary, Decoder(self.text.vocabulary)
            lengths = [0, *itertools.accumulate(len(decoder.push([x])) for x in job.symbols)]
            count = sum(place < len(written) for place in lengths[:-1])  # those before the stop
            begin = len(prompt) if chosen.echo else 0
            logs = {
                "tokens": [known.decode([symbol]) for symbol in job.symbols[:count]],
                "token_logprobs": job.logs[:count],
                "top_logprobs": None,
                "text_offset": [begin + place for place in lengths[:count]],
            }
        whole = prompt + written if chosen.echo else written
        return {"text": whole, "index": n, "logprobs": logs, "finish_reason": reason(job)}

    async def _events(
        self, jobs: list[Job], texts: list[str], stops: list[str], chosen: Completion, head: Any
    ) -> AsyncIterator[bytes]:
        """The texts one after the other; all of them are written at once."""

        def chunk(n: int, text: str, ended: str | None) -> bytes:
            choice = {"text": text, "index": n, "logprobs": None, "finish_reason": ended}
            return event({**head, "choices": [choice]})

        with self.turns.submitted(jobs):
            for n, (job, prompt) in enumerate(zip(jobs, texts, strict=True)):
                if chosen.echo:
                    yield chunk(n, prompt, None)
                writing = Writing(self.text, stops)
                async for piece in self.turns.pieces(job, writing):
                    yield chunk(n, piece, None)
                yield chunk(n, "", reason(job))
            yield event(b"[DONE]")


def reason(job: Job) -> str:
    """Why a text ended, in OpenAI's words."""
    return "stop" if job.ended == "stop" else "length"


def _texts(more: dict[str, Any], name: str, empty: bool = True) -> list[str]:
    """A text or a list of texts; none if it is missing."""
    given = more.get(name)
    if given is None:
        return []
    texts = [given] if isinstance(given, str) else given
    good = isinstance(texts, list) and all(isinstance(x, str) and (x or empty) for x in texts)
    if not good:
        raise BadInput(f"{name} must be a text, or a list of texts; got {shown(given)}")
    return texts
