"""Every combination of options that is refused, by the row of the table that refuses it."""

import jax
import numpy as np
import pytest

from ostinato.data.generated.everyday import book_text
from ostinato.errors import BadInput
from ostinato.runs import Config
from ostinato.runs.build import build_learner, build_task
from ostinato.runs.config.refusals import HERE, MEMBERS, NETWORK, OF_HEADS, RUN, SETTINGS
from ostinato.runs.network.models import make_network
from ostinato.runs.network.parts import Sizes
from ostinato.weights import trained

SETTING_ROWS = [
    ({"first": "sgd"}, "first is a setting of hf, saddle-free; the learner is adam"),
    (
        {"first": "saddle-free", "learner": "hf"},
        "first must be a first-order learner, got saddle-free",
    ),
    (
        {"units": (4, 5), "layers": 3},
        "units has 2 numbers, one per layer, and layers is 3; leave layers out",
    ),
    ({"units": 3, "budget": 900}, "give either units or budget, not both"),
    (
        {"feedback": True, "skip": True},
        "feedback cannot be combined with skip; leave one of them out",
    ),
    (
        {"feedback": True, "bidirectional": True},
        "feedback cannot be combined with bidirectional; leave one of them out",
    ),
    (
        {"turing": "8x4", "bidirectional": True},
        "turing cannot be combined with bidirectional; leave one of them out",
    ),
    *(
        ({name: 4}, f"{name} is a setting of --turing; give it a memory, such as 128x20")
        for name in OF_HEADS
    ),
    (
        {"turing": "4x4", "head_shift": 2},
        "head_shift must be less than half of the memory's rows, 4x4; got 2",
    ),
    ({"epochs": 3, "steps": 5}, "give either steps or epochs, not both"),
    (
        {"epochs": 3, "curriculum": 5},
        "epochs cannot be combined with curriculum, which changes their length",
    ),
    (
        {"schedule": "halving:3,2", "curriculum": 5},
        "the schedule halving counts epochs, whose length a curriculum changes",
    ),
    (
        {"curriculum": 500, "length": 10},
        "curriculum is the initial length, so it must be at most the length of 10, got 500",
    ),
    (
        {"layer_wise": 9, "layers": 2, "learner": "hf", "first": "sgd"},
        "layer_wise cannot be combined with first; leave one of them out",
    ),
    (
        {"layer_wise": 9, "layers": 2, "patience": 3},
        "layer_wise validates layers that are not trained yet; leave out patience",
    ),
    *(
        (
            {"layer_wise": 9, "layers": 2, "learner": name},
            f"layer_wise trains layers, and the learner {name} only the readout",
        )
        for name in ("ridge", "rls", "perceptron")
    ),
    ({"layer_wise": 9, "layers": 2, "gradient": "rtrl"}, "layer_wise needs --gradient full"),
    *(
        (
            {"layer_wise": 9, "layers": 2, name: value},
            f"layer_wise needs plain layers with a linear readout; leave out {name}",
        )
        for name, value in {
            "bidirectional": True,
            "feedback": True,
            "turing": "8x4",
            "expand": "quadratic",
            "output_feedback": True,
            "readout_units": 3,
        }.items()
    ),
    ({"learner": "hf", "precision": "bfloat16"}, "the learner hf needs --precision float32"),
    ({"learner": "ridge", "precision": "bfloat16"}, "the learner ridge needs --precision float64"),
    (
        {"gradient": "lstm1997", "cell": "gru"},
        "the gradient lstm1997 needs a single layer and --cell one of lstm, lstm1997, krause",
    ),
    (
        {"gradient": "lstm1997", "cell": "krause", "layers": 2},
        "the gradient lstm1997 needs a single layer and --cell one of lstm, lstm1997, krause",
    ),
    *(
        (
            {"gradient": "lstm1997", "cell": "krause", name: value},
            f"the gradient lstm1997 does not support {name}; leave it out",
        )
        for name, value in {
            "embedding": 3,
            "layer_norm": True,
            "zoneout": 0.1,
            "weight_noise": 0.1,
            "dropout": 0.1,
            "recurrent_dropout": 0.1,
            "turing": "8x4",
        }.items()
    ),
    (
        {"learner": "hf", "first": "sgd", "gradient": "rtrl"},
        "--first with the learner hf needs --gradient full",
    ),
]

