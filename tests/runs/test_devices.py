"""A run on several devices, of one process or of several, does what it does on one."""

import json
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from ostinato.runs import open_run
from starting import finished, free_port, started

SCRIPT = Path(__file__).parents[1] / "processes.py"
TIMES = ("seconds", "took", "spent", "run")
GONE, ABSENT = "another process of this run ended", "not all processes came"


# 24 symbols each, two of which are for the end and for what is not known.
PAIRS = "".join(f"{'ab' * n}\t{'cd' * n}\n" for n in range(1, 23)) * 10


def with_files(folder):
    """The files that runs read."""
    (folder / "pairs.tsv").write_text(PAIRS)
    symbols = [*range(24), *np.random.default_rng(0).integers(24, size=2000)]
    (folder / "symbols.txt").write_text("".join(chr(97 + n) for n in symbols))


def of_several(folder, names, count, devices, hits="", early=None):
    """What several processes end with; `early` kills one of them after so many seconds."""
    words = [SCRIPT, folder, names, *([f"127.0.0.1:{free_port()}", count] if count > 1 else [])]
    every = [
        started([*words, *([n] if count > 1 else [])], devices, {"HITS": hits}, cwd=folder.parent)
        for n in range(count)
    ]
    if early is not None:
        dead, seconds = early
        time.sleep(seconds)
        every[dead].kill()
    return [finished(process) for process in every]


def told(results, codes=None):
    """What each process says of each run, by its name."""
    assert [code for code, _, _ in results] == (codes or [0] * len(results)), results
    lines = [[json.loads(x) for x in out.splitlines() if x[:1] == "{"] for _, out, _ in results]
    return [{one.pop("name"): one for one in every} for every in lines]


def weights(path):
    run = open_run(path)
    return load_file(run.checkpoints.path(run.steps()[-1]))


def events(path):
    return [
        {name: x for name, x in event.items() if name not in TIMES}
        for event in open_run(path).events()
    ]


def same_bits(one, other):
    one, other = weights(one), weights(other)
    assert one.keys() == other.keys()
    for key in one:
        np.testing.assert_array_equal(one[key], other[key], err_msg=key)


