"""Digits come pixel by pixel, from the files as they are."""

import gzip

import numpy as np
import pytest

from ostinato.data import find_data
from ostinato.data.datasets import DATASETS
from ostinato.errors import BadInput
from ostinato.tasks import PermutedMNIST, SequentialMNIST
from ostinato.tasks.downloaded import read_idx

from ..members import LABELS, write_data, write_idx


@pytest.fixture
def small(tmp_path, monkeypatch):
    write_data(tmp_path)
    monkeypatch.setenv("OSTINATO_DATA", str(tmp_path))
    return tmp_path / "mnist"


def raw(name: str, header: int) -> np.ndarray:
    return np.frombuffer(
        gzip.decompress(find_data(f"mnist/{name}").read_bytes()), np.uint8, offset=header
    )


@pytest.mark.data(*(file.path for file in DATASETS["mnist"].files))
def test_real_digits():
    task, permuted = SequentialMNIST(), PermutedMNIST(seed=5)
    sizes = {part: labels.shape for part, (_, labels) in task.parts.items()}
    assert sizes == {"train": (55_000,), "valid": (5_000,), "test": (10_000,)}
    labels = raw("train-labels-idx1-ubyte.gz", 8)
    assert task.chance == pytest.approx(np.bincount(labels[:55_000]).max() / 55_000)
    for part, images, answers in (
        ("test", raw("t10k-images-idx3-ubyte.gz", 16), raw("t10k-labels-idx1-ubyte.gz", 8)),
        ("valid", raw("train-images-idx3-ubyte.gz", 16)[55_000 * 784 :], labels[55_000:]),
    ):
        digits = images[: 100 * 784].reshape(100, 784).astype(np.float32) / 255
        batch = next(task.held_out(part, 100))
        assert np.array_equal(batch.inputs[..., 0].T, digits)
        assert np.array_equal(batch.targets[-1], answers[:100])
        other = next(permuted.held_out(part, 100))
        assert np.array_equal(other.inputs[..., 0].T, digits[:, permuted.order])
        assert np.array_equal(other.targets, batch.targets)


def test_order_of_permuted_pixels_is_pinned():
    """Results can be compared only while the order stays what it was."""
    assert sorted(PermutedMNIST.order) == list(range(784))
    assert PermutedMNIST.order[:6].tolist() == [318, 2, 606, 446, 758, 13]


def test_pixels_come_row_by_row_or_in_their_order(small):
    images = np.arange(40)[:, None, None] + 4 * np.arange(28)[:, None] + np.arange(28)
    write_idx(small / "t10k-images-idx3-ubyte.gz", images)
    for task, order in (
        (SequentialMNIST(), np.arange(784)),
        (PermutedMNIST(), PermutedMNIST.order),
    ):
        (batch,) = task.held_out("test", 40)
        expected = images.reshape(40, 784)[:, order] / 255
        assert np.allclose(batch.inputs[..., 0].T, expected, rtol=1e-6)


def test_a_pass_takes_every_digit_once(small):
    task = SequentialMNIST(seed=1)
    for passes in range(2):
        seen = np.concatenate([task.batch(passes * 5 + n, 46).targets[-1] for n in range(5)])
        assert np.array_equal(np.bincount(seen), np.bincount(LABELS[:230]))
    assert not np.array_equal(task.batch(0, 46).targets, task.batch(5, 46).targets)


def test_missing_files(tmp_path, monkeypatch):
    monkeypatch.setenv("OSTINATO_DATA", str(tmp_path))
    monkeypatch.setenv("OSTINATO_CACHE", str(tmp_path))
    with pytest.raises(BadInput, match="ostinato data get mnist"):
        SequentialMNIST()


def test_damaged_files(tmp_path):
    path = tmp_path / "x.gz"
    write_idx(path, np.arange(24).reshape(2, 3, 4))
    assert np.array_equal(read_idx(path), np.arange(24).reshape(2, 3, 4))
    whole = path.read_bytes()
    content = gzip.decompress(whole)
    for damaged, message in (
        (b"", "not a whole idx file"),
        (b"plain text", "not a whole idx file"),
        (whole[:-12], "cannot read .*Compressed file ended"),
        (gzip.compress(b""), "not a whole idx file"),
        (gzip.compress(content[:3]), "not a whole idx file"),
        (gzip.compress(content[:9]), "not a whole idx file"),
        (gzip.compress(content[:-1]), "not a whole idx file"),
        (gzip.compress(b"text" + content), "not a whole idx file"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(BadInput, match=message) as found:
            read_idx(path)
        assert str(path) in str(found.value) and "\n" not in str(found.value)


def test_images_without_their_labels(small):
    write_idx(small / "train-labels-idx1-ubyte.gz", LABELS[:-1])
    with pytest.raises(BadInput, match=r"\(5230, 28, 28\) and its labels \(5229,\)"):
        SequentialMNIST()
