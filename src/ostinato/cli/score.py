"""`ostinato score`: compare texts with references: BLEU, chrF, METEOR."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ..data.lines import given_lines, in_columns, read_lines
from ..errors import BadInput
from ..tasks.scores import any_match, bleu, chrf, meteor, read_synonyms
from ..tasks.scores.bleu import TOKENIZERS, left_out_if_missing
from .arguments import Json, path
from .output import answer


def score(
    texts: Annotated[
        Path, Argument(help="the texts to score, one per line; - for standard input", parser=path)
    ],
    references: Annotated[
        list[Path],
        Argument(help="files of right texts, one per line or several with tabs", parser=path),
    ],
    lowercase: Annotated[bool, Option("--lowercase", help="BLEU: ignore case")] = False,
    tokenize: Annotated[
        str, Option(help=f"BLEU: how texts become words: {', '.join(TOKENIZERS)}")
    ] = "13a",
    order: Annotated[int, Option(help="BLEU: the longest n-grams")] = 4,
    alpha: Annotated[
        float, Option(help="METEOR: from 0, precision alone, to 1, recall alone")
    ] = 0.9,
    beta: Annotated[float, Option(help="METEOR: exponent of the penalty of many chunks")] = 3.0,
    gamma: Annotated[float, Option(help="METEOR: the largest penalty of many chunks")] = 0.5,
    no_stems: Annotated[
        bool, Option("--no-stems", help="METEOR: words with the same stem do not match")
    ] = False,
    synonyms: Annotated[
        Path | None,
        Option(help="METEOR: words that match, each line a set of synonyms", parser=path),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare texts with one reference each, or several: BLEU, chrF, METEOR, exact match.

    References are lines of one file or of several. A line may have several with tabs between.

    Examples:
        ostinato apply runs/translate-gru-1 test.en | ostinato score - test.de
        ostinato score answers.en one.en two.en --synonyms synonyms.txt --alpha 0.8
    """
    answers = [line.strip() for line in given_lines(texts)]
    columns = [read_lines(file) for file in references]
    for file, lines in zip(references, columns, strict=True):
        if len(lines) != len(answers):
            raise BadInput(f"{texts} has {len(answers)} lines and {file} {len(lines)}")
    right = [[x for line in row for x in in_columns(line)] for row in zip(*columns, strict=True)]
    known = None if synonyms is None else read_synonyms(synonyms)
    value = meteor(
        answers, right, alpha=alpha, beta=beta, gamma=gamma, stems=not no_stems, synonyms=known
    )
    values = {"exact": any_match(answers, right), "METEOR": value}
    with left_out_if_missing():
        both = (
            bleu(answers, right, lowercase=lowercase, tokenize=tokenize, order=order),
            chrf(answers, right),
        )
        values |= {f"{one.name} ({one.signature})": one.value for one in both}
    lines = [f"{name}: {value:.4g}" for name, value in values.items()]
    document = {"texts": len(answers), "scores": values}
    answer(document, lambda: print("\n".join(lines)), as_json, indent=2)