SHARED = {"shard_vocabulary": True, "devices": 2}
SYMBOLS = len(set(book_text()))  # of the documentation of this Python
COUNT = next(count for count in (4, 3) if SYMBOLS % count)
FEWER = SYMBOLS - SYMBOLS % COUNT
OTHER = "" if SYMBOLS % 2 else ", or 2 devices"  # which share an even number
RUN_ROWS = [
    (
        {"curriculum": 500},
        "curriculum is the initial length, so it must be at most the length of 100, got 500",
    ),
    (
        {"epochs": 2},
        "the task adding draws new training data without end, so it has no epochs; give --steps",
    ),
    (
        {"learner": "hf", "first": "sgd", "schedule": "halving"},
        "the task adding draws new training data without end, so it has no epochs, which the "
        "schedule halving counts",
    ),
    (
        {"schedule": "halvings"},
        "there is no schedule 'halvings'; there are constant, step, exponential, linear, cosine, "
        "halving, plateau, adaptive, line-search",
    ),
    ({"layer_wise": 9}, "layer_wise trains one layer after the other; give --layers 2 or more"),
    ({"devices": 99}, "there are {devices} devices here, got --devices 99"),
    (
        {"devices": 2, "batch": 3},
        "2 devices cannot share a batch of 3 sequences equally; --batch must be a multiple of 2",
    ),
    (
        {"devices": 2, "learner": "perceptron", "batch": 4},
        "devices cannot share a batch with the learner perceptron; leave out --devices",
    ),
    (
        {"devices": 2, "gradient": "rtrl", "batch": 4},
        "devices cannot share a batch with --gradient rtrl; leave out --devices",
    ),
    (SHARED, "the task adding has no vocabulary; leave out --shard-vocabulary"),
    (
        SHARED | {"task": "text", "learner": "hf", "batch": 1000},
        "the learner hf needs all weights on each device; leave out --shard-vocabulary",
    ),
    (
        SHARED | {"task": "text", "backend": "persistent"},
        "--shard-vocabulary runs the scan; leave out --backend persistent",
    ),
    (
        SHARED | {"task": "text", "devices": COUNT, "batch": 8 * COUNT},
        f"{COUNT} devices cannot share a vocabulary of {SYMBOLS} symbols equally; {FEWER} or "
        f"{FEWER + COUNT} symbols would do{OTHER}",
    ),
]

