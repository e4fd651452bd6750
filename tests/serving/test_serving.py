"""A served run gives what the run gives, to many at once, and refuses the rest in a line."""

import asyncio
import concurrent.futures
import contextlib
import functools
import itertools
import json
import sys
import time

import jax
import numpy as np
import pytest
from starlette.testclient import TestClient

from ostinato import Config
from ostinato.errors import BadInput
from ostinato.serving.app import Service
from ostinato.serving.batcher import Job
from ostinato.serving.gate import Gate, Metrics
from ostinato.serving.requests import Completion, Generate, Limits
from ostinato.serving.stepped import Busy
from ostinato.serving.worker import Full
from ostinato.settings import NoSettings
from ostinato.tasks import Adding
from untrained import untrained, untrained_run, write_files

SMALL = Limits(length=300, body=5000, seconds=20.0, slots=8, waiting=20, sessions=3, expiry=60.0)


@pytest.fixture(scope="module", autouse=True)
def single():
    """As a server computes."""
    with jax.enable_x64(False):
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def run_of(files, tmp_path_factory):
    return functools.cache(
        lambda kind: untrained(kind, files, tmp_path_factory.mktemp("runs") / kind)
    )


def client_of(run, limits=SMALL):
    service = Service(run, limits)
    routes = {endpoint.path for endpoint in service.endpoints}
    gate = Gate(service.app(), {"testserver"}, limits.body, service.metrics, routes)
    client = TestClient(gate, raise_server_exceptions=True)
    client.service = service
    return client


@pytest.fixture(scope="module")
def run(run_of):
    return run_of("text")


@pytest.fixture(scope="module")
def client_for(run_of):
    """A client of a run of each kind, which the tests share."""
    with contextlib.ExitStack() as opened:
        yield functools.cache(lambda kind: opened.enter_context(client_of(run_of(kind))))


@pytest.fixture(scope="module")
def client(client_for):
    return client_for("text")


def events(response):
    lines = [line for line in response.text.split("\n\n") if line]
    assert all(line.startswith("data: ") for line in lines)
    return [line.removeprefix("data: ") for line in lines]


def test_generated_text_is_that_of_sample(client, run):
    how = {"seed": 3, "temperature": 0.8}
    expected = run.sample("the ", 40, **how)
    answer = client.post("/generate", json={"prompt": "the ", "length": 40, **how}).json()
    assert answer == {"text": expected, "ended": "length", "length": 40, "seed": 3}
    limited = client.post("/generate", json={"length": 20, "top_k": 3, "top_p": 0.9, "seed": 1})
    assert limited.json()["text"] == run.sample("", 20, top_k=3, top_p=0.9, seed=1)


def test_streamed_text_is_the_same(client, run):
    body = {"prompt": "the ", "length": 40, "seed": 3, "stream": True}
    *pieces, last = map(json.loads, events(client.post("/generate", json=body)))
    assert "".join(piece["text"] for piece in pieces) == run.sample("the ", 40, seed=3)
    assert last == {"ended": "length", "length": 40, "seed": 3}


def test_text_stops_before_a_stop(client, run):
    whole = run.sample("the ", 60, seed=5)
    stop = whole[20:23]
    body = {"prompt": "the ", "length": 60, "seed": 5, "stop": stop}
    answer = client.post("/generate", json=body).json()
    assert answer["text"] == whole[: whole.index(stop)] and answer["ended"] == "stop"
    *pieces, _ = map(json.loads, events(client.post("/generate", json=body | {"stream": True})))
    assert "".join(piece["text"] for piece in pieces) == answer["text"]
    assert client.post("/generate", json=body | {"stop": "Ω"}).json()["text"] == whole


def test_many_clients_share_the_steps(client, run):
    before = client.service.stepped.turns.batcher.turns
    expected = {seed: run.sample("fox ", 30, seed=seed) for seed in range(12)}

    def ask(seed):
        body = {"prompt": "fox ", "length": 30, "seed": seed}
        return client.post("/generate", json=body).json()["text"]

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        assert dict(zip(expected, pool.map(ask, expected), strict=True)) == expected
    turns = client.service.stepped.turns.batcher.turns - before
    assert turns < 12 * 33  # one after the other it would be as many


