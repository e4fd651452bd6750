"""What the pages say can be done: their code, calls, names and links."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

from ostinato import lens

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


WITH_CODE = (
    "lens",
    "hessian_free",
    "programs",
    "turing",
    "reservoirs",
    "contrast",
    "reproduce",
    "evolve",
)
PAGES = [f"docs/{name}.md" for name in WITH_CODE]


@pytest.mark.parametrize("page", PAGES)
def test_the_code_runs(page, capsys):
    """As it stands; that of README.md and docs/training.md is run in `test_readme.py`."""
    blocks = re.findall(r"```python\n(.+?)```", text_of(page), flags=re.DOTALL)
    assert blocks
    for code in blocks:
        exec(compile(code, page, "exec"), {"__name__": "page"})
        assert capsys.readouterr().out


def test_the_calls_of_the_lens_page_have_the_arguments_that_are_needed():
    """Every `name(arguments)` of the table, and what a cell of the table adds as `key=value`."""
    rows = re.findall(r"(?m)^\| `.+$", text_of("docs/lens.md"))
    calls = [call for row in rows for call in re.findall(r"`(\w+\([^`]*\))`", row)]
    assert len(calls) >= 10
    for call in calls:
        tree = ast.parse(call, mode="eval").body
        signature = inspect.signature(getattr(lens, tree.func.id))
        signature.bind(*(a.id for a in tree.args), **{k.arg: None for k in tree.keywords})
    (jacobian,) = (row for row in rows if "`jacobian_by_lag(" in row)
    assert "probes=2, key=key" in jacobian


def home(name):
    """The module that a dotted name of the package belongs to, and what it is there."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        found = module
        for part in parts[count:]:
            found = getattr(found, part)
        return module, found
    raise AssertionError(f"there is no {name}")


@pytest.mark.parametrize("page", PAGES)
def test_names_are_where_the_page_says(page):
    """A name in a package is one that it exports; in a plain module it must be defined there."""
    for name in set(re.findall(r"\bostinato(?:\.[a-zA-Z_]\w*)+", text_of(page))):
        module, found = home(name)
        if not hasattr(module, "__path__") and found is not module:
            assert found.__module__ == module.__name__, f"{name} is in {found.__module__}"


def headings(page):
    """The anchors of a page: its headings as GitHub spells them."""
    found = re.findall(r"(?m)^#+ (.+)$", text_of(page))
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in found}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if re.match(r"https?://|mailto:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), f"{page}: {link}"
        if anchor:
            assert anchor in headings(target.relative_to(ROOT).as_posix()), f"{page}: {link}"
