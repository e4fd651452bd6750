"""The tutorials, from start to finish: their files are written, their commands and code run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r'```(python|bash|c)(?: title="(.+?)")?\n(.+?)```', re.DOTALL)
# What a page says that its last commands print, or files that they leave.
SHOWN = {
    "sales": ["forecast.png", "live.state"],
    "paper": ["table.tex"],
    "book": ["writer.html"],
    "torch": ["reach.png", "adder"],
}


def test_every_tutorial_is_tested():
    assert {path.stem for path in TUTORIALS} == {*SHOWN}


def test_every_picture_is_small_and_shown():
    folder = ROOT / "docs" / "tutorials"
    pages = "".join(path.read_text(encoding="utf-8") for path in TUTORIALS)
    for path in folder.glob("*.png"):
        assert path.stat().st_size < 150_000 and f"]({path.name})" in pages, path


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_runs_from_start_to_finish(page, tmp_path):
    """As for a reader: code in one session of Python, commands in a shell, files beside them."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, words in {"python": "", "ostinato": " -m ostinato"}.items():
        (tools / name).write_text(f'#!/bin/sh\nexec {sys.executable}{words} "$@"\n')
        (tools / name).chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    lines = ["import subprocess"]
    for language, title, code in blocks:
        if title:
            lines.append(f"open({title!r}, 'w').write({code!r})")
        elif language == "bash":
            shell = ["bash", "-e", "-o", "pipefail", "-c", code]
            lines.append(f"subprocess.run({shell!r}, check=True)")
        else:
            lines.append(f"exec(compile({code!r}, {page.name!r}, 'exec'))")
    found = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=work,
        env={**os.environ, "JAX_ENABLE_X64": "0", "PATH": f"{tools}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr[-3000:]
    assert [name for name in SHOWN[page.stem] if not (work / name).is_file()] == []
