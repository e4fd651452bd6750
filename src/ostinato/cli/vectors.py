"""`ostinato vectors`: make word vectors from the co-occurrences of a text."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ..data.lines import given_lines
from ..data.word_vectors import (
    EPOCHS,
    FULL,
    LEAST,
    RATE,
    SIZE,
    WINDOW,
    count_cooccurrences,
    fit_vectors,
)
from .arguments import Json, check_new_file, check_seed, path
from .output import answer
from .progress import progress


def vectors(
    text: Annotated[
        Path, Argument(help="a text with spaces between words; - for standard input", parser=path)
    ],
    file: Annotated[Path, Argument(help="the file to write", parser=path)],
    size: Annotated[int, Option(help="numbers per word")] = SIZE,
    window: Annotated[int, Option(help="the largest distance of a pair, in words")] = WINDOW,
    min_count: Annotated[int, Option(help="how often a word must occur")] = LEAST,
    epochs: Annotated[int, Option(help="how often every pair is used")] = EPOCHS,
    rate: Annotated[float, Option(help="learning rate of AdaGrad")] = RATE,
    x_max: Annotated[
        float, Option("--x-max", help="the count from which on a pair has its whole weight")
    ] = FULL,
    lowercase: Annotated[bool, Option("--lowercase", help="read words in lower case")] = False,
    seed: Annotated[int, Option(help="of the first vectors and the order of pairs")] = 0,
    as_json: Json = False,
) -> None:
    """Make word vectors from a text, as GloVe does, for `ostinato train --vectors`.

    Pairs of words on the same line are counted. The file has a word and its numbers on each line.

    Examples:
        ostinato vectors reviews.txt vectors.txt --size 100
        ostinato train --task classify reviews.tsv --vectors vectors.txt --freeze-vectors
    """
    check_new_file(file, "the file to write", text)
    check_seed(seed)
    with progress(quiet=as_json) as report:
        report(0, None, "counting pairs of words")
        lines = [line.lower() if lowercase else line for line in given_lines(text)]
        counted = count_cooccurrences(lines, window=window, min_count=min_count)
        made = fit_vectors(
            counted, size=size, epochs=epochs, rate=rate, x_max=x_max, seed=seed, report=report
        )
    made.save(file)
    words, pairs = len(made.words), len(counted.counts)
    document = {"file": str(file), "words": words, "pairs": pairs, "size": size}
    told = f"{file}: {words:,} words of {size} numbers each, from {pairs:,} pairs"
    answer(document, lambda: print(told), as_json)
