"""Several labels at once on data of one's own, against plain NumPy."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from ostinato.data import Batch
from ostinato.errors import BadInput
from ostinato.runs import Config, evaluate_network, train
from ostinato.runs.build import build_task
from ostinato.tasks import Arrays, Classify, Series
from ostinato.tasks.confusion import HammingLoss, MacroF1, MicroF1
from ostinato.tasks.given_answers import label_sets
from ostinato.tasks.metrics import counted, values_of
from ostinato.tasks.target_codec import LabelSets, TargetCodec
from ostinato.tasks.text.classification import LabelCode

RNG = np.random.default_rng(3)
N, T, L = 40, 6, 3
XS = RNG.normal(size=(N, T, 2))
SETS = (RNG.random((N, L)) < [0.7, 0.3, 0.1]).astype(int)
PER_STEP = (RNG.random((N, T, L)) < 0.4).astype(int)
PARTS = {"train": range(9, N), "valid": range(9)}
LENGTHS = RNG.integers(2, T + 1, N)


def f1(said, right):
    """`2 TP / (2 TP + FP + FN)` of two arrays of truth values."""
    tp, fp, fn = (said & right).sum(), (said & ~right).sum(), (~said & right).sum()
    return 2 * tp / (2 * tp + fp + fn)


def test_metrics_by_counting():
    outputs, targets = RNG.normal(size=(T, N, L)), PER_STEP.swapaxes(0, 1)
    targets[..., 2] = 0
    outputs[..., 2] = -1.0  # a label that occurs nowhere does not count in the macro average
    weights = (np.arange(T)[:, None] < LENGTHS).astype(np.float32)
    metrics = MicroF1(L), MacroF1(L), HammingLoss()
    halves = [
        counted(
            metrics,
            jnp.asarray(outputs[:, some], jnp.float32),
            Batch(None, targets[:, some].astype(np.float32), weights[:, some]),
        )
        for some in (slice(0, 17), slice(17, None))
    ]
    said, right = (x[weights > 0] for x in (outputs > 0, targets > 0))
    expected = [f1(said, right), np.mean([f1(said[:, k], right[:, k]) for k in range(2)])]
    assert values_of(metrics, halves) == pytest.approx([*expected, np.mean(said != right)])


def test_a_set_per_sequence_is_asked_for_at_its_last_step():
    task = Arrays(XS, SETS, LENGTHS, kind="multilabel")
    assert (task.outputs, task.per_step, task.answers.kind) == (L, False, "multilabel")
    assert [m.name for m in task.metrics] == ["Hamming loss", "F1 micro", "F1 macro"]
    (batch,) = task.held_out("valid", 1000)
    asked = batch.targets[batch.lengths - 1, np.arange(4)]
    assert np.array_equal(asked, SETS[task.parts["valid"]]) and asked.dtype == np.float32
    outputs = RNG.normal(size=(*batch.weights.shape, L))
    o, y = outputs[batch.lengths - 1, np.arange(4)], asked
    p = 1 / (1 + np.exp(-o))
    nats = -np.mean(np.sum(y * np.log(p) + (1 - y) * np.log(1 - p), axis=1))
    assert float(task.loss(jnp.asarray(outputs), batch)) == pytest.approx(nats)


def test_chance_is_the_best_constant_set():
    task = Arrays(XS, SETS, kind="multilabel")
    right = SETS[task.parts["train"]] > 0
    every = [np.broadcast_to([n >> k & 1 for k in range(L)], right.shape) > 0 for n in range(8)]
    assert task.chance == pytest.approx(min(np.mean(said != right) for said in every))


def test_sets_per_step_and_gaps_that_do_not_count():
    rows = PER_STEP.astype(float)
    rows[0, 1, 2] = np.nan
    task = Arrays(XS, rows, kind="multilabel", missing="mask", split=PARTS)
    (batch,) = task.held_out("valid", N)
    assert batch.targets.shape == (T, 9, L) and batch.weights.sum() == T * 9 - 1
    assert batch.weights[1, 0] == 0
    assert np.array_equal(batch.targets[:, 1:], PER_STEP.swapaxes(0, 1)[:, 1:9])


def test_a_model_of_several_labels_is_restored():
    task = Arrays(XS, SETS, kind="multilabel")
    kept = json.loads(json.dumps(task.artefacts()))
    answers = TargetCodec.from_json(kept["answers"])
    assert answers == task.answers and isinstance(answers, LabelSets)
    other = Arrays(XS[:9], SETS[:9], kind="multilabel", artefacts=kept)
    assert other.chance == task.chance and other.outputs == L
    with pytest.raises(BadInput, match="trained for multilabel, the targets of these data mean cl"):
        Arrays(XS, SETS[:, 0], artefacts=kept)
    with pytest.raises(BadInput, match="the model has 3 outputs, the targets have 2"):
        Arrays(XS, SETS[:, :2], kind="multilabel", artefacts=kept)
    with pytest.raises(ValueError, match="does not say whether there are several"):
        TargetCodec.from_json({**kept["answers"], "several": 1})


def test_a_table_with_a_column_for_each_label(tmp_path):
    """Per sequence where the labels of a sequence do not change, per step where they do."""
    path = tmp_path / "walks.csv"
    rows = [
        f"{n},{n * 7 % 5}.5,{n // 4 % 2},{n // 8 % 2},{n % 2},{n % 3 == 0:d}\n" for n in range(80)
    ]
    text = "".join(f"{n // 4},{row}" for n, row in enumerate(rows))
    path.write_text("walk,n,x,fast,uphill,left,right\n" + text)
    common = {"file": str(path), "columns": "x", "kind": "multilabel"}
    walks = Config(task="arrays", **common, sequence="walk", target="fast,uphill")
    task = build_task(walks)
    assert (task.per_step, task.outputs, task.inputs) == (False, 2, 1)
    assert np.array_equal(task.data.targets[:4], [[0, 0], [1, 0], [0, 1], [1, 1]])
    task = build_task(walks.replace(target="left,right"))
    assert task.per_step and np.array_equal(task.data.targets[:3], [[0, 1], [1, 0], [0, 0]])
    series = build_task(Config(task="series", **common, target="left,right", length=5))
    assert isinstance(series, Series) and series.outputs == 2 and not series.forecasts
    assert np.array_equal(series.batch(0, 1).targets[:, 0].shape, (5, 2))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A film is loud, long, both or neither, by two words among others."""
    folder = tmp_path_factory.mktemp("films")
    words = [("", "a film"), ("loud", "a noisy film"), ("long", "an endless film")]
    words.append(("long, loud", "an endless noisy film"))
    path = folder / "films.tsv"
    path.write_text("".join(f"{labels}\t{text}\n" for labels, text in words * 20))
    settings = {"task": "classify", "file": str(path), "kind": "multilabel", "embedding": 4}
    config = Config(**settings, cell="gru", units=8, batch=32, steps=60, rate=0.05)
    return train(config, folder / "run")


