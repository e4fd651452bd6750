"""Word vectors from co-occurrence: count, fit, save and load.

Words that stand near each other are counted, `1 / d` for a pair at a distance of d words within a
window. The vectors w and w̃ and the biases of words minimise the weighted least squares of GloVe
over all pairs that occur,

    J = Σ_ij f(X_ij) (w_i · w̃_j + b_i + b̃_j - log X_ij)²,    f(x) = min(1, x / x_max)^¾

by AdaGrad on batches of pairs in random order. The vector of word i is w_i + w̃_i.

Source: Pennington, Socher and Manning (2014), GloVe: global vectors for word representation;
Lipton et al. (2015), section 5.1.
"""

import dataclasses
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import BadInput
from ..files import checked_path, write_whole
from ..progress import Report, each, silent
from ..settings import checked_float, checked_int, checked_kind
from .lines import given_lines
from .vocabulary import checked_texts

SIZE, WINDOW, LEAST, EPOCHS = 50, 10, 5, 30
RATE, FULL, POWER = 0.05, 100.0, 0.75  # those of the paper
TOGETHER = 1024  # pairs of a batch


class Cooccurrences(NamedTuple):
    """How often words occur near each other: pairs of numbers of words, and `X` of each."""

    words: tuple[str, ...]
    one: np.ndarray
    other: np.ndarray
    counts: np.ndarray


@dataclasses.dataclass(frozen=True)
class WordVectors:
    """Words and their vectors `(N, size)`."""

    words: tuple[str, ...]
    vectors: np.ndarray

    def save(self, path: str | Path) -> None:
        """Write a text file: on each line a word and its numbers, with spaces between."""
        lines = (
            f"{word} {' '.join(f'{x:.6g}' for x in row)}\n"
            for word, row in zip(self.words, self.vectors.tolist(), strict=True)
        )
        write_whole(path, "".join(lines).encode())

    def nearest(self, word: str, count: int = 5) -> list[tuple[str, float]]:
        """The words whose vectors have the largest cosine with that of a word."""
        if word not in self.words:
            raise BadInput(f"there is no vector of {word!r:.40}")
        norms = np.linalg.norm(self.vectors, axis=1)
        unit = self.vectors / np.maximum(norms, 1e-12)[:, None]
        cosines = unit @ unit[self.words.index(word)]
        best = [n for n in np.argsort(-cosines, kind="stable") if self.words[n] != word]
        return [(self.words[n], float(cosines[n])) for n in best[:count]]


def count_cooccurrences(
    lines: Sequence[str], *, window: int = WINDOW, min_count: int = LEAST
) -> Cooccurrences:
    """Count pairs of words within lines; rare words are left out first, as if they were not there.

    Args:
        lines: texts with spaces between words; no pair goes from one to the next.
        window: the largest distance of a pair.
        min_count: how often a word must occur.

    Example:
        >>> table = count_cooccurrences(["a b a", "b"], window=2, min_count=1)
        >>> table.words, [*zip(table.one.tolist(), table.other.tolist(), table.counts.tolist())]
        (('a', 'b'), [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0)])
    """
    lines = checked_texts(lines, "lines")
    checked_int("window", window)
    checked_int("min_count", min_count)
    split = [line.split() for line in lines]
    counts = Counter(word for some in split for word in some)
    words = tuple(word for word, n in counts.most_common() if n >= min_count)
    if len(words) < 2:
        raise BadInput(
            f"{len(words)} of {len(counts):,} words occur {min_count} times; it takes at least 2"
        )
    numbers = {word: n for n, word in enumerate(words)}
    coded = [[numbers[word] for word in some if word in numbers] for some in split]
    symbols = np.array([n for some in coded for n in some], np.int64)
    where = np.repeat(np.arange(len(coded)), [*map(len, coded)])
    pairs: np.ndarray = symbols[:0]
    sums: np.ndarray = np.zeros(0)
    longest = max(map(len, coded))
    for distance in range(1, min(window, longest - 1) + 1):
        together = where[distance:] == where[:-distance]
        one, other = symbols[:-distance][together], symbols[distance:][together]
        codes = np.concatenate([pairs, one * len(words) + other, other * len(words) + one])
        weights = np.concatenate([sums, np.full(2 * len(one), 1 / distance)])
        pairs, places = np.unique(codes, return_inverse=True)
        sums = np.bincount(places, weights, len(pairs))
    if not len(pairs):
        raise BadInput("no two words stand on the same line; there is nothing to count")
    return Cooccurrences(words, *np.divmod(pairs, len(words)), sums)


