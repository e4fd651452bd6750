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
    "claims.md": "docs/claims.md",
}
# Long pages, each of whose sections is a page of its own, and the mark of these sections.
DIVIDED = {"results.md": "## ", "claims.md": "### "}
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
_LINK = re.compile(r"\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def on_config(config: Any) -> Any:
    """The tree at the side has every example, by the first sentence of its docstring."""
    for part in config.nav:
        if "Examples" in part:
            part["Examples"] += map(_page_of, EXAMPLES)
    return config


def on_files(files: Any, config: Any) -> Any:
    for path in EXAMPLES:
        files.append(File.generated(config, _page_of(path), content=_example(path)))
    for uri, path in PAGES.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        if uri in DIVIDED:
            text, sections = _divided(uri, text, DIVIDED[uri])
            for name, section in sections.items():
                files.append(File.generated(config, name, content=section))
            if uri in files.src_uris:
                files.remove(files.src_uris[uri])
        files.append(File.generated(config, uri, content=text))
    return files


def _page_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix(".md").as_posix()


def _example(path: Path) -> str:
    """A page about an example: its docstring in words, and its code."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    title, _, words = (ast.get_docstring(tree) or path.stem).partition("\n")
    code = "\n".join(source.splitlines()[tree.body[0].end_lineno :]).strip()
    words = re.sub(r"(?m)^(python|ostinato) ", r"    \1 ", words)
    return (
        f"# {title.rstrip('.')}\n{words}\n\n`{path.relative_to(ROOT)}`:\n\n```python\n{code}\n```\n"
    )


def _divided(uri: str, text: str, mark: str) -> tuple[str, dict[str, str]]:
    """A page with a list of links in place of its sections, and the sections as pages."""
    folder = uri.removesuffix(".md")
    before, *rest = re.split(rf"(?m)^(?={mark})", text)
    *rest, last = rest
    last, higher, after = last.partition("\n## ") if len(mark) > 3 else (last, "", "")
    sections, lines = {}, []
    for section in [*rest, last]:
        title, _, words = section.removeprefix(mark).partition("\n")
        slug = re.sub(r"[^\w]+", "-", title.lower()).strip("-")
        sections[f"{folder}/{slug}.md"] = f"# {title}\n{words}"
        lines.append(f"- [{title}]({folder}/{slug}.md)")
        before = before.replace(f"](#{slug})", f"]({folder}/{slug}.md)")
    listed = "" if all(line[2:] in before for line in lines) else "\n".join(lines)
    return f"{before}{listed}\n{higher}{after}", sections


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as in the repository become links within the site."""
    uri = page.file.src_uri
    whole = f"{uri.partition('/')[0]}.md"  # a section has the links of the page it is from
    here = posixpath.dirname(PAGES.get(whole if whole in DIVIDED else uri, f"docs/{uri}"))
    there = {path: uri for uri, path in PAGES.items()}

    def mended(link: re.Match) -> str:
        target = posixpath.normpath(posixpath.join(here, link[1]))
        if target in there:
            target = there[target]
        elif re.fullmatch(r"examples/[\w/]+\.py", target):
            target = target.removesuffix(".py") + ".md"
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

    def on_class_members(self, *, node: Any, cls: griffe.Class, **_: Any) -> None:
        """`units: int = setting(128, "units per layer")` is a line in its class's docstring."""
        lines = []
        for line in node.body if isinstance(node, ast.ClassDef) else ():
            call = getattr(line, "value", None)
            if isinstance(line, ast.AnnAssign) and isinstance(call, ast.Call) and call.args[1:]:
                default, words = call.args[:2]
                if text := _words(words):
                    lines.append(
                        f"    {ast.unparse(line.target)}: {text}; `{ast.unparse(default)}`"
                    )
        if lines:
            words = cls.docstring.value if cls.docstring else "Settings, with their defaults."
            cls.docstring = griffe.Docstring(
                "\n".join([words, "", "Attributes:", *lines]), parent=cls
            )


def _words(node: ast.expr) -> str:
    """The text of a string; what an f-string computes is left out."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    parts = node.values if isinstance(node, ast.JoinedStr) else []
    return "".join(part.value if isinstance(part, ast.Constant) else "…" for part in parts)
