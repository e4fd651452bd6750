"""Names, tags, notes, the archive and the trash: all of it in the folder, with a way back."""

import json
import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ostinato.errors import BadInput
from ostinato.files import held, locked
from ostinato.runs.folder import labels
from ostinato.runs.folder.labels import LARGEST, Labels
from ostinato.runs.folder.listing import listed, run_folders
from ostinato.studio import tidying
from ostinato.studio.actions import Jobs
from ostinato.studio.folder import Folder, NoRun
from studio.pages import a_log, write_run


@pytest.fixture
def folder(tmp_path):
    runs = tmp_path / "runs"
    for name in ("a", "b", "deep/er"):
        write_run(runs / name, a_log())
    return Folder(runs)


def names(folder):
    return [row.name for row in folder.rows()]


def content(path):
    return {one.name: one.read_bytes() for one in path.iterdir()}


def test_labels_are_kept_in_the_run_folder_and_change_one_by_one(folder):
    tidying.label(folder, "a", {"title": " Größe ", "tags": ["paper", "paper", "v2"]})
    tidying.label(folder, "a", {"note": "first line\nsecond"})
    kept = json.loads((folder.path / "a" / "labels.json").read_text())
    assert kept == {
        "title": "Größe",
        "tags": ["paper", "v2"],
        "note": "first line\nsecond",
        "archived": False,
    }
    assert folder.row("a").labels == Labels("Größe", ("paper", "v2"), "first line\nsecond")
    tidying.label(folder, "a", {"archived": True, "title": ""})
    assert [row.labels.archived for row in folder.rows()] == [True, False, False]
    assert listed(folder.path / "a").labels.tags == ("paper", "v2")