def test_texts_with_any_number_of_labels(trained):
    task, network = trained.task(), trained.network()
    assert task.answers.classes == ("long", "loud")
    assert task.baselines()["naive Bayes"] == evaluate_network(network, task, "test") == 0
    code = LabelCode.from_json(json.loads(json.dumps(task.artefacts())))
    texts = ["a noisy film", "a film", "an endless noisy film"]
    said = [code.answers.told(outputs[None], 1)[0] for _, outputs in code.apply(network, texts)]
    assert [answer["text"] for answer in said] == ["loud", "", "long,loud"]
    assert task.preview(network, None).count("(wrong)") == 0


WRONG = {
    "two": ((XS, SETS * 2), {}, "the target of sequence 0, output 1 is 2; of several labels each"),
    "words": ((XS, [["a", "b"]] * N), {}, "multilabel needs numbers"),
    "one label": ((XS, SETS[:, :1]), {}, "multilabel needs 2 to 1000 different labels, got 1"),
    "no label": ((XS, 0 * SETS), {}, "the training part has no labels"),
    "a gap": ((XS, np.where(SETS, 1, np.nan)), {}, "is missing"),
    "steps or labels": ((XS, PER_STEP[..., 0]), {}, "say per_step=True or per_step=False"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_line(name):
    given, more, words = WRONG[name]
    with pytest.raises(BadInput, match=words) as error:
        Arrays(*given, kind="multilabel", **more)
    assert "\n" not in str(error.value)


def test_wrong_sets_of_texts_are_refused():
    with pytest.raises(BadInput, match="the label 'new' is not one of big, old"):
        label_sets(["big", "big,new"], ["big", "old"])
    with pytest.raises(BadInput, match="labels of text 1 have an empty label: 'big,,new'"):
        label_sets(["big", "big,,new"], None)
    with pytest.raises(BadInput, match="labels of text 0 have a label twice: 'big,big'"):
        label_sets(["big, big"], None)
    with pytest.raises(BadInput, match="look the same"):
        label_sets(["caf\u00e9", "cafe\u0301"], None)
    with pytest.raises(BadInput, match="2 to 1000 different labels, got 1"):
        Classify(["a b", "c d"] * 9, ["x", ""] * 9, kind="multilabel")
    with pytest.raises(BadInput, match="kind must be one of classification, multilabel; got regr"):
        Classify(["a b"], ["x"], kind="regression")
