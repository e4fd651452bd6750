"""Word vectors: counts and steps against plain NumPy, files, and networks that start from them."""

import collections
import gzip
from pathlib import Path

import numpy as np
import pytest

from ostinato.data import word_vectors
from ostinato.data.word_vectors import (
    StartVectors,
    WordVectors,
    count_cooccurrences,
    first_state,
    fit_vectors,
    read_vectors,
)
from ostinato.errors import BadInput
from ostinato.runs import Config, train
from ostinato.runs.build import build_network, build_task
from ostinato.weights import trained

LINES = ["the cat sat on the mat", "a dog sat", "the dog and the cat", "rare"]


def plain_counts(lines, window, least):
    words = collections.Counter(word for line in lines for word in line.split())
    counts = collections.Counter()
    for line in lines:
        some = [word for word in line.split() if words[word] >= least]
        for i, one in enumerate(some):
            for j, other in enumerate(some):
                if i != j and abs(i - j) <= window:
                    counts[one, other] += 1 / abs(i - j)
    return counts


@pytest.mark.parametrize("window, least", [(1, 1), (3, 1), (10, 2), (10**9, 1)])
def test_counts(window, least):
    found = count_cooccurrences(LINES, window=window, min_count=least)
    pairs = zip(found.one, found.other, found.counts, strict=True)
    got = {(found.words[i], found.words[j]): x for i, j, x in pairs}
    expected = plain_counts(LINES, window, least)
    assert got.keys() == expected.keys()
    assert all(got[pair] == pytest.approx(expected[pair]) for pair in expected)


def test_steps_are_those_of_glove(monkeypatch):
    """Two epochs in batches of five pairs, by loops."""
    monkeypatch.setattr(word_vectors, "TOGETHER", 5)
    counted = count_cooccurrences(LINES, window=2, min_count=1)
    rng, size, rate, full = np.random.default_rng(3), 4, 0.1, 1.5
    (both, squares) = first_state(len(counted.words), size, rng)
    for _ in range(2):
        order = rng.permutation(len(counted.counts))
        for begin in range(0, len(order), 5):
            steps = []
            for n in order[begin : begin + 5]:
                i, j, x = counted.one[n], counted.other[n], counted.counts[n]
                w, b, c, d = both[0, i, :-1], both[0, i, -1], both[1, j, :-1], both[1, j, -1]
                slope = min(1, x / full) ** 0.75 * (w @ c + b + d - np.log(x))
                steps += [((0, i), slope * np.append(c, 1)), ((1, j), slope * np.append(w, 1))]
            for place, gradient in steps:
                squares[place] += gradient**2
            for place, gradient in steps:
                both[place] -= rate * gradient / np.sqrt(squares[place])
    found = fit_vectors(counted, size=size, epochs=2, rate=rate, x_max=full, seed=3)
    np.testing.assert_allclose(found.vectors, (both[0] + both[1])[:, :-1], rtol=1e-12)


def test_words_of_the_same_contexts_are_near():
    rng = np.random.default_rng(0)
    animals, colours = ["cat", "dog", "cow"], ["red", "blue", "green"]
    lines = [f"the {rng.choice(animals)} runs home" for _ in range(300)]
    lines += [f"paint it {rng.choice(colours)} today please" for _ in range(300)]
    made = fit_vectors(count_cooccurrences(lines, window=3), size=6, epochs=60, x_max=10)
    for word, alike, others in (("cat", animals, colours), ("red", colours, animals)):
        ranks = [near for near, _ in made.nearest(word, 20)]
        assert max(ranks.index(x) for x in alike if x != word) < min(map(ranks.index, others))
    with pytest.raises(BadInput, match="there is no vector of 'sky'"):
        made.nearest("sky")


