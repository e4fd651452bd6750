"""`ostinato inside`: show what a trained network expects and what its units do.

One verb for all questions, because they are asked of the same thing, a network on a text, and one
leads to the next: find a unit, see it on the text, see what moved the loss where it fails. The text
is read once for all of them.
"""

import os
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from ..errors import BadInput
from ..lens import memory_length
from ..runs import Inside, look_inside, open_run
from ..settings import shown
from .arguments import Json, RunFolder, path
from .output import answer, escaped
from .progress import progress

SHOWN = 600
NEAR = 25  # pieces around a position
RED, BLUE = (214, 39, 40), (31, 119, 180)


def inside(
    run: RunFolder,
    text: Annotated[
        str | None, Argument(help="what to read", show_default="the validation part")
    ] = None,
    file: Annotated[Path | None, Option(help="read this file instead", parser=path)] = None,
    find: Annotated[
        str | None,
        Option(
            help="rank the units by how well they follow a pattern: brackets, quotes, line, word, "
            "regex:EXPRESSION, labels:FILE or labels:FILE:LABEL (one label per line)"
        ),
    ] = None,
    unit: Annotated[
        str | None, Option(help="colour the text by this unit, such as h[12] or forget gate[3]")
    ] = None,
    at: Annotated[
        int | None, Option(help="what was expected at this piece, and which pieces moved its loss")
    ] = None,
    similar: Annotated[
        int | None, Option(help="where else the state is similar to that at this piece")
    ] = None,
    top: Annotated[int, Option(help="how many units, alternatives or places to list")] = 5,
    begin: Annotated[int, Option(help="the first piece to show")] = 0,
    show: Annotated[int, Option(help="how many pieces of the text to show")] = SHOWN,
    limit: Annotated[int, Option(help="how many pieces to read, at most")] = 100_000,
    as_json: Json = False,
) -> None:
    """Look at a trained network from inside, while it reads a text.

    Without options, the text is coloured by surprise: how little the network expected what came,
    the tag of a word, the label of a text if it ended there, or the next symbol of a translation
    (typed as a source, or as source<TAB>target). Pieces are characters, bytes or words, counted
    from 0. A found unit is chosen on the first half
    of the text and scored on the second; beside it is what chance would reach.

    Examples:
        ostinato inside runs/text-lstm-1 "for i in range(10):"
        ostinato inside runs/text-lstm-1 --find brackets
        ostinato inside runs/text-lstm-1 --file code.py --find "regex:def \\w+" --top 10
        ostinato inside runs/text-lstm-1 --unit "c[12]" --at 130 --similar 130
    """
    if top < 1 or show < 0 or begin < 0:
        raise BadInput("--top must be at least 1, and --begin and --show not negative")
    with progress(quiet=as_json) as report:
        looked = look_inside(open_run(run), text, file=file, limit=limit, top=top, report=report)
        size = len(looked.passage.pieces)
        for name, place in (("--at", at), ("--similar", similar)):
            if place is not None and not 0 <= place < size:
                raise BadInput(f"{name} is a piece from 0 to {size - 1}, got {place}")
        answers: dict[str, Any] = {"run": str(run), "step": looked.step, "text": looked.where}
        answers["pieces_read"] = size
        answers["about"], answers["notes"] = looked.passage.about, looked.notes()
        if text and os.path.isfile(text):  # which a long text does not mind
            answers["notes"].append(f"{shown(text)} is read as a text; --file reads the file")
        if find is not None:
            answers["find"] = looked.find(find, top)
            unit = unit or answers["find"]["units"][0]["unit"]
        end = min(begin + show, size)
        answers["pieces"] = looked.pieces(begin, end)
        if unit is not None:
            values = looked.unit(unit)
            answers["unit"] = {"name": unit, "values": values[begin:end]}
        if at is not None:
            answers["at"] = looked.pieces(at, at + 1)[0] | {"reach": looked.reach(at)}
        if similar is not None:
            answers["similar"] = looked.similar(similar, top)
    answer(answers, lambda: _show(Console(highlight=False), looked, answers, top), as_json)


def _show(console: Console, looked: Inside, answers: dict[str, Any], top: int) -> None:
    console.print(f"{looked.where}, with the weights of step {looked.step:,}", soft_wrap=True)
    for note in answers["notes"]:
        console.print(f"note: {note}", soft_wrap=True)
    if answers["pieces"]:
        _show_text(console, answers)
    if "find" in answers:
        _show_found(console, answers["find"])
    if "at" in answers:
        _show_at(console, answers["at"], looked.passage.unit, top)
    for place in answers.get("similar", []):
        words = Text(f"{place['at']:>7}  cosine {place['cosine']:.3f}  ")
        words.append_text(_around(looked.passage.pieces, place["at"]))
        console.print(words, soft_wrap=True)