def test_scores_and_probabilities(client, run):
    text = "the quick brown fox"
    stream, logs = run.stream(), []
    for now, then in itertools.pairwise(text):
        logs.append(np.log(stream.step(now).probabilities[then]))
    answer = client.post("/score", json={"text": text, "each": True}).json()
    np.testing.assert_allclose(answer["logs"], logs, rtol=1e-4)
    assert answer["bits_per_symbol"] == pytest.approx(-np.mean(logs) / np.log(2), rel=1e-5)
    following = client.post("/probabilities", json={"text": text, "top": 2}).json()
    expected = run.stream().read(text).as_json(2)
    assert following["probabilities"] == pytest.approx(expected, rel=1e-5)


def test_a_session_goes_on_where_it_was(client, run):
    name = client.post("/sessions").json()["session"]
    stream = run.stream()
    stream.read("the ")
    expected = stream.write(20, temperature=0)
    body = {"session": name, "length": 20, "temperature": 0}
    assert client.post("/generate", json=body | {"prompt": "the "}).json()["text"] == expected
    more = stream.write(10, temperature=0)
    answer = client.post("/generate", json=body | {"length": 10}).json()
    assert answer["text"] == more
    stepped = client.post(f"/sessions/{name}/step", json={"value": "q"}).json()
    assert stepped["answer"] == pytest.approx(stream.step("q").as_json(), rel=1e-4)
    assert client.delete(f"/sessions/{name}").json() == {"ended": True}
    gone = client.post("/generate", json=body)
    assert gone.status_code == 404 and "there is no session" in gone.json()["error"]


def test_a_streamed_text_keeps_others_from_its_session(client):
    texts = client.service.stepped

    async def twice():
        how = Generate(prompt="the ", session=texts.sessions.open().name, stream=True)
        answer = await texts.generate(None, how, {})
        with pytest.raises(Busy, match="another request uses this session"):
            await texts.generate(None, how, {})
        written = [one async for one in answer.body_iterator]
        assert b'"ended":"length"' in written[-1]
        texts.sessions.close(how.session)  # nobody uses it any more

    client.portal.call(twice)


class Asking:
    """A request, as far as whoever answers it asks about it."""

    def __init__(self, gone):
        self.gone = gone

    async def is_disconnected(self):
        return self.gone


def test_nothing_is_written_for_a_client_that_vanished(client, monkeypatch):
    """None of several texts, whichever is waited for."""
    texts, jobs = client.service.stepped, []
    add = texts.turns.batcher.add
    monkeypatch.setattr(texts.turns.batcher, "add", lambda job: jobs.append(job) or add(job))

    async def ask():
        how = Completion(max_tokens=200, n=3)
        with pytest.raises(Full):
            await texts.complete(Asking(gone=True), how, {"prompt": "the "})

    client.portal.call(ask)
    assert [job.gone for job in jobs] == [True] * 3


def test_sessions_have_a_limit_and_expire(run):
    limits = Limits(slots=1, sessions=1, expiry=0.05)
    with client_of(run, limits) as client:
        name = client.post("/sessions").json()["session"]
        full = client.post("/sessions")
        assert full.status_code == 409 and "come back later" in full.json()["error"]
        time.sleep(0.1)
        late = client.post(f"/sessions/{name}/step", json={"value": "t"})
        assert late.status_code == 404 and "not used for 0.05 s" in late.json()["error"]
        assert client.post("/sessions").status_code == 200


