"""Krause (2015), table 5.1: the multiplicative LSTM on the whole Penn Treebank."""

from ._recipe import Row
from ._trained import Trained
from .corpus import Corpus
from .krause_table import BOUNDS, NORMAL, STRUCTURAL, bits
from .page import learning_curves

COMMON = {
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

RECIPE = Trained(
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
    common=COMMON,
    quick={"units": 12, "steps": 3, "batch": 60, "curvature_batch": 12, "length": 50}
    | {"iterations": 20},
    rows=(
        Row("medium", "mLSTM, 300 units", {"units": 300},
            {"train": 1.60, "val": 1.74, "test": 1.70}, 603_000),
        Row("large", "mLSTM, 800 units", {"units": 800},
            {"train": 1.40, "val": 1.76, "test": 1.72}, 3_608_000, quick={"units": 24}),
    ),
    measure=bits,
    charts=learning_curves("bits per character"),
)  # fmt: skip
