"""Every task, for the conformance suite: what is listed here is tested.

Tasks that read files read small ones here, made by `write_data`; what they do with the real ones is
in `test_mnist.py` and `test_music.py`.
"""

import dataclasses
import gzip
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.io

from ostinato.data import Batch
from ostinato.tasks import (
    NARMA10,
    TASKS,
    Addition,
    Arrays,
    Audio,
    BouncingBalls,
    Captions,
    Characters,
    Classify,
    Dialogue,
    Execute,
    Lorenz,
    MackeyGlass,
    MemoryCapacity,
    NTMCopy,
    NTMNgrams,
    NTMRecall,
    NTMRepeatCopy,
    NTMSort,
    Recall,
    SantaFe,
    Series,
    Tagging,
    Task,
    Text,
    Translate,
    Video,
    VideoCaptions,
)

SURE = 50.0


@dataclasses.dataclass(frozen=True)
class Member:
    """A task with what is known about it.

    Attributes:
        make: called with `length` and `seed`.
        length: a short one.
        answer: the best outputs, found from a batch's inputs wherever that can be done.
        best: the metric of that answer.
        constant: the outputs of the best answer that does not look at the inputs.
        baseline: the metric of that answer, from a formula.
        other: another length, or `None` where there is but one.
        refused: a length that the task cannot have, or `None`.
    """

    make: Callable[..., Task]
    length: int
    answer: Callable[[Batch], np.ndarray]
    best: float
    constant: Callable[[Batch], np.ndarray]
    baseline: float
    other: int | None
    refused: int | None


def sure(symbols: np.ndarray, outputs: int) -> np.ndarray:
    """Outputs that leave no doubt about the symbols."""
    return SURE * np.eye(outputs)[symbols]


def everywhere(batch: Batch, outputs) -> np.ndarray:
    """The same outputs at every step of every sequence."""
    return np.broadcast_to(outputs, (*batch.weights.shape, len(outputs)))


def always(symbol: int, outputs: int) -> Callable[[Batch], np.ndarray]:
    return lambda batch: everywhere(batch, sure(symbol, outputs))


def entropies(shares: np.ndarray) -> np.ndarray:
    """Of coins with these shares of ones, in nats."""
    inner = shares[(0 < shares) & (shares < 1)]
    return -inner * np.log(inner) - (1 - inner) * np.log(1 - inner)


def at_end(batch: Batch, outputs: np.ndarray) -> np.ndarray:
    """Outputs `(B, outputs)` at the last step, nothing before."""
    everything = np.zeros((*batch.weights.shape, outputs.shape[-1]))
    everything[-1] = outputs
    return everything


# Each answer is found from what comes in, without a look at the targets.


def xor_of_the_last_two(batch: Batch) -> np.ndarray:
    guess = np.zeros_like(batch.inputs)
    guess[1::3] = (batch.inputs[0::3][: len(guess[1::3])] + batch.inputs[1::3]) % 2
    return sure(guess, 2)


def marked(batch: Batch) -> np.ndarray:
    values, marks = np.moveaxis(batch.inputs, -1, 0)
    return values.T[marks.T == 1].reshape(-1, 2).astype(float)


def order(digits: int) -> Callable[[Batch], np.ndarray]:
    def answer(batch: Batch) -> np.ndarray:
        found = batch.inputs.T[batch.inputs.T >= 4].reshape(-1, digits) - 4
        return at_end(batch, sure(found @ 2 ** np.arange(digits)[::-1], 2**digits))

    return answer


def recalled(batch: Batch) -> np.ndarray:
    outputs = np.zeros((*batch.inputs.shape, 2))
    outputs[-5:] = sure(batch.inputs[:5], 2)
    return outputs


def copied(batch: Batch) -> np.ndarray:
    return np.concatenate(
        [always(8, 9)(batch)[:-10], sure(batch.inputs[:10], 9)],
    )


def blank_then_any(batch: Batch) -> np.ndarray:
    outputs = always(8, 9)(batch).copy()
    outputs[-10:] = [0.0] * 8 + [-SURE]
    return outputs


