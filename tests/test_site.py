"""The documentation site is built without a warning, is complete, and needs no other server."""

import importlib
import inspect
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from studio.browser import BROWSER, Browser
from test_names import listed

ROOT = Path(__file__).parent.parent
# What a browser loads by itself; a link that is clicked may lead anywhere.
LOADED = (
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?((?:https?:)?//[^\"'\s>]+)",
    r"<link\b(?![^>]*rel=[\"']?canonical)[^>]*\bhref=[\"']?((?:https?:)?//[^\"'\s>]+)",
    r"@import\s+(?:url\()?[\"']?((?:https?:)?//[^\"'\s)]+)",
    r"url\([\"']?((?:https?:)?//[^\"'\s)]+)",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    return folder


@pytest.mark.slow
def test_no_page_loads_anything_from_another_server(site):
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = path.read_text(encoding="utf-8")
        assert not [url for pattern in LOADED for url in re.findall(pattern, text)], path


def test_what_a_browser_would_load_is_recognised():
    pages = [
        '<script src="https://example.org/a.js"></script>',
        '<link rel="stylesheet" href="//example.org/a.css">',
        "@import url('https://example.org/a.css')",
        "src: url(https://example.org/a.woff2)",
    ]
    for page in pages:
        assert any(re.search(pattern, page) for pattern in LOADED)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="there is no chromium on this machine")
def test_pages_fit_and_the_search_finds_without_a_server(site):
    """Opened as files: no page is endless or wider than a phone, and none asks another machine."""
    sizes = "['Height', 'Width'].map(which => document.documentElement['scroll' + which])"
    browser = Browser(400, 900)
    try:
        for path in {*site.rglob("*.html")} - {site / "404.html"}:
            browser.open(path.as_uri())
            height, width = browser.run(sizes)
            assert height < 20_000 and width <= 400, path
        browser.open((site / "reference" / "ostinato.html").as_uri())
        browser.size(1280, 900)
        browser.call("Page.bringToFront")
        browser.run("document.querySelector('.md-search__input').focus()")
        for letter in "zoneout":
            browser.key(letter)
        browser.wait("document.querySelector('.md-search-result__item a[href*=zoneout i]')")
        assert {url.partition(":")[0] for url in browser.requests} == {"file", "data"}
    finally:
        browser.close()


@pytest.mark.slow
def test_every_listed_name_has_an_entry(site):
    """A name is looked up in the inventory of the site, by the module that defines it."""
    *_, packed = (site / "objects.inv").read_bytes().split(b"\n", 4)
    entries = {line.split()[0] for line in zlib.decompress(packed).decode().splitlines()}
    for package, names in listed().items():
        for name in names:
            value = getattr(importlib.import_module(package), name)
            if inspect.isclass(value) or inspect.isfunction(value):
                assert f"{value.__module__}.{value.__qualname__}" in entries


@pytest.mark.slow
def test_the_code_of_the_first_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "getting_started.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.+?)```", text, flags=re.DOTALL):
        exec(compile(block, "getting_started.md", "exec"), {"__name__": "page"})
        assert capsys.readouterr().out


def test_the_changelog_knows_the_version():
    version = re.search(r'(?m)^version = "(.+)"', (ROOT / "pyproject.toml").read_text())[1]
    headings = re.findall(r"(?m)^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert headings[0] == "Unreleased" and version in headings
