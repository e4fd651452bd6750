"""Attacks on the server: each is refused, and it goes on answering."""

import asyncio
import http.client
import json
import os
import shutil
import socket
import threading
import time

import pytest
import uvicorn

from ostinato import web
from ostinato.cli import studio as command
from ostinato.errors import BadInput
from ostinato.studio import browse, guard
from ostinato.studio.browse import Files, NoFile
from ostinato.studio.folder import Folder, NoRun
from ostinato.studio.server import serve
from ostinato.web import is_local
from studio.pages import START, a_log, served, train_event, write_run

BAD = '<img src=x onerror="document.title=1"><script>alert(1)</script>'


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    outside = folder / "outside"
    write_run(outside / "secret", a_log())
    runs = folder / "runs"
    write_run(runs / "good", a_log())
    write_run(runs / "deep" / "er", a_log())
    hostile = [*a_log(), {"kind": "valid", "step": 21, "value": 1.0, "preview": BAD}]
    write_run(runs / "<script>alert(1)<", hostile, {"note": BAD})
    (runs / "link").symlink_to(outside / "secret")
    for name in ("events.jsonl", "config.json"):
        shutil.copytree(runs / "good", runs / f"linked-{name}")
        (runs / f"linked-{name}" / name).unlink()
        (runs / f"linked-{name}" / name).symlink_to(outside / "secret" / name)
    shutil.copytree(runs / "good", runs / "pipe")
    (runs / "pipe" / "events.jsonl").unlink()
    os.mkfifo(runs / "pipe" / "events.jsonl")
    with served(runs) as found:
        found.folder = runs
        yield found


def test_another_host_is_refused(studio):
    for host in ("evil.example", f"evil.example:{studio.port}", "127.0.0.1:1", ""):
        for path in ("/", "/api/runs", "/static/dom.js"):
            assert studio.ask(path, Host=host)[0] == 403
    assert studio.ask("/", Host=f"localhost:{studio.port}")[0] == 200


