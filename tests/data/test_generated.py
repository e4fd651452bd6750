"""Generated data sets: number words, dates, programs, additions."""

import contextlib
import datetime
import io
from random import Random

import numpy as np
import pytest
from num2words import num2words

from ostinato.data.generated import dates, numbers, programs
from ostinato.data.generated.programs import STRATEGIES, Level, strategy
from ostinato.data.splits import PARTS, draw_in, part_of
from ostinato.errors import BadInput


def generator(seed=0):
    return np.random.default_rng(seed)


def seeded(rng):
    """Python's generator, for what draws single numbers."""
    return Random(int(rng.integers(2**63)))


DRAWS = {
    "numbers": lambda rng, part: numbers.draw_numbers(rng, 1, largest=9999, part=part)[0],
    "dates": lambda rng, part: dates.draw_date(rng, part, last=datetime.date(1605, 1, 1)),
    "programs": lambda rng, part: str(programs.draw_program(seeded(rng), Level(1, 1), part)),
    "additions": lambda rng, part: tuple(
        sorted(numbers.draw_many_terms(rng, np.array([[2, 2]]), part)[0].tolist())
    ),
}


@pytest.mark.parametrize("kind", DRAWS)
def test_no_example_is_in_two_parts(kind):
    found = {part: {DRAWS[kind](generator(n), part) for n in range(400)} for part in PARTS}
    assert all(len(some) > 50 for some in found.values())
    assert not found["train"] & found["valid"] and not found["train"] & found["test"]
    assert not found["valid"] & found["test"]


@pytest.mark.parametrize("kind", DRAWS)
def test_examples_depend_on_the_generator_alone(kind):
    draws = [[DRAWS[kind](rng, "train") for _ in range(5)] for rng in map(generator, (1, 1, 2))]
    assert draws[0] == draws[1] != draws[2]


def test_eight_tenths_are_for_training():
    found = [part_of(str(n)) for n in range(20_000)]
    shares = {part: found.count(part) / len(found) for part in PARTS}
    assert shares == pytest.approx({"train": 0.8, "valid": 0.1, "test": 0.1}, abs=0.01)


def test_a_part_without_examples_is_refused():
    with pytest.raises(BadInput, match="none of them is in the part test"):
        draw_in("test", lambda: 0)
    with pytest.raises(BadInput, match="the part must be one of train, valid, test; got 'dev'"):
        draw_in("dev", lambda: 0)


# Numbers in words


@pytest.mark.parametrize(
    "number, french, german",
    [
        (0, "zéro", "null"),
        (71, "soixante et onze", "einundsiebzig"),
        (80, "quatre-vingts", "achtzig"),
        (200, "deux cents", "zweihundert"),
        (1001, "mille un", "eintausendeins"),
    ],
)
def test_numbers_in_words(number, french, german):
    assert numbers.number_pair(number)[1] == french
    assert numbers.number_pair(number, "de")[1] == german


def test_number_words_are_those_of_num2words():
    """All below 1,000, and groups of three digits from them in every place."""
    groups = [0, 1, 2, 16, 21, 71, 80, 81, 91, 99, 100, 101, 180, 200, 201, 280, 571, 999]
    some = [int(n) for n in generator().integers(10**12, size=300)]
    large = [a * size + b for size in (10**3, 10**6, 10**9) for a in groups for b in groups]
    for number in [*range(1000), *large, *some]:
        english, french = numbers.number_pair(number)
        german = numbers.number_pair(number, "de")[1]
        for language, words in {"en": english, "fr": french, "de": german}.items():
            assert words == num2words(number, lang=language), number


def test_numbers_have_all_lengths_up_to_the_largest():
    found = numbers.draw_numbers(generator(), 2000, largest=54_321)
    assert max(found) <= 54_321 and min(found) == 0
    digits = np.bincount([len(str(n)) for n in found])[1:]
    assert len(digits) == 5 and digits.min() > 300
    assert all(n >= 100 for n in numbers.draw_numbers(generator(), 100, part="test"))


def test_number_words_refuse():
    for arguments, words in [
        ((-1,), "numbers in words go from 0 to"),
        ((10**12,), "numbers in words go from 0 to"),
        ((3, "it"), "the language must be one of fr, de; got 'it'"),
    ]:
        with pytest.raises(BadInput, match=words):
            numbers.number_pair(*arguments)
    with pytest.raises(BadInput, match="the largest number must be"):
        numbers.draw_numbers(generator(), 1, largest=-1)


# Dates

READ_BY_PYTHON = {
    0: "%B %d, %Y",
    2: "%d %B %Y",
    4: "%A, %B %d, %Y",
    6: "%b %d, %Y",
    7: "%d-%b-%Y",
    8: "%m/%d/%Y",
    9: "%m/%d/%Y",
    13: "%d.%m.%Y",
    14: "%d.%m.%Y",
    18: "%Y/%m/%d",
    19: "%Y%m%d",
}


@pytest.mark.parametrize("form", READ_BY_PYTHON)
def test_python_reads_the_same_date(form):
    rng = generator()
    for _ in range(20):
        text, iso = dates.date_pair(dates.draw_date(rng), form)
        read = datetime.datetime.strptime(text, READ_BY_PYTHON[form])
        assert read.date().isoformat() == iso


def test_every_text_means_one_date():
    rng, meant = generator(), {}
    for _ in range(300):
        date = dates.draw_date(rng, first=datetime.date(2019, 1, 1), last=datetime.date(2020, 1, 1))
        for form in range(len(dates.FORMATS)):
            text, iso = dates.date_pair(date, form)
            assert meant.setdefault(text, iso) == iso


