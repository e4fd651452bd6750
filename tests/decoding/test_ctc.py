"""Transcripts of CTC outputs: greedy, and prefix beam search against all paths."""

import itertools

import numpy as np
import pytest
from scipy.special import log_softmax

from ostinato.decoding import ctc_beam, ctc_greedy
from ostinato.decoding.sampling import NotFinite
from ostinato.errors import BadInput


def transcript(path) -> tuple[int, ...]:
    """Merge repeats, then remove blanks."""
    return tuple(symbol for symbol, _ in itertools.groupby(path) if symbol)


def by_all_paths(outputs: np.ndarray) -> dict[tuple[int, ...], float]:
    """The log probability of every transcript, outputs `(T, symbols)`."""
    logs = log_softmax(outputs, axis=-1)
    found: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(outputs.shape[1]), repeat=len(outputs)):
        score = sum(row[symbol] for row, symbol in zip(logs, path, strict=True))
        words = transcript(path)
        found[words] = np.logaddexp(found.get(words, -np.inf), score)
    return found


def random_outputs(*shape: int, seed: int = 0, scale: float = 1.5) -> np.ndarray:
    return scale * np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("symbols", [2, 3])
def test_wide_beam_is_exhaustive(symbols):
    lengths = [5, 1, 0, 4]
    outputs = random_outputs(5, 4, symbols)
    found = ctc_beam(outputs, np.array(lengths), width=64, count=64)
    for n, length in enumerate(lengths):
        right = by_all_paths(outputs[:length, n])
        assert {tuple(labels.tolist()) for labels, _ in found[n]} == right.keys()
        for labels, score in found[n]:
            assert score == pytest.approx(right[tuple(labels.tolist())], abs=1e-10)
        scores = [score for _, score in found[n]]
        assert scores == sorted(scores, reverse=True)


def test_narrow_beam_gives_lower_bounds_and_distinct_transcripts():
    outputs = random_outputs(6, 3, 3, seed=1)
    for n, best in enumerate(ctc_beam(outputs, width=3, count=3)):
        right = by_all_paths(outputs[:, n])
        assert len({tuple(labels.tolist()) for labels, _ in best}) == 3
        for labels, score in best:
            assert score <= right[tuple(labels.tolist())] + 1e-10


def test_a_few_prefixes_find_the_best_transcript():
    outputs = random_outputs(7, 10, 3, seed=2)
    for n, best in enumerate(ctc_beam(outputs, width=16)):
        right = by_all_paths(outputs[:, n])
        assert tuple(best[0][0].tolist()) == max(right, key=lambda words: right[words])


def test_greedy_is_the_transcript_of_the_best_path():
    outputs, lengths = random_outputs(20, 6, 4), np.array([20, 1, 7, 13, 0, 20])
    found = ctc_greedy(outputs, lengths)
    for n, length in enumerate(lengths):
        assert tuple(found[n].tolist()) == transcript(outputs[:length, n].argmax(-1).tolist())


def test_sure_outputs_leave_one_transcript():
    path = np.array([0, 3, 3, 0, 3, 1, 1, 2, 0])
    outputs = 100 * np.eye(4)[path][:, None]
    ((labels, score),) = ctc_beam(outputs, width=4)[0]
    assert labels.tolist() == ctc_greedy(outputs)[0].tolist() == [3, 3, 1, 2]
    assert score == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize(
    "outputs, lengths, options, words",
    [
        (np.zeros((4, 3)), None, {}, r"outputs must be \(T, B, labels \+ 1\).* got \(4, 3\)"),
        (np.zeros((4, 3, 1)), None, {}, "at least one label"),
        (np.zeros((4, 2, 3)), [1, 2, 3], {}, "lengths must be 2 whole numbers"),
        (np.zeros((4, 2, 3)), [1.5, 2], {}, "lengths must be 2 whole numbers"),
        (np.zeros((4, 2, 3)), [1, 5], {}, "lengths must be from 0 to 4, got 5"),
        (np.zeros((4, 2, 3)), None, {"width": 0}, "width of a beam must be at least 1, got 0"),
        (np.zeros((4, 2, 3)), None, {"count": 17}, "from 1 to 16, got 17"),
    ],
)
def test_bad_input_gets_one_line(outputs, lengths, options, words):
    with pytest.raises(BadInput, match=words) as found:
        ctc_beam(outputs, lengths, **options)
    assert "\n" not in str(found.value)


def test_outputs_must_be_finite_but_not_in_the_padding():
    outputs = random_outputs(4, 2, 3)
    right = ctc_greedy(outputs, [4, 2])
    outputs[2:, 1] = np.nan
    assert all(map(np.array_equal, right, ctc_greedy(outputs, [4, 2])))
    with pytest.raises(NotFinite):
        ctc_beam(outputs, [4, 3])