WRONG = {
    "labels are title, tags, note, archived": [{"colour": "red"}, {"name": "x"}, {"": 1}],
    "the labels are missing": [None, [], "x", 7],
    "the name must be text": [{"title": 7}, {"title": None}, {"title": ["x"]}, {"title": "a\0"}],
    "the name of a run is one line": [{"title": "a\nb"}, {"title": "\x1b[31mred"}],
    "the name has at most 120": [{"title": "x" * 121}],
    "tags are a list": [{"tags": "x"}, {"tags": None}, {"tags": {}}, {"tags": ["x"] * 21}],
    "a tag must be text": [{"tags": [1]}, {"tags": [None]}, {"tags": [[]]}, {"tags": ["\ud800"]}],
    "a tag is one word": [{"tags": [""]}, {"tags": ["a b"]}, {"tags": ["a,b"]}, {"tags": [" a"]}],
    "a tag has at most 40": [{"tags": ["x" * 41]}],
    "the note must be text": [{"note": 1}, {"note": {}}, {"note": "\ud800"}],
    "the note has at most 4,000": [{"note": "x" * 4001}],
    "archived must be true or false": [{"archived": 1}, {"archived": "yes"}, {"archived": None}],
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_labels_are_one_line_and_change_nothing(folder, words):
    for given in WRONG[words]:
        with pytest.raises(BadInput, match=words) as caught:
            tidying.label(folder, "a", given)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 200
    assert not (folder.path / "a" / "labels.json").exists()


DAMAGED = {
    "a trailing comma": b'{"title": "mine",}',
    "nothing": b"",
    "a list": b'["mine"]',
    "half of it": b'{"title": "mi',
    "half of a character": b'{"title": "\\ud800"}',
    "a tag that is a number": b'{"title": "mine", "tags": [7]}',
    "a note of 4,001 characters": b'{"title": "mine", "note": "%s"}' % (b"x" * 4001),
    "more than is ever written": b'{"title": "mine", "more": "%s"}' % (b"x" * LARGEST),
    "deep lists": b'{"title": "mine", "more": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
    "other bytes": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("what", DAMAGED)
def test_labels_that_cannot_be_read_are_refused_and_stay_as_they_are(folder, what):
    file = folder.path / "a" / "labels.json"
    file.write_bytes(DAMAGED[what])
    assert folder.row("a").labels == Labels()  # lists show the run all the same
    with pytest.raises(
        BadInput, match=r"labels\.json cannot be read: .*; mend .* delete it"
    ) as err:
        tidying.label(folder, "a", {"archived": True})
    assert "\n" not in str(err.value) and len(str(err.value)) < 400
    assert file.read_bytes() == DAMAGED[what]
    file.unlink()  # what the message advises
    assert tidying.label(folder, "a", {"archived": True}) == Labels(archived=True)


def test_fields_of_a_newer_version_stay_and_hide_nothing(folder):
    file = folder.path / "a" / "labels.json"
    newer = {"title": "mine", "tags": ["v2"], "colour": {"deep": [1, None, "\ud800"]}, "": 1e-7}
    file.write_text(json.dumps(newer))
    assert folder.row("a").labels == Labels("mine", ("v2",))
    tidying.label(folder, "a", {"note": "größer"})
    kept = json.loads(file.read_text())
    assert kept == {**newer, "note": "größer", "archived": False}
    many = {"more": "x" * (LARGEST - 100)}
    file.write_text(json.dumps(many))
    with pytest.raises(BadInput, match=r"labels\.json would have more than 64 KB"):
        tidying.label(folder, "a", {"note": "y" * 100})
    assert json.loads(file.read_text()) == many


def test_of_two_changes_at_once_none_is_lost(folder, monkeypatch):
    """Each thread changes a label of its own, and every change takes a while."""
    written = labels.write_whole

    def slowly(*arguments):
        time.sleep(0.02)
        written(*arguments)

    monkeypatch.setattr(labels, "write_whole", slowly)
    changes = [{"title": "mine"}, {"tags": ["paper"]}, {"note": "good"}, {"archived": True}]
    with ThreadPoolExecutor() as threads, locked(folder.path / "a"):  # also while it is trained
        list(threads.map(lambda change: tidying.label(folder, "a", change), changes))
    assert folder.row("a").labels == Labels("mine", ("paper",), "good", archived=True)
    assert not [name for name in os.listdir(folder.path / "a") if name.startswith(".")]


def test_a_change_that_never_ends_is_not_waited_for(folder, monkeypatch):
    monkeypatch.setattr(labels, "PATIENCE", 0.05)
    with held(folder.path / "a" / labels.LOCK, "", 0), pytest.raises(BadInput, match="being chang"):
        tidying.label(folder, "a", {"title": "mine"})
    assert not (folder.path / "a" / "labels.json").exists()


def test_no_label_is_read_or_written_through_a_link(folder, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text('{"title": "secret"}')
    (folder.path / "a" / "labels.json").symlink_to(secret)
    assert folder.row("a").labels == Labels()
    with pytest.raises(BadInput, match="symbolic link"):
        tidying.label(folder, "a", {"title": "mine"})
    assert secret.read_text() == '{"title": "secret"}'


def test_a_deleted_run_comes_back_as_it_was(folder):
    before = content(folder.path / "deep" / "er")
    kept = tidying.delete(folder, "deep/er")
    assert names(folder) == ["a", "b"] == [path.name for path in run_folders(folder.path)]
    (one,) = tidying.trashed(folder)
    assert one["kept"] == kept and one["name"] == "deep/er" and one["row"]["state"] == "done"
    assert tidying.count_trashed(folder) == 1
    assert tidying.restore(folder, kept) == "deep/er"
    assert content(folder.path / "deep" / "er") == before
    assert names(folder) == ["a", "b", "deep/er"] and tidying.count_trashed(folder) == 0


def test_a_run_in_the_trash_is_only_restored(folder):
    kept = tidying.delete(folder, "a")
    there, jobs = content(folder.path / ".trash" / kept), Jobs(folder)
    for name in (f".trash/{kept}", f"./.trash/{kept}", f"deep/../.trash/{kept}"):
        for change in (
            lambda name: tidying.label(folder, name, {"title": "mine"}),
            lambda name: tidying.move(folder, name, "c"),
            lambda name: tidying.delete(folder, name),
            lambda name: jobs.resume(name, None),
            lambda name: jobs.stop(name),
            folder.row,
        ):
            with pytest.raises(NoRun):
                change(name)
    assert content(folder.path / ".trash" / kept) == there
    assert tidying.restore(folder, kept) == "a"


def test_the_same_name_can_be_deleted_twice_and_is_never_overwritten(folder):
    first = tidying.delete(folder, "a")
    write_run(folder.path / "a", a_log(40))
    with pytest.raises(BadInput, match="there is already a; choose another name"):
        tidying.restore(folder, first)
    second = tidying.delete(folder, "a")
    assert {one["kept"] for one in tidying.trashed(folder)} == {first, second}
    assert tidying.restore(folder, first) == "a" and folder.row("a").step == 20


def test_a_run_that_is_trained_stays(folder):
    with locked(folder.path / "a"):
        for change in (lambda: tidying.delete(folder, "a"), lambda: tidying.move(folder, "a", "c")):
            with pytest.raises(BadInput, match="another process is training in"):
                change()
    assert names(folder) == ["a", "b", "deep/er"]
    tidying.move(folder, "a", "new/c")
    assert names(folder) == ["b", "deep/er", "new/c"]
    assert ".lock" not in os.listdir(folder.path / "new" / "c")


@pytest.mark.parametrize(
    "to, words",
    [
        *((name, "is a folder below that of the studio") for name in ("", " ", "..", "../x", "/x")),
        *(
            (name, "is a folder below that of the studio")
            for name in (".trash/x", "x/.trash", "a/./../x", "x\0", "x/", "x//y", "./x", "x/.")
        ),
        ("b", "there is already b"),
        ("b/inner", "b is a run; there are no runs within runs"),
        ("link/x", "outside of the studio's folder"),
        ("x" * 150 + "é" * 50 + "/" + "y" * 300, "is a folder below"),
        ("é" * 199, "cannot be moved: File name too long"),
    ],
)
def test_a_run_is_moved_only_to_a_free_place_in_the_folder(folder, tmp_path, to, words):
    (folder.path / "link").symlink_to(tmp_path)
    with pytest.raises(BadInput, match=words):
        tidying.move(folder, "a", to)
    assert "a" in names(folder)


@pytest.mark.parametrize(
    "kept", ["", ".", "..", "a", "../a", "x/../../a", "/etc", "{kept}/..", "x"]
)
def test_nothing_but_the_trash_is_restored_from(folder, kept):
    there = tidying.delete(folder, "b")
    with pytest.raises(NoRun):
        tidying.restore(folder, kept.format(kept=there))
    assert names(folder) == ["a", "deep/er"]


def test_a_trash_that_is_a_link_is_refused(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (folder.path / ".trash").symlink_to(tmp_path / "elsewhere")
    for change in (tidying.delete, tidying.restore):
        with pytest.raises(BadInput, match="symbolic link"):
            change(folder, "a")
    assert names(folder) == ["a", "b", "deep/er"]


def test_the_folder_of_the_studio_itself_stays(tmp_path):
    folder = Folder(write_run(tmp_path / "run", a_log()))
    with pytest.raises(BadInput, match="stays where it is"):
        tidying.delete(folder, ".")


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write everywhere")
def test_what_the_file_system_refuses_is_one_line(folder):
    folder.path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(BadInput, match="a cannot be moved: Permission denied"):
        tidying.delete(folder, "a")
    folder.path.chmod(stat.S_IRWXU)