def test_files(tmp_path):
    made = WordVectors(("a", "b"), np.array([[1.5, -2e-7], [0.1, 3e8]]))
    made.save(tmp_path / "v.txt")
    assert (tmp_path / "v.txt").read_text() == "a 1.5 -2e-07\nb 0.1 3e+08\n"
    found = read_vectors(tmp_path / "v.txt")
    assert found.words == made.words
    np.testing.assert_allclose(found.vectors, made.vectors, rtol=1e-6)
    with gzip.open(tmp_path / "v.gz", "wt") as file:
        file.write("3 2\nthe 1 2\nat . 3 4\nthe 5 6\n")  # word2vec; a word with a space
    found = read_vectors(tmp_path / "v.gz")
    assert found.words == ("the", "at .") and found.vectors.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "has no word vectors"),
        ("a 1 2\nb 3\n", "line 2 has 1 numbers after a word, not 2"),
        ("a 1 2\nb 3 x\n", "line 2 is not a word and numbers: could not convert string"),
        ("a 1 nan\n", "line 1: the numbers of a vector must be finite"),
        ("a 1 1e99\n", "line 1: the numbers of a vector must be finite"),
        ("a\n", "line 1 has 0 numbers after a word, not 1"),
        ("a 1 2\n\n", "line 2 has 0 numbers after a word, not 2"),
        ("5 2\na 1 2\n", "promises 5 words on its first line and has 1"),
        ("2 0\na 1 2\n", "line 1 says that vectors have 0 numbers"),
        (b"a 1 \xff\n", "line 1: not UTF-8, byte 0xff"),
        (b"a 1 \0\n", "line 1: a zero byte"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_wrong_files(tmp_path, text, words):
    path = tmp_path / "v.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadInput, match=words) as error:
        read_vectors(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "lines, given, words",
    [
        (["a b"], {}, "0 of 2 words occur 5 times; it takes at least 2"),
        ([], {}, "0 of 0 words"),
        (["a"] * 5 + ["b"] * 5, {}, "no two words stand on the same line"),
        (["a b"] * 5, {"window": 0}, "window must be at least 1, got 0"),
        (["a b"] * 5, {"min_count": 1.5}, "min_count must be of type int"),
    ],
)
def test_what_cannot_be_counted(lines, given, words):
    with pytest.raises(BadInput, match=words):
        count_cooccurrences(lines, **given)


def test_wrong_numbers():
    counted = count_cooccurrences(LINES, min_count=1)
    for given in ({"size": 0}, {"epochs": 0}, {"rate": -1}, {"x_max": 0}, {"seed": -1}):
        with pytest.raises(BadInput, match=f"{next(iter(given))} must be at least"):
            fit_vectors(counted, **given)


def test_a_word_in_lower_case_counts(tmp_path):
    (tmp_path / "v.txt").write_text("the 1\nCat 2\ncat 3\n")
    found = StartVectors.read(str(tmp_path / "v.txt"), ["The", "dog", "Cat"], first=2)
    assert found.symbols.tolist() == [2, 4] and found.vectors.ravel().tolist() == [1, 2]
    with pytest.raises(BadInput, match="has none of the 1 words of the training part"):
        StartVectors.read(str(tmp_path / "v.txt"), ["dog"], first=2)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {
        "v.txt": "good 1 2 3\nbad 4 5 6\n",
        "w.txt": "gut 1 2 3\n",
        "x.txt": "gut 1 2\n",
        "a.tsv": "yes\tit is good\nno\tit is bad\n" * 20,
        "a.en": "good\nbad\n" * 20,
        "a.de": "gut\nschlecht\n" * 20,
        "a.conllu": "".join(
            f"1\t{word}\t_\t{tag}\t_\t_\t0\troot\t_\t_\n\n"
            for word, tag in [("good", "ADJ"), ("it", "PRON")] * 20
        ),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)


CASES = {
    "classify": ({"file": "a.tsv"}, lambda n: n.encoding, {"good", "bad"}),
    "tag": ({"file": "a.conllu"}, lambda n: n.words, {"good"}),
    "translate": (
        {"source": "a.en", "target": "a.de", "level": "words", "attention": "none"},
        lambda n: n.encoder.encoding,
        {"good", "bad"},
    ),
}


@pytest.mark.parametrize("task", CASES)
def test_a_network_starts_from_vectors(files, task):
    settings, embedding, words = CASES[task]
    config = Config(
        task=task, vectors="v.txt", freeze_vectors=True, cell="simple", units=3, batch=8,
        steps=2, rate=0.1, dropout=0.1, **settings,
    )  # fmt: skip
    made = build_task(config)
    new = build_network(config, made)
    network = made.starting(new)
    symbols = (made.start[0] if task == "translate" else made.start).symbols
    given = {"good": [1, 2, 3], "bad": [4, 5, 6]}
    rows = np.asarray(embedding(network).E)
    assert sorted(rows[symbols].tolist()) == sorted(given[word] for word in words)
    others = np.setdiff1d(np.arange(len(rows)), symbols)
    np.testing.assert_array_equal(rows[others], embedding(new).E[others])
    assert embedding(trained(network)[0]).E is None
    if task == "classify":  # a run of any task starts in the same way
        after = np.asarray(embedding(train(config, "runs/1").network()).E)
        np.testing.assert_array_equal(rows.astype(after.dtype), after)
    learned = config.replace(freeze_vectors=False)
    made = build_task(learned)
    network = made.starting(build_network(learned, made))
    assert np.array_equal(embedding(trained(network)[0]).E, rows)


def test_words_of_held_out_texts_get_no_vector(files):
    """Vectors are given: they know what they were made of. Which words have one is learned."""
    Path("v.txt").write_text("good 1 2 3\nbad 4 5 6\nlate 7 8 9\n")
    config = Config(task="classify", file="a.tsv", vectors="v.txt", level="words", split="60/20/20")
    one = build_task(config)
    lines = Path("a.tsv").read_text().splitlines()
    train = {*one.parts["train"].tolist()}
    Path("a.tsv").write_text(
        "".join((x if n in train else f"{x} late") + "\n" for n, x in enumerate(lines))
    )
    two = build_task(config)
    assert "late" in two.texts[two.parts["test"][0]] and one.artefacts() == two.artefacts()
    for x, y in zip(one.start, two.start, strict=True):
        np.testing.assert_array_equal(x, y)


def test_both_sides_of_a_translation(files):
    settings = {**CASES["translate"][0], "vectors": "v.txt", "target_vectors": "w.txt"}
    config = Config(task="translate", cell="simple", units=3, tied=True, **settings)
    network = build_task(config).starting(build_network(config, build_task(config)))
    (symbol,) = build_task(config).start[1].symbols
    assert network.embedding.E[symbol].tolist() == [1, 2, 3]
    for changed, words in (
        ({"target_vectors": "x.txt"}, "must be of the same size: .*v.txt has 3 .*x.txt has 2"),
        ({"level": "characters"}, "the symbols are characters; give --level words"),
        ({"vectors": "none.txt"}, "there is no file .*none.txt"),
    ):
        with pytest.raises(BadInput, match=words):
            build_task(Config(task="translate", **{**settings, **changed}))
    with pytest.raises(BadInput, match="freeze_vectors needs vectors"):
        Config(task="classify", freeze_vectors=True)
    for size, words in (
        (5, "have 3 numbers, the embedding 5; leave out --embedding"),
        (0, "need an"),
    ):
        config = Config(task="classify", file="a.tsv", vectors="v.txt", embedding=size)
        with pytest.raises(BadInput, match=words):
            build_task(config).starting(build_network(config, build_task(config)))


def test_the_verb(files, ostinato):
    few = ("--size", "2", "--epochs", "1")
    code, _, errors = ostinato("vectors", "a.en", "made.txt", *few)
    assert code == 2 and "no two words stand on the same line" in errors
    code, out, errors = ostinato("vectors", "a.tsv", "made.txt", *few, "--json")
    assert code == 0 and '"words": 6' in out, errors
    assert read_vectors("made.txt").vectors.shape == (6, 2)
    before = Path("a.tsv").read_text()
    code, _, errors = ostinato("vectors", "a.tsv", "./a.tsv", *few)
    assert code == 2 and "would replace what is read, a.tsv; give another file" in errors
    assert Path("a.tsv").read_text() == before
    code, _, errors = ostinato("vectors", "a.tsv", "none/made.txt")
    assert code == 2 and "must be a file in an existing folder" in errors
