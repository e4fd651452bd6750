"""Named data sets: found, checked, unpacked, and never downloaded unasked."""

import bz2
import hashlib
import os

import pytest

from ostinato.data import datasets
from ostinato.data.datasets import DATASETS, DataSet, File, get, locate, missing, text_path
from ostinato.data.download import is_right
from ostinato.errors import BadInput

TEXT = b"some text, again and again\n" * 100


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """An empty data folder and an empty cache."""
    data, cache = tmp_path / "data", tmp_path / "cache"
    monkeypatch.setenv("OSTINATO_DATA", str(data))
    monkeypatch.setenv("OSTINATO_CACHE", str(cache))
    return data, cache


@pytest.fixture
def small(monkeypatch):
    """A packed text as a data set, with the address of no server."""
    file = File("small/t.bz2", "http://127.0.0.1:9/t", 90, hashlib.sha256(TEXT).hexdigest())
    monkeypatch.setitem(DATASETS, "small", DataSet("d", "s", "l", (file,), text=True))


def put(folder, path="small/t.bz2", content=None):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(bz2.compress(TEXT) if content is None else content)
    return folder / path


def real(*names):
    """The marker of a test that needs these data sets as they were published."""
    return pytest.mark.data(*(file.path for name in names for file in DATASETS[name].files))


@pytest.mark.parametrize("name", [pytest.param(name, marks=real(name)) for name in DATASETS])
def test_data_match_their_checksums(name):
    for file, path in zip(DATASETS[name].files, locate(name), strict=True):
        assert is_right(path, file.sha256, path.suffix), path
        if name != "mnist":  # whose copies may be packed again
            assert path.stat().st_size == file.size


@real("tinyshakespeare", "enwiki")
def test_texts_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("OSTINATO_CACHE", str(tmp_path))
    assert text_path("tinyshakespeare").stat().st_size == 1_115_394
    assert list(tmp_path.iterdir()) == []
    wiki = text_path("enwiki")
    assert wiki == tmp_path / "enwiki_xml" / "enwiki-latest-pages-articles1-shortened.xml"
    assert wiki.stat().st_size == 6_089_746
    assert wiki.read_bytes().startswith(b"<mediawiki")


def test_every_entry_is_complete():
    for name, data in DATASETS.items():
        assert data.description and data.source and data.licence and data.files, name
        assert data.size == sum(file.size for file in data.files) > 0
        for file in data.files:
            assert file.url.startswith("https://") and len(file.sha256) == 64


def test_unknown_name(folders):
    for ask in (locate, missing, get):
        with pytest.raises(BadInput, match=r"no data set 'nope'.*tinyshakespeare, enwiki, mnist"):
            ask("nope")
    assert text_path("nope") is None
    assert text_path("mnist") is None


@pytest.mark.parametrize("name", DATASETS)
def test_missing_data_say_how_to_get_them(folders, name):
    with pytest.raises(BadInput, match=f"`ostinato data get {name}`"):
        locate(name)
    assert missing(name) == list(DATASETS[name].files)


def test_found_in_the_data_folder_first(folders, small):
    data, cache = folders
    in_cache = put(cache)
    assert locate("small") == [in_cache]
    in_data = put(data)
    assert locate("small") == [in_data]
    assert missing("small") == []


def test_get_keeps_what_is_there(folders, small):
    there = put(folders[0])
    assert get("small") == [there]


def test_get_refuses_what_is_wrong(folders, small):
    there = put(folders[0], content=bz2.compress(b"other"))
    with pytest.raises(BadInput, match=f"{there} is not the file it should be"):
        get("small")
    assert there.exists()  # it is the user's folder


def test_get_downloads_what_is_missing_into_the_cache(folders, monkeypatch):
    data, cache = folders
    here = hashlib.sha256(b"here").hexdigest()
    one, two = File("pair/one", "u/1", 4, here), File("pair/two", "u/2", 4, "b")
    monkeypatch.setitem(DATASETS, "pair", DataSet("d", "s", "l", (one, two)))
    put(data, "pair/one", b"here")
    shown = []

    def pretend(url, target, size, sha256, show):
        assert (url, target, size, sha256) == ("u/2", cache / "pair/two", 4, "b")
        put(cache, "pair/two", b"come")
        show(4)

    monkeypatch.setattr(datasets, "download", pretend)
    assert get("pair", lambda *news: shown.append(news)) == [data / "pair/one", cache / "pair/two"]
    assert shown == [(two, 4)]


def test_text_is_unpacked_once(folders, small):
    put(folders[0])
    text = text_path("small")
    assert text == folders[1] / "small" / "t"
    assert text.read_bytes() == TEXT
    assert [x.name for x in text.parent.iterdir()] == ["t"]
    before = text.stat().st_mtime_ns
    assert text_path("small").stat().st_mtime_ns == before


def test_damaged_text_is_not_unpacked(folders, small):
    put(folders[0], content=bz2.compress(TEXT)[:-5])
    with pytest.raises(BadInput, match="is damaged"):
        text_path("small")
    assert not folders[1].exists()


def test_failing_unpack_leaves_nothing(folders, small, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    put(folders[0])
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadInput, match=r"cannot be unpacked to .*No space left"):
        text_path("small")
    assert list((folders[1] / "small").iterdir()) == []
