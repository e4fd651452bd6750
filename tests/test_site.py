"""The documentation site is built without a warning, is complete, and needs no other server."""

import inspect
import re
import subprocess
import sys
import zlib
from pathlib import Path
from types import ModuleType

import pytest

import ostinato

ROOT = Path(__file__).parent.parent
ROOMS = [name for name in ostinato.__all__ if isinstance(getattr(ostinato, name), ModuleType)]
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


def public(room):
    """The classes and functions that a package or module offers and that have a docstring."""
    module = getattr(ostinato, room)
    package = hasattr(module, "__path__")
    for name in getattr(module, "__all__", vars(module)):
        found = getattr(module, name)
        if not (inspect.isclass(found) or inspect.isfunction(found)) or name.startswith("_"):
            continue
        own = found.__module__.startswith(f"{module.__name__}." if package else module.__name__)
        if own and found.__doc__:
            yield f"{found.__module__}.{found.__qualname__}"


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_has_an_entry(site, room):
    """A name is looked up in the inventory of the site, by the module that defines it."""
    *_, packed = (site / "objects.inv").read_bytes().split(b"\n", 4)
    entries = {line.split()[0] for line in zlib.decompress(packed).decode().splitlines()}
    names = set(public(room))
    assert names
    assert names <= entries, f"docs/reference lacks {sorted(names - entries)}"


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
