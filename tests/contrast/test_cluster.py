"""A contrast on Ray gives the same table, also if workers are killed."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import jax
import pytest

from ostinato.contrast import Spec, contrast
from ostinato.contrast.training import on_ray
from ostinato.errors import BadInput
from ostinato.runs.folder.log import read_events

GIVEN = {
    "cells": ["simple", "elman"],
    "tasks": ["adding"],
    "trials": 2,
    "seeds": 2,
    "budget": 60,
    "settings": {"length": 5, "batch": 4, "steps": 2000, "checkpoint_every": 50},
}


def without_time(result):
    found = result.as_json()
    for group in found["groups"]:
        for row in group["rows"]:
            del row["seconds"]
    return found


def test_without_ray_there_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BadInput, match=r"--ray needs ray: pip install 'ostinato\[cluster\]'"):
        on_ray()


def kill_workers(folder, killed, stop):
    """Kill two workers, each while it trains: its log has a checkpoint's steps but no end."""
    while len(killed) < 2 and not stop.is_set():
        time.sleep(0.05)
        for lock in folder.rglob(".lock"):
            run = lock.parent
            if run in killed or run == folder or not (run / "checkpoints").is_dir():
                continue
            if any((run / "checkpoints").glob("step-*")) and (pid := holder(lock)) is not None:
                os.kill(pid, signal.SIGKILL)
                killed.append(run)
                break


def holder(lock):
    """The process that holds a lock file open."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) == str(lock):
                pid = int(link.parts[2])
                return pid if pid != os.getpid() else None
        except OSError:
            continue
    return None


@pytest.mark.slow
def test_the_same_table_with_four_workers_of_which_two_are_killed(tmp_path):
    ray = pytest.importorskip("ray", reason="needs the extra cluster")
    spec = Spec.from_dict(GIVEN)
    with jax.enable_x64(False):  # as in the workers
        alone = contrast(spec, tmp_path / "alone")
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    killed, stop = [], threading.Event()
    folder = (tmp_path / "ray").resolve()
    killer = threading.Thread(target=kill_workers, args=(folder, killed, stop))
    killer.start()
    try:
        heard = []
        with jax.enable_x64(False):
            result = contrast(
                spec, folder, train=on_ray(), listener=lambda *pair: heard.append(pair)
            )
    finally:
        stop.set()
        killer.join()
        ray.shutdown()
    assert len(killed) == 2
    assert any(event["kind"] == "resume" for run in killed for event in read_events(run))
    assert without_time(result) == without_time(alone)
    assert len(heard) == 8 and all(event["kind"] == "end" for _, event in heard)
