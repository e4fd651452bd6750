"""What a folder names is not run unless the user has named it, imported it or allowed it."""

import json
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from ostinato.contrast import Spec, contrast
from ostinato.errors import BadInput
from ostinato.evolve import Budget, Plan, evolve
from ostinato.evolve.source import source_of
from ostinato.runs import Config, allow, open_run, train
from ostinato.runs.config import members as finding
from ostinato.runs.config.config import flattened
from ostinato.runs.config.members import find
from ostinato.runs.config.permission import allowed
from ostinato.studio import worker

EVIL = """
from pathlib import Path
Path({ran!r}).touch()
from ostinato.cells import Elman
from ostinato.tasks import Adding
class Evil(Elman): ...
class Task(Adding): ...
def learner(rate): Path({ran!r}).touch()
"""
SMALL = {"task": "adding", "length": 5, "units": 3, "batch": 2, "steps": 1}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return train(Config(**SMALL, cell="simple"), tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture
def evil(finished, tmp_path, monkeypatch):
    """A file whose code leaves a trace, and a run of someone else, which names it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "evil", raising=False)  # of a test before
    monkeypatch.setattr(finding, "_LOADED", {})
    path = tmp_path / "folder" / "evil.py"
    path.parent.mkdir()
    path.write_text(EVIL.format(ran=str(tmp_path / "ran")))
    run = shutil.copytree(finished.path, path.parent / "run")
    rename(run, "cell", f"{path}:Evil")
    return path


def rename(run: Path, section: str, name: str) -> None:
    """Name another class, as whoever sends a folder can: the checksum tells nobody anything."""
    config = json.loads((run / "config.json").read_bytes())
    config[section]["name"] = name
    (run / "config.json").write_text(json.dumps(config))


def has_run(path: Path) -> bool:
    return (path.parent.parent / "ran").exists()


@pytest.mark.parametrize(
    "verb",
    [
        *(["evaluate"], ["sample"], ["lens"], ["inside"], ["apply"], ["compare"]),
        ["train", "--resume", "--run"],
    ],
)
def test_no_verb_runs_the_code_of_a_folder(ostinato, evil, verb):
    run = evil.parent / "run"
    more = [run] if verb == ["compare"] else [evil] if verb == ["apply"] else []
    code, out, err = ostinato(*verb, run, *more)
    assert code == 2 and not out and err.count("\n") == 1 and not has_run(evil)
    assert f"this would run {evil}, which you have not allowed" in err
    assert f"ostinato allow {evil}" in err
    assert str(evil.parent) not in sys.path


def test_no_page_of_the_studio_runs_the_code_of_a_folder(evil):
    request = {"path": str(evil.parent / "run"), "what": "text"}
    for name in ("findings", "inside", "forecast", "pictures"):
        with pytest.raises(BadInput, match=f"ostinato allow {evil}"):
            worker.DO[name](request)
    with pytest.raises(BadInput, match=f"ostinato allow {evil}"):
        next(worker.STREAMS["play"](request))
    assert not has_run(evil)


@pytest.mark.parametrize("section", ["task", "cell", "learner"])
def test_each_section_is_asked_for(evil, section):
    name = f"{evil}:{ {'task': 'Task', 'cell': 'Evil', 'learner': 'learner'}[section] }"
    with pytest.raises(BadInput, match="which you have not allowed"):
        Config.from_json({section: {"name": name}})
    if section == "learner":
        with pytest.raises(BadInput, match="which you have not allowed"):
            Config.from_json({"learner": {"name": "hf"}, "first": {"name": name}})
    assert not has_run(evil)


@pytest.mark.parametrize("name", ["evil:Evil", "package.evil:Evil"])
def test_modules_of_the_current_folder_are_not_imported(evil, monkeypatch, name):
    (evil.parent / "package").mkdir()
    (evil.parent / "package" / "__init__.py").write_text(evil.read_text())
    (evil.parent / "package" / "evil.py").write_text(evil.read_text())
    monkeypatch.chdir(evil.parent)
    monkeypatch.setattr(sys, "path", [*sys.path])
    rename(evil.parent / "run", "cell", name)
    with pytest.raises(BadInput, match=r"this would run .*evil.py, which you have not allowed"):
        open_run(evil.parent / "run")
    assert not has_run(evil) and str(evil.parent) not in sys.path and "package" not in sys.modules


@pytest.mark.parametrize(
    "name", ["os:abort", "antigravity:x", "this:Cell", "builtins:input", "nowhere:Cell", "..:x"]
)
def test_no_function_of_python_is_called_or_imported_because_a_folder_says_so(name):
    before = {*sys.modules}
    for role in ("cell", "task", "learner"):
        with pytest.raises(BadInput, match="allow"):
            find(role, name, named=False)
    assert {*sys.modules} <= before | {"stringprep"}


@pytest.mark.parametrize("name", ["\ud800/x.py:E", "\ud800:E", "x" * 5000 + ".py:E", "/:E"])
def test_names_that_cannot_be_paths(name):
    for named in (True, False):
        with pytest.raises(BadInput):
            find("cell", name, named=named)


def test_what_is_imported_or_of_optax_needs_no_permission():
    name = f"{__name__}:Config"
    with pytest.raises(BadInput, match="allow"):
        find("cell", name, named=False)
    assert find("cell", "ostinato.cells.lstm:LSTM", named=False)[1].__name__ == "LSTM"
    assert find("learner", "optax:lion", named=False)[0] == "optax:lion"


def test_allowed_once_and_again_after_a_change(ostinato, evil, monkeypatch):
    code, out, err = ostinato("allow", evil)
    assert (code, out, err) == (0, f"allowed: {evil}\n", "")
    (entry,) = Path(os.environ["XDG_CONFIG_HOME"]).glob("ostinato/allowed/*")
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert find("cell", f"{evil}:Evil", named=False)[1].__name__ == "Evil" and has_run(evil)
    (evil.parent.parent / "ran").unlink()
    evil.write_text(evil.read_text() + "# another\n")
    with pytest.raises(BadInput, match="has changed since you allowed it"):
        find("cell", f"{evil}:Evil", named=False)
    copy = evil.with_name("copy.py")  # beside other modules, which it might import
    copy.write_text(evil.read_text())
    allow(evil)
    with pytest.raises(BadInput, match="which you have not allowed"):
        find("cell", f"{copy}:Evil", named=False)
    assert not has_run(evil)


@pytest.mark.parametrize("name", ["{file}:Evil", "evil:Evil"])
def test_who_trains_with_a_file_has_allowed_it(ostinato, evil, monkeypatch, name):
    monkeypatch.chdir(evil.parent)
    monkeypatch.setattr(sys, "path", [*sys.path])
    config = Config(**SMALL, cell=name.format(file=evil))
    run = train(config, "own").path
    for module in ("evil", "own_evil"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(finding, "_LOADED", {})
    assert open_run(run).config.cell.kind.__name__ == "Evil"  # in another process, as it were
    monkeypatch.delitem(sys.modules, "evil", raising=False)


def test_a_cache_beside_an_allowed_module_is_not_run(evil, monkeypatch):
    monkeypatch.chdir(evil.parent)
    monkeypatch.setattr(sys, "path", [*sys.path])
    good = evil.with_name("good.py")
    good.write_text("from ostinato.cells import Elman\nclass Good(Elman): ...\n")
    other = evil.read_bytes() + b"#" * 1000
    import importlib._bootstrap_external as inside

    cache = Path(inside.cache_from_source(str(good)))
    cache.parent.mkdir()
    code = compile(other, str(good), "exec")
    found = good.stat()
    cache.write_bytes(inside._code_to_timestamp_pyc(code, int(found.st_mtime), found.st_size))
    allow(good)
    assert find("cell", "good:Good", named=False)[1].__name__ == "Good"
    monkeypatch.delitem(sys.modules, "good")
    assert not has_run(evil)


def test_folders_of_contrasts_and_searches_are_asked_for_too(evil):
    for given in ({"cells": [f"{evil}:Evil"]}, {"settings": {"learner": f"{evil}:learner"}}):
        folder = evil.parent / f"contrast-{len(given)}-{next(iter(given))}"
        folder.mkdir()
        (folder / "contrast.json").write_text(json.dumps({"tasks": ["adding"], **given}))
        from ostinato.contrast.entries import entries_of
        from ostinato.contrast.run import spec_of

        with pytest.raises(BadInput, match="which you have not allowed"):
            entries_of(spec_of(folder))
    plan = Plan((f"{evil}:Task:length=5",), budget=Budget(rungs=1, steps=1, batch=2, units=2))
    search = evil.parent / "search"
    search.mkdir()
    (search / "evolution.json").write_text(json.dumps(plan.as_json()))
    with pytest.raises(BadInput, match="which you have not allowed"):
        evolve(plan, search, 1, resume=True)
    assert not has_run(evil)


def test_a_contrast_with_a_class_of_one_s_own_goes_on(evil, monkeypatch):
    settings = {"length": 5, "units": 2, "batch": 2, "steps": 1}
    given = {"cells": [f"{evil}:Evil"], "tasks": ["adding"], "trials": 0, "seeds": 1}
    spec = Spec.from_dict({**given, "settings": settings})
    contrast(spec, "contrast")
    assert allowed(evil)
    monkeypatch.setattr(finding, "_LOADED", {})
    contrast(spec, "contrast", resume=True)


def test_what_a_worker_of_a_cluster_gets_is_named_by_the_user(evil):
    config = Config(**SMALL, cell=f"{evil}:Evil")
    assert Config(**flattened(config.as_json())) == config


def test_without_a_home_nothing_is_kept_in_the_current_folder(evil, monkeypatch):
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert allowed(evil) is None
    with pytest.raises(BadInput, match="no home folder"):
        allow(evil)
    with pytest.warns(RuntimeWarning, match=r"will ask you to allow .*evil.py"):
        train(Config(**SMALL, cell=f"{evil}:Evil"), "own")


def test_words_of_a_plan_stay_words_in_the_source_of_a_cell():
    from ostinato.evolve.cell import SIMPLE

    source = source_of(SIMPLE, note='"""\nimport evil\n"""\\')
    parsed = compile(source, "best.py", "exec")
    assert "import evil" in parsed.co_consts[0] and "evil" not in parsed.co_names


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import os; os._exit(7)", "it calls os._exit(7)"),
        ("class E(BaseException): ...\nraise E('so')", "E: so"),
    ],
)
def test_what_ends_the_process_is_one_line(ostinato, tmp_path, code, words):
    (tmp_path / "ends.py").write_text(code)
    code, out, err = ostinato("train", "--cell", "ends.py:X")
    assert code == 2 and not out and err.count("\n") == 1
    assert "ends.py cannot be imported" in err and words in err


PRINTS = """
from ostinato.cells import Simple
print("imported")
class Prints(Simple):
    def __init__(self, *given, **named):
        print("made")
        super().__init__(*given, **named)
class Ends(Simple):
    def __init__(self, *given, **named):
        raise KeyboardInterrupt
class Leaves(Simple):
    def __init__(self, *given, **named):
        raise SystemExit(0)
"""


def test_what_own_code_prints_is_not_in_the_json(ostinato, tmp_path):
    (tmp_path / "prints.py").write_text(PRINTS)
    options = [f"--{name}={value}" for name, value in SMALL.items()]
    code, out, err = ostinato("train", "--json", "--cell", "prints.py:Prints", *options)
    assert code == 0 and json.loads(out)["reason"] == "done", err
    assert "imported" in err and "made" in err
    for name in ("Ends", "Leaves"):
        code, out, err = ostinato("train", "--json", "--cell", f"prints.py:{name}", *options)
        assert code == 2 and json.loads(out)["exit"] == 2 and "code of your own" in err


@pytest.mark.parametrize("name", ["/dev/zero:X", "{pipe}:X", "{big}:X"])
def test_only_regular_files_of_a_sensible_size_are_read_as_code(ostinato, tmp_path, name):
    os.mkfifo(tmp_path / "pipe.py")
    with open(tmp_path / "big.py", "wb") as file:
        file.truncate(17 << 20)
    name = name.format(pipe=tmp_path / "pipe.py", big=tmp_path / "big.py")
    code, _, err = ostinato("train", "--cell", name)
    assert code == 2 and "cannot read" in err
