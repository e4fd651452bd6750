"""Chorales come as they are in the file, padded and without weight after their end."""

import numpy as np
import pytest
import scipy.io

from ostinato.data import find_data
from ostinato.errors import BadInput
from ostinato.tasks import Chorales

from ..members import ROLLS, entropies, write_data

FILE = "jsb/JSB_Chorales.mat"


@pytest.fixture
def small(tmp_path, monkeypatch):
    write_data(tmp_path)
    monkeypatch.setenv("OSTINATO_DATA", str(tmp_path))
    return tmp_path / "jsb" / "JSB_Chorales.mat"


def check_whole(batch, rolls):
    for n, roll in enumerate(rolls):
        steps = len(roll) - 1
        assert np.array_equal(batch.inputs[:steps, n], roll[:-1])
        assert np.array_equal(batch.targets[:steps, n], roll[1:])
        assert batch.weights[:steps, n].all() and not batch.weights[steps:, n].any()


@pytest.mark.data(FILE)
def test_real_chorales():
    task, found = Chorales(), scipy.io.loadmat(find_data(FILE))
    assert {part: len(rolls) for part, rolls in task.parts.items()} == {
        "train": 229,
        "valid": 76,
        "test": 77,
    }
    assert task.length == 128
    for part in ("valid", "test"):
        (batch,) = task.held_out(part, 100)
        check_whole(batch, found[f"{part}data"][0])
    shares = np.concatenate([roll[1:] for roll in found["traindata"][0]]).mean(axis=0)
    assert task.chance == pytest.approx(entropies(shares).sum())


def test_held_out_chorales_are_whole_at_any_length(small):
    task = Chorales(length=3)
    for part in ("valid", "test"):
        (batch,) = task.held_out(part, 100)
        check_whole(batch, ROLLS[part])


def test_training_takes_windows_from_everywhere(small):
    """The top voice of a roll starts at a key of its own and rises by one a step."""
    task = Chorales(length=3, seed=2)
    begun = set()
    for index in range(200):
        xs, targets, weights, *_ = task.batch(index, 8)
        assert weights.all(), "all rolls have more than three steps"
        assert np.array_equal(targets[:-1], xs[1:])
        begun |= {tuple(np.flatnonzero(x)) for x in xs[0]}
    places = {
        tuple(np.flatnonzero(step)) for roll in ROLLS["train"] for step in roll[: len(roll) - 3]
    }
    assert begun == places


def test_a_pass_takes_every_chorale_once(small):
    task = Chorales(seed=2)
    lengths = np.concatenate([task.batch(n, 4).weights.sum(0) for n in range(2)])
    assert sorted(lengths) == sorted(len(roll) - 1 for roll in ROLLS["train"])


def test_missing_file(tmp_path, monkeypatch):
    monkeypatch.setenv("OSTINATO_DATA", str(tmp_path))
    monkeypatch.setenv("OSTINATO_CACHE", str(tmp_path))
    with pytest.raises(BadInput, match="ostinato data get jsb"):
        Chorales()


def test_damaged_file(small):
    whole = small.read_bytes()
    for damaged in (b"", b"not a matlab file at all" * 20, whole[:300], whole[: len(whole) // 2]):
        small.write_bytes(damaged)
        with pytest.raises(BadInput, match="not a file of piano rolls") as found:
            Chorales()
        assert str(small) in str(found.value) and "\n" not in str(found.value)


def test_file_of_something_else(small):
    scipy.io.savemat(small, {"other": np.zeros((2, 2))})
    with pytest.raises(BadInput, match="not a file of piano rolls"):
        Chorales()
    cells = {f"{part}data": np.empty((1, 1), object) for part in ROLLS}
    for cell in cells.values():
        cell[0, 0] = np.zeros((5, 87))
    scipy.io.savemat(small, cells)
    with pytest.raises(BadInput, match="piano rolls of 88 keys"):
        Chorales()
