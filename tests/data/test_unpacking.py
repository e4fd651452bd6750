"""Small files that unpack to a lot: what they take is known before it is taken."""

import gzip
import zipfile

import numpy as np
import pytest

from ostinato import memory
from ostinato.data import lines, read_npy, read_npz, read_table
from ostinato.data.lines import given_lines, read_utf8
from ostinato.data.strokes import read_omniglot
from ostinato.errors import BadInput
from ostinato.tasks.downloaded import read_idx

SIZE = 1 << 20  # bytes that each of the files unpacks to


def npz(path):
    np.savez_compressed(path, x=np.zeros((8, SIZE // 64)), y=np.arange(8) % 2)


def npy(path):
    np.save(path, np.zeros(SIZE // 8))


def gz(path):
    path.write_bytes(gzip.compress(b"a" * SIZE))


def archive(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("strokes/Latin/character01/1_01.txt", "0" * SIZE)


def parquet(path):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    table = arrow.table({"a": arrow.array(np.zeros(SIZE // 8))})
    pyarrow.parquet.write_table(table, path)


CASES = {
    "x.npz": (npz, read_npz),
    "x.npy": (npy, read_npy),
    "x.txt.gz": (gz, lambda path: read_utf8(path, "text file")),
    "x.csv.gz": (gz, read_table),
    "x-ubyte.gz": (gz, read_idx),
    "x.zip": (archive, lambda path: read_omniglot(path, "Latin")),
    "x.parquet": (parquet, read_table),
}


@pytest.mark.parametrize("name", CASES)
def test_what_takes_more_than_half_of_the_free_memory_is_refused(name, tmp_path, monkeypatch):
    write, read = CASES[name]
    write(tmp_path / name)
    monkeypatch.setattr("ostinato.data.files.free_memory", lambda: 2 * SIZE - 4096)
    with pytest.raises(BadInput, match=r"takes at least 1.0 MiB, more than half of the 2.0 MiB"):
        read(tmp_path / name)


def test_an_extreme_ratio_is_announced(tmp_path, monkeypatch):
    npz(tmp_path / "x.npz")
    monkeypatch.setattr("ostinato.data.files.LARGE", SIZE // 2)
    with pytest.warns(RuntimeWarning, match=r"x.npz, of .* bytes, unpacks to 1.0 MiB"):
        read_npz(tmp_path / "x.npz")


def test_arrays_that_are_not_read_do_not_count(tmp_path, monkeypatch):
    np.savez(tmp_path / "x.npz", x=np.zeros((8, 4)), y=np.arange(8) % 2, other=np.zeros(SIZE))
    monkeypatch.setattr("ostinato.data.files.free_memory", lambda: SIZE)
    assert read_npz(tmp_path / "x.npz")[0].shape == (8, 4)


def test_free_memory_is_part_of_all():
    assert 0 < memory.free_memory() <= memory._physical()


def test_an_endless_line_is_refused(tmp_path, monkeypatch):
    gz(tmp_path / "x.gz")
    monkeypatch.setattr(lines, "MAX_LINE", 1000)
    with pytest.raises(BadInput, match=r"line 1: longer than 1,000 bytes"):
        next(given_lines(tmp_path / "x.gz"))
