"""A small language: increment, decrement, branch if zero, goto, halt.

    inc x                  x ← x + 1
    dec x                  x ← max(x - 1, 0)
    ifzero x goto label    go on at the label if x = 0, at the next instruction otherwise
    goto label             go on at the label
    halt                   stop; the end of the program does so too
    label:                 names the instruction that follows
    # comment              up to the end of the line

Variables hold whole numbers from 0 on, and are 0 unless they are inputs. Names consist of letters,
digits and underscores, and do not begin with a digit.

Source: the language of Hyötyniemi (1996), Turing machines are recurrent neural networks, with its
branch reversed (his is taken if the variable is not 0) and with goto and halt added.
"""

import dataclasses
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import NamedTuple

from ..data.lines import read_utf8
from ..errors import BadInput
from ..names import nearest
from ..settings import shown

FORMS = {
    "inc": "inc VARIABLE",
    "dec": "dec VARIABLE",
    "ifzero": "ifzero VARIABLE goto LABEL",
    "goto": "goto LABEL",
    "halt": "halt",
}
# The programs that come with the package, and the variable that holds the result of each.
EXAMPLES = {
    "addition": "sum",
    "multiplication": "product",
    "gcd": "gcd",
    "fibonacci": "f",
    "prime": "prime",
}


@dataclasses.dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        kind: `"inc"`, `"dec"`, `"ifzero"`, `"goto"` or `"halt"`.
        line: its line in the text, from 1.
        variable: the variable that it changes or tests; `None` for goto and halt.
        label, target: where it can go to, by name and as the index of an instruction; `None` for
            the others. A label at the end of the program has the index after the last one.
    """

    kind: str
    line: int
    variable: str | None = None
    label: str | None = None
    target: int | None = None

    def __str__(self) -> str:
        words = FORMS[self.kind]
        return words.replace("VARIABLE", self.variable or "").replace("LABEL", self.label or "")


@dataclasses.dataclass(frozen=True)
class Program:
    """A parsed program.

    Attributes:
        name: where it comes from, for messages.
        instructions: in order.
        variables: in the order of their first use.
    """

    name: str
    instructions: tuple[Instruction, ...]
    variables: tuple[str, ...]

    def starting_values(self, inputs: Mapping[str, int]) -> tuple[int, ...]:
        """The values of all variables at the start; those that are not given are 0."""
        for name, value in inputs.items():
            if name not in self.variables:
                known = ", ".join(self.variables) or "none"
                raise BadInput(f"{self.name} has no variable {name}; its variables are {known}")
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise BadInput(f"an input is a whole number from 0 on, got {name} = {shown(value)}")
        return tuple(inputs.get(name, 0) for name in self.variables)


class _Word(NamedTuple):
    text: str
    line: int
    column: int


def parse(text: str, name: str = "program") -> Program:
    """The program that a text describes.

    Raises:
        BadInput: for a mistake, with its line and column, both from 1, and what would be right.

    Example:
        >>> program = parse("again: ifzero a goto done; dec a; inc b; goto again; done: halt")
        Traceback (most recent call last):
        ostinato.errors.BadInput: program, line 1, column 26: expected the end of the line after
        'ifzero a goto done', got ';'
        >>> program = parse("again: ifzero a goto done\\ndec a\\ninc b\\ngoto again\\ndone: halt")
        >>> program.variables
        ('a', 'b')
        >>> print(program.instructions[0])
        ifzero a goto done
    """
    instructions: list[tuple[Instruction, _Word | None]] = []
    labels: dict[str, tuple[int, _Word]] = {}
    variables: dict[str, None] = {}
    for words in _lines(text):
        while len(words) > 1 and words[1].text == ":":
            label = _checked_name(words[0], "label", name)
            if label in labels:
                first = labels[label][1].line
                raise _wrong(words[0], f"the label {label} is already on line {first}", name)
            labels[label] = len(instructions), words[0]
            words = words[2:]
        if words:
            instruction, goes_to = _instruction(words, name)
            instructions.append((instruction, goes_to))
            if instruction.variable is not None:
                variables[instruction.variable] = None
    if not instructions:
        raise BadInput(f"{name} has no instructions; there are {'; '.join(FORMS.values())}")
    resolved = [_resolved(instruction, word, labels, name) for instruction, word in instructions]
    return Program(name, tuple(resolved), tuple(variables))


def example_text(name: str) -> str:
    """The text of an example."""
    return (files(__package__) / "programs" / f"{name}.txt").read_text(encoding="utf-8")


def load_program(path: str | os.PathLike) -> Program:
    """The program in a file, or the example of this name if there is no such file.

    Example:
        >>> load_program("gcd").variables
        ('a', 'b', 'smaller', 'gcd')
    """
    name = os.fspath(path)
    if name in EXAMPLES and not os.path.exists(name):
        return parse(example_text(name), name)
    if not os.path.lexists(name) and os.path.basename(name) == name and "." not in name:
        hint = _hint(name, EXAMPLES, f"the examples are {', '.join(EXAMPLES)}")
        raise BadInput(f"there is no file or example {name}; {hint}")
    return parse(read_utf8(name, "program"), name)


def _lines(text: str) -> Iterator[list[_Word]]:
    """The words of every line: names, numbers and single other characters, without comments."""
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        words = re.finditer(r"\w+|[^\w\s]", line.partition("#")[0])
        yield [_Word(word[0], number, word.start() + 1) for word in words]


def _instruction(words: list[_Word], name: str) -> tuple[Instruction, _Word | None]:
    """The instruction of a line, and the word of the label that it can go to."""
    first = words[0]
    if first.text not in FORMS:
        hint = _hint(first.text, FORMS, f"there are {', '.join(FORMS)}, and label:")
        raise _wrong(first, f"there is no instruction {first.text!r}; {hint}", name)
    form = FORMS[first.text].split()
    parts: dict[str, _Word] = {}
    for place, expected in enumerate(form[1:], 1):
        if place == len(words):
            end = words[-1]
            at = end._replace(column=end.column + len(end.text))
            raise _wrong(at, f"expected {FORMS[first.text]!r}, got the end of the line", name)
        word = words[place]
        if expected.isupper():
            _checked_name(word, expected.lower(), name)
            parts[expected] = word
        elif word.text != expected:
            raise _wrong(word, f"expected {FORMS[first.text]!r}, got {word.text!r}", name)
    if len(words) > len(form):
        before = " ".join(word.text for word in words[: len(form)])
        extra = words[len(form)]
        raise _wrong(
            extra, f"expected the end of the line after {before!r}, got {extra.text!r}", name
        )
    variable, label = (parts[x].text if x in parts else None for x in ("VARIABLE", "LABEL"))
    return Instruction(first.text, first.line, variable, label), parts.get("LABEL")


def _resolved(
    instruction: Instruction, word: _Word | None, labels: dict[str, tuple[int, _Word]], name: str
) -> Instruction:
    """The instruction with the index that its label stands for."""
    if word is None:
        return instruction
    if word.text not in labels:
        known = f"there are {', '.join(labels)}" if labels else "write it as label: on a line"
        hint = _hint(word.text, labels, known)
        raise _wrong(word, f"there is no label {word.text!r}; {hint}", name)
    return dataclasses.replace(instruction, target=labels[word.text][0])


def _checked_name(word: _Word, what: str, name: str) -> str:
    if word.text in FORMS:
        raise _wrong(word, f"{word.text} is an instruction and cannot name a {what}", name)
    if not word.text.isidentifier():
        raise _wrong(
            word,
            f"{word.text!r} cannot name a {what}; a name has letters, digits and underscores and "
            "does not begin with a digit",
            name,
        )
    return word.text


def _hint(word: str, names: Iterable[str], known: str) -> str:
    """The name that a misspelt word most resembles, or what is known."""
    near = nearest(word, names)
    return f"did you mean {near}?" if near else known


def _wrong(word: _Word, words: str, name: str) -> BadInput:
    return BadInput(f"{name}, line {word.line}, column {word.column}: {words}")
