"""Krause (2015), tables 4.5, 5.1 and 5.2: character models of equal size, and large ones.

Table 4.5 has eight models of about 218,000 parameters; table 5.1 the multiplicative LSTM on the
whole Penn Treebank; table 5.2 one of 21 million parameters on Wikipedia.
"""

from typing import Any

from ..learning.hessian_free import Damping
from ..runs.analysis.evaluation import measured
from ..tasks.text.text import streams
from .page import learning_curves
from .recipes import Corpus, Measurements, TableRow
from .trained import Trained, Trial

STREAMS = 64
PARTS = {"train": "train", "val": "valid", "test": "test"}  # by column

# The gradient on everything: 13,920 of the 13,999 sequences of 200 characters, at an offset that
# changes with every step, because the curvature batch must divide the batch. μ(i) is adapted in
# every iteration of conjugate gradient, which ends at μ(i) ≥ 3 μ₀.
FREE: dict[str, Any] = {
    "learner": "hf",
    "length": 200,
    "batch": 13_920,
    "curvature_batch": 3_480,
    "iterations": 100,
    "tikhonov": 0.0,
    "judge": "curvature",
    "steps": 400,
    "validate_every": 1,
    "checkpoint_every": 20,
    "patience": 10,
}
STRUCTURAL = {**FREE, "damping": "structural", "adapt": "iteration"}
LINE_SEARCH = {**FREE, "damping": "line-search"}
# The algorithm of 1997 on the same network, 20 characters of 32 streams per update.
ONLINE = {
    "learner": "sgd",
    "gradient": "lstm1997",
    "rate": 5.0,
    "schedule": "plateau",
    "clip": "1",
    "length": 20,
    "batch": 32,
    "steps": 200_000,
    "validate_every": 2_000,
    "checkpoint_every": 2_000,
    "patience": 10,
}
SIMPLE = {"cell": "simple", "units": 400, "input": "normal:0.1", "recurrent": "sparse:0.1,0.1"}
SIMPLE |= {"output_scale": 0.1}
MRNN = {"cell": "mrnn", "input": "normal:0.05", "recurrent": "normal:0.05", "output_scale": 0.05}
NORMAL = {"input": "normal:0.1", "recurrent": "normal:0.1", "output_scale": 0.1}
LSTM = {"cell": "krause", "units": 195, **NORMAL}
# What all experiments of the source with Hessian-free learning differ in.
BOUNDS = (
    f"The damping cannot fall below {Damping.min_scale:.0%} of its initial strength (μ₀, and λ₀ "
    f"where there is one) or rise above {Damping.max_scale:,.0f} times that; the source has no "
    "bounds."
)


def bits(trial: Trial) -> Measurements:
    """Bits per character on the parts with published numbers, in streams with carried state."""
    task, numbers = trial.task, {}
    for column in trial.row.published:
        batches = streams(task.parts[PARTS[column]], STREAMS, 200)  # type: ignore[attr-defined]
        (numbers[column],) = measured(trial.network, batches, (task.metric,))
    return Measurements(numbers)


# The small size of a row by Hessian-free learning.
FEW = {"units": 12, "batch": 60, "curvature_batch": 12, "iterations": 20, "length": 50}
FEW |= {"steps": 3, "validate_every": 3}


def row(
    name: str, title: str, settings: dict[str, Any], parameters: int, *published: float
) -> TableRow:
    columns = dict(zip(PARTS, published, strict=True))
    units = settings["units"]
    quick: dict[str, Any] = {"units": 12 if isinstance(units, int) else (6,) * len(units)}
    if settings["learner"] == "hf":
        quick = FEW | quick
    else:
        quick |= {"steps": 100, "validate_every": 50}
    return TableRow(name, title, settings, columns, parameters, quick)


TABLE = Trained(
    name="krause-table",
    title="Eight character models of equal size",
    source="Krause (2015), table 4.5",
    shows="With about 218,000 parameters each and Hessian-free learning, the multiplicative LSTM "
    "predicts characters better than LSTM, multiplicative RNN and RNN.",
    differs=(
        "A step's gradient is over 13,920 sequences of 200 characters, 99.4 % of the training "
        "text, at an offset that changes with every step.",
        "ρ, the choice of the iterate and the last line search use the curvature batch. The "
        "source says that the line search used the training set, and leaves open what ρ used.",
        "The rule that adapts μ is that of Martens and Sutskever (2011), of which the source "
        "prints the two factors the wrong way round.",
        BOUNDS,
        "The online LSTM learns from 32 streams at once and changes its weights after every 20 "
        "characters instead of every one; the source gives no learning rate.",
        "Errors are measured in contiguous streams with carried state; the source does not say.",
        "Training ends after ten validations without improvement; the source gives no number.",
        "The mLSTM with μ = 0.3 is that of section 4.5, which gives its validation error only.",
        "Never run in full: the models of Hessian-free learning only for a minute and a half each, "
        "16 to 59 steps on 464 sequences of curvature, and all of them on the stand-in text.",
    ),
    columns=tuple(PARTS),
    order="test",
    corpus=Corpus(
        "the Penn Treebank, raw", "enwiki", (2_800_000, 200_000, 200_000), symbols=70
    ),
    common={"task": "text"},
    quick={},
    rows=(
        row("rnn", "RNN, structural", SIMPLE | STRUCTURAL | {"structural": 0.01},
            216_400, 1.80, 2.04, 1.99),
        row("rnn-line", "RNN, line-search", SIMPLE | LINE_SEARCH, 216_400, 1.78, 2.03, 1.97),
        row("mrnn", "mRNN, structural", MRNN | STRUCTURAL | {"units": 280, "structural": 0.3},
            215_880, 1.69, 1.90, 1.87),
        row("mrnn-line", "mRNN, line-search", MRNN | LINE_SEARCH | {"units": 280},
            215_880, 1.72, 1.88, 1.85),
        row("lstm-online", "LSTM, online", LSTM | ONLINE, 220_350, 1.81, 2.03, 1.98),
        row("lstm", "LSTM, Hessian-free", LSTM | STRUCTURAL | {"structural": 0.01},
            220_350, 1.75, 1.93, 1.88),
        row("stack", "stacked mRNN",
            MRNN | STRUCTURAL | {"units": (150, 130, 110), "skip": True, "structural": 0.3},
            219_090, 1.74, 1.90, 1.87),
        row("mlstm", "mLSTM", NORMAL | STRUCTURAL
            | {"cell": "mlstm", "units": 170, "structural": 0.1}, 215_900, 1.69, 1.86, 1.82),
        TableRow("mlstm-strong", "mLSTM, μ = 0.3", NORMAL | STRUCTURAL
            | {"cell": "mlstm", "units": 170, "structural": 0.3}, {"val": 1.87}, 215_900, FEW),
    ),
    measure=bits,
    charts=learning_curves("bits per character"),
)  # fmt: skip