WRONG = [
    ("/generate", b"{", "not JSON"),
    ("/generate", b"[1]", "must be a JSON object"),
    ("/generate", b'"text"', "must be a JSON object"),
    ("/generate", b"\xff\xfe", "not JSON"),
    ("/generate", b"[" * 4000, "not JSON"),
    ("/generate", {"promt": "a"}, "did you mean prompt"),
    ("/generate", {"nothing": "a"}, "it takes temperature"),
    ("/generate", {"prompt": 3}, "prompt must be of type str"),
    ("/generate", {"prompt": None}, "prompt must be of type str"),
    ("/generate", {"prompt": ["a"]}, "prompt must be of type str"),
    ("/generate", {"prompt": "Ω"}, "does not know the character"),
    ("/generate", {"prompt": "a" * 400}, "at most 300 values"),
    ("/generate", {"length": 0}, "length must be at least 1"),
    ("/generate", {"length": 1.5}, "length must be of type int"),
    ("/generate", {"length": "9"}, "length must be of type int"),
    ("/generate", {"length": True}, "length must be of type int"),
    ("/generate", {"length": 10**30}, "length must be at most"),
    ("/generate", {"length": 1000}, "at most 300 values"),
    ("/generate", {"temperature": -1}, "temperature must be at least 0"),
    ("/generate", {"temperature": "hot"}, "temperature must be of type float"),
    ("/generate", b'{"temperature": NaN}', "not JSON"),
    ("/generate", {"temperature": 1e30}, "temperature must be at most 100"),
    ("/generate", {"top_k": 0}, "top_k must be at least 1"),
    ("/generate", {"top_p": 0}, "top_p must be at least"),
    ("/generate", {"top_p": 1.5}, "top_p must be at most 1"),
    ("/generate", {"seed": -1}, "seed must be at least 0"),
    ("/generate", {"seed": 2**32}, "seed must be at most"),
    ("/generate", {"stop": ""}, "stop must be a text"),
    ("/generate", {"stop": ["a"]}, "stop must be of type str"),
    ("/generate", {"stream": 1}, "stream must be of type bool"),
    ("/score", {}, "at least two characters"),
    ("/score", {"text": "t"}, "at least two characters"),
    ("/score", {"text": 3}, "text must be of type str"),
    ("/probabilities", {"top": 0}, "top must be at least 1"),
    ("/sessions", {"name": "mine"}, "/sessions takes no 'name'"),
    ("/v1/completions", {"prompt": 3}, "prompt must be a text, or a list of texts"),
    ("/v1/completions", {"prompt": [1, 2]}, "prompt must be a text, or a list of texts"),
    ("/v1/completions", {"prompt": "a", "n": 101}, "n must be at most 100"),
    ("/v1/completions", {"prompt": ["a"] * 60, "n": 2}, "at most 100 texts"),
    ("/v1/completions", {"prompt": "a", "stop": [""]}, "stop must be a text"),
    ("/v1/completions", {"prompt": "a", "stop": ["a"] * 5}, "at most 4 texts"),
    ("/v1/completions", {"prompt": "a", "max_tokens": 0}, "max_tokens must be at least 1"),
    ("/v1/completions", {"prompt": "a", "logprobs": -1}, "logprobs must be at least 0"),
    ("/v1/completions", {"prompt": {"a": 1}}, "prompt must be a text, or a list of texts"),
    ("/v1/completions", {"prompt": ["a", None]}, "prompt must be a text, or a list of texts"),
    ("/v1/completions", {"prompt": "a", "stop": 3}, "stop must be a text, or a list of texts"),
    ("/v1/completions", {"prompt": "a", "stream": "yes"}, "stream must be of type bool"),
    ("/v1/completions", {"prompt": "a", "n": 0}, "n must be at least 1"),
    ("/v1/completions", {"prompt": "a", "echo": 1}, "echo must be of type bool"),
    ("/v1/completions", {"prompt": "Ω"}, "does not know the character"),
    ("/v1/completions", {"prompt": "a", "max_tokens": 1e9}, "max_tokens must be"),
    ("/v1/completions", {"prompt": "a", "temperature": "1"}, "temperature must be of type float"),
    ("/v1/completions", {"prompt": "a", "seed": 1.5}, "seed must be of type int"),
    ("/v1/completions", {"model": 3, "prompt": "a"}, "model must be of type str"),
    ("/score", {"text": ["the"]}, "text must be of type str"),
    ("/score", {"text": "the", "each": "no"}, "each must be of type bool"),
    ("/score", {"text": "Ωµ"}, "does not know the character"),
    ("/score", {"text": "a" * 400}, "at most 300 values"),
    ("/score", {"texts": "the"}, "did you mean text"),
    ("/probabilities", {"text": None}, "text must be of type str"),
    ("/probabilities", {"text": "the", "top": "2"}, "top must be of type int"),
    ("/probabilities", {"text": "a" * 400}, "at most 300 values"),
    ("/probabilities", {"text": "the", "session": 3}, "session must be of type str"),
    ("/generate", {"session": ["a"]}, "session must be of type str"),
]
HARMED = [b"{", b"[]", b"null", b"3", b'"a"', b"\xff", b"{1: 2}", b'{"a": 1,}', b"\x00", b"<a/>"]


