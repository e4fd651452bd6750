"""Whatever lies in a run folder: nothing is written outside of it, and nothing waits for ever."""

import json
import os
import shutil

import pytest

from ostinato.contrast import Spec, contrast
from ostinato.errors import BadInput
from ostinato.evolve.search import read_plan
from ostinato.experiments import RECIPES, Job, reproduce
from ostinato.files import read_regular
from ostinato.report.run_page import write_report
from ostinato.runs import Config, open_run, train
from ostinato.runs.config.config import read_toml
from ostinato.runs.folder.listing import listed

SMALL = Config(
    task="adding", length=5, cell="simple", units=3, batch=2, steps=3, checkpoint_every=1
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return train(SMALL, tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture
def run(finished, tmp_path):
    return open_run(shutil.copytree(finished.path, tmp_path / "run"))


def moved_and_linked(folder, elsewhere):
    """Move a folder, and link to it from where it was; returns what is in it."""
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    return {x.name: x.read_bytes() for x in elsewhere.iterdir()}


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("nowhere"), os.mkfifo, os.mkdir])
def test_a_refused_resume_leaves_the_configuration(run, make):
    log = run.path / "events.jsonl"
    log.unlink()
    make(log)
    before = (run.path / "config.json").read_bytes()
    with pytest.raises(BadInput, match=r"events.jsonl is (a symbolic link|not a regular file)"):
        train(SMALL.replace(steps=4), run.path, resume=True)
    assert (run.path / "config.json").read_bytes() == before


def test_resume_does_not_write_or_prune_through_a_link(run, tmp_path):
    there = tmp_path / "elsewhere"
    before = moved_and_linked(run.checkpoints.folder, there)
    (there / "kept.12345678.part").write_bytes(b"a file of another run")
    log = (run.path / "events.jsonl").read_bytes()
    with pytest.raises(BadInput, match=r"checkpoints is a symbolic link; nothing is written"):
        train(SMALL.replace(steps=4), run.path, resume=True)
    assert {x.name for x in there.iterdir()} == {*before, "kept.12345678.part"}
    assert (run.path / "events.jsonl").read_bytes() == log
    assert json.loads((run.path / "config.json").read_bytes())["training"]["steps"] == 3
    assert open_run(run.path).steps() == [2, 3]  # reading does no harm


def test_the_lens_does_not_write_through_a_link(run, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (run.path / "report").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadInput, match=r"report is a symbolic link; nothing is written"):
        write_report(run, [])
    assert not [*(tmp_path / "elsewhere").iterdir()] and not (run.path / "report.html").exists()


def test_the_lens_says_so_before_it_measures(ostinato, run, monkeypatch):
    (run.path / "report").symlink_to("checkpoints")
    monkeypatch.setattr("ostinato.cli.lens.subject", lambda *_: pytest.fail("it has measured"))
    code, _, err = ostinato("lens", run.path)
    assert code == 2 and err.count("\n") == 1 and "report is a symbolic link" in err


def test_tensorboard_does_not_write_through_a_link(ostinato, run, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (run.path / "tensorboard").symlink_to(tmp_path / "elsewhere")
    asked = ("--resume", "--run", run.path, "--steps", "4", "--tensorboard")
    code, _, err = ostinato("train", *asked)
    assert code == 2 and "tensorboard is a symbolic link" in err
    assert not [*(tmp_path / "elsewhere").iterdir()]


@pytest.mark.parametrize("name", ["seeds", "trials"])
def test_a_contrast_does_not_write_through_a_link(tmp_path, name):
    given = {"cells": ["simple"], "tasks": ["adding"], "trials": 0 if name == "seeds" else 1}
    settings = {"length": 5, "units": 2, "batch": 2, "steps": 1}
    spec = Spec.from_dict({**given, "seeds": 1, "settings": settings})
    folder = tmp_path / "contrast"
    folder.mkdir()
    (folder / "contrast.json").write_text(json.dumps(spec.as_json()))
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadInput, match=f"{name} is a symbolic link"):
        contrast(spec, folder, resume=True)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("name", ["runs", "results"])
def test_a_reproduction_does_not_write_through_a_link(tmp_path, name):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / name).symlink_to(tmp_path / "elsewhere")
    recipe = RECIPES["temporal-xor"]
    with pytest.raises(BadInput, match=f"{name} is a symbolic link"):
        reproduce(recipe, Job(tmp_path / "there", quick=True, changes={"steps": 1}))
    assert not (tmp_path / "elsewhere").exists()


def test_only_regular_files_are_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, "/dev/zero"):
        with pytest.raises(OSError, match="regular file"):
            read_regular(path)
    (tmp_path / "short").write_bytes(b"12345")
    assert read_regular(tmp_path / "short", 5) == b"12345"
    with pytest.raises(OSError, match="larger than"):
        read_regular(tmp_path / "short", 4)
    with pytest.raises(BadInput, match="not a regular file"):
        read_toml(pipe)


def test_pipes_and_huge_files_in_a_folder_do_not_wait(run, tmp_path):
    for name, reads in (
        ("config.json", lambda: open_run(run.path)),
        ("model.json", lambda: open_run(run.path)),
        ("evolution.json", lambda: read_plan(run.path)),
    ):
        path = run.path / name
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        with pytest.raises(BadInput, match=r"regular file|no config.json|no search"):
            reads()
    assert listed(run.path).state == "broken: it is not a regular file"
    (run.path / "config.json").unlink()
    with open(run.path / "config.json", "wb") as file:
        file.truncate(1 << 40)  # without a block on the disk
    assert "larger than" in listed(run.path).state
    (run.path / "model.json").unlink()
    (run.path / "model.json").symlink_to(run.path / "config.json")
    with pytest.raises(BadInput, match="larger than"):
        open_run(run.path)