def test_dates_in_words():
    def text(day, form):
        return dates.date_pair(datetime.date(2024, 8, day), form)[0]

    found = [text(day, 1).split()[1] for day in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 30, 31)]
    expected = "1st, 2nd, 3rd, 4th, 11th, 12th, 13th, 21st, 22nd, 23rd, 30th, 31st,"
    assert found == expected.split()
    assert text(1, 12) == "Donnerstag, den 1. August 2024"
    assert text(1, 15) == "1er août 2024" and text(2, 17) == "le 2 août 2024"
    for form in (-1, len(dates.FORMATS)):
        with pytest.raises(BadInput, match="the format must be a number from 0 to 19"):
            text(1, form)
    with pytest.raises(BadInput, match="is later than the last"):
        dates.draw_date(generator(), first=dates.LAST, last=dates.FIRST)


# Programs


def printed(text):
    """What Python prints when it runs the text."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(text, {})
    return out.getvalue().strip()


@pytest.mark.parametrize("nesting", [1, 2, 3, 5, 25])
def test_python_prints_the_same(nesting):
    rng = Random(nesting)
    for length in (1, 2, 4):
        for _ in range(20):
            program = programs.draw_program(rng, Level(nesting, length))
            assert program.output() == printed(str(program)), str(program)


def test_every_operation_occurs_and_nesting_counts_them():
    rng = Random(0)
    texts = [str(programs.draw_program(rng, Level(1, 2))) for _ in range(200)]
    for sign in ("+", "-", "*", " if ", "<", ">", "for x in", "+=", "-="):
        assert any(sign in text for text in texts), sign
    assert all(sum(text.count(x) for x in ("(", "=")) <= 6 for text in texts)
    longer = [str(programs.draw_program(rng, Level(3, 2))) for _ in range(200)]
    assert np.mean([*map(len, longer)]) > 1.5 * np.mean([*map(len, texts)])


@pytest.mark.parametrize("level", [(1, 1), (2, 3), (5, 2)])
def test_no_program_is_longer_than_the_longest(level):
    rng = Random(0)
    drawn = [programs.draw_program(rng, Level(*level)) for _ in range(2000)]
    sizes = np.array([(len(str(program)), len(program.output())) for program in drawn])
    most = np.array(programs.longest_program(Level(*level)))
    assert (sizes.max(axis=0) <= most).all()
    if level == (1, 1):  # where the longest one is drawn
        assert sizes[:, 0].max() == most[0]


@pytest.mark.parametrize("level", [(0, 1), (1, 0), (26, 1), (1, 13)])
def test_programs_refuse(level):
    with pytest.raises(BadInput, match="of a program must be from 1 to"):
        programs.draw_program(Random(0), Level(*level))


# Additions


def test_additions():
    rng = generator()
    pairs = numbers.draw_many_terms(rng, np.full((100, 2), 9)).tolist()
    assert all(len(str(term)) == 9 for pair in pairs for term in pair)
    for one, other in pairs:
        text, total = numbers.addition_pair(one, other)
        assert total == printed(text)
    for digits in (0, 19):
        with pytest.raises(BadInput, match="must have 1 to 18 digits"):
            numbers.draw_many_terms(rng, np.array([[digits, 9]]))
    assert numbers.draw_many_terms(rng, np.array([[18, 18]]))[0, 0] >= 10**17


def test_many_additions_at_once():
    digits = np.repeat([[1, 3], [9, 9], [18, 2]], 50, axis=0)
    for part in PARTS:
        found = numbers.draw_many_terms(generator(), digits, part)
        assert found.shape == digits.shape and len(np.unique(found)) > 200
        lengths = [[len(str(x)) for x in pair] for pair in found.tolist()]
        assert np.array_equal(lengths, digits)
        assert {part_of(str(sorted(pair))) for pair in found.tolist()} == {part}
    for wrong in (0, 19):
        with pytest.raises(BadInput, match=f"must have 1 to 18 digits, got {wrong}"):
            numbers.draw_many_terms(generator(), np.array([[3, wrong]]))
    with pytest.raises(BadInput, match="none of them is in the part dev"):
        numbers.draw_many_terms(generator(), np.array([[1, 1]]), "dev")


# Curriculum


def levels(name, step, count=300):
    rng = Random(0)
    return {tuple(STRATEGIES[name](rng, step, 1000, Level(3, 4))) for _ in range(count)}


def test_strategies():
    everything = {(nesting, length) for nesting in (1, 2, 3) for length in (1, 2, 3, 4)}
    for step in (0, 300, 1000):
        assert levels("baseline", step) == {(3, 4)}
        assert levels("mix", step) == levels("combined", step) == everything
    course = [min(levels("naive", step, 1)) for step in range(1000)]
    assert course == sorted(course) and set(course) == everything
    assert course.count((3, 4)) == 500
    share = [programs.combined(rng, 0, 9, Level(9, 9)) for rng in map(Random, range(1000))]
    assert 450 < share.count((1, 1)) < 570
    assert programs.naive(Random(0), 0, 0, Level(1, 1)) == (1, 1)


def test_strategies_have_names():
    assert strategy("naive") is programs.naive
    with pytest.raises(BadInput, match="one of baseline, naive, mix, combined; got 'easy'"):
        strategy("easy")