def refused(client, path, body, words):
    given = {"content": body} if isinstance(body, bytes) else {"json": body}
    answer = client.post(path, **given)
    error = answer.json().get("error", "")
    line = error["message"] if isinstance(error, dict) else error
    good = answer.status_code == 400 and line and words in line and "\n" not in line
    assert good, (path, body, answer.text)


def test_a_wrong_request_gets_one_line(client):
    session = client.post("/sessions").json()["session"]
    step = f"/sessions/{session}/step"
    steps = [
        {}, {"value": "t", "values": ["t"]}, {"value": 3}, {"value": "Ω"}, {"value": "the"},
        {"value": None}, {"value": {}}, {"values": []}, {"values": "t"}, {"values": ["t", 3]},
        {"values": ["t"] * 301}, {"state": []},
    ]  # fmt: skip
    harmed = [(path, body, "") for path in (*{x for x, _, _ in WRONG}, step) for body in HARMED]
    wrong = [*WRONG, *((step, body, "") for body in steps), *harmed]
    assert len(wrong) > 100
    for path, body, words in wrong:
        refused(client, path, body, words)
    assert client.delete(f"/sessions/{session}").status_code == 200


def test_other_addresses_and_methods(client):
    for method, path, status in (
        ("GET", "/nothing", 404), ("POST", "/health", 405), ("GET", "/generate", 405),
        ("DELETE", "/sessions/none", 404), ("POST", "/sessions/none/step", 404),
        ("GET", "/v1/models/none", 404), ("GET", "/../etc/passwd", 404),
    ):  # fmt: skip
        answer = client.request(method, path)
        assert answer.status_code == status and answer.json()["error"], path


def test_a_foreign_host_and_another_site_are_refused(client):
    for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
        answer = client.post("/generate", json={}, headers=headers)
        assert answer.status_code == 403 and "\n" not in answer.json()["error"]


def test_a_body_that_is_too_large_is_not_read(client):
    """One that says how large it is, and one that does not."""

    def much():
        for _ in range(100):
            yield b" " * 1_000_000

    for content in (b" " * 6000, much()):
        answer = client.post("/generate", content=content)
        assert answer.status_code == 413 and "at most 5000 bytes" in answer.json()["error"]


def test_a_request_has_its_time(run):
    with client_of(run, Limits(slots=1, seconds=0.05, length=100_000)) as client:
        answer = client.post("/generate", json={"length": 90_000})
        assert answer.status_code == 503 and "too long" in answer.json()["error"]
        body = {"length": 90_000, "stream": True}
        last = json.loads(events(client.post("/generate", json=body))[-1])
        assert last["ended"] == "time"


def test_too_many_requests_wait(run):
    with client_of(run, Limits(slots=1, waiting=0)) as client:
        answer = client.post("/generate", json={"length": 5})
        assert answer.status_code == 503 and "come back later" in answer.json()["error"]


def test_what_ends_takes_on_nothing(run):
    with client_of(run, Limits(slots=1)) as client:
        client.service.end_soon(0.0)
        assert client.post("/generate", json={"length": 5}).status_code == 503


