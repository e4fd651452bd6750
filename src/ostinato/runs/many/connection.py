"""The connection to a Ray cluster, as a process of its own: `python -m … SOCKET ADDRESS`.

Ray ends the process that is connected where the head of the cluster is lost, and one that looks
for a head may wait for minutes. So neither is done in the command's own process (`cluster`), which
talks to this one over a socket and starts it again.

    from the command    ("call", number, what, needs)    ("cancel", number)    ("stop",)
    to the command      ("refused", words)    ("alive", [{"CPU": 4.0}, …])
                        ("done", number, value)    ("lost", number, words)
"""

import sys
import time
from multiprocessing.connection import Connection
from typing import Any

RETRIES = 5  # of a call whose worker or machine is lost
BEAT = 2.0  # seconds between two signs of life
STORE = 100_000_000  # bytes for the results of calls, on a cluster that is started here
SAVING = 30.0  # seconds that calls have to save and end


def on_worker(what: dict[str, Any]) -> Any:
    """A call, on a worker, which perhaps has no Ostinato: so this is sent as source code."""
    import platform

    try:
        from ostinato.runs.many.cluster import answered
    except ImportError as error:
        name = platform.node()
        return "refused", f"the machine {name} of the cluster has not this Ostinato: {error}"
    return answered(what)


def main() -> None:
    """Connect to the cluster, and make calls until the command ends."""
    import ray

    command = Connection(int(sys.argv[1]))
    try:
        own = {"object_store_memory": STORE} if sys.argv[2] == "local" else {}
        ray.init(address=sys.argv[2], log_to_driver=False, include_dashboard=False, **own)
    except Exception as error:  # of many classes
        words = " ".join(str(error).split()) or type(error).__name__
        if "Failed to connect" in words:
            words += "; if it wants a token, set RAY_AUTH_MODE=token"
        command.send(("refused", words))
        return
    told = 0.0
    running: dict[Any, int] = {}  # numbers of calls, by what Ray promised
    remote: Any = ray.remote(max_retries=RETRIES)(on_worker)
    while True:
        if time.monotonic() - told > BEAT:
            command.send(("alive", [x["Resources"] for x in ray.nodes() if x["Alive"]]))
            told = time.monotonic()
        while command.poll(0 if running and _ended(ray, running) else 0.1):
            kind, *said = command.recv()
            if kind == "call":
                number, what, needs = said
                running[remote.options(**needs).remote(what)] = number
            else:
                asked = [x for x, number in running.items() if kind == "stop" or number == said[0]]
                for one in asked:
                    ray.cancel(one)
                if kind == "stop":
                    until = time.monotonic() + SAVING
                    while len(_ended(ray, running)) < len(running) and time.monotonic() < until:
                        time.sleep(0.1)
                    return
        for one in _ended(ray, running):
            number = running.pop(one)
            try:
                command.send(("done", number, ray.get(one)))
            except ray.exceptions.RayError as error:
                command.send(("lost", number, type(error).__name__))


def _ended(ray: Any, running: dict[Any, int]) -> list[Any]:
    if not running:
        return []
    return ray.wait([*running], num_returns=len(running), timeout=0, fetch_local=False)[0]


if __name__ == "__main__":
    try:
        main()
    except (EOFError, OSError):
        pass  # the command has ended
