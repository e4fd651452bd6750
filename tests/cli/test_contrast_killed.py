"""A contrast that is killed outright, again and again, ends with the same table."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

SPEC = """
cells = ["simple", "elman"]
tasks = ["adding"]
trials = 2
budget = 60

[settings]
length = 5
batch = 4
steps = 300
checkpoint_every = 20
"""
COMMAND = [sys.executable, "-m", "ostinato", "contrast"]


def table(document):
    found = json.loads(document)
    del found["folder"]
    for group in found["groups"]:
        for row in group["rows"]:
            del row["seconds"]
    return found


@pytest.mark.slow
def test_killed_and_resumed_until_it_ends(tmp_path):
    (tmp_path / "SPEC.toml").write_text(SPEC)
    whole = subprocess.run(
        [*COMMAND, "SPEC.toml", "--out", "whole", "--json"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    command = [*COMMAND, "SPEC.toml", "--out", "broken", "--json"]
    finished: dict = {}
    for attempt in range(40):
        resume = ["--resume"] if (tmp_path / "broken" / "contrast.json").exists() else []
        process = subprocess.Popen(
            [*command, *resume], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        before, begin = len(finished), time.monotonic()
        while process.poll() is None:
            time.sleep(0.1)
            ended = {
                log: os.stat(log).st_mtime_ns
                for log in (tmp_path / "broken").rglob("events.jsonl")
                if b'"kind": "end"' in log.read_bytes()
            }
            # Killed whenever two more runs have ended, in the midst of another.
            if len(ended) >= before + 2 and time.monotonic() - begin > 1 + attempt % 3:
                process.send_signal(signal.SIGKILL)
                break
        out, err = process.communicate()
        for log, changed in finished.items():
            assert os.stat(log).st_mtime_ns == changed, f"{log} was trained again"
        finished = {
            log: os.stat(log).st_mtime_ns
            for log in (tmp_path / "broken").rglob("events.jsonl")
            if b'"kind": "end"' in log.read_bytes()
        }
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, err.decode()
    assert attempt >= 2
    assert table(out) == table(whole.stdout)
