"""Run the server: `ostinato studio`."""

import asyncio
import ipaddress
import socket
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import BadInput, NeedsExtra

PORT = 6680
HEADERS_WITHIN = 10.0  # seconds for a request to arrive
CONNECTIONS = 1000


def is_local(host: str) -> bool:
    """Whether only this machine can reach an address.

    Example:
        >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0")
        (True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(
    folder: str | Path,
    *,
    data: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int = PORT,
    opened: Callable[[str], None] | None = None,
) -> None:
    """Serve the pages over the runs of a folder, until interrupted.

    Args:
        folder: where the runs are, in all folders below too.
        data: where the files are that a page may choose from; by default where the runs are.
        host: the address to listen on.
        port: 0 for any that is free.
        opened: called with the address as soon as it answers. The address has the token, without
            which nothing is answered.
    """
    try:
        import uvicorn
    except ImportError:
        raise NeedsExtra("the studio", "uvicorn and others", "studio") from None
    from .app import Studio
    from .guard import LOOPBACK, Guard

    taken = _listening(host, port)
    port = taken.getsockname()[1]
    name = f"[{host}]" if ":" in host else host
    hosts = {f"{one}:{port}" for one in (*LOOPBACK, name)} if is_local(host) else None
    if hosts is None:
        warnings.warn(
            f"others on the network can reach {host}: the token in the address is all that keeps "
            "them from your files, and the connection is not encrypted",
            RuntimeWarning,
            stacklevel=2,
        )
    studio = Studio(Path(folder), None if data is None else Path(data))
    guard = Guard(studio.app(), hosts, port)
    config = uvicorn.Config(
        guard,
        http=_impatient(),
        ws="none",
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=1,
        limit_concurrency=CONNECTIONS,
    )
    server = uvicorn.Server(config)
    if opened is not None:  # the socket listens: a browser that comes now waits a moment
        opened(f"http://{name}:{port}/?token={guard.token}")
    server.run(sockets=[taken])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        words = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"cannot listen on {host}:{port}: {words}; choose another --port") from None
    listener.listen(256)
    return listener


def _impatient() -> Any:
    """uvicorn's protocol, except that a connection with a part of a request is soon closed.

    This holds for the first request and for each that follows. A connection without any is closed
    by `timeout_keep_alive`.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._expect()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._expect()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel()
            super().connection_lost(exc)

        def _expect(self) -> None:
            """Start to wait for the rest of a request; stop once it is whole."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._cancel()
            elif self.deadline is None:
                self.deadline = self.loop.call_later(HEADERS_WITHIN, self._give_up)

        def _cancel(self) -> None:
            if self.deadline is not None:
                self.deadline.cancel()
            self.deadline = None

        def _give_up(self) -> None:
            if not self.transport.is_closing():
                self.transport.close()

    return Impatient
