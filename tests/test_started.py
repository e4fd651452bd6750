"""No test depends on how the suite was started: its signals, its data folder."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from ostinato.data.files import data_folders
from ostinato.runs.loop.signals import stop_signals

HERE = Path(__file__).parent


def test_no_data_is_in_sight():
    (downloads,) = data_folders()
    assert list(downloads.iterdir()) == []


def test_ctrl_c_is_heard():
    with stop_signals() as stop:
        signal.raise_signal(signal.SIGINT)
    assert stop.number == signal.SIGINT


def test_it_is_so_in_the_background_and_with_a_data_folder(tmp_path):
    """The tests above and one of real data, in a process that ignores SIGINT."""
    real = "data/test_conllu.py::test_ewt_is_written_as_it_was_read"
    own = [
        f"test_started.py::{test.__name__}"
        for test in (test_no_data_is_in_sight, test_ctrl_c_is_heard)
    ]
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    found = subprocess.run(
        [*ignoring, sys.executable, "-m", "pytest", "-n", "0", "-rs", *own, real],
        cwd=HERE,
        env={**os.environ, "OSTINATO_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "2 passed, 1 skipped" in found.stdout
    missing = "ud_ewt/en_ewt-ud-dev.conllu"
    assert f"needs OSTINATO_DATA to name a folder that has {missing}" in found.stdout


def test_a_signal_that_was_ignored_stays_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stop_signals() as stop:
            signal.raise_signal(signal.SIGINT)
            assert stop.number is None
            signal.raise_signal(signal.SIGTERM)
        assert stop.number == signal.SIGTERM
    finally:
        signal.signal(signal.SIGINT, before)
