"""Bouncing balls: predict the next frame of a film (Sutskever, Hinton and Taylor, 2008)."""

from ..runs.analysis.evaluation import measured
from ._recipe import Found, Row
from ._trained import Trained, Trial
from .page import learning_curves

COLUMN = "squared error per frame"
ADAM = {"learner": "adam", "rate": 0.002, "batch": 32, "steps": 20_000, "warmup": 100}
ADAM |= {"input": "glorot"}
FREE = {
    "learner": "hf",
    "batch": 400,
    "curvature_batch": 100,
    "steps": 150,
    "structural": 0.03,
    "incoming": 15,
    "spectral_radius": 1.1,
    "input_scale": 0.1,
}
FEW = {"batch": 16, "steps": 60}


def frames(trial: Trial) -> Found:
    """The error per frame on the test films, beside that of the frame before."""
    (value,) = measured(trial.network, trial.task.held_out("test", 50), (trial.task.metric,))
    again = trial.task.yardsticks("test")["the frame before"]
    return Found({COLUMN: value}, words=f"showing the frame before again has {again:.2f}.")


def reference(name: str, title: str, published: float) -> Row:
    return Row(name, title, published={COLUMN: published}, reference=True)


RECIPE = Trained(
    name="bouncing-balls",
    title="Bouncing balls",
    source="Sutskever, Hinton and Taylor (2008); numbers of Gan et al. (2015), table 1; networks "
    "of Martens and Sutskever (2011), which Krause (2015), section 4.3, discusses",
    shows="A recurrent network learns the motion of three balls from pixels: to predict a frame it "
    "has to remember the one before.",
    differs=(
        "The published models are temporal Boltzmann machines and belief networks, trained on "
        "4,000 films; the networks here see new films in every batch, and are trained by the "
        "cross-entropy of pixels.",
        "Martens and Sutskever (2011) publish another measure, so their networks have no number.",
    ),
    columns=(COLUMN,),
    common={"task": "bouncing-balls", "pixels": 30, "length": 99, "validate_every": 100},
    quick={"pixels": 10, "length": 30, "units": 48, "validate_every": 20},
    rows=(
        reference("rtrbm", "RTRBM", 3.88),
        reference("srtrbm", "structured RTRBM", 3.31),
        reference("dtsbn", "deep temporal sigmoid belief network", 2.79),
        Row("rnn-hf", "RNN, Hessian-free", {"cell": "simple", "units": 300, **FREE,
            "validate_every": 5}, quick={"batch": 40, "curvature_batch": 10, "steps": 6,
                                         "iterations": 20}),
        Row("rnn", "RNN, Adam", {"cell": "simple", "units": 300, **ADAM}, quick=FEW),
        Row("lstm", "LSTM, Adam", {"cell": "lstm", "units": 300, **ADAM}, quick=FEW),
    ),
    measure=frames,
    charts=learning_curves("squared error per frame", log_y=True),
)  # fmt: skip
