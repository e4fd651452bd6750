"""Scores of texts."""

import itertools
import sys

import numpy as np
import pytest
import sacrebleu

from ostinato.errors import BadInput
from ostinato.tasks import scores
from ostinato.tasks.scores.meteor import align, matches
from ostinato.tasks.scores.porter import stem

FOUND = [
    "A man in an orange hat staring at something .",
    "The dog is running through the snow .",
    "people are fixing the roof",
]
REFERENCES = [
    "A man in an orange hat starring at something.",
    "A Boston Terrier is running on lush green grass in front of a white fence.",
    "People are fixing the roof of a house.",
]


# BLEU and chrF


def test_bleu_is_that_of_sacrebleu():
    score = scores.bleu(FOUND, REFERENCES)
    assert score.value == sacrebleu.corpus_bleu(FOUND, [REFERENCES]).score
    assert 0 < score.value < 100
    assert score.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    lower = scores.bleu(FOUND, REFERENCES, lowercase=True)
    assert lower.value == sacrebleu.corpus_bleu(FOUND, [REFERENCES], lowercase=True).score
    assert lower.value > score.value and "case:lc" in lower.signature
    assert str(score) == f"BLEU {score.value:.2f} ({score.signature})"
    plain = scores.bleu(FOUND, REFERENCES, tokenize="none")
    assert "tok:none" in plain.signature and plain.value != score.value


def test_chrf_is_that_of_sacrebleu():
    score = scores.chrf(FOUND, REFERENCES)
    assert score.value == sacrebleu.corpus_chrf(FOUND, [REFERENCES]).score
    assert score.name == "chrF2" and "nc:6|nw:0" in score.signature


def test_sacrebleu_can_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    for score in (scores.bleu, scores.chrf):
        with pytest.raises(BadInput, match=r"needs sacrebleu: pip install '\.\[translate\]'"):
            score(FOUND, REFERENCES)


# METEOR


def test_the_example_of_the_paper():
    """Banerjee and Lavie (2005): two chunks, `the president` and `spoke to the audience`."""
    text, reference = (
        "the president then spoke to the audience",
        "the president spoke to the audience",
    )
    assert matches(text, reference) == (6, 2, 7, 6)
    precision, recall = 6 / 7, 1
    mean = 10 * precision * recall / (recall + 9 * precision)
    assert scores.meteor([text], [reference]) == pytest.approx(mean * (1 - 0.5 * (2 / 6) ** 3))
    assert scores.meteor([text], [reference]) == pytest.approx(0.9654, abs=5e-5)


@pytest.mark.parametrize(
    "text, score",
    [
        ("the cat sat on the mat", 0.9977),
        ("on the mat sat the cat", 0.5000),
        ("the cat was sat on the mat", 0.9654),
        ("a dog", 0.0),
        ("", 0.0),
    ],
)
def test_meteor(text, score):
    assert scores.meteor([text], ["the cat sat on the mat"]) == pytest.approx(score, abs=5e-5)


def test_stems_match_after_equal_words():
    assert matches("the cats are jumping", "the cat jumped").matched == 3
    assert align(["cats", "cat"], ["cat", "cats"]) == ((0, 1), (1, 0))  # equal words go first
    assert scores.meteor(["The Cat ."], ["the cat."]) == pytest.approx(1 - 0.5 / 27)


def test_counts_of_a_corpus_are_added():
    one, other = matches(FOUND[0], REFERENCES[0]), matches(FOUND[1], REFERENCES[1])
    whole = type(one)(*(a + b for a, b in zip(one, other, strict=True)))
    assert scores.meteor(FOUND[:2], REFERENCES[:2]) == whole.score()
    assert scores.meteor(REFERENCES, REFERENCES) == pytest.approx(1, abs=0.001)


def crossings(pairs):
    return sum((a - c) * (b - d) < 0 for (a, b), (c, d) in itertools.combinations(pairs, 2))