def grey(batch: Batch) -> np.ndarray:
    """All pixels of a digit d of `write_data` are 25 d."""
    return at_end(batch, sure(np.round(batch.inputs[-1, :, 0] * 255 / 25).astype(int), 10))


def one_key_up(batch: Batch) -> np.ndarray:
    """All voices of a roll of `write_data` rise by a key each step."""
    return SURE * (2 * np.roll(batch.inputs, 1, axis=-1) - 1)


def next_in_window(batch: Batch) -> np.ndarray:
    """The symbol after the window is the only one that the window does not show."""
    return sure(np.concatenate([batch.inputs[1:], batch.targets[-1:]]), 3)


_random = np.random.default_rng(11)
LABELS = _random.choice(10, 5230, p=[0.1, 0.1, 0.2] + [0.6 / 7] * 7).astype(np.uint8)
FOR_TRAINING = np.bincount(LABELS[:-5000], minlength=10)
ROLLS = {
    part: [
        np.stack([np.eye(88)[(start + t + np.array([0, 4, 7])) % 88].sum(0) for t in range(steps)])
        for start, steps in zip(_random.integers(0, 88, count), range(5, 5 + count), strict=True)
    ]
    for part, count in (("train", 8), ("valid", 5), ("test", 6))
}
SHARES = np.concatenate([roll[1:] for roll in ROLLS["train"]]).mean(axis=0)
TEXT = "".join(_random.choice(list("abc"), 5000, p=[0.5, 0.3, 0.2]))
LETTERS = np.array([Counter(TEXT[:4500])[letter] for letter in "abc"]) / 4500


STEPS = np.stack([_random.permutation([0] * 6 + [1] * 4 + [2] * 2) for _ in range(40)])
WAVES = _random.normal(size=(1000, 2)) * [3, 5] + 10


def as_read(batch: Batch) -> np.ndarray:
    """The classes of `STEPS` are its inputs."""
    return sure(batch.inputs[..., 0].astype(int), 3)


def next_value(batch: Batch) -> np.ndarray:
    """The value after the window is the only one that the window does not show."""
    return np.concatenate([batch.inputs[1:, :, 1:], batch.targets[-1:]])


VERDICTS = np.where(_random.random(200) < 0.7, "yes", "no")
TEXTS = [
    " ".join(["well"] * before + [verdict] + ["well"] * (8 - before))
    for verdict, before in zip(VERDICTS, _random.integers(0, 9, 200), strict=True)
]
PAIRS = (
    ["".join(word) for word in _random.choice([*"abc"], (60, 3))],
    ["".join(word) for word in _random.choice([*"xyz"], (60, 3))],
)
PICTURES = (
    _random.integers(0, 256, (60, 5, 4, 3)).astype(np.uint8),
    [" ".join(words[: n % 4 + 1]) for n, words in enumerate(_random.choice([*"xyz"], (60, 4)))],
)
SENTENCES = [
    (["a", noun, "sleeps", *["."] * (n % 7)], ["D", "N", "V", *["P"] * (n % 7)])
    for n, noun in enumerate(_random.choice(["cat", "dog", "Tom", "aardvark"], 60))
]


PATTERNS = _random.choice([-1.0, 1.0], (12, 60))


def nearest(batch: Batch) -> np.ndarray:
    """The one of `PATTERNS` that is most like what is seen first."""
    return at_end(batch, PATTERNS[np.argmax(batch.inputs[0] @ PATTERNS.T, axis=-1)])


def verdict(batch: Batch) -> np.ndarray:
    """The words of `TEXTS` are well, yes and no, by their frequency 1 to 3."""
    return at_end(batch, sure((batch.inputs == 2).any(axis=0).astype(int), 2))


