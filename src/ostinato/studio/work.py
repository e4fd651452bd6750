"""Ask a process of its own for what needs JAX, so that the server stays small and answers at once."""

import asyncio
import json
import os
import sys
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
        async with self._turn:
            process = await self._running()
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(json.dumps(request).encode() + b"\n")
                line = await asyncio.wait_for(process.stdout.readline(), seconds)
            except TimeoutError:
                self.end()
                raise BadInput(f"no answer within {seconds:.0f} s; it was given up") from None
            except asyncio.CancelledError:
                self.end()  # its answer would be taken for that of the next request
                raise
            except (OSError, ValueError):
                line = b""
            if not line:
                self.end()
                raise BadInput("the process that should answer has ended")
        found = json.loads(line)
        if "error" in found:
            raise BadInput(found["error"])
        return found["answer"]

    async def _running(self) -> asyncio.subprocess.Process:
        if self._ending is not None:
            self._ending.cancel()
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "ostinato.studio.worker"),
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
