"""Rescore the n-best lists of another system: `ostinato apply --rescore`.

A candidate y of source x gets the score `(1 - w) s(y) + w log p(y | x)`, of s, the score that the
other system gave it, and p, its probability by the network; w is 0.5, the even average of the
source. The candidates of a list are then ranked by it.

Source: Sutskever et al. (2014), section 3.7; Lipton et al. (2015), section 5.3.

A list is read as Moses writes it, or as `ostinato apply --n-best` does:

    0 ||| ein Haus ||| features ||| -1.2        -1.2000<TAB>ein Haus
    0 ||| das Haus ||| features ||| -1.5        -1.5000<TAB>das Haus
    1 ||| zwei ||| features ||| -0.3            (an empty line)
                                                -0.3000<TAB>zwei
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...data.lines import given_lines
from ...errors import BadInput
from ...files import checked_path
from ...progress import each
from ...weights import own_precision
from ...wiring import EncoderDecoder
from ..applying import ApplyOptions
from .write_answers import TOGETHER, PairCode, log_probabilities

BETWEEN = "|||"


class Candidate(NamedTuple):
    """A text, and the score that another system gave it; larger is better."""

    text: str
    score: float


def read_n_best(path: str | Path) -> list[list[Candidate]]:
    """The n-best lists of a file, one per source; see the module.

    Example:
        >>> _ = Path("list.txt").write_text("0 ||| a ||| ||| -1\\n1 ||| b ||| ||| -2\\n")
        >>> read_n_best("list.txt")
        [[Candidate(text='a', score=-1.0)], [Candidate(text='b', score=-2.0)]]
    """
    lists: list[list[Candidate]] = [[]]
    for number, line in enumerate(given_lines(checked_path("path", path)), 1):
        where = f"{path}, line {number}"
        if line.count(BETWEEN) > 1:
            which, text, *_, score = (part.strip() for part in line.split(BETWEEN))
            if which == str(len(lists)) and lists[-1]:
                lists.append([])
            if which != str(len(lists) - 1):
                raise BadInput(f"{where} is of source {which!r:.20}; they are 0, 1, 2 and so on")
        elif line.strip():
            score, tab, text = line.partition("\t")
            if not tab:
                raise BadInput(
                    f"{where} is neither source ||| text ||| … ||| score nor score<TAB>text"
                )
        else:
            lists.append([])
            continue
        lists[-1].append(Candidate(text.strip(), _number(score, where)))
    lists = lists if lists[-1] else lists[:-1]
    for number, some in enumerate(lists):
        if not some:
            raise BadInput(f"{path}: there is no candidate for source {number}")
    if not lists:
        raise BadInput(f"{path} has no candidates")
    return lists


def _number(words: str, where: str) -> float:
    try:
        score = float(words)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise BadInput(f"{where}: the score of a candidate must be a number, got {words!r:.40}")
    return score


def combined(
    network: EncoderDecoder,
    sources: Sequence[np.ndarray],
    lists: Sequence[Sequence[Candidate]],
    code: PairCode,
    weight: float = 0.5,
) -> list[list[tuple[Candidate, float, float]]]:
    """The candidates of each source, ranked: each with its new score and its log probability.

    Args:
        network: a trained `EncoderDecoder`.
        sources: symbols with ends.
        lists: the candidates of each source.
        code: of the network; words that its target does not know are read as the unknown one.
        weight: w, the share of the network.
    """
    pairs = [
        (source, code.read_target(one.text, f"candidate {one.text!r:.40}"))
        for source, some in zip(sources, lists, strict=True)
        for one in some
    ]
    scores: list[float] = []
    with own_precision(network):
        for begin in range(0, len(pairs), TOGETHER):
            block = pairs[begin : begin + TOGETHER]
            read, written = zip(*block, strict=True)
            scores += log_probabilities(network, read, written)
    left = iter(scores)
    ranked = []
    for some in lists:
        scored = [(one, next(left)) for one in some]
        rows = [(one, (1 - weight) * one.score + weight * own, own) for one, own in scored]
        ranked.append(sorted(rows, key=lambda row: -row[1]))
    return ranked


def rescored(network: EncoderDecoder, how: ApplyOptions) -> Iterator[dict[str, Any]]:
    """The best candidates for the lines of a file or of standard input; see `Task.apply`."""
    assert how.rescore is not None
    code = PairCode.of_run(how)
    lists, lines = read_n_best(how.rescore), [line.strip() for line in how.lines()]
    if len(lists) != len(lines):
        raise BadInput(
            f"the input has {len(lines)} lines and {how.rescore} candidates for {len(lists)}"
        )
    numbered = each([*enumerate(zip(lines, lists, strict=True), 1)], how.report, "rescoring")
    for number, (line, some) in numbered:
        source = code.read(line, f"line {number}")
        (ranked,) = combined(network, [source], [some], code, how.weight)
        answers = [
            {"text": one.text, "score": score, "other": one.score, "own": own}
            for one, score, own in ranked[: how.n_best]
        ]
        yield {"source": line, "text": ranked[0][0].text, "answers": answers}
