"""Krause (2015), section 5.2.4 and figure 5.1: how long an open bracket is remembered."""

from ..report.charts import Chart, Lines, Series, numbers
from ..runs.evaluation import measured
from ._recipe import Found, Recipe, Result, Row
from ._trained import Trained, Trial
from .brackets import bracket_ratios
from .krause_wikipedia import WIKIPEDIA
from .page import learning_curves

REMEMBERED = "steps the bracket is remembered"
APART = "context above control, mean"


def remembered(trial: Trial) -> Found:
    """The log-ratios after the context and the control, 10 trials of 1,000 steps each."""
    task, text = trial.task, trial.task.text()
    assert text is not None
    found = bracket_ratios(trial.network, text.vocabulary, seed=trial.run.config.seed)
    (bits,) = measured(trial.network, task.evaluated("test"), (task.metric,))
    middle = [found.block * (n + 0.5) for n in range(found.context.shape[1])]
    apart = float((found.context - found.control).mean())
    return Found(
        {REMEMBERED: float(found.remembered()), APART: apart, "test, bits": bits},
        {
            "after [[": {"x": [*middle], "y": numbers(found.context.mean(0))},
            "after Th": {"x": [*middle], "y": numbers(found.control.mean(0))},
        },
    )


def charts(recipe: Recipe, results: list[Result]) -> list[Chart]:
    drawn: list[Chart] = [
        Lines(
            name=f"ratio-{result.row}-{result.seed}",
            title=f"{recipe.titled(result.row)}, seed {result.seed}",
            caption="As in figure 5.1: after “[[” the ratio stays above that of the control “Th” "
            "for as long as the bracket is remembered. Means of 10 steps and 10 trials.",
            x_title="characters written since the context",
            y_title="log₁₀ P(]) / P([)",
            series=[
                Series(name, result.curves[name]["x"], result.curves[name]["y"])
                for name in ("after [[", "after Th")
            ],
        )
        for result in results
    ]
    return [*drawn, *learning_curves("bits per character")(recipe, results)]


RECIPE = Trained(
    name="time-lag",
    title="How long an open bracket is remembered",
    source="Krause (2015), section 5.2.4, figure 5.1",
    shows="A character model whose context is an open bracket gives the closing bracket a higher "
    "probability than the opening one for at least 1,000 characters.",
    differs=(
        "A smaller multiplicative LSTM, trained by Adam on streams with carried state; the source "
        "has 2,000 units and Hessian-free learning on sequences of 1,000.",
        "Remembered means: until a block of 10 steps whose mean is not above the control's by two "
        "standard errors over the trials. The source compares by eye.",
        "Figure 5.1 is not reached. After four minutes of training on the stand-in text the mLSTM "
        "remembered the bracket for 20 characters and the LSTM for 360.",
    ),
    columns=(REMEMBERED, APART, "test, bits"),
    digits=2,
    corpus=WIKIPEDIA,
    common={
        "task": "text",
        "learner": "adam",
        "length": 200,
        "batch": 64,
        "rate": 0.002,
        "warmup": 100,
        "steps": 10_000,
        "validate_every": 250,
        "patience": 8,
    },
    quick={"steps": 100, "units": 48, "length": 50, "batch": 16, "validate_every": 50}
    | {"rate": 0.01, "warmup": 0},
    rows=(
        Row("mlstm", "mLSTM", {"cell": "mlstm", "units": 700, "input": "normal:0.1"},
            {REMEMBERED: "at least 1000", "test, bits": 1.71}),
        Row("lstm", "LSTM", {"cell": "lstm", "units": 900, "input": "glorot"}),
    ),
    measure=remembered,
    charts=charts,
)  # fmt: skip
