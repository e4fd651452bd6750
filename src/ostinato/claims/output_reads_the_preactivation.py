"""A readout of pre-activations skips the last nonlinearity."""

import numpy as np

from ._claim import Claim, Finding

UNITS = 20


def check(reads: str = "a") -> Finding:
    """The least squared error on XOR over one step, of any readout of `"a"` or of `"phi"`."""
    rng = np.random.default_rng(0)
    xs = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    targets = np.array([0.0, 1.0, 1.0, 0.0])
    a = xs @ rng.normal(size=(2, UNITS)) + rng.normal(size=UNITS)
    errors = {name: least_error(h, targets) for name, h in (("a", a), ("phi", np.tanh(a)))}
    return Finding(
        "holds" if errors[reads] < 1e-12 else "false",
        f"on XOR, with {UNITS} hidden units and the best readout, the mean squared error is "
        f"{errors['a']:.2f} if it reads a_t, the same as without hidden units, and "
        f"{errors['phi']:.0g} if it reads φ_t.",
        {"reading a": errors["a"], "reading φ": errors["phi"]},
    )


def least_error(h: np.ndarray, targets: np.ndarray) -> float:
    design = np.concatenate([h, np.ones((len(h), 1))], axis=1)
    weights = np.linalg.lstsq(design, targets)[0]
    return float(np.mean((design @ weights - targets) ** 2))


CLAIM = Claim(
    "output-reads-the-preactivation",
    "With y_t = F(W^out a_t + b^out) a recurrent network over one step is a feed-forward network "
    "with a hidden layer.",
    "Galvan (2015), definition 4, eq. 1.29-1.31",
    "false",
    check,
)