def test_a_text_ends_with_the_time_that_a_server_has_left(run):
    with client_of(run, Limits(slots=1)) as client:
        service = client.service

        async def stream():
            answer = await service.stepped.generate(None, Generate(length=9000, stream=True), {})
            service.end_soon(0.0)
            return [one async for one in answer.body_iterator]

        assert b'"ended":"time"' in client.portal.call(stream)[-1]


def test_health_numbers_and_the_page(client):
    client.post("/generate", json={"length": 3})
    assert client.get("/health").json()["status"] == "ok"
    numbers = client.get("/metrics").text
    assert 'ostinato_requests_total{route="/generate",status="200"}' in numbers
    assert "# TYPE ostinato_active gauge" in numbers and "ostinato_steps_total" in numbers
    described = client.get("/openapi.json").json()
    properties = described["paths"]["/generate"]["post"]["requestBody"]["content"]
    length = properties["application/json"]["schema"]["properties"]["length"]
    assert length == {
        "type": "integer", "description": "how many characters to write", "default": 200,
        "minimum": 1,
    }  # fmt: skip
    page = client.get("/").text
    assert all(path.replace("{", "") in page.replace("{", "") for path in described["paths"])
    assert "<script" not in page and "src=" not in page


def test_prometheus_reads_the_metrics(client):
    """By the parser of its own client."""
    parser = pytest.importorskip("prometheus_client.parser")
    client.post("/generate", json={"length": 3})
    numbers = client.get("/metrics").text
    found = {one.name: one for one in parser.text_string_to_metric_families(numbers)}
    (asked,) = [
        one.value
        for one in found["ostinato_requests"].samples
        if one.labels == {"route": "/generate", "status": "200"}
    ]
    assert asked >= 1 and found["ostinato_requests"].type == "counter"
    assert found["ostinato_active"].type == "gauge" and found["ostinato_steps"].samples[0].value


def test_metrics_lose_no_digits():
    metrics = Metrics()
    text = metrics.as_text({"sessions": ("", 3)}, {"steps_total": ("", 123_456_789)})
    values = dict(line.split() for line in text.splitlines() if not line.startswith("#"))
    assert float(values["ostinato_start_time_seconds"]) == metrics._started
    assert values["ostinato_steps_total"] == "123456789" and values["ostinato_sessions"] == "3"


def test_log_probabilities_are_those_of_the_returned_text(client, run):
    """Up to a stop, and counted from the beginning of a prompt that is given back."""
    body = {"prompt": "the ", "max_tokens": 60, "seed": 5, "logprobs": 1, "echo": True}
    stop = run.sample("the ", 60, seed=5)[20:23]
    (choice,) = client.post("/v1/completions", json=body | {"stop": stop}).json()["choices"]
    text, logs = choice["text"], choice["logprobs"]
    assert choice["finish_reason"] == "stop"
    assert "".join(logs["tokens"]) == text.removeprefix("the ")
    assert len(logs["token_logprobs"]) == len(logs["tokens"])
    assert [text[n] for n in logs["text_offset"]] == logs["tokens"]


def test_log_probabilities_of_bytes_name_the_character_of_each(client_for, monkeypatch):
    client, completions = client_for("bytes"), client_for("bytes").service.stepped
    job = Job([*"xä☃é.".encode()], drawn=8, logs=[-1.0] * 8, ended="stop")
    choice = completions._choice(0, job, "x", ["é"], Completion(echo=True, logprobs=1))
    assert client and choice["text"] == "xä☃"
    assert choice["logprobs"]["text_offset"] == [1, 1, 2, 2, 2]


@pytest.mark.parametrize("kind", ["text", "quantiles", "classify", "translate", "tag"])
def test_the_routes_are_described_as_openapi_says(kind, client_for):
    validator = pytest.importorskip("openapi_spec_validator")
    client = client_for(kind)
    described = client.get("/openapi.json").json()
    validator.validate(described)
    routes = {(one.method, one.path) for one in client.service.endpoints}
    assert routes == {
        (method.upper(), path) for path, some in described["paths"].items() for method in some
    }


