"""Zaremba and Sutskever (2014): adding two numbers of nine digits, read character by character."""

from .page import learning_curves
from .recipe import TableRow
from .trained import Trained, on_test

EXACT = "sums right, %"
# As in the source: two layers of 400 LSTM cells, weights uniform in ±0.08, plain gradient steps.
ZAREMBA = {"cell": "lstm", "units": (400, 400), "attention": "none", "uniform": 0.08}
# A rate of 0.5 and a norm of 5 for a sum over the ten digits of an answer, so for their mean:
ZAREMBA |= {"learner": "sgd", "rate": 5.0, "schedule": "plateau", "clip": "0.5", "batch": 100}
ZAREMBA |= {"steps": 100_000, "growth": 50_000, "validate_every": 1_000}
GRU = {"cell": "gru", "units": 256, "bidirectional": True, "learner": "adam", "rate": 2e-3}
GRU |= {"batch": 256, "steps": 5_000, "growth": 2_500, "validate_every": 250}

NINE_DIGITS = Trained(
    name="nine-digit-addition",
    title="Adding two numbers of nine digits",
    source="Zaremba and Sutskever (2014), cited by Lipton et al. (2015), section 5.5",
    shows="A network of LSTM cells that reads print(123456789+987654321) character by character "
    "writes the sum, and nearly all sums are right as a whole.",
    differs=(
        "The source has one network that reads the program and goes on to write the answer; here "
        "an encoder hands its final state to a decoder with weights of its own.",
        "Batches of 100, a rate of 0.5 and weights uniform in ±0.08 are the source's; the rate is "
        "halved when validation stops to improve, and gradients are clipped at 5. That is for a "
        "sum over the digits of an answer; for the mean over digits here it is 5 and 0.5.",
        "An answer counts only if all of its digits are right.",
        "The other row is a better setting: a bidirectional GRU with attention that writes the "
        "last digit first. benchmarks/RESULTS.md has 100 % of 1,000 test sums after 5,000 "
        "batches of 256, 79 seconds on an H200.",
        "The network of the source was run for 67,574 of 100,000 steps, with a rate of 0.5 for the "
        "mean and so with steps that are too short: no sum was right, and 21 % of the digits. "
        "Whether the published number holds is open.",
    ),
    columns=(EXACT,),
    order=EXACT,
    higher_is_better=True,
    digits=1,
    common={"task": "addition", "digits": 9, "strategy": "combined"},
    quick={"digits": 2, "units": 24, "steps": 40, "growth": 20, "batch": 32, "validate_every": 20},
    rows=(
        TableRow("lstm", "LSTM, two layers of 400", ZAREMBA, {EXACT: 99.0}),
        TableRow("gru", "GRU with attention, last digit first", {**GRU, "backwards": True}),
    ),
    measure=on_test(EXACT, 500, factor=100),
    charts=learning_curves("exact match"),
)