def best_crossings(words, reference):
    """The fewest crossings of all largest alignments of equal words, by trying each of them."""
    size = sum(min(words.count(word), reference.count(word)) for word in set(words))
    found = []
    for some in itertools.combinations(range(len(words)), size):
        for others in itertools.permutations(range(len(reference)), size):
            pairs = list(zip(some, others, strict=True))
            if all(words[i] == reference[j] for i, j in pairs):
                found.append(crossings(pairs))
    return size, min(found)


@pytest.mark.parametrize("seed", range(15))
def test_alignments_have_the_fewest_crossings(seed):
    rng = np.random.default_rng(seed)
    words, reference = ([*rng.choice(list("abc"), n)] for n in (5, 6))
    pairs = align(words, reference)
    assert (len(pairs), crossings(pairs)) == best_crossings(words, reference)


# Several references: the example of Papineni et al. (2002).
GUIDE = (
    "It is a guide to action which ensures that the military always obeys the commands of the party"
)
TROOPS = "It is to insure the troops forever hearing the activity guidebook that party direct"
GUIDES = [
    "It is a guide to action that ensures that the military will forever heed Party commands",
    "It is the guiding principle which guarantees the military forces always being under the "
    "command of the Party",
    "It is the practical guide for the army always to heed the directions of the party",
]


@pytest.mark.parametrize(
    "text, precisions", [(GUIDE, (17 / 18, 10 / 17)), (TROOPS, (8 / 14, 1 / 13))]
)
def test_modified_precision_of_the_paper(text, precisions):
    """Papineni et al. (2002), section 2.1; their first letter is lower case or does not matter."""
    unigrams = scores.bleu([text], [GUIDES], tokenize="none", order=1, lowercase=True).value
    both = scores.bleu([text], [GUIDES], tokenize="none", order=2, lowercase=True).value
    brevity = 1 if len(text.split()) > 16 else np.exp(1 - 16 / len(text.split()))
    assert unigrams == pytest.approx(100 * brevity * precisions[0])
    assert both == pytest.approx(100 * brevity * np.sqrt(np.prod(precisions)))


def test_several_references_are_the_streams_of_sacrebleu():
    several = [[one, GUIDES[n]] for n, one in enumerate(REFERENCES)]
    streams = [REFERENCES, GUIDES]
    for ours, theirs in (
        (scores.bleu, sacrebleu.corpus_bleu),
        (scores.chrf, sacrebleu.corpus_chrf),
    ):
        assert ours(FOUND, several).value == theirs(FOUND, streams).score
        uneven = [several[0], REFERENCES[1], several[2]]
        with_gap = [REFERENCES, [GUIDES[0], None, GUIDES[2]]]
        assert ours(FOUND, uneven).value == theirs(FOUND, with_gap).score
    assert "nrefs:2" in scores.bleu(FOUND, several).signature


def test_the_best_reference_counts():
    """It has 12 matches in 4 chunks (`commands` and `party` change places)."""
    assert matches(GUIDE, GUIDES[0]) == (12, 4, 18, 16)
    mean = 10 * (12 / 18) * (12 / 16) / (12 / 16 + 9 * 12 / 18)
    expected = mean * (1 - 0.5 * (4 / 12) ** 3)
    assert scores.meteor([GUIDE], [GUIDES]) == pytest.approx(expected)
    assert scores.meteor([GUIDE], [GUIDES[::-1]]) == pytest.approx(expected)
    both = scores.meteor([GUIDE, "a b"], [GUIDES, ["a c", "b a"]])  # counts of the best are added
    assert both == pytest.approx(type(matches("", ""))(14, 6, 20, 18).score())


def test_alpha_is_free_and_the_penalty_may_be_proportional():
    counts = matches("a b c d x", "c d a b y z")
    assert counts == (4, 2, 5, 6)
    precision, recall = 4 / 5, 4 / 6
    for alpha, beta, gamma in ((0, 1, 0.3), (1, 3, 0.5), (0.5, 1, 1), (0.9, 3, 0.5)):
        mean = 1 / (alpha / recall + (1 - alpha) / precision)  # a weighted harmonic mean
        found = scores.meteor(["a b c d x"], ["c d a b y z"], alpha=alpha, beta=beta, gamma=gamma)
        assert found == pytest.approx(mean * (1 - gamma * (2 / 4) ** beta))