def test_another_origin_is_refused(studio):
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
        assert studio.ask("/api/runs", Origin=origin)[0] == 403
        status, _, words = studio.ask("/api/stop", b"{}", Origin=origin)
        assert status == 403 and b"other sites" in words
    assert studio.ask("/api/runs", Origin=f"http://127.0.0.1:{studio.port}")[0] == 200
    assert studio.ask("/api/runs", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403
    assert studio.ask("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200


CHANGING = ["stop", "resume", "start", "verify", "inside", "play", "label", "move", "delete"]


@pytest.mark.parametrize("path", [*CHANGING, "restore"])
def test_changing_needs_a_header_that_no_other_site_can_send(studio, path):
    assert studio.ask(f"/api/{path}", b"{}", X_Studio=None)[0] == 403
    assert studio.ask(f"/api/{path}")[0] == 405
    wrong = [b"{}", b'{"name": "../outside/secret"}', b'{"name": "link"}']
    wrong.append(b'{"name": "%s"}' % (b"x" * 300))
    deep = [b"[" * 60_000, b'{"name": ' + b"[" * 60_000, b'{"name": "\\ud800"}', b'"\xff"']
    for body in (b"[]", b"no json", *deep, *(wrong if path != "verify" else [])):
        status, _, words = studio.ask(f"/api/{path}", body)
        assert status in (400, 404), (path, body[:99], words)


@pytest.mark.parametrize("odd", [{"a": 1}, ["x"], 7, True, 1.5])
def test_a_name_that_is_no_text_is_refused(studio, odd):
    before = sorted(studio.folder.rglob("*"))
    asked = {
        "move": {"name": "good", "to": odd},
        "start": {"name": odd, "settings": {"steps": 1}},
        "restore": {"kept": odd},
        "delete": {"name": odd},
        "verify": {"name": odd},
        "inside": {"name": "good", "file": odd},
    }
    for path, sent in asked.items():
        status, _, words = studio.ask(f"/api/{path}", json.dumps(sent).encode())
        assert status == 400 and b"must be text, got" in words, (path, words)
    assert sorted(studio.folder.rglob("*")) == before


def test_nobody_is_answered_without_the_token(studio):
    """As another user of the machine asks, who does not see the printed address."""
    other = f"ostinato-studio-{studio.port}"
    for cookie in (
        None,
        f"{other}=",
        f"{other}={studio.token[:-1]}",
        f"ostinato-studio={studio.token}",
    ):
        for path in ("/", "/run?name=good", "/api/runs", "/static/dom.js", "/?token=", "/nothing"):
            status, headers, words = studio.ask(path, Cookie=cookie)
            assert status == 403 and "set-cookie" not in headers
            assert b"printed" in words and studio.token.encode() not in words
        asked = f"/api/stop?token={studio.token}"
        assert studio.ask(asked, b"{}", Cookie=cookie)[0] == 403
    for path in ("/", "/run?name=good", "/static/dom.js", "/api/runs"):
        assert studio.token.encode() not in studio.ask(path)[2]


def test_the_printed_link_becomes_a_cookie_and_an_address_without_it(studio):
    assert studio.link == f"http://127.0.0.1:{studio.port}/?token={studio.token}"
    assert len(studio.token) > 20
    for path, clean in (
        ("/?", "/"),
        ("/run?name=a%26b&x=%C3%A9%22&", "/run?name=a%26b&amp;x=%C3%A9%22"),
        ("//evil.example/?", "/evil.example/"),
    ):
        status, headers, words = studio.ask(f"{path}token={studio.token}", Cookie=None)
        cookie, *how = headers["set-cookie"].split("; ")
        assert status == 200 and cookie == studio.cookie and headers["cache-control"] == "no-store"
        assert {*how} == {"Path=/", "HttpOnly", "SameSite=Strict"}
        assert f'content="0; url={clean}"'.encode() in words
    assert studio.ask("/", Cookie=f"a=b; {cookie}")[0] == 200


def test_no_page_lets_others_in(studio):
    for path in ("/", "/run?name=good", "/static/dom.js", "/api/runs", "/nothing"):
        _, headers, _ = studio.ask(path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "name",
    [
        *("..", "../outside/secret", "good/..", "good/../../outside/secret", "/etc", "good\0"),
        *("link", "./good", "good/", "%2e%2e/outside/secret", "deep", "nothing", "x" * 300, ""),
        *("....//outside//secret", "{outside}/secret", "{outside}/../runs/good", "x" * 2000),
    ],
)
def test_no_name_leads_out_of_the_folder(studio, name):
    name = name.format(outside=studio.folder.parent / "outside")
    for path in ("run", "events", "findings", "pictures"):
        query = "".join(f"%{byte:02x}" for byte in name.encode())
        status, _, body = studio.ask(f"/api/{path}?name={query}")
        assert status == 404 and b"secret" not in body.replace(name.encode(), b"")
    job = studio.json(f"/api/job?name={query}")
    assert job == {"job": None, "there": False}
    with pytest.raises(NoRun):
        Folder(studio.folder).find(name)


@pytest.fixture
def files(tmp_path):
    """A folder with all that must not be shown, beside a table that may."""
    root = tmp_path / "root"
    (root / "tables" / "deep").mkdir(parents=True)
    (root / ".hidden").mkdir()
    (tmp_path / "rooted").mkdir()  # its name begins like that of the folder
    for name in ("root/tables/a.csv", "root/.hidden/a.csv", "root/.a.csv", "rooted/a.csv"):
        (tmp_path / name).write_text("x\n1\n")
    (root / "tables" / "link.csv").symlink_to(tmp_path / "rooted" / "a.csv")
    (root / "links").symlink_to(tmp_path / "rooted")
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe.csv")
    (root / os.fsdecode(b"\xff.csv")).write_text("x\n1\n")
    (root / "-x.csv").write_text("x\n1\n")
    return Files(root)


OUTSIDE = [
    *("..", "../rooted", "../rooted/a.csv", "tables/..", "tables/../../rooted/a.csv", "./tables"),
    *("tables/", "tables//deep", "/etc", "/etc/passwd", "{root}/tables", "~", "tables\\.."),
    *("links", "links/a.csv", "loop", "loop/tables", "tables/link.csv", ".hidden", ".hidden/a.csv"),
    *(
        ".a.csv",
        "a\0b",
        "%2e%2e",
        "..%2frooted",
        "nothing",
        "x" * 300,
        "x" * 2000,
        "tables/a.csv/x",
    ),
    *("\ud800", "pipe.csv", "tables/deep/../a.csv", "....//rooted", "file:///etc/passwd", " ", "*"),
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_file_is_shown_from_elsewhere(files, name):
    name = name.format(root=files.path)
    for asked in (files.listing, files.find):
        with pytest.raises(NoFile) as caught:
            asked(name)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 260


def test_a_folder_shows_plain_files_and_folders(files):
    found = files.listing("")
    assert found["folders"] == ["tables"] and [x["name"] for x in found["files"]] == ["-x.csv"]
    assert not found["files"][0]["given"].startswith("-")
    found = files.listing("tables")
    assert found["folders"] == ["deep"] and [x["name"] for x in found["files"]] == ["a.csv"]
    assert files.find("tables/a.csv").read_text() == "x\n1\n"
    assert files.listing("tables", "A.C")["files"] and not files.listing("tables", "b")["files"]
    with pytest.raises(NoFile):
        files.find("tables")  # a folder is no file
    with pytest.raises(NoFile):
        files.listing("tables/a.csv")


def test_a_huge_folder_is_answered_in_part(files, monkeypatch):
    for number in range(400):
        (files.path / "tables" / "deep" / f"{number:03}.csv").touch()
    found = files.listing("tables/deep")
    assert len(found["files"]) == 300 and found["left_out"] == 100 and not found["more"]
    assert [x["name"] for x in files.listing("tables/deep", "399")["files"]] == ["399.csv"]
    monkeypatch.setattr(browse, "SCANNED", 50)
    found = files.listing("tables/deep")
    assert len(found["files"]) == 50 and found["more"]


def test_files_are_asked_for_through_the_guard(studio):
    for path in ("/api/files", "/api/files?folder=", "/api/preview?file=good/config.json"):
        assert studio.ask(path, Cookie=None)[0] == 403
        assert studio.ask(path, Host="evil.example")[0] == 403
    status, _, body = studio.ask("/api/files?folder=good")
    shown = json.loads(body)
    assert status == 200 and {x["name"] for x in shown["files"]} >= {"config.json"}
    for query in ("files?folder=..", "files?folder=link", "preview", "preview?file=../outside"):
        status, _, body = studio.ask(f"/api/{query}")
        assert status == 404 and "there is no" in json.loads(body)["error"], query


def test_no_file_but_our_own_is_served(studio):
    for name in (
        "../app.py",
        "..%2fapp.py",
        "%2e%2e/app.py",
        "frame.html",
        "app.py",
        "",
        "x.js",
        "x" * 3000 + ".js",
    ):
        assert studio.ask(f"/static/{name}")[0] == 404
    assert b"Plotly" in studio.ask("/static/plotly.min.js")[2][:300000]


def test_addresses_that_are_none_are_one_line_or_a_page(studio):
    for path in ("/api/nothing", "/api/", "/static/", "/api/run/x", "/api/../../etc/passwd"):
        status, _, words = studio.ask(path)
        assert status == 404 and words.count(b"\n") == 1 and len(words) < 80, path
    for method in ("PUT", "DELETE", "PATCH"):
        status, _, words = studio.ask("/api/runs", b"{}", method)
        assert status == 405 and words == f"{method} is not how this is asked\n".encode()
    for path in ("/nothing", "/run/x", "/%2e%2e", "/x" * 500):
        status, headers, words = studio.ask(path)
        assert status == 404 and b"/static/lost.js" in words
        assert headers["content-type"].startswith("text/html") and path.encode() not in words


def test_links_and_pipes_within_a_run_are_not_followed(studio):
    rows = {row["name"]: row for row in studio.json("/api/runs")["runs"]}
    assert "link" not in rows and set(rows) >= {"good", "deep/er", "pipe"}
    for name in ("linked-events.jsonl", "linked-config.json", "pipe"):
        assert rows[name]["state"].startswith("broken"), rows[name]
    assert studio.ask("/api/run?name=linked-events.jsonl")[0] == 404
    assert studio.ask("/api/run?name=pipe")[0] == 404


def test_names_settings_and_samples_stay_text(studio):
    name = "%3Cscript%3Ealert(1)%3C"
    status, headers, body = studio.ask(f"/api/run?name={name}")
    assert status == 200 and headers["content-type"] == "application/json"
    assert json.loads(body)["samples"][0]["text"] == BAD
    page = studio.ask(f"/run?name={name}")[2]
    assert b"alert" not in page  # pages never hold data; their scripts add it as text


def test_new_runs_stay_in_the_folder(studio):
    folder = Folder(studio.folder)
    for name in ("", " ", "../x", "/tmp/x", "good", "a/../../x", "link/x", "x\0", "x\ny"):
        with pytest.raises(BadInput):
            folder.new(name)
    assert folder.new("a/new") == studio.folder.resolve() / "a" / "new"
    for settings in ({"cell": "evil.py:Cell"}, {"task": "os:x"}, {"file": "--run"}):
        status, found = studio.send("/api/start", settings=settings)
        assert status == 400 and "error" in found


def test_bound_elsewhere_any_host_is_answered_and_the_user_is_warned(tmp_path, monkeypatch):
    """Its own name is not known there, so the token alone decides."""
    asked = []

    def run(server, sockets):
        asked.append(server)
        sockets[0].close()

    monkeypatch.setattr("uvicorn.Server.run", run)
    assert is_local("::1") and not is_local("192.168.0.7")
    serve(tmp_path, port=0)
    with pytest.warns(RuntimeWarning, match=r"others on the network can reach 0.0.0.0"):
        serve(tmp_path, host="0.0.0.0", port=0)
    here, anywhere = (server.config.app for server in asked)
    assert here.hosts is not None and anywhere.hosts is None


def test_a_folder_that_vanishes(tmp_path):
    write_run(tmp_path / "runs" / "a", a_log())
    write_run(tmp_path / "runs" / "b", a_log())
    with served(tmp_path / "runs") as found:
        assert len(found.json("/api/runs")["runs"]) == 2
        shutil.rmtree(tmp_path / "runs" / "a")
        assert found.ask("/api/run?name=a")[0] == 404
        assert [row["name"] for row in found.json("/api/runs")["runs"]] == ["b"]
        shutil.rmtree(tmp_path / "runs")
        assert found.json("/api/runs")["runs"] == [] and found.ask("/api/run?name=b")[0] == 404


def test_a_body_that_never_ends_is_given_up(monkeypatch):
    monkeypatch.setattr(web, "PATIENCE", 0.1)
    monkeypatch.setattr(web, "LINGERING", 0.1)
    sent = []

    async def app(scope, receive, send):
        raise AssertionError("the request is not whole")

    async def receive():
        if sent is not None:
            await asyncio.sleep(0.03)
        return {"type": "http.request", "body": b"{", "more_body": True}

    async def send(message):
        sent.append(message)

    headers = [
        (b"host", b"localhost:1"),
        (b"x-studio", b"1"),
        (b"cookie", b"ostinato-studio-1=token"),
    ]
    scope = {"type": "http", "method": "POST", "headers": headers, "query_string": b""}
    around = guard.Guard(app, {"localhost:1"}, 1, "token")
    asyncio.run(around(scope, receive, send))
    assert sent[0]["status"] == 413


def test_a_connection_that_drips_after_a_first_request_is_closed(monkeypatch):
    monkeypatch.setattr(web, "HEADERS_WITHIN", 0.1)

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"whole"})

    async def drip():
        config = uvicorn.Config(app, http=web.impatient(), lifespan="off", log_level="critical")
        config.load()
        state = uvicorn.server.ServerState()
        made = lambda: config.http_protocol_class(config, state, {})  # noqa: E731
        loop = asyncio.get_running_loop()
        serving = await loop.create_server(made, "127.0.0.1", 0)
        address = serving.sockets[0].getsockname()
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        while b"whole" not in await reader.read(4096):
            pass
        ended = asyncio.ensure_future(reader.read())
        for letter in b"GET / HTTP/1.1\r\nHost: " + b"x" * 300:
            writer.write(bytes([letter]))
            await asyncio.sleep(0.01)
            if ended.done():
                break
        writer.close()
        serving.close()
        return ended.done()

    assert asyncio.run(drip())


@pytest.mark.slow
def test_requests_that_never_end(studio):
    """Half a head or half a body is given up, and meanwhile others are answered."""
    opened = [socket.create_connection(("127.0.0.1", studio.port)) for _ in range(20)]
    for number, one in enumerate(opened):
        body = f"POST /api/stop HTTP/1.1\r\nHost: 127.0.0.1:{studio.port}\r\nX-Studio: 1\r\n"
        head = f"{body}Cookie: {studio.cookie}\r\nContent-Length: 100\r\n\r\n{{"
        one.sendall(head.encode() if number % 2 else b"GET / HTTP/1.1\r\nHos")
    started = time.monotonic()
    assert studio.ask("/api/runs")[0] == 200 and time.monotonic() - started < 5
    for one in opened:
        one.settimeout(25)
        with one:
            answer = one.recv(4096)  # an answer or nothing; not a wait without end
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4")


def test_large_requests_are_refused(studio):
    status, _, words = studio.ask("/api/start", b"x" * 100_000)
    assert status == 413 and b"too large" in words
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=30)
    connection.putrequest("POST", "/api/start")
    connection.putheader("X-Studio", "1")
    connection.putheader("Cookie", studio.cookie)
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    try:
        for _ in range(100):
            connection.send(b"1000\r\n" + b"x" * 4096 + b"\r\n")
        status = connection.getresponse().status
    except OSError:
        status = 413  # closed before all of it was sent
    assert status == 413
    assert studio.ask("/" + "x" * 100_000)[0] in (400, 404, 414, 431)


