"""BLEU and chrF by the package `sacrebleu`, with its signature.

Sources: Papineni et al. (2002), BLEU: a method for automatic evaluation of machine translation;
Popović (2015), chrF: character n-gram F-score for automatic MT evaluation; Post (2018), A call for
clarity in reporting BLEU scores.
"""

import itertools
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ...errors import BadInput, NeedsExtra, needing
from ...settings import checked_int
from .exact import each_with_several

TOKENIZERS = ("13a", "intl", "char", "none", "zh")
MAX_ORDER = 100  # words; hardly any sentence is longer


class Score(NamedTuple):
    """A score from 0 to 100, and how it was computed.

    Attributes:
        name: for example "BLEU".
        value: from 0 to 100.
        signature: case, tokenisation, smoothing and version, as `sacrebleu` prints them.
    """

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f} ({self.signature})"


def bleu(
    texts: Sequence[str],
    references: Sequence[str | Sequence[str]],
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
    order: int = 4,
) -> Score:
    """Corpus BLEU of texts against one reference each, or several.

    With several references, an n-gram of a text counts as often as it occurs in the reference that
    has most of it, and the brevity penalty takes the reference whose length is closest.

    Args:
        texts: the texts, detokenised.
        references: a text for each, or a list of texts.
        lowercase: whether to ignore case.
        tokenize: `"13a"`, sacrebleu's usual one, `"intl"`, `"char"`, `"zh"`, or `"none"` for texts
            that are tokenised already.
        order: the longest n-grams that are counted, in words; 1 for BLEU-1.

    Example:
        >>> score = bleu(["The cat sat on a mat."], ["The cat sat on the mat."])
        >>> round(score.value, 1), score.signature.split("|")[3:5]
        (48.9, ['tok:13a', 'smooth:exp'])
        >>> both = ["The cat sat on the mat.", "A cat sat on a mat."]
        >>> round(bleu(["The cat sat on a mat."], [both]).value, 1)
        100.0
    """
    if tokenize not in TOKENIZERS:
        raise BadInput(f"tokenize must be one of {', '.join(TOKENIZERS)}; got {tokenize!r:.40}")
    checked_int("the order of BLEU", order, max=MAX_ORDER)
    metric = _sacrebleu("BLEU").BLEU(lowercase=lowercase, tokenize=tokenize, max_ngram_order=order)
    return _score("BLEU" if order == 4 else f"BLEU-{order}", metric, texts, references)


def chrf(texts: Sequence[str], references: Sequence[str | Sequence[str]]) -> Score:
    """Corpus chrF, chrF2 to be exact: the F-score of character n-grams up to 6, recall weighs 2.

    Args:
        texts: the texts, detokenised.
        references: a text for each, or a list of texts, of which the best one counts.

    Example:
        >>> round(chrf(["The cat sat on a mat."], ["The cat sat on the mat."]).value, 1)
        65.8
    """
    return _score("chrF2", _sacrebleu("chrF").CHRF(), texts, references)


@contextmanager
def left_out_if_missing() -> Iterator[None]:
    """A context in which BLEU and chrF are left out with a warning if sacrebleu is not installed.

    Example:
        >>> values = {"exact": 0.5}
        >>> with left_out_if_missing():
        ...     values["BLEU"] = bleu(["a b c d"], ["a b c d"]).value
        >>> sorted(values)
        ['BLEU', 'exact']
    """
    try:
        yield
    except NeedsExtra as error:
        warnings.warn(f"left out: {error}", stacklevel=3)


def _score(
    name: str, metric: Any, texts: Sequence[str], references: Sequence[str | Sequence[str]]
) -> Score:
    several = each_with_several(texts, references)
    # The n-th references of all texts are a stream; a text with fewer has None in the others.
    streams = [*map(list, itertools.zip_longest(*several))]
    value = metric.corpus_score(list(texts), streams).score
    return Score(name, float(value), str(metric.get_signature()))


def _sacrebleu(name: str) -> Any:
    with needing(name, "sacrebleu", "translate"):
        from sacrebleu import metrics
    return metrics
