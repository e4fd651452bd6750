"""`ostinato data list | get | path | make`."""

import hashlib
import http.server
import json
import threading

import pytest
from typer.testing import CliRunner

from ostinato.cli.data import app
from ostinato.data.datasets import DATASETS, DataSet, File
from ostinato.data.generated.stores import store_table
from ostinato.errors import BadInput

BODY = b"a line of data\n" * 500


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format, *args):
        pass


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("OSTINATO_CACHE", str(tmp_path))
    monkeypatch.delenv("OSTINATO_DATA", raising=False)
    return tmp_path


@pytest.fixture
def small(monkeypatch):
    """A data set of one file, and its server."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/a"
        file = File("small/a", url, len(BODY), hashlib.sha256(BODY).hexdigest())
        monkeypatch.setitem(DATASETS, "small", DataSet("words", "here", "free", (file,)))
        yield url
        server.shutdown()
        thread.join()


def run(*words):
    found = CliRunner().invoke(app, words, catch_exceptions=False)
    assert found.exit_code == 0
    return found


def test_list():
    shown = run("list").stdout
    for name, data in DATASETS.items():
        assert name in shown and data.source in shown and data.licence in shown
    found = json.loads(run("list", "--json").stdout)
    assert [x["name"] for x in found] == list(DATASETS)
    assert found[0]["bytes"] == 1_115_394 and found[0]["here"] is False and found[0]["paths"] == []
    assert len(found[0]["files"][0]["sha256"]) == 64


def test_get_says_what_it_downloads_and_then_where_it_is(small, cache):
    found = run("get", "small")
    assert found.stdout == f"{cache}/small/a\n"
    for words in (small, "7,500 bytes", "licence: free", "source: here"):
        assert words in found.stderr
    assert (cache / "small" / "a").read_bytes() == BODY
    again = run("get", "small")
    assert again.stdout == found.stdout
    assert "downloading" not in again.stderr
    assert run("path", "small").stdout == found.stdout


def test_json_is_one_document(small, cache):
    path = str(cache / "small" / "a")
    found = json.loads(run("get", "small", "--json").stdout)
    assert found["paths"] == [path] and found["downloaded"] == ["small/a"] and found["here"]
    assert json.loads(run("get", "small", "--json").stdout)["downloaded"] == []
    assert json.loads(run("path", "small", "--json").stdout) == {"name": "small", "paths": [path]}


def test_path_downloads_nothing(small, cache):
    with pytest.raises(BadInput, match="`ostinato data get small`"):
        run("path", "small")
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("verb", ["get", "path"])
def test_unknown_name(verb):
    with pytest.raises(BadInput, match="no data set 'nope'; there are tinyshakespeare, enwiki"):
        run(verb, "nope")


def test_make(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("make", "stores").stdout == "stores.csv\n"
    first = (tmp_path / "stores.csv").read_bytes()
    made = json.loads(run("make", "stores", "--to", "mine.csv", "--json").stdout)
    assert made == {"name": "stores", "path": "mine.csv", "bytes": len(first)}
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(BadInput, match="loop is no plain file; name another one with --to"):
        run("make", "stores", "--to", "loop")
    assert (tmp_path / "mine.csv").read_bytes() == first == store_table().encode()
    run("make", "stores")  # the same again
    (tmp_path / "stores.csv").write_text("my own")
    with pytest.raises(BadInput, match=r"stores.csv is there already, with other content"):
        run("make", "stores")
    with pytest.raises(BadInput, match="there is no file 'shops' to make; there are stores"):
        run("make", "shops")
    with pytest.raises(BadInput, match="is a folder"):
        run("make", "stores", "--to", str(tmp_path))
    with pytest.raises(BadInput, match="there is no folder"):
        run("make", "stores", "--to", "nowhere/x.csv")


@pytest.mark.parametrize("name", ["\ud800", "a\0b", ""])
def test_make_refuses_a_name_no_file_can_have(ostinato, name):
    code, out, err = ostinato("data", "make", "stores", "--to", name)
    assert code == 2 and not out and err.count("\n") == 1 and "a path cannot" in err
