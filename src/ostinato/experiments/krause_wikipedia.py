"""Krause (2015), table 5.2: a multiplicative LSTM of 21 million parameters on Wikipedia."""

from ._recipe import Row
from ._trained import Trained
from .corpus import Corpus
from .krause_table import BOUNDS, LINE_SEARCH, NORMAL, STRUCTURAL, bits
from .page import learning_curves

WIKIPEDIA = Corpus(
    "100 MB of Wikipedia (enwik8)", "enwiki", (95_000_000, 1_000_000, 4_000_000), symbols=99
)
BATCHES = {"length": 1_000, "carry": False, "batch": 2_100, "curvature_batch": 210}
MEMORY = {"memory": "sqrt", "chunk": 210}

RECIPE = Trained(
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
    corpus=WIKIPEDIA,
    common={"task": "text", "cell": "mlstm", "units": 2000, **NORMAL},
    quick={"units": 12, "steps": 3, "batch": 40, "curvature_batch": 10, "length": 50}
    | {"iterations": 20, "chunk": None, "memory": "all"},
    rows=(
        Row("structural", "mLSTM, structural",
            {**STRUCTURAL, **BATCHES, **MEMORY, "structural": 1.0, "tikhonov": 0.01},
            {"val": 1.70, "test": 1.71}, 21_188_000),
        Row("line", "mLSTM, line-search", {**LINE_SEARCH, **BATCHES, **MEMORY},
            {"val": 1.68, "test": 1.69}, 21_188_000),
    ),
    measure=bits,
    charts=learning_curves("bits per character"),
)  # fmt: skip
