"""Ask a process of its own for what needs JAX, so that the server itself stays small and quick."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from ..errors import BadInput

IDLE = 600.0  # seconds after which a process that nobody asks is ended
LONGEST = 64 << 20  # bytes of an answer


class Worker:
    """One process, started when it is first asked; requests wait for each other."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._ending: asyncio.TimerHandle | None = None

    async def ask(self, seconds: float = 120.0, **request: Any) -> Any:
        """The answer to a request; `BadInput` if it fails or takes too long."""
        answer = None
        async with aclosing(self._answers(seconds, request)) as lines:
            async for said in lines:
                answer = said.get("answer")
        return answer

    async def stream(self, seconds: float = 120.0, **request: Any) -> AsyncGenerator[Any]:
        """The pieces of an answer as they come; `seconds` is the time for each."""
        async with aclosing(self._answers(seconds, request)) as lines:
            async for said in lines:
                if "piece" in said:
                    yield said["piece"]

    async def _answers(self, seconds: float, request: dict) -> AsyncGenerator[dict]:
        """The lines of an answer, the last of which has `answer`.

        Whoever stops listening before it ends the process, or the rest would be taken for the
        answer to the next request.
        """
        async with self._turn:
            process = await self._running()
            assert process.stdin is not None and process.stdout is not None
            whole = False
            try:
                process.stdin.write(json.dumps(request).encode() + b"\n")
                while not whole:
                    line = await asyncio.wait_for(process.stdout.readline(), seconds)
                    if not line:
                        raise BadInput("the process that should answer has ended")
                    said = json.loads(line)
                    whole = "piece" not in said
                    if "error" in said:
                        raise BadInput(said["error"])
                    yield said
            except BadInput:  # a ValueError too, whose words must be kept
                raise
            except TimeoutError:
                raise BadInput(f"no answer within {seconds:.0f} s; it was given up") from None
            except (OSError, ValueError):
                raise BadInput("the process that should answer has ended") from None
            finally:
                if not whole:
                    self.end()

    async def _running(self) -> asyncio.subprocess.Process:
        if self._ending is not None:
            self._ending.cancel()
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "ostinato.studio.worker"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={**os.environ, "JAX_PLATFORMS": "cpu"},
                limit=LONGEST,
            )
        self._ending = asyncio.get_running_loop().call_later(IDLE, self.end)
        return self._process

    def end(self) -> None:
        """End the process."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        self._process = None