PENN_SETTINGS = {
    **NORMAL,
    **STRUCTURAL,
    "task": "text",
    "cell": "mlstm",
    "structural": 0.1,
    "length": 300,
    "carry": False,
    "batch": 7_200,
    "curvature_batch": 720,
}

PENN = Trained(
    name="krause-penn",
    title="Multiplicative LSTMs on the whole Penn Treebank",
    source="Krause (2015), section 5.1, table 5.1",
    shows="Six times as many parameters fit the training text better and generalise worse: on a "
    "small corpus Hessian-free learning overfits.",
    differs=(
        "The text is one file that is split in the given proportions; the source takes sections "
        "00-20 for training, 21-22 for validation and 23-24 for test.",
        "A step's gradient is over 7,200 sequences of 300 characters at random positions, its "
        "curvature over 720 of them, as published.",
        "ρ, the choice of the iterate and the last line search use the curvature batch.",
        BOUNDS,
        "Never run in full.",
    ),
    columns=("train", "val", "test"),
    order="test",
    corpus=Corpus(
        "the Penn Treebank, raw, sections 00 to 24", "enwiki", (5_000_000, 500_000, 500_000), 85
    ),
    common=PENN_SETTINGS,
    quick={"units": 12, "steps": 3, "batch": 60, "curvature_batch": 12, "length": 50}
    | {"iterations": 20},
    rows=(
        TableRow("medium", "mLSTM, 300 units", {"units": 300},
            {"train": 1.60, "val": 1.74, "test": 1.70}, 603_000),
        TableRow("large", "mLSTM, 800 units", {"units": 800},
            {"train": 1.40, "val": 1.76, "test": 1.72}, 3_608_000, quick={"units": 24}),
    ),
    measure=bits,
    charts=learning_curves("bits per character"),
)  # fmt: skip

WIKIPEDIA_TEXT = Corpus(
    "100 MB of Wikipedia (enwik8)", "enwiki", (95_000_000, 1_000_000, 4_000_000), symbols=99
)
BATCHES = {"length": 1_000, "carry": False, "batch": 2_100, "curvature_batch": 210}
MEMORY = {"memory": "sqrt", "chunk": 210}

WIKIPEDIA = Trained(
    name="krause-wikipedia",
    title="A large multiplicative LSTM on Wikipedia",
    source="Krause (2015), section 5.2, table 5.2",
    shows="A single layer with multiplicative connections, trained by Hessian-free learning, comes "
    "near the seven-layer LSTM of Graves (2013), which reached 1.67 bits per character.",
    differs=(
        "Sequences begin at random positions; the source goes through the text in subsets of 2.1 "
        "million characters.",
        "The source does not say whether its loss is a sum or a mean over steps. With λ = 10 it is "
        "taken as a sum over the 1,000 steps of a sequence; here it is a mean, so λ = 0.01.",
        "ρ, the choice of the iterate and the last line search use the curvature batch.",
        BOUNDS,
        "Never run in full.",
    ),
    columns=("val", "test"),
    order="test",
    corpus=WIKIPEDIA_TEXT,
    common={"task": "text", "cell": "mlstm", "units": 2000, **NORMAL},
    quick={"units": 12, "steps": 3, "batch": 40, "curvature_batch": 10, "length": 50}
    | {"iterations": 20, "chunk": None, "memory": "all"},
    rows=(
        TableRow("structural", "mLSTM, structural",
            {**STRUCTURAL, **BATCHES, **MEMORY, "structural": 1.0, "tikhonov": 0.01},
            {"val": 1.70, "test": 1.71}, 21_188_000),
        TableRow("line", "mLSTM, line-search", {**LINE_SEARCH, **BATCHES, **MEMORY},
            {"val": 1.68, "test": 1.69}, 21_188_000),
    ),
    measure=bits,
    charts=learning_curves("bits per character"),
)  # fmt: skip
