"""The source of a user's own classes, by which a run knows that its code has not changed."""

import ast
import inspect
import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

from ostinato.runs.config.members import find
from ostinato.runs.folder.own_source import own_source
from ostinato.runs.folder.provenance import described_function

MODULE = """
import functools
from ostinato.cells import Simple

NAME = 'class Plain: in a string'

class Plain(Simple):
    # a comment

    def step(self, state, u):
        return super().step(state, u)

@functools.total_ordering
class Decorated:
    '''class Plain: in a docstring'''
    def __lt__(self, other): return (
        False)

class Outer:
    class Plain:
        x = 'é'

def make():
    class Local:
        y = 2
    return Local

LOCAL = make()
DYNAMIC = type('Dynamic', (), {})
"""


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MODULE, encoding="utf-8")
    return inspect.getmodule(find("cell", f"{path}:Plain")[1])


def test_it_is_what_python_finds(module):
    """So the fingerprints of runs that were started by an earlier version are still the same."""
    for one in (module.Plain, module.Decorated, module.Outer, module.Outer.Plain, module.LOCAL):
        lines = inspect.cleandoc("\n" + inspect.getsource(one)).splitlines()
        code = [line for line in lines if line.strip() and not line.strip().startswith("#")]
        assert own_source([one]) == "\n".join(code)
    assert own_source([module.DYNAMIC]) == ""
    assert "comment" not in own_source([module.Plain])


def test_of_two_classes_of_a_name_it_is_the_one_that_the_name_stands_for(tmp_path):
    path = tmp_path / "twice.py"
    one = "from ostinato.cells import Simple\nclass Twice(Simple):\n    x = {}\n"
    path.write_text(one.format(1) + one.format(2))
    assert "x = 2" in own_source([find("cell", f"{path}:Twice")[1]])


def test_threads_describe_own_code_at_the_same_time(module, monkeypatch):
    """CPython 3.11 fails in `ast.parse` if two threads are in it, so nothing calls it here."""
    expected = described_function(module.Plain)["code"]

    called = []
    with monkeypatch.context() as patched, ThreadPoolExecutor(4) as pool:
        patched.setattr(ast, "parse", lambda *given, **named: called.append(given) or ast.Module())
        found = [*pool.map(described_function, itertools.repeat(module.Plain, 40))]
    assert not called and {one["code"] for one in found} == {expected}