def fit_vectors(
    counted: Cooccurrences,
    *,
    size: int = SIZE,
    epochs: int = EPOCHS,
    rate: float = RATE,
    x_max: float = FULL,
    seed: int = 0,
    report: Report = silent,
) -> WordVectors:
    """The vectors that explain co-occurrences, by GloVe; see the module.

    Args:
        counted: see `count_cooccurrences`.
        size: of a vector.
        epochs: how often every pair is used.
        rate: of AdaGrad, whose sums of squares start at 1.
        x_max: the count from which on a pair has its whole weight.
        seed: of the first vectors and of the order of pairs.
        report: hears how many epochs are done.

    Example:
        >>> counted = count_cooccurrences(["a b", "a c", "b c d"] * 9, min_count=1)
        >>> fit_vectors(counted, size=3, epochs=2).vectors.shape
        (4, 3)
    """
    checked_kind("counted", counted, Cooccurrences, "what count_cooccurrences returns")
    checked_int("size", size)
    checked_int("epochs", epochs)
    checked_float("rate", rate, min=1e-9)
    checked_float("x_max", x_max, min=1e-9)
    rng = np.random.default_rng(checked_int("seed", seed, min=0))
    dtype = jnp.zeros(()).dtype
    state = jax.tree.map(
        lambda x: jnp.asarray(x, dtype), first_state(len(counted.words), size, rng)
    )
    weights = np.minimum(1, counted.counts / x_max) ** POWER
    rows = np.column_stack([counted.one, counted.other]).astype(np.int32)
    values = np.column_stack([np.log(counted.counts), weights]).astype(dtype)
    for _ in each(range(epochs), report, "fitting word vectors", epochs):
        state = _epoch(state, *_in_batches(rng.permutation(len(rows)), rows, values), rate)
    both = np.asarray(state[0], float)
    vectors = both[0, :, :size] + both[1, :, :size]
    if not np.isfinite(vectors).all():
        raise BadInput(f"with a rate of {rate:g} the vectors diverged; try a smaller one")
    return WordVectors(counted.words, vectors)