def write_data(folder: Path) -> None:
    """The files of all data sets, in small."""
    (folder / "mnist").mkdir()
    (folder / "jsb").mkdir()
    for part, labels in (("train", LABELS), ("t10k", LABELS[::-1][:40])):
        pixels = np.repeat(25 * labels, 784).reshape(-1, 28, 28)
        write_idx(folder / f"mnist/{part}-images-idx3-ubyte.gz", pixels)
        write_idx(folder / f"mnist/{part}-labels-idx1-ubyte.gz", labels)
    cells = {f"{part}data": np.empty((1, len(rolls)), object) for part, rolls in ROLLS.items()}
    for part, rolls in ROLLS.items():
        cells[f"{part}data"][0, :] = [roll.astype(np.uint8) for roll in rolls]
    (folder / "timeseries").mkdir()
    laser = np.round(100 * np.exp(np.sin(np.arange(900) / 3)) + _random.normal(size=900))
    np.save(folder / "timeseries/santafe_laser.npy", laser[:, None].astype(int))
    scipy.io.savemat(folder / "jsb/JSB_Chorales.mat", cells)
    (folder / "multi30k").mkdir()
    for part, count in (("train", 12), ("val", 2), ("test_2016_flickr", 2)):
        for language, text in (("en", "a man runs\na dog .\n"), ("fr", "un homme\nun chien .\n")):
            path = folder / f"multi30k/{part}.{language}.gz"
            path.write_bytes(gzip.compress((count * text).encode(), 1))


def write_idx(path: Path, values: np.ndarray) -> None:
    header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">u4").tobytes()
    path.write_bytes(gzip.compress(header + values.astype(np.uint8).tobytes(), 1))


def _digits(task: str) -> Member:
    return Member(
        make=TASKS[task],
        length=784,
        answer=grey,
        best=1,
        constant=always(int(FOR_TRAINING.argmax()), 10),
        baseline=FOR_TRAINING.max() / 230,
        other=None,
        refused=783,
    )


# A transcript per sequence instead of a target per step; see test_handwriting.py.
TRANSCRIBED = {"handwriting"}

MEMBERS = {
    "xor": Member(
        TASKS["xor"], 9, xor_of_the_last_two, 2 / 3, always(0, 2), 1 / 2, other=12, refused=1
    ),
    "adding": Member(
        TASKS["adding"],
        9,
        lambda batch: at_end(batch, marked(batch).sum(1, keepdims=True)),
        0,
        lambda batch: everywhere(batch, [1.0]),
        1 / 6,
        other=2,
        refused=1,
    ),
    "multiplication": Member(
        TASKS["multiplication"],
        9,
        lambda batch: at_end(batch, marked(batch).prod(1, keepdims=True)),
        0,
        lambda batch: everywhere(batch, [0.25]),
        7 / 144,
        other=2,
        refused=1,
    ),
    "marked-xor": Member(
        TASKS["marked-xor"],
        9,
        lambda batch: at_end(batch, np.logical_xor(*marked(batch).T)[:, None] * 1.0),
        0,
        lambda batch: everywhere(batch, [0.5]),
        1 / 4,
        other=2,
        refused=1,
    ),
    "temporal-order": Member(
        TASKS["temporal-order"], 25, order(2), 1, always(0, 4), 1 / 4, other=10, refused=9
    ),
    "temporal-order-3": Member(
        TASKS["temporal-order-3"], 25, order(3), 1, always(0, 8), 1 / 8, other=10, refused=9
    ),
    "permutation": Member(
        TASKS["permutation"],
        9,
        lambda batch: at_end(batch, sure(batch.inputs[0], 100)),
        1,
        always(0, 100),
        1 / 2,
        other=2,
        refused=1,
    ),
    "memorisation": Member(
        TASKS["memorisation"], 14, recalled, 1, always(0, 2), 1 / 2, other=11, refused=10
    ),
    "copy": Member(
        TASKS["copy"], 30, copied, 0, blank_then_any, 10 * np.log(8) / 30, other=21, refused=20
    ),
    "mnist": _digits("mnist"),
    "permuted-mnist": _digits("permuted-mnist"),
    "jsb": Member(
        TASKS["jsb"],
        11,
        one_key_up,
        0,
        lambda batch: everywhere(
            batch, np.log(np.maximum(SHARES, 1e-20)) - np.log(1 - np.minimum(SHARES, 0.99))
        ),
        entropies(SHARES).sum(),
        other=4,
        refused=12,
    ),
    "arrays": Member(
        lambda **options: Arrays(STEPS[..., None] * 1.0, STEPS, scale=False, **options),
        9,
        as_read,
        1,
        always(0, 3),
        1 / 2,
        other=5,
        refused=13,
    ),
    "classify": Member(
        lambda **options: Classify(
            TEXTS,
            VERDICTS,
            split={"train": range(160), "valid": range(160, 180), "test": range(180, 200)},
            **options,
        ),
        9,
        verdict,
        1,
        always(1, 2),
        float(np.mean(VERDICTS[:160] == "yes")),
        other=None,
        refused=None,
    ),
    "characters": Member(
        lambda **options: Characters(writers=5, **options),
        30,
        lambda batch: sure(batch.targets, 26),
        1,
        always(0, 26),
        1 / 26,
        other=7,
        refused=None,
    ),
    "recall": Member(
        lambda **options: Recall(PATTERNS, noise=0.2, **options),
        5,
        nearest,
        1,
        lambda batch: everywhere(batch, np.sign(PATTERNS.sum(0) + 0.5)),
        float(np.maximum((PATTERNS > 0).mean(0), (PATTERNS < 0).mean(0)).mean()),
        other=3,
        refused=1,
    ),
    "series": Member(
        lambda **options: Series(WAVES, targets=[1], **options),
        20,
        next_value,
        0,
        lambda batch: everywhere(batch, [0.0]),
        float(WAVES[1:900, 1].var()),
        other=7,
        refused=None,
    ),
    "text": Member(
        lambda **options: Text.of(TEXT, **options),
        20,
        next_in_window,
        0,
        lambda batch: everywhere(batch, np.log(LETTERS)),
        float(-(LETTERS * np.log2(LETTERS)).sum()),
        other=7,
        refused=None,
    ),
}