def nearly(one, other, where=""):
    """The same numbers to 1e-5, wherever they are within lists and dictionaries."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        one, other = [one[key] for key in one], [other[key] for key in one]
    if isinstance(one, list):
        for n, pair in enumerate(zip(one, other, strict=True)):
            nearly(*pair, f"{where} {n}")
    elif one != other:
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5, err_msg=where)


def check_same(name, one, said, several):
    """The same bits however devices are divided among processes, and the numbers of one device.

    Args:
        name: of the run.
        one, said: the folder of a single process, and what it said.
        several: the same of each of several processes.
    """
    for folder, others in several:
        same_bits(one / name, folder / name)
        assert events(one / name) == events(folder / name)
        for other in others:
            for key in other[name]:
                assert other[name][key] == said[name][key], (folder, name, key)
    nearly({key: said[name][key] for key in said[name]["alone"]}, said[name]["alone"])
    alone = weights(one / "alone" / name)
    for key, array in weights(one / name).items():
        if np.issubdtype(array.dtype, np.floating):
            np.testing.assert_allclose(array, alone[key], atol=1e-5, err_msg=f"{name} {key}")


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory):
    """Runs by two processes of two devices each, and by one of four.

    In the last one the second process dies, and then the one process takes it to its end.
    """
    folder = tmp_path_factory.mktemp("devices")
    with_files(folder)
    two = of_several(folder / "two", "adam,saved", 2, 2, f"1:saved:3:{signal.SIGKILL:d}:0")
    said = told(two, [2, -signal.SIGKILL])
    shutil.copytree(folder / "two" / "saved", folder / "one" / "saved")
    one = of_several(folder / "one", "adam,saved,text by symbol", 1, 4)
    return folder, two, said, told(one)[0]


def test_devices_and_processes_do_what_one_device_does(everywhere):
    folder, _, two, one = everywhere
    check_same("adam", folder / "one", one, [(folder / "two", two)])


def check_one_reduction(said):
    """A step adds up the gradient and the weight of the batch, and exchanges nothing else."""
    assert said["collectives"] == {"all-reduce": 1}
    assert 0 < said["exchanged"][0] - said["parameters"] <= 3


def test_a_step_has_one_reduction_and_moves_nothing_else(everywhere):
    check_one_reduction(everywhere[3]["adam"])


def check_symbols_shared(name, one, said, several=()):
    """The numbers of one device, while no device has all symbols of any array."""
    nearly({key: said[key] for key in said["alone"]}, said["alone"])
    near(weights(one / name), weights(one / "alone" / name))
    assert said["whole"] == []
    # The vocabulary is most of what a step is given; batch and cell are not shared by symbols.
    assert said["bytes"] < said["bytes alone"]
    for folder, others in several:
        near(weights(folder / name), weights(one / name))
        for other in others:
            nearly(other[name], {key: said[key] for key in other[name]})


def near(one, other):
    """The same weights and learner state, to 1e-5 or in float64 to 1e-12."""
    assert one.keys() == other.keys()
    for key, array in one.items():
        assert array.dtype == other[key].dtype and array.shape == other[key].shape
        if np.issubdtype(array.dtype, np.floating):
            atol = 1e-12 if array.dtype == np.float64 else 1e-5
            np.testing.assert_allclose(array, other[key], rtol=0, atol=atol, err_msg=key)
        else:
            np.testing.assert_array_equal(array, other[key], err_msg=key)


def test_devices_share_a_vocabulary(everywhere):
    folder, _, _, one = everywhere
    check_symbols_shared("text by symbol", folder / "one", one["text by symbol"])


def test_a_dead_process_stops_the_other_in_one_line_and_nothing_is_lost(everywhere):
    folder, (first, _), _, one = everywhere
    assert first[2].splitlines()[-1].startswith(GONE)
    assert one["saved"]["step"] == 4
    same_bits(folder / "one" / "adam", folder / "one" / "saved")
    entries = [x for x in events(folder / "one" / "saved") if x["kind"] == "train"]
    assert [x["step"] for x in entries] == [1, 2, 3, 4]


@pytest.mark.slow
def test_processes_end_together(tmp_path):
    """When the time is over, when the loss is not finite, and when one of them gets Ctrl-C."""
    names = {"time": "time", "diverged": "diverged", "stopped": "interrupted"}
    hits = f"1:stopped:20:{signal.SIGINT:d}:0"
    first, second = told(of_several(tmp_path / "two", ",".join(names), 2, 1, hits))
    assert first == second
    for name, reason in names.items():
        run, step = open_run(tmp_path / "two" / name), first[name]["step"]
        assert first[name]["reason"] == reason
        assert run.events()[-1]["step"] == step
        if reason == "diverged":
            assert not run.steps() or run.steps()[-1] < step
        else:
            assert run.steps()[-1] == step


ALL = "adding,hf,hf by default,saddle-free,text,translation,sqrt"
SECOND = "text by hf,text by saddle-free,translation by hf,translation by saddle-free"


@pytest.mark.slow
def test_all_learners_and_tasks(tmp_path):
    """Eight devices, in one process, in two and in four."""
    with_files(tmp_path)
    names = f"{ALL},{SECOND}"
    said = [told(of_several(tmp_path / f"{n}", names, n, 8 // n)) for n in (1, 2, 4)]
    several = [(tmp_path / f"{n}", every) for n, every in zip((2, 4), said[1:], strict=True)]
    for name in names.split(","):
        check_same(name, tmp_path / "1", said[0][0], several)
    for name in ("adding", "text", "translation", "sqrt"):
        check_one_reduction(said[0][0][name])
    # The weights of both batches; the gradient together with the first product; in place once each,
    # the product in a step of conjugate gradient and for ρ, and the objective at the last iterate,
    # at an earlier one and at a shorter step.
    hf = said[0][0]["hf"]
    assert hf["collectives"] == {"all-reduce": 7}
    # Of value, gradient and products, each by itself.
    assert len(hf["curvature"]) == 5
    assert all(one == {"all-reduce": 1} for one in hf["curvature"].values())
    # Nothing but numbers, gradients and products, of which the first two come together.
    for name in ("hf", "saddle-free", *SECOND.split(",")):
        one = said[0][0][name]
        assert list(one["collectives"]) == ["all-reduce"], name
        assert max(one["exchanged"]) <= 2 * one["parameters"] + 4, name


@pytest.mark.slow
def test_devices_of_two_processes_share_a_vocabulary(tmp_path, monkeypatch):
    """Eight devices, in one process and in two; then on, with the vocabulary whole and shared."""
    with_files(tmp_path)
    names = "text by symbol,text by symbol, one-hot,translation by symbol".replace(", ", " ")
    (one,) = told(of_several(tmp_path / "1", names, 1, 8))
    two = told(of_several(tmp_path / "2", names, 2, 4))
    for name in names.split(","):
        check_symbols_shared(name, tmp_path / "1", one[name], [(tmp_path / "2", two)])
    name = "text by symbol"
    shutil.copytree(tmp_path / "1" / "alone" / name, tmp_path / "alone" / name)
    for steps, count, devices, shares in ((6, 1, 4, False), (8, 2, 1, True), (10, 1, 1, True)):
        changes = {"steps": steps, "shard_vocabulary": shares}
        monkeypatch.setenv("CHANGES", json.dumps(changes))
        told(of_several(tmp_path / "1", name, count, devices))
        told(of_several(tmp_path / "alone", name, 1, 1))
        near(weights(tmp_path / "1" / name), weights(tmp_path / "alone" / name))


HITS = {
    "hf killed": ("hf", 1, int(signal.SIGKILL)),
    "hf on a full disk": ("hf", 0, 0),
    "adam on a full disk": ("saved", 0, 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("hit", HITS)
def test_what_hits_one_of_three_processes_past_step_0_loses_nothing(hit, tmp_path, monkeypatch):
    """One is killed, or the disk of the first is full; all stop, and go on to the same bits."""
    name, who, number = HITS[hit]
    changes = {"batch": 12, "steps": 8, "checkpoint_every": 1, "log_every": 1, "validate_every": 4}
    if name == "hf":
        changes["curvature_batch"] = 6
    monkeypatch.setenv("CHANGES", json.dumps(changes))
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    told(of_several(whole, name, 3, 1))
    ends = of_several(broken, name, 3, 1, f"{who}:{name}:5:{number}:0")
    for n, (code, _, err) in enumerate(ends):
        assert code == (-number if number and n == who else 2), ends
        if number or n != who:
            assert n == who or GONE in err.splitlines()[-1], err
        else:
            (line,) = err.splitlines()
            assert "File too large; last good checkpoint: step " in line, err
            assert line.endswith(f"in {broken / name}. Mend that, then --resume"), err
    assert 0 < open_run(broken / name).steps()[-1] < changes["steps"]
    assert all(
        said[name]["step"] == changes["steps"] for said in told(of_several(broken, name, 3, 1))
    )
    same_bits(whole / name, broken / name)
    logs = [[x for x in events(run / name) if x["kind"] == "train"] for run in (whole, broken)]
    assert logs[0] == logs[1]


@pytest.mark.slow
def test_killed_at_twenty_moments_on_three_processes(tmp_path, monkeypatch):
    """A run that is killed again and again ends like an undisturbed one, with the same log.

    The moments are within 40 steps and a tenth of a second of where the run was; every fourth one
    is within the first seconds, while processes start, meet and compile.
    """
    rng = np.random.default_rng(0)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert len(told(of_several(whole, "long", 3, 1))) == 3
    for n in range(20):
        dead, step = n % 3, 0
        if (killed / "long" / "config.json").exists():
            step = max((event["step"] for event in open_run(killed / "long").events()), default=0)
        hit = dead, "long", step + rng.integers(40), int(signal.SIGKILL), rng.uniform(0, 0.1)
        early = (dead, rng.uniform(0, 20)) if n % 4 == 3 else None
        results = of_several(killed, "long", 3, 1, ":".join(map(str, hit)), early)
        for m, (code, _, err) in enumerate(results):
            assert code == (-signal.SIGKILL if m == dead else 2), (n, m, code, err)
            words = err.splitlines()[-1:]
            assert m == dead or any(x in words[0] for x in (GONE, ABSENT)), (n, m, err)
    for count, steps in ((3, 1500), (2, 1600)):  # to the end, and then by two processes
        monkeypatch.setenv("CHANGES", json.dumps({"steps": steps}))
        for run in (whole, killed):
            assert all(x["long"]["step"] == steps for x in told(of_several(run, "long", count, 1)))
        same_bits(whole / "long", killed / "long")
        logs = [
            [x for x in events(run / "long") if x["kind"] == "train"] for run in (whole, killed)
        ]
        assert logs[0] == logs[1]