def test_two_hundred_open_pages(studio):
    """All of them hear of a new event, and the list is still answered."""
    path = write_run(studio.folder / "watched", [START, train_event(1)])
    offset = (path / "events.jsonl").stat().st_size
    sockets = []
    for _ in range(200):
        one = socket.create_connection(("127.0.0.1", studio.port))
        words = f"GET /api/events?name=watched&after={offset} HTTP/1.1\r\n"
        one.sendall(
            f"{words}Host: 127.0.0.1:{studio.port}\r\nCookie: {studio.cookie}\r\n\r\n".encode()
        )
        sockets.append(one)
    for one in sockets:
        one.settimeout(30)
        while b"retry" not in one.recv(4096):
            pass
    with open(path / "events.jsonl", "a") as log:
        log.write(json.dumps(train_event(2)) + "\n")
    heard = []

    def listen(one):
        while b'"step":2' not in one.recv(4096):
            pass
        heard.append(one)

    threads = [threading.Thread(target=listen, args=[one]) for one in sockets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(heard) == 200 and studio.ask("/api/runs")[0] == 200
    for one in sockets:
        one.close()


def test_no_process_is_started_with_the_token(tmp_path, monkeypatch):
    """Everybody can see the arguments of a process, also those of a browser."""
    link = "http://127.0.0.1:1/?token=secret"
    monkeypatch.setattr(command, "serve", lambda folder, opened, **how: opened(link))
    read = {}
    monkeypatch.setattr(
        "webbrowser.open", lambda address: read.update({address: _private(address)})
    )
    command.studio(tmp_path, browser=True)
    ((address, words),) = read.items()
    assert "secret" not in address and link in words and not os.path.exists(_path(address))


def _path(address):
    return address.removeprefix("file://")


def _private(address):
    assert os.stat(_path(address)).st_mode & 0o777 == 0o600
    with open(_path(address)) as file:
        return file.read()
