"""Citations of the four works behind Ostinato name places that these works have.

Sections and the largest numbers of equations, tables, figures and algorithms are those of the works
themselves. That a place exists does not mean that it is the right one; where a mistake was made
once, the title of the section is checked, too.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SECTIONS = {
    "Galvan": {
        "1.1": "A family of models",
        "1.2": "Feed forward neural networks",
        "1.3": "Recurrent neural networks",
        "1.3.1": "Learning with RNNs",
        "1.3.2": "Gradient",
        "1.4": "Activation functions and gradient",
        "1.5": "Stochastic gradient descent: a common framework",
        "1.6": "The vanishing and exploding gradient problem",
        "1.7": "On expressiveness",
        "2.1": "Architectural driven methods",
        "2.1.1": "Long short-term memory",
        "2.1.2": "Gated recurrent units",
        "2.1.3": "Gated feedback recurrent neural networks",
        "2.2": "Learning driven methods",
        "2.2.1": "Preserve norm by regularization and gradient clipping",
        "2.2.2": "Hessian-free optimization",
        "2.2.3": "Reservoir computing",
    },
    "Delgado del Cerro": {
        "1.1": "What is a neural network?",
        "2.1": "Introduction to RNN from dynamical systems",
        "2.2": "Learning for RNN",
        "2.3": "Gradient descent for RNN",
        "2.4": "Stability and the problem of vanishing/exploding gradients",
        "3.1": "Usage of the theorem: a BPTT algorithm",
        "3.2": "Proof of the theorem",
        "3.3": "Application to RNN",
        "4.1": "BPTT Theorem on LSTM",
        "4.2": "Common derivation of BPTT on LSTM",
        "4.3": "Problems with the common derivation",
        "4.4": "LSTM and the vanishing/exploding gradients problem",
        "5.2": "Our application",
        "5.2.5": "The results",
    },
    "Lipton et al.": {
        "2.3": "Feedforward networks and backpropagation",
        "3": "Recurrent neural networks",
        "3.1": "Early recurrent network designs",
        "3.2": "Training recurrent networks",
        "4": "Modern RNN architectures",
        "4.1": "Long short-term memory (LSTM)",
        "4.2": "Bidirectional recurrent neural networks (BRNNs)",
        "4.3": "Neural Turing machines",
        "5.1": "Representations of natural language inputs and outputs",
        "5.2": "Evaluation methodology",
        "5.3": "Natural language translation",
        "5.4": "Image captioning",
        "5.5": "Further applications",
        "6": "Discussion",
    },
    "Krause": {
        "2.1": "Standard RNN",
        "2.2": "Long short-term memory",
        "2.3": "Stacked RNNs",
        "2.4": "Multiplicative RNNs",
        "2.5": "Character prediction RNNs",
        "3.1": "First order approximations",
        "3.2": "Deriving Newton's method",
        "3.3": "Hessian free optimization",
        "3.3.1": "Conjugate gradient",
        "3.3.2": "Gauss-Newton matrix",
        "3.3.3": "Damping",
        "3.3.3.1": "Structural damping",
        "3.3.3.2": "Line-search damping",
        "3.3.4": "Overview of Hessian free optimization",
        "3.3.5": "Batch sizes",
        "3.3.5.1": "Parallelization",
        "4.1": "Overview of methods",
        "4.2": "Damping",
        "4.3": "LSTM",
        "4.4": "Stacked mRNNs",
        "4.5": "Multiplicative LSTM",
        "4.6": "Overview of results",
        "5.1": "Penn Treebank (full set) experiments",
        "5.2": "Wikipedia experiments",
        "5.2.4": "Time-lag experiment",
        "7.1": "LSTM R-forward pass",
        "7.2": "LSTM backward pass",
        "7.3": "Multiplicative LSTM R-forward pass",
        "7.4": "Multiplicative LSTM backward pass",
    },
}
# The last equation of each chapter, and of tables and figures; algorithms are numbered throughout.
EQUATIONS = {
    "Galvan": {1: 72, 2: 22},
    "Delgado del Cerro": {1: 1, 2: 12, 3: 14, 4: 18},
    "Lipton et al.": {},
    "Krause": {2: 22, 3: 32, 4: 10, 7: 60},
}
TABLES = {"Delgado del Cerro": {5: 2}, "Krause": {2: 2, 4: 5, 5: 2}}
FIGURES = {
    "Galvan": {1: 12, 2: 2},
    "Delgado del Cerro": {1: 4, 4: 1, 5: 4},
    "Krause": {2: 4, 4: 1, 5: 1},
}
ALGORITHMS = {"Galvan": 2, "Krause": 7}
LIPTON_FIGURES = 14

WORK = "|".join(map(re.escape, SECTIONS))
ANY = r"[A-Z][\w-]+(?: del Cerro| et al\.| and [A-Z]\w+)?,? \(?(?:19|20)\d\d"
SOURCES = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").glob("*.md")]


def cited(path):
    """The works a file cites, each with the words up to the next work or the end of a part."""
    words = re.sub(r"[\"']\s*\n\s*f?[\"']|\n[ #]*", " ", path.read_text(encoding="utf-8"))
    for found in re.finditer(rf"({WORK})(?:,? \(?20\d\d\)?)", words):
        rest = words[found.end() : found.end() + 120]
        if rest.startswith(", draft"):  # of March, which has sections of its own
            continue
        end = re.search(rf"{ANY}|[;`|]|\. [A-Z]", rest)
        yield found[1], rest[: end.start()] if end else rest


def numbers(kind, words):
    """`"figures 1.8 to 1.12"` as `["1.8", "1.12"]`."""
    one = r"\d+(?:\.\d+)*"
    found = re.findall(rf"{kind}s? ({one}(?:(?:, | and | to |-){one})*)", words)
    return [number for part in found for number in re.findall(one, part)]


def within(last, number):
    chapter, _, place = number.partition(".")
    return 1 <= int(place) <= last.get(int(chapter), 0)


def unknown(work, words):
    """The places of a citation that the work does not have."""
    figures = numbers("figure", words)
    if work == "Lipton et al.":
        wrong = [number for number in figures if int(number) > LIPTON_FIGURES]
    else:
        wrong = [number for number in figures if not within(FIGURES[work], number)]
    wrong += [number for number in numbers("section", words) if number not in SECTIONS[work]]
    wrong += [n for n in numbers("table", words) if not within(TABLES.get(work, {}), n)]
    wrong += [n for n in numbers("algorithm", words) if int(n) > ALGORITHMS.get(work, 0)]
    equations = numbers(r"(?:equation|eq\.)", words)
    for pair in re.findall(r"\((\d\.\d+)(?:[-,] ?(\d\.\d+))?\)", words):
        equations += filter(None, pair)
    return wrong + [number for number in equations if not within(EQUATIONS[work], number)]


def test_what_is_cited_exists():
    wrong = {
        (path.relative_to(ROOT).as_posix(), work, words): places
        for path in SOURCES
        for work, words in cited(path)
        if (places := unknown(work, words))
    }
    assert wrong == {}


def test_a_place_that_is_not_there_is_found():
    assert unknown("Krause", ", section 4.7, (3.33) and table 5.3") == ["4.7", "5.3", "3.33"]
    assert unknown("Lipton et al.", ", figures 7 and 15") == ["15"]


@pytest.mark.parametrize(
    ("file", "work", "titles"),
    [
        ("wiring/encoder_decoder.py", "Lipton et al.", ["Natural language translation"]),
        ("wiring/captioner.py", "Lipton et al.", ["Image captioning"]),
        ("learning/schedules.py", "Galvan", ["Stochastic gradient descent: a common framework"]),
        (
            "experiments/gradient_figures.py",
            "Galvan",
            ["Activation functions and gradient", "The vanishing and exploding gradient problem"],
        ),
    ],
)
def test_the_section_is_about_it(file, work, titles):
    for name, words in cited(ROOT / "src/ostinato" / file):
        if name == work:
            assert [SECTIONS[work][number] for number in numbers("section", words)] == titles


def test_there_are_citations():
    assert sum(1 for path in SOURCES for _ in cited(path)) > 100
