"""Tagging: batches, words that are unknown, files, and tagging other sentences."""

import json
from collections import Counter

import jax
import numpy as np
import pytest

from conllu_files import write_conllu
from ostinato.data import find_data
from ostinato.data.conllu import Sentence, read_conllu, sentences
from ostinato.data.generated.texts import toy_sentences
from ostinato.errors import BadInput
from ostinato.runs import Config, evaluate_network, train
from ostinato.runs.build import build_network
from ostinato.tasks import Tagging
from ostinato.tasks.applying import ApplyOptions
from ostinato.tasks.text.tagged import TagCode

NOUNS = ["cat", "dog", "bird", "aardvark"]
SENTENCES = [
    (["the", NOUNS[n % 3], "sees", "it"][: 2 + n % 3], ["DET", "NOUN", "VERB", "PRON"][: 2 + n % 3])
    for n in range(60)
]


def read(text):
    return [*sentences(text.splitlines(keepends=True), "here")]


def test_an_epoch_has_every_sentence_once_in_batches_of_similar_lengths():
    found = toy_sentences(200, np.random.default_rng(0))
    task = Tagging(found, found[:5], found[:5])
    assert task.epochs(25, 8) == 1
    batches = [task.batch(index, 8) for index in range(25)]
    lengths = Counter(n for batch in batches for n in batch.lengths.tolist())
    assert lengths == Counter(len(words) for words, _ in found)
    similar = sum(batch.lengths.min() > batch.steps // 2 for batch in batches if batch.steps > 8)
    assert similar >= sum(batch.steps > 8 for batch in batches) - 3
    assert {batch.steps for batch in batches} <= {8, 12, 16, 24, 32, 48, 64}
    again = [task.batch(index, 8).lengths for index in range(25, 50)]
    assert not all(np.array_equal(x.lengths, y) for x, y in zip(batches, again, strict=True))


def test_characters_of_a_batch_are_those_of_its_words():
    task = Tagging(SENTENCES, seed=1)
    batch = task.batch(0, 8)
    inputs, rows = batch.inputs, batch.inputs.letters.shape[2]
    known = ["?", *task.code.letters.known]
    for b in range(8):
        assert np.array_equal(inputs.letters[:, b], inputs.letters[:, 0])
        for t in range(int(batch.lengths[b])):
            places = np.arange(inputs.first[t, b], inputs.last[t, b] + 1, rows)
            word = "".join(known[inputs.letters[p // rows, 0, p % rows]] for p in places)
            symbol = task.code.symbols([word])[0]
            assert symbol > 0 and inputs.words[t, b] in (symbol, 0)
            assert inputs.begins[places[0] // rows, 0, places[0] % rows]
            after = places[-1] // rows + 1
            assert inputs.begins[after, 0, places[-1] % rows]


def test_words_and_tags_are_those_of_the_training_part():
    """Other words in validation and test change no bit of a batch nor what is kept."""
    one = Tagging(SENTENCES, SENTENCES[:6], SENTENCES[:6])
    strange = [(["zebras"] * len(words), tags) for words, tags in SENTENCES[:6]]
    two = Tagging(SENTENCES, strange, strange)
    assert json.dumps(one.artefacts()) == json.dumps(two.artefacts())
    for index in range(3):
        for x, y in zip(*(jax.tree.leaves(t.batch(index, 8)) for t in (one, two)), strict=True):
            np.testing.assert_array_equal(x, y)


def test_rare_words_are_replaced_by_the_unknown_one():
    words = [["a", "rare" if n == 3 else "b"] for n in range(40)]
    task = Tagging([(x, ["X", "Y"]) for x in words], SENTENCES[:2], SENTENCES[:2], unknown=0.25)
    rare, frequent = task.code.symbols(["rare", "a"])
    seen = [np.asarray(task.batch(index, 40).inputs.words)[:2] for index in range(400)]
    lost = 1 - np.mean([(x == rare).any() for x in seen])
    assert lost == pytest.approx(0.25 / 1.25, abs=0.08)  # one deviation is 0.02
    missing = 1 - np.mean([(x == frequent).sum() for x in seen]) / 40
    assert missing == pytest.approx(0.25 / 40.25, abs=0.004)
    never = Tagging([(x, ["X", "Y"]) for x in words], unknown=0.0)
    assert all(never.batch(index, 8).inputs.words.all() for index in range(20))


def test_words_without_a_tag_do_not_count():
    some = [(["a", "b", "c"], ["X", "_", "Y"])] * 30
    task = Tagging(some)
    assert task.code.tags == ("X", "Y") and task.chance == 0.5
    assert task.batch(0, 4).weights[:4, 0].tolist() == [1, 0, 1, 0]
    assert Tagging(some, column="feats").code.tags == ("X", "Y", "_")


def test_the_baseline_is_the_most_frequent_tag_of_a_word():
    train = [(["a", "b"], ["X", "Y"])] * 3 + [(["a", "b"], ["X", "X"])] * 2
    valid = [(["a", "b", "new"], ["X", "X", "X"]), (["B"], ["Y"])]
    found = Tagging(train, valid, valid).baselines()
    assert found == {"chance": 0.7, "most frequent tag": 0.75}


def test_rare_words_can_be_unknown():
    task = Tagging([*SENTENCES, (["once"], ["X"])], SENTENCES[:1], SENTENCES[:1], min_count=2)
    assert task.code.symbols(["once", "the", "THE"]).tolist() == [0, 1, 1]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A short run on a file, whose sentences all have one shape."""
    folder = tmp_path_factory.mktemp("tag")
    rows = [Sentence.of(words).replaced("upos", tags) for words, tags in SENTENCES]
    write_conllu(folder / "a.conllu", rows)
    settings = {"file": str(folder / "a.conllu"), "units": 12, "spelling": 6, "embedding": 8}
    config = Config(**settings, cell="lstm", batch=48, steps=60, rate=0.05, validate_every=60)
    return train(config, folder / "run")


@pytest.mark.slow
def test_a_run_learns_and_is_evaluated_on_another_file(trained, tmp_path):
    task, network = trained.task(), trained.network()
    assert evaluate_network(network, task, "test") == 1
    assert task.preview(network, None) == "the/DET bird/NOUN sees/VERB it/PRON"
    rows = [Sentence.of(["the", "zebra", "sees"]).replaced("upos", ["DET", "NOUN", "VERB"])]
    write_conllu(tmp_path / "b.conllu", rows)
    settings, kept = trained.config.task.settings, json.loads(json.dumps(task.artefacts()))
    other = Tagging.on_file(tmp_path / "b.conllu", settings, kept)
    assert other.code == task.code
    (batch,) = other.held_out("test", 8)
    assert batch.size == 3 and batch.inputs.words[1, 0] == 0
    write_conllu(tmp_path / "c.conllu", [rows[0].replaced("upos", ["DET", "NOUN", "XX"])])
    with pytest.raises(BadInput, match=r"c.conllu: the tag 'XX' was never seen in training"):
        Tagging.on_file(tmp_path / "c.conllu", settings, kept)


def tagged_text(code, network, lines):
    """What the task makes of some lines."""
    how = ApplyOptions(lines, artefacts=code.as_json())
    return "".join(f"{answer['text']}\n" for answer in Tagging.apply(network, how))


@pytest.mark.slow
def test_what_is_tagged_is_valid_and_round_trips(trained):
    task, network = trained.task(), trained.network()
    text = (
        "# sent_id = 1\n1-2\tthecat\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "1\tthe\tle\t_\tD\tA=b\t2\tdet\t_\t_\n2\tcat\t_\t_\t_\t_\t0\troot\t_\tx=y\n"
        "2.1\tgone\t_\t_\t_\t_\t_\t_\t_\t_\n\n" + str(Sentence.of(["it"]))
    )
    found = tagged_text(task.code, network, text.splitlines(keepends=True))
    before, after = read(text), read(found)
    assert after[0].column("upos") == ["DET", "NOUN"] and len(after) == 2
    for one, other in zip(before, after, strict=True):
        assert str(other.replaced("upos", one.column("upos"))) == str(one)
    assert tagged_text(task.code, network, found.splitlines()) == found
    plain = tagged_text(task.code, network, ["the dog sees", "the aardvark"])
    assert [x.column("upos") for x in read(plain)] == [["DET", "NOUN", "VERB"], ["DET", "NOUN"]]
    assert plain.startswith("# text = the dog sees\n1\tthe\t_\tDET\t_\t_\t_\t_\t_\t_\n")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "input is empty; give CoNLL-U"),
        (["a b", "  ", "c"], "input, line 2: an empty sentence"),
        (["a " * 10_000], "line 1: a sentence of 10000 words; at most 5000"),
        (["1\ta\n", "\n"], "input, line 1: 10 columns"),
    ],
)
def test_bad_lines_are_refused(lines, words):
    code = TagCode.from_json({"words": ["a"], "letters": ["a"], "tags": ["X"], "column": "upos"})
    with pytest.raises(BadInput, match=words):
        tagged_text(code, None, lines)


def file_of(folder, *rows, name="a.conllu"):
    write_conllu(folder / name, rows)
    return str(folder / name)


def test_bad_files_are_refused(tmp_path):
    good = Sentence.of(["a", "b"]).replaced("upos", ["X", "Y"])
    path = file_of(tmp_path, *[good] * 20)
    for given, words in (
        ({"file": path, "column": "xpos"}, "the column xpos is _ everywhere; choose another"),
        ({"file": path, "valid": file_of(tmp_path, Sentence.of(["a"]), name="b")}, "b: .* upos is"),
        ({"valid": path}, "valid needs file, the sentences to learn from"),
        ({"file": file_of(tmp_path, good, name="c")}, "1 sentences cannot be divided into 3 parts"),
        ({"file": str(tmp_path / "none")}, "there is no file"),
    ):
        with pytest.raises(BadInput, match=words) as found:
            Tagging.from_settings(Tagging.Settings(**given), 0)
        assert "\n" not in str(found.value)
    with pytest.raises(BadInput, match="not a run of the task tag"):
        TagCode.from_json({"vocabulary": {}})
    for some, words in (
        (([], []), "a sentence has at least one word"),
        ((["a", ""], ["X", "Y"]), "no word is empty"),
        ((["a"], ["X", "Y"]), "a sentence of 1 words has 2 tags"),
    ):
        with pytest.raises(BadInput, match=words):
            Tagging([*SENTENCES, some])
    with pytest.raises(BadInput, match="at least 2 different tags are needed"):
        Tagging([(["a"], ["X"])] * 20)
    with pytest.raises(BadInput, match="takes no other length, got 3"):
        Tagging(SENTENCES).batch(0, 4, length=3)


def test_networks_that_cannot_tag_are_refused():
    with pytest.raises(BadInput, match="needs an embedding of at least 1, got 0"):
        build_network(Config(task="tag", cell="lstm", embedding=0), Tagging(SENTENCES))


def test_the_parts_of_files_are_their_sentences(tmp_path):
    rows = [Sentence.of(words).replaced("upos", tags) for words, tags in SENTENCES]
    learned, kept = file_of(tmp_path, *rows), file_of(tmp_path, *rows[:7], name="test")
    task = Tagging.from_settings(Tagging.Settings(file=learned, test=kept), 0)
    sizes = {name: len(part.lengths) for name, part in task.parts.items()}
    assert sizes == {"train": 53, "valid": 7, "test": 7}
    assert task.baselines()["most frequent tag"] == 1


DEV, TEST = (f"ud_ewt/en_ewt-ud-{part}.conllu" for part in ("dev", "test"))


@pytest.mark.data(DEV, TEST)
def test_ewt_is_read_with_its_parts():
    dev, test = (str(find_data(name)) for name in (DEV, TEST))
    task = Tagging.from_settings(Tagging.Settings(file=dev, test=test), 0)
    assert {name: len(part.lengths) for name, part in task.parts.items()} == {
        "train": 1779,
        "valid": 222,
        "test": len(read_conllu(test)),
    }
    assert 0.7 < task.baselines()["most frequent tag"] < 0.9


@pytest.mark.slow
def test_the_generated_language_is_learned(tmp_path):
    config = Config(task="tag", cell="lstm", units=32, steps=300, validate_every=300, dropout=0.2)
    run = train(config, tmp_path / "run")
    assert evaluate_network(run.network(), run.task(), "test") > 0.96
