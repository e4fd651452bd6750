"""Every task makes the batches that it has always made, so that old runs go on as they began.

Each task has one hash over some training and held-out batches: shapes, dtypes, and the contents of
arrays of whole numbers. Other numbers may differ between processors in their last digit, so only
their shapes and dtypes count. A change here changes the data of every run: say so in CHANGELOG.md.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterator

import jax
import numpy as np
import pytest

from ostinato.data import Batch
from ostinato.tasks import Handwriting, Task

from .members import MEMBERS, OTHERS, write_data

SEED = 3
KEPT = {
    "adding": "2c35022b1223",
    "addition": "99f79c06a199",
    "arrays": "6f6b8d815c97",
    "arrays, several labels": "17b2c0fa3ca3",
    "audio": "208e803374c4",
    "audio, what is added": "7c4db4785529",
    "bouncing-balls": "85e9abeb7c2f",
    "caption": "6a39ad883165",
    "characters": "cc3aaa1c6017",
    "classify": "4cfb610429cb",
    "copy": "9e3b311147f0",
    "dialogue": "e5086b062bf6",
    "execute": "92e33f8da74b",
    "handwriting": "e3c4cc724865",
    "jsb": "65b06d9ea4df",
    "lorenz": "1274bdde49d1",
    "mackey-glass": "7e654fe95db0",
    "memorisation": "de4493da30be",
    "memory-capacity": "e2eae700d170",
    "mnist": "d9168c120679",
    "marked-xor": "633213674d76",
    "multiplication": "2c35022b1223",
    "narma10": "cef2427d250a",
    "ntm-copy": "dee0a3f1f328",
    "ntm-ngrams": "7a3b3c2b3b5f",
    "ntm-recall": "a41175d975a2",
    "ntm-repeat-copy": "e5f46f16b331",
    "ntm-sort": "ee5b46569b9f",
    "permutation": "30a10b5aacce",
    "permuted-mnist": "d9168c120679",
    "recall": "cd5045a40f91",
    "santa-fe": "0cc64e3b5a07",
    "series": "78c39b05e2f2",
    "series, columns with roles": "a037f20b4589",
    "tag": "310e753cd0c0",
    "temporal-order": "737c100d2ef8",
    "temporal-order-3": "51e3f3459448",
    "text": "2222ee5ad3ba",
    "translate": "adaacf25527a",
    "video": "7c6bf25b7afe",
    "video-caption": "c5a1ed9098f6",
    "xor": "0fd44939bb1a",
}


def makers() -> dict[str, Callable[[], Task]]:
    """A small instance of every task, by name."""
    members = {
        name: lambda x=x: x.make(length=x.length, seed=SEED)  # type: ignore[misc]
        for name, x in MEMBERS.items()
    }
    return {
        **members,
        **OTHERS,
        "handwriting": lambda: Handwriting(characters=4, writers=5, seed=SEED),
    }


def some_batches(task: Task) -> Iterator[Batch]:
    for size, index in itertools.product((1, 7), (0, 1, 40)):
        yield task.batch(index, size)
    for part in ("valid", "test"):
        yield from itertools.islice(task.held_out(part, 5), 3)


def hash_of(task: Task) -> str:
    digest = hashlib.sha256()
    digest.update(repr((task.batch_shape(7), task.epochs(50, 7))).encode())
    for batch in some_batches(task):
        for path, x in jax.tree_util.tree_flatten_with_path(batch)[0]:
            x = np.asarray(x)
            digest.update(repr((jax.tree_util.keystr(path), x.dtype.str, x.shape)).encode())
            if x.dtype.kind != "f" or not np.any(x % 1):
                digest.update(np.ascontiguousarray(x).data)
    return digest.hexdigest()[:12]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_data(folder)
    return folder


@pytest.mark.parametrize("name", makers())
def test_batches_stay(name, data, monkeypatch):
    monkeypatch.setenv("OSTINATO_DATA", str(data))
    assert hash_of(makers()[name]()) == KEPT[name]