def first_state(words: int, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Vectors and biases `(2, words, size + 1)` of words and of contexts, and sums of squares."""
    both = (rng.random((2, words, size + 1)) - 0.5) / size
    return both, np.ones_like(both)


def _in_batches(
    order: np.ndarray, rows: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs in batches of equal size; what fills up the last one has no weight."""
    spare = -len(order) % TOGETHER
    one, two = (np.pad(x[order], ((0, spare), (0, 0))) for x in (rows, values))
    return one.reshape(-1, TOGETHER, 2), two.reshape(-1, TOGETHER, 2)


@jax.jit
def _epoch(state: Any, rows: Any, values: Any, rate: Any) -> Any:
    """AdaGrad over batches: squares are added first, then all pairs of a batch take their steps."""

    def step(state: Any, batch: Any) -> tuple[Any, None]:
        (both, squares), (pairs, numbers) = state, batch
        places = jnp.array([[0], [1]]), pairs.T
        w, c = both[places]
        errors = jnp.sum(w[:, :-1] * c[:, :-1], 1) + w[:, -1] + c[:, -1] - numbers[:, 0]
        slopes = (numbers[:, 1] * errors)[:, None]
        gradient = slopes * jnp.stack([c, w]).at[..., -1].set(1)
        squares = squares.at[places].add(gradient**2)
        return (both.at[places].add(-rate * gradient / jnp.sqrt(squares[places])), squares), None

    return jax.lax.scan(step, state, (rows, values))[0]


def read_vectors(path: str | Path, among: Collection[str] | None = None) -> WordVectors:
    """Word vectors of a text file as GloVe, word2vec and `WordVectors.save` write it.

    On each line stand a word and its numbers, with spaces between. A first line of two whole
    numbers, of words and of numbers per word, is that of word2vec. The file may be compressed with
    gzip. Of a word that comes twice the first vector counts.

    Args:
        path: the file.
        among: the words to keep; all by default.

    Example:
        >>> _ = Path("v.txt").write_text("2 2\\ncat 0.5 1\\ndog -1 2\\n")
        >>> read_vectors("v.txt").words, read_vectors("v.txt", {"dog"}).vectors.tolist()
        (('cat', 'dog'), [[-1.0, 2.0]])
    """
    wanted = None if among is None else set(among)
    size, promised, lines = 0, None, 0
    kept: dict[str, np.ndarray] = {}
    for number, line in enumerate(given_lines(checked_path("path", path)), 1):
        fields = line.rstrip().split(" ")
        if number == 1 and len(fields) == 2 and all(x.isdecimal() for x in fields):
            promised, size = int(fields[0]), int(fields[1])
            if not size:
                raise BadInput(f"{path}, line 1 says that vectors have 0 numbers")
            continue
        size = size or len(fields) - 1
        word, numbers = " ".join(fields[:-size]), fields[-size:]
        if not word or size < 1 or len(numbers) != size:
            count = max(len(fields) - 1, 0)
            raise BadInput(
                f"{path}, line {number} has {count} numbers after a word, not {size or 1}"
            )
        lines += 1
        if (wanted is None or word in wanted) and word not in kept:
            kept[word] = _numbers(numbers, f"{path}, line {number}")
    if not lines:
        raise BadInput(f"{path} has no word vectors; give lines of a word and its numbers")
    if promised not in (None, lines):
        raise BadInput(f"{path} promises {promised:,} words on its first line and has {lines:,}")
    vectors = np.stack([*kept.values()]) if kept else np.zeros((0, size), np.float32)
    return WordVectors(tuple(kept), vectors)


def _numbers(fields: Sequence[str], where: str) -> np.ndarray:
    try:
        vector = np.array(fields, np.float32)
    except ValueError as error:
        raise BadInput(f"{where} is not a word and numbers: {error}") from None
    if not np.isfinite(vector).all():
        raise BadInput(f"{where}: the numbers of a vector must be finite")
    return vector


class StartVectors(NamedTuple):
    """The vectors that some symbols of a vocabulary start with.

    Attributes:
        symbols: `(N,)`, the numbers of the words that the file has.
        vectors: `(N, size)`.
        path: of the file, for messages.
    """

    symbols: np.ndarray
    vectors: np.ndarray
    path: str

    @classmethod
    def read(cls, path: str, words: Sequence[str], first: int) -> "StartVectors":
        """The vectors of a vocabulary's words; that of the word in lower case where it has none.

        Args:
            path: see `read_vectors`.
            words: the vocabulary.
            first: the symbol of its first word.
        """
        known = read_vectors(path, {x for word in words for x in (word, word.lower())})
        places = {word: n for n, word in enumerate(known.words)}
        at = [places.get(word, places.get(word.lower(), -1)) for word in words]
        rows = np.flatnonzero(np.array(at) >= 0)
        if not len(rows):
            raise BadInput(f"{path} has none of the {len(words):,} words of the training part")
        return cls(rows + first, known.vectors[[at[n] for n in rows]], path)
