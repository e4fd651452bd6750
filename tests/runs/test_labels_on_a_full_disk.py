"""A disk that fills while a run is labelled loses no label."""

import errno
import os

import pytest

from ostinato.cli.failures import explained
from ostinato.runs.folder.labels import NAME, Labels


def test_a_disk_that_fills_during_a_label_keeps_the_labels_there_are(tmp_path, monkeypatch):
    before = Labels.change(tmp_path, {"title": "Baseline", "tags": ["paper"]})

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError) as error:
        Labels.change(tmp_path, {"note": "another"})
    assert explained(error.value) == (f"{tmp_path / NAME}: No space left on device", 2)
    assert Labels.read(tmp_path) == before and os.listdir(tmp_path) == [NAME]
    monkeypatch.undo()
    assert Labels.change(tmp_path, {"note": "another"}).title == "Baseline"
