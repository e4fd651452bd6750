"""A run folder to give away opens anywhere, without its data, and says nothing of its maker."""

import json
import os
import shutil

import numpy as np
import pytest

from ostinato import Config, open_run, train
from ostinato.errors import BadInput
from ostinato.export.run_export import export_run
from ostinato.files import write_new
from ostinato.tasks import Adding, Series

SMALL = {"units": 4, "batch": 2, "steps": 4, "validate_every": 2, "checkpoint_every": 2}
CELL = """
from ostinato.cells import LSTM

class Mine(LSTM):
    pass
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The folder of somebody who trains."""
    return tmp_path_factory.mktemp("somebody")


@pytest.fixture(scope="module")
def writer(home):
    (home / "secret.txt").write_text("a quick brown fox is here. " * 40)
    config = Config(file=str(home / "secret.txt"), cell="lstm", length=9, **SMALL)
    return train(config, home / "writer")


@pytest.fixture(scope="module")
def given(writer, home, tmp_path_factory):
    """What somebody else gets of it, after all the rest is gone."""
    there = tmp_path_factory.mktemp("else")
    written = export_run(writer, "folder", home / "fox")
    assert {path.name for path in written} >= {"README.md", "config.json", "model.json"}
    shutil.move(home / "fox", there / "fox")
    return there / "fox"


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_it_answers_like_the_run(writer, given, ostinato, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = open_run(given)
    assert run.sample("a ", 20, temperature=0) == writer.sample("a ", 20, temperature=0)
    assert run.saved().step == writer.saved().step and run.steps() == [run.saved().step]
    code, out, errors = ostinato("sample", given, "--prompt", "a ", "--length", "9", "--seed", "3")
    assert code == 0 and out.startswith("a "), errors
    (tmp_path / "other.txt").write_text("a fox is quick. " * 20)
    code, out, errors = ostinato("evaluate", given, "other.txt", "--samples", "0", "--json")
    assert code == 0, errors
    own, _ = ostinato("evaluate", writer.path, "other.txt", "--samples", "0", "--json")[1:]
    one, two = ({k: v for k, v in json.loads(x).items() if k != "run"} for x in (out, own))
    assert one == two
    code, out, errors = ostinato("export", given, "--to", "html", "--out", "page")
    assert code == 0 and (tmp_path / "page.html").is_file(), errors
    code, out, errors = ostinato("export", given, "--to", "folder", "--out", "again")
    assert code == 0, errors  # it can be given on, and nothing changes
    again = {p.relative_to(tmp_path / "again"): x for p, x in contents(tmp_path / "again").items()}
    first = {p.relative_to(given): x for p, x in contents(given).items()}
    assert {p: x for p, x in again.items() if p.name != "README.md"} == {
        p: x for p, x in first.items() if p.name != "README.md"
    }


def test_it_holds_no_data_and_no_path(given, home):
    everything = b"".join(contents(given).values())
    for word in (str(home), os.path.expanduser("~/"), str(home.parent), "a quick", "preview"):
        assert word.encode() not in everything, word
    assert b"secret.txt" in everything  # its name, not where it was


def test_the_card_says_what_it_is(given, writer):
    card = (given / "README.md").read_text()
    for words in (
        "# writer",
        "(lstm, ",
        "`secret.txt`",
        writer.manifest["task"]["data"],
        "| bits per character | ",
        "| bits per character: chance | ",
        "## Licence",
        "ostinato sample FOLDER",
        "length = 9",
        f"{writer.saved().step:,} steps with adam",
    ):
        assert words in card, words


def test_a_licence_goes_into_the_card(writer, tmp_path):
    export_run(writer, "folder", tmp_path / "free", licence="CC BY 4.0")
    card = (tmp_path / "free" / "README.md").read_text()
    assert "## Licence\n\nCC BY 4.0\n" in card and "Not stated" not in card
    for to, licence in (("onnx", "MIT"), ("folder", " "), ("folder", "MIT\nmore")):
        with pytest.raises(BadInput, match="--licence is a line"):
            export_run(writer, to, tmp_path / "none", licence=licence)
    assert [x.name for x in tmp_path.iterdir()] == ["free"]


def test_what_needs_the_data_says_so_in_one_line(given, ostinato, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in (["evaluate", given], ["train", "--resume", "--run", given], ["lens", given]):
        code, _, errors = ostinato(*command)
        assert code and errors.count("\n") == 1 and "secret.txt" in errors, (command, errors)


def test_a_damaged_folder_is_refused_in_one_line(given, tmp_path):
    for number, (path, content) in enumerate(contents(given).items()):
        if path.name in ("README.md", "events.jsonl"):
            continue
        for harm in (b"", content[: len(content) // 2], content.replace(b"lstm", b"gruu"), None):
            copy = tmp_path / f"{number}-{hash(harm)}"
            shutil.copytree(given, copy)
            place = copy / path.relative_to(given)
            place.unlink()
            if harm is not None:
                place.write_bytes(harm)
            if harm == content:
                continue
            with pytest.raises(BadInput) as refused:
                open_run(copy).sample("a", 1)
            assert "\n" not in str(refused.value), (path, harm)


def test_a_class_of_ones_own_is_given_by_whoever_opens_it(home, tmp_path, monkeypatch):
    """The folder names it; its file is neither in the folder nor looked for elsewhere."""
    (home / "mine.py").write_text(CELL)
    config = Config(task="adding", length=5, cell=f"{home / 'mine.py'}:Mine", **SMALL)
    export_run(train(config, home / "own"), "folder", tmp_path / "given")
    assert str(home).encode() not in b"".join(contents(tmp_path / "given").values())
    assert "mine.py:Mine" in (tmp_path / "given" / "README.md").read_text()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=r"cannot read .*mine\.py: No such file"):
        open_run("given")
    ran = tmp_path / "ran"
    (tmp_path / "mine.py").write_text(CELL + f"\nopen({str(ran)!r}, 'w').close()\n")
    with pytest.raises(BadInput, match=r"which you have not allowed; .* ostinato allow"):
        open_run("given")
    assert not ran.exists()
    (tmp_path / "given" / "mine.py").write_text((tmp_path / "mine.py").read_text())
    (tmp_path / "mine.py").unlink()
    with pytest.raises(BadInput, match="cannot read"):
        open_run("given")
    assert not ran.exists()


def test_tasks_of_every_kind_are_given_away(home, tmp_path):
    """Also those without a program elsewhere, and those whose data were made in Python."""
    run = train(Config(cell="gru", **SMALL), home / "adding", task=Adding(length=5))
    export_run(run, "folder", tmp_path / "adding")
    assert open_run(tmp_path / "adding").evaluate("test") == run.evaluate("test")
    waves = np.sin(np.arange(200) / 5)
    run = train(Config(cell="gru", **SMALL), home / "waves", task=Series(waves, length=9))
    export_run(run, "folder", tmp_path / "waves")
    assert not (tmp_path / "waves" / "data.safetensors").exists()
    given = open_run(tmp_path / "waves")
    assert [*given.forecast(waves, 3).rows()] == [*run.forecast(waves, 3).rows()]
    with pytest.raises(BadInput, match="the data of its task"):
        given.evaluate("test")


def test_what_fails_leaves_nothing_behind(writer, tmp_path, monkeypatch):
    """A disk that is full after some files, or a move that fails after the first."""
    for target in ("folder", "c"):
        for name, after in (("fsync", 3), ("rename", 1)):
            calls = []
            real = getattr(os, name)

            after = 0 if (target, name) == ("folder", "rename") else after

            def failing(*given, after=after, calls=calls, real=real):
                calls.append(given)
                if len(calls) > after:
                    raise OSError(28, "No space left on device")
                return real(*given)

            with monkeypatch.context() as patched:
                patched.setattr(os, name, failing)
                with pytest.raises(OSError, match="No space left"):
                    export_run(writer, target, tmp_path / "made")
            assert calls and not [*tmp_path.iterdir()], (target, name)
    with pytest.raises(KeyboardInterrupt):
        with monkeypatch.context() as patched:
            patched.setattr("ostinato.files.write_whole", _interrupted)
            write_new(tmp_path, {"a": b"1"})
    assert not [*tmp_path.iterdir()]


def _interrupted(*given):
    raise KeyboardInterrupt


def test_nothing_is_overwritten(writer, tmp_path):
    (tmp_path / "fox").mkdir()
    with pytest.raises(BadInput, match="fox exists; choose another --out"):
        export_run(writer, "folder", tmp_path / "fox")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="link exists"):
        export_run(writer, "folder", tmp_path / "link")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fox", "link"]
