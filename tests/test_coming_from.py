"""The page for those who come from other libraries: our code runs, and PyTorch's."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent / "docs" / "coming_from.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r'```python title="(.+?)"\n(.+?)```', PAGE, flags=re.DOTALL)
OURS = [code for title, code in BLOCKS if title == "Ostinato"]


def test_there_are_two_of_each():
    theirs = ["PyTorch", "Keras", "Darts", "reservoirpy"]
    assert [title for title, _ in BLOCKS] == [x for one in theirs for x in (one, "Ostinato")]
    for title, code in BLOCKS:
        compile(code, title, "exec")


@pytest.mark.slow
@pytest.mark.parametrize("code", [*OURS, dict(BLOCKS)["PyTorch"]], ids=range(5))
def test_it_runs(code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "coming_from.md", "exec"), {"__name__": "page"})
    assert capsys.readouterr().out