KNOWN = scores.synonym_sets([["car", "auto"], ["Auto", "machine"], ["quick", "fast", "rapid"]])


def test_synonyms_match_after_equal_words_and_stems():
    assert align(["fast", "car"], ["quick", "auto"], synonyms=KNOWN) == ((0, 0), (1, 1))
    assert align(["car"], ["machine"], synonyms=KNOWN) == ()  # no set has both
    assert align(["auto", "car"], ["cars", "auto"], synonyms=KNOWN) == ((0, 1), (1, 0))
    assert align(["cars"], ["car"], stems=False) == ()
    assert scores.meteor(["fast cars"], ["rapid car"], synonyms=KNOWN) == pytest.approx(15 / 16)
    assert scores.meteor(["fast cars"], ["rapid car"]) < 0.5


def test_as_many_synonyms_as_possible_match():
    """`auto` fits both, `car` only one of them."""
    assert len(align(["auto", "car"], ["auto2", "machine"], synonyms=KNOWN)) == 1
    known = scores.synonym_sets([["a", "x"], ["a", "y"], ["b", "x"]])
    assert align(["a", "b"], ["x", "y"], synonyms=known) == ((0, 1), (1, 0))
    rng = np.random.default_rng(0)
    for _ in range(20):
        sets = [[*rng.choice(list("abcd"), 1), *rng.choice(list("uvwx"), 1)] for _ in range(5)]
        known = scores.synonym_sets(sets)
        words, reference = [*rng.choice(list("abcd"), 4)], [*rng.choice(list("uvwx"), 4)]
        tried = [
            (size, -crossings(pairs))
            for size in range(5)
            for some in itertools.combinations(range(4), size)
            for others in itertools.permutations(range(4), size)
            for pairs in [list(zip(some, others, strict=True))]
            if all(known.get(words[i], set()) & known.get(reference[j], set()) for i, j in pairs)
        ]
        pairs = align(words, reference, synonyms=known)
        assert (len(pairs), -crossings(pairs)) == max(tried)


@pytest.mark.parametrize(
    "text, words",
    [
        ("car auto\n\nfast quick\n", "line 2 is empty"),
        ("car\n", "line 1 has one word; give words that mean the same"),
        ("car motor-car\n", "a synonym is a single word, got 'motor-car'"),
        ("", "is empty; give a file of synonyms"),
    ],
)
def test_a_wrong_file_of_synonyms(tmp_path, text, words):
    (tmp_path / "s.txt").write_text(text)
    with pytest.raises(BadInput, match=words):
        scores.read_synonyms(tmp_path / "s.txt")


@pytest.mark.parametrize(
    "given, words",
    [
        ({"alpha": 1.5}, "alpha must be at most 1, got 1.5"),
        ({"alpha": "x"}, "alpha must be of type float, got 'x'"),
        ({"beta": -1}, "beta must be at least 0, got -1"),
        ({"gamma": float("nan")}, "gamma must be a number"),
    ],
)
def test_wrong_numbers_of_meteor(given, words):
    with pytest.raises(BadInput, match=words):
        scores.meteor(["a"], ["a"], **given)


def test_a_text_without_a_reference_is_refused():
    for score in (scores.bleu, scores.meteor, scores.any_match):
        with pytest.raises(BadInput, match="text 2 has no reference"):
            score(["a", "b"], ["a", []])
        with pytest.raises(BadInput, match="text 1 and its references must be texts, got int"):
            score(["a"], [[1]])


def test_a_long_text_is_scored():
    text = " ".join(f"word{n} the ," for n in range(60))
    assert matches(text, text) == (180, 1, 180, 180)


