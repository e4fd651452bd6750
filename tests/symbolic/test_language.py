"""Programs as text: what is read, and what is said about mistakes."""

import pytest

from ostinato.errors import BadInput
from ostinato.symbolic import load_program, parse
from ostinato.symbolic.language import EXAMPLES, example_text


def test_labels_comments_and_spaces():
    program = parse("\ufeff# nothing\n\n a: b :inc x # a comment: halt\n\tgoto a\ngoto end\nend:")
    assert [(str(x), x.line, x.target) for x in program.instructions] == [
        ("inc x", 3, None),
        ("goto a", 4, 0),
        ("goto end", 5, 3),
    ]
    assert program.variables == ("x",)


MISTAKES = {
    "incr x": "line 1, column 1: there is no instruction 'incr'; did you mean inc?",
    "\n  print x": "line 2, column 3: there is no instruction 'print'; there are inc, dec",
    "x": "line 1, column 1: there is no instruction 'x'",
    "inc": "line 1, column 4: expected 'inc VARIABLE', got the end of the line",
    "inc x y": "line 1, column 7: expected the end of the line after 'inc x', got 'y'",
    "inc 3": "line 1, column 5: '3' cannot name a variable; a name has letters",
    "dec halt": "line 1, column 5: halt is an instruction and cannot name a variable",
    "inc x-y": "line 1, column 6: expected the end of the line after 'inc x', got '-'",
    "ifzero x got a": "line 1, column 10: expected 'ifzero VARIABLE goto LABEL', got 'got'",
    "ifzero x goto": "line 1, column 14: expected 'ifzero VARIABLE goto LABEL', got the end",
    "end: goto ende": "line 1, column 11: there is no label 'ende'; did you mean end?",
    "goto nowhere": "line 1, column 6: there is no label 'nowhere'; write it as label: on a line",
    "a: inc x\na: inc x": "line 2, column 1: the label a is already on line 1",
    "1: inc x": "line 1, column 1: '1' cannot name a label",
    "inc: inc x": "line 1, column 1: inc is an instruction and cannot name a label",
    ": inc x": "line 1, column 1: there is no instruction ':'",
    "INC x": "line 1, column 1: there is no instruction 'INC'; did you mean inc?",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_have_line_and_column(text):
    with pytest.raises(BadInput) as found:
        parse(text, "mine.txt")
    assert str(found.value).startswith(f"mine.txt, {MISTAKES[text]}")


@pytest.mark.parametrize("text", ["", "# nothing\n", "label:"])
def test_a_program_has_instructions(text):
    with pytest.raises(BadInput, match="mine has no instructions; there are inc VARIABLE; dec"):
        parse(text, "mine")


def test_examples_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, variable in EXAMPLES.items():
        assert variable in load_program(name).variables
        assert example_text(name).startswith(f"# {variable} = ")
    (tmp_path / "mine.txt").write_text("inc y\n")
    assert load_program("mine.txt").variables == ("y",)
    (tmp_path / "gcd").write_text("inc own\n")  # a file goes before an example
    assert load_program("gcd").variables == ("own",)
    with pytest.raises(BadInput, match="no file or example additon; did you mean addition"):
        load_program("additon")
    with pytest.raises(BadInput, match=r"other\.txt"):
        load_program("other.txt")
    with pytest.raises(BadInput, match=str(tmp_path)):
        load_program(tmp_path)
    (tmp_path / "bytes.txt").write_bytes(b"inc x\n\xff\n")
    with pytest.raises(BadInput, match=r"bytes\.txt, line 2: not UTF-8"):
        load_program("bytes.txt")