# Tasks whose inputs are several arrays or whose metric is per sequence, for the checks of tasks of
# one's own.
OTHERS: dict[str, Callable[[], Task]] = {
    "arrays, several labels": lambda: Arrays(
        STEPS[..., None] * 1.0, np.eye(3, dtype=int)[STEPS], kind="multilabel", seed=3
    ),
    "audio": lambda: Audio(WAVES[:, 0] / 30, WAVES[:, 1] / 30, length=50, washout=10, seed=3),
    "audio, what is added": lambda: Audio(
        WAVES[:, 0] / 30, WAVES[:, 1] / 30, length=50, washout=0, residual=True, carry=False, seed=3
    ),
    "bouncing-balls": lambda: BouncingBalls(pixels=6, length=12, seed=3),
    "caption": lambda: Captions.of(*PICTURES, shift=1, seed=3),
    "mackey-glass": lambda: MackeyGlass(samples=1500, washout=30, length=50, seed=3),
    "lorenz": lambda: Lorenz(samples=500, washout=10, length=50, seed=3),
    "narma10": lambda: NARMA10(samples=600, washout=10, length=50, seed=3),
    "memory-capacity": lambda: MemoryCapacity(samples=600, delays=4, washout=10, length=50, seed=3),
    "santa-fe": lambda: SantaFe(length=50, washout=10, seed=3),
    "addition": lambda: Addition(digits=3, seed=3),
    "execute": lambda: Execute(nesting=2, digits=2, seed=3),
    "ntm-copy": lambda: NTMCopy(bits=3, max_items=4, seed=3),
    "ntm-repeat-copy": lambda: NTMRepeatCopy(bits=3, max_items=3, repeats=3, seed=3),
    "ntm-recall": lambda: NTMRecall(bits=3, max_items=4, vectors=2, seed=3),
    "ntm-ngrams": lambda: NTMNgrams(length=20, order=3, seed=3),
    "ntm-sort": lambda: NTMSort(bits=3, max_items=5, kept=4, seed=3),
    "series, columns with roles": lambda: Series(
        [WAVES[:300], WAVES[100:350]], known=["2"], horizon=3, split="70/15/15", seed=3
    ),
    "tag": lambda: Tagging(SENTENCES, seed=3),
    "dialogue": lambda: Dialogue.from_settings(Dialogue.Settings(history=1), 3),
    "translate": lambda: Translate.of_texts(*PAIRS, level="characters", seed=3),
    "video": lambda: Video.of(PICTURES[0][..., None], frames=3, ahead=2, seed=3),
    "video-caption": lambda: VideoCaptions.of(PICTURES[0][..., None], PICTURES[1], shift=1, seed=3),
}
