"""Runs that label and translate, from inside, beside other ways to the same numbers."""

import jax
import numpy as np
import pytest

from ostinato.errors import BadInput
from ostinato.lens.gradient_by_lag import reach
from ostinato.lens.reading import read, read_gates
from ostinato.runs import Config
from ostinato.runs.build import build_network
from ostinato.tasks import Classify, Pairs
from ostinato.tasks.applying import ApplyOptions
from ostinato.tasks.pairs.write_answers import Answer, PairCode, log_probabilities
from ostinato.tasks.text.labelled import LabelCode

TEXTS = ["it is fine", "it is not fine", "fine fine", "not good not fine"] * 10
LABELS = ["good", "bad", "good", "bad"] * 10


def test_what_is_said_at_a_piece_is_the_answer_to_the_text_so_far():
    task = Classify(TEXTS, LABELS)
    network = build_network(Config(task="classify", cell="gru", units=4, pool="mean"), task)
    passage, code = task.passage("valid"), LabelCode.from_json(task.artefacts())
    reading = read(network, passage, top=2)
    at = 0
    for text, label in zip(passage.texts, passage.labels, strict=True):
        words = text.split()
        for n in range(1, len(words) + 1):
            (logits,) = code.outputs_of(network, [" ".join(words[:n])])
            shares = np.asarray(jax.nn.softmax(logits))
            assert np.isclose(reading.surprise[at], -np.log2(shares[label]), rtol=1e-5)
            assert np.allclose(reading.probabilities[at], np.sort(shares)[::-1], rtol=1e-5)
            assert passage.pieces[at].strip() == words[n - 1]
            at += 1
    assert at == len(passage.pieces) == len(reading.values)
    assert {x.shape[0] for x in read_gates(network, passage).values()} == {at}
    last = len(passage.texts[0].split()) - 1
    found = reach(network, passage, last)
    assert found.places.tolist() == [*range(last + 1)] and (found.moved > 0).all()
    assert len(passage.first(1).texts) == 1


def test_a_typed_text_and_several_labels():
    task = Classify(TEXTS, LABELS)
    how = ApplyOptions(settings=task.settings, artefacts=task.artefacts())
    typed = Classify.passage_of("fine text\n\nanother\n", None, how)
    assert typed.pieces == ["fine ", "text\n", "another\n"] and typed.targets.tolist() == [-1] * 3
    assert "both directions" in typed.notes(True)[0] and not typed.notes(False)
    with pytest.raises(BadInput, match="there is no text"):
        Classify.passage_of("\n", None, how)
    several = Classify(TEXTS, [["a", "b"], ["a"], [], ["b"]] * 10)
    network = build_network(Config(task="classify", cell="gru", units=4), several)
    passage = several.passage("test")
    assert (
        read(network, passage).expected.shape[1] == 0
        and "several labels" in passage.notes(False)[0]
    )
    with pytest.raises(BadInput, match="there is no one loss to follow"):
        reach(network, passage, 0)


def test_the_surprise_at_a_target_is_its_probability(monkeypatch):
    sources = [f"one {x} {y}" for x in "abcd" for y in "efgh"]
    task = Pairs.of_texts(
        sources, [x[::-1] for x in sources], split=(0.5, 0.25, 0.25), reverse=True
    )
    config = Config(task="translate", cell="gru", units=6, embedding=4, reverse=True)
    network, passage = build_network(config, task), task.passage("test")
    reading = read(network, passage, top=3)
    begins = [0, *passage.ends[:-1]]
    sums = [np.nansum(reading.surprise[a:b]) for a, b in zip(begins, passage.ends, strict=True)]
    told = log_probabilities(network, passage.sources, [x[:-1] for x in passage.written])
    assert np.allclose(np.array(sums) * np.log(2), -np.array(told), rtol=1e-5)
    assert np.isnan(reading.surprise[begins]).all() and (reading.expected[begins] == -1).all()
    assert [passage.pieces[a] for a in begins] == [f"one ⟨unknown⟩ {x} → " for x in "efgh"]
    found = reach(network, passage, 3)
    assert np.isclose(found.loss / np.log(2), reading.surprise[3], rtol=1e-5)
    assert found.places.tolist() == [0, 1, 2, 3] and found.moved[3] == 0 < found.moved[2]
    with pytest.raises(BadInput, match="nothing comes before the first piece"):
        reach(network, passage, 0)
    assert read_gates(network, passage)
    how = ApplyOptions(settings=task.settings, artefacts=task.artefacts())
    own = [Answer("e b", 0.0, True, np.array([3, 4]))]
    monkeypatch.setattr(PairCode, "written", lambda *_: iter([own]))
    typed = Pairs.passage_of("one a e\te a eno\none b f", network, how)
    assert typed.pieces[0] == "one a e → " and typed.pieces[4] == "\n"
    assert typed.targets[1:5].tolist() == [*task.targets.encode("e a eno"), 0]
    assert typed.pieces[5] == "one b f → " and typed.targets[6:].tolist() == [3, 4, 0]