def test_an_openai_client(client, run):
    """The library as it is, over the transport of the test."""
    openai = pytest.importorskip("openai")
    asked = openai.OpenAI(api_key="none", base_url="http://testserver/v1", http_client=client)
    assert [model.id for model in asked.models.list()] == [run.path.name]
    how = {"model": run.path.name, "prompt": "the ", "max_tokens": 30, "seed": 3}
    expected = run.sample("the ", 30, seed=3)
    made = asked.completions.create(**how, logprobs=1)
    assert made.choices[0].text == expected and made.choices[0].finish_reason == "length"
    assert made.usage.completion_tokens == 30 and len(made.choices[0].logprobs.tokens) == 30
    streamed = asked.completions.create(**how, stream=True, echo=True)
    assert "".join(chunk.choices[0].text for chunk in streamed) == "the " + expected
    two = asked.completions.create(**how | {"n": 2})
    assert two.choices[0].text == expected != two.choices[1].text
    with pytest.raises(openai.NotFoundError, match="there is no model"):
        asked.completions.create(**how | {"model": "other"})


@pytest.mark.parametrize(
    "kind, path, body, method",
    [
        ("classify", "/classify", {"texts": ["fine film", "dull"]}, "classify"),
        ("translate", "/translate", {"lines": ["one two", "three"]}, "translate"),
        ("tag", "/tag", {"sentences": [["the", "dog"], ["dog"]]}, "tag"),
    ],
)
def test_what_is_answered_as_a_whole(kind, path, body, method, run_of, client_for):
    run, client = run_of(kind), client_for(kind)
    (answer,) = client.post(path, json=body).json().values()
    (given,) = body.values()
    expected = getattr(run, method)(given)
    if kind == "classify":
        assert [x["label"] for x in answer] == [x.label for x in expected]
    else:
        assert answer == json.loads(json.dumps(expected))
    name, many = next(iter(body)), next(iter(body.values())) * 200
    for wrong in ([], [3], "a", None, [None], [[]], [{}], [""], [[[]]], many):
        refused(client, path, {name: wrong}, "")
    for wrong in ({}, {"other": ["a"]}, {**body, "beam": 0}, {**body, "beam": "a"}, *HARMED):
        refused(client, path, wrong, "")


def test_nobody_waits_longer_for_a_whole_answer_than_they_may(run_of, monkeypatch):
    """A client that vanishes, one whose time is over, and an end of the server."""
    with client_of(run_of("classify"), Limits(seconds=0.01)) as client:
        whole, asked = client.service.whole, []

        def never(inputs):
            asked.append(concurrent.futures.Future())
            if len(asked) == 3:
                client.service.end_soon(0)
            return asked[-1]

        monkeypatch.setattr(whole.gatherer, "ask", never)

        async def ask(gone, error):
            with pytest.raises(error):
                await whole.each(Asking(gone), NoSettings(), {"texts": ["fine"]})
            await asyncio.sleep(0)  # what was cancelled hears of it

        client.portal.call(ask, True, Full)
        client.portal.call(ask, False, TimeoutError)
        client.portal.call(ask, False, Full)
        assert [one.cancelled() for one in asked] == [True] * 3


