"""An output that reads pre-activations instead of what the units give out."""

from collections.abc import Callable

import numpy as np

from ._claim import Claim, Falsehood, Finding
from ._nets import gap

INPUTS, UNITS, OUTPUTS, STEPS = 2, 4, 3, 5


def check(reads: str = "a") -> Finding:
    """Compare definition 4, whose output reads `"a"` or `"phi"`, with single perceptrons.

    The perceptrons are those of (1.1-1.2), each a sum over what others give out, unfolded in time;
    σ is tanh and F the identity.
    """
    rng = np.random.default_rng(0)
    W_in, W_rec = rng.normal(size=(UNITS, INPUTS)), rng.normal(size=(UNITS, UNITS))
    W_out, xs = rng.normal(size=(OUTPUTS, UNITS)), rng.normal(size=(STEPS, INPUTS))
    b_rec, b_out = rng.normal(size=UNITS), rng.normal(size=OUTPUTS)

    phi, by_definition, by_units = np.zeros(UNITS), [], []
    for x in xs:
        a = W_rec @ phi + W_in @ x + b_rec  # (1.30)
        before, phi = phi, np.tanh(a)  # (1.31)
        by_definition.append(W_out @ {"a": a, "phi": phi}[reads] + b_out)  # (1.29)
        fed = [*before, *x]
        given = [np.tanh(np.dot([*W_rec[j], *W_in[j]], fed) + b_rec[j]) for j in range(UNITS)]
        by_units.append([np.dot(W_out[j], given) + b_out[j] for j in range(OUTPUTS)])
    error = gap(np.array(by_definition), np.array(by_units))
    xor = {name: xor_error(f) for name, f in (("a", lambda a: a), ("phi", np.tanh))}
    return Finding(
        "holds" if error < 1e-12 else "false",
        f"on a random net its outputs differ by {error:.2f} of the largest from those of the same "
        f"perceptrons by (1.1-1.2); over one step such a net is linear, and the mean squared error "
        f"of the best readout on XOR is {xor['a']:.2f}, instead of {xor['phi']:.0g} if it reads φ.",
        {"relative difference": error, "XOR, reading a": xor["a"], "XOR, reading φ": xor["phi"]},
    )


def xor_error(f: Callable) -> float:
    """The least mean squared error on XOR, over one step, of any readout of `f(a)`."""
    rng = np.random.default_rng(0)
    xs = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    targets = np.array([0.0, 1.0, 1.0, 0.0])
    h = f(xs @ rng.normal(size=(2, 20)) + rng.normal(size=20))
    design = np.concatenate([h, np.ones((len(h), 1))], axis=1)
    weights = np.linalg.lstsq(design, targets)[0]
    return float(np.mean((design @ weights - targets) ** 2))


CLAIM = Claim(
    "output-reads-the-preactivation",
    "y_t = F(W^out a_t + b^out) is the output of a recurrent network of perceptrons, which are fed "
    "with each other's outputs φ = σ(a).",
    "Galvan (2015), definition 4, eq. 1.29, with eq. 1.1-1.2",
    "false",
    check,
    Falsehood("φ_t in place of a_t in (1.29)", {"reads": "phi"}, "holds"),
)
