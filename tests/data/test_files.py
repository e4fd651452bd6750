"""Files are found under OSTINATO_DATA, then in the cache."""

from pathlib import Path

import pytest

from ostinato.data.files import find_data
from ostinato.errors import BadInput
from ostinato.files import cache_folder


def put(folder, relative):
    (folder / relative).parent.mkdir(parents=True, exist_ok=True)
    (folder / relative).write_text("x")
    return folder / relative


def test_data_comes_before_the_cache(tmp_path, monkeypatch):
    data, cache = tmp_path / "data", tmp_path / "cache"
    monkeypatch.setenv("OSTINATO_DATA", str(data))
    monkeypatch.setenv("OSTINATO_CACHE", str(cache))
    cached = put(cache, "jsb/one")
    assert find_data("jsb/one") == cached
    given = put(data, "jsb/one")
    assert find_data("jsb/one") == given
    monkeypatch.setenv("OSTINATO_DATA", "")
    assert find_data("jsb/one") == cached


def test_cache_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("OSTINATO_CACHE", raising=False)
    assert cache_folder() == Path.home() / ".cache" / "ostinato"
    monkeypatch.setenv("OSTINATO_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path


@pytest.mark.parametrize(
    ("relative", "name"), [("mnist/a.gz", "mnist"), ("enwiki_xml/a.bz2", "enwiki")]
)
def test_missing_says_how_to_get_it(relative, name, tmp_path, monkeypatch):
    monkeypatch.setenv("OSTINATO_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("OSTINATO_CACHE", str(tmp_path / "cache"))
    with pytest.raises(BadInput, match=f"`ostinato data get {name}`.*OSTINATO_DATA") as found:
        find_data(relative)
    assert "\n" not in str(found.value)
    assert str(tmp_path / "data") in str(found.value) and str(tmp_path / "cache") in str(
        found.value
    )
