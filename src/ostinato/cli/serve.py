"""`ostinato serve`: a trained network over HTTP, for many clients at once."""

from typing import Annotated, Any

from typer import Option

from ..runs import open_run
from ..serving.requests import Limits
from ..serving.server import GRACE, PORT
from ..serving.server import serve as serve_run
from ..settings import settings_of
from .arguments import Host, Port, RunFolder

USUAL = Limits()


def _limit(name: str) -> Any:
    limit = settings_of(Limits)[name]
    return Option(help=limit.help, min=limit.min, max=limit.max)


def serve(
    run: RunFolder,
    port: Port = PORT,
    host: Host = "127.0.0.1",
    length: Annotated[int, _limit("length")] = USUAL.length,
    body: Annotated[int, _limit("body")] = USUAL.body,
    seconds: Annotated[float, _limit("seconds")] = USUAL.seconds,
    slots: Annotated[int, _limit("slots")] = USUAL.slots,
    waiting: Annotated[int, _limit("waiting")] = USUAL.waiting,
    sessions: Annotated[int, _limit("sessions")] = USUAL.sessions,
    expiry: Annotated[float, _limit("expiry")] = USUAL.expiry,
    grace: Annotated[
        float, Option(help="seconds in which requests may end when the server is stopped", min=0)
    ] = GRACE,
) -> None:
    """Serve a trained network over HTTP: generate, score, classify, tag, translate, forecast.

    Bodies and answers are JSON, and texts are streamed as server-sent events. The page at the
    printed address lists the routes. Requests of many clients share one step of the network.
    Clients of OpenAI's completions find them below /v1. Ctrl-C or SIGTERM ends the server when
    its requests have ended.

    Examples:
        ostinato serve runs/book
        curl localhost:6681/generate -d '{"prompt": "The ", "length": 100}'
    """
    limits = Limits(length, body, seconds, slots, waiting, sessions, expiry)

    def opened(address: str) -> None:
        print(f"serving {run} at {address}", flush=True)

    serve_run(open_run(run), host=host, port=port, limits=limits, grace=grace, opened=opened)