VECTORS = Sizes("adding", 2, 1, False)
TEXT = Sizes("text", 9, 9, True, predicts_next=True)
TAGS = Sizes("tag", 9, 5, True, model={"kind": "tagger", "embedding": 4})
PAIRS = Sizes("reverse", 9, 9, True, model={"kind": "encoder-decoder", "tied": True})
JORDAN = {"cell": "jordan"}
HOPFIELD = {"cell": "hopfield"}
LAST = (
    "changes the output of the last layer, which in a jordan network is the network's answer; "
    "leave it out, or read that layer with --readout bias"
)
NETWORK_ROWS = [
    (
        {"bidirectional": True},
        TEXT,
        "the task text predicts its own next input, which a bidirectional network would see; "
        "leave out --bidirectional",
    ),
    ({"pool": "mean"}, TAGS, "the task tag answers at every step; leave out --pool"),
    *(
        (
            {name: value},
            PAIRS,
            f"the task reverse has a network of its own kind; leave out {name}",
        )
        for name, value in {
            "readout_units": 3,
            "expand": "quadratic",
            "output_feedback": True,
            "turing": "8x4",
            "changes": True,
        }.items()
    ),
    (
        {"changes": True},
        TEXT,
        "the task text reads symbols or words, which have no changes; leave out --changes",
    ),
    (
        {"changes": True, "layer_wise": 9, "layers": 2},
        VECTORS,
        "layer_wise needs a first layer that reads the inputs itself; leave out --changes",
    ),
    (
        {"changes": True, "output_feedback": True},
        VECTORS,
        "output_feedback needs layers that read the inputs themselves; leave out --changes",
    ),
    (
        {"gradient": "rtrl"},
        TAGS,
        "the task tag has a network of its own kind, which needs --gradient full",
    ),
    ({"omega": 0.1}, TAGS, "the task tag has a network of its own kind; leave out omega"),
    (
        {"layer_wise": 9, "layers": 2},
        TAGS,
        "the task tag has a network of its own kind; leave out layer_wise",
    ),
    (
        {"layer_wise": 9, "layers": 2, "pool": "mean"},
        VECTORS,
        "layer_wise reads every layer by itself; leave out --pool, and cells with a readout of "
        "their own",
    ),
    ({"embedding": 3}, VECTORS, "the task adding reads vectors, so it takes no embedding"),
    (JORDAN, TAGS, "the task tag needs a readout; give another cell or --readout bias"),
    (
        {"readout": "own"},
        VECTORS,
        "the readout own needs a cell that has one: jordan, hopfield; got mlstm",
    ),
    *(
        (JORDAN | {name: value}, VECTORS, f"{name} {LAST}")
        for name, value in {
            "skip": True,
            "bidirectional": True,
            "dropout": 0.5,
            "layer_norm": True,
            "turing": "8x4",
        }.items()
    ),
    (
        JORDAN | {"pool": "mean"},
        VECTORS,
        "the output of jordan is the answer; leave out --pool",
    ),
    *(
        (JORDAN | {name: value}, VECTORS, f"the output of jordan is the answer; leave out {name}")
        for name, value in {
            "readout_units": 3,
            "expand": "quadratic",
            "output_feedback": True,
            "changes": True,
        }.items()
    ),
    *(
        (
            {"output_feedback": True, **more},
            task,
            "output feedback needs inputs that are vectors, and layers with a step",
        )
        for more, task in (({}, TEXT), ({"bidirectional": True}, VECTORS))
    ),
    (
        {"output_feedback": True, "embedding": 2},
        Sizes("series", 4, 1, False, model={"kind": "network", "words": ((1, 3, 0),)}),
        "output feedback reads words as one-hot vectors; leave out --embedding",
    ),
    ({"feedback": True}, TAGS, "the task tag is bidirectional; leave out --feedback"),
    ({"embedding": 0}, TAGS, "the task tag needs an embedding of at least 1, got 0"),
    *(
        (
            HOPFIELD | {name: 5},
            VECTORS,
            "hopfield has one unit per input; leave out --units and --budget",
        )
        for name in ("units", "budget")
    ),
    (
        HOPFIELD | {"feedback": True},
        VECTORS,
        "hopfield is the whole network; leave out --feedback",
    ),
    *(
        (
            HOPFIELD | {name: True, "readout": "bias"},
            VECTORS,
            f"hopfield is the whole network; leave out --{name}",
        )
        for name in ("skip", "bidirectional")
    ),
    (
        HOPFIELD | {"layers": 2},
        VECTORS,
        "hopfield is the whole network; leave out --layers and --readout",
    ),
    (
        {"cell": "lstm", "incoming": 3, "recurrent": "glorot"},
        VECTORS,
        "give either recurrent or incoming, not both",
    ),
    *(
        (
            {"uniform": 0.08, name: 1},
            VECTORS,
            f"uniform says how all weights start; leave out {name}",
        )
        for name in ("incoming", "spectral_radius", "input_scale", "output_scale")
    ),
    (
        {"uniform": 0.08, "recurrent": "glorot"},
        VECTORS,
        "uniform says how all weights start; leave out input and recurrent",
    ),
    (
        {"cell": "lstm", "input_scale": 1.0, "input": "glorot"},
        VECTORS,
        "give either input or input_scale, not both",
    ),
    (
        {"cell": "elman", "incoming": 3},
        VECTORS,
        "incoming and spectral_radius need a recurrent matrix; elman has none",
    ),
    (
        {"cell": "reservoir", "input_scale": 0.9},
        VECTORS,
        "the cell reservoir has no setting input, which incoming, spectral_radius and input_scale "
        "need",
    ),
    (
        JORDAN | {"feedback": True},
        VECTORS,
        "feedback needs a readout; the output of jordan is the answer",
    ),
    ({}, PAIRS, "tied needs an embedding; give --embedding a size"),
]


