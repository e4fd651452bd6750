"""What a server takes on, and what each route takes, declared once.

A body is checked by it, and the OpenAPI page shows it.
"""

import dataclasses
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, NamedTuple

from ..errors import BadInput
from ..names import nearest
from ..settings import NoSettings, make, setting, settings_of, shown
from ..web import json_object

SEEDS = 2**32 - 1


@dataclasses.dataclass(frozen=True)
class Limits:
    """How much a request may ask for, and how many there may be."""

    length: int = setting(10_000, "characters or rows that a request may read and write", min=1)
    body: int = setting(1 << 20, "bytes of a request", min=1000)
    seconds: float = setting(60.0, "seconds that a request may take", min=0.01)
    slots: int = setting(256, "requests that are stepped together", min=1, max=100_000)
    waiting: int = setting(1000, "requests that may wait for their turn", min=0)
    sessions: int = setting(1000, "sessions that may be open", min=0)
    expiry: float = setting(600.0, "seconds after which a session that nobody uses ends", min=0.01)


@dataclasses.dataclass(frozen=True)
class Drawing:
    temperature: float | None = setting(
        1.0, "below 1 is more conservative; 0 is certain", min=0, max=100
    )
    top_k: int | None = setting(None, "draw from this many most probable symbols", min=1)
    top_p: float | None = setting(
        None, "draw from the most probable symbols with this total probability", min=1e-6, max=1
    )
    seed: int | None = setting(None, "random seed; another one each time", min=0, max=SEEDS)
    stream: bool | None = setting(False, "send the text as it is written, by server-sent events")


@dataclasses.dataclass(frozen=True)
class Generate(Drawing):
    prompt: str = setting("", "text to continue")
    length: int = setting(200, "how many characters to write", min=1)
    stop: str | None = setting(None, "stop before this text")
    session: str | None = setting(None, "a session to go on with")


@dataclasses.dataclass(frozen=True)
class Completion(Drawing):
    """The body of OpenAI's completions; what a network here has no use for is left out."""

    model: str | None = setting(None, "the name of the model")
    max_tokens: int | None = setting(16, "how many characters to write", min=1)
    n: int | None = setting(1, "how many texts to write for each prompt", min=1, max=100)
    logprobs: int | None = setting(None, "give the log-probability of each character", min=0)
    echo: bool | None = setting(False, "give the prompt back before the text")


@dataclasses.dataclass(frozen=True)
class Scored:
    text: str = setting("", "the text to score, of at least two characters")
    each: bool = setting(False, "give the log-probability of each character too")


@dataclasses.dataclass(frozen=True)
class Following:
    text: str = setting("", "what was read before")
    top: int | None = setting(None, "give this many of the most probable", min=1)
    session: str | None = setting(None, "a session to go on with")


@dataclasses.dataclass(frozen=True)
class Searched:
    beam: int | None = setting(None, "how many translations the search keeps", min=1, max=50)


@dataclasses.dataclass(frozen=True)
class Steps:
    steps: int | None = setting(None, "how many steps; the horizon of the run", min=1, max=10_000)


class Endpoint(NamedTuple):
    """A route.

    Attributes:
        method, path: how it is asked.
        help: what it does, in a line.
        call: answers a request.
        body: the settings that its body has, by name.
        lists: what else its body has, by name, with a line of help.
        lenient: whether other names in the body are left out instead of refused.
    """

    method: str
    path: str
    help: str
    call: Callable[..., Any]
    body: type = NoSettings
    lists: Mapping[str, str] = {}
    lenient: bool = False

    def read(self, body: bytes) -> tuple[Any, dict[str, Any]]:
        """The settings in a body, and what it has besides them."""
        sent = json_object(body) if body.strip() else {}
        known = settings_of(self.body)
        for name in sent:
            if name not in known and name not in self.lists and not self.lenient:
                names = [*self.lists, *known]
                near = nearest(name, names)
                meant = f"; did you mean {near}?" if near else f"; it takes {', '.join(names)}"
                raise BadInput(f"{self.path} takes no {shown(name)}{meant}")
        chosen = make(self.body, {name: x for name, x in sent.items() if name in known})
        return chosen, {name: sent[name] for name in self.lists if name in sent}


def listed(given: Mapping[str, Any], name: str, limit: int) -> list[Any]:
    """A list in a body, not empty and not too long."""
    some = given.get(name)
    if not isinstance(some, list) or not some:
        raise BadInput(f"{name} must be a list, and not an empty one; got {shown(some)}")
    if len(some) > limit:
        raise BadInput(f"{name} must have at most {limit} of them, got {len(some)}")
    return some


KINDS = {int: "integer", float: "number", str: "string", bool: "boolean"}


def openapi(endpoints: list[Endpoint], title: str, version: str) -> dict[str, Any]:
    """The routes in the OpenAPI format."""
    paths: dict[str, Any] = {}
    for one in endpoints:
        entry: dict[str, Any] = {
            "summary": one.help,
            "responses": {
                "200": {"description": "the answer"},
                "4XX": {"description": "what is wrong with the request, in one line"},
            },
        }
        if settings_of(one.body) or one.lists:
            entry["requestBody"] = {"content": {"application/json": {"schema": _schema(one)}}}
        if "{" in one.path:
            name = one.path.partition("{")[2].partition("}")[0]
            entry["parameters"] = [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            ]
        paths.setdefault(one.path, {})[one.method.lower()] = entry
    return {"openapi": "3.1.0", "info": {"title": title, "version": version}, "paths": paths}


def _schema(endpoint: Endpoint) -> dict[str, Any]:
    properties: dict[str, Any] = {name: {"description": x} for name, x in endpoint.lists.items()}
    for name, one in settings_of(endpoint.body).items():
        kinds = [KINDS[one.type], *(["null"] if one.optional else [])]
        entry: dict[str, Any] = {
            "type": kinds if len(kinds) > 1 else kinds[0],
            "description": one.help,
            "default": one.default,
            "minimum": one.min,
            "maximum": one.max,
        }
        properties[name] = {key: x for key, x in entry.items() if x is not None}
    return {"type": "object", "properties": properties}


def page(endpoints: list[Endpoint], title: str) -> str:
    """The routes as a page for people, which needs nothing else."""
    parts = []
    for one in endpoints:
        rows = [(name, "", x) for name, x in one.lists.items()]
        for name, field in settings_of(one.body).items():
            usual = "" if field.default is None else repr(field.default)
            rows.append((name, usual, field.help))
        table = "".join(
            f"<tr><td><code>{escape(name)}</code></td><td>{escape(usual)}</td>"
            f"<td>{escape(words)}</td></tr>"
            for name, usual, words in rows
        )
        parts.append(
            f"<h2><code>{one.method} {escape(one.path)}</code></h2><p>{escape(one.help)}</p>"
            + (f"<table><tr><th>name<th>usual<th>what</tr>{table}</table>" if table else "")
        )
    style = (
        "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}"
        "h2{font-size:1rem;margin:2rem 0 0}p{margin:.2rem 0}"
        "td,th{text-align:left;padding:0 1rem 0 0;vertical-align:top}"
    )
    return (
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<link rel="icon" href="data:,"><style>{style}</style><h1>{escape(title)}</h1>'
        '<p>Bodies and answers are JSON. <a href="/openapi.json">openapi.json</a> says the same '
        f"to programs.</p>{''.join(parts)}</html>"
    )