def test_forecasts(run_of, client_for, files):
    run, client = run_of("quantiles"), client_for("quantiles")
    rows = [
        [float(x) for x in line.split(",")[:2]]
        for line in (files / "table.csv").read_text().splitlines()[1:40]
    ]
    expected = run.forecast(np.array(rows)).rows()
    (answer,) = client.post("/forecast", json={"rows": rows}).json()["forecast"]
    assert answer == pytest.approx(expected[0], rel=1e-4)
    far = client.post("/forecast", json={"rows": rows, "steps": 3}).json()["forecast"]
    assert [row["step"] for row in far] == [1, 2, 3]
    name = client.post("/sessions").json()["session"]
    named = [{"x": x, "y": y} for x, y in rows]
    stepped = client.post(f"/sessions/{name}/step", json={"values": named}).json()
    assert stepped["answer"][0] == pytest.approx(expected[0], rel=1e-4)
    bad = [], [[1]], ["a"], [{"x": 1}], [[1, None]], 3, [None], [[]], [[1, 2], [1]], {"x": 1}
    for wrong in bad:
        refused(client, "/forecast", {"rows": wrong}, "")
        refused(client, "/forecast", {"rows": wrong, "steps": 3}, "")
    for wrong in ([named[0], rows[1]], [named[0], 3], [rows]):
        refused(client, "/forecast", {"rows": wrong, "steps": 3}, "each row must be numbers")
    for steps in (0, -1, "a", 1.5, 10**6, True):
        refused(client, "/forecast", {"rows": rows, "steps": steps}, "steps must be")
    for wrong in ({}, {"rows": rows, "horizon": 2}, {"rows": [*rows, [1]]}, *HARMED):
        refused(client, "/forecast", wrong, "")


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    """A run on two shops with dates, and its rows."""
    folder, draw = tmp_path_factory.mktemp("shops"), np.random.default_rng(0)
    rows = [
        {"day": f"2024-{month:02}-{day:02}", "shop": shop, "sold": round(draw.normal(), 3)}
        for month in (1, 2)
        for day in range(1, 30)
        for shop in ("north", "south")
        if not (month == 1 and day < 3)
    ]
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    (folder / "sold.csv").write_text("\n".join(lines) + "\n")
    config = Config(
        file=str(folder / "sold.csv"), sequence="shop", target="sold", gaps="fill", horizon=2,
        cell="gru", units=3, length=8, batch=2,
    )  # fmt: skip
    return untrained_run(config, folder / "run"), rows


@pytest.mark.parametrize("asked", [{}, {"steps": 2}])
def test_a_forecast_reads_the_dates_the_order_and_the_series_of_its_rows(asked, shops, monkeypatch):
    """As from a file, however many steps are asked for, and without pandas."""
    run, rows = shops
    expected = run.forecast(run.path.parent / "sold.csv").rows()
    assert {row["shop"] for row in expected} == {"north", "south"} and len(expected) == 4
    monkeypatch.setitem(sys.modules, "pandas", None)
    shuffled = [rows[n] for n in np.random.default_rng(1).permutation(len(rows))]
    with client_of(run, Limits()) as client:

        def told(rows):
            answer = client.post("/forecast", json={"rows": rows, **asked})
            assert answer.status_code == 200, answer.text
            return sorted(answer.json()["forecast"], key=lambda row: (row["shop"], row["day"]))

        def as_expected(answer):
            assert [row | {"sold": 0} for row in answer] == [row | {"sold": 0} for row in expected]
            values = [row["sold"] for row in answer]
            np.testing.assert_allclose(values, [row["sold"] for row in expected], rtol=1e-5)

        as_expected(told(rows))
        as_expected(told(shuffled))
        as_expected(told([row | {"other": None} for row in rows]))
        wrong = [
            ([rows[0] | {"day": "nonsense"}, *rows[1:]], "nonsense"),
            ([*rows, rows[7]], "2024-01-06"),
            ([*rows[:5], rows[5] | {"shop": None}, *rows[6:]], "row 6, column 'shop'"),
            ([*rows[:5], rows[5] | {"sold": "x"}, *rows[6:]], "row 6, column 'sold': 'x' is not"),
            ([*rows[:5], rows[5] | {"sold": [3]}, *rows[6:]], "row 6, column 'sold': a cell is"),
            ([{k: x for k, x in row.items() if k != "shop"} for row in rows], "no column 'shop'"),
            ([rows[0] | {"note": "x" * 5000}, *rows[1:]], "a cell has at most 1000 characters"),
            ([{f"column {n}": 1} for n in range(100)], "give every row the same columns"),
        ]
        for some, words in wrong:
            answer = client.post("/forecast", json={"rows": some, **asked})
            assert answer.status_code == 400 and words in answer.json()["error"], answer.text


def test_what_cannot_be_served_says_why(tmp_path):
    task = Adding(length=5)
    run = untrained_run(Config(cell="gru", units=2, batch=2), tmp_path / "adding", task)
    with pytest.raises(BadInput, match="cannot be served: a run of the task adding"):
        Service(run)
