"""Run the server: `ostinato serve`."""

import contextlib
import resource
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from ..errors import needing
from ..runs import Run
from ..web import listening, name_in_address, uvicorn_options
from .requests import Limits

PORT = 6681
GRACE = 10.0  # seconds in which requests may end when the server is stopped
SPARE = 64  # connections for health checks, and for requests that are refused
FILES = 64  # that a server has open besides its connections


def serve(
    run: Run,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    limits: Limits = Limits(),
    grace: float = GRACE,
    opened: Callable[[str], None] | None = None,
) -> None:
    """Serve a run until the process is interrupted or terminated.

    Args:
        run: a trained run; see `open_run`.
        host: the address to listen on.
        port: 0 for any that is free.
        limits: what the server takes on.
        grace: seconds in which requests may end when the server is stopped.
        opened: called with the address as soon as it answers.
    """
    with needing("a server", "uvicorn and starlette", "serve"):
        import uvicorn
    from .app import Service
    from .gate import Gate

    service = Service(run, limits)
    danger = ", and nothing asks who they are; put a proxy with a password in front of it"
    taken, port, hosts = listening(host, port, danger)
    routes = {endpoint.path for endpoint in service.endpoints}
    connections = connections_for(limits)
    requests = max(1, connections - SPARE)
    gate = Gate(service.app(), hosts, limits.body, service.metrics, routes, requests)

    class Server(uvicorn.Server):
        """It ends quietly, and with 0, when it is told to."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            told = (signal.SIGINT, signal.SIGTERM)
            before = {one: signal.signal(one, self.handle_exit) for one in told}
            try:
                yield
            finally:
                for one, handler in before.items():
                    signal.signal(one, handler)

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            service.end_soon(grace)
            super().handle_exit(sig, frame)

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if opened is not None and self.started:
                opened(f"http://{name_in_address(host)}:{port}/")

    options = {**uvicorn_options(connections), "timeout_graceful_shutdown": int(grace) + 2}
    Server(uvicorn.Config(gate, **options)).run(sockets=[taken])


def connections_for(limits: Limits) -> int:
    """How many connections may be open: as many as requests may be stepped or wait, and `SPARE`.

    The process is allowed as many open files as that takes, as far as the system lets it.
    """
    wanted = limits.slots + limits.waiting + SPARE
    now, most = (
        float("inf") if x == resource.RLIM_INFINITY else x
        for x in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    if now < wanted + FILES:
        with contextlib.suppress(OSError, ValueError):  # macOS has a lower limit than it says
            needed = int(min(wanted + FILES, most))
            hard = resource.RLIM_INFINITY if most == float("inf") else int(most)
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
            now = needed
    return int(max(SPARE + 1, min(wanted, now - FILES)))