# What Porter (1980) gives for each of his rules.
STEMS = """caresses caress ponies poni ties ti caress caress cats cat feed feed agreed agre
plastered plaster bled bled motoring motor sing sing conflated conflat troubled troubl sized size
hopping hop tanned tan falling fall hissing hiss fizzed fizz failing fail filing file happy happi
sky sky relational relat conditional condit rational ration valenci valenc hesitanci hesit
digitizer digit conformabli conform radicalli radic differentli differ vileli vile
analogousli analog vietnamization vietnam predication predic operator oper feudalism feudal
decisiveness decis hopefulness hope callousness callous formaliti formal sensitiviti sensit
sensibiliti sensibl triplicate triplic formative form formalize formal electriciti electr
electrical electr hopeful hope goodness good revival reviv allowance allow inference infer
airliner airlin gyroscopic gyroscop adjustable adjust defensible defens irritant irrit
replacement replac adjustment adjust dependent depend adoption adopt homologou homolog
communism commun activate activ angulariti angular homologous homolog effective effect
bowdlerize bowdler probate probat rate rate cease ceas controll control roll roll
generalizations gener oscillators oscil""".split()


def test_stems():
    assert [stem(word) for word in STEMS[::2]] == STEMS[1::2]


def test_what_is_no_english_word_is_its_own_stem():
    assert [stem(word) for word in ("is", "3rds", "größes", ",")] == ["is", "3rds", "größes", ","]


# Exact match, accuracy, edit distance


def distance(one, other):
    """The recursion as it is defined."""
    if not one or not other:
        return len(one) + len(other)
    return min(
        distance(one[1:], other) + 1,
        distance(one, other[1:]) + 1,
        distance(one[1:], other[1:]) + (one[0] != other[0]),
    )


@pytest.mark.parametrize("seed", range(20))
def test_edit_distance(seed):
    rng = np.random.default_rng(seed)
    one, other = ("".join(rng.choice(list("abc"), rng.integers(0, 6))) for _ in range(2))
    assert scores.edit_distance(one, other) == distance(one, other)
    assert scores.edit_distance(other, one) == distance(one, other)


def test_error_rate_and_accuracies():
    found, references = ["abc", "ab", ""], ["abd", "abcd", "x"]
    assert scores.error_rate(found, references) == (1 + 2 + 1) / 8
    assert scores.token_accuracy(found, references) == 4 / 8
    assert scores.exact_match([*found, "q"], [*references, "q"]) == 1 / 4
    assert scores.token_accuracy([""], [""]) == 1
    arrays = [np.array([1, 2]), np.array([3])]
    assert scores.exact_match(arrays, [[1, 2], [4]]) == 0.5
    assert scores.error_rate(arrays, [[1, 2], [4]]) == 1 / 3
    assert scores.token_accuracy(["a b".split()], ["a c".split()]) == 0.5


@pytest.mark.parametrize(
    "score",
    [
        scores.bleu,
        scores.chrf,
        scores.meteor,
        scores.exact_match,
        scores.token_accuracy,
        scores.error_rate,
    ],
)
def test_scores_refuse(score):
    for found, references, words in [
        (["a"], ["a", "b"], "there are 1 texts and 2 references"),
        ([], [], "there are no texts"),
        ("abc", ["abc"], "put it in a list"),
    ]:
        with pytest.raises(BadInput, match=words):
            score(found, references)


def test_scores_refuse_more():
    with pytest.raises(BadInput, match="not all empty"):
        scores.error_rate(["a"], [""])
    with pytest.raises(BadInput, match="text 1 and its references must be texts, got list"):
        scores.meteor([["a"]], ["a"])
    with pytest.raises(BadInput, match=r"tokenize must be one of 13a, .*; got 'words'"):
        scores.bleu(["a"], ["a"], tokenize="words")


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: scores.bleu(["a"], None), "a score needs a list of references, got None"),
        (lambda: scores.meteor(3, ["a"]), "a score needs a list of texts, got 3"),
        (lambda: scores.bleu(["a"], ["a"], order=1.5), "order of BLEU must be of type int"),
        (lambda: scores.meteor(["a"], ["a"], synonyms=[["a"]]), "synonyms must be what synonym_s"),
        (lambda: scores.synonym_sets(["ab"]), "each of sets must be a list of words; got 'ab'"),
        (lambda: scores.synonym_sets([[1]]), "a synonym is a single word, got 1"),
        (lambda: scores.read_synonyms(None), "path must be a path, got None"),
    ],
)
def test_mistaken_arguments(call, words):
    with pytest.raises(BadInput, match=words):
        call()
