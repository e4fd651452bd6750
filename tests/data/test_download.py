"""Downloads against a server on this machine that misbehaves as told."""

import gzip
import hashlib
import http.server
import socket
import threading

import pytest

from ostinato.data.download import download
from ostinato.errors import BadInput

BODY = bytes(range(256)) * 1000
SHA = hashlib.sha256(BODY).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Serves `body`, and keeps the `Range` header of every request in `asked`."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.body, self.asked = BODY, []
        self.ranges = True  # whether Range is honoured
        self.status = 200
        self.cut = None  # close the connection after so many bytes
        self.announce = True  # send Content-Length
        self.shift = 0  # answer another range than the one asked for
        self.stall = threading.Event()  # set it to let a stalled answer go
        self.url = f"http://127.0.0.1:{self.server_port}/data.bin"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        server, asked = self.server, self.headers.get("Range")
        server.asked.append(asked)
        if server.status != 200:
            return self.send_error(server.status)
        begin = 0
        if asked and server.ranges:
            begin = int(asked.removeprefix("bytes=").removesuffix("-")) + server.shift
            if begin >= len(server.body):
                return self.send_error(416)
            self.send_response(206)
            whole = len(server.body)
            self.send_header("Content-Range", f"bytes {begin}-{whole - 1}/{whole}")
        else:
            self.send_response(200)
        body = server.body[begin:]
        if server.announce:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if server.cut is None else body[: server.cut])
        if server.cut == 0:
            server.stall.wait(10)

    def log_message(self, format, *args):
        pass


@pytest.fixture
def server():
    with Server() as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        found.stall.set()
        found.shutdown()
        thread.join()


@pytest.fixture
def target(tmp_path):
    return tmp_path / "some" / "data.bin"


def part(target):
    return target.with_name(target.name + ".part")


def begun(target, content):
    target.parent.mkdir()
    part(target).write_bytes(content)


def is_whole(target):
    return target.read_bytes() == BODY and not part(target).exists()


def test_whole(server, target):
    seen = []
    download(server.url, target, len(BODY), SHA, seen.append)
    assert is_whole(target)
    assert server.asked == [None]
    assert seen[0] == 0 and seen[-1] == len(BODY) and seen == sorted(seen)


def test_goes_on_after_a_cut(server, target):
    server.cut = 100_000
    with pytest.raises(BadInput, match=r"stopped after 100,000 of 256,000 bytes"):
        download(server.url, target, len(BODY), SHA)
    assert part(target).read_bytes() == BODY[:100_000] and not target.exists()
    server.cut = None
    seen = []
    download(server.url, target, len(BODY), SHA, seen.append)
    assert is_whole(target)
    assert server.asked == [None, "bytes=100000-"]
    assert seen[0] == 100_000


def test_server_without_ranges_starts_anew(server, target):
    server.ranges = False
    begun(target, b"x" * 1000)
    download(server.url, target, len(BODY), SHA)
    assert is_whole(target)
    assert server.asked == ["bytes=1000-"]


def test_server_with_another_range_starts_anew(server, target):
    server.shift = 7
    begun(target, BODY[:1000])
    download(server.url, target, len(BODY), SHA)
    assert is_whole(target)
    assert server.asked == ["bytes=1000-", None]


def test_refused_range_starts_anew(server, target):
    server.shift = len(BODY)
    begun(target, BODY[:1000])
    download(server.url, target, len(BODY), SHA)
    assert is_whole(target)
    assert server.asked == ["bytes=1000-", None]


def test_complete_part_needs_no_server(server, target):
    begun(target, BODY)
    download(server.url, target, len(BODY), SHA)
    assert is_whole(target)
    assert server.asked == []


def test_longer_part_starts_anew(server, target):
    begun(target, BODY + b"more")
    download(server.url, target, len(BODY), SHA)
    assert is_whole(target)
    assert server.asked == [None]


@pytest.mark.parametrize("start", [b"", b"x" * 1000], ids=["content", "part"])
def test_wrong_content_is_deleted(server, target, start):
    begun(target, start)
    if not start:
        server.body = BODY[::-1]
    with pytest.raises(BadInput, match=f"sha256 is not {SHA}.*deleted"):
        download(server.url, target, len(BODY), SHA)
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize("announce", [True, False])
def test_longer_than_expected(server, target, announce):
    server.announce, server.body = announce, BODY + b"more"
    with pytest.raises(BadInput, match=r"256,004 bytes where 256,000|more than the 256,000 bytes"):
        download(server.url, target, len(BODY), SHA)
    assert list(target.parent.iterdir()) == []


def test_shorter_than_expected(server, target):
    server.body = BODY[:-4]
    with pytest.raises(BadInput, match="255,996 bytes where 256,000 are expected"):
        download(server.url, target, len(BODY), SHA)
    assert list(target.parent.iterdir()) == []


def test_not_found(server, target):
    server.status = 404
    begun(target, BODY[:1000])
    with pytest.raises(BadInput, match=f"cannot download {server.url}: 404 Not Found"):
        download(server.url, target, len(BODY), SHA)
    assert part(target).read_bytes() == BODY[:1000]


def test_no_server(target):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/data.bin"
    begun(target, BODY[:1000])
    with pytest.raises(BadInput, match=r"stopped after 1,000 of 256,000 bytes.*refused") as found:
        download(url, target, len(BODY), SHA)
    assert "\n" not in str(found.value)
    assert part(target).read_bytes() == BODY[:1000]


def test_a_link_is_not_written_through(server, target, tmp_path):
    outside = tmp_path / "precious"
    outside.write_text("precious")
    target.parent.mkdir(parents=True, exist_ok=True)
    part(target).symlink_to(outside)
    with pytest.raises(BadInput, match="is a symbolic link"):
        download(server.url, target, len(BODY), SHA)
    assert outside.read_text() == "precious"


def test_stalled_server(server, target):
    server.cut = 0
    with pytest.raises(BadInput, match=r"stopped after 0 of 256,000 bytes \(timed out\)"):
        download(server.url, target, len(BODY), SHA, timeout=0.1)


def test_folder_that_cannot_be_written(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BadInput, match=r"stopped after 0 .*file"):
        download(server.url, tmp_path / "file" / "data.bin", len(BODY), SHA)


def test_checksum_is_of_what_is_packed(server, tmp_path):
    for level in (1, 9):
        server.body = gzip.compress(BODY, level)
        target = tmp_path / f"{level}.gz"
        download(server.url, target, len(server.body), SHA)
        assert gzip.decompress(target.read_bytes()) == BODY


def test_broken_packing_is_deleted(server, tmp_path):
    server.body = gzip.compress(BODY)[:-9]
    with pytest.raises(BadInput, match="deleted"):
        download(server.url, tmp_path / "data.gz", len(server.body), SHA)
    assert list(tmp_path.iterdir()) == []
