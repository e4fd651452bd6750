"""What `mkdocs` needs to know about this repository.

`on_files` and `on_page_markdown` are hooks of MkDocs: they add the pages that live outside `docs/`
and mend the links between the two. `Docstrings` is an extension of Griffe, which reads the
docstrings for the reference pages.
"""

import ast
import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent

# Pages of the site that are other files of the repository.
PAGES = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "results.md": "benchmarks/RESULTS.md",
}
_LINK = re.compile(r"\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    for uri, path in PAGES.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as in the repository become links within the site."""
    uri = page.file.src_uri
    here = posixpath.dirname(PAGES.get(uri, f"docs/{uri}"))
    there = {path: uri for uri, path in PAGES.items()}

    def mended(link: re.Match) -> str:
        target = posixpath.normpath(posixpath.join(here, link[1]))
        if target in there:
            target = there[target]
        elif target.startswith("docs/"):
            target = target.removeprefix("docs/")
        else:
            return link[0]  # leads nowhere on the site: the strict build says so
        return f"]({posixpath.relpath(target, posixpath.dirname(uri) or '.')}{link[2] or ''})"

    return _LINK.sub(mended, markdown)


class Docstrings(griffe.Extension):
    """How this package writes what Griffe reads."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """`Example:` is a section of code, which Griffe calls `Examples:`."""
        if obj.docstring:
            obj.docstring.value = re.sub(r"(?m)^Example:$", "Examples:", obj.docstring.value)

    def on_alias_instance(self, *, node: Any, alias: griffe.Alias, **_: Any) -> None:
        """A name that is imported `as` itself is public, by the convention of type checkers."""
        if isinstance(node, ast.ImportFrom):
            alias.public = any(name.asname == name.name == alias.name for name in node.names)

    def on_attribute_instance(self, *, node: Any, attr: griffe.Attribute, **_: Any) -> None:
        """`units: int = setting(128, "units per layer")` is a default and its description."""
        call = getattr(node, "value", None)
        if isinstance(node, ast.AnnAssign) and isinstance(call, ast.Call) and len(call.args) > 1:
            default, words = call.args[:2]
            if text := _words(words):
                attr.value = ast.unparse(default)
                attr.docstring = griffe.Docstring(text, parent=attr)


def _words(node: ast.expr) -> str:
    """The text of a string; what an f-string computes is left out."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    parts = node.values if isinstance(node, ast.JoinedStr) else []
    return "".join(part.value if isinstance(part, ast.Constant) else "…" for part in parts)