def refused(call, words):
    with pytest.raises(BadInput) as error:
        call()
    assert str(error.value) == words


@pytest.mark.parametrize(("settings", "words"), SETTING_ROWS)
def test_settings_that_do_not_go_together(settings, words):
    refused(lambda: Config(**settings), words)


@pytest.mark.parametrize(("settings", "words"), RUN_ROWS)
def test_settings_that_do_not_suit_the_task(settings, words, monkeypatch):
    config = Config(**{"task": "adding", **settings})
    monkeypatch.setattr(jax, "devices", lambda: [None] * 4)
    refused(lambda: build_learner(config, build_task(config)), words.format(devices=4))


@pytest.mark.parametrize("name", ["shows", "things", "pixels", "clips"])
def test_a_file_leaves_nothing_to_draw(name, tmp_path):
    np.save(tmp_path / "clips.npy", np.zeros((9, 2, 14, 14), np.uint8))
    given = {"file": str(tmp_path / "clips.npy"), "frames": 1, "ahead": 1}
    config = Config(task="video", **given, **{name: "digits" if name == "shows" else 14})
    words = f"{name} is a setting of what the task video draws itself; leave it out, or the file"
    refused(lambda: build_learner(config, build_task(config)), words)


@pytest.mark.parametrize(("settings", "task", "words"), NETWORK_ROWS)
def test_networks_that_do_not_suit_the_task(settings, task, words):
    config = Config(task="adding", **settings)
    refused(lambda: make_network(config, task, 4, jax.random.key(0)), words)


def test_a_cell_of_ones_own_without_an_initialiser(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from ostinato.cells import Simple\nfrom ostinato.settings import NoSettings\n"
        "class Mine(Simple):\n    Settings = NoSettings\n"
    )
    name = f"{(tmp_path / 'mine.py').resolve()}:Mine"
    config = Config(task="adding", cell=name, spectral_radius=0.9)
    words = f"the cell {name} has no setting recurrent, which incoming, spectral_radius and "
    refused(lambda: make_network(config, VECTORS, 4, jax.random.key(0)), words + "input_scale need")


def test_uniform_draws_every_weight():
    """Biases, readout and embedding too; the deviation of U(-a, a) is a/√3."""
    config = Config(task="adding", cell="lstm", uniform=0.08, embedding=5)
    network = make_network(config, TEXT, 40, jax.random.key(0))
    leaves = [np.asarray(x) for x in jax.tree.leaves(trained(network)[0])]
    assert len({x.tobytes() for x in leaves}) == len(leaves) == 6
    numbers = np.concatenate([x.ravel() for x in leaves])
    assert 0.0799 < np.abs(numbers).max() <= 0.08 and np.all(numbers != 0)
    assert np.std(numbers) == pytest.approx(0.08 / np.sqrt(3), rel=0.02)


def test_every_row_is_tested():
    assert len(SETTING_ROWS) >= len(SETTINGS) + len(MEMBERS)
    assert len(RUN_ROWS) == len(RUN) + len(HERE)
    assert len({words for *_, words in NETWORK_ROWS}) == len(NETWORK) - 1  # of one's own