def _show_text(console: Console, answers: dict[str, Any]) -> None:
    pieces, unit = answers["pieces"], answers.get("unit")
    told = [piece["surprise"] for piece in pieces if piece["surprise"] is not None]
    values = [piece["surprise"] or 0.0 for piece in pieces] if unit is None else unit["values"]
    largest = max(map(abs, values)) or 1.0
    if unit is not None:
        title = f"{unit['name']}: red is positive, blue is negative (at most {largest:.3g})"
    elif told:
        about = f" at {answers['about']}" if answers["about"] else ""
        title = f"surprise{about}: the darker, the less expected (bits {largest:.3g})"
    else:
        expected = pieces[-1]["expected"]
        title = f"expected at the last piece: {_listed(expected)}" if expected else ""
    if title:
        console.print(Text(title, style="bold"))
    words = Text()
    for piece, value in zip(pieces, values, strict=True):
        words.append(_visible(piece["piece"]), _colour(value / largest))
    console.print(words, soft_wrap=True)
    if told:
        console.print(f"mean surprise {sum(told) / len(told):.3f} bits", soft_wrap=True)


def _show_found(console: Console, search: dict[str, Any]) -> None:
    binary = search["units"][0]["threshold"] is not None
    table = Table("unit", "chosen on", "score", *(("F1", "area", "rule") if binary else ("sign",)))
    for one in search["units"]:
        row = [one["unit"], f"{one['chosen']:.3f}", f"{one['score']:.3f}"]
        if binary:
            rule = f"{'above' if one['sign'] > 0 else 'below'} {one['threshold']:.3g}"
            row += [f"{one['f1']:.3f}", f"{one['area']:.3f}", rule]
        else:
            row.append("+" if one["sign"] > 0 else "-")
        table.add_row(*map(Text, row))
    console.print(table)
    chance, before = search["chance"], search["untrained"]
    words = (
        f"{search['pattern']}: {search['measure']} on the second half of {search['pieces']:,} "
        f"pieces, {search['searched']} units; the best by chance {chance['mean']:.3f} on average, "
        f"{chance['highest']:.3f} at most ({chance['draws']} rotations of the pattern)"
    )
    if before is not None:
        words += f"; before training {before['score']:.3f} ({before['unit']})"
    console.print(Text(words), soft_wrap=True)


def _show_at(console: Console, place: dict[str, Any], unit: str, top: int) -> None:
    reach = place["reach"]
    expected = _listed(place["expected"])
    surprise = "" if place["surprise"] is None else f", surprise {place['surprise']:.2f} bits"
    console.print(
        Text(f"{unit} {place['at']}, {_quoted(place['piece'])}{surprise}; expected {expected}"),
        soft_wrap=True,
    )
    moved = reach["moved"]
    largest = max(one["norm"] for one in moved) or 1.0
    words = Text(f"what moved the loss of {_quoted(reach['target'])}: ")
    for one in moved:
        words.append(_visible(one["piece"]), _colour(one["norm"] / largest))
    console.print(words, soft_wrap=True)
    for one in sorted(moved, key=lambda one: -one["norm"])[:top]:
        console.print(Text(f"{one['at']:>7}  {_quoted(one['piece'])}  {one['norm']:.3g}"))
    for name, profile in reach["by_lag"].items():
        length = memory_length(profile)
        far = "not finite" if length is None else f"at least 1% of its peak up to lag {length}"
        console.print(Text(f"gradient at {name}: {far}"))


def _around(pieces: list[str], at: int) -> Text:
    """The neighbourhood of a piece on one line, the piece itself underlined."""
    before, after = pieces[max(at - NEAR, 0) : at], pieces[at + 1 : at + 1 + NEAR]
    one = [_visible("".join(some)).replace("\n", "⏎") for some in (before, [pieces[at]], after)]
    return Text.assemble(one[0], (one[1], "bold underline"), one[2])


def _colour(value: float) -> Style:
    """A background: nothing for 0, red for 1, blue for -1; black letters on it."""
    if abs(value) < 0.05:
        return Style()
    strength = min(abs(value), 1.0)
    end = RED if value > 0 else BLUE
    red, green, blue = (round(255 + strength * (x - 255)) for x in end)
    return Style(color="black", bgcolor=f"rgb({red},{green},{blue})")


def _visible(text: str) -> str:
    return escaped(text, kept="\n")


def _listed(expected: list[list[Any]]) -> str:
    """Outputs with their probabilities."""
    return ", ".join(f"{_quoted(name)} {p:.1%}" for name, p in expected)


def _quoted(text: str) -> str:
    return repr(text)
